// Interrupted and resumed uploads to S3: only missing parts are sent.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Asked, Cloud } from '../../e2e/support/cloud.js';
import { resultOf } from '../../e2e/support/upload-protocols.js';
import { S3Journal } from './s3-journal.js';
import { cutOff, DISK, kill, Memory, PARTS, partsSince, range, resuming } from './s3-left.test-support.js';
import { cloudOf, failure, objectIn, PART, planOf, runClock, s3Over, upload } from './uploads.test-support.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test.each(range(1, PARTS - 1))('killed with %i parts in the journal: only the others are sent', async (noted) => {
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

test('the conversion learns the stored parts, and how much was written', async () => {
  const [cloud, journal] = [cloudOf(), new Memory()];
  await cutOff(cloud, journal, 3);
  const target = s3Over(cloud, { journal });
  // Half of each part is a hole.
  expect(await runClock(target.open!(resuming()))).toEqual({ offset: 3 * PART, written: (3 * PART) / 2 });
});

test('killed twice: the parts of both are stored', async () => {
  const [cloud, journal] = [cloudOf(), new Memory()];
  await cutOff(cloud, journal, 3);
  await cutOff(cloud, journal, 6);
  const since = cloud.asked.length;
  expect(await runClock(failure(upload(s3Over(cloud, { journal }), DISK, resuming())))).toBe('nothing failed');
  expect(partsSince(cloud, since)).toEqual([7, 8, 9]);
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
});

test('parts in another order: nothing after a gap counts', async () => {
  const [cloud, journal] = [cloudOf(), new Memory()];
  await kill(cloud, journal, (part) => part === 2);
  expect(journal.text.split('\n').slice(1, -1).map(Number.parseFloat)).toEqual([0, 2, 3, 4, 5, 6, 7]);
  const since = cloud.asked.length;
  expect(await runClock(failure(upload(s3Over(cloud, { journal }), DISK, resuming())))).toBe('nothing failed');
  expect(partsSince(cloud, since)).toEqual(range(2, PARTS));
});

/** Events after an upload was interrupted with four recorded parts, and the first part sent on resuming. */
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

