// System calls that fail while a path is written: permissions, flushes, links, removals.

import { chmodSync, type PathLike, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, vi } from 'vitest';
import { DecantError } from '../../errors/errors.js';
import { soon } from '../../errors/soon.test-support.js';
import { test } from './folder.test-support.js';
import { beginTo, SIZE } from './path-target.test-support.js';

type Call = 'fchmod' | 'fchown' | 'fsync' | 'folder' | 'link' | 'rename' | 'unlink';

/** The calls that fail, by name, and the calls that were made. */
const system = vi.hoisted(() => ({ faults: new Map<string, string>(), calls: [] as string[] }));
afterEach(() => {
  system.faults.clear();
  system.calls.length = 0;
});

/** Records `call` and returns its planned failure. */
const asked = vi.hoisted(() => (call: string): Error | undefined => {
  system.calls.push(call);
  const code = system.faults.get(call);
  return code === undefined ? undefined : Object.assign(new Error(code), { code });
});

vi.mock('node:fs', async (importOriginal) => {
  const fs = await importOriginal<typeof import('node:fs')>();
  type Done = (failure: Error | null) => void;
  const isFolder = (fd: number) => fs.fstatSync(fd).isDirectory();
  return {
    ...fs,
    fchmod(fd: number, mode: number, done: Done) {
      const failure = asked('fchmod');
      if (failure) done(failure);
      else fs.fchmod(fd, mode, done);
    },
    fchown(fd: number, owner: number, group: number, done: Done) {
      const failure = asked('fchown');
      if (failure) done(failure);
      else if (process.getuid!() === 0) fs.fchown(fd, owner, group, done);
      else done(null);
    },
    fsync(fd: number, done: Done) {
      const failure = asked(isFolder(fd) ? 'fsync folder' : 'fsync');
      if (failure) done(failure);
      else fs.fsync(fd, done);
    },
    open(path: PathLike, flags: number, ...rest: [number, Done] | [Done]) {
      const failure = flags & fs.constants.O_DIRECTORY ? asked('folder') : undefined;
      if (failure) (rest.at(-1) as Done)(failure);
      else (fs.open as (...args: unknown[]) => void)(path, flags, ...rest);
    },
    renameSync(from: PathLike, to: PathLike) {
      const failure = asked('rename');
      if (failure) throw failure;
      fs.renameSync(from, to);
    },
  };
});
vi.mock('node:fs/promises', async (importOriginal) => {
  const fs = await importOriginal<typeof import('node:fs/promises')>();
  return {
    ...fs,
    async link(from: PathLike, to: PathLike) {
      const failure = asked('link');
      if (failure) throw failure;
      await fs.link(from, to);
    },
    async unlink(path: PathLike) {
      const failure = asked('unlink');
      if (failure) throw failure;
      await fs.unlink(path);
    },
  };
});

const refuse = (call: Call, code = 'EPERM') => system.faults.set(call, code);
const mode = (path: string) => (statSync(path).mode & 0o7777).toString(8);
const NEW = Buffer.alloc(SIZE, 'new').toString();

/** A file to be replaced, with `permissions`. */
function old(folder: string, permissions = 0o664): string {
  const path = join(folder, 'out.raw');
  writeFileSync(path, 'old');
  chmodSync(path, permissions);
  return path;
}

