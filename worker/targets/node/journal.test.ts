import {
  chmodSync,
  linkSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { test } from './folder.test-support.js';
import { isOwnedByUser, Journal, journalOf, readJournal } from './journal.js';

const HALF = { guest: 8192, written: 4096 };
const WHOLE = { guest: 16384, written: 8192 };

/** The path of a partial file, a descriptor of it, and the path of its journal. */
function make(folder: string): { partial: Buffer; fd: number; path: string } {
  const partial = Buffer.from(join(folder, 'partial'));
  const fd = openSync(partial, 'w');
  return { partial, fd, path: journalOf(partial).toString() };
}

describe('readJournal', () => {
  const read = async (folder: string, change: (path: string) => void): Promise<unknown> => {
    const { partial, path } = make(folder);
    writeFileSync(path, 'identity\n8192 4096\n', { mode: 0o600 });
    change(path);
    return readJournal(partial, 'identity').catch(({ code }) => code);
  };
  const content = (path: string) => readFileSync(path, 'utf8');

  for (const [what, change, expected] of [
    ['its own', () => {}, HALF],
    ['of another conversion', (path) => writeFileSync(path, `x${content(path)}`), undefined],
    [
      'of a conversion whose identity has the same prefix',
      (path) => writeFileSync(path, 'ident\n8192 4096\n'),
      undefined,
    ],
    ['without a line', (path) => writeFileSync(path, 'identity\n'), undefined],
    ['with half a line', (path) => writeFileSync(path, `${content(path)}16384 81`), HALF],
    ['that its group may write', (path) => chmodSync(path, 0o620), undefined],
    ['that others may write', (path) => chmodSync(path, 0o602), undefined],
    ['that others may read', (path) => chmodSync(path, 0o644), HALF],
    ['with a second name', (path) => linkSync(path, `${path}.other`), undefined],
    ['of more than 16 MiB', (path) => writeFileSync(path, content(path).padEnd((16 << 20) + 1, '\n')), undefined],
    ['that is missing', (path) => renameSync(path, `${path}.gone`), 'ENOENT'],
    [
      'that is a link',
      (path) => {
        renameSync(path, `${path}.elsewhere`);
        symlinkSync(`${path}.elsewhere`, path);
      },
      'ELOOP',
    ],
  ] as [string, (path: string) => void, unknown][]) {
    test(`a journal ${what}`, async ({ folder }) => {
      expect(await read(folder, change)).toEqual(expected);
    });
  }
});

test("a folder, and a file of another user, are not this user's own", ({ folder }) => {
  const { path } = make(folder);
  writeFileSync(path, '');
  const stats = lstatSync(path, { bigint: true });
  expect(isOwnedByUser(lstatSync(folder, { bigint: true }))).toBe(false);
  expect(isOwnedByUser(Object.assign(Object.create(stats), { uid: stats.uid + 1n }))).toBe(false);
});

describe('Journal', () => {
  test('begins with the identity, in a file of the owner alone', async ({ folder }) => {
    const { partial, fd, path } = make(folder);
    const journal = await Journal.create(partial, fd, 'identity');
    expect(readFileSync(path, 'utf8')).toBe('identity\n');
    expect(lstatSync(path).mode & 0o777).toBe(0o600);
    expect(journal.hasAny).toBe(false);
    await journal.remove();
    expect(lstatSync(path, { throwIfNoEntry: false })).toBeUndefined();
  });

  test('starts with its resume point, and saves the last one at its end', async ({ folder }) => {
    const { partial, fd, path } = make(folder);
    const journal = await Journal.create(partial, fd, 'identity', HALF);
    expect(journal.hasAny).toBe(true);
    journal.settled(WHOLE);
    await journal.keep(true);
    expect(readFileSync(path, 'utf8')).toBe('identity\n8192 4096\n16384 8192\n');
    expect(await readJournal(partial, 'identity')).toEqual(WHOLE);
  });

  test('keeps its saved resume points without adding one', async ({ folder }) => {
    const { partial, fd } = make(folder);
    const journal = await Journal.create(partial, fd, 'identity', HALF);
    journal.settled(WHOLE);
    await journal.keep(false);
    expect(await readJournal(partial, 'identity')).toEqual(HALF);
  });

  test('never overwrites an existing journal', async ({ folder }) => {
    const { partial, fd, path } = make(folder);
    writeFileSync(path, 'of another');
    await expect(Journal.create(partial, fd, 'identity')).rejects.toMatchObject({ code: 'EEXIST' });
    expect(readFileSync(path, 'utf8')).toBe('of another');
  });

  test('reports a failed flush of the data', async ({ folder }) => {
    const { partial, path } = make(folder);
    const journal = await Journal.create(partial, -1, 'identity');
    journal.settled(HALF);
    await journal.keep(true);
    expect(journal.flushFailure).toBeInstanceOf(Error);
    expect(readFileSync(path, 'utf8')).toBe('identity\n');
  });
});
