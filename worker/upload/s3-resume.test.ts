// Uploads to S3 that are cut off and resumed: only what the server lacks is sent.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Asked, Cloud } from '../../e2e/support/cloud.js';
import {
  cloudOf,
  failure,
  objectIn,
  PART,
  planOf,
  runClock,
  DISK as SMALL,
  s3Over,
  upload,
} from '../../e2e/support/units/uploads.js';
import { S3Journal } from './s3-journal.js';
import type { UploadJournal } from './types.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Nine parts: more than a page of the list. The last one is short. */
const DISK = Buffer.concat([SMALL.subarray(0, 4 * PART), SMALL]);
const PARTS = 9;
const resuming = (identity = 'one', disk = DISK) => ({ ...planOf(disk), identity });

/** A journal in memory. */
class Memory implements UploadJournal {
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

const partOf = ({ url }: Asked): number => Number(/partNumber=(\d+)/.exec(url)?.[1] ?? 0);
/** The parts that were sent since the request of number `since`. */
const partsSince = ({ asked }: Cloud, since: number): number[] =>
  asked.slice(since).flatMap((asked) => (asked.method === 'PUT' ? [partOf(asked)] : []));
const range = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, number) => first + number);

/** Uploads until only those parts are left whose answers are held by `isHeld`; then the process is killed. */
async function kill(cloud: Cloud, journal: Memory, isHeld: (part: number) => boolean): Promise<void> {
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

/** Kills an upload of which the parts up to `noted` are noted. */
const cutOff = (cloud: Cloud, journal: Memory, noted: number): Promise<void> =>
  kill(cloud, journal, (part) => part > noted);

test.each(range(1, PARTS - 1))('killed with %i parts noted: the others alone are sent', async (noted) => {
  const [cloud, journal] = [cloudOf(), new Memory()];
  await cutOff(cloud, journal, noted);
  expect(journal.text.split('\n')).toHaveLength(1 + noted + 1);
  const [since, signed] = [cloud.asked.length, [] as string[]];
  const target = s3Over(cloud, { journal, signed });
  expect(target.resumes).toBe(true);
  expect(await runClock(failure(upload(target, DISK, resuming())))).toBe('nothing failed');
  expect(partsSince(cloud, since)).toEqual(range(noted + 1, PARTS));
  expect(signed).not.toContain('create');
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
  expect(cloud.begun.size).toBe(0);
  expect(journal.text).toBe('');
});

test('what is there, and how much of it was written, is told to the conversion', async () => {
  const [cloud, journal] = [cloudOf(), new Memory()];
  await cutOff(cloud, journal, 3);
  const target = s3Over(cloud, { journal });
  // Half of each part is a hole.
  expect(await runClock(target.open!(resuming()))).toEqual({ offset: 3 * PART, written: (3 * PART) / 2 });
});

test('killed twice: what both have sent is there', async () => {
  const [cloud, journal] = [cloudOf(), new Memory()];
  await cutOff(cloud, journal, 3);
  await cutOff(cloud, journal, 6);
  const since = cloud.asked.length;
  expect(await runClock(failure(upload(s3Over(cloud, { journal }), DISK, resuming())))).toBe('nothing failed');
  expect(partsSince(cloud, since)).toEqual([7, 8, 9]);
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
});

test('parts that come in another order: nothing behind a gap counts', async () => {
  const [cloud, journal] = [cloudOf(), new Memory()];
  await kill(cloud, journal, (part) => part === 2);
  expect(journal.text.split('\n').slice(1, -1).map(Number.parseFloat)).toEqual([0, 2, 3, 4, 5, 6, 7]);
  const since = cloud.asked.length;
  expect(await runClock(failure(upload(s3Over(cloud, { journal }), DISK, resuming())))).toBe('nothing failed');
  expect(partsSince(cloud, since)).toEqual(range(2, PARTS));
});

/** What may have happened since an upload was cut off with four parts noted, and the first part that is sent then. */
const CHANGES: Record<string, { change: (journal: Memory, cloud: Cloud) => void; first: number; lists?: boolean }> = {
  'nothing has changed': { change: () => {}, first: 5 },
  'the last line was not finished': {
    change: (journal) => {
      journal.text = journal.text.slice(0, -3);
    },
    first: 4,
  },
  'the last line was not finished, and was followed by another one': {
    change: (journal) => {
      journal.text = `${journal.text.slice(0, -3)}\n`;
    },
    first: 4,
  },
  'the server has another part 2': {
    change: (journal) => {
      journal.text = journal.text.replace(/^(1 .*)"\w+"$/m, '$1"0123"');
    },
    first: 2,
  },
  'a part was noted twice': {
    change: (journal) => {
      journal.text = journal.text.replace(/^1 (.*)"\w+"$/m, `1 $1"0123"\n$&`);
    },
    first: 5,
  },
  'the server has forgotten it': {
    change: (journal) => {
      journal.text = journal.text.replace(/"id":"[^"]+"/, '"id":"gone"');
    },
    first: 1,
  },
  'the parts had another size': {
    change: (journal) => {
      journal.text = journal.text.replace(/"size":\d+/, `"size":${2 * PART}`);
    },
    first: 1,
    lists: false,
  },
  'the journal is of something else': {
    change: (journal) => {
      journal.text = 'hello\nworld\n';
    },
    first: 1,
    lists: false,
  },
  'no part was noted': {
    change: (journal) => {
      journal.text = `${journal.text.split('\n')[0]}\n`;
    },
    first: 1,
  },
  'the journal is empty': {
    change: (journal) => {
      journal.text = '';
    },
    first: 1,
    lists: false,
  },
};

test.each(Object.entries(CHANGES))('%s: what is there is not sent again', async (_, {
  change,
  first,
  lists = true,
}) => {
  const [cloud, journal] = [cloudOf(), new Memory()];
  await cutOff(cloud, journal, 4);
  change(journal, cloud);
  const [since, signed] = [cloud.asked.length, [] as string[]];
  const target = s3Over(cloud, { journal, signed });
  expect(await runClock(failure(upload(target, DISK, resuming())))).toBe('nothing failed');
  expect(Math.min(...partsSince(cloud, since))).toBe(first);
  expect(signed.includes('list')).toBe(lists);
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
  expect(journal.text).toBe('');
});

test.each([404, 405, 501])('a server that answers %i to the list gets all parts', async (status) => {
  const [cloud, journal] = [cloudOf(), new Memory()];
  await cutOff(cloud, journal, 4);
  const since = cloud.asked.length;
  const fetch = async (url: string | URL | Request, init: RequestInit = {}) =>
    init.method === 'GET' ? new Response(null, { status }) : cloud.fetch(url, init);
  expect(await runClock(failure(upload(s3Over({ fetch }, { journal }), DISK, resuming())))).toBe('nothing failed');
  expect(partsSince(cloud, since)).toEqual(range(1, PARTS));
  expect(cloud.begun.size).toBe(0);
});

test.each<[string, (text: string) => string, number]>([
  ['no ETags', (text) => text.replace(/<ETag>.*?<\/ETag>/g, ''), 5],
  ['bare ETags', (text) => text.replaceAll('&quot;', ''), 5],
  ['ETags in other quotes', (text) => text.replaceAll('&quot;', '&#34;'), 5],
  ['another order', (text) => text.replace(/(<Part>.*<\/Part>)\n(<Part>.*<\/Part>)/, '$2\n$1'), 5],
  ['another size of part 3', (text) => text.replace(/(<PartNumber>3<.*?<Size>)\d+/, '$11'), 3],
  ['no part 2', (text) => text.replace(/<Part><ETag>[^<]*<\/ETag><PartNumber>2<.*?<\/Part>/, ''), 2],
  ['no parts', () => '<ListPartsResult/>', 1],
])('a server that lists %s', async (_, change, first) => {
  const [cloud, journal] = [cloudOf(), new Memory()];
  await cutOff(cloud, journal, 4);
  const since = cloud.asked.length;
  const fetch = async (url: string | URL | Request, init: RequestInit = {}) => {
    const response = await cloud.fetch(url, init);
    return init.method === 'GET' ? new Response(change(await response.text())) : response;
  };
  expect(await runClock(failure(upload(s3Over({ fetch }, { journal }), DISK, resuming())))).toBe('nothing failed');
  expect(Math.min(...partsSince(cloud, since))).toBe(first);
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
});

test.each<[string, ReturnType<typeof planOf> & { identity?: string }]>([
  ['of another image', resuming('two')],
  ['without resume', planOf(DISK)],
])('a conversion %s: what is left is aborted once the next upload has begun', async (_, plan) => {
  const [cloud, journal] = [cloudOf(), new Memory()];
  await cutOff(cloud, journal, 4);
  const since = cloud.asked.length;
  expect(await runClock(failure(upload(s3Over(cloud, { journal }), DISK, plan)))).toBe('nothing failed');
  expect(cloud.asked.slice(since, since + 2).map(({ method }) => method)).toEqual(['POST', 'DELETE']);
  expect(partsSince(cloud, since)).toEqual(range(1, PARTS));
  expect(cloud.begun.size).toBe(0);
  expect(journal.text).toBe('');
});

test('where the next upload cannot begin, what is left stays', async () => {
  const [cloud, journal] = [cloudOf(), new Memory()];
  await cutOff(cloud, journal, 4);
  const { text } = journal;
  const fetch = async (url: string | URL | Request, init: RequestInit = {}) =>
    init.method === 'POST' ? new Response(null, { status: 403 }) : cloud.fetch(url, init);
  const failed = await runClock(failure(upload(s3Over({ fetch }, { journal }), DISK, resuming('two'))));
  expect(failed).toMatch(/403/);
  expect(journal.text).toBe(text);
  expect(cloud.begun.size).toBe(1);
});

test('a server that refuses to list: what is noted stays, and is used later', async () => {
  const [cloud, journal] = [cloudOf(), new Memory()];
  await cutOff(cloud, journal, 4);
  const { text } = journal;
  const fetch = async (url: string | URL | Request, init: RequestInit = {}) =>
    init.method === 'GET' ? new Response(null, { status: 403 }) : cloud.fetch(url, init);
  expect(await runClock(failure(upload(s3Over({ fetch }, { journal }), DISK, resuming())))).toMatch(/answered 403/);
  expect(journal.text).toBe(text);
  expect(cloud.begun.size).toBe(1);
  const since = cloud.asked.length;
  expect(await runClock(failure(upload(s3Over(cloud, { journal }), DISK, resuming())))).toBe('nothing failed');
  expect(partsSince(cloud, since)).toEqual(range(5, PARTS));
});

/** An upload that fails at the completion, by `status`. */
const refusing =
  (cloud: Cloud, status: number) =>
  async (url: string | URL | Request, init: RequestInit = {}) =>
    init.method === 'POST' && String(url).includes('uploadId')
      ? new Response(null, { status })
      : cloud.fetch(url, init);

test('an object that the server refuses to make (400): nothing is kept', async () => {
  const [cloud, journal] = [cloudOf(), new Memory()];
  const target = s3Over({ fetch: refusing(cloud, 400) }, { journal });
  expect(await runClock(failure(upload(target, DISK, resuming())))).toMatch(/the server answered 400$/);
  expect(journal.text).toBe('');
  expect(cloud.begun.size).toBe(0);
});

test('a completion that is not allowed (403): what is there is kept, but for the last part', async () => {
  const [cloud, journal] = [cloudOf(), new Memory()];
  const fetch = refusing(cloud, 403);
  expect(await runClock(failure(upload(s3Over({ fetch }, { journal }), DISK, resuming())))).toMatch(/answered 403/);
  expect(cloud.begun.size).toBe(1);
  const since = cloud.asked.length;
  expect(await runClock(failure(upload(s3Over(cloud, { journal }), DISK, resuming())))).toBe('nothing failed');
  expect(partsSince(cloud, since)).toEqual([PARTS]);
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
});

/** Begins to upload with answers to the parts from `held` on held, and aborts. Resolves to whether anything is kept. */
async function aborted(cloud: Cloud, journal: UploadJournal, held: number, keep = true): Promise<unknown> {
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

test('a cancel before anything has begun keeps what is left', async () => {
  const [cloud, journal] = [cloudOf(), new Memory()];
  await cutOff(cloud, journal, 4);
  const { text } = journal;
  expect(await runClock(Promise.resolve(s3Over(cloud, { journal }).abort(new Error('cancelled'), true)))).toBe(false);
  expect(journal.text).toBe(text);
});

test('a cancel waits for a line that is being added, and for no more', async () => {
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
  // After 1 s the head and a part are noted, and another part is being noted.
  expect(await aborted(cloud, journal, 9)).toBe(true);
  expect(lines).toHaveLength(3);
  const since = cloud.asked.length;
  expect(await runClock(failure(upload(s3Over(cloud, { journal }), DISK, resuming())))).toBe('nothing failed');
  expect(Math.min(...partsSince(cloud, since))).toBe(3);
});

test('a journal that cannot be written: all is uploaded, and nothing is kept of what is cut off', async () => {
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

test('a journal that cannot be read fails the conversion with resume, and no other', async () => {
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

test('a journal that cannot be cleared gets nothing more', async () => {
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

test('without a journal nothing can be resumed', () => {
  expect(s3Over(cloudOf()).resumes).toBe(false);
});

test('an output larger than the disk: what follows the disk is sent again', async () => {
  const [cloud, journal] = [cloudOf(), new Memory()];
  await cutOff(cloud, journal, 8);
  const since = cloud.asked.length;
  // The disk has five parts.
  const plan = { ...resuming(), virtualSize: 5 * PART + 512 };
  expect(await runClock(failure(upload(s3Over(cloud, { journal }), DISK, plan)))).toBe('nothing failed');
  expect(partsSince(cloud, since)).toEqual(range(6, PARTS));
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
});

test('what is noted is the identity, the parts and no secret', async () => {
  const [cloud, journal] = [cloudOf(), new Memory()];
  await cutOff(cloud, journal, 2);
  const [id] = [...cloud.begun];
  const [head, ...lines] = journal.text.split('\n');
  expect(JSON.parse(head!)).toEqual({ identity: 'one', size: PART, id });
  for (const [number, line] of lines.slice(0, -1).entries()) {
    expect(line).toMatch(new RegExp(`^${number} ${((number + 1) * PART) / 2} [0-9a-f]{32} "[0-9a-f]{32}"$`));
  }
  expect(await new S3Journal(journal).read()).toMatchObject({ identity: 'one', size: PART, id, written: [2048, 4096] });
});
