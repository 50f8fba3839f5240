// The output format that a caller chooses.

import { DecantError } from '../errors/errors.js';
import type { ConvertOptions } from '../public/given.js';
import type { OutputFormat } from '../public/types.js';
import { checkObject } from './options.js';

const DEFAULT = 'raw';

const list = (names: string[]): string => names.join(', ');

/** Finds the format in `options`. Throws `usage` for an unknown format or option, and the refusal of a refused format. */
export function chosenFormat(formats: OutputFormat[], options: ConvertOptions): OutputFormat {
  const { format: name = DEFAULT, formatOptions = {} } = options;
  const format = formats.find((output) => output.name === name);
  if (!format) {
    const names = list(formats.map((output) => output.name));
    throw new DecantError('usage', `There is no output format '${name}'; choose one of ${names}`);
  }
  checkObject('formatOptions', formatOptions);
  for (const [option, value] of Object.entries(formatOptions)) checkOption(format, option, value);
  if (format.refusal) throw new DecantError(format.refusal.kind, format.refusal.message, format.refusal);
  return format;
}

function checkOption({ name, options }: OutputFormat, option: string, value: string): void {
  const known = options.find((known) => known.name === option);
  if (!known) {
    const others = options.length > 0 ? `; it has ${list(options.map((known) => known.name))}` : '';
    throw new DecantError('usage', `The output format ${name} has no option '${option}'${others}`);
  }
  if (known.values.includes(value)) return;
  const values = known.values.length === 1 ? `it is always ${known.values[0]}` : `choose one of ${list(known.values)}`;
  throw new DecantError('usage', `'${value}' is not a valid ${option} of the output format ${name}; ${values}`);
}
