// `decant map`, as `qemu-img map` of QEMU 7.2 prints it.

import { DecantError } from '../errors.js';
import type { Extent } from '../types.js';

const line = ({ start, length, kind, offset }: Extent): string => {
  const [present, zero] = [kind !== 'unallocated', kind !== 'data'];
  const place = offset === undefined ? '' : `, "offset": ${offset}`;
  return `{ "start": ${start}, "length": ${length}, "depth": 0, "present": ${present}, "zero": ${zero}, "data": ${!zero}${place}}`;
};

/** A list of objects, a line each. */
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

/** A table of the data that stands in the file as it is; as in QEMU, compressed data is an error. */
export async function* mapText(extents: AsyncIterable<Extent>, path: string): AsyncGenerator<string> {
  yield row('Offset', 'Length', 'Mapped to', 'File');
  for await (const { start, length, kind, offset } of extents) {
    if (kind !== 'data') continue;
    if (offset === undefined) {
      throw new DecantError(
        'unsupported',
        'The image has compressed clusters, which this table cannot show; use --output=json',
      );
    }
    yield row(hex(start), hex(length), hex(offset), path);
  }
}
