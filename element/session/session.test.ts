// The behaviour of the element: files that are given one after the other or at once.

import { DecantError, type DiskImage } from 'decant';
import { expect, test, vi } from 'vitest';
import { layerOf } from '../../worker/api/info.test-support.js';
import { fileOf, Held, imageOf, images, inputNamed, openImage, RESULT, soon } from '../element.test-support.js';
import type { InputFile } from '../files/input-file.js';
import { MOST_FILES } from '../files/many-files.js';
import type { Step } from '../steps/state.js';
import { english } from '../texts/english/index.js';
import { emitted, imageCalled, input, news, rows, session, step, waiting } from './session.test-support.js';

vi.mock('decant', async (original) => ({
  ...(await original<typeof import('decant')>()),
  open: (...args: Parameters<typeof openImage>) => openImage(...args),
  splitFiles: async () => [],
  httpSource: async ({ pathname }: URL) => fileOf(pathname.slice(1)),
  targets: async () => [{ name: 'opfs', fits: true }],
}));

test('several images are converted one after the other, each with its result', async () => {
  for (const name of ['a.qcow2', 'b.qcow2']) images.set(name, imageCalled(name, { convert: async () => RESULT }));
  images.set('c.qcow2', new DecantError('corrupt', 'The image is truncated'));
  session.take(input('b.qcow2', 'c.qcow2', 'a.qcow2', 'notes'));
  await step('ready');
  expect(rows()).toEqual(['a.qcow2 current', 'b.qcow2 waiting', 'c.qcow2 waiting']);
  expect(session.news).toBe(english.aside(['notes']));
  session.convert();
  await step('done');
  session.openNext();
  expect(session.news).toBe('');
  expect((await step('ready')).image.info.name).toBe('b.qcow2');
  session.convert();
  await step('done');
  session.openNext();
  expect(await step('failed')).toMatchObject({
    title: english.notOpened('c.qcow2'),
    message: 'The image is truncated.',
  });
  expect(rows()).toEqual(['a.qcow2 done', 'b.qcow2 done', 'c.qcow2 failed']);
  expect(session.queue.items.map(({ outcome }) => outcome)).toEqual([
    'saved as a.raw, 5\u00a0MB',
    'saved as b.raw, 5\u00a0MB',
    'The image is truncated.',
  ]);
  expect(emitted.map(([type]) => type)).toEqual([
    'decant-info',
    'decant-done',
    'decant-info',
    'decant-done',
    'decant-error',
  ]);
});

test('an image takes the files that it needs from the queue', async () => {
  const isGiven = (names: string[], one: string) => names.includes(one);
  images.set('top', ({ companions = [] }) => {
    const names = companions.map((input) => (input as File).name);
    const wanted = ['middle', 'Base'].find((name) => !isGiven(names, name));
    return imageOf({
      name: 'top',
      references: [{ role: 'backing file', name: 'middle', fileName: 'middle' }],
      needs: wanted
        ? [{ kind: 'missing-file', role: 'backing file', name: `/disks/${wanted}`, fileName: wanted, of: 'top' }]
        : [],
    });
  });
  images.set(
    'middle',
    imageOf({ name: 'middle', references: [{ role: 'backing file', name: 'Base', fileName: 'Base' }] }),
  );
  images.set('Base', imageCalled('Base'));
  session.take(input('Base', 'top'));
  expect((await step('needs')).needs).toMatchObject([{ name: '/disks/middle' }]);
  expect(rows()).toEqual(['top current', 'Base waiting']);
  session.take(input('middle'));
  await step('ready');
  expect(rows()).toEqual(['top current']);
  expect(session.news).toBe(english.queued.claimed(['Base']));
});

test('a single file is shown by its name while it is read', () => {
  session.take(input('a.qcow2'));
  expect(session.state).toMatchObject({ step: 'opening', name: 'a.qcow2' });
  session.reset();
  session.takePlain([fileOf('a.qcow2'), fileOf('b.qcow2')]);
  expect(session.state).toMatchObject({ step: 'opening', name: english.chosen });
});

test.each([
  ['denied', english.notifyRefused],
  ['granted', ''],
  ['default', ''],
])('asked to notify, the person answers %s', async (answer, text) => {
  const asked = vi.fn(async () => answer);
  vi.stubGlobal('Notification', { requestPermission: asked });
  session.askToNotify();
  await soon(() => expect(asked).toHaveBeenCalled());
  await news(text);
});

