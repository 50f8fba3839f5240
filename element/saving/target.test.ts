// The output at each place.

import { DecantError, type Output } from 'decant';
import { expect, test, vi } from 'vitest';
import { infoOf } from '../../worker/api/info.test-support.js';
import { fileHandle, fileOf, folderHandle, outputOf, screenIn } from '../element.test-support.js';
import type { Target } from '../steps/state.js';
import { english } from '../texts/english/index.js';
import { outputAt } from './target.js';

const disk = { info: infoOf(), format: outputOf('raw', '.raw', { outputSize: 5e6 }), name: 'disk.raw' };
const { signal } = new AbortController();
const folder = folderHandle('picked', {});
const handle = fileHandle(fileOf('disk.raw'));
const { screen } = screenIn();

for (const [target, output] of [
  [
    { kind: 'folder', folder, name: 'disk.raw', replaces: undefined },
    { folder, name: 'disk.raw' },
  ],
  [{ kind: 'dialog', handle, name: 'disk.raw' }, handle],
  [{ kind: 'stored', name: 'disk.raw', kept: undefined }, { download: 'disk.raw' }],
] as [Target, Output][]) {
  test(`the output at a place: ${target.kind}`, async () => {
    expect(await outputAt(target, disk, signal, screen)).toEqual({ output, signal });
  });
}

for (const which of ['ended', 'cancelled'] as const) {
  test(`a stream is cancelled by the conversion or by the browser: ${which}`, async () => {
    const ends = { ended: new AbortController(), cancelled: new AbortController() };
    const writable = new WritableStream<Uint8Array>();
    const open = vi.fn(async () => ({ writable, cancelled: ends.cancelled.signal, taken: () => 7 }));
    const { screen } = screenIn({ streamedDownloads: { obstacle: async () => undefined, open } });
    const opened = await outputAt({ kind: 'streamed', name: 'disk.raw' }, disk, ends.ended.signal, screen);
    expect(opened.output).toBe(writable);
    expect(opened.taken?.()).toBe(7);
    expect(open).toHaveBeenCalledWith('disk.raw', 5e6, ends.ended.signal);
    expect(opened.signal.aborted).toBe(false);
    ends[which].abort();
    expect(opened.signal.aborted).toBe(true);
  });
}

test('a stream that does not start is a failure of the output', async () => {
  const open = () => Promise.reject(new Error('no answer'));
  const { screen } = screenIn({ streamedDownloads: { obstacle: async () => undefined, open } });
  const failed = outputAt({ kind: 'streamed', name: 'disk.raw' }, disk, signal, screen);
  await expect(failed).rejects.toMatchObject({ kind: 'target', message: english.noStream('no answer') });
});

test('an error that the page throws is a failure of the output, unless it is a DecantError', async () => {
  const at = (thrown: unknown) =>
    outputAt(
      { kind: 'host', name: 'disk.raw' },
      disk,
      signal,
      screenIn({ output: () => Promise.reject(thrown) }).screen,
    );
  await expect(at(new Error('Your quota is used up'))).rejects.toMatchObject({
    kind: 'target',
    message: 'Your quota is used up',
  });
  await expect(at(new DecantError('usage', 'wrong'))).rejects.toMatchObject({ kind: 'usage', message: 'wrong' });
  for (const thrown of ['nope', undefined, 7])
    await expect(at(thrown)).rejects.toMatchObject({ kind: 'target', message: String(thrown) });
});
