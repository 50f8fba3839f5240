/// <reference lib="webworker" />
/// <reference lib="es2024.string" />
// Streamed downloads from the page through its service worker to the browser, whose part the test plays.

import { randomUUID } from 'node:crypto';
import type { StreamedDownload } from 'decant/element';
import { beforeEach, expect, test, vi } from 'vitest';
import { openStreamedDownload } from '../download/streamed.js';
import { FakePage, type Received, SCOPE } from './fake-page.test-support.js';
import { VERSION } from './page-messages.js';

type Worker = typeof import('./downloads.js');

const MIB = 1 << 20;
/** The most bytes that are sent and not yet taken by the browser. */
const WINDOW = 8 * MIB;
/** Promises that keep the service worker alive after messages. */
interface Extended {
  work: Promise<unknown>[];
}

class Client {
  readonly id = 'page';
}

let page: FakePage;
let worker: Worker;
/** The service worker's ends of its channels. */
const openPorts: Received['ports'][number][] = [];
/** Whether the page is open, according to the browser. */
let isOpen: () => Promise<boolean>;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  page = new FakePage();
  isOpen = async () => true;
  for (const [name, value] of Object.entries(page.globals)) vi.stubGlobal(name, value);
  const get = async () => ((await isOpen()) ? new Client() : undefined);
  vi.stubGlobal('self', { registration: { scope: SCOPE }, clients: { get } });
  vi.stubGlobal('Client', Client);
  await startWorker();
  return () => vi.useRealTimers();
});

/** Restarts the service worker, which loses its downloads and their ports. */
async function startWorker(): Promise<void> {
  for (const port of openPorts.splice(0)) port.close();
  vi.resetModules();
  worker = await import('./downloads.js');
  page.onmessage = (message) => {
    openPorts.push(...message.ports);
    send(message);
  };
}

/** Sends a message of the page to the service worker. Returns the promises that keep the worker alive. */
function send(message: Partial<Received>, source: unknown = new Client()): Extended {
  const extended: Extended = { work: [] };
  const waitUntil = (work: Promise<unknown>) => extended.work.push(work);
  worker.receive({ ports: [], ...message, source, waitUntil } as unknown as ExtendableMessageEvent);
  return extended;
}

/** Lets everything happen that does not need timers. */
const settle = () => vi.advanceTimersByTimeAsync(0);

interface Begun extends StreamedDownload {
  response: Response;
  address: string;
  writer: WritableStreamDefaultWriter<Uint8Array>;
  /** The failure of the writer; `none` after it was closed. */
  failure: () => string | undefined;
}

/** Starts a download and requests it as the browser. */
async function begin(size: number | undefined, name = 'disk.raw'): Promise<Begun> {
  let response: Response | undefined;
  let address = '';
  page.onnavigate = (requested) => {
    address = requested;
    response = worker.answerDownload(new Request(requested));
  };
  const download = await openStreamedDownload(name, size);
  const writer = download.writable.getWriter();
  let failure: string | undefined;
  writer.closed.then(
    () => {
      failure = 'none';
    },
    (reason: unknown) => {
      failure = reason instanceof Error ? reason.message : String(reason);
    },
  );
  return { ...download, response: response!, address, writer, failure: () => failure };
}

/** Bytes that are computed from their positions. */
function bytesOf(size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  for (let index = 0; index < size; index += 1) bytes[index] = (index * 2654435761) >>> 13;
  return bytes;
}

/** Writes `bytes` in pieces. */
async function write({ writer }: Begun, bytes: Uint8Array, piece = 3_000_000): Promise<void> {
  for (let at = 0; at < bytes.length; at += piece) await writer.write(bytes.subarray(at, at + piece));
}

/** The failure of `work`. */
const reasonOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (error: Error) => error.message,
  );

const expectNothingLeft = (address: string) => {
  expect([...page.frames]).toEqual([]);
  expect([...page.locks]).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
  expect(worker.answerDownload(new Request(address))!.status).toBe(404);
};