test('files that are given during a conversion wait in the queue, and the conversion continues', async () => {
  const held = waiting('a.qcow2');
  images.set('b.qcow2', imageCalled('b.qcow2'));
  session.take(input('a.qcow2'));
  await step('ready');
  session.convert();
  await step('converting');
  expect(session.isBusy).toBe(true);
  session.take(input('b.qcow2'));
  await news(english.queued.added(['b.qcow2']));
  expect(rows()).toEqual(['a.qcow2 current', 'b.qcow2 waiting']);
  expect(session.state.step).toBe('converting');
  held.resolve(RESULT);
  await step('done');
  session.openNext();
  expect((await step('ready')).image.info.name).toBe('b.qcow2');
});

// (case, file, news, whether it waits in the queue)
for (const [what, name, said, waits] of [
  ['a file that is not an image', 'notes', english.aside(['notes']), false],
  ['what may be a raw disk', 'disk.raw', english.queued.added(['disk.raw']), true],
] as [string, string, string, boolean][]) {
  test(`given during a conversion: ${what}`, async () => {
    const held = waiting('a.qcow2');
    session.take(input('a.qcow2'));
    await step('ready');
    session.convert();
    const before = await step('converting');
    session.take(input(name));
    await news(said);
    expect(rows()).toEqual(['a.qcow2 current', ...(waits ? [`${name} waiting`] : [])]);
    expect(session.state).toMatchObject({ step: 'converting', name: before.name });
    held.resolve(RESULT);
    await step('done');
  });
}

test('files that are found only after others were given wait in the queue', async () => {
  const slow = new Held<InputFile[]>();
  for (const name of ['a.qcow2', 'b.qcow2']) images.set(name, imageCalled(name));
  session.takeFrom('slow', () => slow.promise);
  await step('opening');
  session.take(input('b.qcow2'));
  expect((await step('ready')).image.info.name).toBe('b.qcow2');
  slow.resolve(input('a.qcow2'));
  await news(english.queued.added(['a.qcow2']));
  expect((await step('ready')).image.info.name).toBe('b.qcow2');
  expect(rows()).toEqual(['b.qcow2 current', 'a.qcow2 waiting']);
});

test('files that cannot be read are reported although others were given', async () => {
  const slow = new Held<InputFile[]>();
  images.set('b.qcow2', imageCalled('b.qcow2'));
  session.takeFrom('slow', () => slow.promise);
  await step('opening');
  session.take(input('b.qcow2'));
  await step('ready');
  slow.reject(new Error('gone'));
  await news(english.notFetched('slow'));
  await step('ready');
});

test('files that are still sorted when others are given wait in the queue', async () => {
  const held = new Held<DiskImage>();
  images.set('a.qcow2', () => held.promise);
  for (const name of ['b.qcow2', 'c.qcow2']) images.set(name, imageCalled(name));
  session.take(input('a.qcow2', 'b.qcow2'));
  session.take(input('c.qcow2'));
  expect((await step('ready')).image.info.name).toBe('c.qcow2');
  images.set('a.qcow2', imageCalled('a.qcow2'));
  held.resolve(imageCalled('a.qcow2'));
  await news(english.queued.added(['a.qcow2', 'b.qcow2']));
  expect(rows()).toEqual(['c.qcow2 current', 'a.qcow2 waiting', 'b.qcow2 waiting']);
});

test('files that are still sorted after a cancel are dropped', async () => {
  const slow = new Held<InputFile[]>();
  session.takeFrom('slow', () => slow.promise);
  session.reset();
  slow.resolve(input('a.qcow2'));
  await slow.promise;
  await news('');
  expect([session.state, rows()]).toEqual([{ step: 'empty' }, []]);
});

// (case, files, the image that is shown then, images in the queue)
for (const [what, files, shown, expected] of [
  ['another image', ['b.qcow2'], 'b.qcow2', ['a.qcow2 waiting', 'b.qcow2 current']],
  ['nothing', [], 'a.qcow2', ['a.qcow2 current']],
] as [string, string[], string, string[]][]) {
  test(`given while an image is being opened: ${what}`, async () => {
    const held = new Held<DiskImage>();
    images.set('a.qcow2', () => held.promise);
    images.set('b.qcow2', imageCalled('b.qcow2'));
    session.take(input('a.qcow2'));
    await soon(() => expect(rows()).toEqual(['a.qcow2 current']));
    session.take(input(...files));
    await soon(() => expect(rows()).toEqual(expected));
    held.resolve(imageCalled('a.qcow2'));
    expect((await step('ready')).image.info.name).toBe(shown);
    expect(rows()).toEqual(expected);
  });
}

test('a drop that holds nothing leaves the result on the screen', async () => {
  const held = waiting('a.qcow2');
  session.take(input('a.qcow2'));
  await step('ready');
  session.convert();
  held.resolve(RESULT);
  const done = await step('done');
  session.take([]);
  await news(english.noFiles);
  expect(session.state).toEqual(done);
});

