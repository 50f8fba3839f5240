// Journals on a full disk: no empty journal stays.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import type * as Promises from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, vi } from 'vitest';
import { uploadJournal } from '../../cli/upload-journal.js';
import { test } from './folder.test-support.js';
import { journalOf } from './journal.js';
import { partialName } from './partial.js';
import { beginTo } from './path-target.test-support.js';
import { pathIn } from './resolved-path.js';

const disk = vi.hoisted(() => ({ isFull: false }));
vi.mock('node:fs/promises', async (importOriginal) => {
  const fs = await importOriginal<typeof Promises>();
  return {
    ...fs,
    async open(...given: Parameters<typeof fs.open>) {
      const file = await fs.open(...given);
      const appendFile = file.appendFile.bind(file);
      file.appendFile = async (...content) => {
        if (disk.isFull) throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
        await appendFile(...content);
      };
      return file;
    },
  };
});
beforeEach(() => {
  disk.isFull = false;
});

const FULL = expect.objectContaining({ code: 'disk-full', message: expect.stringContaining('the disk is full') });

test('a conversion to a new file', async ({ folder }) => {
  disk.isFull = true;
  for (let tries = 0; tries < 3; tries += 1) {
    await expect(beginTo(join(folder, 'out.raw'), { identity: 'it' })).rejects.toEqual(FULL);
  }
  expect(readdirSync(folder)).toEqual([]);
});

test('a conversion that cannot claim a file leaves it for later', async ({ folder }) => {
  const output = join(folder, 'out.raw');
  const left = pathIn(
    Buffer.from(folder),
    partialName({ folder: Buffer.from(folder), name: Buffer.from('out.raw') }, 'resumable', 'nobody'),
  );
  writeFileSync(left, Buffer.alloc(8192, 1), { mode: 0o600 });
  writeFileSync(journalOf(left), 'it\n4096 4096\n', { mode: 0o600 });
  const before = readdirSync(folder);
  disk.isFull = true;
  for (let tries = 0; tries < 3; tries += 1) {
    await expect(beginTo(output, { identity: 'it' })).rejects.toEqual(FULL);
    expect(readdirSync(folder)).toEqual(before);
  }
  disk.isFull = false;
  const { target, commit } = await beginTo(output, { identity: 'it' });
  expect(target.resumePoint).toEqual({ guest: 4096, written: 4096 });
  await commit();
  expect(readdirSync(folder)).toEqual(['out.raw']);
});

test('a useless file makes room before anything is written', async ({ folder }) => {
  const location = { folder: Buffer.from(folder), name: Buffer.from('out.raw') };
  const left = pathIn(location.folder, partialName(location, 'resumable', 'nobody'));
  for (const file of [left, journalOf(left)]) writeFileSync(file, 'it\n', { mode: 0o600 });
  disk.isFull = true;
  await expect(beginTo(join(folder, 'out.raw'), { identity: 'it' })).rejects.toEqual(FULL);
  expect(readdirSync(folder)).toEqual([]);
});

test('an upload', async ({ folder }) => {
  vi.stubEnv('XDG_STATE_HOME', folder);
  const journal = uploadJournal('https://bucket.example/disk');
  disk.isFull = true;
  for (let tries = 0; tries < 3; tries += 1) await expect(journal.append('part')).rejects.toThrow('ENOSPC');
  expect(readdirSync(join(folder, 'decant'))).toEqual([]);
  disk.isFull = false;
  await journal.append('part');
  const [name] = readdirSync(join(folder, 'decant'));
  expect(readFileSync(join(folder, 'decant', name!), 'utf8')).toBe('part');
  await journal.clear();
  vi.unstubAllEnvs();
});
