import { closeSync, fstatSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { allocate } from './allocate.js';

const SIZE = (1 << 20) + 700;

let folder: string;
let fd: number;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'allocate-'));
  fd = openSync(join(folder, 'file'), 'w+');
});
afterEach(() => {
  vi.unstubAllEnvs();
  closeSync(fd);
  rmSync(folder, { recursive: true });
});

const { signal } = new AbortController();

test('the file has zeros that take space', async () => {
  expect(await allocate(fd, SIZE, signal)).toBe(true);
  const { size, blocks } = fstatSync(fd);
  expect(size).toBe(SIZE);
  expect(blocks * 512).toBeGreaterThanOrEqual(SIZE);
  expect(readFileSync(join(folder, 'file')).equals(Buffer.alloc(SIZE))).toBe(true);
});

test('without the program, nothing happens', async () => {
  vi.stubEnv('PATH', folder);
  expect(await allocate(fd, SIZE, signal)).toBe(false);
  expect(fstatSync(fd).size).toBe(0);
});

test('a size that no file can have is not allocated', async () => {
  expect(await allocate(fd, 2 ** 63, signal)).toBe(false);
});

test('it can be cancelled', async () => {
  await expect(allocate(fd, SIZE, AbortSignal.abort())).rejects.toMatchObject({ kind: 'cancelled' });
});
