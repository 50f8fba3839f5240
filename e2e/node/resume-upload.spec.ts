// Interrupted and resumed uploads, by the command and in one process. worker/upload/s3-resume.test.ts has changes of journal
// and server.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as later } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type * as Decant from '../../dist/node.js';
import type * as Upload from '../../dist/upload.js';
import type { Asked } from '../support/cloud.js';
import { cli, startProgram } from '../support/command.js';
import { failure } from '../support/failure.js';
import { expect, FULL, test } from '../support/node.js';
import { random } from '../support/random.js';
import { isDisk, qcow2Of, rawDisk } from '../support/upload-disks.js';
import { queryFor, takeUploads, type UploadServer } from '../support/uploads.js';

const dist = (name: string) => fileURLToPath(new URL(`../../dist/${name}.js`, import.meta.url));
const decant = (await import(dist('node'))) as typeof Decant;
const upload = (await import(dist('upload'))) as typeof Upload;

let server: UploadServer;
test.beforeEach(async () => {
  server = await takeUploads();
});
test.afterEach(() => server.close());
test.afterAll(() => decant.dispose());

const KEYS = { accessKeyId: 'public', secretAccessKey: 'secret' };
const AWS = { AWS_ACCESS_KEY_ID: KEYS.accessKeyId, AWS_SECRET_ACCESS_KEY: KEYS.secretAccessKey };
const PART = 8 << 20;
const PARTS = 6;
/** Whole MiB, so that a VHD adds only its footer. */
const RAW = rawDisk((PARTS - 1) * PART + (1 << 20));
/** For polls: longer than any step on a busy machine. */
const PATIENTLY = { timeout: 60_000 };

const url = (): string => `${server.origin}/s3/disk`;
const object = (): Buffer | undefined => server.objects.get('/s3/disk');

const isCompletion = ({ method, url }: Asked): boolean => method === 'POST' && url.includes('uploadId');
/** The number of the part in a request; 0 if there is none. */
const partOf = ({ method, url }: Asked): number => (method === 'PUT' ? Number(/partNumber=(\d+)/.exec(url)![1]) : 0);

/** The numbers of the parts that were sent since the request of number `since`, in order. */
const partsSince = (since: number): number[] =>
  server.asked
    .slice(since)
    .map(partOf)
    .filter((part) => part > 0)
    .toSorted((a, b) => a - b);
const range = (first: number, last: number): number[] =>
  Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => first + at);

/** Starts an upload with its journal in `folder`. */
const start = (folder: string, input: string, ...more: string[]) =>
  startProgram(process.execPath, [cli, 'convert', '--upload', 's3', ...more, input, url()], {
    ...AWS,
    XDG_STATE_HOME: folder,
  });

const journals = (folder: string): string[] => {
  const state = join(folder, 'decant');
  return existsSync(state) ? readdirSync(state).map((name) => join(state, name)) : [];
};
/** The text of the one journal. */
const journalIn = (folder: string): string => readFileSync(journals(folder)[0] ?? '/dev/null', 'utf8');
/** The number of parts in a journal. */
const notedIn = (journal: string): number => Math.max(0, journal.split('\n').length - 2);

const never = new Promise<never>(() => {});

/** Ends an upload by `signal` when `noted` parts are noted, which are all that are answered; resolves to what it has printed. */
async function cutOff(folder: string, input: string, signal: NodeJS.Signals, noted: number, ...more: string[]) {
  server.beforeAnswer = (asked) => (partOf(asked) > noted ? never : undefined);
  const { child, ended } = start(folder, input, '-q', '--resume', ...more);
  await expect.poll(() => notedIn(journalIn(folder)), PATIENTLY).toBe(noted);
  child.kill(signal);
  const { stderr } = await ended;
  await server.settled();
  server.beforeAnswer = () => {};
  return stderr;
}

test('killed when two parts are noted: the rest alone is sent', async ({ folder }) => {
  const image = qcow2Of(RAW, folder);
  await cutOff(folder, image, 'SIGKILL', 2);
  expect(object()).toBeUndefined();
  const since = server.asked.length;
  expect(await start(folder, image, '--resume').ended).toMatchObject({ status: 0, stderr: '' });
  expect(partsSince(since)).toEqual(range(3, PARTS));
  expect(object()!.equals(RAW)).toBe(true);
  expect(server.begun.size).toBe(0);
  expect(journals(folder)).toEqual([]);
});