// (size, whether it is known)
for (const [size, isKnown] of [
  [0, true],
  [1, true],
  [MIB, true],
  [MIB + 1, true],
  [20_000_003, true],
  [20_000_003, false],
  [0, false],
] as const) {
  test(`${size} bytes arrive, their number ${isKnown ? 'known' : 'unknown'} beforehand`, async () => {
    const begun = await begin(isKnown ? size : undefined);
    expect(page.frames.size).toBe(1);
    expect(page.locks.size).toBe(1);
    const arriving = begun.response.arrayBuffer();
    const bytes = bytesOf(size);
    await write(begun, bytes);
    await begun.writer.close();
    expect(begun.taken()).toBe(size);
    expect(Buffer.from(await arriving).equals(bytes)).toBe(true);
    expect(begun.response.headers.get('content-length')).toBe(isKnown ? String(size) : null);
    expect(begun.cancelled.aborted).toBe(false);
    expectNothingLeft(begun.address);
  });
}

test('closing waits until the browser has taken all bytes', async () => {
  const begun = await begin(5);
  let isClosed = false;
  await begun.writer.write(bytesOf(5));
  const closing = begun.writer.close().then(() => {
    isClosed = true;
  });
  await settle();
  expect(isClosed).toBe(false);
  await begun.response.arrayBuffer();
  await closing;
  expect(begun.taken()).toBe(5);
});

test('the buffer of the caller is not transferred', async () => {
  const begun = await begin(MIB);
  const arriving = begun.response.arrayBuffer();
  const shared = new Uint8Array(new SharedArrayBuffer(3 * MIB));
  shared.set(bytesOf(MIB), MIB);
  const given = shared.subarray(MIB, 2 * MIB);
  const own = bytesOf(10);
  await begun.writer.write(given);
  expect(await reasonOf(begun.writer.write(own))).toContain('More than');
  expect([given.length, own.length]).toEqual([MIB, 10]);
  await expect(arriving).rejects.toThrow();
});

test('a browser that does not take bytes stops the writer after 8 MiB', async () => {
  const begun = await begin(40 * MIB);
  const bytes = bytesOf(40 * MIB);
  let written = 0;
  const writing = (async () => {
    for (; written < bytes.length; written += MIB) await begun.writer.write(bytes.subarray(written, written + MIB));
    await begun.writer.close();
  })();
  await settle();
  expect(begun.taken()).toBe(0);
  expect(written).toBe(WINDOW);
  // For each piece that is taken, one more is sent.
  const reader = begun.response.body!.getReader();
  const first = await reader.read();
  expect(first.value).toHaveLength(MIB);
  await settle();
  expect(begun.taken()).toBe(MIB);
  expect(written).toBe(WINDOW + MIB);
  const rest: Uint8Array[] = [first.value!];
  for (let read = await reader.read(); !read.done; read = await reader.read()) rest.push(read.value);
  await writing;
  expect(Buffer.concat(rest).equals(bytes)).toBe(true);
});

test('an abort reaches a browser that does not take bytes', async () => {
  const begun = await begin(1e9);
  // This write never ends.
  const writing = reasonOf(begun.writer.write(new Uint8Array(2 * WINDOW)));
  await settle();
  await begun.writer.abort(new Error('no disk'));
  expect(await writing).toBe('no disk');
  await settle();
  await expect(begun.response.arrayBuffer()).rejects.toThrow('no disk');
  expectNothingLeft(begun.address);
});

test('a cancel in the browser aborts the signal and fails the writer', async () => {
  const begun = await begin(40e6);
  const reader = begun.response.body!.getReader();
  const writing = reasonOf(write(begun, bytesOf(20e6)));
  await reader.read();
  await reader.cancel();
  await settle();
  expect(begun.cancelled.aborted).toBe(true);
  expect(begun.cancelled.reason.name).toBe('AbortError');
  expect(await writing).toContain('cancelled in the browser');
  expect(begun.failure()).toContain('cancelled in the browser');
  expect(await reasonOf(begun.writer.write(new Uint8Array(1)))).toContain('cancelled in the browser');
  expectNothingLeft(begun.address);
});

