// The remains of interrupted conversions: their list on the first screen, and the messages after removing them.

import { DecantError, type Leftover } from 'decant';
import { beforeEach, expect, test, vi } from 'vitest';
import { screenIn } from '../element.test-support.js';
import type { Screen } from '../steps/screen.js';
import type { Remains } from '../steps/state.js';
import { english } from '../texts/english/index.js';
import { rememberLink } from './image-links.js';
import { recall } from './interrupted.js';

let stored: Leftover[] | Error;
vi.mock('decant', async (original) => ({
  ...(await original<typeof import('decant')>()),
  leftovers: async () => {
    if (stored instanceof Error) throw stored;
    return stored;
  },
}));
const atPlaces = vi.fn<() => Promise<Remains[]>>();
vi.mock('./unfinished.js', () => ({ remainsAtTargets: () => atPlaces() }));

const part = (image: string | undefined, size: number, more: Partial<Leftover> = {}): Leftover => ({
  kind: 'download',
  ...(image === undefined ? {} : { image }),
  size,
  guestDone: 1,
  discard: vi.fn(async () => {}),
  ...more,
});
const inFolder: Remains = { image: 'b.vdi', text: 'In a folder.', action: 'Remove', remove: async () => 'Removed.' };

beforeEach(() => {
  stored = [];
  atPlaces.mockReset().mockResolvedValue([]);
});

async function recalled(screen: Screen): Promise<Remains[]> {
  await recall(screen);
  return (screen.state.step === 'empty' && screen.state.remains) || [];
}

test('downloads and files at picked places are listed, files of the page are not', async () => {
  const { screen } = screenIn();
  stored = [part('a.qcow2', 1e9, { guestTotal: 4 }), part('page.qcow2', 5e6, { kind: 'opfs' }), part(undefined, 5e6)];
  atPlaces.mockResolvedValue([inFolder]);
  expect(await recalled(screen)).toMatchObject([
    {
      image: 'a.qcow2',
      text: english.interrupted('a.qcow2', 1e9, 0.25, undefined),
      resumable: { share: 0.25, link: undefined },
      action: english.discard,
    },
    {
      image: english.image,
      text: english.interrupted(english.image, 5e6, undefined, undefined),
      resumable: { share: undefined },
    },
    inFolder,
  ]);
});

test('a download of an image from a link states the link, until it is discarded', async () => {
  const items = new Map<string, string>();
  vi.stubGlobal('localStorage', {
    getItem: (key: string) => items.get(key),
    setItem: (key: string, value: string) => items.set(key, value),
  });
  const { screen } = screenIn();
  const link = 'https://a.org/a.qcow2';
  rememberLink('a.qcow2', new URL(link));
  rememberLink('b.qcow2', new URL(`${link}?token=1`));
  stored = [part('a.qcow2', 1e9), part('b.qcow2', 1e9)];
  const [first] = await recalled(screen);
  expect(screen.at('empty')?.remains).toMatchObject([
    { text: english.interrupted('a.qcow2', 1e9, undefined, link), resumable: { link } },
    { text: english.interrupted('b.qcow2', 1e9, undefined, ''), resumable: { link: '' } },
  ]);
  await first!.remove();
  expect(await recalled(screen)).toMatchObject([{ resumable: { link: undefined } }, { resumable: { link: '' } }]);
  vi.unstubAllGlobals();
});

test('what is listed once stays until the next step', async () => {
  const { screen } = screenIn();
  const lost: Remains = {
    image: 'a.vdi',
    text: 'Lost.',
    isListedOnce: true,
    action: 'Dismiss',
    remove: async () => '',
  };
  atPlaces.mockResolvedValueOnce([lost]);
  expect(await recalled(screen)).toEqual([lost]);
  expect(await recalled(screen)).toEqual([lost]);
  screen.begin('left', {});
  expect(await recalled(screen)).toEqual([]);
});

test('nothing is listed where nobody would see it', async () => {
  const { screen } = screenIn();
  screen.begin('chosen', { name: 'a.vdi' });
  await recall(screen);
  expect(atPlaces).not.toHaveBeenCalled();
});

test('a part is discarded alone, and listed until it is gone', async () => {
  const { screen } = screenIn();
  const [one, two] = [part('a', 1e9), part('b', 1e9)];
  stored = [one, two];
  const [remains] = await recalled(screen);
  expect(await remains!.remove()).toBe(english.storageFreed(1e9));
  expect([one.discard, two.discard].map((discard) => vi.mocked(discard).mock.calls.length)).toEqual([1, 0]);
  stored = [two];
  expect(await recalled(screen)).toMatchObject([{ image: 'b' }]);
  stored = [];
  expect(await recalled(screen)).toEqual([]);
  expect(screen.state).toEqual({ step: 'empty' });
});

test('a part that cannot be discarded says why', async () => {
  const { screen } = screenIn();
  const busy = new DecantError('target', 'Another tab is using it', { code: 'storage-in-use' });
  stored = [part('a', 1e9, { discard: () => Promise.reject(busy) })];
  const [remains] = await recalled(screen);
  await expect(remains!.remove()).rejects.toBe(busy);
});

test('without one of the storages, the other one is listed', async () => {
  const { screen } = screenIn();
  stored = new Error('no storage');
  atPlaces.mockResolvedValue([inFolder]);
  expect(await recalled(screen)).toEqual([inFolder]);
  stored = [part('a', 1)];
  atPlaces.mockRejectedValue(new ReferenceError('indexedDB is not defined'));
  expect(await recalled(screen)).toMatchObject([{ image: 'a' }]);
});

test('a page that saves disks itself is not looked at', async () => {
  const { screen } = screenIn({ output: () => new WritableStream() });
  stored = [part('a', 1)];
  expect(await recalled(screen)).toEqual([]);
  expect(atPlaces).not.toHaveBeenCalled();
});

test('a notice stays, and another step is not changed', async () => {
  const { screen } = screenIn();
  stored = [part('a', 1)];
  screen.begin('left', { notice: 'No files were found.' });
  await recall(screen);
  expect(screen.state).toMatchObject({ notice: 'No files were found.', remains: [{ image: 'a' }] });
  screen.begin('chosen', { name: 'a' });
  await recall(screen);
  expect(screen.state).toEqual({ step: 'opening', name: 'a' });
  // The person does something else while the storage is read.
  screen.begin('left', {});
  const recalling = recall(screen);
  screen.begin('left', {});
  await recalling;
  expect(screen.state).toEqual({ step: 'empty' });
});