/** Requests during which the process is killed, before or after the server has done what they ask for. */
const KILLS: Record<string, { isAt: (asked: Asked) => boolean; isDone: boolean; next: number[] }> = {
  'the upload is begun, and nothing of it noted': {
    isAt: ({ method, url }) => method === 'POST' && !url.includes('uploadId'),
    isDone: true,
    next: range(1, PARTS),
  },
  'part 1 is sent': { isAt: (asked) => partOf(asked) === 1, isDone: false, next: range(1, PARTS) },
  'part 5 has arrived': { isAt: (asked) => partOf(asked) === 5, isDone: true, next: [5, 6] },
  'the last part has arrived': { isAt: (asked) => partOf(asked) === PARTS, isDone: true, next: [PARTS] },
  'the completion is asked for': { isAt: isCompletion, isDone: false, next: [PARTS] },
  'the object is made': { isAt: isCompletion, isDone: true, next: [] },
};
for (const format of ['raw', 'vpc']) {
  for (const [what, { isAt, isDone, next }] of Object.entries(KILLS)) {
    test(
      `killed when ${what}, ${format}: the object is right, and never a part of one`,
      { tag: '@full' },
      async ({ folder }) => {
        const image = qcow2Of(RAW, folder);
        let isThere = false;
        const hold = (asked: Asked) => {
          if (!isAt(asked)) return undefined;
          isThere = true;
          return never;
        };
        if (isDone) server.beforeAnswer = hold;
        else server.before = hold;
        const { child, ended } = start(folder, image, '--resume', '-O', format);
        // All parts before this one are noted by then.
        const [first = PARTS] = next;
        const noted = next.length === PARTS && !isDone ? 0 : Math.min(first - 1, PARTS - 1);
        await expect
          .poll(() => isThere && (what === 'the object is made' || notedIn(journalIn(folder)) >= noted), PATIENTLY)
          .toBe(true);
        child.kill('SIGKILL');
        await ended;
        await server.settled();
        [server.before, server.beforeAnswer] = [() => {}, () => {}];
        expect(isDisk(object(), RAW, format)).toBe(what === 'the object is made');
        const since = server.asked.length;
        expect(await start(folder, image, '--resume', '-O', format).ended).toMatchObject({ status: 0, stderr: '' });
        expect(partsSince(since)).toEqual(next);
        expect(isDisk(object(), RAW, format)).toBe(true);
        expect(journals(folder)).toEqual([]);
      },
    );
  }
}

const KILLED = 100;
/** Milliseconds that each answer takes where an upload is killed at a random moment. */
const SLOW = 100;

for (const [seed, format] of ['raw', 'vpc'].entries()) {
  test(
    `killed at random moments, ${format}, seed ${seed}: the object is right, and never a part of one`,
    {
      tag: '@long',
    },
    async ({ folder }) => {
      test.setTimeout(3_600_000);
      server.beforeAnswer = () => later(SLOW);
      const image = qcow2Of(RAW, folder);
      const next = random(seed);
      let [kills, resumed, completed] = [0, 0, 0];
      /** The first part that has to be sent: all have to be where the upload of the journal was completed. */
      const firstOf = (journal: string): number => {
        const isOpen = [...server.begun].some((id) => journal.includes(JSON.stringify(id)));
        const noted = journal.split('\n').slice(1, -1).map(Number.parseFloat);
        let first = 0;
        while (noted.includes(first)) first += 1;
        return isOpen ? first + 1 : 1;
      };
      while (kills < KILLED || completed === 0 || resumed === 0) {
        const since = server.asked.length;
        const left = journalIn(folder);
        const { child, ended } = start(folder, image, '--resume', '-O', format);
        await expect.poll(() => server.asked.length, { intervals: [20], ...PATIENTLY }).toBeGreaterThan(since);
        // What the last one had asked for when it was killed has been done by now.
        const first = firstOf(left);
        // On a slow machine nothing is noted so soon: then there is ever more time.
        const longest = resumed === 0 ? 1500 + 250 * kills : 1500;
        const isDoomed = kills < KILLED || resumed === 0;
        const timer = isDoomed ? setTimeout(() => child.kill('SIGKILL'), next() * longest) : undefined;
        const { status, stderr } = await ended;
        clearTimeout(timer);
        const parts = partsSince(since);
        if (parts.length > 0) {
          expect(parts[0], `kill ${kills}`).toBeGreaterThanOrEqual(first);
          if (first > 1) resumed += 1;
        }
        if (status === null) kills += 1;
        else expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
        if (object()) {
          completed += 1;
          expect(isDisk(object(), RAW, format), `kill ${kills}`).toBe(true);
          server.objects.clear();
        }
        if (status === 0) expect(journals(folder)).toEqual([]);
      }
    },
  );
}

