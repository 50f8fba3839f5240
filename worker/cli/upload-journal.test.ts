// The command's journals of uploads: files that one process holds at a time.

import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { partialName } from '../targets/node/partial.js';
import type { UploadJournal } from '../upload/upload-options.js';
import { uploadJournal } from './upload-journal.js';

const URL_ = 'https://me:secret@cloud.test/disk.raw?sig=secret';
let state: string;
const journals: UploadJournal[] = [];
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'decant-'));
  vi.stubEnv('XDG_STATE_HOME', state);
});
afterEach(async () => {
  // Closes their files in any case.
  for (const journal of journals.splice(0)) await Promise.resolve(journal.clear()).catch(() => {});
  vi.unstubAllEnvs();
  rmSync(state, { recursive: true });
});

function journalOf(url = URL_): UploadJournal {
  const journal = uploadJournal(url);
  journals.push(journal);
  return journal;
}

const folder = () => join(state, 'decant');
const files = () => readdirSync(folder()).map((name) => join(folder(), name));

/** Leaves a journal with `text` as a process does that was killed. Returns its path. */
async function leave(text: string, url = URL_): Promise<string> {
  const journal = journalOf(url);
  await journal.append(text);
  const [path] = files().filter((path) => readFileSync(path, 'utf8') === text);
  const [, name] = /\.([0-9a-f]{32})\./.exec(path!)!;
  const location = { folder: Buffer.from(folder()), name: Buffer.from(name!) };
  const left = join(folder(), partialName(location, 'resumable', 'nobody').toString());
  rmSync(path!);
  writeFileSync(left, text, { mode: 0o600 });
  return left;
}

test('nothing is read, made or removed before the first line', async () => {
  const journal = journalOf();
  expect(await journal.read()).toBeUndefined();
  await journal.clear();
  expect(readdirSync(state)).toEqual([]);
});

test('lines are added to a private file, whose name does not reveal the URL', async () => {
  const journal = journalOf();
  await journal.append('one\n');
  await journal.append('two\n');
  const [path, ...others] = files();
  expect(others).toEqual([]);
  expect(readFileSync(path!, 'utf8')).toBe('one\ntwo\n');
  expect(statSync(path!).mode & 0o777).toBe(0o600);
  expect(statSync(folder()).mode & 0o777).toBe(0o700);
  expect(path).not.toMatch(/cloud|disk|secret/);
});

test('a journal that is cleared is gone, and another one may begin', async () => {
  const journal = journalOf();
  await journal.append('one\n');
  await journal.clear();
  expect(files()).toEqual([]);
  await journal.append('two\n');
  expect(files().map((path) => readFileSync(path, 'utf8'))).toEqual(['two\n']);
});

test('the journal of a dead process is read and continued', async () => {
  await leave('one\n');
  const journal = journalOf();
  expect(await journal.read()).toBe('one\n');
  await journal.append('two\n');
  expect(files().map((path) => readFileSync(path, 'utf8'))).toEqual(['one\ntwo\n']);
  // The journal is in use: no other process takes it over.
  expect(await journalOf().read()).toBeUndefined();
});

test('the journal of a running process is not touched', async () => {
  const held = journalOf();
  await held.append('one\n');
  const journal = journalOf();
  expect(await journal.read()).toBeUndefined();
  await journal.append('two\n');
  expect(
    files()
      .map((path) => readFileSync(path, 'utf8'))
      .toSorted(),
  ).toEqual(['one\n', 'two\n']);
});

test.each([
  ['https://cloud.test/disk.raw', true],
  ['https://you:other@cloud.test/disk.raw?sig=other', true],
  ['https://cloud.test/other.raw', false],
  ['http://cloud.test/disk.raw', false],
  ['https://cloud.test:444/disk.raw', false],
])('a journal belongs to an object: that of %s is the same: %s', async (url, isSame) => {
  await leave('one\n');
  expect(await journalOf(url).read()).toBe(isSame ? 'one\n' : undefined);
});

test.each<[string, (path: string) => void]>([
  ['that others may change', (path) => chmodSync(path, 0o666)],
  ['with a second name', (path) => linkSync(path, join(state, 'second'))],
  ['of more than 16 MiB', (path) => writeFileSync(path, Buffer.alloc((16 << 20) + 1))],
])('a journal %s is not read', async (_, change) => {
  change(await leave('one\n'));
  expect(await journalOf().read()).toBeUndefined();
});

test('a link is not followed', async () => {
  const path = await leave('one\n');
  const elsewhere = join(state, 'elsewhere');
  writeFileSync(elsewhere, 'one\n');
  rmSync(path);
  symlinkSync(elsewhere, path);
  await expect(journalOf().read()).rejects.toMatchObject({ code: 'ELOOP' });
});

test('a state folder that is not absolute is ignored', async () => {
  vi.stubEnv('XDG_STATE_HOME', 'relative');
  vi.stubEnv('LOCALAPPDATA', state);
  mkdirSync(folder());
  await journalOf().append('one\n');
  expect(files()).toHaveLength(1);
});
