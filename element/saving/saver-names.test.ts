// Names for a disk: suggested, typed and free ones, also after a cancel.

import type { Output } from 'decant';
import { expect, test, vi } from 'vitest';
import {
  fileHandle,
  folderHandle,
  imageOf,
  images,
  inputNamed,
  OUTPUTS,
  openImage,
  RESULT,
  soon,
} from '../element.test-support.js';
import { problem } from '../files/names.js';
import { english } from '../texts/english/index.js';
import {
  cancelledBy,
  conversions,
  converting,
  open,
  pickFolder,
  ready,
  saveTo,
  session,
  step,
  there,
} from './saving.test-support.js';

vi.mock('decant', async (original) => ({
  ...(await original<typeof import('decant')>()),
  open: (...args: Parameters<typeof openImage>) => openImage(...args),
  splitFiles: async () => [],
  targets: async () => [{ name: 'opfs', fits: true }],
}));

test('the suggested name follows the output format, a typed name stays; the format is kept for the next image', async () => {
  await open();
  session.chooser.selectOutput(OUTPUTS[2]!);
  await ready({ name: 'disk.vhd', output: OUTPUTS[2]! });
  session.chooser.rename('mine.raw');
  session.chooser.selectOutput(OUTPUTS[1]!);
  await ready({ name: 'mine.raw', output: OUTPUTS[1]! });
  await open();
  await ready({ name: 'disk.raw.gz', output: OUTPUTS[1]! });
});

test('a suggested name differs from the plain one only where the image has it, and is never the name of the image', async () => {
  await open({}, 'disk.raw');
  await ready({ name: 'disk-converted.raw' });
  session.chooser.selectOutput(OUTPUTS[2]!);
  await ready({ name: 'disk.vhd' });
  session.chooser.selectOutput(OUTPUTS[0]!);
  await ready({ name: 'disk-converted.raw' });
  await open({}, 'other.vhd');
  session.chooser.selectOutput(OUTPUTS[2]!);
  await ready({ name: 'other-converted.vhd' });
});

test('another format forgets a problem with the suggested name', async () => {
  pickFolder.mockResolvedValue(folderHandle('picked', { 'disk.raw': folderHandle('disk.raw', {}) }));
  await open();
  await saveTo('folder');
  await ready({ nameProblem: problem(english.folderOfName) });
  session.chooser.selectOutput(OUTPUTS[2]!);
  await ready({ name: 'disk.vhd', nameProblem: undefined });
});

/** Cancels the conversion, and returns to the image. */
async function cancelAndReturn(): Promise<void> {
  const { options, end } = await converting();
  cancelledBy(options.signal).catch(end.reject);
  session.cancel();
  await step('failed');
  session.takeRemedy('saveAgain');
  await soon(() => expect(session.state).toMatchObject({ step: 'ready', way: expect.anything() }));
  conversions.length = 0;
}

test('a typed name stays, even after a cancel', async () => {
  await open();
  session.chooser.rename('mine.raw');
  session.chooser.selectOutput(OUTPUTS[2]!);
  await saveTo('download');
  await cancelAndReturn();
  await ready({ name: 'mine.raw', output: OUTPUTS[2]! });
});

// (case, image, typed name, files in the folder, name in the field, free name)
for (const [what, image, typed, files, name, freeName] of [
  ['suggested', 'disk.qcow2', undefined, ['disk.raw'], 'disk.raw', 'disk-1.raw'],
  [
    'suggested for another name',
    'disk.raw',
    undefined,
    ['disk-converted.raw', 'disk-1.raw'],
    'disk-converted.raw',
    'disk-2.raw',
  ],
  ['typed', 'disk.qcow2', 'mine.raw', ['mine.raw'], 'mine.raw', 'mine-1.raw'],
  ['typed with a number', 'disk.qcow2', 'mine-1.raw', ['mine-1.raw'], 'mine-1.raw', 'mine-1-1.raw'],
] as const) {
  test(`after each cancel, the name and the free name are the same: ${what}`, async () => {
    pickFolder.mockResolvedValue(
      folderHandle('picked', Object.fromEntries(files.map((one) => [one, fileHandle(there)]))),
    );
    await open({}, image);
    if (typed !== undefined) session.chooser.rename(typed);
    for (let times = 0; times < 3; times += 1) {
      await ready({ name });
      await saveTo('folder');
      await ready({ name, asking: expect.objectContaining({ kind: 'replace', freeName }) });
      session.useFreeName();
      expect((await converting()).output).toMatchObject({ name: freeName });
      await cancelAndReturn();
    }
  });
}

