// Uploads that are cut off, and go on from where they were.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as later } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type * as Decant from '../../dist/node.js';
import type * as Upload from '../../dist/upload.js';
import { cli, listening, startProgram } from '../support/command.js';
import { DISK_SIZE, images, small } from '../support/images.js';
import { expect, test } from '../support/node.js';
import { random } from '../support/random.js';
import { byScope } from '../support/scope.js';
import { takeUploads, type UploadServer } from '../support/uploads.js';

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
/** So long each answer takes where an upload is to be cut off, in milliseconds. */
const SLOW = 150;
const KILLS = byScope({ short: 1, full: 5, long: 100 });

const url = (): string => `${server.origin}/s3/disk.raw`;
const object = (): Buffer | undefined => server.objects.get('/s3/disk.raw');

/** The numbers of the parts that were sent since the request of number `since`. */
const partsSince = (since: number): number[] =>
  server.asked
    .slice(since)
    .flatMap(({ method, url }) =>
      method === 'PUT' ? [Number(new URL(url, server.origin).searchParams.get('partNumber'))] : [],
    );

/** The number of the first part that a journal does not tell of. */
function nextIn(journal: string): number {
  const noted = journal.split('\n').slice(1, -1).map(Number.parseFloat);
  let next = 0;
  while (noted.includes(next)) next += 1;
  return next + 1;
}

/** The number of the first part that has to be sent: where the upload of a journal has been completed, all have to be. */
const nextOf = (journal: string): number =>
  [...server.begun].some((id) => journal.includes(JSON.stringify(id))) ? nextIn(journal) : 1;

/** Starts an upload; its journal lies in `folder`. */
const start = (folder: string, input: string, ...more: string[]) =>
  startProgram(process.execPath, [cli, 'convert', '--upload', 's3', ...more, input, url()], {
    ...AWS,
    XDG_STATE_HOME: folder,
  });

const journals = (folder: string): string[] => {
  const state = join(folder, 'decant');
  return existsSync(state) ? readdirSync(state).map((name) => join(state, name)) : [];
};

/** Ends an upload by `signal` when two parts are noted; resolves to what it has printed. */
async function cutOff(folder: string, input: string, signal: NodeJS.Signals): Promise<string> {
  server.pause = SLOW;
  const { child, ended } = start(folder, input, '--resume');
  await listening(child);
  const lines = () => readFileSync(journals(folder)[0] ?? '/dev/null', 'utf8').split('\n').length;
  await expect.poll(lines, { timeout: 30_000, intervals: [20] }).toBeGreaterThan(3);
  child.kill(signal);
  const { stderr } = await ended;
  server.pause = 0;
  return stderr;
}

for (const format of ['raw', 'vpc']) {
  test(`killed at random moments, ${format}: the object is right, and never a part of one`, async ({ folder }) => {
    test.setTimeout(3_600_000);
    server.pause = SLOW;
    const raw = readFileSync(images.raw());
    const next = random(format.length + 1);
    let [kills, resumed, completed] = [0, 0, 0];
    const check = () => {
      const found = object();
      if (!found) return;
      completed += 1;
      expect(found.length).toBe(raw.length + (format === 'vpc' ? 512 : 0));
      expect(Buffer.compare(found.subarray(0, raw.length), raw)).toBe(0);
      server.objects.clear();
    };
    while (kills < KILLS || completed === 0 || resumed === 0) {
      const since = server.asked.length;
      const [left] = journals(folder).map((path) => readFileSync(path, 'utf8'));
      const { child, ended } = start(folder, images.zlib(), '--resume', '-O', format);
      await expect.poll(() => server.asked.length, { intervals: [20], timeout: 30_000 }).toBeGreaterThan(since);
      // Now: what the last one had asked for when it was killed has been done.
      const first = left === undefined ? 1 : nextOf(left);
      let timer: ReturnType<typeof setTimeout> | undefined;
      if (kills < KILLS || resumed === 0) timer = setTimeout(() => child.kill('SIGKILL'), next() * 2000);
      const { status, stderr } = await ended;
      clearTimeout(timer);
      const parts = partsSince(since);
      if (parts.length > 0) {
        expect(Math.min(...parts)).toBeGreaterThanOrEqual(first);
        if (first > 1) resumed += 1;
      }
      if (status === null) kills += 1;
      else expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      check();
      if (status === 0) expect(journals(folder)).toEqual([]);
    }
  });
}

