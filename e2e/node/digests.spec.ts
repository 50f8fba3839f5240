// Digests in Node: the same for each format, container and way to the image, compared with sha256sum and fsverity.

import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, openSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import type * as Decant from '../../dist/node.js';
import { closing } from '../support/closing.js';
import { cli, decant as command, run, startProgram } from '../support/command.js';
import { failure } from '../support/failure.js';
import { hashFile, images, PASSWORD, pair, pairsOf } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';
import { ovaOfSeveral } from '../support/ova.js';
import * as pairs from '../support/pairs.mjs';
import { serveFile } from '../support/remote.js';
import { byScope } from '../support/scope.js';

const decant = (await import(fileURLToPath(new URL('../../dist/node.js', import.meta.url)))) as typeof Decant;
test.afterAll(() => decant.dispose());

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** What fsverity prints for a file, without its name. */
const fsverity = (path: string): string =>
  execFileSync('fsverity', ['digest', path], { encoding: 'utf8' }).split(' ')[0]!;

const silent = (stdout: string, status = 0) => ({ status, stdout, stderr: '' });

test('every format has the digests of its disk', async ({ folder }) => {
  const names = (await failure(decant.open(images.kinds(), { inputFormat: '?' })))
    .split('choose one of ')[1]!
    .split(', ');
  const raw = join(folder, 'disk.raw');
  for (const name of pairsOf(names)) {
    const options = {
      ...(pairs.SAID.includes(name) && { inputFormat: name }),
      ...(pairs.LOCKED.includes(name) && { password: pairs.PASSWORD }),
    };
    await closing(await decant.open(pair(name), options), async (image) => {
      const { size, ...digest } = await image.digest();
      // A few formats round the size up.
      const disk = Buffer.alloc(size);
      disk.set(pairs.disk());
      expect(digest, name).toMatchObject({ sha256: sha256(disk), lostBytes: 0, lost: [] });
      writeFileSync(raw, disk);
      expect(await image.digest({ tree: true }), name).toMatchObject({ size, fsverity: fsverity(raw) });
    });
  }
});

test('the command prints what sha256sum and fsverity print', ({ folder }) => {
  const raw = pair('raw');
  const [hash, tree] = [hashFile(raw), fsverity(raw)];
  const secret = join(folder, 'secret');
  writeFileSync(secret, PASSWORD);
  const all = [[pair('qcow2')], ['--password-file', secret, pair('luks')], ['-f', 'raw', raw]];
  for (const args of all.slice(0, byScope({ short: 2, full: 3 }))) {
    const path = args.at(-1)!;
    expect(command('digest', ...args)).toEqual(silent(`${hash}  ${path}\n`));
    expect(command('digest', '--tree', ...args)).toEqual(silent(`${tree} ${path}\n`));
  }
  const strange = join(folder, 'a\\b\nc.raw');
  copyFileSync(raw, strange);
  const line = execFileSync('sha256sum', [strange], { encoding: 'utf8' });
  expect(command('digest', '-f', 'raw', strange)).toEqual(silent(line));
  const { size } = JSON.parse(command('digest', '--output=json', pair('qcow2')).stdout);
  expect(command('digest', '--output=json', pair('qcow2'))).toEqual(
    silent(`${JSON.stringify({ image: pair('qcow2'), size, sha256: hash })}\n`),
  );
});

test('streams, compressed files and servers', async ({ folder }) => {
  const raw = pair('raw');
  const packed = join(folder, 'disk.raw.gz');
  writeFileSync(packed, gzipSync(readFileSync(raw)));
  const [hash, tree] = [hashFile(raw), fsverity(raw)];
  const ways = [
    [packed, ['--output=human'], `${hash}  -\n`],
    [raw, ['-f', 'raw', '--tree'], `${tree} -\n`],
    [packed, ['--tree'], `${tree} -\n`],
    [raw, ['-f', 'raw', '--output=human'], `${hash}  -\n`],
  ] as const;
  for (const [path, args, line] of ways.slice(0, byScope({ short: 2, full: 4 }))) {
    const stdin = openSync(path, 'r');
    const made = run(process.execPath, [cli, 'digest', ...args, '-'], { stdio: [stdin, 'pipe', 'pipe'] });
    expect(made).toMatchObject({ status: 0, stdout: line });
  }
  expect(command('digest', packed)).toMatchObject({ status: 0, stdout: `${hash}  ${packed}\n` });
  const remote = await serveFile(readFileSync(pair('qcow2')));
  try {
    const digest = await closing(await decant.open(remote.url), (image) => image.digest());
    expect(digest).toMatchObject({ sha256: hash });
  } finally {
    await remote.close();
  }
});

