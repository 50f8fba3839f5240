// Outputs that are written in place: their bytes, size and name, also while other programs change them.

import { spawn } from 'node:child_process';
import {
  appendFileSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { cancelled } from '../../errors/errors.js';
import { test } from './folder.test-support.js';
import { OutputPath } from './output-path.js';
import { PathTarget } from './path.js';
import { beginTo, found, SIZE, source } from './path-target.test-support.js';

const NEW = Buffer.alloc(SIZE, 'new').toString();
const OTHER = 'of somebody else';

describe('a file that is written in place', () => {
  test('keeps its inode, its size and the bytes after the output', async ({ folder }) => {
    const output = join(folder, 'out.raw');
    writeFileSync(output, Buffer.alloc(SIZE + 5, 'old'));
    const { ino } = statSync(output);
    const { file, commit } = await beginTo(output, { existing: true, keepsSize: true });
    expect(file.path.toString()).toBe(output);
    await commit();
    expect(
      readFileSync(output).equals(Buffer.concat([Buffer.from(NEW), Buffer.alloc(SIZE + 5, 'old').subarray(SIZE)])),
    ).toBe(true);
    expect(statSync(output).ino).toBe(ino);
    expect(readdirSync(folder)).toEqual(['out.raw']);
  });

  for (const [size, hasFooter, isTaken] of [
    [SIZE, true, true],
    [SIZE + 1, false, true],
    [SIZE + 1, true, false],
    [SIZE * 2, true, false],
  ] as const) {
    const format = hasFooter ? 'a format that has a footer' : 'a format without a footer';
    test(`of ${size} bytes, in ${format}`, async ({ folder }) => {
      const output = join(folder, 'out.raw');
      const before = Buffer.alloc(size, 'old');
      writeFileSync(output, before);
      const conversion = beginTo(output, { existing: true, keepsSize: true, hasFooter });
      if (isTaken) {
        await (await conversion).commit();
        expect(readFileSync(output).subarray(0, SIZE).toString()).toBe(NEW);
        return;
      }
      await expect(conversion).rejects.toMatchObject({
        kind: 'usage',
        code: 'target-too-large',
        fields: { room: size, size: SIZE },
        message: expect.stringContaining(`truncate it to ${SIZE} bytes`),
      });
      expect(readFileSync(output).equals(before)).toBe(true);
    });
  }

  describe('after a failure', () => {
    test('contains a part of the disk', async ({ folder }) => {
      const output = join(folder, 'out.raw');
      writeFileSync(output, Buffer.alloc(SIZE, 'old'));
      utimesSync(output, 1, 1);
      const { cancel } = await beginTo(output, { existing: true, keepsSize: true });
      await expect(cancel()).rejects.toMatchObject({
        kind: 'target',
        message: `'${output}' now contains a part of the disk`,
      });
    });

    test('under another name', async ({ folder }) => {
      const output = join(folder, 'out.raw');
      writeFileSync(output, Buffer.alloc(SIZE, 'old'));
      utimesSync(output, 1, 1);
      const { cancel } = await beginTo(output, { existing: true, keepsSize: true });
      renameSync(output, join(folder, 'other'));
      writeFileSync(output, OTHER);
      const message = `the file that was opened as '${output}' now contains a part of the disk`;
      await expect(cancel()).rejects.toMatchObject({ message });
    });

    test('before the first write is unchanged', async ({ folder }) => {
      const output = join(folder, 'out.raw');
      writeFileSync(output, Buffer.alloc(SIZE, 'old'));
      const target = new PathTarget(new OutputPath(output), [], { existing: true });
      await target.prepare({ virtualSize: SIZE, outputSize: SIZE }, new AbortController().signal);
      await target.discard(cancelled(), false);
    });
  });

  for (const [what, before, options, said] of [
    ['that is missing', undefined, {}, /does not exist, so it cannot be written in place/],
    [
      'that is too small',
      SIZE - 1,
      {},
      new RegExp(`holds ${SIZE - 1} bytes, but the output has ${SIZE}; choose a larger file`),
    ],
    ['with resume', SIZE, { identity: 'it' }, /is written in place, so the conversion cannot be resumed/],
  ] as const) {
    test(`${what} is refused`, async ({ folder }) => {
      const output = join(folder, 'out.raw');
      if (before !== undefined) writeFileSync(output, Buffer.alloc(before, 'old'));
      await expect(beginTo(output, { existing: true, ...options })).rejects.toMatchObject({
        kind: 'usage',
        message: expect.stringMatching(said),
      });
      expect(found(output)).toBe(before && Buffer.alloc(before, 'old').toString());
      expect(readdirSync(folder)).toEqual(before ? ['out.raw'] : []);
    });
  }

  test('is never the image', async ({ folder }) => {
    const output = join(folder, 'image');
    const sources = [source(output, Buffer.alloc(SIZE, 'image').toString())];
    await expect(beginTo(output, { existing: true, sources })).rejects.toThrow('is the image itself');
  });
});

describe('a file that is written in place, and that another program', () => {
  const there = Buffer.alloc(SIZE, 'there');
  for (const [what, act] of [
    ['moves', (output: string) => renameSync(output, `${output}.moved`)],
    ['removes', unlinkSync],
    [
      'replaces',
      (output: string) => {
        writeFileSync(`${output}.new`, there);
        renameSync(`${output}.new`, output);
      },
    ],
    ['truncates', (output: string) => truncateSync(output, 1)],
    ['makes longer', (output: string) => appendFileSync(output, 'more')],
  ] as const) {
    test(what, async ({ folder }) => {
      const output = join(folder, 'out.raw');
      writeFileSync(output, there);
      const { commit } = await beginTo(output, { existing: true, keepsSize: true });
      act(output);
      await expect(commit()).rejects.toMatchObject({ kind: 'target', code: 'target-changed' });
    });
  }

  for (const [how, isRefused] of [
    ['3<>', true],
    ['3>>', true],
    ['3<', false],
  ] as const) {
    test(`has open: ${how}`, async ({ folder }) => {
      const output = join(folder, 'out.raw');
      writeFileSync(output, there);
      const other = spawn('sh', ['-c', `exec ${how}"$0"; echo ready; read line`, output]);
      const ended = new Promise((resolve) => other.once('exit', resolve));
      try {
        await new Promise((resolve) => other.stdout.once('data', resolve));
        const conversion = beginTo(output, { existing: true, keepsSize: true });
        if (isRefused) {
          await expect(conversion).rejects.toMatchObject({ kind: 'usage', code: 'output-in-use' });
          expect(readFileSync(output).equals(there)).toBe(true);
        } else await (await conversion).commit();
      } finally {
        other.stdin.end();
        await ended;
      }
    });
  }
});
