// Verdicts on images: what is found, and how much is read for it.

import { execFileSync } from 'node:child_process';
import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { program } from '../support/command.js';
import { images, PASSWORD } from '../support/images.js';
import { expect, test } from '../support/node.js';

const own = new URL('../support/own.mjs', import.meta.url).href;
const MIB = 1 << 20;

interface Told {
  accept: boolean;
  /** Severities and codes. */
  findings: string[];
  /** How many bytes of the source were read. */
  read: number;
}

/** Verdicts on the file at `path`, the second one deep. */
const verdicts = (path: string, options: object = {}, before = ''): Told[] =>
  program<Told[]>(
    `const { fileSource } = await import('${own}');
     const source = await fileSource(args[0]);
     let read = 0;
     const counted = { ...source, read: (offset, length) => { read += length; return source.read(offset, length); } };
     const image = await decant.open(counted, JSON.parse(args[1]));
     ${before}
     const told = [];
     for (const deep of [false, true]) {
       read = 0;
       const { accept, findings } = await image.verdict({ deep });
       told.push({ accept, findings: findings.map(({ severity, code }) => severity + ' ' + code), read });
     }
     await image.close();
     await source.close();
     console.log(JSON.stringify(told));`,
    path,
    JSON.stringify(options),
  );

/** What both verdicts say of an image whose tables have less than 1 MiB. */
function expectBoth(told: Told[], accept: boolean, findings: string[]): void {
  for (const one of told) expect(one).toMatchObject({ accept, findings });
  expect(told[0]!.read).toBeLessThanOrEqual(MIB);
}

test('a whole image is accepted, and the same cut off is not', ({ folder }) => {
  expectBoth(verdicts(images.plain()), true, []);
  const cut = join(folder, 'cut.qcow2');
  const bytes = readFileSync(images.plain());
  writeFileSync(cut, bytes.subarray(0, bytes.length * 0.9));
  expectBoth(verdicts(cut), false, ['error truncated']);
  expectBoth(verdicts(cut, { salvage: true }), false, ['error lost']);
});

test('a missing file, a password and a disk in order', ({ folder }) => {
  expectBoth(verdicts(images.chain().top), false, ['error missing-file', 'note backing-file']);
  expectBoth(verdicts(images.luks()), false, ['error password-needed']);
  expectBoth(verdicts(images.luks(), { password: PASSWORD }, 'await image.unlock();'), true, []);
  const packed = join(folder, 'disk.raw.gz');
  writeFileSync(packed, gzipSync(readFileSync(images.raw()).subarray(0, MIB)));
  const [shallow] = verdicts(packed);
  expect(shallow).toMatchObject({ accept: true, read: 0, findings: expect.arrayContaining(['warning unchecked']) });
});

test('of large tables at most 1 MiB is read, unless it is deep', ({ folder }) => {
  const path = join(folder, 'large.qcow2');
  const make = ['create', '-q', '-f', 'qcow2', '-o', 'preallocation=metadata', path, '64G'];
  execFileSync('qemu-img', make);
  const [shallow, deep] = verdicts(path);
  expect(shallow).toMatchObject({ accept: true, findings: ['warning unchecked'] });
  expect(shallow!.read).toBeLessThanOrEqual(MIB);
  expect(deep).toMatchObject({ accept: true, findings: [] });
  expect(deep!.read).toBeGreaterThan(8 * MIB);
  truncateSync(path, 32 * 2 ** 30);
  expect(verdicts(path).map(({ accept }) => accept)).toEqual([false, false]);
});

test('a verdict is cancelled, and takes its own options only', () => {
  const kinds = program<string[]>(
    `const image = await decant.open(args[0]);
     const tried = [
       image.verdict({ signal: AbortSignal.abort(), deep: true }),
       image.verdict({ deep: 1 }),
       image.verdict({ depe: true }),
     ];
     const kinds = await Promise.all(tried.map((verdict) => verdict.catch(({ kind, code }) => kind + ' ' + code)));
     await image.close();
     console.log(JSON.stringify(kinds));`,
    images.plain(),
  );
  expect(kinds).toEqual(['cancelled cancelled', 'usage usage', 'usage unknown-option']);
});