// (case, action of the page after 2 of 4 MB, failure of the writer)
for (const [how, cause, reason] of [
  ['aborted', ({ writer }: Begun) => writer.abort(new Error('no disk')), 'no disk'],
  ['aborted without an error', ({ writer }: Begun) => writer.abort('no disk'), 'no disk'],
  ['closed too early', ({ writer }: Begun) => reasonOf(writer.close()), '2000000 bytes of 4000000 were written'],
  [
    'written too much',
    (begun: Begun) => reasonOf(write(begun, bytesOf(2_000_001))),
    'More than the 4000000 bytes of the disk were written',
  ],
] as const) {
  test(`a download that is ${how} fails`, async () => {
    const begun = await begin(4e6);
    const arriving = reasonOf(begun.response.arrayBuffer());
    await write(begun, bytesOf(2e6));
    await cause(begun);
    await settle();
    expect(begun.failure()).toContain(reason);
    expect(await arriving).toContain(reason);
    expect(begun.cancelled.aborted).toBe(false);
    expectNothingLeft(begun.address);
  });
}

const ENDED = 'the browser ended the service worker of this page, so the download failed';

// (case, size of the download, of which 2 MB are written)
for (const [when, size] of [
  ['while bytes are written', 4e6],
  ['when all bytes have been written', 2e6],
] as const) {
  test(`a download whose service worker ends ${when} fails within 5 s`, async () => {
    const begun = await begin(size);
    begun.response.arrayBuffer().catch(() => {});
    await write(begun, bytesOf(2e6));
    await settle();
    expect(begun.taken()).toBe(2e6);
    await startWorker();
    // After writing all bytes, the page waits for the end.
    const closing = size === 2e6 ? reasonOf(begun.writer.close()) : Promise.resolve(ENDED);
    await vi.advanceTimersByTimeAsync(4999);
    expect(begun.failure()).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    expect(begun.failure()).toBe(ENDED);
    expect(await closing).toBe(ENDED);
  });
}

test('a download whose service worker does not answer for 20 s fails', async () => {
  const begun = await begin(4e6);
  const arriving = reasonOf(begun.response.arrayBuffer());
  page.onmessage = undefined;
  await vi.advanceTimersByTimeAsync(24_999);
  expect(begun.failure()).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1);
  expect(begun.failure()).toBe(ENDED);
  await arriving;
  // Each later question waits for the same time.
  await vi.advanceTimersByTimeAsync(20_000);
  expectNothingLeft(begun.address);
});

test('a download with long pauses arrives', async () => {
  const begun = await begin(4);
  const arriving = begun.response.arrayBuffer();
  for (let at = 0; at < 4; at += 1) {
    await vi.advanceTimersByTimeAsync(105_000);
    await begun.writer.write(Uint8Array.of(at));
  }
  await begun.writer.close();
  expect([...new Uint8Array(await arriving)]).toEqual([0, 1, 2, 3]);
});

test('a download whose page was closed fails within 2 s', async () => {
  const begun = await begin(4e6);
  const arriving = vi.fn();
  begun.response.arrayBuffer().catch(({ message }: Error) => arriving(message));
  await write(begun, bytesOf(2e6));
  // A closed page has no timers and sends no messages. The browser's first answer fails.
  page.onmessage = undefined;
  isOpen = () => Promise.reject(new Error('busy'));
  await vi.advanceTimersByTimeAsync(2000);
  isOpen = async () => false;
  await vi.advanceTimersByTimeAsync(1999);
  expect(arriving).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(arriving).toHaveBeenCalledWith('the page was closed');
  expect(worker.answerDownload(new Request(begun.address))!.status).toBe(404);
});

test('two downloads at once do not mix', async () => {
  const both = [await begin(9_000_001), await begin(5_000_007)];
  const arrived = await Promise.all(
    both.map(async (begun) => {
      const bytes = bytesOf(Number(begun.response.headers.get('content-length')));
      const arriving = begun.response.arrayBuffer();
      await write(begun, bytes, 700_000);
      await begun.writer.close();
      return Buffer.from(await arriving).equals(bytes);
    }),
  );
  expect(arrived).toEqual([true, true]);
});

test('the URL of a download that was aborted before the request is gone', async () => {
  let address = '';
  page.onnavigate = (requested) => {
    address = requested;
  };
  const cancel = new AbortController();
  const opening = openStreamedDownload('disk.raw', 1, cancel.signal);
  await settle();
  cancel.abort();
  await expect(opening).rejects.toThrow('cancelled before it began');
  await settle();
  expectNothingLeft(address);
});

test('the browser saves the bytes as a file, without caching or showing them', async () => {
  const { response } = await begin(5, 'a"b.raw');
  expect(response.status).toBe(200);
  expect(Object.fromEntries(response.headers)).toEqual({
    'content-type': 'application/octet-stream',
    'content-disposition': "attachment; filename*=UTF-8''a_b.raw",
    'content-length': '5',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'cross-origin-embedder-policy': 'require-corp',
    'cross-origin-resource-policy': 'same-origin',
  });
});

