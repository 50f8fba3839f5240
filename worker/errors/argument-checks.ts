// Checks of callers' arguments, which may be anything, despite their types: each throws `usage`. A misspelt option would silently do nothing.

import { DecantError, reasonOf } from './errors.js';
import { isObject } from './values.js';

const usage = (message: string, cause?: unknown) =>
  new DecantError('usage', message, cause === undefined ? {} : { cause });

/** Any value for a message. */
export function shownValue(value: unknown): string {
  try {
    return String(value);
  } catch {
    return `a value of type ${typeof value}`;
  }
}

/** Throws `usage` unless `signal` is an AbortSignal, also of another window, or missing. */
export function checkSignal(signal: unknown): asserts signal is AbortSignal | null | undefined {
  if (signal === undefined || signal === null) return;
  try {
    // Both: each accepts some objects that only look like a signal.
    AbortSignal.any([signal as AbortSignal]);
    Object.getOwnPropertyDescriptor(AbortSignal.prototype, 'aborted')?.get?.call(signal);
  } catch (cause) {
    throw usage("'signal' must be an AbortSignal", cause);
  }
}

/** The type of an option, as `typeof` returns it. */
export type OptionType = 'boolean' | 'function' | 'string';

/** Throws `usage` unless the options `names` of `options` are of `type`, or missing. */
export function checkTypes<T extends object>(options: T, type: OptionType, names: readonly (keyof T & string)[]): void {
  const wanted = { boolean: 'true or false', function: 'a function', string: 'a string' }[type];
  for (const name of names) {
    const value: unknown = options[name];
    if (value !== undefined && typeof value !== type) throw usage(`'${name}' must be ${wanted}`);
  }
}

type KeysOf<T> = T extends unknown ? keyof T : never;

/** The types of the options `T`; `true` for one that is checked elsewhere. */
export type TypesOf<T extends object> = Record<KeysOf<T>, OptionType | true>;

/** The names of the options `T`. TypeScript checks that `names` is complete and has no others. */
/* @__NO_SIDE_EFFECTS__ */
export const namesOf = <T extends object>(names: Record<KeysOf<T>, true>): readonly string[] => Object.keys(names);

/** Returns the result of `read`, which reads or checks `what` of a caller. Throws `usage` if reading fails, as in a getter. */
export function orUsageError<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof DecantError) throw thrown;
    throw new DecantError('usage', `Could not read ${what}: ${reasonOf(thrown)}`, { cause: thrown });
  }
}

/** Throws `usage` if `value` cannot be inspected, as a revoked proxy cannot. `what` is its name in the message. */
export function checkReadable(what: string, value: unknown): void {
  if (!isObject(value) && typeof value !== 'function') return;
  orUsageError(what, () => {
    void (value instanceof Object);
    void ('constructor' in value);
    Object.prototype.toString.call(value);
  });
}

/** Throws `usage` if `options` of `call` has an option that is not in `names`, or one that cannot be read. */
export function checkNames(call: string, options: object, names: readonly string[]): void {
  const given = orUsageError(`the options of ${call}`, () => {
    // Also those that are inherited.
    for (const name of names) void (options as Record<string, unknown>)[name];
    return Object.entries(options);
  });
  for (const [option, value] of given) {
    checkReadable(`'${option}'`, value);
    if (value === undefined || names.includes(option)) continue;
    const nearest = nearestOf(option, names);
    const advice = nearest === undefined ? `it takes ${names.join(', ')}` : `did you mean '${nearest}'?`;
    const fields = { call, option, ...(nearest === undefined ? {} : { nearest }) };
    throw new DecantError('usage', `${call} has no option '${option}'; ${advice}`, { code: 'unknown-option', fields });
  }
}

/** Maximum number of edits between an unknown name and a suggested one, and at most a third of the letters. */
const MOST_CHANGES = 3;

function nearestOf(option: string, names: readonly string[]): string | undefined {
  const counts = names.map((name) => changes(option.toLowerCase(), name.toLowerCase()));
  const least = Math.min(...counts);
  return least <= Math.min(MOST_CHANGES, option.length / 3) ? names[counts.indexOf(least)] : undefined;
}

/** How many letters have to be added, removed or replaced to make `b` of `a`. */
function changes(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (const [at, letter] of [...a].entries()) {
    const next = [at + 1];
    for (const [other, wanted] of [...b].entries()) {
      next.push(Math.min(row[other]! + (letter === wanted ? 0 : 1), row[other + 1]! + 1, next[other]! + 1));
    }
    row = next;
  }
  return row.at(-1)!;
}
