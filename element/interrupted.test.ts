// The image that is remembered while its download is under way.

import { beforeEach, expect, test, vi } from 'vitest';
import { english, stageIn } from '../e2e/support/units/element.js';
import { interrupted, recall } from './interrupted.js';
import { remember } from './remembered.js';

const BUSY = { held: [{ name: 'decant:busy' }] };
const kept = new Map<string, string>();
const storage = {
  getItem: (key: string) => kept.get(key) ?? null,
  setItem: (key: string, value: string) => void kept.set(key, value),
  removeItem: (key: string) => void kept.delete(key),
};
const inPage = (locks: object = {}, localStorage: object | null = storage) => {
  vi.stubGlobal('localStorage', localStorage);
  vi.stubGlobal('navigator', { locks: { query: async () => locks } });
};

beforeEach(() => {
  kept.clear();
  vi.useRealTimers();
  inPage();
});

test('an image is remembered until its download has ended', async () => {
  expect(await interrupted()).toBeUndefined();
  remember('disk.qcow2');
  expect(await interrupted()).toBe('disk.qcow2');
  remember(undefined);
  expect(await interrupted()).toBeUndefined();
});

test('a download in another tab is not interrupted', async () => {
  remember('disk.qcow2');
  inPage(BUSY);
  expect(await interrupted()).toBeUndefined();
});

test('after a week nothing is kept', async () => {
  vi.useFakeTimers();
  remember('disk.qcow2');
  vi.advanceTimersByTime(7 * 86_400_000 - 1);
  expect(await interrupted()).toBe('disk.qcow2');
  vi.advanceTimersByTime(1);
  expect(await interrupted()).toBeUndefined();
});

test.each([['{'], ['[]'], ['null'], ['{"name":7,"at":0}'], ['{"name":"disk"}']])('the content %s', async (content) => {
  kept.set('decant.converting', content);
  expect(await interrupted()).toBeUndefined();
});

test('without storage nothing is remembered', async () => {
  inPage({}, null);
  expect(() => remember('disk.qcow2')).not.toThrow();
  expect(await interrupted()).toBeUndefined();
});

test('it is named on the first screen, unless there is something else to say', async () => {
  const { stage } = stageIn();
  await recall(stage);
  expect(stage.state).toEqual({ step: 'empty' });
  remember('disk.qcow2');
  await recall(stage);
  expect(stage.state).toEqual({ step: 'empty', notice: english.interrupted('disk.qcow2') });
  for (const state of [
    { step: 'empty', notice: 'No files were found.' },
    { step: 'opening', name: 'a' },
  ] as const) {
    stage.begin(state);
    await recall(stage);
    expect(stage.state).toEqual(state);
  }
});
