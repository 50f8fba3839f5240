// Browser storage that is full, busy or limited, as a worker handles it.

import { beforeEach, expect, test, vi } from 'vitest';
import type { ObjectTarget } from './worker-host.js';

const GB = 1e9;

/** The faults of a file. */
interface Fault {
  /** Capacity in bytes. Beyond it, calls do nothing and report nothing, as in Chromium's private windows. */
  room?: number;
  /** Thrown beyond the capacity instead. */
  full?: unknown;
  /** How often opening the file fails, and the name of the exception. */
  refusals?: number;
  refusal?: string;
}

/** A file of the private file system; it logs calls and keeps no data. */
class FakeFile {
  readonly name = 'out';
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

/** Loads the host into a browser with this file; `shares` if several workers may open it, as in Chromium. */
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

/** Opens the file as a target that pool workers share. */
async function openShared(fault: Fault) {
  const { host, file } = await load(fault);
  const { target, shared } = await host.openTarget({ opfs: 'out', sized: true });
  expect(shared).toBe(true);
  return { object: (target as { object: ObjectTarget }).object, file };
}

const noRoom = { kind: 'target', message: expect.stringMatching(/the browser's storage has no room for 2\.0 GB/) };

beforeEach(() => {
  // The module caches whether the browser has sync handles.
  vi.resetModules();
});

for (const [what, full] of [
  ['silently', undefined],
  ['with an exception', new DOMException('full', 'QuotaExceededError')],
  ["with Firefox's exception", { name: 'NS_ERROR_FILE_NO_DEVICE_SPACE' }],
] as const) {
  test(`reports full storage that refuses a length ${what}`, async () => {
    const { object, file } = await openShared({ room: GB, full });
    await expect(object.open(2 * GB)).rejects.toMatchObject(noRoom);
    expect(file.log.at(-1)).toBe('close');
    const { host } = await load({ room: GB, full });
    expect(await host.tryLength!('out', 2 * GB)).toBe(false);
    expect(await host.tryLength!('out', GB)).toBe(true);
  });
}

test.each([
  [512, '512 bytes'],
  [25_165_824, '25.2 MB'],
  [999_960, '1.0 MB'],
  [2 ** 40, '1.1 TB'],
])('states the size of %i bytes as people do', async (size, words) => {
  const { object } = await openShared({ room: 0 });
  await expect(object.open(size)).rejects.toThrow(`no room for ${words};`);
});

test('passes other failures on unchanged', async () => {
  const full = new DOMException('gone', 'NotFoundError');
  const { object } = await openShared({ room: GB, full });
  await expect(object.open(2 * GB)).rejects.toBe(full);
});

test('reports full storage that accepts a length but no bytes', async () => {
  const { object, file } = await openShared({ room: 2 * GB - 1 });
  await expect(object.write(2 * GB - 512, new Uint8Array(512))).rejects.toMatchObject(noRoom);
  await object.abort();
  expect(file.log).toEqual(['open readwrite-unsafe', `write 512 at ${2 * GB - 512}`, 'close']);
});

test('sets the length of a file and closes it before workers open it', async () => {
  const { object, file } = await openShared({});
  await object.open(GB);
  expect(file.log).toEqual(['open', 'truncate 0', `truncate ${GB}`, 'close']);
});

test('writes by one handle if the size is unknown', async () => {
  const { host, file } = await load({});
  const { target, shared } = await host.openTarget({ opfs: 'out', sized: false });
  expect([Object.keys(target), shared]).toEqual([['handle'], false]);
  expect(file.log).toEqual(['open', 'truncate 0']);
});

/** Opens a target with a journal, to resume from `guest`. Resolves to the state after `milliseconds`. */
async function openWithJournal(fault: Fault, guest: number, milliseconds: number) {
  vi.useFakeTimers();
  try {
    const { host } = await load(fault);
    let ended = 'waiting';
    host
      .openTarget({
        opfs: 'out',
        sized: true,
        resume: { head: 'head', resumePoint: { guest, written: guest }, mostUnsaved: 64e6 },
      })
      .then(
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
  {
    what: 'waits to resume while the journal is busy',
    fault: { refusals: 50, refusal: BUSY },
    after: 2450,
    ended: 'waiting',
  },
  {
    what: 'resumes when the journal is free',
    fault: { refusals: 50, refusal: BUSY },
    after: 2500,
    ended: 'with a journal',
  },
  {
    what: 'fails to resume if the journal stays busy',
    fault: { refusals: 999, refusal: BUSY },
    after: 3050,
    ended: BUSY,
  },
  {
    what: 'fails to resume at once after other errors',
    fault: { refusals: 1, refusal: 'NotFoundError' },
    after: 0,
    ended: 'NotFoundError',
  },
  {
    what: 'begins without a journal if that cannot be opened',
    fault: { refusals: 1, refusal: BUSY },
    guest: 0,
    after: 0,
    ended: 'without a journal',
  },
]) {
  test(`${what}: ${ended} after ${after} ms`, async () => {
    expect(await openWithJournal(fault, guest, after)).toBe(ended);
  });
}

test('writes a stream if the browser has no sync handles, and removes its test file', async () => {
  const { host, removed } = await load({ refusals: 999, refusal: 'NotSupportedError' }, false);
  const { target, shared } = await host.openTarget({ opfs: 'out', sized: true });
  expect([Object.keys(target), shared]).toEqual([['writable'], false]);
  expect(removed).toHaveLength(1);
});

test('writes by one handle if workers cannot share a file', async () => {
  const { host, file } = await load({}, false);
  const { target, shared } = await host.openTarget({ opfs: 'out', sized: true });
  expect([Object.keys(target), shared]).toEqual([['handle'], false]);
  expect(file.log).toEqual(['open', 'close', 'open', 'truncate 0']);
});
