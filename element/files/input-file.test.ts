// Files that the person gives: comparing them, and reading drops and dialogs.

import { afterEach, expect, test, vi } from 'vitest';
import { fileHandle, fileOf, folderHandle } from '../element.test-support.js';
import { filesOf, pickFiles } from './dropped.js';
import { type InputFile, isSame, Link, mayBeSame, sourceOf, without } from './input-file.js';
import { MOST_FILES } from './many-files.js';

afterEach(() => {
  vi.unstubAllGlobals();
});

const file = fileOf('disk.qcow2');
const twin = fileOf('disk.qcow2');
const entry = {};
const link = (url: string): InputFile => ({ file: fileOf('disk.qcow2', ''), link: new Link(new URL(url)) });

// (case, two files, whether they are certainly the same, whether they may be the same)
for (const [what, a, b, certain, possible] of [
  ['one object', { file }, { file }, true, true],
  ['two objects with one name, size and time', { file }, { file: twin }, false, true],
  ['other names', { file }, { file: fileOf('other.qcow2') }, false, false],
  ['other sizes', { file }, { file: fileOf('disk.qcow2', 'longer content') }, false, false],
  ['other times', { file }, { file: fileOf('disk.qcow2', 'content', 1) }, false, false],
  [
    'handles of one file',
    { file, handle: fileHandle(file, entry) },
    { file: twin, handle: fileHandle(twin, entry) },
    true,
    true,
  ],
  [
    'handles of two files',
    { file, handle: fileHandle(file, 1) },
    { file: twin, handle: fileHandle(twin, 2) },
    false,
    false,
  ],
  ['a handle and an object', { file, handle: fileHandle(file) }, { file: twin }, false, true],
  ['one URL', link('https://a.org/disk'), link('https://a.org/disk'), true, true],
  ['two URLs', link('https://a.org/disk?1'), link('https://a.org/disk?2'), false, false],
  ['a link and a file', link('https://a.org/disk'), { file: fileOf('disk.qcow2', '') }, false, false],
] as [string, InputFile, InputFile, boolean, boolean][]) {
  test(`whether files are the same: ${what}`, async () => {
    expect([await isSame(a, b), await isSame(b, a)]).toEqual([certain, certain]);
    expect([await mayBeSame(a, b), await mayBeSame(b, a)]).toEqual([possible, possible]);
  });
}

test('without() removes files that are among others', async () => {
  const [one, two, three] = [{ file }, { file: twin }, { file: fileOf('other') }];
  expect(await without([one, two, three], [one], isSame)).toEqual([two, three]);
  expect(await without([one, two, three], [one], mayBeSame)).toEqual([three]);
  expect(await without([one], [], isSame)).toEqual([one]);
});

test('an image is opened from its link, its handle or its file', async () => {
  const { signal } = new AbortController();
  const handle = fileHandle(file);
  const linked = link('https://a.org/disk');
  vi.spyOn(linked.link!, 'source').mockResolvedValue('https://a.org/disk');
  expect(await sourceOf({ file }, signal)).toBe(file);
  expect(await sourceOf({ file, handle }, signal)).toBe(handle);
  expect(await sourceOf(linked, signal)).toBe('https://a.org/disk');
});

interface Dropped {
  kind?: string;
  file?: File;
  handle?: FileSystemHandle | Error;
  folder?: unknown;
}

/** A folder as older browsers present it, listed in batches of two. */
function oldFolder(files: File[], name = '', folders: { name: string }[] = []): { name: string } {
  const entries: unknown[] = files.map((file) => ({
    isFile: true,
    name: file.name,
    file: (done: (file: File) => void) => done(file),
  }));
  entries.push(...folders);
  const createReader = () => {
    let at = 0;
    return {
      readEntries: (done: (entries: unknown[]) => void) => {
        done(entries.slice(at, at + 2));
        at += 2;
      },
    };
  };
  return { name, isDirectory: true, createReader } as { name: string };
}

const transfer = (...items: Dropped[]): DataTransfer =>
  ({
    items: items.map(({ kind = 'file', file, handle, folder }) => ({
      kind,
      getAsFile: () => file ?? null,
      ...(handle
        ? { getAsFileSystemHandle: () => (handle instanceof Error ? Promise.reject(handle) : Promise.resolve(handle)) }
        : {}),
      webkitGetAsEntry: () => folder ?? null,
    })),
  }) as unknown as DataTransfer;

