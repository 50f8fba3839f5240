// `decant map`, as `qemu-img map` of QEMU 7.2 prints it.

import { DecantError } from '../errors.js';
import type { Image } from '../node.js';
import type { Extent } from '../types.js';
import type { Command } from './arguments.js';
import { lostLine } from './lost.js';

/** Prints the map; answers whether all of the disk can be read. */
export async function map(
  image: Image,
  { json }: Extract<Command, { name: 'info' | 'map' }>,
  signal: AbortSignal,
): Promise<boolean> {
  let isWhole = true;
  const extents = async function* () {
    for await (const extent of image.map({ signal })) {
      if (extent.kind === 'lost') {
        isWhole = false;
        process.stderr.write(lostLine({ ...extent, reason: extent.reason ?? '' }));
      }
      yield extent;
    }
  };
  for await (const line of (json ? mapJson : mapText)(extents())) {
    process.stdout.write(`${line}\n`);
  }
  return isWhole;
}

const line = ({ start, length, depth, kind, offset }: Extent): string => {
  const [present, zero] = [kind === 'data' || kind === 'zero', kind !== 'data'];
  const place = offset === undefined ? '' : `, "offset": ${offset}`;
  return `{ "start": ${start}, "length": ${length}, "depth": ${depth}, "present": ${present}, "zero": ${zero}, "data": ${!zero}${place}}`;
};

/** A list of objects, a line each. */
async function* mapJson(extents: AsyncIterable<Extent>): AsyncGenerator<string> {
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

/** A table of the data that stands in files as it is; as in QEMU, other data is an error. */
async function* mapText(extents: AsyncIterable<Extent>): AsyncGenerator<string> {
  // Not before there is something to list: what is missing is told without a table.
  let header: string | undefined = row('Offset', 'Length', 'Mapped to', 'File');
  for await (const { start, length, kind, file, offset } of extents) {
    if (header !== undefined) yield header;
    header = undefined;
    if (kind !== 'data') continue;
    if (offset === undefined) {
      throw new DecantError(
        'unsupported',
        'The image has compressed or encrypted clusters, which this table cannot show; use --output=json',
      );
    }
    yield row(hex(start), hex(length), hex(offset), file ?? '');
  }
  if (header !== undefined) yield header;
}