test('Ctrl-C keeps what is done, tells so, and the rest alone is sent later', async ({ folder }) => {
  const told = await cutOff(folder, images.zlib(), 'SIGINT');
  expect(told.trim()).toBe('decant: interrupted; what is done is kept: convert again with resume to go on (--resume)');
  expect(object()).toBeUndefined();
  expect(server.begun.size).toBe(1);
  const journal = readFileSync(journals(folder)[0]!, 'utf8');
  expect(journal).not.toContain(KEYS.secretAccessKey);
  expect(journal).not.toContain('Signature');
  const since = server.asked.length;
  expect(await start(folder, images.zlib(), '--resume').ended).toMatchObject({ status: 0, stderr: '' });
  expect(Math.min(...partsSince(since))).toBe(nextIn(journal));
  expect(object()!.equals(readFileSync(images.raw()))).toBe(true);
  expect(server.begun.size).toBe(0);
  expect(journals(folder)).toEqual([]);
});

const DECLINED: Record<string, { input?: () => string; more?: string[] }> = {
  'another image': { input: () => images.plain(), more: ['--resume'] },
  'another format': { more: ['--resume', '-O', 'vpc'] },
  'no --resume': {},
};
for (const [what, { input = images.zlib, more = [] }] of Object.entries(DECLINED)) {
  test(`what is left is aborted, and all is sent: ${what}`, async ({ folder }) => {
    await cutOff(folder, images.zlib(), 'SIGKILL');
    const since = server.asked.length;
    expect(await start(folder, input(), ...more).ended).toMatchObject({ status: 0, stderr: '' });
    // It is removed when the next one is begun, and not before.
    expect(server.asked.slice(since, since + 2).map(({ method }) => method)).toEqual(['POST', 'DELETE']);
    expect(partsSince(since)).toContain(1);
    expect(object()!.subarray(0, DISK_SIZE).equals(readFileSync(images.raw()))).toBe(true);
    expect(server.begun.size).toBe(0);
    expect(journals(folder)).toEqual([]);
  });
}

/** A journal in memory, as a program may have one. */
interface InMemory extends Upload.UploadJournal {
  text: string;
  append(text: string): void;
}

function inMemory(text = ''): InMemory {
  const journal: InMemory = {
    text,
    read: () => journal.text,
    append: (more) => {
      journal.text += more;
    },
    clear: () => {
      journal.text = '';
    },
  };
  return journal;
}

/** An upload whose requests are signed elsewhere; `actions` are those that were asked for. */
function signed(journal: Upload.UploadJournal) {
  const actions: string[] = [];
  const target = upload.s3Target({
    journal,
    sign: ({ action, query }) => {
      actions.push(action);
      return `${url()}?${query}&X-Amz-Signature=abc`;
    },
  });
  return { target, actions };
}

/** Uploads until three parts are noted, and cancels then. */
async function cancelled(image: Decant.Image, journal: InMemory): Promise<Error> {
  server.pause = SLOW;
  const ending = new AbortController();
  const append = journal.append.bind(journal);
  journal.append = (text) => {
    append(text);
    if (journal.text.split('\n').length > 4) ending.abort();
  };
  const work = image.convert(signed(journal).target, { resume: true, signal: ending.signal });
  const thrown = await work.then(
    () => new Error('nothing failed'),
    (thrown) => thrown,
  );
  journal.append = append;
  server.pause = 0;
  return thrown;
}

/** What may have become of an upload meanwhile, and the first part that is sent then, if the journal does not tell. */
const MEANWHILE: Record<string, { change: (journal: InMemory) => void; first?: number }> = {
  nothing: { change: () => {} },
  'the last line was not finished': {
    change: (journal) => {
      journal.text = journal.text.slice(0, -3);
    },
  },
  'the server has another part': {
    change: (journal) => {
      journal.text = journal.text.replace(/^(1 .*)"\w+"$/m, '$1"0123"');
    },
    first: 2,
  },
  'the server has forgotten it': {
    change: (journal) => {
      journal.text = journal.text.replace(/"id":"[^"]+"/, '"id":"gone"');
    },
    first: 1,
  },
  'the journal is of something else': {
    change: (journal) => {
      journal.text = 'hello\nworld\n';
    },
    first: 1,
  },
};
/** What an upload in one go comes to. */
let whole: Decant.Result | undefined;
for (const [what, { change, first }] of Object.entries(MEANWHILE)) {
  test(`in one process, presigned, meanwhile ${what}: only what is not there is sent`, async () => {
    const journal = inMemory();
    const image = await decant.open(images.zlib());
    whole ??= await image.convert(signed(inMemory()).target);
    expect(await cancelled(image, journal)).toMatchObject({
      kind: 'cancelled',
      message: 'The conversion was cancelled; what is done is kept: convert again with resume to go on',
    });
    change(journal);
    const next = first ?? nextIn(journal.text);
    const [{ target, actions }, since] = [signed(journal), server.asked.length];
    const result = await image.convert(target, { resume: true });
    await image.close();
    const { outputSize, bytesWritten, holeBytes } = whole;
    expect(result).toMatchObject({ outputSize, bytesWritten, holeBytes });
    expect(Math.min(...partsSince(since))).toBe(next);
    expect(actions.includes('list')).toBe(!what.includes('something else'));
    expect(object()!.equals(readFileSync(images.raw()))).toBe(true);
    expect(journal.text).toBe('');
  });
}

