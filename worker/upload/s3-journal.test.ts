// The journal of an upload to S3, line by line.

import { expect, test } from 'vitest';
import { S3Journal } from './s3-journal.js';
import { held } from './uploads.test-support.js';

const HEAD = '{"identity":"one","size":4096,"id":"a&<"}\n';
const DIGEST = '0123456789abcdef0123456789abcdef';
const OTHER = DIGEST.replace('0', '1');

/** A journal over a text, which others may read. */
function over(text: string) {
  const place = {
    text,
    read: () => place.text,
    append: (more: string): void | Promise<void> => {
      place.text += more;
    },
    clear: () => {
      place.text = '';
    },
  };
  return { place, journal: new S3Journal(place, 30_000) };
}

/** The written bytes of the parts in a journal; `undefined` without an upload. */
const written = async (text: string) => (await over(text).journal.read())?.written;

test.each<[string, string, number[] | undefined]>([
  ['nothing', '', undefined],
  ['an upload without parts', HEAD, []],
  ['parts', `${HEAD}0 10 - "a"\n1 20 ${DIGEST} "${DIGEST}"\n`, [10, 20]],
  ['a digest beside the ETag in capitals', `${HEAD}0 10 ${DIGEST} "${DIGEST.toUpperCase()}"\n`, [10]],
  ['a digest beside another ETag', `${HEAD}0 10 - "a"\n1 20 ${DIGEST} "${OTHER}"\n2 30 - "c"\n`, [10]],
  ['a digest with a damaged digit', `${HEAD}0 10 ${OTHER} "${DIGEST}"\n`, []],
  ['a damaged line after a right one: the right one counts', `${HEAD}0 10 - "a"\n0 12 ${OTHER} "b"\n`, [10]],
  ['parts in another order', `${HEAD}1 20 - "b"\n0 10 - "a"\n`, [10, 20]],
  ['a gap', `${HEAD}0 10 - "a"\n2 30 - "c"\n`, [10]],
  ['no first part', `${HEAD}1 20 - "b"\n`, []],
  ['a part twice: the later line counts', `${HEAD}0 10 - "a"\n0 12 - "b"\n`, [12]],
  ['a line without an end', `${HEAD}0 10 - "a"\n1 20 - "b"`, [10]],
  ['a line that was cut and ended', `${HEAD}0 10 - "a"\n1 2\n1 20 - "b"\n`, [10, 20]],
  ['a digest that is none', `${HEAD}0 10 0123 "a"\n`, []],
  ['a number that is none', `${HEAD}x 10 - "a"\n`, []],
  ['a number too long', `${HEAD}000000 10 - "a"\n`, []],
  ['no ETag', `${HEAD}0 10 -\n`, []],
  ['a head without an end', HEAD.trim(), undefined],
  ['a head that is no JSON', `{\n0 10 - "a"\n`, undefined],
  ['a head that is null', `null\n0 10 - "a"\n`, undefined],
  ['a head without an id', '{"identity":"one","size":4096}\n', undefined],
  ['a head whose size is no number', '{"identity":"one","size":"4096","id":"a"}\n', undefined],
])('%s', async (_, text, expected) => {
  expect(await written(text)).toEqual(expected);
});

test('added lines are read again', async () => {
  const { place, journal } = over('');
  await journal.begin({ identity: 'one', size: 4096, id: 'a&<' });
  expect(journal.hasAny).toBe(false);
  const digest = Uint8Array.from(Buffer.from(DIGEST, 'hex'));
  await journal.add(0, { etag: `"${DIGEST}"`, digest }, 10);
  await journal.add(1, { etag: 'W/"b"', digest: undefined }, 20);
  expect(journal.hasAny).toBe(true);
  expect(place.text).toBe(`${HEAD}0 10 ${DIGEST} "${DIGEST}"\n1 20 - W/"b"\n`);
  expect(await over(place.text).journal.read()).toEqual({
    identity: 'one',
    size: 4096,
    id: 'a&<',
    parts: [
      { etag: `"${DIGEST}"`, digest },
      { etag: 'W/"b"', digest: undefined },
    ],
    written: [10, 20],
  });
});

test('a line after an incomplete one does not continue it', async () => {
  const { place, journal } = over(`${HEAD}0 10 - "a"\n1 2`);
  expect((await journal.read())?.written).toEqual([10]);
  expect(journal.hasAny).toBe(true);
  await journal.add(1, { etag: '"b"', digest: undefined }, 20);
  await journal.add(2, { etag: '"c"', digest: undefined }, 30);
  expect(place.text).toBe(`${HEAD}0 10 - "a"\n1 2\n1 20 - "b"\n2 30 - "c"\n`);
  expect(await written(place.text)).toEqual([10, 20, 30]);
});

test('an unreadable journal is cleared', async () => {
  const { place, journal } = over('something else');
  expect(await journal.read()).toBeUndefined();
  expect(place.text).toBe('');
});

test('lines are added one after the other', async () => {
  const { place, journal } = over('');
  const first = held();
  let appends = 0;
  const { append } = place;
  place.append = async (more) => {
    appends += 1;
    if (appends === 1) await first.work();
    await append(more);
  };
  const adding = Promise.all([0, 1, 2].map((part) => journal.add(part, { etag: '"a"', digest: undefined }, part)));
  await new Promise((done) => setImmediate(done));
  expect(appends).toBe(1);
  first.succeed();
  await adding;
  expect(place.text).toBe('0 0 - "a"\n1 1 - "a"\n2 2 - "a"\n');
});

test('after a failure nothing is added: it would follow a gap', async () => {
  const { place, journal } = over('');
  const { append } = place;
  place.append = () => {
    throw new Error('full');
  };
  await journal.add(0, { etag: '"a"', digest: undefined }, 1);
  place.append = append;
  await journal.add(1, { etag: '"b"', digest: undefined }, 2);
  expect(place.text).toBe('');
  expect(journal.hasAny).toBe(false);
});

test('the end waits for the pending line, and adds no other', async () => {
  const { place, journal } = over('');
  const first = held();
  const { append } = place;
  place.append = async (more) => {
    await first.work();
    await append(more);
  };
  const adding = journal.add(0, { etag: '"a"', digest: undefined }, 1);
  await new Promise((done) => setImmediate(done));
  const ending = journal.end();
  const later = journal.add(1, { etag: '"b"', digest: undefined }, 2);
  first.succeed();
  await Promise.all([adding, ending, later]);
  expect(place.text).toBe('0 1 - "a"\n');
  expect(journal.hasAny).toBe(true);
});