test('Ctrl-C keeps what is done, says so, and the rest alone is sent later', FULL, async ({ folder }) => {
  const image = qcow2Of(RAW, folder);
  const printed = await cutOff(folder, image, 'SIGINT', 2);
  expect(printed.trim()).toBe('decant: interrupted; progress was saved; run again with resume to continue (--resume)');
  expect(object()).toBeUndefined();
  expect(server.begun.size).toBe(1);
  const journal = journalIn(folder);
  expect(journal).not.toContain(KEYS.secretAccessKey);
  expect(journal).not.toContain('Signature');
  const since = server.asked.length;
  expect(await start(folder, image, '--resume').ended).toMatchObject({ status: 0, stderr: '' });
  expect(partsSince(since)).toEqual(range(3, PARTS));
  expect(object()!.equals(RAW)).toBe(true);
  expect(server.begun.size).toBe(0);
  expect(journals(folder)).toEqual([]);
});

const DECLINED: Record<string, { isOther?: boolean; more?: string[] }> = {
  'another image': { isOther: true, more: ['--resume'] },
  'another format': { more: ['--resume', '-O', 'vpc'] },
  'no --resume': {},
};
for (const [what, { isOther = false, more = [] }] of Object.entries(DECLINED)) {
  test(`what is left is aborted, and all is sent: ${what}`, FULL, async ({ folder }) => {
    const image = qcow2Of(RAW, folder);
    await cutOff(folder, image, 'SIGKILL', 2);
    const disk = isOther ? rawDisk(RAW.length, 2) : RAW;
    const next = isOther ? qcow2Of(disk, folder, 'other') : image;
    const since = server.asked.length;
    expect(await start(folder, next, ...more).ended).toMatchObject({ status: 0, stderr: '' });
    // It is removed when the next one is begun, and not before.
    expect(server.asked.slice(since, since + 2).map(({ method }) => method)).toEqual(['POST', 'DELETE']);
    expect(partsSince(since)).toEqual(range(1, PARTS));
    expect(isDisk(object(), disk, more.includes('vpc') ? 'vpc' : 'raw')).toBe(true);
    expect(server.begun.size).toBe(0);
    expect(journals(folder)).toEqual([]);
  });
}

/** A custom journal in memory. */
class InMemory implements Upload.UploadJournal {
  text = '';
  read(): string {
    return this.text;
  }
  append(more: string): void | Promise<void> {
    this.text += more;
  }
  clear(): void {
    this.text = '';
  }
}

/** A target whose requests are signed elsewhere. */
const signed = (journal?: Upload.UploadJournal) =>
  upload.s3Target({
    ...(journal ? { journal } : {}),
    sign: (request) => `${url()}?${queryFor(request)}&X-Amz-Signature=abc`,
  });

const KEPT = 'cancelled: The conversion was cancelled; progress was saved; run again with resume to continue';

/** Cancels an upload when `noted` parts are noted, which are all that are answered. */
async function cancelled(image: Decant.AnyImage, journal: InMemory, noted: number): Promise<string> {
  server.beforeAnswer = (asked) => (partOf(asked) > noted ? never : undefined);
  const ending = new AbortController();
  const work = failure(image.convert(signed(journal), { resume: true, signal: ending.signal }));
  await expect.poll(() => notedIn(journal.text), PATIENTLY).toBe(noted);
  ending.abort();
  const failed = await work;
  await server.settled();
  server.beforeAnswer = () => {};
  return failed;
}

test('in one process, presigned: the rest alone is sent, and the result is that of one go', async ({ folder }) => {
  const journal = new InMemory();
  const image = await decant.open(qcow2Of(RAW, folder));
  const whole = await image.convert(signed(new InMemory()));
  expect(await cancelled(image, journal, 3)).toBe(KEPT);
  const since = server.asked.length;
  const result = await image.convert(signed(journal), { resume: true });
  await image.close();
  const { outputSize, bytesWritten, holeBytes } = whole;
  expect(result).toMatchObject({ outputSize, bytesWritten, holeBytes });
  expect(partsSince(since)).toEqual(range(4, PARTS));
  expect(object()!.equals(RAW)).toBe(true);
  expect(journal.text).toBe('');
});

