// The reports before an image is unpacked.

import { expect, test, vi } from 'vitest';
import type { Phase, Progress } from '../public/types.js';
import { UnpackingReport, windowOf } from './unpacking.js';

const progress = (phase: Phase): Progress => ({
  phase,
  ...{ unlocked: 0, guestDone: 0, dataDone: 0, bytesRead: 0, bytesWritten: 0, bytesPerSecond: 0 },
});

const UNPACKING = "decant: note: unpacking 'a.zst' to a temporary file in '/tmp'\n";
const WINDOW = 'decant: note: unpacking takes 2 GiB of memory for the window of the compressed file\n';

test.each([
  ['a usual window', {}, false, [UNPACKING]],
  ['a large window', { window: 2 ** 31 }, false, [UNPACKING, WINDOW]],
  ['a large window, quiet', { window: 2 ** 31 }, true, []],
])('the notes come once, when the unpacking begins: %s', (_, fields, isQuiet, expected) => {
  const printed: string[] = [];
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => Boolean(printed.push(String(text))));
  const report = new UnpackingReport('a.zst', '/tmp', isQuiet, false);
  report.window = windowOf(fields);
  report.show(progress('measuring'));
  expect(printed).toEqual([]);
  report.show(progress('converting'));
  report.show(progress('converting'));
  report.end();
  vi.restoreAllMocks();
  expect(printed).toEqual(expected);
});
