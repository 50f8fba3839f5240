// Files of Node in a worker, including short reads and writes.

import { closeSync, openSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, vi } from 'vitest';
import type { OpenFile, TargetSpec } from '../messages/messages.js';
import { test } from '../targets/node/folder.test-support.js';
import { nodeHost } from './node-host.js';
import type { ObjectSource, ObjectTarget } from './worker-host.js';

const MIB = 1 << 20;

/** The fake system calls: how many of `length` bytes a read or write transfers, and a record of the calls. */
const system = vi.hoisted(() => ({
  takes: (length: number) => length,
  calls: [] as [call: string, offset: number, length: number][],
}));
beforeEach(() => {
  system.takes = (length) => length;
});
afterEach(() => {
  system.calls.length = 0;
});

vi.mock('node:fs', async (importOriginal) => {
  const fs = await importOriginal<typeof import('node:fs')>();
  const { promisify } = await import('node:util');
  const take = (call: string, length: number, offset: number) => {
    system.calls.push([call, offset, length]);
    return system.takes(length);
  };
  const write = (fd: number, bytes: Uint8Array, from: number, length: number, offset: number, done: () => void) =>
    fs.write(fd, bytes, from, take('write', length, offset), offset, done);
  const promised = (fd: number, bytes: Uint8Array, from: number, length: number, offset: number) =>
    promisify(fs.write)(fd, bytes, from, take('write', length, offset), offset);
  return {
    ...fs,
    readSync: (fd: number, bytes: Uint8Array, from: number, length: number, offset: number) =>
      fs.readSync(fd, bytes, from, take('readSync', length, offset), offset),
    writeSync: (fd: number, bytes: Uint8Array, from: number, length: number, offset: number) =>
      fs.writeSync(fd, bytes, from, take('writeSync', length, offset), offset),
    write: Object.assign(write, { [promisify.custom]: promised }),
  };
});

/** A new file at `path`, open for reading and writing. */
function makeFile(path: string, content = ''): OpenFile {
  writeFileSync(path, content);
  const fd = openSync(path, 'r+');
  const { dev, ino } = statSync(path, { bigint: true });
  return { fd, path, device: dev, inode: ino };
}

const BYTES = Buffer.from(Array.from({ length: 3 * MIB + 5 }, (_, at) => at % 251));

describe('an image', () => {
  const open = (folder: string, content: string) => {
    const path = join(folder, 'image');
    const file = makeFile(path, content);
    return { path, file, source: nodeHost.file({ file, size: content.length }, false) as ObjectSource };
  };

  for (const [what, takes] of [
    ['at once', (length: number) => length],
    ['byte by byte', () => 1],
  ] as const) {
    test(`is read ${what}`, async ({ folder }) => {
      const { source } = open(folder, '0123456789');
      system.takes = takes;
      const bytes = new Uint8Array(6);
      await source.read(3, bytes);
      expect(Buffer.from(bytes).toString()).toBe('345678');
    });
  }

  test('fails when it was truncated while open', ({ folder }) => {
    const { path, source } = open(folder, '0123456789');
    truncateSync(path, 5);
    expect(() => source.read(0, new Uint8Array(10))).toThrow(
      'Could not read the image: it was truncated while it was read',
    );
  });

  test('fails when it cannot be read', ({ folder }) => {
    const { file, source } = open(folder, '0123456789');
    closeSync(file.fd);
    expect(() => source.read(0, new Uint8Array(10))).toThrow(/^Could not read the image: /);
  });
});

