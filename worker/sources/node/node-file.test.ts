// Files in Node by handle, and pipes by path.

import { execFileSync } from 'node:child_process';
import { readSync, unlinkSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { test } from '../../targets/node/folder.test-support.js';
import type { OpenedSource } from '../opened-source.js';
import { isHandle, openHandle, openPath } from './node-file.js';

/** The first bytes of a source that is a file. */
function startOf({ spec }: OpenedSource): string {
  if (!('file' in spec)) throw new Error('not a file');
  const bytes = Buffer.alloc(5);
  return bytes.toString('utf8', 0, readSync(spec.file.fd, bytes, 0, 5, 0));
}

describe('a file handle', () => {
  test('is recognised', async ({ folder }) => {
    const handle = await open(join(folder, 'image'), 'w');
    expect(isHandle(handle)).toBe(true);
    for (const other of [{ fd: 3 }, { fd: '3', readFile: () => {} }, null, 3]) expect(isHandle(other)).toBe(false);
    await handle.close();
  });

  test('opens its file independently of the handle', async ({ folder }) => {
    const path = join(folder, 'image');
    writeFileSync(path, 'image');
    const handle = await open(path);
    // The position of the handle has no effect.
    await handle.read(Buffer.alloc(3), 0, 3, null);
    const source = await openHandle(handle);
    await handle.close();
    const other = await open(join(folder, 'other'), 'w+');
    await other.writeFile('of somebody else');
    expect(startOf(source)).toBe('image');
    expect(source.size).toBe(5);
    expect(source.identity).toBe((await openPath(path)).identity);
    await source.verify();
    await source.close();
    await other.close();
  });

  test('opens a deleted file', async ({ folder }) => {
    const path = join(folder, 'image');
    writeFileSync(path, 'image');
    const handle = await open(path);
    unlinkSync(path);
    const source = await openHandle(handle);
    expect(startOf(source)).toBe('image');
    // A later conversion could not find it again.
    expect(source.state).toBeUndefined();
    await source.close();
    await handle.close();
  });

  test('that was closed is refused', async ({ folder }) => {
    const handle = await open(join(folder, 'image'), 'w');
    await handle.close();
    await expect(openHandle(handle)).rejects.toMatchObject({ kind: 'usage', code: 'handle-unusable' });
  });
});

test('a file with content whose size is 0 is refused, and an empty one is not', async ({ folder }) => {
  const message = expect.stringMatching(/^'\/proc\/version' has content, but its size is 0.*as standard input\)$/);
  await expect(openPath('/proc/version')).rejects.toMatchObject({ kind: 'usage', code: 'not-a-file', message });
  const path = join(folder, 'image');
  writeFileSync(path, '');
  const source = await openPath(path);
  expect(source.size).toBe(0);
  await source.close();
});

test('a pipe is a stream, and is not opened before it is read', async ({ folder }) => {
  const path = join(folder, 'pipe');
  execFileSync('mkfifo', [path]);
  const source = await openPath(path);
  expect(source).toMatchObject({ name: path, size: undefined });
  expect('stream' in source.spec).toBe(true);
  await source.close();
});