test('a journal that takes its time: that something is kept is told', async () => {
  const journal = inMemory();
  const slow: Upload.UploadJournal = {
    ...journal,
    append: async (text) => {
      await later(500);
      journal.append(text);
    },
  };
  const image = await decant.open(images.zlib());
  const ending = new AbortController();
  server.pause = SLOW;
  const { target } = signed(slow);
  const work = image.convert(target, { resume: true, signal: ending.signal }).catch((thrown: Error) => thrown.message);
  await expect.poll(() => journal.text.split('\n').length).toBeGreaterThan(3);
  ending.abort();
  expect(await work).toMatch(/; what is done is kept: convert again with resume to go on$/);
  server.pause = 0;
  await image.close();
});

test('an object that the server refuses to make: nothing is kept of the upload', async () => {
  let refuses = true;
  await server.close();
  server = await takeUploads({
    fault: (_, { method, url }) =>
      refuses && method === 'POST' && url!.includes('uploadId') ? 'status 400' : undefined,
  });
  const journal = inMemory();
  const image = await decant.open(small.zlib());
  await expect(image.convert(signed(journal).target, { resume: true })).rejects.toMatchObject({
    message: expect.stringMatching(/the server answered 400 Bad Request$/),
  });
  expect(journal.text).toBe('');
  await expect.poll(() => server.begun.size).toBe(0);
  refuses = false;
  await image.convert(signed(journal).target, { resume: true });
  await image.close();
  expect(object()!.equals(readFileSync(small.raw()))).toBe(true);
});

test('a journal that cannot be written: all is uploaded, and nothing is kept of what is cut off', async () => {
  const broken = {
    read: () => undefined,
    append: () => {
      throw new Error('full');
    },
    clear: () => {},
  };
  const image = await decant.open(small.zlib());
  await image.convert(signed(broken).target, { resume: true });
  expect(object()!.equals(readFileSync(small.raw()))).toBe(true);
  const ending = new AbortController();
  const onProgress = ({ guestDone }: Decant.Progress) => {
    if (guestDone > PART) ending.abort();
  };
  const work = image.convert(signed(broken).target, { resume: true, signal: ending.signal, onProgress });
  await expect(work).rejects.toMatchObject({ message: 'The conversion was cancelled' });
  await image.close();
  await expect.poll(() => server.begun.size).toBe(0);
});

test('a target without a journal is refused, and one that says nonsense', async () => {
  const image = await decant.open(small.zlib());
  const refusal = (target: Decant.Target) =>
    image.convert(target, { resume: true }).then(
      () => 'done',
      (thrown: Error) => thrown.message,
    );
  const plain = upload.s3Target({ url: url(), keys: KEYS });
  expect(await refusal(plain)).toBe('An output of this kind cannot be resumed');
  const saying = (begun: Decant.TargetBegun, ordered = true): Decant.Target => ({
    ordered,
    resumes: true,
    open: async () => begun,
    write: async () => {},
    close: async () => {},
    abort: async () => {},
  });
  expect(await refusal(saying({ offset: 0, written: 0 }, false))).toBe('A target that resumes must be ordered');
  for (const [offset, written] of [
    [4097, 0],
    [1 << 30, 0],
    [-4096, 0],
    [4096, 4097],
    [Number.NaN, 0],
  ] as const) {
    expect(await refusal(saying({ offset, written }))).toMatch(/A target cannot go on from byte .*, of which .* were/);
  }
  await image.close();
});

test('a server that refuses for a moment to say what it has: what is noted stays', async () => {
  let refuses = true;
  await server.close();
  server = await takeUploads({
    fault: (_, { method }) => (refuses && method === 'GET' ? 'status 403' : undefined),
  });
  const journal = inMemory();
  const image = await decant.open(images.zlib());
  await cancelled(image, journal);
  const next = nextIn(journal.text);
  await expect(image.convert(signed(journal).target, { resume: true })).rejects.toMatchObject({
    message: expect.stringMatching(
      /the server answered 403 .*; what is done is kept: convert again with resume to go on$/,
    ),
  });
  expect(nextIn(journal.text)).toBe(next);
  expect(server.begun.size).toBe(1);
  refuses = false;
  const since = server.asked.length;
  await image.convert(signed(journal).target, { resume: true });
  await image.close();
  expect(Math.min(...partsSince(since))).toBe(next);
  expect(object()!.equals(readFileSync(images.raw()))).toBe(true);
  expect(server.begun.size).toBe(0);
});
