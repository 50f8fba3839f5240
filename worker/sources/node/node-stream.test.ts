// Streams in Node as images: their bytes, their failures, and pipes without a writer.

import { execFileSync } from 'node:child_process';
import { createReadStream, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { describe, expect } from 'vitest';
import { test } from '../../targets/node/folder.test-support.js';
import { StreamReader } from '../custom-stream.js';
import { fromPipe, fromReadable, isNodeReadable } from './node-stream.js';

const never = new AbortController().signal;
const CONTENT = Buffer.alloc(200_000, 'content');

/** All bytes of a stream, read in parts. */
async function all(stream: ReadableStream<Uint8Array>): Promise<Buffer> {
  const reader = new StreamReader(stream);
  const parts: Uint8Array[] = [];
  for (let at = 0; ; at += parts.at(-1)!.length) {
    parts.push(await reader.read(at, 30_000, never));
    if (parts.at(-1)!.length < 30_000) return Buffer.concat(parts);
  }
}

describe('a Readable', () => {
  test('is recognised', () => {
    for (const stream of [new PassThrough(), Readable.from([])]) expect(isNodeReadable(stream)).toBe(true);
    for (const other of [new Blob(), new ReadableStream(), { read: () => {}, size: 0 }, null, { pipe: () => {} }]) {
      expect(isNodeReadable(other)).toBe(false);
    }
  });

  test('of a file is read', async ({ folder }) => {
    const path = join(folder, 'image');
    writeFileSync(path, CONTENT);
    expect((await all(fromReadable(createReadStream(path)))).equals(CONTENT)).toBe(true);
    expect((await all(fromReadable(createReadStream(path, { start: 7, end: 20 })))).toString()).toBe(
      CONTENT.toString('utf8', 7, 21),
    );
  });

  test('of a request is read, and fails if it breaks off', async () => {
    let cut = (_end: () => void) => {};
    const end = new Promise<() => void>((resolve) => {
      cut = resolve;
    });
    const server = createServer((request, response) => {
      response.writeHead(200, { 'content-length': CONTENT.length });
      if (request.url === '/whole') response.end(CONTENT);
      else response.write(CONTENT.subarray(0, 1000), () => cut(() => response.destroy()));
    });
    await new Promise<void>((listening) => server.listen(0, listening));
    const { port } = server.address() as AddressInfo;
    const request = (path: string) =>
      new Promise<IncomingMessage>((answered, failed) => {
        get(`http://localhost:${port}${path}`, answered).on('error', failed);
      });
    try {
      expect((await all(fromReadable(await request('/whole')))).equals(CONTENT)).toBe(true);
      const image = fromReadable(await request('/cut'));
      const reading = all(image);
      (await end)();
      await expect(reading).rejects.toMatchObject({ kind: 'source', message: 'Could not read the image: aborted' });
    } finally {
      server.close();
    }
  });

  test('is read no further than requested', async () => {
    let made = 0;
    const stream = new Readable({
      highWaterMark: 1,
      read() {
        made += 1;
        this.push(Buffer.alloc(1000));
      },
    });
    const reader = new StreamReader(fromReadable(stream));
    await reader.read(0, 5000, never);
    expect(made).toBeLessThan(10);
    await reader.close();
    expect(stream.destroyed).toBe(true);
  });

  test('that fails before it is read fails the read and does not end the process', async ({ folder }) => {
    const stream = createReadStream(join(folder, 'missing'));
    const image = fromReadable(stream);
    await new Promise<void>((closed) => stream.once('close', closed));
    await expect(all(image)).rejects.toMatchObject({ kind: 'source', message: expect.stringContaining('ENOENT') });
  });

  test('of text is refused', async () => {
    const stream = Readable.from(['text']);
    await expect(all(fromReadable(stream))).rejects.toMatchObject({
      kind: 'source',
      message: expect.stringContaining('a chunk that is not a Uint8Array'),
    });
  });

  test('that was read or closed before is refused', async () => {
    const read = Readable.from([Buffer.from('a')]);
    for await (const _ of read);
    const closed = new PassThrough().destroy();
    const begun = new PassThrough();
    begun.write('ab');
    begun.read(1);
    for (const stream of [read, closed, begun]) {
      expect(() => fromReadable(stream)).toThrow(expect.objectContaining({ kind: 'usage', code: 'stream-used' }));
    }
  });
});

describe('a named pipe', () => {
  const make = (folder: string) => {
    const path = join(folder, 'pipe');
    execFileSync('mkfifo', [path]);
    return path;
  };
  /** Writes `content` as soon as there is a reader. */
  const write = async (path: string, content: Uint8Array) => {
    const file = await open(path, 'w');
    await file.writeFile(content);
    await file.close();
  };

  test('is read, whether reader or writer opens first', async ({ folder }) => {
    const path = make(folder);
    const reading = all(fromPipe(path));
    await write(path, CONTENT);
    expect((await reading).equals(CONTENT)).toBe(true);
    const written = write(path, CONTENT);
    expect((await all(fromPipe(path))).equals(CONTENT)).toBe(true);
    await written;
  });

  test('without a writer is cancelled', async ({ folder }) => {
    const path = make(folder);
    const cancel = new AbortController();
    const stream = fromPipe(path);
    const reader = new StreamReader(stream);
    const reading = reader.read(0, 1, cancel.signal);
    cancel.abort();
    await expect(reading).rejects.toMatchObject({ kind: 'cancelled' });
    await reader.close();
    // Nothing has it open: a non-blocking writer finds no reader.
    await expect
      .poll(() =>
        open(path, 0o1 | 0o4000).then(
          (file) => file.close(),
          ({ code }) => code,
        ),
      )
      .toBe('ENXIO');
  });

  test('that was not read is closed without waiting', async ({ folder }) => {
    const reader = new StreamReader(fromPipe(make(folder)));
    await reader.close();
  });
});
