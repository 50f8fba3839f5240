// Leftovers in a folder: their processes, sweeping and resuming.

import {
  type BigIntStats,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { openPath } from '../../sources/node/node-file.js';
import { test } from './folder.test-support.js';
import { hasRival, partialName, resumables, sweepFolder } from './partial.js';
import type { ResolvedPath } from './resolved-path.js';

const BOOT = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').replace(/[^0-9a-f]/g, '');
const NAMESPACE = /\d+/.exec(readlinkSync('/proc/self/ns/pid'))![0];
const OTHER_BOOT = '0'.repeat(32);
const RANDOM = '0123456789abcdef';
/** Not the number of a process: the maximum is 2^22. */
const GONE = `${2 ** 22 + 1}-7`;
const START_OF_1 = /.*\) (?:\S+ ){19}(\S+)/s.exec(readFileSync('/proc/1/stat', 'latin1'))![1]!;
const MINUTES = 60;
const DAYS = 24 * 3600;

const placeIn = (folder: string, name = 'a'): ResolvedPath => ({
  folder: Buffer.from(folder),
  name: Buffer.from(name),
});
const now = () => BigInt(Date.now()) * 1_000_000n;
const nameOf = (maker: string, kind = 'partial', target = 'a') => `.${target}.${maker}-${RANDOM}.${kind}`;

/** Creates the file `name`, last changed `age` seconds ago. */
function leave(folder: string, name: string, age = 0): string {
  const path = join(folder, name);
  writeFileSync(path, 'a part');
  const then = Date.now() / 1000 - age;
  utimesSync(path, then, then);
  return path;
}

describe('sweepFolder', () => {
  for (const [what, name, age, isSwept] of [
    ['made here, its process gone', nameOf(`${BOOT}-${NAMESPACE}-${GONE}`), 0, true],
    ['made here, by a process that runs', nameOf(`${BOOT}-${NAMESPACE}-1-${START_OF_1}`), 0, false],
    ['made here, its number given to another process', nameOf(`${BOOT}-${NAMESPACE}-1-${START_OF_1}0`), 0, true],
    ['made here by a process that runs, old', nameOf(`${BOOT}-${NAMESPACE}-1-${START_OF_1}`), 30 * DAYS, false],
    ['another namespace', nameOf(`${BOOT}-1-${GONE}`), 0, false],
    ['another namespace, a week ago', nameOf(`${BOOT}-1-${GONE}`), 7.01 * DAYS, true],
    ['another start of a system', nameOf(`${OTHER_BOOT}-${NAMESPACE}-${GONE}`), 6 * DAYS, false],
    ['another start, a week ago', nameOf(`${OTHER_BOOT}-${NAMESPACE}-1-${START_OF_1}`), 7.01 * DAYS, true],
    ['made on a system without /proc', nameOf(`0-0-${GONE}`), 0, false],
    ['held by nobody', nameOf(`${OTHER_BOOT}-1-0-0`), 0, true],
    ['a line end in the name', nameOf(`${BOOT}-${NAMESPACE}-${GONE}`, 'partial', 'a\nb'), 0, true],
    ['of another target', nameOf(`${BOOT}-${NAMESPACE}-${GONE}`, 'partial', 'b'), 0, true],
    ['of another program', '.a.partial', 30 * DAYS, false],
    ['of another program, with a number', '.a.Xy12-3-4-5.partial', 30 * DAYS, false],
    ['resumable, its process gone', nameOf(`${BOOT}-${NAMESPACE}-${GONE}`, 'resumable'), 6 * DAYS, false],
    ['resumable, its process gone for a week', nameOf(`${BOOT}-${NAMESPACE}-${GONE}`, 'resumable'), 7.01 * DAYS, true],
    ['resumable, its process runs, old', nameOf(`${BOOT}-${NAMESPACE}-1-${START_OF_1}`, 'resumable'), 30 * DAYS, false],
    ['a journal of one', nameOf(`${BOOT}-${NAMESPACE}-${GONE}`, 'resumable.journal'), 6 * DAYS, false],
    ['a journal of a week', nameOf(`${BOOT}-${NAMESPACE}-${GONE}`, 'resumable.journal'), 7.01 * DAYS, true],
  ] as const) {
    test(`${isSwept ? 'removes' : 'leaves'} a file: ${what}`, async ({ folder }) => {
      leave(folder, name, age);
      await sweepFolder(placeIn(folder), now(), undefined, false);
      expect(readdirSync(folder)).toEqual(isSwept ? [] : [name]);
    });
  }

  test('removes a resumable file if the same target is written without resume', async ({ folder }) => {
    const gone = `${BOOT}-${NAMESPACE}-${GONE}`;
    const others = [nameOf(gone, 'resumable', 'a.b'), nameOf(gone, 'resumable', 'b')];
    for (const kind of ['resumable', 'resumable.journal']) leave(folder, nameOf(gone, kind));
    for (const name of others) leave(folder, name);
    await sweepFolder(placeIn(folder), now(), undefined, true);
    expect(readdirSync(folder).toSorted()).toEqual(others.toSorted());
  });

  test('leaves folders, links, the output and files that are read', async ({ folder }) => {
    const names = ['a', 'b', 'c', 'd'].map((target) => nameOf(`${BOOT}-${NAMESPACE}-${GONE}`, 'partial', target));
    mkdirSync(join(folder, names[0]!));
    symlinkSync('elsewhere', join(folder, names[1]!));
    const existing = lstatSync(leave(folder, names[2]!), { bigint: true });
    const image = await openPath(leave(folder, names[3]!));
    await sweepFolder(placeIn(folder), now(), existing, false);
    expect(readdirSync(folder).toSorted()).toEqual(names);
    await image.close();
    await sweepFolder(placeIn(folder), now(), existing, false);
    expect(readdirSync(folder).toSorted()).toEqual(names.slice(0, 3));
  });
});

