// Bodies of requests: bytes in Node, Blobs in a page.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { after, type Body, BodyBuilder, piecesOf, sizeOf, zeros } from './request-body.js';

const MIB = 1 << 20;

const allOf = async (body: Body) => Buffer.from(await new Blob([body]).arrayBuffer());
const piece = (length: number, value: number) => new Uint8Array(length).fill(value);

describe.each(['Node', 'a page'])('in %s', (where) => {
  beforeEach(() => {
    if (where === 'a page') vi.stubGlobal('document', {});
  });
  afterEach(() => void vi.unstubAllGlobals());

  test.each<[string, (Uint8Array | number)[]]>([
    ['nothing', []],
    ['a few bytes', [piece(3, 1), piece(2, 2)]],
    ['bytes and zeros', [piece(3, 1), 5, piece(2, 2), 4096, piece(1, 3)]],
    ['a step exactly', [piece(MIB, 1)]],
    ['bytes over several steps', [piece(MIB - 1, 1), piece(MIB, 2), piece(MIB, 3)]],
    ['zeros after a step that had others', [piece(MIB, 1), 7, piece(3, 2)]],
    ['zeros over several steps', [piece(5, 1), 2 * MIB + 3, piece(MIB, 2)]],
    ['zeros first', [3 * MIB + 1, piece(3, 1)]],
  ])('%s', async (_, pieces) => {
    const gathering = new BodyBuilder(5 * MIB);
    for (const one of pieces) {
      if (typeof one === 'number') gathering.addZeros(one);
      else gathering.add(one);
    }
    const expected = Buffer.concat(pieces.map((one) => (typeof one === 'number' ? Buffer.alloc(one) : one)));
    expect(gathering.length).toBe(expected.length);
    const body = gathering.end();
    expect(body instanceof Blob).toBe(where === 'a page');
    expect(sizeOf(body)).toBe(expected.length);
    expect((await allOf(body)).equals(expected)).toBe(true);
    expect((await allOf(after(body, 2))).equals(expected.subarray(2))).toBe(true);
  });

  test('zeros', async () => {
    for (const length of [0, 1, MIB, 2 * MIB + 9]) {
      expect((await allOf(zeros(length))).equals(Buffer.alloc(length))).toBe(true);
    }
  });

  test('pieces have 1 MiB at most', async () => {
    const pieces = [];
    for await (const one of piecesOf(zeros(2 * MIB + 5))) pieces.push(one.length);
    expect(pieces).toEqual([MIB, MIB, 5]);
  });
});