// (case, files, images in the queue, news)
for (const [what, files, expected, skipped] of [
  ['another image', ['b.qcow2'], ['a.qcow2 waiting', 'b.qcow2 current'], []],
  ['several files', ['notes', 'c', 'b.qcow2'], ['a.qcow2 waiting', 'b.qcow2 current'], ['notes', 'c']],
  ['what may be a raw disk', ['disk.raw'], ['a.qcow2 waiting', 'disk.raw current'], []],
  ['the same image again', ['a.qcow2'], ['a.qcow2 current'], []],
  ['a file that is not an image', ['notes'], ['a.qcow2 current'], ['notes']],
  ['files that are not images', ['notes', 'c'], ['a.qcow2 current'], ['notes', 'c']],
  ['nothing', [], ['a.qcow2 current'], undefined],
] as [string, string[], string[], string[] | undefined][]) {
  test(`given while an image is open: ${what}`, async () => {
    for (const name of ['a.qcow2', 'b.qcow2', 'disk.raw']) images.set(name, () => imageCalled(name));
    const open = input('a.qcow2');
    session.take(open);
    const before = await step('ready');
    session.take(files.includes('a.qcow2') ? open : input(...files));
    const isReplaced = expected[0] !== 'a.qcow2 current' || files.includes('a.qcow2');
    if (isReplaced) await soon(() => expect((session.state as Step<'ready'>).image).not.toBe(before.image));
    await news(skipped ? (skipped.length > 0 ? english.aside(skipped) : '') : english.noFiles);
    expect(rows()).toEqual(expected);
    if (!isReplaced) expect(session.state).toBe(before);
  });
}

test('an image that gave way to another one is opened again with the answers of the person', async () => {
  for (const name of ['a.qcow2', 'b.qcow2']) images.set(name, imageCalled(name));
  session.take(input('a.qcow2'));
  await step('ready');
  session.chooser.rename('mine.raw');
  session.take(input('b.qcow2'));
  await soon(() => expect(session.state).toMatchObject({ step: 'ready', name: 'b.raw' }));
  session.openNext(session.queue.items[0]!.id);
  await soon(() => expect(session.state).toMatchObject({ step: 'ready', name: 'mine.raw' }));
  expect(rows()).toEqual(['a.qcow2 current', 'b.qcow2 waiting']);
});

test('an image that is given when a conversion has just begun waits', async () => {
  const held = waiting('a.qcow2');
  images.set('b.qcow2', imageCalled('b.qcow2'));
  session.take(input('a.qcow2'));
  await step('ready');
  session.take(input('b.qcow2'));
  session.convert();
  await news(english.queued.added(['b.qcow2']));
  expect(rows()).toEqual(['a.qcow2 current', 'b.qcow2 waiting']);
  held.resolve(RESULT);
  await step('done');
});

test('an image that was opened too late is closed', async () => {
  const close = vi.fn(async () => {});
  images.set('a.qcow2', () => {
    session.reset();
    return imageCalled('a.qcow2', { close });
  });
  session.take(input('a.qcow2'));
  await soon(() => expect(close).toHaveBeenCalledTimes(1));
  expect(session.state).toEqual({ step: 'empty' });
});

// (case, files, notice)
for (const [what, find, notice] of [
  ['nothing', async () => [], english.noFiles],
  [
    'too many files',
    async () => Array.from({ length: MOST_FILES + 1 }, (_, at) => inputNamed(`${at}.img`)),
    english.tooMany(MOST_FILES),
  ],
  [
    'many documents',
    async () => Array.from({ length: MOST_FILES + 1 }, () => inputNamed('a.txt')),
    english.noImages(Array(MOST_FILES + 1).fill('a.txt')),
  ],
  ['unreadable files', () => Promise.reject(new Error('gone')), english.notFetched('disk')],
] as [string, () => Promise<InputFile[]>, string][]) {
  test(`${what}: reported at the start, or as news during a conversion`, async () => {
    session.takeFrom('disk', find);
    await soon(() => expect(session.state).toEqual({ step: 'empty', notice }));
    const held = waiting('a.qcow2');
    session.take(input('a.qcow2'));
    await step('ready');
    session.convert();
    await step('converting');
    session.takeFrom('disk', find);
    await news(notice);
    held.resolve(RESULT);
    await step('done');
  });
}

test('documents alone are reported together, and leave the first screen', async () => {
  const names = ['notes.txt', 'photo.png', 'report.pdf'];
  session.take(input(...names));
  await soon(() => expect(session.state).toEqual({ step: 'empty', notice: english.noImages(names) }));
  expect(rows()).toEqual([]);
});