describe('partialName', () => {
  test('is a name of this process, which is neither removed nor resumed', async ({ folder }) => {
    const [partial, resumable] = [partialName(placeIn(folder)), partialName(placeIn(folder), 'resumable')];
    expect(partial.toString()).toMatch(
      new RegExp(`^\\.a\\.${BOOT}-${NAMESPACE}-${process.pid}-\\d+-[0-9a-f]{16}\\.partial$`),
    );
    for (const name of [partial, resumable]) leave(folder, name.toString(), 30 * DAYS);
    await sweepFolder(placeIn(folder), now(), undefined, true);
    expect(readdirSync(folder)).toHaveLength(2);
    expect(await resumables(placeIn(folder), now())).toEqual([]);
  });

  test('never repeats', ({ folder }) => {
    const names = Array.from({ length: 100 }, () => partialName(placeIn(folder)).toString());
    expect(new Set(names).size).toBe(100);
  });

  test.for([
    ['x'.repeat(255), 'x'.repeat(150)],
    ['\u{1F4BE}'.repeat(63), '\u{1F4BE}'.repeat(37)],
    ['xx\u{1F4BE}', 'xx\u{1F4BE}'],
  ])('has the first characters of a long name', ([name, kept], { folder }) => {
    const partial = partialName(placeIn(folder, name), 'resumable');
    expect(partial.length).toBeLessThanOrEqual(255 - '.journal'.length);
    expect(partial.toString().startsWith(`.${kept}.${BOOT}`)).toBe(true);
  });
});

describe('resumables', () => {
  const found = async (folder: string, target = 'a') =>
    (await resumables(placeIn(folder, target), now())).map((path) => path.toString().slice(folder.length + 1));

  for (const [what, maker, age, isFound] of [
    ['made here, its process gone', `${BOOT}-${NAMESPACE}-${GONE}`, 0, true],
    ['made here, by a process that runs', `${BOOT}-${NAMESPACE}-1-${START_OF_1}`, 30 * DAYS, false],
    ['held by nobody', `${BOOT}-${NAMESPACE}-0-0`, 0, true],
    ['left before the system was started anew', `${OTHER_BOOT}-${NAMESPACE}-${GONE}`, 0, true],
    ['left on a system without a boot id, 14 minutes ago', `${OTHER_BOOT}-0-${GONE}`, 14 * MINUTES, false],
    ['left on a system without a boot id, 16 minutes ago', `${OTHER_BOOT}-0-${GONE}`, 16 * MINUTES, true],
    ['left in another container, 14 minutes ago', `${BOOT}-1-${GONE}`, 14 * MINUTES, false],
    ['left in another container, 16 minutes ago', `${BOOT}-1-${GONE}`, 16 * MINUTES, true],
  ] as const) {
    test(`${isFound ? 'finds' : 'skips'} a file: ${what}`, async ({ folder }) => {
      const name = nameOf(maker, 'resumable');
      leave(folder, name, age);
      expect(await found(folder)).toEqual(isFound ? [name] : []);
    });
  }

  test('finds those for the place only, and no journals', async ({ folder }) => {
    const gone = `${BOOT}-${NAMESPACE}-${GONE}`;
    const wanted = nameOf(gone, 'resumable', 'a.b');
    for (const target of ['a', 'a.b', 'a.b.c', 'b']) leave(folder, nameOf(gone, 'resumable', target));
    for (const kind of ['partial', 'resumable.journal']) leave(folder, nameOf(gone, kind, 'a.b'));
    expect(await found(folder, 'a.b')).toEqual([wanted]);
  });
});

describe('hasRival', () => {
  const LIVING = `${BOOT}-${NAMESPACE}-1-${START_OF_1}`;
  const LONG = 'a'.repeat(151);
  for (const [what, name, isRival, target = 'a'] of [
    ['a process that runs', nameOf(LIVING), true],
    ['a process that runs, resumable', nameOf(LIVING, 'resumable'), true],
    ['its journal', `${nameOf(LIVING, 'resumable')}.journal`, false],
    ['to another name', nameOf(LIVING, 'partial', 'b'), false],
    ['to a name that begins with it', nameOf(LIVING, 'partial', 'a.b'), false],
    ['a name that is cut', nameOf(LIVING, 'partial', LONG.slice(0, 150)), false, LONG],
    ['a process that is gone', nameOf(`${BOOT}-${NAMESPACE}-${GONE}`), false],
    ['another start of the system', nameOf(`${OTHER_BOOT}-${NAMESPACE}-1-${START_OF_1}`), false],
    ['this process', nameOf(`${BOOT}-${NAMESPACE}-${process.pid}-1`), false],
    ['no process', nameOf(`${BOOT}-${NAMESPACE}-0-0`, 'resumable'), false],
    ['another file', '.a.partial', false],
  ] as [what: string, name: string, isRival: boolean, target?: string][]) {
    test(what, async ({ folder }) => {
      const first = lstatSync(leave(folder, name), { bigint: true });
      const location = placeIn(folder, target);
      let own: Buffer;
      let made: BigIntStats;
      // The clock of the file system is coarse.
      do {
        own = Buffer.from(leave(folder, partialName(location).toString()));
        made = lstatSync(own, { bigint: true });
      } while (made.birthtimeNs <= first.birthtimeNs);
      expect(await hasRival(location, own, made)).toBe(isRival);
      expect(await hasRival(placeIn(join(folder, 'none')), own, made)).toBe(false);
      // Of two that begin at once, only the later one has a rival.
      expect(await hasRival(location, Buffer.from(join(folder, name)), first)).toBe(false);
    });
  }
});
