// Leftovers of a conversion, and the conversions that may resume them.

import {
  chmodSync,
  existsSync,
  fstatSync,
  linkSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { openPath } from '../../sources/node/node-file.js';
import { test } from './folder.test-support.js';
import { journalOf } from './journal.js';
import { partialName } from './partial.js';
import { pathIn, type ResolvedPath } from './resolved-path.js';
import { releaseForResume, removeUseless, resumableFor, takeOver } from './resumable.js';

const IDENTITY = 'identity';
const NOTED = { guest: 8192, written: 4096 };
/** A crash may leave data after the resume point. */
const CONTENT = Buffer.concat([Buffer.alloc(8192, 1), Buffer.alloc(4096, 2)]);

const placeIn = (folder: string): ResolvedPath => ({ folder: Buffer.from(folder), name: Buffer.from('disk.raw') });
const now = () => BigInt(Date.now()) * 1_000_000n;

/** Leaves a partial file without a process, and its journal. */
function leave(
  location: ResolvedPath,
  { guest, written } = NOTED,
  identity = IDENTITY,
): { partial: string; journal: string } {
  const path = pathIn(location.folder, partialName(location, 'resumable', 'nobody'));
  writeFileSync(path, CONTENT, { mode: 0o600 });
  const journal = journalOf(path).toString();
  writeFileSync(journal, `${identity}\n${guest} ${written}\n`, { mode: 0o600 });
  return { partial: path.toString(), journal };
}

describe('removeUseless', () => {
  const names = (folder: string) => readdirSync(folder).filter((name) => !name.endsWith('.journal'));

  test('removes files without a resume point, of any conversion', async ({ folder }) => {
    const location = placeIn(folder);
    for (const identity of [IDENTITY, 'another']) {
      const { journal } = leave(location);
      writeFileSync(journal, `${identity}\n`);
    }
    await removeUseless(location, now(), undefined);
    expect(readdirSync(folder)).toEqual([]);
  });

  for (const [what, change] of [
    ['with a resume point', () => {}],
    ['of another conversion', ({ journal }) => writeFileSync(journal, 'another\n8192 4096\n')],
    ['whose journal was begun', ({ journal }) => writeFileSync(journal, 'ident')],
    ['that another process is renaming', ({ journal }) => renameSync(journal, `${journal}.renamed`)],
    [
      'whose journal others may write',
      ({ journal }) => {
        writeFileSync(journal, 'x\n');
        chmodSync(journal, 0o620);
      },
    ],
  ] as [string, (left: ReturnType<typeof leave>) => void][]) {
    test(`keeps a file ${what}`, async ({ folder }) => {
      const location = placeIn(folder);
      const left = leave(location);
      change(left);
      await removeUseless(location, now(), undefined);
      expect(existsSync(left.partial)).toBe(true);
    });
  }

  test('keeps the image of the conversion, and files of running processes and other outputs', async ({ folder }) => {
    const location = placeIn(folder);
    const image = leave(location);
    const other = leave({ ...location, name: Buffer.from('other.raw') });
    for (const { journal } of [image, other]) writeFileSync(journal, `${IDENTITY}\n`);
    const own = pathIn(location.folder, partialName(location, 'resumable'));
    for (const file of [own, journalOf(own)]) writeFileSync(file, `${IDENTITY}\n`, { mode: 0o600 });
    const source = await openPath(image.partial);
    await removeUseless(location, now(), undefined);
    expect(names(folder)).toHaveLength(3);
    await source.close();
  });
});

describe('takeOver', () => {
  test('resumes exactly from the resume point, under a new name', async ({ folder }) => {
    const location = placeIn(folder);
    const left = leave(location);
    const resumed = (await takeOver(location, IDENTITY, now()))!;
    expect(resumed.resumePoint).toEqual(NOTED);
    expect(readFileSync(resumed.path)).toEqual(CONTENT.subarray(0, NOTED.guest));
    expect(fstatSync(resumed.fd).ino).toBe(statSync(resumed.path).ino);
    expect(readFileSync(journalOf(resumed.path), 'utf8')).toBe('identity\n8192 4096\n');
    expect(existsSync(left.partial)).toBe(false);
    expect(existsSync(left.journal)).toBe(false);
    await resumed.journal.remove();
  });

  for (const [what, change] of [
    ['a journal of another conversion', ({ journal }) => writeFileSync(journal, 'x\n8192 4096\n')],
    ['a journal without a line', ({ journal }) => writeFileSync(journal, `${IDENTITY}\n`)],
    ['a journal that others may write', ({ journal }) => chmodSync(journal, 0o620)],
    ['no journal', ({ journal }) => renameSync(journal, `${journal}.gone`)],
    ['a file that others may write', ({ partial }) => chmodSync(partial, 0o666)],
    ['a file with a second name', ({ partial }) => linkSync(partial, `${partial}.other`)],
    ['a file one byte too short', ({ partial }) => truncateSync(partial, NOTED.guest - 1)],
    [
      'a link to the file',
      ({ partial }) => {
        renameSync(partial, `${partial}.elsewhere`);
        symlinkSync(`${partial}.elsewhere`, partial);
      },
    ],
  ] as [string, (left: ReturnType<typeof leave>) => void][]) {
    test(`refuses ${what}, and leaves it`, async ({ folder }) => {
      const location = placeIn(folder);
      change(leave(location));
      const before = readdirSync(folder).toSorted();
      expect(await takeOver(location, IDENTITY, now())).toBeUndefined();
      expect(readdirSync(folder).toSorted()).toEqual(before);
    });
  }

  test('takes a file that is exactly as long as its resume point', async ({ folder }) => {
    const location = placeIn(folder);
    truncateSync(leave(location).partial, NOTED.guest);
    const resumed = await takeOver(location, IDENTITY, now());
    expect(resumed?.resumePoint).toEqual(NOTED);
    await resumed?.journal.remove();
  });

  test('takes the one with the most', async ({ folder }) => {
    const location = placeIn(folder);
    for (const guest of [4096, 12288, 8192]) leave(location, { guest, written: 0 });
    const resumed = await takeOver(location, IDENTITY, now());
    expect(resumed?.resumePoint.guest).toBe(12288);
    await resumed?.journal.remove();
  });

  test('of several at once one gets the file, and the others nothing', async ({ folder }) => {
    const location = placeIn(folder);
    leave(location);
    const taken = await Promise.all(Array.from({ length: 8 }, () => takeOver(location, IDENTITY, now())));
    expect(taken.filter((resumed) => resumed !== undefined)).toHaveLength(1);
    expect(readdirSync(folder)).toHaveLength(2);
    for (const resumed of taken) await resumed?.journal.remove();
  });

  test('does not touch a file of a running process', async ({ folder }) => {
    const location = placeIn(folder);
    const { partial, journal } = leave(location);
    const held = pathIn(location.folder, partialName(location, 'resumable'));
    renameSync(partial, held);
    renameSync(journal, journalOf(held));
    expect(await takeOver(location, IDENTITY, now())).toBeUndefined();
    expect(readFileSync(held)).toEqual(CONTENT);
  });
});

describe('releaseForResume', () => {
  test('lets another conversion continue', async ({ folder }) => {
    const location = placeIn(folder);
    leave(location);
    const { path, fd, journal } = (await takeOver(location, IDENTITY, now()))!;
    await journal.keep(false);
    expect(await takeOver(location, IDENTITY, now())).toBeUndefined();
    expect(await releaseForResume(location, path, fstatSync(fd, { bigint: true }))).toBe(true);
    const again = await takeOver(location, IDENTITY, now());
    expect(again?.resumePoint).toEqual(NOTED);
    await again?.journal.remove();
  });

  test('detects that the file was replaced, or its journal removed', async ({ folder }) => {
    const location = placeIn(folder);
    for (const change of [
      ({ partial }) => renameSync(partial, `${partial}.gone`),
      ({ journal }) => renameSync(journal, `${journal}.gone`),
      ({ partial }) => {
        writeFileSync(`${partial}.new`, 'of somebody else');
        renameSync(`${partial}.new`, partial);
      },
    ] as ((left: ReturnType<typeof leave>) => void)[]) {
      const left = leave(location);
      const made = statSync(left.partial, { bigint: true });
      change(left);
      expect(await releaseForResume(location, Buffer.from(left.partial), made)).toBe(false);
    }
  });
});

describe('resumableFor', () => {
  test('reports saved progress, and discards it', async ({ folder }) => {
    const location = placeIn(folder);
    leave(location, { guest: 4096, written: 0 });
    leave(location);
    const other = leave(location, NOTED, 'another');
    const kept = await resumableFor(location, IDENTITY);
    expect(kept.guestDone).toBe(NOTED.guest);
    await kept.discard();
    expect(
      readdirSync(folder)
        .map((name) => join(folder, name))
        .toSorted(),
    ).toEqual([other.partial, other.journal]);
    expect((await resumableFor(location, IDENTITY)).guestDone).toBe(0);
    await kept.discard();
  });

  test('reports 0 without progress', async ({ folder }) => {
    expect((await resumableFor(placeIn(folder), IDENTITY)).guestDone).toBe(0);
  });
});
