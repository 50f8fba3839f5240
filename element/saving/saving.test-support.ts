// A session that saves disks, with conversions and dialogs that a test settles. The test file must mock `open` and `targets`.

import {
  type ConvertOptions,
  type ConvertResult,
  DecantError,
  type DiskImage,
  type Output,
  type SavedProgress,
} from 'decant';
import { afterEach, beforeEach, expect, vi } from 'vitest';
import { fileOf, Held, imageOf, images, inputNamed, PAGE, screenIn, soon, stepOf } from '../element.test-support.js';
import { Session } from '../session/session.js';
import type { State, Step } from '../steps/state.js';

/** A conversion that has begun and ends when the test allows it. */
export interface Conversion {
  output: Output;
  options: ConvertOptions;
  end: Held<ConvertResult>;
}

export let session: Session;
export let emitted: [string, unknown][];
export let shown: State[];
export let conversions: Conversion[];
export const pickFolder = vi.fn<() => Promise<FileSystemDirectoryHandle>>();
export const pickFile = vi.fn<() => Promise<FileSystemFileHandle>>();

beforeEach(() => {
  for (const [name, value] of Object.entries(PAGE)) vi.stubGlobal(name, value);
  vi.stubGlobal('showDirectoryPicker', pickFolder.mockReset());
  vi.stubGlobal('showSaveFilePicker', pickFile.mockReset());
  const page = screenIn();
  emitted = page.emitted;
  shown = [];
  conversions = [];
  session = new Session(page.screen.host, () => shown.push(session.state));
  images.clear();
});
afterEach(() => {
  session.end();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

export const step = <S extends State['step']>(name: S): Promise<Step<S>> => stepOf(session, name);
/** Waits until the state of the shown image matches. */
export const ready = (more: Partial<Step<'ready'>>) =>
  soon(() => expect(session.state).toMatchObject({ step: 'ready', ...more }));

/** A conversion of an image that the test ends. */
export function convert(output: Output, options: ConvertOptions = {}): Promise<ConvertResult> {
  const end = new Held<ConvertResult>();
  conversions.push({ output, options, end });
  return end.promise;
}

/** Opens the image in the file `name`, and waits until a way is proposed. */
export async function open(more: Partial<DiskImage> = {}, name = 'disk.qcow2'): Promise<void> {
  images.set(name, imageOf({}, { convert, ...more }));
  session.take([inputNamed(name)]);
  await soon(() => expect(session.state).toMatchObject({ step: 'ready', way: expect.anything() }));
}

/** Begins the conversion, and waits for it. */
export async function converting(): Promise<Conversion> {
  await step('converting');
  return soon(() => {
    expect(conversions.length).toBeGreaterThan(0);
    return conversions.at(-1)!;
  });
}

export async function saveTo(way: 'folder' | 'download' | 'dialog'): Promise<void> {
  session.chooser.select(way);
  session.convert(way);
}

export const cancelledBy = (signal: AbortSignal | undefined) =>
  new Promise<never>((_, reject) => {
    signal!.addEventListener('abort', () => reject(new DecantError('cancelled', 'The conversion was cancelled')));
  });

export const there = fileOf('disk.raw', 'what was there');

/** An interrupted download: `guestDone` bytes of five million. */
export function kept(guestDone: number): SavedProgress & { discard: ReturnType<typeof vi.fn> } {
  const remains = { guestDone, discard: vi.fn(async () => Object.assign(remains, { guestDone: 0 })) };
  return remains as unknown as SavedProgress & { discard: ReturnType<typeof vi.fn> };
}