/** Takes images that are converted at once. Returns the names of the outputs. */
async function take(...names: string[]): Promise<string[]> {
  const outputs: string[] = [];
  const convert = async (output: Output) => {
    outputs.push('download' in output ? output.download : 'folder' in output ? output.name : '');
    return RESULT;
  };
  for (const name of names) images.set(name, imageOf({ name }, { convert }));
  session.take(names.map((name) => inputNamed(name)));
  await ready({ way: expect.anything() });
  return outputs;
}

for (const way of ['folder', 'download'] as const) {
  test(`two images of one name, ${way}: no question, and two names`, async () => {
    const entries: Record<string, FileSystemFileHandle> = {};
    pickFolder.mockResolvedValue(folderHandle('picked', entries));
    const outputs = await take('disk.vdi', 'disk.vhdx');
    session.chooser.select(way);
    session.convert();
    await step('done');
    entries['disk.raw'] = fileHandle(there);
    session.openNext();
    await ready({ name: 'disk-1.raw', way, asking: undefined });
    session.convert();
    await step('done');
    expect(outputs).toEqual(['disk.raw', 'disk-1.raw']);
  });

  test(`the typed name of a file that the queue has made, ${way}: refused, never replaced`, async () => {
    pickFolder.mockResolvedValue(folderHandle('picked', { 'disk.raw': fileHandle(there) }));
    const outputs = await take('a.vdi', 'b.vhdx');
    session.chooser.select(way);
    session.chooser.rename('mine.raw');
    session.convert();
    await step('done');
    session.openNext();
    await ready({ name: 'b.raw', way });
    session.chooser.rename('Mine.raw');
    session.convert();
    await ready({ nameProblem: problem(english.nameMade), asking: undefined });
    session.chooser.rename('other.raw');
    session.convert();
    await step('done');
    expect(outputs).toEqual(['mine.raw', 'other.raw']);
  });
}

test('a free name is none that the queue has made', async () => {
  const entries = { 'b.raw': fileHandle(there) };
  pickFolder.mockResolvedValue(folderHandle('picked', entries));
  await take('a.vdi', 'b.vhdx');
  session.chooser.rename('b-1.raw');
  await saveTo('folder');
  await step('done');
  session.openNext();
  await ready({ name: 'b.raw', way: 'folder' });
  session.convert();
  await ready({ asking: expect.objectContaining({ kind: 'replace', name: 'b.raw', freeName: 'b-2.raw' }) });
});

test('another queue may use all names again', async () => {
  pickFolder.mockResolvedValue(folderHandle('picked', {}));
  const outputs = await take('disk.vdi');
  await saveTo('folder');
  await step('done');
  session.reset();
  await take('disk.vhdx');
  await ready({ name: 'disk.raw' });
  expect(outputs).toEqual(['disk.raw']);
});

test('a file that has taken the free name by now is not replaced', async () => {
  const entries: Record<string, FileSystemFileHandle> = { 'disk.raw': fileHandle(there) };
  pickFolder.mockResolvedValue(folderHandle('picked', entries));
  await open();
  await saveTo('folder');
  await ready({ asking: expect.objectContaining({ kind: 'replace', freeName: 'disk-1.raw' }) });
  entries['disk-1.raw'] = fileHandle(there);
  session.useFreeName();
  await ready({ asking: expect.objectContaining({ kind: 'replace', name: 'disk-1.raw', freeName: 'disk-2.raw' }) });
  expect(conversions).toEqual([]);
});