describe('an output', () => {
  const open = async (folder: string, options: { inPlace?: boolean; dense?: boolean; sync?: boolean } = {}) => {
    const path = join(folder, 'out.raw');
    const spec: TargetSpec = {
      file: makeFile(path),
      name: 'out.raw',
      inPlace: false,
      dense: false,
      sync: false,
      ...options,
    };
    const { target, shared } = await nodeHost.openTarget(spec);
    expect(shared).toBe(true);
    return { path, spec, target: (target as { object: ObjectTarget }).object };
  };

  for (const [what, takes] of [
    ['at once', (length: number) => length],
    ['in halves', (length: number) => (length >> 1) + 1],
  ] as const) {
    test(`is written ${what}`, async ({ folder }) => {
      const { path, target } = await open(folder);
      await target.open(BYTES.length + 10);
      system.takes = takes;
      await target.write(10, BYTES);
      await target.close();
      expect(readFileSync(path).equals(Buffer.concat([Buffer.alloc(10), BYTES]))).toBe(true);
      for (const [, , length] of system.calls) expect(length).toBeLessThanOrEqual(MIB);
    });
  }

  test('has its size from the start, without writes', async ({ folder }) => {
    const { path, target } = await open(folder);
    await target.open(12_345);
    expect(statSync(path).size).toBe(12_345);
    expect(system.calls).toEqual([]);
  });

  test('of unknown size has the written bytes', async ({ folder }) => {
    const { path, target } = await open(folder);
    await target.open(undefined);
    await target.write(0, Buffer.from('abc'));
    expect(readFileSync(path, 'utf8')).toBe('abc');
  });

  test('fails when the system takes nothing of it', async ({ folder }) => {
    const { target } = await open(folder);
    system.takes = () => 0;
    expect(() => target.write(0, BYTES)).toThrow("Could not write 'out.raw': 0 bytes were written");
  });

  test('gets holes only if they must be filled', async ({ folder }) => {
    const { target } = await open(folder);
    expect([target.holes, target.shortHole]).toEqual([undefined, undefined]);
    const dense = (await open(folder, { dense: true })).target;
    expect([dense.holes, dense.shortHole]).toEqual(['filled', MIB]);
    await dense.open(5000);
    expect(statSync(join(folder, 'out.raw')).size).toBe(5000);
  });

  test('keeps its size and gets zeros if it is a device', async ({ folder }) => {
    const { path, target } = await open(folder, { inPlace: true, dense: true });
    writeFileSync(path, Buffer.alloc(4 * MIB, 7));
    await target.open(2 * MIB);
    expect(statSync(path).size).toBe(4 * MIB);
    system.takes = (length) => (length >> 1) + 1;
    await target.hole!(5, 3 * MIB);
    const expected = Buffer.alloc(4 * MIB, 7).fill(0, 5, 5 + 3 * MIB);
    expect(readFileSync(path).equals(expected)).toBe(true);
    expect(system.calls.length).toBeGreaterThan(3);
    for (const [, , length] of system.calls) expect(length).toBeLessThanOrEqual(MIB);
  });

  test('a device that takes no zeros fails', async ({ folder }) => {
    const { target } = await open(folder, { inPlace: true, dense: true });
    system.takes = () => 0;
    await expect(target.hole!(0, 5)).rejects.toThrow("Could not write 'out.raw': 0 bytes were written");
  });

  test('gets no more zeros once it is given up, and abort waits for those under way', async ({ folder }) => {
    const { target } = await open(folder, { inPlace: true, dense: true });
    const filled = target.hole!(0, 100 * MIB);
    await target.abort();
    const { length } = system.calls;
    expect(length).toBeLessThan(3);
    await filled;
    expect(system.calls).toHaveLength(length);
  });

  test('fails to close with sync when it cannot be flushed', async ({ folder }) => {
    for (const sync of [false, true]) {
      const { spec, target } = await open(folder, { sync });
      closeSync(spec.file.fd);
      if (sync) await expect(target.close()).rejects.toThrow(/^Could not write 'out.raw': /);
      else await target.close();
    }
  });

  test('a pool worker writes to the same file', async ({ folder }) => {
    const { path, spec } = await open(folder);
    const { handle, close } = await nodeHost.openHandle(spec);
    await (handle as { object: ObjectTarget }).object.write(2, Buffer.from('abc'));
    close();
    expect(readFileSync(path, 'utf8')).toBe('\0\0abc');
  });
});
