// `-o help`: the options of an output format.

import type { AnyImage } from '../node.js';
import { print } from './printing.js';

/** The arguments that request the list, as with `qemu-img`. */
const HELP = ['help', '?'];

/** Prints the options of `format`, if `formatOptions` ask for them. Returns whether they do, and the format is known. */
export function printOptions(
  { formats }: Pick<AnyImage, 'formats'>,
  format: string,
  formatOptions: Record<string, string>,
): boolean {
  const known = formats.find(({ name }) => name === format);
  if (!known || !HELP.some((name) => Object.hasOwn(formatOptions, name))) return false;
  if (known.options.length === 0) print(`The output format ${format} has no options`);
  for (const { name, values, required } of known.options) {
    const [first] = values;
    const note = required ? 'required' : `default: ${first}`;
    print(`${name}=${values.join('|')} (${note})`);
  }
  return true;
}
