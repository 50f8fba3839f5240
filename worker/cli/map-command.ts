// `decant map`, with the output of `qemu-img map` in QEMU 7.2.

import { DecantError } from '../errors/errors.js';
import { shownText } from '../errors/shown.js';
import type { Image } from '../node.js';
import type { CommonImage, Extent } from '../public/types.js';
import type { CommandOf } from './arguments.js';
import { EXIT_DAMAGED } from './commands.js';
import { MAX_LISTED, print, reportLost, reportUnlisted } from './printing.js';
import { type RunContext, withDisk } from './run-context.js';

/** Prints the map of the disk that the command names. Returns the exit code. */
export const mapDisk = (command: CommandOf<'map'>, context: RunContext): Promise<number> =>
  // A streamed image has no map: its method fails with the reason.
  withDisk(command, context, async (image) =>
    (await map(image as Image, command, context.signal)) ? 0 : EXIT_DAMAGED,
  );

/** Prints the map. Returns whether the whole disk can be read. */
export async function map(
  image: Pick<CommonImage, 'map'>,
  { json }: { json: boolean },
  signal: AbortSignal,
): Promise<boolean> {
  let lost = 0;
  const extents = async function* () {
    for await (const extent of image.map({ signal })) {
      if (extent.reason !== undefined) {
        lost += 1;
        if (lost <= MAX_LISTED) reportLost(extent);
      }
      yield extent;
    }
  };
  for await (const line of (json ? mapJson : mapText)(extents())) {
    print(line);
  }
  reportUnlisted(Math.max(0, lost - MAX_LISTED));
  return lost === 0;
}

const line = ({ start, length, depth, kind, offset }: Extent): string => {
  const [present, zero] = [kind === 'data' || kind === 'zero', kind !== 'data'];
  const stored = offset === undefined ? '' : `, "offset": ${offset}`;
  return `{ "start": ${start}, "length": ${length}, "depth": ${depth}, "present": ${present}, "zero": ${zero}, "data": ${!zero}${stored}}`;
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

/** Prints a table of data that is stored unchanged in files. Fails on compressed or encrypted data, as QEMU does. */
async function* mapText(extents: AsyncIterable<Extent>): AsyncGenerator<string> {
  // Printed with the first extent, so that an error before it has no table.
  let header: string | undefined = row('Offset', 'Length', 'Mapped to', 'File');
  for await (const { start, length, kind, file, offset } of extents) {
    if (header !== undefined) yield header;
    header = undefined;
    if (kind !== 'data') continue;
    if (offset === undefined) {
      throw new DecantError(
        'unsupported',
        'The image has compressed or encrypted data, which this table cannot show; use --output=json',
      );
    }
    yield row(hex(start), hex(length), hex(offset), shownText(file ?? ''));
  }
  if (header !== undefined) yield header;
}