test('of very many files, what cannot be an image is passed over before the limit counts', async () => {
  images.set('disk.qcow2', imageCalled('disk.qcow2'));
  const texts = Array.from({ length: 5 * MOST_FILES }, (_, at) => inputNamed(`${at}.txt`));
  session.take([...texts, inputNamed('disk.qcow2')]);
  expect((await step('ready')).image.info.name).toBe('disk.qcow2');
  const skipped = english.aside(texts.map(({ file }) => file.name));
  expect(session.news).toBe(skipped);
  expect(rows()).toEqual(['disk.qcow2 current']);
  // More than can be opened may be images.
  session.take([...texts, ...Array.from({ length: MOST_FILES + 1 }, (_, at) => inputNamed(`${at}.img`))]);
  await news(english.tooMany(MOST_FILES));
  // During a conversion, the image is added to the queue.
  const held = waiting('disk.qcow2');
  session.reset();
  session.take(input('disk.qcow2'));
  await step('ready');
  session.convert();
  await step('converting');
  images.set('b.qcow2', imageCalled('b.qcow2'));
  session.take([...texts, inputNamed('b.qcow2')]);
  await news(`${english.queued.added(['b.qcow2'])} ${skipped}`);
  held.resolve(RESULT);
  await step('done');
});

test('what an interrupted conversion has left is removed, and that is reported', async () => {
  const remove = vi.fn(async () => 'It is gone.');
  session.removeRemains({ image: 'a', text: 'A part.', action: 'Free', remove });
  await news('It is gone.');
  expect(remove).toHaveBeenCalledOnce();
  const busy = new DecantError('target', 'Another tab is using it');
  session.removeRemains({ image: 'a', text: 'A part.', action: 'Free', remove: () => Promise.reject(busy) });
  await news('Another tab is using it.');
});

test('text that is not a link is reported', async () => {
  session.links.take('example.org/disk');
  expect(session.state).toEqual({ step: 'empty', notice: english.noAddress });
  images.set('a.qcow2', imageCalled('a.qcow2'));
  session.take(input('a.qcow2'));
  await step('ready');
  session.links.take('no address');
  expect(session.news).toBe(english.noAddress);
  expect(session.state.step).toBe('ready');
});

test('a text that is not a link is a problem of its field, until it changes or the step ends', async () => {
  session.links.submit('foo');
  session.links.submit('foo');
  expect(session.links.problem).toMatchObject({ need: undefined, refusals: 2 });
  expect(session.state).toEqual({ step: 'empty' });
  session.links.change();
  expect(session.links.problem).toBeUndefined();
  session.links.submit('foo');
  images.set('a.qcow2', imageCalled('a.qcow2'));
  session.take(input('a.qcow2'));
  await step('ready');
  expect(session.links.problem).toBeUndefined();
});

test('a link that failed can be mended, and is forgotten once its image was open', async () => {
  images.set('disk', new DecantError('source', 'The server answers 404', { fields: { status: 404 } }));
  session.links.submit('example.org/disk');
  expect((await step('failed')).remedies).toEqual(['editLink', 'again']);
  session.takeRemedy('editLink');
  expect(session.state.step).toBe('empty');
  expect(session.links.isEdited).toBe(true);
  expect(session.links.given()).toBe('example.org/disk');
  images.set('disk.img', imageCalled('disk.img'));
  session.links.submit('https://example.org/disk.img');
  await step('ready');
  expect(session.links.isEdited).toBe(false);
  session.reset();
  expect(session.links.given()).toBe('');
});

test('a waiting image can be opened early or removed, and stays when the person returns to the start', async () => {
  for (const name of ['a', 'b', 'c']) images.set(name, imageCalled(name));
  session.take(input('a', 'b', 'c'));
  await step('ready');
  session.openNext(session.queue.items[1]!.id);
  await soon(() => expect((session.state as Step<'ready'>).image?.info.name).toBe('b'));
  expect(rows()).toEqual(['a waiting', 'b current', 'c waiting']);
  session.remove(session.queue.items[0]!.id);
  session.reset();
  expect(session.state).toEqual({ step: 'empty' });
  expect(rows()).toEqual(['c waiting']);
});

test('a removed image is reported', async () => {
  for (const name of ['a', 'b', 'c']) images.set(name, imageCalled(name));
  session.take(input('a', 'b', 'c'));
  await step('ready');
  session.remove(session.queue.items[2]!.id);
  expect(session.news).toBe(english.queued.removed('c'));
  session.remove(99);
  expect(session.news).toBe('');
});

