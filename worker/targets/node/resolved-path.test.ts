// Resolved paths lead to the same file as in the system.

import { spawnSync } from 'node:child_process';
import { statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect } from 'vitest';
import { makeLinks, tree } from '../../../e2e/support/links.js';
import { succeeds } from '../../errors/signals.js';
import { test } from './folder.test-support.js';
import { beginTo } from './path-target.test-support.js';
import { isSame, resolvePath } from './resolved-path.js';

const before = process.cwd();
afterEach(() => process.chdir(before));

const FOLDERS = ['file/', 'file/.', 'missing/', 'folder/..', 'folder/.', 'to-slash', '.', '..', '/', ''];
const CHOICES = [
  ...['out.raw', './out.raw', 'folder//new', 'folder/../file', '-', 'a\nb', ' ', 'new'],
  ...['link/../out.raw', 'link/../file', 'link/deep/../../out.raw', 'link/new', 'link/aside', 'link/deep/aside'],
  ...['to-file', 'to-link', 'to-nothing', 'to-parent', 'to-absolute', 'folder/up', 'to-itself'],
  ...['file/..', 'file/x', 'link/', 'folder', 'folder/', 'missing/x', 'missing/../out.raw'],
  ...['to-missing-slash', 'to-nothing/', 'circle', 'circle/x', '/dev/null/x'],
  ...['x'.repeat(255), '\u{1F4BE}'.repeat(63), 'x'.repeat(256)],
  ...FOLDERS,
];

describe('a shell and a conversion write the same, or both nothing:', () => {
  for (const path of CHOICES) {
    test(JSON.stringify(path), async ({ folder }) => {
      const [system, ours] = [makeLinks(join(folder, 'system')), makeLinks(join(folder, 'ours'))];
      const shell = ['-c', 'printf %0200d 0 > "$1"', 'sh', path];
      const isWritten = spawnSync('sh', shell, { cwd: system }).status === 0;
      process.chdir(ours);
      const isConverted = await succeeds(beginTo(path).then(({ commit }) => commit()));
      expect(tree(ours)).toEqual(tree(system));
      expect(isConverted).toBe(isWritten);
    });
  }
});

describe('resolvePath', () => {
  for (const path of FOLDERS) {
    test(`${JSON.stringify(path)} names a folder`, async ({ folder }) => {
      process.chdir(makeLinks(join(folder, 'it')));
      await expect(resolvePath(path)).rejects.toMatchObject({
        kind: 'usage',
        message: expect.stringContaining('is a folder; choose a file'),
      });
    });
  }

  test('a circle of links is refused', async ({ folder }) => {
    await expect(resolvePath(join(makeLinks(join(folder, 'it')), 'circle'))).rejects.toMatchObject({
      kind: 'usage',
      message: expect.stringContaining('is a circular link'),
    });
  });

  for (const [links, isFound] of [
    [40, true],
    [41, false],
  ] as const) {
    test(`${links} links are ${isFound ? 'followed' : 'too many'}`, async ({ folder }) => {
      for (let at = 0; at < links; at += 1) symlinkSync(`link${at + 1}`, join(folder, `link${at}`));
      const found = resolvePath(join(folder, 'link0'));
      if (isFound) expect((await found).name.toString()).toBe(`link${links}`);
      else await expect(found).rejects.toThrow('is a circular link');
    });
  }

  test('names that are not text are found by their bytes', async ({ folder }) => {
    const name = Buffer.from('caf\xe9', 'latin1');
    symlinkSync(name, join(folder, 'link'));
    expect((await resolvePath(join(folder, 'link'))).name).toEqual(name);
  });
});

test('isSame recognises a file on two mounts', ({ folder }) => {
  writeFileSync(join(folder, 'a'), 'content');
  const file = statSync(join(folder, 'a'), { bigint: true });
  const like = (changes: object) => Object.assign(Object.create(file), changes);
  const dev = file.dev + 1n;
  expect(isSame(file, file)).toBe(true);
  expect(isSame(file, like({ dev }))).toBe(true);
  expect(isSame(file, like({ ino: file.ino + 1n }))).toBe(false);
  expect(isSame(file, like({ size: 1n }))).toBe(true);
  for (const changes of [{ size: 1n }, { mtimeNs: 1n }, { ctimeNs: 1n }]) {
    expect(isSame(file, like({ dev, ...changes }))).toBe(false);
  }
});

test('isSame compares devices by their numbers, not by their names', ({ folder }) => {
  writeFileSync(join(folder, 'a'), 'content');
  const file = statSync(join(folder, 'a'), { bigint: true });
  const device = (ino: bigint, rdev: bigint) => Object.assign(Object.create(file), { ino, rdev, mode: 0o060600n });
  expect(isSame(device(1n, 5n), device(2n, 5n))).toBe(true);
  expect(isSame(device(1n, 5n), device(1n, 6n))).toBe(false);
  expect(isSame(device(file.ino + 1n, file.rdev), file)).toBe(false);
});
