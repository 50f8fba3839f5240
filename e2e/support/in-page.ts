// Functions that tests run inside pages. A browser gets the text of such a function: it sees its arguments and the
// page's globals, and nothing of this file.

import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import type { Decant } from './package.js';

type Output = import('../../dist/browser.js').Output;
type Options = import('../../dist/browser.js').ConvertOptions & { password?: string };
type Source = import('../../dist/browser.js').Source;

/** A source that can pause a conversion. */
export interface HeldSource extends Source {
  /** Pauses reads that end beyond `offset`, until it is called with a larger offset. */
  holdFrom(offset: number): void;
}

/** The end of a conversion: a result, or a failure in words. */
export interface Outcome {
  failed?: { kind: string; message: string };
  engine?: string;
  bytesWritten?: number;
}

/** The package becomes `window.decant`, with both engines. */
export async function loadDecant([url, threadsUrl]: readonly [string, string]): Promise<void> {
  const decant: Decant = await import(url);
  const { threads }: typeof import('../../dist/threads.js') = await import(threadsUrl);
  decant.configure({ threads });
  (window as unknown as { decant: Decant }).decant = decant;
}

/** Defines `window.hold`, which makes a source of a file. It pauses no read until `holdFrom` is called. */
export function defineHold(): void {
  window.hold = (file, state) => {
    let from = Number.POSITIVE_INFINITY;
    const waiting: (() => void)[] = [];
    return {
      size: file.size,
      name: file.name,
      ...(state === undefined ? {} : { state }),
      holdFrom(offset) {
        from = offset;
        for (const check of waiting.splice(0)) check();
      },
      async read(offset, length) {
        while (offset + length > from) await new Promise<void>((check) => waiting.push(check));
        return new Uint8Array(await file.slice(offset, offset + length).arrayBuffer());
      },
    };
  };
}

/** The file that was chosen last becomes `window.file`. */
export function takeFile(): number {
  const { files } = document.querySelector('input')!;
  window.file = files![files!.length - 1]!;
  return window.file.size;
}

/** Converts `window.file`. */
export async function convert([output, { password, ...options }]: readonly [Output, Options]): Promise<Outcome> {
  try {
    const image = await window.decant.open(window.file, password === undefined ? {} : { password });
    try {
      const { engine, bytesWritten } = await image.convert(output, options);
      return { engine, bytesWritten };
    } finally {
      await image.close();
    }
  } catch (thrown) {
    const { kind, message } = thrown as { kind: string; message: string };
    return { failed: { kind: String(kind), message } };
  }
}

/**
 * Converts `window.file` to a stream, and returns the hash of what came out of it: SHA-256 of the SHA-256 of each
 * `piece` bytes.
 */
export async function convertToStream([piece, { password, ...options }]: readonly [number, Options]) {
  const digests: Uint8Array[] = [];
  const held = new Uint8Array(piece);
  let filled = 0;
  let length = 0;
  let ended = 'not at all';
  const flush = async () => {
    digests.push(new Uint8Array(await crypto.subtle.digest('SHA-256', held.subarray(0, filled))));
    filled = 0;
  };
  const stream = new WritableStream<Uint8Array>({
    async write(chunk) {
      length += chunk.length;
      for (let at = 0; at < chunk.length; ) {
        const part = chunk.subarray(at, at + piece - filled);
        held.set(part, filled);
        at += part.length;
        filled += part.length;
        if (filled === piece) await flush();
      }
    },
    async close() {
      if (filled > 0) await flush();
      ended = 'closed';
    },
    abort() {
      ended = 'aborted';
    },
  });
  let failed: { kind: string; message: string } | undefined;
  let sha256: string | undefined;
  const image = await window.decant.open(window.file, password === undefined ? {} : { password });
  try {
    ({ sha256 } = await image.convert(stream, options));
  } catch (thrown) {
    const { kind, message } = thrown as { kind: string; message: string };
    failed = { kind: String(kind), message };
  } finally {
    await image.close();
  }
  const all = new Uint8Array(await new Blob(digests as Uint8Array<ArrayBuffer>[]).arrayBuffer());
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', all));
  const hash = [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return { hash, length, ended, failed, sha256 };
}

/** The same hash of a file in the private file system. */
export async function hashStored([name, piece]: readonly [string, number]): Promise<string> {
  const root = await navigator.storage.getDirectory();
  const file = await (await root.getFileHandle(name)).getFile();
  const digests: ArrayBuffer[] = [];
  for (let at = 0; at < file.size; at += piece) {
    digests.push(await crypto.subtle.digest('SHA-256', await file.slice(at, at + piece).arrayBuffer()));
  }
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', await new Blob(digests).arrayBuffer()));
  return [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The same hash of a file here. */
export function hashPieces(path: string, piece: number): string {
  const all = createHash('sha256');
  const fd = openSync(path, 'r');
  const chunk = Buffer.alloc(piece);
  for (;;) {
    let filled = 0;
    for (let got = -1; got !== 0 && filled < piece; filled += got)
      got = readSync(fd, chunk, filled, piece - filled, null);
    if (filled === 0) break;
    all.update(createHash('sha256').update(chunk.subarray(0, filled)).digest());
  }
  closeSync(fd);
  return all.digest('hex');
}
