// Whether a file that the browser has handed over can still be read.

import { openAsBlob } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { requireReadable } from './source-errors.js';

// (what happens to the file, whether it can be read afterwards)
test.each([
  ['unchanged', async () => {}, true],
  ['removed', (path: string) => rm(path), false],
  ['changed', (path: string) => writeFile(path, 'other content'), false],
])('a file that is %s', async (_, happens, isReadable) => {
  const folder = await mkdtemp(join(tmpdir(), 'readable-'));
  const path = join(folder, 'disk');
  await writeFile(path, 'content');
  const blob = await openAsBlob(path);
  await happens(path);
  const required = requireReadable(blob);
  if (isReadable) await required;
  else await expect(required).rejects.toMatchObject({ kind: 'source', code: 'source-unreadable' });
  await rm(folder, { recursive: true });
});