describe('permissions', () => {
  for (const [what, before, after] of [
    ['keeps a private file private', 0o600, '600'],
    ['drops set-id bits', 0o6755, '755'],
    ['drops a sticky bit', 0o1640, '640'],
    ['keeps permissions for everybody', 0o666, '666'],
    ['keeps permissions for the owner only', 0o700, '700'],
  ] as const) {
    test(what, async ({ folder }) => {
      const output = old(folder, before);
      const { file, commit } = await beginTo(output);
      expect(mode(file.path.toString())).toBe(after);
      await commit();
      expect(mode(output)).toBe(after);
    });
  }

  for (const [before, after] of [
    [0o664, '644'],
    [0o660, '600'],
    [0o666, '666'],
    [0o640, '600'],
    [0o4775, '755'],
  ] as const) {
    test(`${before.toString(8)} becomes ${after} if the group cannot be kept`, async ({ folder }) => {
      const output = old(folder, before);
      refuse('fchown');
      await (await beginTo(output)).commit();
      expect(mode(output)).toBe(after);
    });
  }

  test('are those of the owner only if they cannot be set', async ({ folder }) => {
    const output = old(folder);
    refuse('fchmod');
    await (await beginTo(output)).commit();
    expect(mode(output)).toBe('600');
  });

  test('a failure of another kind ends the conversion', async ({ folder }) => {
    const output = old(folder);
    refuse('fchmod', 'EIO');
    await expect(beginTo(output)).rejects.toMatchObject({
      message: `Could not write '${output}': the disk reports an error`,
    });
    expect(readdirSync(folder)).toEqual(['out.raw']);
  });

  test('are those of the existing file at the end', async ({ folder }) => {
    const output = old(folder, 0o644);
    const { commit } = await beginTo(output);
    chmodSync(output, 0o600);
    await commit();
    expect(mode(output)).toBe('600');
  });
});

describe('the order of a commit', () => {
  for (const [what, isThere, hasLinks, calls] of [
    ['a new file', false, true, ['link', 'unlink', 'folder', 'fsync folder']],
    ['without hard links', false, false, ['link', 'rename', 'folder', 'fsync folder']],
    ['over a file', true, true, ['fchown', 'fchmod', 'rename', 'folder', 'fsync folder']],
  ] as const) {
    test(`with sync, ${what}: the folder is flushed after the file has its name`, async ({ folder }) => {
      const output = isThere ? old(folder) : join(folder, 'out.raw');
      if (!hasLinks) refuse('link');
      const { commit } = await beginTo(output, { sync: true });
      system.calls.length = 0;
      await commit();
      expect(system.calls).toEqual(calls);
      expect(readFileSync(output, 'utf8')).toBe(NEW);
      expect(readdirSync(folder)).toEqual(['out.raw']);
    });
  }

  test('without sync nothing is flushed', async ({ folder }) => {
    await (await beginTo(join(folder, 'out.raw'))).commit();
    expect(system.calls.filter((call) => call.startsWith('fsync') || call === 'folder')).toEqual([]);
  });
});

describe('a flush of the folder', () => {
  for (const [code, isDone] of [
    ['EACCES', true],
    ['EINVAL', true],
    ['EIO', false],
  ] as const) {
    test(`that fails with ${code} is ${isDone ? 'ignored' : 'a failure'}`, async ({ folder }) => {
      const output = join(folder, 'out.raw');
      refuse('folder', code);
      const { commit } = await beginTo(output, { sync: true });
      if (isDone) await commit();
      else {
        const message = `'${output}' is complete, but its name may be lost in a power failure: the disk reports an error`;
        await expect(commit()).rejects.toMatchObject({ kind: 'target', message });
      }
      expect(readFileSync(output, 'utf8')).toBe(NEW);
    });
  }
});

describe('where Node forbids changes by a descriptor', () => {
  const forbid = () => {
    for (const call of ['fchmod', 'fchown'] as const) refuse(call, 'ERR_ACCESS_DENIED');
  };

  test('a replaced file keeps its permissions', async ({ folder }) => {
    forbid();
    const output = join(folder, 'out.raw');
    writeFileSync(output, 'old');
    chmodSync(output, 0o640);
    const { file, commit } = await beginTo(output);
    expect(statSync(file.path.toString()).mode & 0o777).toBe(0o640);
    chmodSync(output, 0o604);
    await commit();
    expect(readFileSync(output, 'utf8')).toBe(NEW);
    expect(statSync(output).mode & 0o777).toBe(0o604);
  });

  test('a temporary file that was replaced is not touched', async ({ folder }) => {
    const output = join(folder, 'out.raw');
    writeFileSync(output, 'old');
    chmodSync(output, 0o640);
    const { file, commit } = await beginTo(output);
    forbid();
    const path = file.path.toString();
    renameSync(path, join(folder, 'moved'));
    writeFileSync(path, 'other');
    chmodSync(path, 0o600);
    await expect(commit()).rejects.toMatchObject({ kind: 'target' });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readFileSync(output, 'utf8')).toBe('old');
  });
});

