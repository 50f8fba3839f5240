// The texts of a map, as `qemu-img map` of QEMU 7.2 prints them.

import { DecantError } from '../errors/errors.js';
import { shownText } from '../errors/shown.js';
import type { Extent } from '../public/types.js';

const line = ({ offset, length, depth, kind, hostOffset }: Extent): string => {
  const [present, zero] = [kind === 'data' || kind === 'zero', kind !== 'data'];
  const stored = hostOffset === undefined ? '' : `, "offset": ${hostOffset}`;
  return `{ "start": ${offset}, "length": ${length}, "depth": ${depth}, "present": ${present}, "zero": ${zero}, "data": ${!zero}${stored}}`;
};

/** A JSON list with an object on each line. */
export async function* mapJson(extents: AsyncIterable<Extent>): AsyncGenerator<string> {
  let last: string | undefined;
  let open = '[';
  for await (const extent of extents) {
    if (last !== undefined) {
      yield `${open}${last},`;
      open = '';
    }
    last = line(extent);
  }
  yield `${open}${last ?? ''}]`;
}

const row = (...columns: [string, string, string, string]): string =>
  columns.map((column, at) => (at < 3 ? column.padEnd(16) : column)).join('');

const hex = (value: number): string => (value === 0 ? '0' : `0x${value.toString(16)}`);

/** A table of the data that is stored unchanged in files. Fails on compressed or encrypted data, as QEMU does. */
export async function* mapText(extents: AsyncIterable<Extent>): AsyncGenerator<string> {
  // Printed with the first extent, so that an error before it has no table.
  let header: string | undefined = row('Offset', 'Length', 'Mapped to', 'File');
  for await (const { offset, length, kind, file, hostOffset } of extents) {
    if (header !== undefined) yield header;
    header = undefined;
    if (kind !== 'data') continue;
    if (hostOffset === undefined) {
      throw new DecantError(
        'unsupported',
        'The image has compressed or encrypted data, which this table cannot show; use --output=json',
      );
    }
    yield row(hex(offset), hex(length), hex(hostOffset), shownText(file ?? ''));
  }
  if (header !== undefined) yield header;
}
