// Sending a temporary file to a target: pieces in ascending order, and holes.

import { expect, test } from 'vitest';
import type { Piece } from '../messages/messages.js';
import { sendSpool } from './spool-sending.js';

const [KIB, MIB] = [1024, 1 << 20];
const { signal } = new AbortController();

/** Sends zeros, with ones at `data`, to a target that takes every piece. Lengths of holes are negative. */
async function send(size: number, data: [number, number][], holes: boolean) {
  const file = new Uint8Array(size);
  for (const [start, end] of data) file.fill(1, start, end);
  const got = new Uint8Array(size).fill(2);
  const [pieces, ends]: [[number, number][], number[]] = [[], []];
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = ({ data }) => {
    const piece = data as Piece;
    if ('bytes' in piece) got.set(piece.bytes, piece.offset);
    else got.fill(0, piece.offset, piece.offset + piece.length);
    pieces.push([piece.offset, 'bytes' in piece ? piece.bytes.length : -piece.length]);
    port1.postMessage({ failed: false });
  };
  const spec = { port: port2, ascending: true, lateStart: 0, holes, pieces: 3 };
  const read = async (offset: number, length: number) => file.slice(offset, offset + length);
  const written = await sendSpool(spec, size, read, signal, (end) => void ends.push(end));
  port1.close();
  expect(Buffer.from(got).equals(file)).toBe(true);
  expect(ends).toEqual(pieces.map(([offset, length]) => offset + Math.abs(length)));
  return { pieces, written };
}

test.each<[string, boolean, number, [number, number][], [number, number][]]>([
  ['nothing', true, 0, [], []],
  ['zeros as a hole', true, 5, [], [[0, -5]]],
  [
    'zeros as bytes, without holes',
    false,
    MIB + 5,
    [],
    [
      [0, MIB],
      [MIB, 5],
    ],
  ],
  [
    'data',
    true,
    MIB + 5,
    [[0, MIB + 5]],
    [
      [0, MIB],
      [MIB, 5],
    ],
  ],
  [
    'a block with one byte',
    true,
    MIB,
    [[9000, 9001]],
    [
      [0, -8 * KIB],
      [8 * KIB, 4 * KIB],
      [12 * KIB, 12 * KIB - MIB],
    ],
  ],
  [
    'a footer',
    true,
    MIB + 512,
    [[MIB, MIB + 512]],
    [
      [0, -MIB],
      [MIB, 512],
    ],
  ],
  [
    'a hole across two reads',
    true,
    2 * MIB,
    [
      [0, MIB - 8192],
      [MIB + 4096, 2 * MIB],
    ],
    [
      [0, MIB - 8192],
      [MIB - 8192, -12288],
      [MIB + 4096, MIB - 4096],
    ],
  ],
  [
    'a large hole in parts',
    true,
    3 * MIB,
    [[0, 1]],
    [
      [0, 4096],
      [4096, -2 * MIB + 4096],
      [2 * MIB, -MIB],
    ],
  ],
])('%s', async (_, holes, size, data, pieces) => {
  const written = pieces.reduce((sum, [, length]) => sum + Math.max(length, 0), 0);
  expect(await send(size, data, holes)).toEqual({ pieces, written });
});
