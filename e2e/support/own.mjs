// Sources of a program's own, for programs that tests run.

import { open } from 'node:fs/promises';
import { basename } from 'node:path';

/**
 * The file at `path`, read as a program would.
 * @param {string} path
 * @returns {Promise<import('../../dist/browser.js').Source & { close(): Promise<void>; calls: number; most: number }>}
 */
export async function fileSource(path) {
  const file = await open(path);
  const { size } = await file.stat();
  let underWay = 0;
  const source = {
    size,
    name: basename(path),
    calls: 0,
    most: 0,
    /** @param {number} offset @param {number} length */
    async read(offset, length) {
      source.calls += 1;
      underWay += 1;
      source.most = Math.max(source.most, underWay);
      const bytes = new Uint8Array(length);
      for (let at = 0; at < length; ) {
        const { bytesRead } = await file.read(bytes, at, length - at, offset + at);
        if (bytesRead === 0) throw new Error('the file ends');
        at += bytesRead;
      }
      underWay -= 1;
      return bytes;
    },
    close: () => file.close(),
  };
  return source;
}

/**
 * `source`, of which the reads from `first` on, counted from 0, are answered by `read`.
 * @template {import('../../dist/browser.js').Source} S
 * @param {S} source
 * @param {number} first
 * @param {import('../../dist/browser.js').Source['read']} read
 */
export function changed(source, first, read) {
  let calls = 0;
  return {
    size: source.size,
    name: 'own.qcow2',
    /** @type {import('../../dist/browser.js').Source['read']} */
    read: (offset, length, options) => (calls++ < first ? source : { read }).read(offset, length, options),
  };
}

/**
 * A target that writes the file at `path` and throws where it is not used as its documentation says.
 * @param {string} path
 * @param {{ hole?: boolean; ascending?: boolean; concurrency?: number; slow?: boolean }} [options]
 */
export async function fileTarget(path, { hole = false, slow = false, ...options } = {}) {
  const file = await open(path, 'w');
  /** @type {[number, number][]} */
  const parts = [];
  let size = -1;
  let underWay = 0;
  let ended = '';
  /** @param {number} offset @param {number} length @param {() => Promise<unknown>} work */
  async function part(offset, length, work) {
    if (size < 0 || ended) throw new Error(`used before open or after ${ended}`);
    if (length < 1 || offset < 0 || offset + length > size) throw new Error(`${length} bytes at ${offset}`);
    const last = parts.at(-1);
    if (options.ascending && last && offset !== last[0] + last[1]) throw new Error(`out of order: ${offset}`);
    parts.push([offset, length]);
    underWay += 1;
    seen.most = Math.max(seen.most, underWay);
    if (slow) await new Promise((resolve) => setTimeout(resolve, Math.random() * 5));
    await work();
    underWay -= 1;
  }
  const seen = { most: 0, holes: 0, written: 0, longest: 0, ascending: false };
  return {
    ...options,
    seen,
    /** @param {import('../../dist/browser.js').TargetPlan} plan */
    async open(plan) {
      if (size >= 0) throw new Error('opened twice');
      if (plan.virtualSize === undefined || plan.outputSize !== plan.virtualSize) {
        throw new Error('not the size of a raw disk');
      }
      size = plan.virtualSize;
      seen.ascending = plan.ascending;
      await file.truncate(size);
    },
    /** @param {number} offset @param {Uint8Array} bytes */
    write: (offset, bytes) =>
      part(offset, bytes.length, async () => {
        seen.longest = Math.max(seen.longest, bytes.length);
        seen.written += bytes.length;
        await file.write(bytes, 0, bytes.length, offset);
      }),
    ...(hole && {
      /** @param {number} offset @param {number} length */
      hole: (offset, length) =>
        part(offset, length, async () => {
          seen.holes += 1;
        }),
    }),
    async close() {
      ended += 'close';
      if (underWay > 0) throw new Error('closed while it writes');
      parts.sort(([a], [b]) => a - b);
      let end = 0;
      for (const [offset, length] of parts) {
        if (offset !== end) throw new Error(`written to ${end}, then from ${offset}`);
        end += length;
      }
      if (end !== size) throw new Error(`the end of the disk is missing: ${end}`);
      await file.close();
    },
    async abort() {
      if (ended) throw new Error(`aborted after ${ended}`);
      ended += 'abort';
      await file.close();
    },
  };
}
