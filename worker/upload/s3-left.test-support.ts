// For unit tests of resumed uploads to S3: an upload that is cut off, and its journal in memory.

import { vi } from 'vitest';
import type { Asked, Cloud } from '../../e2e/support/cloud.js';
import type { UploadJournal } from './upload-options.js';
import { failure, PART, planOf, runClock, DISK as SMALL, s3Over, upload } from './uploads.test-support.js';

/** Nine parts: more than a page of the list. The last one is short. */
export const DISK = Buffer.concat([SMALL.subarray(0, 4 * PART), SMALL]);
export const PARTS = 9;
export const resuming = (identity = 'one', disk = DISK) => ({ ...planOf(disk), identity });

/** A journal in memory. */
export class Memory implements UploadJournal {
  text = '';
  read(): string {
    return this.text;
  }
  append(text: string): void | Promise<void> {
    this.text += text;
  }
  clear(): void | Promise<void> {
    this.text = '';
  }
}

export const partOf = ({ url }: Asked): number => Number(/partNumber=(\d+)/.exec(url)?.[1] ?? 0);
/** The parts that were sent since the request of number `since`. */
export const partsSince = ({ asked }: Cloud, since: number): number[] =>
  asked.slice(since).flatMap((asked) => (asked.method === 'PUT' ? [partOf(asked)] : []));
export const range = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, number) => first + number);

/** Uploads until only those parts are left whose answers are held by `isHeld`; then the process is killed. */
export async function kill(cloud: Cloud, journal: Memory, isHeld: (part: number) => boolean): Promise<void> {
  const own = new Memory();
  own.text = journal.text;
  let isDead = false;
  const fetch: typeof cloud.fetch = (url, init) => (isDead ? new Promise(() => {}) : cloud.fetch(url, init));
  cloud.beforeAnswer = (asked) => (isHeld(partOf(asked)) ? new Promise(() => {}) : undefined);
  failure(upload(s3Over({ fetch }, { journal: own }), DISK, resuming())).catch(() => {});
  await vi.advanceTimersByTimeAsync(1000);
  isDead = true;
  journal.text = own.text;
  cloud.beforeAnswer = () => {};
}

/** Kills an upload whose journal has the parts up to `noted`. */
export const cutOff = (cloud: Cloud, journal: Memory, noted: number): Promise<void> =>
  kill(cloud, journal, (part) => part > noted);

/** Begins to upload with answers to the parts from `held` on held, and aborts. Resolves to whether anything is kept. */
export async function aborted(cloud: Cloud, journal: UploadJournal, held: number, keep = true): Promise<unknown> {
  cloud.beforeAnswer = (asked) => (partOf(asked) >= held ? new Promise(() => {}) : undefined);
  const target = s3Over(cloud, { journal, timeout: 1e6 });
  const work = (async () => {
    await target.open!(resuming());
    await target.write(0, new Uint8Array(DISK));
    await target.close();
  })().catch(() => {});
  await vi.advanceTimersByTimeAsync(1000);
  const kept = await runClock(Promise.resolve(target.abort(new Error('cancelled'), keep)));
  await work;
  cloud.beforeAnswer = () => {};
  return kept;
}
