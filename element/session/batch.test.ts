// All images of the queue, converted the same way.

import { DecantError, type DiskImage, type Notice } from 'decant';
import { expect, test, vi } from 'vitest';
import { Held, imageOf, images, openImage, outputOf, RESULT, soon } from '../element.test-support.js';
import { noticesInList } from '../queue/queue-view.js';
import { resultWarnings } from '../steps/warnings.js';
import { english } from '../texts/english/index.js';
import { imageCalled, input, needing, rows, session, shown, step, waiting } from './session.test-support.js';

vi.mock('decant', async (original) => ({
  ...(await original<typeof import('decant')>()),
  open: (...args: Parameters<typeof openImage>) => openImage(...args),
  splitFiles: async () => [],
  targets: async () => [{ name: 'opfs', fits: true }],
}));

/** Gives images that convert at once, and waits for the first. Returns the names that are converted, in their order. */
async function give(...names: string[]): Promise<string[]> {
  const converted: string[] = [];
  const convert = (name: string) => async () => {
    converted.push(name);
    return RESULT;
  };
  for (const name of names) if (!images.has(name)) images.set(name, imageCalled(name, { convert: convert(name) }));
  session.take(input(...names));
  await step('ready');
  return converted;
}

test('one click converts all', async () => {
  const converted = await give('a.qcow2', 'b.qcow2', 'c.qcow2');
  session.convertAll();
  await soon(() => expect(converted).toEqual(['a.qcow2', 'b.qcow2', 'c.qcow2']));
  await soon(() => expect(session.isConvertingAll).toBe(false));
  expect(rows()).toEqual(['a.qcow2 done', 'b.qcow2 done', 'c.qcow2 done']);
  expect(session.queue.results).toEqual({ done: 3, all: 3 });
  // The next image waits for the person.
  await give('d.qcow2');
  expect(converted).toHaveLength(3);
});

test('from one image to the next, nothing is shown but that it opens', async () => {
  for (const name of ['a', 'b', 'c']) images.set(name, imageCalled(name, { convert: async () => RESULT }));
  images.set('b', new DecantError('corrupt', 'It is damaged'));
  session.take(input('a', 'b', 'c'));
  await step('ready');
  shown.length = 0;
  session.convertAll();
  await soon(() => expect(session.overall).toMatchObject({ done: 2, all: 3 }));
  expect(shown).toEqual(['ready a.raw', 'converting a', 'opening b', 'opening c', 'converting c', 'done c']);
});

test('each result of a queue shows its notices in the list', async () => {
  const dirty = (name: string): Notice => ({ code: 'dirty', fields: {}, message: `${name} was not closed` });
  const convert = (name: string) => async () => ({ ...RESULT, notices: [dirty(name), dirty(name)] });
  for (const name of ['a.qcow2', 'b.qcow2']) images.set(name, imageCalled(name, { convert: convert(name) }));
  await give('a.qcow2', 'b.qcow2');
  session.convertAll();
  await soon(() => expect(session.overall).toMatchObject({ done: 2 }));
  const inList = () => session.queue.items.flatMap((item) => noticesInList(item, session));
  // The last result is one of the list.
  expect(inList()).toEqual(['a.qcow2 was not closed.', 'b.qcow2 was not closed.']);
  expect(resultWarnings(await step('done'), english).map(({ text }) => text)).toEqual(['b.qcow2 was not closed.']);
  expect(session.queue.items.map(({ made }) => made?.result.target.name)).toEqual(['a.raw', 'b.raw']);
  // The next image takes the place of the result.
  await give('c.qcow2');
  expect(inList()).toEqual([]);
});

test('files that are given while the next image opens wait, and the results stay', async () => {
  const opening = new Held<DiskImage>();
  images.set('b.qcow2', () => opening.promise);
  images.set('d.qcow2', imageCalled('d.qcow2', { convert: async () => RESULT }));
  await give('a.qcow2');
  session.queue.add([{ top: input('b.qcow2')[0]!, companions: [], called: [] }]);
  session.convertAll();
  await soon(() => expect(rows()).toEqual(['a.qcow2 done', 'b.qcow2 current']));
  session.take(input('d.qcow2'));
  await soon(() => expect(rows()).toEqual(['a.qcow2 done', 'b.qcow2 current', 'd.qcow2 waiting']));
  opening.resolve(imageCalled('b.qcow2', { convert: async () => RESULT }));
  await soon(() => expect(session.overall).toMatchObject({ done: 3, all: 3 }));
});

