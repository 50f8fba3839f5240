// Sentences for errors of Node's file system.

import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { DecantError } from './errors.js';
import { fileError, fileReason } from './file-error.js';

for (const [code, reason] of [
  ['ENOENT', 'there is no such file or folder'],
  ['EACCES', 'permission denied'],
  ['EPERM', 'the operation is not permitted'],
  ['EROFS', 'the file system is read-only'],
  ['ELOOP', 'its links lead in a circle'],
  ['ENOSPC', 'the disk is full'],
  ['EDQUOT', 'the disk quota is used up'],
  ['EFBIG', 'the file system, or a limit of this process (`ulimit -f`), does not allow files of this size'],
  ['EISDIR', 'it is a folder'],
  ['ENOTDIR', 'a part of the path is not a folder'],
  ['EMFILE', 'too many files are open'],
  ['EBUSY', 'it is in use, mounted for instance'],
  ['EIO', 'the disk reports an error'],
  ['EPIPE', 'its reader has ended'],
  ['ENAMETOOLONG', 'its name is longer than 255 bytes, or its path than 4,095'],
  ['EWHATEVER', 'something else'],
] as const) {
  test(code, () => {
    const thrown = Object.assign(new Error(`${code}: something else`), { code });
    expect(fileReason(thrown)).toBe(reason);
    const error = fileError(thrown, 'target', "write to 'a'");
    expect(error).toMatchObject({ kind: 'target', message: `Could not write to 'a': ${reason}`, cause: thrown });
  });
}

test.each([
  ["EXDEV: cross-device link not permitted, rename 'a' -> 'b'", 'cross-device link not permitted'],
  ['EBADF: bad file descriptor, read', 'bad file descriptor'],
  ["ENOTHING: it is so, open 'a, b: c'", 'it is so'],
])('%s: the text of the system', (message, reason) => {
  expect(fileReason(Object.assign(new Error(message), { code: 'EOTHER' }))).toBe(reason);
});

test.each([
  ['ENAMETOOLONG', 'name-too-long'],
  ['ENOSPC', 'disk-full'],
  ['EDQUOT', 'disk-full'],
  ['EFBIG', 'file-too-large'],
  ['EIO', 'target'],
])('%s has the code %s', (code, expected) => {
  expect(fileError(Object.assign(new Error(''), { code }), 'target', 'write').code).toBe(expected);
});

test('a name of 256 bytes gets a sentence', async () => {
  const thrown: unknown = await readFile(`/${'a'.repeat(256)}`).catch((error: unknown) => error);
  expect(fileError(thrown, 'source', 'read it').message).toBe(
    'Could not read it: its name is longer than 255 bytes, or its path than 4,095',
  );
});

test('an error without a code', () => expect(fileReason(new Error('a'))).toBe('a'));

test('an error of the package is returned unchanged', () => {
  const error = new DecantError('corrupt', 'a');
  expect(fileError(error, 'source', 'read')).toBe(error);
});

test('errors of the system have these codes', async () => {
  const thrown: unknown = await readFile('/dev/null/none').catch((error: unknown) => error);
  expect(fileError(thrown, 'source', 'read it').message).toBe('Could not read it: a part of the path is not a folder');
});
