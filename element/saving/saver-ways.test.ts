// The ways in which the images of a queue are saved.

import type { ConvertOptions, Output } from 'decant';
import { expect, test, vi } from 'vitest';
import { folderHandle, imageOf, images, inputNamed, openImage, outputOf, RESULT } from '../element.test-support.js';
import { english } from '../texts/english/index.js';
import { MOST_TO_DOWNLOAD } from '../ways/choices.js';
import { pickFolder, ready, session, step } from './saving.test-support.js';

vi.mock('decant', async (original) => ({
  ...(await original<typeof import('decant')>()),
  open: (...args: Parameters<typeof openImage>) => openImage(...args),
  splitFiles: async () => [],
  targets: async () => [{ name: 'opfs', fits: true }],
}));

/** Gives images of disks of these sizes, which convert at once, and waits for the first one. */
async function give(...sizes: number[]): Promise<void> {
  const convert = async () => RESULT;
  const names = sizes.map((_, at) => `${at}.img`);
  for (const [at, size] of sizes.entries()) {
    const name = names[at]!;
    const formats = [outputOf('raw', '.raw', { outputSize: size })];
    images.set(name, imageOf({ name, virtualSize: size, fileSize: size }, { formats, convert }));
  }
  session.take(names.map((name) => inputNamed(name)));
  await ready({ label: names[0]!, way: expect.anything() });
}

test('images are saved the same way, whatever their sizes, and those of the next queue as usual', async () => {
  await give(1e9, 1e11);
  session.openNext();
  await ready({ label: '1.img', way: 'download', reason: english.asInQueue });
  session.openNext();
  await ready({ label: '0.img', way: 'download', reason: undefined });
  session.remove(session.queue.waiting[0]!.id);
  session.reset();
  await give(1e11);
  await ready({ way: 'folder', reason: english.folderAbove(MOST_TO_DOWNLOAD) });
});

test('one that cannot be saved as all others waits for the person', async () => {
  pickFolder.mockResolvedValue(folderHandle('picked', {}));
  await give(1e9, 1e12, 1e11);
  session.chooser.select('folder');
  session.convertAll();
  await ready({ label: '1.img', way: 'download', reason: english.longCheck(1e12) });
  await vi.waitFor(() => expect(session.isConvertingAll).toBe(false));
  expect(session.queue.results).toEqual({ done: 2, all: 2 });
});

test('a folder in which the browser checks for hours is asked about, and a quick format is offered', async () => {
  pickFolder.mockResolvedValue(folderHandle('picked', {}));
  const [raw, qcow2] = [
    outputOf('raw', '.raw', { outputSize: 9e12 }),
    outputOf('qcow2', '.qcow2', { resumable: false }),
  ];
  const converted: string[] = [];
  const convert = async (_output: Output, { format }: ConvertOptions = {}) => {
    converted.push(format!);
    return RESULT;
  };
  const vast = imageOf({ virtualSize: 9e12, fileSize: 1e6 }, { formats: [raw, qcow2], convert });
  images.set('vast.img', vast);
  session.take([inputNamed('vast.img')]);
  await ready({ way: 'download', reason: english.longCheck(9e12) });
  const asking = { kind: 'longCheck', way: 'folder', length: 9e12, quick: qcow2 };
  session.chooser.select('folder');
  session.convert();
  await ready({ asking } as never);
  session.chooser.selectOutput(qcow2);
  await ready({ output: qcow2, way: 'folder', asking: undefined });
  session.chooser.selectOutput(raw);
  session.convert();
  await ready({ asking } as never);
  expect([converted, pickFolder.mock.calls]).toEqual([[], []]);
  session.saveAnyway();
  expect(await step('done')).toMatchObject({ target: { kind: 'folder' } });
  expect(converted).toEqual(['raw']);
});