// (next step of the person or end of the conversion, its action)
for (const [what, act, reached] of [
  ['a cancel', () => session.cancel(), 'failed'],
  ['the result', () => {}, 'done'],
  ['a failure', () => {}, 'failed'],
] as const) {
  test(`news from during a conversion ends with ${what}, and the results with the next image`, async () => {
    const held = waiting('a.qcow2');
    for (const name of ['b.qcow2', 'c.qcow2']) images.set(name, imageCalled(name));
    session.take(input('a.qcow2'));
    await step('ready');
    session.convert();
    await step('converting');
    session.take(input('b.qcow2'));
    await news(english.queued.added(['b.qcow2']));
    act();
    if (reached === 'done') held.resolve(RESULT);
    else held.reject(new DecantError('cancelled', 'The conversion was cancelled'));
    await step(reached);
    expect(session.news).toBe('');
    expect(rows()).toEqual([`a.qcow2 ${reached}`, 'b.qcow2 waiting']);
    session.take(input('c.qcow2'));
    await step('ready');
    expect(rows()).toEqual(['c.qcow2 current', 'b.qcow2 waiting']);
  });
}

test('news ends with the next step of the person', async () => {
  const locked = layerOf('disk.qcow2', { encryption: 'luks' });
  images.set('disk.qcow2', ({ password }) =>
    imageOf({ layers: [locked], needs: password ? [] : [{ kind: 'password', of: 'disk.qcow2' }] }),
  );
  images.set('b.qcow2', imageCalled('b.qcow2'));
  session.take(input('disk.qcow2'));
  await step('needs');
  session.take(input('b.qcow2'));
  await news(english.queued.added(['b.qcow2']));
  session.unlock('disk.qcow2', 'right', false);
  await step('ready');
  expect(session.news).toBe('');
  session.links.take('no address');
  expect(session.news).toBe(english.noAddress);
  session.convert();
  expect(session.news).toBe('');
});

// (step after a failure, options for opening the image again)
for (const [next, expected] of [
  ['raw', { inputFormat: 'raw' }],
  ['salvage', { salvage: true }],
  ['again', {}],
  ['saveAgain', {}],
] as const) {
  test(`after a failure: ${next}`, async () => {
    const opened = vi.fn((_options: object): DiskImage | Error => new DecantError('internal', 'A worker has died'));
    images.set('disk.img', opened);
    session.take(input('disk.img'));
    await step('failed');
    opened.mockImplementation(() => imageCalled('disk.img'));
    session.takeRemedy(next);
    await step('ready');
    const {
      signal: _,
      onProgress: _listener,
      companions,
      ...options
    } = opened.mock.calls.at(-1)![0] as Record<string, unknown> & {
      companions: [];
    };
    expect({ options, companions }).toEqual({ options: expected, companions: [] });
    expect(rows()).toEqual(['disk.img current']);
  });
}

test('a chosen snapshot is opened, and names the result', async () => {
  const snapshots = [{ id: '7', name: 'before' }] as unknown as DiskImage['info']['snapshots'];
  const opened = vi.fn((_options: object) => imageOf({ snapshots }));
  images.set('disk.qcow2', opened);
  session.take([{ file: fileOf('disk.qcow2') }]);
  await step('ready');
  session.chooseSnapshot(0);
  await soon(() => expect(opened.mock.lastCall![0]).toMatchObject({ snapshot: '7' }));
  expect((await step('ready')).name).toBe('disk-before.raw');
  expect([session.snapshotIndex, session.isChoosingSnapshot]).toEqual([0, true]);
  session.chooseSnapshot(-1);
  await soon(() => expect(opened.mock.lastCall![0]).not.toHaveProperty('snapshot'));
  expect((await step('ready')).name).toBe('disk.raw');
  expect(session.snapshotIndex).toBe(-1);
});

test('an unexpected failure is shown, and does not end a conversion', async () => {
  const held = waiting('a.qcow2');
  session.take(input('a.qcow2'));
  await step('ready');
  session.convert();
  await step('converting');
  vi.spyOn(session.queue, 'add').mockImplementationOnce(() => {
    throw new DecantError('internal', 'Something is wrong');
  });
  session.take(input('a.qcow2'));
  await news('Something is wrong.');
  expect(session.state.step).toBe('converting');
  held.resolve(RESULT);
  await step('done');
  vi.spyOn(session.queue, 'addFirst').mockImplementationOnce(() => {
    throw new DecantError('internal', 'Something is wrong');
  });
  session.take(input('a.qcow2'));
  expect(await step('failed')).toMatchObject({ title: english.failed, message: 'Something is wrong.', remedies: [] });
});