test.each(Object.entries(CHANGES))('%s: stored parts are not sent again', async (_, {
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

/** Uploads until the server has made the object; then the process is killed. */
async function killCompleted(cloud: Cloud, journal: Memory): Promise<void> {
  const own = new Memory();
  let isDead = false;
  const fetch: typeof cloud.fetch = async (url, init) => {
    if (isDead) return new Promise(() => {});
    const response = await cloud.fetch(url, init);
    isDead = init?.method === 'POST' && String(url).includes('uploadId');
    return isDead ? new Promise(() => {}) : response;
  };
  failure(upload(s3Over({ fetch }, { journal: own }), DISK, resuming())).catch(() => {});
  await vi.advanceTimersByTimeAsync(1000);
  expect(isDead).toBe(true);
  journal.text = own.text;
}

test('killed when the object was completed: it is recognised, and nothing is sent again', async () => {
  const [cloud, journal] = [cloudOf(), new Memory()];
  await killCompleted(cloud, journal);
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
  const [since, signed] = [cloud.asked.length, [] as string[]];
  const end = await runClock(upload(s3Over(cloud, { journal, signed }), DISK, resuming()));
  expect(end).toEqual({});
  expect(signed).toEqual(['list', 'head']);
  expect(partsSince(cloud, since)).toEqual([]);
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
  expect(journal.text).toBe('');
});

test.each<[string, (cloud: Cloud, journal: Memory) => void, (() => Response) | undefined]>([
  ['the object was removed since', (cloud) => cloud.objects.clear(), undefined],
  ['another object has the name', () => {}, () => new Response(null, { headers: { ETag: `"${'0'.repeat(32)}-9"` } })],
  ['nobody may ask for it', () => {}, () => new Response(null, { status: 403 })],
  [
    'the journal has no line for it',
    (_, journal) => {
      journal.text = journal.text.replace(/^end .*\n/m, '');
    },
    undefined,
  ],
])('killed when the object is made, and %s: all is sent', async (_, change, head) => {
  const [cloud, journal] = [cloudOf(), new Memory()];
  await killCompleted(cloud, journal);
  change(cloud, journal);
  const since = cloud.asked.length;
  let isFirst = true;
  const fetch: typeof cloud.fetch = async (url, init) => {
    if (init?.method !== 'HEAD' || !head || !isFirst) return cloud.fetch(url, init);
    isFirst = false;
    return head();
  };
  expect(await runClock(failure(upload(s3Over({ fetch }, { journal }), DISK, resuming())))).toBe('nothing failed');
  expect(partsSince(cloud, since)).toEqual(range(1, PARTS));
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
});

const STAYS = "the object stays at 'https://cloud.test/disk': the server had completed it";
const MAY_APPEAR =
  "the object may still appear at 'https://cloud.test/disk': the server had received everything, but it had not answered";
const isCompletion = ({ method, url }: Asked) => method === 'POST' && url.includes('uploadId');
test.each<[string, 'before' | 'beforeAnswer', string]>([
  ['the object was completed', 'beforeAnswer', STAYS],
  ['the object may still be completed', 'before', MAY_APPEAR],
])('cancelled and kept when %s: it is named, and the upload can be resumed', async (_, held, sentence) => {
  const [cloud, journal] = [cloudOf(), new Memory()];
  cloud[held] = (asked) => (isCompletion(asked) ? new Promise<never>(() => {}) : undefined);
  const target = s3Over(cloud, { journal });
  const work = (async () => {
    await target.open!(resuming());
    await target.write(0, new Uint8Array(DISK));
    await target.close();
    // The abort below ends it.
  })().catch(() => {});
  await vi.advanceTimersByTimeAsync(1000);
  expect(cloud.asked.some(isCompletion)).toBe(true);
  const left = await runClock(Promise.resolve(target.abort(new Error('cancelled'), true)).catch((thrown) => thrown));
  await work;
  expect(left).toMatchObject({
    code: 'object-completed',
    message: `${sentence}; progress was saved; run again with resume to continue`,
    fields: { leftCode: 'object-completed', leftAt: 'https://cloud.test/disk', resumable: true },
  });
  cloud[held] = () => undefined;
  const since = cloud.asked.length;
  expect(await runClock(failure(upload(s3Over(cloud, { journal }), DISK, resuming())))).toBe('nothing failed');
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
  // Without the object, the last part is sent again: it is never in the journal.
  expect(partsSince(cloud, since)).toEqual(held === 'before' ? [PARTS] : []);
});

test.each([404, 405, 501])('a server that answers the list with %i gets all parts', async (status) => {
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

test('if the next upload cannot begin, the old one stays', async () => {
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

test('a server that refuses to list: the journal stays, and is used later', async () => {
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

test('a different object: nothing is kept, and the object is named', async () => {
  const [cloud, journal] = [cloudOf(), new Memory()];
  const fetch: typeof cloud.fetch = async (url, init) => {
    const response = await cloud.fetch(url, init);
    const isCompletion = init?.method === 'POST' && String(url).includes('uploadId');
    return isCompletion ? new Response(resultOf(`"${'0'.repeat(32)}-9"`)) : response;
  };
  const target = s3Over({ fetch }, { journal });
  const work = (async () => {
    await target.open!(resuming());
    await target.write(0, new Uint8Array(DISK));
    await target.close();
  })();
  expect(await runClock(failure(work))).toMatch(/the object on the server is not the one that was uploaded$/);
  const aborted = Promise.resolve(target.abort(new Error('it failed'), true)).catch((thrown: unknown) => thrown);
  expect(await runClock(aborted)).toMatchObject({
    code: 'object-completed',
    fields: { leftAt: 'https://cloud.test/disk' },
  });
  expect(journal.text).toBe('');
});

test('a completion that is not allowed (403): all but the last part are kept', async () => {
  const [cloud, journal] = [cloudOf(), new Memory()];
  const fetch = refusing(cloud, 403);
  expect(await runClock(failure(upload(s3Over({ fetch }, { journal }), DISK, resuming())))).toMatch(/answered 403/);
  expect(cloud.begun.size).toBe(1);
  const since = cloud.asked.length;
  expect(await runClock(failure(upload(s3Over(cloud, { journal }), DISK, resuming())))).toBe('nothing failed');
  expect(partsSince(cloud, since)).toEqual([PARTS]);
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
});

test('without a journal nothing can be resumed', () => {
  expect(s3Over(cloudOf()).resumes).toBe(false);
});

test('an output larger than the disk: its footer is sent again', async () => {
  const [cloud, journal] = [cloudOf(), new Memory()];
  await cutOff(cloud, journal, 8);
  const since = cloud.asked.length;
  // The disk has five parts.
  const plan = { ...resuming(), virtualSize: 5 * PART + 512 };
  expect(await runClock(failure(upload(s3Over(cloud, { journal }), DISK, plan)))).toBe('nothing failed');
  expect(partsSince(cloud, since)).toEqual(range(6, PARTS));
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
});

test('the journal has the identity and the parts, and no secret', async () => {
  const [cloud, journal] = [cloudOf(), new Memory()];
  await cutOff(cloud, journal, 2);
  const [id] = [...cloud.begun];
  const [head, ...lines] = journal.text.split('\n');
  expect(JSON.parse(head!)).toEqual({ identity: 'one', size: PART, id });
  for (const [number, line] of lines.slice(0, -1).entries()) {
    expect(line).toMatch(new RegExp(`^${number} ${((number + 1) * PART) / 2} [0-9a-f]{32} "[0-9a-f]{32}"$`));
  }
  expect(await new S3Journal(journal, 30_000).read()).toMatchObject({
    identity: 'one',
    size: PART,
    id,
    written: [2048, 4096],
  });
});
