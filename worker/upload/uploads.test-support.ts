// For unit tests of uploads: targets with small parts over a cloud without a network, a disk with holes, and a clock
// that runs ahead.

import { vi } from 'vitest';
import { Cloud, type CloudOptions } from '../../e2e/support/cloud.js';
import { random } from '../../e2e/support/random.js';
import { addressOf } from '../http/address.js';
import type { Target, TargetEnd, TargetPlan } from '../public/types.js';
import { type UploadProtocol, UploadTarget } from './ascending-target.js';
import { AzureBlob, BlockBlob, PageBlob } from './azure.js';
import { Gcs } from './gcs.js';
import { Put, type PutSettings } from './put.js';
import { S3 } from './s3.js';
import { S3Journal } from './s3-journal.js';
import { methodAndQuery } from './s3-sign.js';
import { Tus } from './tus.js';
import type { S3Request, UploadJournal, UploadOptions } from './upload-options.js';
import { UploadRequests } from './upload-requests.js';

/** Longer than anything takes on a busy machine. */
vi.setConfig({ testTimeout: 60_000 });

const ORIGIN = 'https://cloud.test';
const ADDRESS = addressOf(`${ORIGIN}/disk`);
/** The size of parts, in bytes. */
export const PART = 4096;

/** Lets timers ring as soon as nothing else happens, until `work` ends. Needs `vi.useFakeTimers()`. */
export async function runClock<T>(work: Promise<T>): Promise<T> {
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  work.then(end, end);
  while (!isOver) await vi.advanceTimersToNextTimerAsync();
  return work;
}

/** A cloud that takes small parts. */
export const cloudOf = (options: CloudOptions = {}): Cloud =>
  new Cloud({ limits: { smallestPart: 0, chunkUnit: PART / 2 }, ...options });

/** `protocol` with small parts. */
const withParts = (protocol: UploadProtocol): UploadProtocol => ({
  requests: protocol.requests,
  get isChecked() {
    return protocol.isChecked!;
  },
  get object() {
    return protocol.object;
  },
  ...(protocol.completing ? { completing: protocol.completing } : {}),
  digests: protocol.digests === true,
  begin: (plan) => protocol.begin(plan).then(() => PART),
  part: (part) => protocol.part(part),
  complete: () => protocol.complete(),
  abort: (keep) => protocol.abort(keep),
});

export const requestsTo = (cloud: Pick<Cloud, 'fetch'>, options: UploadOptions = {}): UploadRequests =>
  new UploadRequests(ADDRESS, { fetch: cloud.fetch, ...options });

type Make = (cloud: Pick<Cloud, 'fetch'>, options?: UploadOptions) => Target;

/** S3, presigned, perhaps with a journal. `signed` gets what was signed. */
export function s3Over(
  cloud: Pick<Cloud, 'fetch'>,
  { journal, signed = [], ...options }: UploadOptions & { journal?: UploadJournal; signed?: string[] } = {},
): Target {
  const sign = async (request: S3Request) => {
    signed.push(request.action);
    return `${ORIGIN}/s3/disk?${methodAndQuery(request).query}`;
  };
  const notes = journal && new S3Journal(journal, (options.timeout ?? 30) * 1000);
  return new UploadTarget(new S3(requestsTo(cloud, options), sign, notes, () => PART));
}

const blobOver = (cloud: Pick<Cloud, 'fetch'>, options?: UploadOptions): AzureBlob =>
  new AzureBlob(requestsTo(cloud, options), new URL(`${ORIGIN}/azure/disk?sig=secret`));

/** A target of each kind. */
export const TARGETS = {
  s3: s3Over,
  gcs: (cloud, options?: UploadOptions) => {
    const protocol = new Gcs(requestsTo(cloud, options), new URL(`${ORIGIN}/gcs/disk`), undefined);
    return new UploadTarget(withParts(protocol));
  },
  tus: (cloud, options?: UploadOptions) => {
    const protocol = new Tus(requestsTo(cloud, options), new URL(`${ORIGIN}/tus/files`), undefined);
    return new UploadTarget(withParts(protocol));
  },
  put: (cloud, options: PutSettings = {}) =>
    new Put(requestsTo(cloud, options), new URL(`${ORIGIN}/put/disk`), options),
  'page blob': (cloud, options?: UploadOptions) => new PageBlob(blobOver(cloud, options)),
  'block blob': (cloud, options?: UploadOptions) =>
    new UploadTarget(withParts(new BlockBlob(blobOver(cloud, options)))),
} satisfies Record<string, Make>;
export type Kind = keyof typeof TARGETS;
export const KINDS = Object.keys(TARGETS) as Kind[];

/** A disk of four parts and a sector, in which data and holes of half a part take turns. */
export const DISK = makeDisk();

function makeDisk(): Buffer {
  const next = random(1);
  const disk = Buffer.alloc(4 * PART + 512);
  for (let at = 0; at < disk.length; at += PART) {
    for (let byte = at; byte < Math.min(at + PART / 2, disk.length); byte += 1)
      disk[byte] = 1 + Math.floor(next() * 255);
  }
  return disk;
}

export const planOf = (disk: Buffer): TargetPlan => ({
  virtualSize: disk.length,
  outputSize: disk.length,
  ascending: true,
});

/** Uploads `disk` as a conversion does: writes, holes, and `close` or `abort`. Resolves to what `close` does. */
export async function upload(
  target: Target,
  disk: Buffer,
  plan: TargetPlan = planOf(disk),
  // biome-ignore lint/suspicious/noConfusingVoidType: as the contract has it
): Promise<TargetEnd | void> {
  try {
    const begun = await target.open?.(plan);
    for (let at = begun?.offset ?? 0; at < disk.length; ) {
      const isHole = disk[at] === 0;
      let end = at + 1;
      while (end < disk.length && (disk[end] === 0) === isHole) end += 1;
      if (isHole) await target.hole!(at, end - at);
      else await target.write(at, new Uint8Array(disk.subarray(at, end)));
      at = end;
    }
    return await target.close();
  } catch (thrown) {
    // Other tests check what a failed abort leaves.
    await Promise.resolve(target.abort(thrown as Error, plan.identity !== undefined)).catch(() => {});
    throw thrown;
  }
}

/** Work that ends when a test says so. */
export function held(): { work: () => Promise<void>; succeed: () => void; fail: (why: string) => void } {
  let succeed = () => {};
  let fail: (why: string) => void = () => {};
  const promise = new Promise<void>((resolve, reject) => {
    succeed = resolve;
    fail = (why) => reject(new Error(why));
  });
  return { work: () => promise, succeed, fail };
}

/** The message of what `work` fails with, or 'nothing failed'. */
export const failure = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'nothing failed',
    (thrown: Error) => thrown.message,
  );

/** The one object of a cloud; `undefined` where it has none. */
export function objectIn({ objects }: Cloud): Buffer | undefined {
  if (objects.size > 1) throw new Error(`there are ${objects.size} objects`);
  return [...objects.values()][0];
}
