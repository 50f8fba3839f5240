// A browser's storage that is full, busy, or cannot do what is asked: what a worker makes of it.

import { beforeEach, expect, test, vi } from 'vitest';
import type { ObjectTarget } from './host.js';

const GB = 1e9;

/** What the storage does with one file. */
interface Fault {
  /** No more bytes than this fit; silently, as in Chromium's private windows. */
  room?: number;
  /** Thrown instead, where something does not fit. */
  full?: unknown;
  /** How often the file cannot be opened, and with which error. */
  refusals?: number;
  refusal?: string;
}

/** The file `out` of the private file system, as far as a worker writes it; its data is not kept. */
class FakeFile {
  readonly name = 'out';
  /** What was done with it. */
  readonly log: string[] = [];
  size = 0;
  opened = 0;

  constructor(private readonly fault: Fault) {}

  async createSyncAccessHandle(options?: { mode: string }) {
    this.opened += 1;
    if (this.opened <= (this.fault.refusals ?? 0)) throw new DOMException('refused', this.fault.refusal);
    this.log.push(`open${options ? ` ${options.mode}` : ''}`);
    const fits = (length: number) => {
      const { room = Number.POSITIVE_INFINITY, full } = this.fault;
      if (length <= room) return true;
      if (full !== undefined) throw full;
      return false;
    };
    return {
      truncate: (length: number) => {
        this.log.push(`truncate ${length}`);
        if (fits(length)) this.size = length;
      },
      getSize: () => this.size,
      write: (bytes: Uint8Array, { at }: { at: number }) => {
        this.log.push(`write ${bytes.length} at ${at}`);
        return fits(at + bytes.length) ? bytes.length : 0;
      },
      read: () => 0,
      flush: () => {},
      close: () => this.log.push('close'),
    };
  }

  async createWritable() {
    return { close: async () => {}, abort: async () => {} };
  }
}

/** Loads the worker's host into a browser whose storage has the file; `shares` as Chromium does. */
async function load(fault: Fault, shares = true) {
  const file = new FakeFile(fault);
  const removed: string[] = [];
  const folder = { getFileHandle: async () => file, removeEntry: async (name: string) => void removed.push(name) };
  const root = { getDirectoryHandle: async () => folder };
  vi.stubGlobal('navigator', { storage: { getDirectory: async () => root } });
  vi.stubGlobal(
    'FileSystemSyncAccessHandle',
    shares
      ? class {
          get mode() {
            return '';
          }
        }
      : class {},
  );
  const { browserHost } = await import('./browser-host.js');
  return { host: browserHost, file, removed };
}

/** The file as a target that pool workers write, too. */
async function openShared(fault: Fault) {
  const { host, file } = await load(fault);
  const { target, shared } = await host.openTarget({ opfs: 'out' }, true);
  expect(shared).toBe(true);
  return { object: (target as { object: ObjectTarget }).object, file };
}

const noRoom = { kind: 'sink', message: expect.stringMatching(/the browser's storage has no room for 2\.0 GB/) };

beforeEach(() => {
  // It keeps what the browser can do.
  vi.resetModules();
});

for (const [what, full] of [
  ['silently', undefined],
  ['with an exception', new DOMException('full', 'QuotaExceededError')],
  ["with Firefox's exception", { name: 'NS_ERROR_FILE_NO_DEVICE_SPACE' }],
] as const) {
  test(`a storage that refuses a length ${what}`, async () => {
    const { object, file } = await openShared({ room: GB, full });
    await expect(object.open(2 * GB)).rejects.toMatchObject(noRoom);
    expect(file.log.at(-1)).toBe('close');
    const { host } = await load({ room: GB, full });
    expect(await host.tryLength!('out', 2 * GB)).toBe(false);
    expect(await host.tryLength!('out', GB)).toBe(true);
  });
}

test('another failure than a full storage is told as it is', async () => {
  const full = new DOMException('gone', 'NotFoundError');
  const { object } = await openShared({ room: GB, full });
  await expect(object.open(2 * GB)).rejects.toBe(full);
});

test('a storage that takes the length, and then no bytes', async () => {
  const { object, file } = await openShared({ room: 2 * GB - 1 });
  await expect(object.write(2 * GB - 512, new Uint8Array(512))).rejects.toMatchObject(noRoom);
  await object.abort();
  expect(file.log).toEqual(['open readwrite-unsafe', `write 512 at ${2 * GB - 512}`, 'close']);
});

test('a file has its length before workers open it, and is let go of', async () => {
  const { object, file } = await openShared({});
  await object.open(GB);
  expect(file.log).toEqual(['open', 'truncate 0', `truncate ${GB}`, 'close']);
});

test('a file of unknown size gets none', async () => {
  const { object, file } = await openShared({});
  await object.open(undefined);
  expect(file.log).toEqual([]);
});

/** Opens the file for a conversion that goes on, or begins; tells how that has ended after so long. */
async function openWithJournal(fault: Fault, guest: number, milliseconds: number) {
  vi.useFakeTimers();
  try {
    const { host } = await load(fault);
    let ended = 'not yet';
    host.openTarget({ opfs: 'out', resume: { head: 'head', begun: { guest, written: guest } } }, true).then(
      ({ journal }) => {
        ended = journal ? 'with a journal' : 'without a journal';
      },
      ({ name }) => {
        ended = name;
      },
    );
    await vi.advanceTimersByTimeAsync(milliseconds);
    return ended;
  } finally {
    vi.useRealTimers();
  }
}

const BUSY = 'NoModificationAllowedError';

for (const { what, fault, guest = 4096, after, ended } of [
  { what: 'of a worker that ends just now', fault: { refusals: 50, refusal: BUSY }, after: 2450, ended: 'not yet' },
  { what: 'of one that has ended', fault: { refusals: 50, refusal: BUSY }, after: 2500, ended: 'with a journal' },
  { what: 'that somebody keeps', fault: { refusals: 999, refusal: BUSY }, after: 3050, ended: BUSY },
  { what: 'that is gone', fault: { refusals: 1, refusal: 'NotFoundError' }, after: 0, ended: 'NotFoundError' },
  {
    what: 'that is busy at first',
    fault: { refusals: 1, refusal: BUSY },
    guest: 0,
    after: 0,
    ended: 'without a journal',
  },
]) {
  test(`the journal ${what}, after ${after} ms: ${ended}`, async () => {
    expect(await openWithJournal(fault, guest, after)).toBe(ended);
  });
}

test('a browser without handles to write by at once gets a stream, and keeps no file of the trial', async () => {
  const { host, removed } = await load({ refusals: 999, refusal: 'NotSupportedError' }, false);
  const { target, shared } = await host.openTarget({ opfs: 'out' }, true);
  expect([Object.keys(target), shared]).toEqual([['writable'], false]);
  expect(removed).toHaveLength(1);
});

test('a browser in which only one worker may write gets a handle', async () => {
  const { host, file } = await load({}, false);
  const { target, shared } = await host.openTarget({ opfs: 'out' }, true);
  expect([Object.keys(target), shared]).toEqual([['handle'], false]);
  expect(file.log).toEqual(['open', 'close', 'open', 'truncate 0']);
});
