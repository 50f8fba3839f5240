// Leftovers on a system without /proc, where their processes cannot be identified.

import { readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { test } from './folder.test-support.js';
import { partialName, resumables, sweepFolder } from './partial.js';
import type { ResolvedPath } from './resolved-path.js';

vi.mock('node:fs', async (importOriginal) => {
  const fs = await importOriginal<typeof import('node:fs')>();
  const hidden = (path: unknown) => {
    if (String(path).startsWith('/proc/')) throw Object.assign(new Error('not there'), { code: 'ENOENT' });
  };
  return {
    ...fs,
    readFileSync(...args: Parameters<typeof fs.readFileSync>) {
      hidden(args[0]);
      return fs.readFileSync(...args);
    },
    readlinkSync(...args: Parameters<typeof fs.readlinkSync>) {
      hidden(args[0]);
      return fs.readlinkSync(...args);
    },
  };
});

const MINUTES = 60;
const DAYS = 24 * 3600;
/** Not the number of a process: the maximum is 2^22. */
const GONE = 2 ** 22 + 1;

const placeIn = (folder: string): ResolvedPath => ({ folder: Buffer.from(folder), name: Buffer.from('a') });
const now = () => BigInt(Date.now()) * 1_000_000n;

/** Leaves a file of a process `pid` of this machine, last changed `age` seconds ago. */
function leave(folder: string, pid: number, kind: 'partial' | 'resumable', age: number): string {
  const own = partialName(placeIn(folder), kind).toString();
  const name = own.replace(`-0-${process.pid}-0-`, `-0-${pid}-0-`);
  expect(name).toContain(`-0-${pid}-0-`);
  writeFileSync(join(folder, name), 'a part');
  const then = Date.now() / 1000 - age;
  utimesSync(join(folder, name), then, then);
  return name;
}

for (const [what, pid, kind, age, isSwept] of [
  ['of a dead process, which may be of another machine', GONE, 'partial', 0, false],
  ['of a dead process, after a week', GONE, 'partial', 7.01 * DAYS, true],
  // The number may belong to a process of another machine.
  ['of a running process, after a week', process.pid, 'partial', 7.01 * DAYS, true],
  ['resumable', GONE, 'resumable', 6 * DAYS, false],
] as const) {
  test(`${isSwept ? 'removes' : 'leaves'} a file: ${what}`, async ({ folder }) => {
    const name = leave(folder, pid, kind, age);
    await sweepFolder(placeIn(folder), now(), undefined, false);
    expect(readdirSync(folder)).toEqual(isSwept ? [] : [name]);
  });
}

for (const [what, pid, age, isFound] of [
  ['a dead process', GONE, 0, true],
  ['a running process', process.pid, 30 * MINUTES, false],
] as const) {
  test(`a conversion ${isFound ? 'resumes' : 'does not resume'} a file of ${what}`, async ({ folder }) => {
    const name = leave(folder, pid, 'resumable', age);
    const found = (await resumables(placeIn(folder), now())).map((path) => path.toString());
    expect(found).toEqual(isFound ? [join(folder, name)] : []);
  });
}
