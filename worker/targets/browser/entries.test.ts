import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { removeUnlessBusy } from './entries.js';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A folder whose removals have the results `ends`, one after another; the last one repeats. */
function folderOf(...ends: ('busy' | 'missing' | 'removed')[]) {
  const removeEntry = vi.fn(async () => {
    const end = ends.length > 1 ? ends.shift() : ends[0];
    if (end === 'busy') throw new DOMException('held', 'NoModificationAllowedError');
    if (end === 'missing') throw new DOMException('gone', 'NotFoundError');
  });
  return { handle: { removeEntry } as unknown as FileSystemDirectoryHandle, removeEntry };
}
const ours = async () => true;

for (const [ends, tries, time, isGone] of [
  [['removed'], 1, 0, true],
  [['missing'], 1, 0, true],
  [['busy', 'busy', 'removed'], 3, 100, true],
  [['busy', 'missing'], 2, 50, true],
  [['busy'], 20, 1000, false],
] as const) {
  test(`${ends.join(', ')}: ${isGone ? 'gone' : 'given up'} after ${tries} tries`, async () => {
    const { handle, removeEntry } = folderOf(...ends);
    const start = Date.now();
    const removed = removeUnlessBusy(handle, 'file', ours);
    await vi.runAllTimersAsync();
    expect(await removed).toBe(isGone);
    expect(removeEntry).toHaveBeenCalledTimes(tries);
    expect(Date.now() - start).toBe(time);
  });
}

test('a file that is not ours any more is not removed, even on a second try', async () => {
  const { handle, removeEntry } = folderOf('busy');
  const answers = [true, false];
  const removed = removeUnlessBusy(handle, 'file', async () => answers.shift()!);
  await vi.runAllTimersAsync();
  expect(await removed).toBe(true);
  expect(removeEntry).toHaveBeenCalledTimes(1);
});