test('a failure does not stop the others', async () => {
  const convert = () => Promise.reject(new DecantError('corrupt', 'It is damaged'));
  images.set('b.qcow2', imageCalled('b.qcow2', { convert }));
  await give('a.qcow2', 'b.qcow2', 'c.qcow2');
  session.convertAll();
  await soon(() => expect(rows()).toEqual(['a.qcow2 done', 'b.qcow2 failed', 'c.qcow2 done']));
});

test('the end is that of all images; one that failed can be salvaged from its row', async () => {
  const damaged = new DecantError('corrupt', 'It is damaged');
  const result = { ...RESULT, lost: [], lostRanges: 1, lostBytes: 512 };
  const map = async function* () {
    yield { kind: 'data', start: 0, length: 512 } as never;
  };
  images.set('b.qcow2', ({ salvage }) =>
    salvage ? imageCalled('b.qcow2', { map, convert: async () => result }) : damaged,
  );
  await give('a.qcow2', 'b.qcow2', 'c.qcow2');
  expect(session.overall).toBeUndefined();
  session.convertAll();
  await soon(() => expect(session.overall).toEqual({ done: 2, all: 3, failed: ['b.qcow2'], damaged: [] }));
  const [, failed] = session.queue.items;
  expect(failed).toMatchObject({ outcome: 'It is damaged.', remedies: ['salvage'] });
  session.openNext(failed!.id, 'salvage');
  await step('ready');
  expect([session.isSalvage, session.overall]).toEqual([true, undefined]);
  session.convert();
  await step('done');
  expect(session.overall).toEqual({ done: 3, all: 3, failed: [], damaged: ['b.qcow2'] });
  expect(session.queue.items[1]!.outcome).toContain(english.lost(512, 1));
});

test('the last image fails: the end is that of all images, with its reason', async () => {
  images.set('c.qcow2', new DecantError('corrupt', 'It is damaged'));
  await give('a.qcow2', 'b.qcow2', 'c.qcow2');
  session.convertAll();
  expect(await step('failed')).toMatchObject({ message: 'It is damaged.' });
  expect(session.overall).toMatchObject({ done: 2, all: 3, failed: ['c.qcow2'] });
  // Once opened again, it does not count as a result.
  session.openNext(session.queue.items[2]!.id);
  expect(session.overall).toBeUndefined();
  await step('failed');
  expect(session.overall).toMatchObject({ done: 2, all: 3 });
});

test('images of one name become files of several names', async () => {
  await give('disk.vdi', 'disk.vhdx', 'Disk.vmdk');
  session.convertAll();
  await soon(() => expect(session.overall).toMatchObject({ done: 3 }));
  const outcomes = session.queue.items.map(({ outcome }) => outcome);
  expect(outcomes.toSorted()).toEqual(
    ['saved as disk-1.raw, 5\u00a0MB', 'saved as Disk-2.raw, 5\u00a0MB', 'saved as disk.raw, 5\u00a0MB'].toSorted(),
  );
});

test('images that ask something come last, and those that are converted otherwise', async () => {
  needing('b.qcow2', 'base.qcow2');
  const convert = async () => RESULT;
  images.set('c.qcow2', imageOf({ name: 'c.qcow2' }, { formats: [outputOf('qcow2', '.qcow2')], convert }));
  for (const name of ['a.qcow2', 'd.qcow2']) images.set(name, imageCalled(name, { convert }));
  session.take(input('a.qcow2', 'b.qcow2', 'c.qcow2', 'd.qcow2'));
  // The image that lacks a file is shown first.
  await step('needs');
  session.openNext(session.queue.waiting[0]!.id);
  await step('ready');
  session.convertAll();
  await soon(() => expect(rows()).toEqual(['a.qcow2 done', 'd.qcow2 done', 'b.qcow2 current', 'c.qcow2 waiting']));
  expect(session.state.step).toBe('needs');
});

test('a cancel ends it', async () => {
  const held = waiting('a.qcow2');
  const converted = await give('a.qcow2', 'b.qcow2');
  session.convertAll();
  await step('converting');
  session.cancel();
  held.reject(new DecantError('cancelled', 'It was cancelled'));
  await step('failed');
  await soon(() => expect(session.isConvertingAll).toBe(false));
  expect(converted).toEqual([]);
  expect(rows()).toEqual(['a.qcow2 failed', 'b.qcow2 waiting']);
});
