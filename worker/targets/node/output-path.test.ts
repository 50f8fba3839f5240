// What is at the path of an output as its conversion begins, and changes before the conversion writes.

import {
  appendFileSync,
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { test } from './folder.test-support.js';
import { OutputPath } from './output-path.js';
import { PathTarget } from './path.js';
import { found, SIZE } from './path-target.test-support.js';

const OLD = Buffer.alloc(SIZE, 'old').toString();
const OTHER = 'of somebody else';
const CHANGED = /^Another program has changed '.*' during the conversion; choose another output$/;
const MOVED = /^'.*' now leads to another file; convert again$/;

/** Makes `old/out.raw` if it `exists`, `other/`, and `link`, which leads to the file. Returns the path of the file. */
function make(folder: string, exists: boolean): string {
  for (const name of ['old', 'other']) mkdirSync(join(folder, name));
  const output = join(folder, 'old', 'out.raw');
  if (exists) writeFileSync(output, OLD);
  symlinkSync('old/out.raw', join(folder, 'link'));
  return output;
}

/** Begins to write to `path`, and gives up. */
async function prepare(path: OutputPath, existing = false): Promise<void> {
  const target = new PathTarget(path, [], { existing });
  const sizes = { virtualSize: SIZE, outputSize: SIZE };
  try {
    await target.prepare(sizes, new AbortController().signal);
  } finally {
    await target.discard(new Error() as never, false);
  }
}

describe('refused before anything is written:', () => {
  for (const [what, exists, act, message, left] of [
    ['the file appears', false, (output) => writeFileSync(output, OTHER), CHANGED, OTHER],
    ['the file is written', true, (output) => writeFileSync(output, OTHER), CHANGED, OTHER],
    ['the file is extended', true, (output) => appendFileSync(output, OTHER), CHANGED, OLD + OTHER],
    [
      'the file is replaced',
      true,
      (output) => {
        writeFileSync(`${output}.new`, OTHER);
        renameSync(`${output}.new`, output);
      },
      CHANGED,
      OTHER,
    ],
    [
      'the link leads to another folder',
      true,
      (_, folder) => {
        unlinkSync(join(folder, 'link'));
        symlinkSync('other/out.raw', join(folder, 'link'));
      },
      MOVED,
      OLD,
    ],
  ] as [string, boolean, (output: string, folder: string) => void, RegExp, string][]) {
    for (const existing of exists ? [false, true] : [false]) {
      test(`${what}${existing ? ', in place' : ''}`, async ({ folder }) => {
        const output = make(folder, exists);
        const path = await new OutputPath(join(folder, 'link')).recorded();
        act(output, folder);
        await expect(prepare(path, existing)).rejects.toMatchObject({
          kind: 'target',
          code: 'target-changed',
          message: expect.stringMatching(message),
        });
        expect(found(output)).toBe(left);
        expect(readdirSync(join(folder, 'old'))).toEqual(['out.raw']);
        expect(readdirSync(join(folder, 'other'))).toEqual([]);
      });
    }
  }

  test('the folder did not exist', async ({ folder }) => {
    const path = await new OutputPath(join(folder, 'new', 'out.raw')).recorded();
    mkdirSync(join(folder, 'new'));
    await expect(prepare(path)).rejects.toMatchObject({ kind: 'target', message: expect.stringContaining('no such') });
  });
});

describe('accepted:', () => {
  for (const [what, exists, act] of [
    ['nothing changes', true, () => {}],
    ['no file appears', false, () => {}],
    ['the file is removed', true, (output) => unlinkSync(output)],
    ['the file gets another mode', true, (output) => chmodSync(output, 0o640)],
    ['the file gets a second name', true, (output, folder) => linkSync(output, join(folder, 'backup'))],
    [
      'the link is made anew',
      true,
      (output, folder) => {
        unlinkSync(join(folder, 'link'));
        symlinkSync(output, join(folder, 'link'));
      },
    ],
  ] as [string, boolean, (output: string, folder: string) => void][]) {
    test(what, async ({ folder }) => {
      const output = make(folder, exists);
      const path = await new OutputPath(join(folder, 'link')).recorded();
      act(output, folder);
      await prepare(path);
    });
  }
});

test('a relative path counts from the working directory of the start', async ({ folder }) => {
  make(folder, true);
  writeFileSync(join(folder, 'other', 'out.raw'), OTHER);
  const before = process.cwd();
  try {
    process.chdir(join(folder, 'old'));
    const path = new OutputPath('out.raw');
    process.chdir(join(folder, 'other'));
    const { location, existing } = await path.locate();
    expect([location.folder.toString(), location.name.toString()]).toEqual([join(folder, 'old'), 'out.raw']);
    expect(Number(existing?.size)).toBe(SIZE);
  } finally {
    process.chdir(before);
  }
});

test('a working directory that was removed has no paths', ({ folder }) => {
  const gone = join(folder, 'gone');
  mkdirSync(gone);
  const before = process.cwd();
  try {
    process.chdir(gone);
    rmSync(gone, { recursive: true });
    expect(() => new OutputPath('out.raw')).toThrow(expect.objectContaining({ kind: 'target' }));
  } finally {
    process.chdir(before);
  }
});
