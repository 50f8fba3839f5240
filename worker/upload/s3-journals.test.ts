// Uploads to S3 with journals that are slow, broken or silent, and the result of a cancel.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { aborted, cutOff, DISK, Memory, partsSince, resuming } from './s3-left.test-support.js';
import { cloudOf, failure, objectIn, runClock, s3Over, upload } from './uploads.test-support.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test.each([
  ['no part is noted', 1, true, false],
  ['two parts are noted', 3, true, true],
  ['two parts are noted, and nothing is to be kept', 3, false, false],
])('a cancel when %s', async (_, held, keep, isKept) => {
  const [cloud, journal] = [cloudOf(), new Memory()];
  expect(await aborted(cloud, journal, held, keep)).toBe(isKept);
  expect(cloud.begun.size).toBe(isKept ? 1 : 0);
  expect(journal.text === '').toBe(!isKept);
});

test('a cancel before the start keeps the old upload', async () => {
  const [cloud, journal] = [cloudOf(), new Memory()];
  await cutOff(cloud, journal, 4);
  const { text } = journal;
  expect(await runClock(Promise.resolve(s3Over(cloud, { journal }).abort(new Error('cancelled'), true)))).toBe(false);
  expect(journal.text).toBe(text);
});

test('a cancel waits only for the pending line', async () => {
  const cloud = cloudOf();
  const lines: string[] = [];
  class Slow extends Memory {
    override async append(text: string): Promise<void> {
      await new Promise((done) => setTimeout(done, 400));
      this.text += text;
      lines.push(text);
    }
  }
  const journal = new Slow();
  // After 1 s, the journal has the head and a part, and the line of another part is being written.
  expect(await aborted(cloud, journal, 9)).toBe(true);
  expect(lines).toHaveLength(3);
  const since = cloud.asked.length;
  expect(await runClock(failure(upload(s3Over(cloud, { journal }), DISK, resuming())))).toBe('nothing failed');
  expect(Math.min(...partsSince(cloud, since))).toBe(3);
});

test('a journal that cannot be written: the upload succeeds, but is not resumable', async () => {
  class Broken extends Memory {
    override append(): void {
      throw new Error('full');
    }
  }
  const cloud = cloudOf();
  expect(await runClock(failure(upload(s3Over(cloud, { journal: new Broken() }), DISK, resuming())))).toBe(
    'nothing failed',
  );
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
  expect(await aborted(cloud, new Broken(), 5)).toBe(false);
  expect(cloud.begun.size).toBe(0);
});

test('an unreadable journal fails only a conversion with resume', async () => {
  class Unreadable extends Memory {
    override read(): string {
      throw new Error('locked');
    }
  }
  const cloud = cloudOf();
  const target = () => s3Over(cloud, { journal: new Unreadable() });
  expect(await runClock(failure(upload(target(), DISK, resuming())))).toMatch(/locked/);
  expect(cloud.asked).toEqual([]);
  expect(await runClock(failure(upload(target(), DISK)))).toBe('nothing failed');
});

test.each<[string, () => unknown, RegExp]>([
  [
    'a number',
    () => 7,
    /^The journal of the upload cannot be used: its 'read' returned a value of type number instead of a string$/,
  ],
  ['null, as localStorage does', () => null, /^nothing failed$/],
  ['nothing ever', () => new Promise(() => {}), /: its 'read' did not settle within 30 seconds$/],
])('a journal whose read returns %s, with resume', async (_, read, expected) => {
  const cloud = cloudOf();
  const journal = Object.assign(new Memory(), { read }) as Memory;
  const thrown = await runClock(
    upload(s3Over(cloud, { journal }), DISK, resuming()).catch((thrown: unknown) => thrown),
  );
  expect(thrown instanceof Error ? thrown.message : 'nothing failed').toMatch(expected);
  if (thrown instanceof Error) expect(thrown).toMatchObject({ kind: 'target', code: 'journal' });
  // Without resume it counts as empty.
  const other = Object.assign(new Memory(), { read }) as Memory;
  expect(await runClock(failure(upload(s3Over(cloudOf(), { journal: other }), DISK)))).toBe('nothing failed');
});

test('a journal whose append never settles: the upload succeeds after its time-out, but is not resumable', async () => {
  class Hanging extends Memory {
    override append(): Promise<void> {
      return new Promise(() => {});
    }
  }
  const cloud = cloudOf();
  const before = performance.now();
  expect(await runClock(failure(upload(s3Over(cloud, { journal: new Hanging() }), DISK, resuming())))).toBe(
    'nothing failed',
  );
  expect(performance.now() - before).toBeLessThan(31_000);
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
});

test('a journal whose clear never settles does not block the end', async () => {
  class Hanging extends Memory {
    override clear(): Promise<void> {
      return new Promise(() => {});
    }
  }
  const cloud = cloudOf();
  expect(await runClock(failure(upload(s3Over(cloud, { journal: new Hanging() }), DISK, resuming())))).toBe(
    'nothing failed',
  );
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
});

test('a journal that cannot be cleared gets no more lines', async () => {
  class Stuck extends Memory {
    override clear(): void {
      throw new Error('read-only');
    }
  }
  const [cloud, journal] = [cloudOf(), new Stuck()];
  await cutOff(cloud, journal, 4);
  const { text } = journal;
  expect(await runClock(failure(upload(s3Over(cloud, { journal }), DISK, resuming('two'))))).toBe('nothing failed');
  expect(journal.text).toBe(text);
});
