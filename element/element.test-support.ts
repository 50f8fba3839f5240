// Files, images and texts as plain objects, for the element's unit tests.

import {
  type ConvertResult,
  DecantError,
  type DiskImage,
  type Info,
  type Input,
  type OpenOptions,
  type OutputFormat,
  type Progress,
} from 'decant';
import { expect, vi } from 'vitest';
import { infoOf } from '../worker/api/info.test-support.js';
import { checkOpening } from '../worker/api/options.js';
import type { InputFile } from './files/input-file.js';
import type { Session } from './session/session.js';
import { Screen } from './steps/screen.js';
import type { State, Step } from './steps/state.js';
import type { AllTexts } from './types.texts.js';
import type { Host } from './ways/environment.js';

export const fileOf = (name: string, content: BlobPart = 'content', lastModified = 0): File =>
  new File([content], name, { lastModified });

export const inputNamed = (name: string, content?: BlobPart): InputFile => ({ file: fileOf(name, content) });

/** A handle of a file. Two handles with the same `entry` are handles of one file. */
export const fileHandle = (file: File, entry: unknown = file): FileSystemFileHandle =>
  ({
    kind: 'file',
    name: file.name,
    entry,
    getFile: async () => file,
    isSameEntry: async (other: { entry?: unknown }) => other.entry === entry,
  }) as unknown as FileSystemFileHandle;

/**
 * A folder with these entries, or one that was moved. An entry that is an error is thrown when it is requested. Two handles with the
 * same `entries` are handles of one folder.
 */
export const folderHandle = (
  name: string,
  entries: Record<string, FileSystemFileHandle | FileSystemDirectoryHandle | Error>,
  isMoved = false,
): FileSystemDirectoryHandle =>
  ({
    kind: 'directory',
    name,
    content: entries,
    isSameEntry: async (other: { content?: unknown }) => other.content === entries,
    getFileHandle: async (name: string) => {
      const entry = entries[name];
      if (entry === undefined) throw new DOMException('There is no such file', 'NotFoundError');
      if (entry instanceof Error) throw entry;
      if (entry.kind === 'directory') throw new DOMException('It is a folder', 'TypeMismatchError');
      return entry;
    },
    entries: async function* () {
      yield* Object.entries(entries);
    },
    keys: async function* () {
      if (isMoved) throw new DOMException('There is no such folder', 'NotFoundError');
      yield* Object.keys(entries);
    },
  }) as unknown as FileSystemDirectoryHandle;

export const outputOf = (name: string, extension: string, more: Partial<OutputFormat> = {}): OutputFormat => ({
  name,
  label: name,
  extension,
  options: [],
  recommended: {},
  compressed: false,
  resumable: true,
  streamable: true,
  hasFooter: false,
  notices: [],
  ...more,
});

export const OUTPUTS = [
  outputOf('raw', '.raw', { outputSize: 5e6 }),
  outputOf('raw.gz', '.raw.gz', { compressed: true, resumable: false }),
  outputOf('vpc', '.vhd', { outputSize: 5e6 + 512 }),
];

/** An open image without content. */
export const imageOf = (info: Partial<Info> = {}, more: Partial<DiskImage> = {}): DiskImage =>
  ({
    streamed: false,
    info: infoOf(info),
    formats: OUTPUTS,
    disks: [],
    places: async () => [],
    prepare: async () => {},
    unlock: async () => {},
    map: async function* () {},
    read: async (_offset: number, length: number) => new Uint8Array(length),
    savedProgress: async () => undefined,
    close: async () => {},
    ...more,
  }) as DiskImage;

/** A page that has set nothing. */
const NO_HOST = { output: undefined, places: undefined, streamedDownloads: undefined, outputProblem: undefined };

/** A stage in a page that records the events of the element in `emitted`. */
export function screenIn(host: Partial<Host> = {}): { screen: Screen; emitted: [string, unknown][] } {
  const emitted: [string, unknown][] = [];
  const emit: Host['emit'] = (type, detail) => {
    emitted.push([type, detail]);
  };
  return {
    screen: new Screen({ ...NO_HOST, emit, ...host }, () => {}),
    emitted,
  };
}

/** Yields all texts with their paths of names. */
export function* textsIn(texts: AllTexts | object, path = ''): Generator<[string, unknown]> {
  for (const [name, text] of Object.entries(texts)) {
    const here = path === '' ? name : `${path}.${name}`;
    if (typeof text === 'object' && !Array.isArray(text)) yield* textsIn(text, here);
    else yield [here, text];
  }
}

/** Images by file name, for the fake `open`. An error makes opening fail. */
export const images = new Map<
  string,
  DiskImage | Error | ((options: OpenOptions) => DiskImage | Error | Promise<DiskImage>)
>();

/** Opens the entry of `images` for the name of a file. Fails with `usage` for wrong options, as the package does. */
export async function openImage(input: Input, options: OpenOptions): Promise<DiskImage> {
  checkOpening(options);
  const file = 'getFile' in (input as object) ? await (input as FileSystemFileHandle).getFile() : (input as File);
  const found = images.get(file.name);
  const image = typeof found === 'function' ? found(options) : found;
  if (image === undefined) throw new DecantError('not-recognised', 'The file is not in a known disk image format');
  if (image instanceof Error) throw image;
  return image;
}

/** A promise that the test settles. */
export class Held<T = void> {
  resolve: (value: T) => void = () => {};
  reject: (thrown: unknown) => void = () => {};
  readonly promise = new Promise<T>((resolve, reject) => {
    Object.assign(this, { resolve, reject });
  });
}

/** A window that is in no frame. */
const WINDOW = { parent: {} };
WINDOW.parent = WINDOW;

/** Fakes for the globals of a page that the element uses. */
export const PAGE = {
  window: WINDOW,
  isSecureContext: true,
  reportError: (thrown: unknown) => {
    throw thrown;
  },
  addEventListener: () => {},
  removeEventListener: () => {},
  document: { visibilityState: 'hidden', addEventListener: () => {}, removeEventListener: () => {} },
  navigator: { locks: { request: (_name: string, _options: object, work: () => unknown) => Promise.resolve(work()) } },
};

export const RESULT: ConvertResult = {
  virtualSize: 5e6,
  rewritten: [],
  outputSize: 5e6,
  bytesRead: 1e6,
  bytesWritten: 1e6,
  holeBytes: 4e6,
  notices: [],
  sourceVerified: true,
  confirmed: true,
  lost: [],
  lostRanges: 0,
  lostBytes: 0,
  unusedCompanions: [],
  engine: 'workers',
  engineReason: '',
  workers: 2,
  time: { unlocking: 0, preparing: 0, measuring: 0, converting: 1, sending: 0, verifying: 0, finalizing: 0 },
};

export const progressOf = (more: Partial<Progress> = {}): Progress => ({
  phase: 'converting',
  unlocked: 0,
  guestDone: 0,
  guestTotal: 5e6,
  dataDone: 0,
  bytesRead: 0,
  bytesWritten: 0,
  bytesPerSecond: 0,
  ...more,
});

/** Waits until `check` no longer throws. */
export const soon = <T>(check: () => T): Promise<T> => vi.waitFor(check, { timeout: 20_000, interval: 2 });

/** Waits until the session shows the step `name`. */
export const stepOf = <S extends State['step']>(session: Session, name: S): Promise<Step<S>> =>
  soon(() => {
    expect(session.state.step).toBe(name);
    return session.state as Step<S>;
  });