test('a URL is served once, and never from the server', async () => {
  const { address, writer } = await begin(5);
  const status = (url: string, method = 'GET') => worker.answerDownload(new Request(url, { method }))?.status;
  expect(status(address)).toBe(404);
  await writer.abort(new Error('enough'));
  await settle();
  expect(status(address)).toBe(404);
  expect(status(`${SCOPE}download/${randomUUID()}`)).toBe(404);
  // All other URLs belong to the server.
  for (const other of ['download/file.js', 'download/', `${randomUUID()}`, `download/${randomUUID()}/x`, '']) {
    expect(status(SCOPE + other)).toBeUndefined();
  }
  expect(status(`https://decant.test/download/${randomUUID()}`)).toBeUndefined();
});

test('a method other than GET does not use up the URL', async () => {
  let address = '';
  page.onnavigate = (requested) => {
    address = requested;
  };
  const opening = openStreamedDownload('disk.raw', 1);
  await settle();
  expect(worker.answerDownload(new Request(address, { method: 'POST' }))!.status).toBe(404);
  expect(worker.answerDownload(new Request(address))!.status).toBe(200);
  await opening;
});

/** A channel to the service worker, and the messages received through it. */
function connect(): { port: MessagePort; ports: Received['ports']; received: unknown[] } {
  const { port1, port2 } = new page.globals.MessageChannel();
  const received: unknown[] = [];
  port1.onmessage = ({ data }) => received.push(data);
  return { port: port1 as unknown as MessagePort, ports: [port2], received };
}

test('if a page ends early or fails, it gets the reason and the browser shows a failed download', async () => {
  for (const [last, reason] of [
    [{ end: true }, '3 bytes of 5 came'],
    [{ fail: 'no disk' }, 'no disk'],
  ] as const) {
    const { port, ports, received } = connect();
    const id = randomUUID();
    send({ data: { ask: 'download', id, name: 'disk.raw', size: 5 }, ports });
    const arriving = reasonOf(worker.answerDownload(new Request(`${SCOPE}download/${id}`))!.arrayBuffer());
    port.postMessage({ bytes: new ArrayBuffer(3) });
    port.postMessage(last);
    expect(await arriving).toBe(reason);
    await settle();
    expect(received).toEqual([{ ready: true }, { begun: true }, { taken: 3 }, { failed: reason }]);
    // Later bytes are ignored.
    port.postMessage({ bytes: new ArrayBuffer(2) });
    await settle();
    expect(received).toHaveLength(4);
  }
});

test('a question keeps the service worker alive until the download has ended, or for 2 minutes', async () => {
  const begun = await begin(5);
  const ask = async (id: string) => {
    const { ports, received } = connect();
    const { work } = send({ data: { ask: 'alive', id }, ports });
    let isOver = false;
    Promise.all(work).then(() => {
      isOver = true;
    }, expect.fail);
    await settle();
    return { received, isOver: () => isOver };
  };
  const id = begun.address.split('/').at(-1)!;
  const unknown = await ask(randomUUID());
  expect([unknown.received, unknown.isOver()]).toEqual([[false], true]);
  const first = await ask(id);
  expect([first.received, first.isOver()]).toEqual([[true], false]);
  await vi.advanceTimersByTimeAsync(119_999);
  expect(first.isOver()).toBe(false);
  const second = await ask(id);
  await vi.advanceTimersByTimeAsync(1);
  expect([first.isOver(), second.isOver()]).toEqual([true, false]);
  await begun.writer.abort(new Error('enough'));
  await settle();
  expect(second.isOver()).toBe(true);
  expect((await ask(id)).received).toEqual([false]);
});

test('a message that is not a question, has no port or is not from a page is ignored', async () => {
  const { ports, received } = connect();
  const data = { ask: 'version' };
  send({ data });
  send({ data, ports }, {});
  for (const other of [undefined, null, 'hello', {}, { ask: 'what' }]) send({ data: other, ports });
  await settle();
  expect(received).toEqual([]);
  send({ data, ports });
  await settle();
  expect(received).toEqual([VERSION]);
});
