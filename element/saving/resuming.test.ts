// Resuming interrupted downloads from the first screen.

import type { Leftover, SavedProgress } from 'decant';
import { beforeEach, expect, test, vi } from 'vitest';
import { fileOf, imageOf, images, openImage, soon } from '../element.test-support.js';
import { english } from '../texts/english/index.js';
import { conversions, convert, converting, kept, open, ready, session, shown } from './saving.test-support.js';

vi.mock('decant', async (original) => ({
  ...(await original<typeof import('decant')>()),
  open: (...args: Parameters<typeof openImage>) => openImage(...args),
  httpSource: async ({ pathname }: URL) => fileOf(pathname.slice(1)),
  targets: async () => [{ name: 'opfs', fits: true }],
  leftovers: async () => stored,
}));

/** The content of the browser's storage. */
let stored: Leftover[];
beforeEach(() => {
  stored = [];
});

/** Presses Resume for what `disk.qcow2` has left in the format `vpc`, and chooses the file in an `<input>`. */
async function resume(remains: SavedProgress, name = 'disk.qcow2'): Promise<void> {
  images.set(
    name,
    imageOf({}, { savedProgress: async (_, options) => (options?.format === 'vpc' ? remains : undefined), convert }),
  );
  const fallback = vi.fn(() => session.takeToResume([fileOf(name)]));
  session.resume(fallback);
  await soon(() => expect(fallback).toHaveBeenCalledOnce());
}

test('Resume on the first screen resumes a download once its image is open, in the format that it had', async () => {
  await resume(kept(2e6));
  const { output, options } = await converting();
  expect(output).toEqual({ download: 'disk.vhd' });
  expect([options.format, options.resume]).toEqual(['vpc', true]);
  expect(shown.map((state) => state.step)).not.toContain('ready');
});

test('Resume with another file says so, and offers the image as any other', async () => {
  await resume(kept(0), 'other.qcow2');
  await soon(() => expect(session.news).toBe(english.notResumed('disk.qcow2')));
  await ready({ choosingTarget: false, asking: undefined });
});

const LEFT: Leftover = {
  kind: 'download',
  image: 'disk.qcow2',
  size: 5e6,
  guestDone: 2e6,
  guestTotal: 5e6,
  discard: async () => {},
};

/** Shows the card of `LEFT` on the first screen. */
async function showLeft(): Promise<void> {
  stored = [LEFT];
  session.recall();
  await soon(() => expect(session.state).toMatchObject({ step: 'empty', remains: [{ resumable: { share: 0.4 } }] }));
}

test.each([
  ['is there', [LEFT], english.notResumed('disk.qcow2')],
  ['was taken by another tab', [], `${english.elsewhereTitle}. ${english.elsewhereHint}`],
] as const)('Resume with the right name, while the part %s', async (_, left, text) => {
  await showLeft();
  stored = [...left];
  await resume(kept(0));
  await soon(() => expect(session.news).toBe(text));
  await ready({ choosingTarget: false, asking: undefined });
});

test('Resume of an image from a link opens the link again, or lets the person enter it', async () => {
  await showLeft();
  session.resumeLink('');
  expect(session.links.isEdited).toBe(true);
  expect(session.state.step).toBe('empty');
  images.set('disk.qcow2', imageOf({}, { savedProgress: async () => kept(2e6), convert }));
  session.resumeLink('https://a.org/disk.qcow2');
  expect((await converting()).options.resume).toBe(true);
});

test('an image of the name of an interrupted download asks whether to resume, if it is dropped', async () => {
  await showLeft();
  const remains = kept(2e6);
  await open({ savedProgress: async () => remains });
  await ready({ way: 'download', asking: { kind: 'resume', name: 'disk.raw', share: 0.4, kept: remains } });
  expect(conversions).toEqual([]);
});
