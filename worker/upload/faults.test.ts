// Clouds that fail: every fault at every request of every protocol, then at random. The object is right, or there is an
// error and never a part of an object.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ALL_FAULTS, type Asked, UPLOAD_FAULTS, type UploadFault } from '../../e2e/support/cloud.js';
import { random } from '../../e2e/support/random.js';
import type { TargetEnd } from '../public/types.js';
import {
  cloudOf,
  DISK,
  failure,
  KINDS,
  type Kind,
  objectIn,
  runClock,
  TARGETS,
  upload,
} from './uploads.test-support.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** The number of requests of an upload without faults. In most, the last one queries the finished object by HEAD. */
const COUNTS: Record<Kind, number> = { s3: 7, gcs: 6, tus: 7, put: 2, 'page blob': 8, 'block blob': 7 };
const isLook = (kind: Kind, at: number): boolean => at === COUNTS[kind] - 1 && !['s3', 'gcs'].includes(kind);

/** Whether the upload fails. One PUT has one attempt. A server that does not allow HEAD confirms nothing, and has the object. */
function isLasting(kind: Kind, fault: UploadFault, at: number): boolean {
  const isRefused = UPLOAD_FAULTS[fault] === 'lasts';
  if (!isLook(kind, at)) return isRefused || kind === 'put';
  if (kind === 'tus') return isRefused && fault !== 'status 403';
  return kind === 'put' && fault === 'status 404';
}
/** Whether the finished object could not be queried. */
const isUnconfirmed = (kind: Kind, fault: UploadFault, at: number): boolean =>
  isLook(kind, at) && UPLOAD_FAULTS[fault] === 'lasts' && fault !== 'status 404';

/** Whether the upload of the first request is unknown to the client. */
function isOrphaning(kind: Kind, fault: UploadFault): boolean {
  if (fault === 'cut') return ['gcs', 'tus'].includes(kind);
  return fault === 'lost answer' && ['s3', 'gcs', 'tus'].includes(kind);
}

/** How many requests an upload makes where nothing fails. */
async function countRequests(kind: Kind): Promise<number> {
  const cloud = cloudOf();
  await runClock(upload(TARGETS[kind](cloud), DISK));
  return cloud.asked.length;
}

/** Whether the request completes an object of S3 or a block blob. */
const isCompletion = ({ method, url }: Asked): boolean =>
  (method === 'POST' && url.includes('uploadId')) || (method === 'PUT' && url.includes('comp=blocklist'));

test.each(
  KINDS.flatMap((kind) => ALL_FAULTS.map((fault) => [kind, fault] as const)),
)('%s, %s at each request: the right object or an error', async (kind, fault) => {
  const count = await countRequests(kind);
  expect(count).toBe(COUNTS[kind]);
  for (let at = 0; at < count; at += 1) {
    const cloud = cloudOf({ fault: (number) => (number === at ? fault : undefined) });
    const target = TARGETS[kind](cloud);
    let end: TargetEnd | undefined;
    const uploading = upload(target, DISK).then((ended) => {
      end = ended ?? {};
    });
    const failed = await runClock(failure(uploading));
    const object = objectIn(cloud);
    const isHarmless = fault === 'late body' && cloud.asked[at]!.length === 0;
    if (isHarmless || !isLasting(kind, fault, at)) {
      expect(failed, `at ${at}`).toBe('nothing failed');
      expect(object?.equals(DISK), `at ${at}`).toBe(true);
      expect(end?.unconfirmed !== undefined, `at ${at}`).toBe(isUnconfirmed(kind, fault, at));
      // After a lost response to the completion, the object is looked at first.
      const isFound = fault === 'lost answer' && isCompletion(cloud.asked[at]!);
      const isOnce = isHarmless || isFound || isUnconfirmed(kind, fault, at);
      expect(target.network?.retries, `at ${at}`).toBe(isOnce ? 0 : 1);
      expect(cloud.begun.size, `at ${at}`).toBe(at === 0 && isOrphaning(kind, fault) ? 1 : 0);
    } else {
      expect(failed, `at ${at}`).toMatch(/^Could not upload to 'https:\/\/cloud\.test\/disk': /);
      expect(failed).not.toContain('secret');
      // Without a response it is unknown whether everything has arrived; a server that denies an object may have it.
      if (fault !== 'lost answer' && !isLook(kind, at)) expect(object, `at ${at}`).toBeUndefined();
      expect(cloud.begun.size, `at ${at}`).toBe(0);
    }
  }
});

test.each(KINDS)('%s: a silent cloud fails after its patience', async (kind) => {
  const cloud = cloudOf({ fault: () => 'silent' });
  const before = performance.now();
  const failed = await runClock(failure(upload(TARGETS[kind](cloud, { timeout: 2, patience: 20 }), DISK)));
  if (kind === 'put') expect(failed).toMatch(/: no progress for 20 seconds$/);
  else expect(failed).toMatch(/: no answer came within [23] seconds$/);
  // An origin that has never answered gets three attempts; four blocks are in flight. Afterwards one more request checks for
  // the object.
  expect(cloud.asked).toHaveLength({ put: 2, 'block blob': 12, 'page blob': 4 }[kind as string] ?? 3);
  expect(performance.now() - before).toBeLessThanOrEqual(kind === 'put' ? 30_000 : 20_000);
});

const SEEDS = 50;
const BLOCKS = Array.from({ length: 12 }, (_, block) => block);

test.each(
  BLOCKS,
)(`clouds that fail at random, ${SEEDS} seeds of block %i: the right object or an error`, async (block) => {
  for (let seed = block * SEEDS; seed < (block + 1) * SEEDS; seed += 1) {
    const kind = KINDS[seed % KINDS.length]!;
    const next = random(seed * 7919 + 1);
    vi.spyOn(Math, 'random').mockImplementation(next);
    const isMild = Math.floor(seed / KINDS.length) % 2 === 0;
    const choice = isMild ? ALL_FAULTS.filter((fault) => UPLOAD_FAULTS[fault] === 'passes') : ALL_FAULTS;
    const share = next() * 0.3;
    const met = new Set<UploadFault>();
    const fault = (_: number, { method }: Asked) => {
      // ends.test.ts has the faults of HEAD.
      if (next() >= share || method === 'HEAD') return undefined;
      const kind = choice[Math.floor(next() * choice.length)]!;
      met.add(kind);
      return kind;
    };
    const cloud = cloudOf({ fault });
    const failed = await runClock(failure(upload(TARGETS[kind](cloud), DISK)));
    const object = objectIn(cloud);
    const isRight = object?.equals(DISK) ?? false;
    const row = `seed ${seed}, ${kind}, ${[...met].join(', ')}: ${failed}`;
    if (failed === 'nothing failed') expect(isRight, row).toBe(true);
    else {
      expect(failed, row).toMatch(/^Could not upload to 'https:/);
      expect(object === undefined || (met.has('lost answer') && isRight), row).toBe(true);
    }
    if (isMild && kind !== 'put') expect(failed, row).toBe('nothing failed');
  }
});