test('a conversion has the digest of the image, whatever the output', ({ folder }) => {
  const hash = hashFile(pair('raw'));
  const line = `${hash}  ${pair('qcow2')}\n`;
  // Stored, compressed in parts, several files in one, in order, and changed.
  const outputs = [
    ['-c', 'out2.qcow2'],
    ['out.ova'],
    ['out.raw.gz'],
    ['--size', '100M', '--fix-gpt', 'larger.qcow2'],
    ['out.raw'],
    ['out.qcow2'],
    ['out.vhdx'],
  ];
  for (const args of outputs.slice(0, byScope({ short: 4, full: 7 }))) {
    const path = join(folder, args.at(-1)!);
    const { status, stdout } = command('convert', '--digest', ...args.slice(0, -1), pair('qcow2'), path);
    expect({ status, stdout }, args.join(' ')).toEqual({ status: 0, stdout: line });
  }
  // The output takes standard output.
  const piped = spawnSync(process.execPath, [cli, 'convert', '--digest', '-O', 'raw', pair('qcow2'), '-'], {
    maxBuffer: 1 << 28,
  });
  expect(sha256(piped.stdout)).toBe(hash);
  expect(String(piped.stderr)).toBe(`decant: ${line}`);
});

test('lost ranges are zeros, and the digest says so', async () => {
  const path = images.damaged();
  expect(command('digest', path)).toMatchObject({ status: 1, stdout: '' });
  const { status, stdout, stderr } = command('digest', '--salvage', path);
  expect(status).toBe(3);
  expect(stderr).toMatch(/lost: \d+ bytes at .*\n.* is damaged: .*, so the digest is of another disk\n$/s);
  await closing(await decant.open(path, { salvage: true }), async (image) => {
    const { sha256: digest, lostBytes, lost } = await image.digest();
    expect(stdout).toBe(`${digest}  ${path}\n`);
    const hash = createHash('sha256');
    for await (const bytes of image.readable()) hash.update(bytes);
    expect(digest).toBe(hash.digest('hex'));
    expect(lostBytes).toBeGreaterThan(0);
    const { lost: ofMap } = await image.digest({ tree: true });
    expect(ofMap).toEqual(lost);
  });
});

test('all disks of an archive have a line each', ({ folder }) => {
  const disks = [pair('qcow2'), images.states()];
  const path = ovaOfSeveral(folder, 'vm.ova', disks);
  const hashes = [hashFile(pair('raw')), hashFile(images.filled(2))];
  const { status, stdout } = command('digest', '--disk', 'all', path);
  expect(status).toBe(0);
  const lines = disks.map((disk, at) => `${hashes[at]}  ${disk.slice(disk.lastIndexOf('/') + 1)}`);
  expect(stdout.trim().split('\n').sort()).toEqual(lines.sort());
  const one = command('digest', '--disk', '1', path);
  expect(lines.map((line) => line.slice(0, 64))).toContain(one.stdout.slice(0, 64));
  const into = join(folder, 'out.ova');
  const converted = command('convert', '--digest', '--disk', 'all', path, into);
  expect(converted).toMatchObject({ status: 0, stdout });
  expect(command('digest', path)).toMatchObject({ status: 2, stdout: '' });
});

test('a huge disk of zeros has a tree, and its SHA-256 can be cancelled', async () => {
  const { stdout, stderr } = command('digest', '--tree', images.huge());
  // The test of the core computes it level by level.
  expect(stdout).toBe(`sha256:0a2c1a7d9f27d060c9d0ddc20c9eb3d72d1296f20a0883c83856911e2618b4f6 ${images.huge()}\n`);
  expect(stderr).toBe('');
  await closing(await decant.open(images.huge()), async (image) => {
    const controller = new AbortController();
    const onProgress = ({ guestDone = 0 }: Decant.Progress) => guestDone > 0 && controller.abort();
    const failed = await failure(image.digest({ signal: controller.signal, onProgress }));
    expect(failed).toBe('cancelled: Computing the digest was cancelled');
    // It can be used again.
    expect(await image.digest({ tree: true })).toMatchObject({ size: 8 * 2 ** 40 });
  });
});

test('a large disk is reported before it is hashed', async ({ folder }) => {
  const path = join(folder, 'large.qcow2');
  execFileSync('qemu-img', ['create', '-q', '-f', 'qcow2', path, '300G']);
  const { child, ended } = startProgram(process.execPath, [cli, 'digest', path]);
  const [line] = await once(child.stderr!, 'data');
  child.kill('SIGINT');
  expect(line).toMatch(
    /^decant: note: SHA-256 hashes all 300 GiB .*; 'decant digest --tree' needs no time for empty parts\n/,
  );
  expect(await ended).toMatchObject({ status: 130, stdout: '' });
});

test('sizes of raw disks, which end with a whole sector', FULL, ({ folder }) => {
  const path = join(folder, 'disk.raw');
  const padded = join(folder, 'padded.raw');
  for (const size of [
    1,
    511,
    512,
    513,
    4095,
    4096,
    4097,
    (512 << 10) - 1,
    (512 << 10) + 1,
    (64 << 20) - 512,
    (64 << 20) + 1,
  ]) {
    for (const byte of [0, 7]) {
      writeFileSync(path, Buffer.alloc(size, byte));
      copyFileSync(path, padded);
      truncateSync(padded, Math.ceil(size / 512) * 512);
      expect(command('digest', '-f', 'raw', path).stdout, `${size}`).toBe(`${hashFile(padded)}  ${path}\n`);
      expect(command('digest', '--tree', '-f', 'raw', path).stdout, `${size}`).toBe(`${fsverity(padded)} ${path}\n`);
    }
  }
});
