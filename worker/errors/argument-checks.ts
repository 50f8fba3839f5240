// Checks of callers' arguments, which may be anything, despite their types. Each throws `usage`.

import { DecantError } from './errors.js';

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

/** Throws `usage` unless the options `names` of `options` are of `type`, or missing. */
export function checkTypes<T extends object>(
  options: T,
  type: 'boolean' | 'function' | 'string',
  names: readonly (keyof T & string)[],
): void {
  const wanted = { boolean: 'true or false', function: 'a function', string: 'a string' }[type];
  for (const name of names) {
    const value: unknown = options[name];
    if (value !== undefined && typeof value !== type) throw usage(`'${name}' must be ${wanted}`);
  }
}
