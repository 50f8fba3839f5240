// A custom target inside a coordinator: pieces, holes, and the number in flight.

import { describe, expect, test } from 'vitest';
import { soon } from '../errors/soon.test-support.js';
import type { Piece, Taken } from '../messages/messages.js';
import { PortTarget } from './port-target.js';

const MIB = 1 << 20;

/** A target, and the pieces that its calling side has received; `take` replies to the next one. */
function connect({ ascending = false, holes = false, pieces = 1000 } = {}) {
  const { port1, port2 } = new MessageChannel();
  const got: Piece[] = [];
  port1.onmessage = ({ data }) => got.push(data as Piece);
  const take = (failed = false) => port1.postMessage({ failed } satisfies Taken);
  const target = new PortTarget({ port: port2, ascending, lateStart: 0, holes, pieces });
  return { target, got, take, end: () => port1.close() };
}

/** Offsets and lengths; lengths of holes are negative. */
const summary = (got: Piece[]) => got.map((it) => [it.offset, 'bytes' in it ? it.bytes.length : -it.length]);
const counting = (length: number, from = 0) => Uint8Array.from({ length }, (_, at) => (from + at) % 251);
const arrived = (got: Piece[], count: number) => soon(() => expect(got).toHaveLength(count));

describe('in any order', () => {
  test('writes are cut into pieces of 1 MiB, and each is a copy', async () => {
    const { target, got, end } = connect();
    const bytes = counting(2 * MIB + 5);
    await target.write(7, bytes);
    bytes.fill(0);
    await arrived(got, 3);
    expect(summary(got)).toEqual([
      [7, MIB],
      [7 + MIB, MIB],
      [7 + 2 * MIB, 5],
    ]);
    const whole = Buffer.concat(got.map((piece) => ('bytes' in piece ? piece.bytes : new Uint8Array())));
    expect(whole.equals(counting(2 * MIB + 5))).toBe(true);
    end();
  });

  test('holes are zeros', async () => {
    const { target, got, end } = connect();
    await target.hole(5, MIB + 3);
    await arrived(got, 2);
    expect(summary(got)).toEqual([
      [5, MIB],
      [5 + MIB, 3],
    ]);
    expect(got.every((piece) => 'bytes' in piece && piece.bytes.every((byte) => byte === 0))).toBe(true);
    end();
  });

  test('sends a hole as one piece if the target takes holes', async () => {
    const { target, got, end } = connect({ holes: true });
    await target.hole(5, 2 ** 43);
    await target.write(0, counting(5));
    await arrived(got, 2);
    expect(summary(got)).toEqual([
      [5, -(2 ** 43)],
      [0, 5],
    ]);
    end();
  });
});

describe('in order', () => {
  test('contiguous bytes are joined to pieces of 1 MiB, zeros too', async () => {
    const { target, got, take, end } = connect({ ascending: true });
    await target.write(0, counting(1000));
    await target.hole(1000, MIB - 1500);
    await target.write(MIB - 500, counting(600));
    const closed = target.close();
    await arrived(got, 2);
    expect(summary(got)).toEqual([
      [0, MIB],
      [MIB, 100],
    ]);
    const expected = Buffer.concat([counting(1000), Buffer.alloc(MIB - 1500), counting(600)]);
    const whole = Buffer.concat(got.map((piece) => ('bytes' in piece ? piece.bytes : new Uint8Array())));
    expect(whole.equals(expected)).toBe(true);
    take();
    take();
    await closed;
    end();
  });

  test('joins nothing if the target takes holes', async () => {
    const { target, got, end } = connect({ ascending: true, holes: true });
    await target.write(0, counting(10));
    await target.hole(10, 10);
    await target.write(20, counting(10));
    await arrived(got, 3);
    expect(summary(got)).toEqual([
      [0, 10],
      [10, -10],
      [20, 10],
    ]);
    end();
  });
});

describe('pieces on their way', () => {
  test.each([1, 2, 6])('in flight are at most %i', async (pieces) => {
    const { target, got, take, end } = connect({ pieces });
    const written = Array.from({ length: 10 }, (_, at) => target.write(at, counting(1)));
    for (let taken = 0; taken + pieces < 10; taken += 1) {
      await arrived(got, pieces + taken);
      take();
    }
    await Promise.all(written);
    await arrived(got, 10);
    expect(summary(got).map(([offset]) => offset)).toEqual([...Array(10).keys()]);
    end();
  });

  test('are all waited for by close', async () => {
    const { target, got, take, end } = connect();
    await target.write(0, counting(1));
    await target.write(1, counting(1));
    let isClosed = false;
    const closed = target.close().then(() => {
      isClosed = true;
    });
    await arrived(got, 2);
    take();
    await new Promise(setImmediate);
    expect(isClosed).toBe(false);
    take();
    await closed;
    end();
  });

  test('fail after a failure: waiting and later ones', async () => {
    const { target, got, take, end } = connect({ pieces: 1 });
    await target.write(0, counting(1));
    const failed = expect(target.write(1, counting(1))).rejects.toMatchObject({ kind: 'target' });
    await arrived(got, 1);
    take(true);
    await failed;
    for (const next of [() => target.write(2, counting(1)), () => target.hole(2, 1), () => target.close()]) {
      await expect(next()).rejects.toThrow('Could not write the output: the target has failed');
    }
    expect(got).toHaveLength(1);
    end();
  });

  test('are given up by abort', async () => {
    const { target, got, end } = connect({ pieces: 1 });
    await target.write(0, counting(1));
    const failed = expect(target.write(1, counting(1))).rejects.toMatchObject({ kind: 'target' });
    await target.abort();
    await failed;
    expect(got.length).toBeLessThanOrEqual(1);
    end();
  });
});

test('settles when all pieces are taken', async () => {
  const { target, take, end } = connect({ ascending: false, holes: true, pieces: 4 });
  await target.write(4096, new Uint8Array(10));
  await target.write(8192, new Uint8Array(10));
  let settled = false;
  const settling = target.settle().then(() => {
    settled = true;
  });
  take();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(settled).toBe(false);
  take();
  await settling;
  end();
});
