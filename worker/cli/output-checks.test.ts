// Outputs that the command refuses: its inputs, and files that can only be written in order.

import { execFileSync } from 'node:child_process';
import { linkSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { requireBmap, requireOtherFiles } from './output-checks.js';
import { requireFile } from './standard-streams.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'decant-'));
  for (const name of ['a', 'b']) writeFileSync(join(folder, name), name);
  linkSync(join(folder, 'a'), join(folder, 'hard'));
  symlinkSync('a', join(folder, 'soft'));
  symlinkSync('none', join(folder, 'dangling'));
  symlinkSync('.', join(folder, 'here'));
  execFileSync('mkfifo', [join(folder, 'pipe')]);
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('a file that is read', () => {
  for (const [output, read, refused] of [
    ['a', [], false],
    ['a', ['b'], false],
    ['a', ['b', 'a'], true],
    ['a', ['hard'], true],
    ['soft', ['hard'], true],
    ['new', ['a'], false],
    ['dangling', ['a'], false],
    ['a', ['none'], false],
    // Many may read and write one pipe.
    ['pipe', ['pipe'], false],
  ] as const) {
    test(`${output} for ${read.join(', ') || 'nothing'} is ${refused ? 'refused' : 'no such file'}`, async () => {
      const path = (name: string) => join(folder, name);
      const ended = await requireOtherFiles(path(output), read.map(path)).catch((error: unknown) => error);
      const message = `'${path(output)}' is '${path(read.at(-1) ?? '')}', an input of the command; choose another output`;
      if (refused) expect(ended).toMatchObject({ kind: 'usage', message });
      else expect(ended).toBeUndefined();
    });
  }
});

describe('targets that can only be written in order', () => {
  for (const [name, refused] of [
    ['a', false],
    ['soft', false],
    ['new', false],
    ['dangling', false],
    // The package has the error for a folder.
    ['.', false],
    ['pipe', true],
    ['/dev/null', true],
    ['/dev/zero', true],
  ] as const) {
    test(`${name} is ${refused ? 'refused' : 'a file'}`, async () => {
      const path = name.startsWith('/') ? name : join(folder, name);
      const ended = await requireFile(path).catch((error: unknown) => error);
      const advice = 'give - as the output and redirect standard output to it';
      const message = `'${path}' is neither a regular file nor a block device; ${advice}`;
      if (refused) expect(ended).toMatchObject({ kind: 'usage', message });
      else expect(ended).toBeUndefined();
    });
  }
});

describe('the bmap of a new output', () => {
  const same = { kind: 'usage', message: '--bmap and OUTPUT name the same file' };
  const failed = (reason: RegExp) => ({ kind: 'target', message: expect.stringMatching(reason) });
  for (const [bmap, output, failure] of [
    ['new.bmap', 'new', undefined],
    ['here/new.bmap', 'new', undefined],
    // Opening the output reports this.
    ['new.bmap', 'none/new', undefined],
    ['a', 'new', failed(/already exists/)],
    ['dangling', 'new', failed(/already exists/)],
    ['none/new.bmap', 'new', failed(/there is no such file or folder$/)],
    ['a/new.bmap', 'new', failed(/a part of the path is not a folder$/)],
    ['new/', 'other', { kind: 'usage', message: expect.stringMatching(/is a folder; choose a file$/) }],
    ['new', 'new', same],
    ['here/new', 'new', same],
    ['new', 'here/here/new', same],
    // The output would be the target of the link.
    ['none', 'dangling', same],
  ] as const) {
    test(`${bmap} of ${output} is ${failure ? 'refused' : 'possible'}`, async () => {
      const path = (name: string) => `${folder}/${name}`;
      const ended = await requireBmap(path(bmap), path(output)).catch((error: unknown) => error);
      if (failure) expect(ended).toMatchObject(failure);
      else expect(ended).toBeUndefined();
    });
  }
});