test('without hard links, a file of another program is not replaced', async ({ folder }) => {
  refuse('link');
  const output = join(folder, 'out.raw');
  const { commit } = await beginTo(output);
  writeFileSync(output, 'other');
  await expect(commit()).rejects.toMatchObject({ code: 'target-changed' });
  expect(readFileSync(output, 'utf8')).toBe('other');
  expect(readdirSync(folder)).toEqual(['out.raw']);
});

test('a link that fails for another reason is a failure', async ({ folder }) => {
  const output = join(folder, 'out.raw');
  refuse('link', 'EIO');
  const { commit } = await beginTo(output);
  await expect(commit()).rejects.toMatchObject({ message: `Could not write '${output}': the disk reports an error` });
  expect(readdirSync(folder)).toEqual([]);
});

describe('names the temporary file that it cannot remove', () => {
  test('after completing the output', async ({ folder }) => {
    const output = join(folder, 'out.raw');
    const { file, commit } = await beginTo(output);
    refuse('unlink');
    await expect(commit()).rejects.toMatchObject({
      kind: 'target',
      message: `'${output}' is complete, but '${file.path}' could not be removed: the operation is not permitted`,
    });
    expect(readFileSync(output, 'utf8')).toBe(NEW);
  });

  test('after a failed conversion', async ({ folder }) => {
    const { file, target } = await beginTo(join(folder, 'out.raw'));
    refuse('unlink');
    await expect(target.discard(new DecantError('corrupt', 'damaged'), false)).rejects.toMatchObject({
      message: `'${file.path}' could not be removed: the operation is not permitted`,
    });
  });
});

describe('with resume', () => {
  test('a file that cannot be flushed is not renamed to the output', async ({ folder }) => {
    const output = old(folder);
    const { target, commit } = await beginTo(output, { identity: 'it' });
    refuse('fsync', 'EIO');
    vi.spyOn(performance, 'now').mockReturnValue(Number.MAX_SAFE_INTEGER);
    target.settled({ guest: 4096, written: 4096 });
    await soon(() => expect(system.calls.at(-1)).toBe('fsync'));
    await new Promise(setImmediate);
    await expect(commit()).rejects.toMatchObject({
      message: `Could not write '${output}': the disk reports an error`,
    });
    expect(readFileSync(output, 'utf8')).toBe('old');
    expect(readdirSync(folder)).toEqual(['out.raw']);
  });

  test('after a failure to write nothing more is noted', async ({ folder }) => {
    const { target } = await beginTo(join(folder, 'out.raw'), { identity: 'it' });
    target.settled({ guest: 4096, written: 4096 });
    await target.discard(new DecantError('target', 'the disk reports an error'), true);
    expect(readdirSync(folder)).toEqual([]);
  });

  const FULL = new DecantError('target', 'the disk is full', { code: 'disk-full' });

  test('on a full disk, the successful writes are kept', async ({ folder }) => {
    const output = join(folder, 'out.raw');
    const { target } = await beginTo(output, { identity: 'it' });
    target.settled({ guest: 4096, written: 4096 });
    await expect(target.discard(FULL, true)).rejects.toMatchObject({ fields: { resumable: true } });
    const again = await beginTo(output, { identity: 'it' });
    expect(again.target.resumePoint).toEqual({ guest: 4096, written: 4096 });
    await again.commit();
    expect(readdirSync(folder)).toEqual(['out.raw']);
  });

  test('on a full disk that cannot be flushed, nothing is kept', async ({ folder }) => {
    const { target } = await beginTo(join(folder, 'out.raw'), { identity: 'it' });
    target.settled({ guest: 4096, written: 4096 });
    refuse('fsync', 'ENOSPC');
    await target.discard(FULL, true);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('reports a journal that cannot be removed', async ({ folder }) => {
    const output = old(folder);
    const { commit } = await beginTo(output, { identity: 'it' });
    refuse('unlink', 'EIO');
    await expect(commit()).rejects.toMatchObject({
      message: `'${output}' is complete, but its journal could not be removed: the disk reports an error`,
    });
  });
});