test('a slow journal: kept progress is reported', { tag: '@full' }, async ({ folder }) => {
  /** Each line takes longer than a conversion waits for a target that keeps nothing. */
  class Slow extends InMemory {
    override async append(text: string): Promise<void> {
      await later(500);
      this.text += text;
    }
  }
  const image = await decant.open(qcow2Of(RAW, folder));
  expect(await cancelled(image, new Slow(), 2)).toBe(KEPT);
  await image.close();
});

test(
  'an object that the server refuses to make: nothing is kept of the upload',
  { tag: '@full' },
  async ({ folder }) => {
    let refuses = true;
    await server.close();
    server = await takeUploads({ fault: (_, asked) => (refuses && isCompletion(asked) ? 'status 400' : undefined) });
    const journal = new InMemory();
    const image = await decant.open(qcow2Of(RAW, folder));
    expect(await failure(image.convert(signed(journal), { resume: true }))).toMatch(
      /the server answered 400 Bad Request$/,
    );
    expect(journal.text).toBe('');
    await expect.poll(() => server.begun.size, PATIENTLY).toBe(0);
    refuses = false;
    await image.convert(signed(journal), { resume: true });
    await image.close();
    expect(object()!.equals(RAW)).toBe(true);
  },
);

test('a journal that cannot be written: nothing is kept of what is cut off', { tag: '@full' }, async ({ folder }) => {
  class Broken extends InMemory {
    override append(): void {
      throw new Error('full');
    }
  }
  const image = await decant.open(qcow2Of(RAW, folder));
  await image.convert(signed(new Broken()), { resume: true });
  expect(object()!.equals(RAW)).toBe(true);
  server.beforeAnswer = (asked) => (partOf(asked) > 2 ? never : undefined);
  const since = server.asked.length;
  const ending = new AbortController();
  const work = failure(image.convert(signed(new Broken()), { resume: true, signal: ending.signal }));
  await expect.poll(() => partsSince(since), PATIENTLY).toContain(PARTS);
  ending.abort();
  expect(await work).toBe('cancelled: The conversion was cancelled');
  await image.close();
  await expect.poll(() => server.begun.size, PATIENTLY).toBe(0);
});

test('a target without a journal is refused, and one that says nonsense', async ({ folder }) => {
  const image = await decant.open(qcow2Of(RAW, folder));
  const refusal = (target: Decant.Target) => failure(image.convert(target, { resume: true }));
  expect(await refusal(signed())).toMatch(/: An output of this kind cannot be resumed$/);
  const saying = (begun: Decant.TargetResumePoint, ascending = true): Decant.Target => ({
    ascending,
    resumes: true,
    open: async () => begun,
    write: async () => {},
    close: async () => {},
    abort: async () => {},
  });
  expect(await refusal(saying({ offset: 0, written: 0 }, false))).toMatch(/: A target that resumes must be ascending$/);
  for (const [offset, written] of [
    [4097, 0],
    [1 << 30, 0],
    [-4096, 0],
    [4096, 4097],
    [Number.NaN, 0],
  ] as const) {
    expect(await refusal(saying({ offset, written }))).toMatch(
      /A target cannot resume from byte .* with .* bytes written/,
    );
  }
  await image.close();
});

test(
  'a server that refuses for a moment to say what it has: what is noted stays',
  { tag: '@full' },
  async ({ folder }) => {
    let refuses = true;
    await server.close();
    server = await takeUploads({ fault: (_, { method }) => (refuses && method === 'GET' ? 'status 403' : undefined) });
    const journal = new InMemory();
    const image = await decant.open(qcow2Of(RAW, folder));
    await cancelled(image, journal, 3);
    expect(await failure(image.convert(signed(journal), { resume: true }))).toMatch(
      /the server answered 403 .*; progress was saved; run again with resume to continue$/,
    );
    expect(notedIn(journal.text)).toBe(3);
    expect(server.begun.size).toBe(1);
    refuses = false;
    const since = server.asked.length;
    await image.convert(signed(journal), { resume: true });
    await image.close();
    expect(partsSince(since)).toEqual(range(4, PARTS));
    expect(object()!.equals(RAW)).toBe(true);
    expect(server.begun.size).toBe(0);
  },
);
