// `-o help`: the options of an output format.

import { DecantError } from '../errors/errors.js';
import { openAnyDisk } from './any-disk.js';
import { print } from './printing.js';

/** Prints the options of the output format `format`. Fails with `usage` if there is no such format. */
export async function printOptions(format: string, signal: AbortSignal): Promise<void> {
  // An image lists the output formats.
  const image = await openAnyDisk({ signal });
  try {
    const known = image.formats.find(({ name }) => name === format);
    if (!known) {
      const names = image.formats.map(({ name }) => name).join(', ');
      throw new DecantError('usage', `There is no output format '${format}'; choose one of ${names}`);
    }
    if (known.options.length === 0) print(`The output format ${format} has no options`);
    for (const { name, values, required } of known.options) {
      const [first] = values;
      const note = required ? 'required' : `default: ${first}`;
      print(`${name}=${values.join('|')} (${note})`);
    }
  } finally {
    await image.close();
  }
}
