// Events that interrupt the person who chooses where to save the disk.

import { DecantError, type SavedProgress } from 'decant';
import { expect, test, vi } from 'vitest';
import {
  fileHandle,
  fileOf,
  folderHandle,
  Held,
  imageOf,
  images,
  inputNamed,
  openImage,
  PAGE,
  soon,
} from '../element.test-support.js';
import { english } from '../texts/english/index.js';
import {
  conversions,
  convert,
  converting,
  open,
  pickFile,
  pickFolder,
  ready,
  saveTo,
  session,
  step,
} from './saving.test-support.js';

vi.mock('decant', async (original) => ({
  ...(await original<typeof import('decant')>()),
  open: (...args: Parameters<typeof openImage>) => openImage(...args),
  splitFiles: async () => [],
  targets: async () => [{ name: 'opfs', fits: true }],
  leftovers: async () => [],
}));

test('the folder of a queue fails: the next image asks for one, because only a click opens the dialog', async () => {
  vi.stubGlobal('navigator', { ...PAGE.navigator, userActivation: { isActive: false } });
  pickFolder.mockResolvedValueOnce(folderHandle('picked', {}));
  pickFolder.mockRejectedValueOnce(new DOMException('It needs a click', 'SecurityError'));
  for (const name of ['a.qcow2', 'b.qcow2']) images.set(name, imageOf({ name }, { convert }));
  session.take(['a.qcow2', 'b.qcow2'].map((name) => inputNamed(name)));
  await ready({ label: 'a.qcow2', way: expect.anything() });
  session.chooser.select('folder');
  session.convertAll();
  (await converting()).end.reject(new DecantError('target', 'The disk is full'));
  await ready({ label: 'b.qcow2', way: 'folder', asking: { kind: 'noFolder' }, choosingTarget: false });
  await soon(() => expect(session.isConvertingAll).toBe(false));
  pickFolder.mockResolvedValueOnce(folderHandle('other', {}));
  session.convertAll();
  await soon(() => expect(conversions).toHaveLength(2));
});

test('the person leaves an image whose kept part is still being sought', async () => {
  await open({ savedProgress: () => new Promise(() => {}) });
  await saveTo('download');
  await ready({ choosingTarget: true, picking: false });
  session.reset();
  expect(session.state.step).toBe('empty');
  await open();
});

test('while the folder is looked at, the image stays', async () => {
  const looking = new Held<FileSystemFileHandle>();
  pickFolder.mockResolvedValue({ ...folderHandle('picked', {}), getFileHandle: () => looking.promise });
  await open();
  await saveTo('folder');
  await ready({ choosingTarget: true, picking: false });
  session.reset();
  expect(session.state.step).toBe('ready');
  looking.reject(new DOMException('There is no such file', 'NotFoundError'));
  await converting();
});

test('a kept part that cannot be discarded: the question stays', async () => {
  const busy = new DecantError('target', 'Another tab uses it', { code: 'storage-busy' });
  const kept: SavedProgress = { guestDone: 2e6, discard: () => Promise.reject(busy) };
  await open({ savedProgress: async () => kept });
  await saveTo('download');
  const asking = { kind: 'resume', name: 'disk.raw', share: 0.4, kept } as const;
  await ready({ asking, choosingTarget: false });
  session.download(false);
  await soon(() => expect(session.news).toBe(english.failure(busy)));
  await ready({ asking, choosingTarget: false });
  expect(conversions).toEqual([]);
});

test('the image fails while the save dialog is open: the emptied file is named', async () => {
  const [reading, picking] = [new Held(), new Held<FileSystemFileHandle>()];
  pickFile.mockImplementation(() => picking.promise);
  const map = async function* () {
    await reading.promise;
    yield* [];
  };
  images.set('disk.qcow2', imageOf({}, { convert, map }));
  session.take([inputNamed('disk.qcow2')]);
  await step('ready');
  await saveTo('dialog');
  await ready({ picking: true });
  reading.reject(new DecantError('corrupt', 'It is damaged'));
  await step('failed');
  picking.resolve(fileHandle(fileOf('mine.raw', '')));
  await soon(() => expect(session.news).toBe(english.emptyLeft('mine.raw')));
  expect(conversions).toEqual([]);
});

test('Resume without a file: the next image is like any other', async () => {
  session.resume(() => {});
  await open({ savedProgress: async () => ({ guestDone: 2e6, discard: async () => {} }) });
  await ready({ asking: undefined, choosingTarget: false });
  expect([session.news, conversions]).toEqual(['', []]);
});