const many = (count: number): File[] => Array.from({ length: count }, (_, at) => fileOf(`${at}.img`));
const entriesOf = (files: File[]) => Object.fromEntries(files.map((file) => [file.name, fileHandle(file)]));

test('a drop gives handles if the browser has them, otherwise files', async () => {
  const handle = fileHandle(file);
  const refused = fileOf('refused');
  const found = await filesOf(
    transfer({ handle }, { file: twin }, { handle: new Error('no'), file: refused }, { kind: 'string' }, {}),
  );
  expect(found).toEqual([{ file, handle }, { file: twin }, { file: refused }]);
});

test('a folder gives the files in it and in Snapshots, without hidden ones', async () => {
  const [one, two, three, four, five] = many(5);
  const hidden = fileOf('.DS_Store');
  const inner = folderHandle('inner', entriesOf([five!]));
  const snapshots = folderHandle('Snapshots', { ...entriesOf([three!, hidden]), Snapshots: inner });
  const folder = folderHandle('disks', { ...entriesOf([one!, hidden, two!]), inner, Snapshots: snapshots });
  const found = await filesOf(transfer({ handle: folder }, { file: four! }));
  expect(found.map(({ file }) => file)).toEqual([one, two, three, four]);
  for (const { file, folder: of } of found) expect(of).toBe(file === four ? undefined : folder);
  const oldInner = oldFolder([five!], 'inner');
  const oldSnapshots = oldFolder([three!, hidden], 'Snapshots', [oldFolder([five!], 'Snapshots')]);
  const old = oldFolder([one!, hidden, two!], 'disks', [oldInner, oldSnapshots]);
  const foundOld = await filesOf(transfer({ folder: old }, { file: four! }));
  expect(foundOld.map(({ file }) => file)).toEqual([one, two, three, four]);
  for (const { file, folder: of } of foundOld) expect(of).toBe(file === four ? undefined : old);
});

test('of a large folder, files with names of other kinds are not read', async () => {
  const files = [fileOf('disk.qcow2'), ...Array.from({ length: MOST_FILES }, (_, at) => fileOf(`${at}.txt`))];
  const [first, ...others] = files;
  const snapshots = folderHandle('Snapshots', entriesOf(others));
  for (const dropped of [
    { handle: folderHandle('disks', entriesOf(files)) },
    { handle: folderHandle('disks', { ...entriesOf([first!]), Snapshots: snapshots }) },
    { folder: oldFolder(files) },
    { folder: oldFolder([first!], '', [oldFolder(others, 'Snapshots')]) },
  ]) {
    const found = await filesOf(transfer(dropped));
    expect(found.map(({ file }) => file.name)).toEqual(files.map(({ name }) => name));
    expect(found.map(({ file }) => file.size)).toEqual(files.map(({ size }, at) => (at === 0 ? size : 0)));
  }
  const small = await filesOf(transfer({ folder: oldFolder(others) }));
  expect(small.map(({ file }) => file)).toEqual(others);
});

test('the dialog for files opens once, and again after it was closed', async () => {
  let close = (_handles: FileSystemFileHandle[]) => {};
  const show = vi.fn(
    () =>
      new Promise<FileSystemFileHandle[]>((resolve) => {
        close = resolve;
      }),
  );
  vi.stubGlobal('showOpenFilePicker', show);
  const first = pickFiles(true);
  expect(await pickFiles(true)).toEqual([]);
  expect(show).toHaveBeenCalledTimes(1);
  const handle = fileHandle(file);
  close([handle]);
  expect(await first).toEqual([handle]);
  const second = pickFiles(false);
  close([]);
  await second;
  expect(show).toHaveBeenLastCalledWith({ id: 'decant-open', multiple: false });
});

test('a closed dialog gives no files, and a refused one gives undefined', async () => {
  expect(await pickFiles(true)).toBeUndefined();
  for (const [name, picked] of [
    ['AbortError', []],
    ['SecurityError', undefined],
  ] as const) {
    vi.stubGlobal('showOpenFilePicker', () => Promise.reject(new DOMException('no', name)));
    expect(await pickFiles(true)).toEqual(picked);
  }
});
