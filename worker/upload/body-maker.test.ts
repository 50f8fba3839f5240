// Bodies and digests, made in the thread of the target or in a worker: the same for the same bytes.

import { createHash } from 'node:crypto';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { MAKES_BODIES } from '../messages/messages.js';
import type { TargetPlan } from '../public/types.js';
import { type BodyMaker, bodyMaker, makeBodies } from './body-maker.js';
import type { Body } from './request-body.js';

const MIB = 1 << 20;

beforeEach(() => vi.stubGlobal('document', {}));
afterEach(() => vi.unstubAllGlobals());

/** The requests to the worker. */
let asked: string[] = [];

/** The plan of a conversion in a page; with a worker for bodies. */
function planWithWorker(): TargetPlan {
  asked = [];
  const worker = (digests: boolean) => {
    const { port1, port2 } = new MessageChannel();
    makeBodies(port2 as unknown as MessagePort, digests);
    const post = port1.postMessage.bind(port1);
    const postMessage = (message: object, moved: ArrayBuffer[]) => {
      asked.push(Object.keys(message)[0]!);
      post(message, moved);
    };
    return Object.assign(port1, { postMessage });
  };
  return Object.defineProperty({ ascending: true }, MAKES_BODIES, { value: worker });
}

const bytesOf = async (body: Body): Promise<Buffer> => Buffer.from(await new Response(body).arrayBuffer());

const md5 = (bytes: Uint8Array) => createHash('md5').update(bytes).digest('hex');

const PIECES = [Uint8Array.from([1, 2, 3]), 5, new Uint8Array(2 * MIB).fill(4), 3 * MIB, Uint8Array.from([6])];
const ALL = Buffer.concat(PIECES.map((piece) => (typeof piece === 'number' ? Buffer.alloc(piece) : piece)));

async function addAll(maker: BodyMaker): Promise<void> {
  for (const piece of PIECES) await (typeof piece === 'number' ? maker.addZeros(piece) : maker.add(piece));
}

for (const [where, plan] of [
  ['in this thread', (): TargetPlan => ({ ascending: true })],
  ['in a worker', planWithWorker],
] as const) {
  test(`bodies and their digests: ${where}`, async () => {
    const maker = bodyMaker(plan());
    for (let body = 0; body < 2; body += 1) {
      // The zeros before the body are digested before it begins.
      await maker.addZeros(10);
      maker.begin(ALL.length + 10, 10);
      await addAll(maker);
      const expected = Buffer.concat([Buffer.alloc(10), ALL]);
      expect((await bytesOf(await maker.end())).equals(expected)).toBe(true);
      expect(Buffer.from(await maker.digest()).toString('hex')).toBe(md5(expected));
    }
    maker.close();
  });

  test(`a digest without a body: ${where}`, async () => {
    const maker = bodyMaker(plan());
    await addAll(maker);
    expect(Buffer.from(await maker.digest()).toString('hex')).toBe(md5(ALL));
    maker.close();
  });
}

test('in a worker, all is made there; arrays of the caller stay', async () => {
  const maker = bodyMaker(planWithWorker());
  const bytes = Uint8Array.from([1, 2, 3]);
  maker.begin(8);
  await maker.add(bytes);
  await maker.addZeros(1);
  await maker.end();
  await maker.digest();
  maker.close();
  expect(asked).toEqual(['begin', 'bytes', 'zeros', 'take', 'take', 'take']);
  expect(bytes).toEqual(Uint8Array.from([1, 2, 3]));
});

test('a failure of the worker rejects', async () => {
  const maker = bodyMaker(planWithWorker());
  // No body was begun.
  await expect(maker.end()).rejects.toThrow(/undefined/);
  maker.close();
});

test('Node makes bodies in its own thread', async () => {
  vi.unstubAllGlobals();
  const maker = bodyMaker(planWithWorker());
  await addAll(maker);
  expect(asked).toEqual([]);
  expect(Buffer.from(await maker.digest()).toString('hex')).toBe(md5(ALL));
});
