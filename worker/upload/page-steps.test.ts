// Uploads from a page: bodies are Blobs or streams, and no step on the page's thread handles more than 1 MiB.

import { Hash } from 'node:crypto';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Cloud } from '../../e2e/support/cloud.js';
import type { Target } from '../public/types.js';
import { azureBlockBlobTarget, azurePageBlobTarget, gcsTarget, putTarget, s3Target, tusTarget } from './index.js';
import { methodAndQuery } from './s3-sign.js';
import { failure } from './uploads.test-support.js';

vi.setConfig({ testTimeout: 60_000 });

const MIB = 1 << 20;
const HOST = 'https://cloud.test';

let cloud: Cloud;
/** The largest steps of each kind, in bytes. */
let steps: Map<string, number>;
/** The kinds of bodies that `fetch` has got. */
let bodies: Set<string>;

const note = (kind: string, bytes: number) => void steps.set(kind, Math.max(steps.get(kind) ?? 0, bytes));
const bytesIn = (parts: BlobPart[]) =>
  parts.reduce(
    (sum, part) => sum + (part instanceof Blob ? 0 : typeof part === 'string' ? part.length : part.byteLength),
    0,
  );

beforeEach(() => {
  cloud = new Cloud();
  steps = new Map();
  bodies = new Set();
  vi.stubGlobal('document', {});
  const construct: ProxyHandler<typeof Blob>['construct'] = (target, args, self) => {
    note('Blob', bytesIn(args[0] ?? []));
    return Reflect.construct(target, args, self);
  };
  vi.stubGlobal('Blob', new Proxy(Blob, { construct }));
  const set = Uint8Array.prototype.set;
  vi.spyOn(Uint8Array.prototype, 'set').mockImplementation(function (this: Uint8Array, source, offset) {
    note('copy', source.length);
    set.call(this, source, offset);
  });
  const update = Hash.prototype.update;
  vi.spyOn(Hash.prototype, 'update').mockImplementation(function (this: Hash, data: unknown) {
    // The cloud digests Buffers.
    if (!Buffer.isBuffer(data)) note('digest', (data as Uint8Array).length);
    return Reflect.apply(update, this, [data]) as Hash;
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const kindOf = (body: unknown): string =>
  body instanceof ReadableStream
    ? 'stream'
    : body instanceof Blob
      ? 'Blob'
      : body instanceof Uint8Array
        ? 'bytes'
        : typeof body;

const fetching: typeof fetch = (url, init) => {
  if (init?.body !== undefined) bodies.add(kindOf(init.body));
  return cloud.fetch(url as URL, init);
};

const TARGETS: Record<string, () => Target> = {
  s3: () => s3Target({ sign: (request) => `${HOST}/s3/disk?${methodAndQuery(request).query}`, fetch: fetching }),
  gcs: () => gcsTarget({ url: `${HOST}/gcs/disk`, fetch: fetching }),
  tus: () => tusTarget({ url: `${HOST}/tus/files`, fetch: fetching }),
  'page blob': () => azurePageBlobTarget({ url: `${HOST}/azure/disk`, fetch: fetching }),
  'block blob': () => azureBlockBlobTarget({ url: `${HOST}/azure/disk`, fetch: fetching }),
  put: () => putTarget({ url: `${HOST}/put/disk`, fetch: fetching }),
};

/** The kinds of bodies: lists are texts. */
const BODIES: Record<string, string[]> = { put: ['stream'], s3: ['Blob', 'string'], 'block blob': ['Blob', 'bytes'] };

/** 34 MiB: data in pieces of 1 MiB and of odd sizes, holes in a part and over several. */
const PIECES: (number | 'hole')[][] = [
  ...Array.from({ length: 9 }, () => [MIB]),
  [MIB - 512],
  [512, 'hole'],
  [4096],
  [3 * MIB, 'hole'],
  [MIB],
  [17 * MIB, 'hole'],
  [MIB],
  [MIB - 512],
];

test.each(Object.keys(TARGETS))('%s: the object is right', async (kind) => {
  const target = TARGETS[kind]!();
  const size = PIECES.reduce((sum, [length]) => sum + (length as number), 0);
  const disk = Buffer.alloc(size - (size % 512));
  const work = async () => {
    await target.open!({ virtualSize: disk.length, outputSize: disk.length, ascending: true });
    let at = 0;
    for (const [length, what] of PIECES) {
      const end = Math.min(disk.length, at + (length as number));
      if (what === 'hole') await target.hole!(at, end - at);
      else {
        disk.fill(`${at}`, at, end);
        await target.write(at, new Uint8Array(disk.subarray(at, end)));
      }
      at = end;
    }
    await target.close();
  };
  expect(await failure(work())).toBe('nothing failed');
  expect([...cloud.objects.values()].map((object) => object.equals(disk))).toEqual([true]);
  expect([...bodies].sort()).toEqual(BODIES[kind] ?? ['Blob']);
  for (const [step, bytes] of steps) expect(bytes, step).toBeLessThanOrEqual(MIB);
  // The counters count.
  if (kind !== 'put') expect(steps.get('Blob')).toBe(MIB);
  if (!['put', 'tus'].includes(kind)) expect(steps.get('digest')).toBe(MIB / 4);
});
