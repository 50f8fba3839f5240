// Checks of images: what is found, and how much is read for it.

import { execFileSync } from 'node:child_process';
import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { decant, program, run } from '../support/command.js';
import { images, PASSWORD } from '../support/images.js';
import { expect, test } from '../support/node.js';
import { byScope } from '../support/scope.js';

const own = new URL('../support/own.mjs', import.meta.url).href;
const MIB = 1 << 20;

interface Told {
  accept: boolean;
  /** Severities and codes. */
  findings: string[];
  /** How many bytes of the source were read. */
  read: number;
}

/** Checks of the file at `path`, the second one deep. */
const checks = (path: string, options: object = {}, before = ''): Told[] =>
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
       const { accept, findings } = await image.check({ deep });
       told.push({ accept, findings: findings.map(({ severity, code }) => severity + ' ' + code), read });
     }
     await image.close();
     await source.close();
     console.log(JSON.stringify(told));`,
    path,
    JSON.stringify(options),
  );

/** What both checks say of an image whose tables have less than 1 MiB. */
function expectBoth(told: Told[], accept: boolean, findings: string[]): void {
  for (const one of told) expect(one).toMatchObject({ accept, findings });
  expect(told[0]!.read).toBeLessThanOrEqual(MIB);
}

test('a whole image is accepted, and the same cut off is not', ({ folder }) => {
  expectBoth(checks(images.plain()), true, []);
  const cut = join(folder, 'cut.qcow2');
  const bytes = readFileSync(images.plain());
  writeFileSync(cut, bytes.subarray(0, bytes.length * 0.9));
  for (const [options, error] of [[{}, 'error truncated'] as const, [{ salvage: true }, 'error lost'] as const]) {
    const [shallow, deep] = checks(cut, options);
    expect(shallow).toMatchObject({ accept: false, findings: [error] });
    expect(deep).toMatchObject({ accept: false, findings: [error, 'warning check-corruptions'] });
  }
});

test('a missing file, a password and a disk in order', ({ folder }) => {
  expectBoth(checks(images.chain().top), false, ['error missing-file', 'note backing-file']);
  expectBoth(checks(images.luks()), false, ['error password-needed']);
  expectBoth(checks(images.luks(), { password: PASSWORD }, 'await image.unlock();'), true, []);
  const packed = join(folder, 'disk.raw.gz');
  writeFileSync(packed, gzipSync(readFileSync(images.raw()).subarray(0, MIB)));
  const [shallow] = checks(packed);
  expect(shallow).toMatchObject({ accept: true, read: 0, findings: expect.arrayContaining(['warning unchecked']) });
});

test('of large tables at most 1 MiB is read, unless it is deep', ({ folder }) => {
  const path = join(folder, 'large.qcow2');
  const make = ['create', '-q', '-f', 'qcow2', '-o', 'preallocation=metadata', path, '64G'];
  execFileSync('qemu-img', make);
  const [shallow, deep] = checks(path);
  expect(shallow).toMatchObject({ accept: true, findings: ['warning unchecked'] });
  expect(shallow!.read).toBeLessThanOrEqual(MIB);
  expect(deep).toMatchObject({ accept: true, findings: [] });
  expect(deep!.read).toBeGreaterThan(8 * MIB);
  truncateSync(path, 32 * 2 ** 30);
  expect(checks(path).map(({ accept }) => accept)).toEqual([false, false]);
});

test('a check is cancelled, and takes its own options only', () => {
  const kinds = program<string[]>(
    `const image = await decant.open(args[0]);
     const tried = [
       image.check({ signal: AbortSignal.abort(), deep: true }),
       image.check({ deep: 1 }),
       image.check({ depe: true }),
     ];
     const kinds = await Promise.all(tried.map((check) => check.catch(({ kind, code }) => kind + ' ' + code)));
     await image.close();
     console.log(JSON.stringify(kinds));`,
    images.plain(),
  );
  expect(kinds).toEqual(['cancelled cancelled', 'usage usage', 'usage unknown-option']);
});

/** `image` with `value` at `at`, in `folder`. */
function changed(folder: string, image: string, at: number, value: bigint): string {
  const bytes = readFileSync(image);
  bytes.writeBigUInt64BE(value, at);
  const path = join(folder, `changed-${at}.qcow2`);
  writeFileSync(path, bytes);
  return path;
}

test('the command prints what qemu-img check prints, with its exit codes', ({ folder }) => {
  const bytes = readFileSync(images.plain());
  const offsetAt = (at: number) => Number(bytes.readBigUInt64BE(at) & 0x00ff_ffff_ffff_fe00n);
  const table = offsetAt(offsetAt(40));
  const paths = [
    images.plain(),
    // An entry that is lost, and one after the end of the file.
    changed(folder, images.plain(), table, 0n),
    changed(folder, images.plain(), table + 8, (1n << 63n) | (1n << 40n)),
  ];
  const codes = paths.map((path) => {
    const [text, judge] = [decant('check', path), run('qemu-img', ['check', path])];
    expect(text).toMatchObject({ status: judge.status, stdout: judge.stdout });
    const { findings, ...report } = JSON.parse(decant('check', '--output=json', path).stdout);
    expect(report).toEqual(JSON.parse(run('qemu-img', ['check', '--output=json', path]).stdout));
    expect(findings.length > 0).toBe(judge.status !== 0);
    expect(text.stderr.length > 0).toBe(judge.status !== 0);
    return text.status;
  });
  expect(codes).toEqual([0, 3, 2]);
});

test('the command on what cannot be checked, or not wholly', ({ folder }) => {
  const packed = join(folder, 'disk.raw.gz');
  writeFileSync(packed, gzipSync(readFileSync(images.raw()).subarray(0, MIB)));
  const cut = join(folder, 'cut.qcow2');
  writeFileSync(cut, readFileSync(images.plain()).subarray(0, 50));
  const rows: [args: string[], status: number, stderr: RegExp][] = [
    [[packed], 1, /is raw and has no tables/],
    [[cut], 1, /is truncated/],
    [['-r', 'all', images.plain()], 1, /repairs nothing/],
    [[images.chain().top], 0, /only this image was checked/],
    [['-f', 'raw', images.raw()], 0, /has no tables/],
    [[images.luks()], 0, /^$/],
    [['-q', images.chain().top], 0, /^$/],
  ];
  for (const [args, status, stderr] of rows.slice(0, byScope({ short: 4, full: 7 }))) {
    const ended = decant('check', ...args);
    expect(ended, args.join(' ')).toMatchObject({ status, stderr: expect.stringMatching(stderr) });
    expect(ended.stdout === '', args.join(' ')).toBe(status !== 0 || args[0] === '-q');
  }
});

test('a deep check has the structures of the file, and its progress', () => {
  const [shallow, deep, shares] = program<[object, { file: object }, number[]]>(
    `const image = await decant.open(args[0]);
     const shares = [];
     const shallow = await image.check();
     const deep = await image.check({ deep: true, onProgress: ({ fraction }) => shares.push(fraction) });
     await image.close();
     console.log(JSON.stringify([shallow, deep, shares]));`,
    images.plain(),
  );
  expect(shallow).not.toHaveProperty('file');
  expect(deep.file).toMatchObject({ corruptions: 0, leaks: 0, unchecked: 0, hasTables: true, findings: [] });
  expect(shares.every((share) => share >= 0 && share <= 1)).toBe(true);
});
