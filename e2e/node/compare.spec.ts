// `decant compare` and `decant measure` beside qemu-img, and what the native tests cannot have: servers, passwords, streams, cancelling.

import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import * as decant from '../../dist/node.js';
import { closing } from '../support/closing.js';
import { decant as command, run, start, startFed } from '../support/command.js';
import { images, PASSWORD, pair, qemuImg, sparse } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';
import { serveFile } from '../support/remote.js';
import { byScope } from '../support/scope.js';

const SAME = { status: 0, stdout: 'Images are identical.\n', stderr: '' };
const RAW = ['-F', 'raw'];

/** A copy of the file with one changed byte. */
function changed(path: string, at: number, folder: string): string {
  const copy = join(folder, 'changed.raw');
  copyFileSync(path, copy);
  const bytes = readFileSync(copy).subarray(at, at + 1);
  writeSync(openSync(copy, 'r+'), Buffer.of(bytes[0]! ^ 1), 0, 1, at);
  return copy;
}

test('images of one disk are the same, and one changed byte is found', ({ folder }) => {
  const isShort = byScope({ short: true, full: false });
  const raw = isShort ? images.filled(2) : images.raw();
  const all = isShort ? [images.states()] : [images.zlib(), images.tiny(), images.zstd()];
  const at = readFileSync(raw).length - 12_345;
  const other = changed(raw, at, folder);
  const said = `Content mismatch at offset ${at - (at % 512)}!\n`;
  for (const image of all) {
    expect(command('compare', ...RAW, image, raw)).toEqual(SAME);
    const stdout = `${said}1 byte in 1 range differs; the first is at offset ${at}\n`;
    expect(command('compare', ...RAW, image, other)).toEqual({ status: 1, stdout, stderr: '' });
    expect(run('qemu-img', ['compare', ...RAW, image, other])).toMatchObject({ status: 1, stdout: said });
  }
  expect(command('compare', '-q', ...RAW, all[0]!, other)).toEqual({ status: 1, stdout: '', stderr: '' });
  const { stdout } = command('compare', '--all', '--output=json', ...RAW, all[0]!, other);
  const found = { ranges: [{ offset: at, length: 1 }], same: false, offset: at, 'different-bytes': 1 };
  expect(JSON.parse(stdout)).toMatchObject(found);
});

test('images on servers, with passwords, and in order', async ({ folder }) => {
  const [image, locked] = [pair('qcow2'), pair('luks')];
  const remote = await serveFile(readFileSync(image));
  try {
    expect(await start('compare', ...RAW, remote.url, pair('raw')).ended).toEqual(SAME);
    expect(await start('compare', remote.url, remote.url).ended).toEqual(SAME);
  } finally {
    await remote.close();
  }
  const [password, raw] = [join(folder, 'password'), join(folder, 'luks.raw')];
  writeFileSync(password, PASSWORD);
  expect(command('convert', '--password-file', password, locked, raw).status).toBe(0);
  expect(command('compare', '--password-file', password, ...RAW, locked, raw)).toEqual(SAME);
  expect(command('compare', '--second-password-file', password, '-f', 'raw', raw, locked)).toEqual(SAME);
  expect(command('compare', ...RAW, locked, raw)).toMatchObject({ status: 2, stdout: '' });
  const input = readFileSync(image);
  const fromInput = run(
    process.execPath,
    [fileURLToPath(new URL('../../dist/cli.js', import.meta.url)), 'compare', ...RAW, '-', pair('raw')],
    { input },
  );
  expect(fromInput).toMatchObject({ status: 0, stdout: 'Images are identical.\n' });
  const packed = join(folder, 'disk.raw.gz');
  writeFileSync(packed, spawnSync('gzip', ['-c', raw], { maxBuffer: 1 << 30 }).stdout);
  const spool = join(folder, 'spool');
  mkdirSync(spool);
  const inOrder = command('compare', '-p', `--spool=${spool}`, '-f', 'raw', raw, packed);
  expect(inOrder).toMatchObject({ status: 0, stdout: 'Images are identical.\n' });
  expect(inOrder.stderr).toContain(`in a temporary file in '${spool}'`);
  expect(inOrder.stderr).toMatch(/\r {4}storing \(49\.50\/100%\).*\r {4}\(100\.00\/100%\)/s);
  expect(readdirSync(spool)).toEqual([]);
});

test('a streamed image is compared with spool, and stays as it was', async ({ folder }) => {
  const [raw, packed, spool] = ['disk.raw', 'disk.raw.gz', 'spool'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const disk = Buffer.alloc(3 << 20, 'disk');
  writeFileSync(raw, disk);
  writeFileSync(packed, gzipSync(disk));
  mkdirSync(spool);
  await closing(await decant.open(raw, { inputFormat: 'raw' }), async (image) =>
    closing(await decant.open(packed), async (streamed) => {
      await expect(image.compare(streamed)).rejects.toThrow('cannot be compared; unpack it first');
      const guessed = 'guessed-raw';
      for (const [one, other, codes] of [
        [image, streamed, [guessed]],
        [streamed, image, [guessed]],
        [streamed, streamed, [guessed, guessed]],
      ] as const) {
        const { same, notices } = await one.compare(other, { spool });
        expect({ same, codes: notices.map(({ code }) => code) }).toEqual({ same: true, codes });
      }
      expect(readdirSync(spool)).toEqual([]);
      expect((await streamed.digest()).sha256).toBe((await image.digest()).sha256);
    }),
  );
  // What cannot be read to its end is not compared.
  writeFileSync(packed, gzipSync(disk).subarray(0, -9));
  await closing(await decant.open(raw, { inputFormat: 'raw' }), async (image) =>
    closing(await decant.open(packed), async (cut) => {
      const failed = { kind: 'corrupt', fields: { disk: 'disk.raw.gz' } };
      await expect(image.compare(cut, { spool })).rejects.toMatchObject(failed);
    }),
  );
  expect(readdirSync(spool)).toEqual([]);
});

test('notices of images that are read in place name the image', ({ folder }) => {
  const [dirty, archive] = ['dirty.qcow2', 'stored.zip'].map((name) => join(folder, name)) as [string, string];
  qemuImg('create', '-q', '-f', 'qcow2', dirty, '1M');
  const header = readFileSync(dirty);
  // The incompatible feature "dirty".
  header[72 + 7] = 1;
  writeFileSync(dirty, header);
  run('7zz', ['a', '-tzip', '-mx=0', archive, pair('qcow2')]);
  const unclean = 'The image was not closed properly; the guest may want to check its file systems';
  const unchecked = `'${basename(pair('qcow2'))}' was not compared with the checksum in the zip archive`;
  const twice = command('compare', dirty, dirty);
  expect(twice).toEqual({
    ...SAME,
    stderr: [1, 2].map((at) => `decant: note: 'dirty.qcow2', disk ${at} of 2: ${unclean}\n`).join(''),
  });
  const archived = command('compare', pair('qcow2'), archive);
  expect(archived).toMatchObject({ status: 0, stdout: SAME.stdout });
  expect(archived.stderr).toContain(unchecked);
  expect(archived.stderr.match(/, disk 2 of 2: /g)).toHaveLength(1);
  expect(command('compare', '-q', dirty, dirty)).toEqual({ ...SAME, stdout: '' });
});

test('damage is an error that names the image, or lost ranges with --salvage', () => {
  const { status, stdout, stderr } = command('compare', images.zlib(), images.damaged());
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toContain('disk 2 of 2');
  const salvaged = command('compare', '--salvage', images.damaged(), images.damaged());
  expect(salvaged).toMatchObject({ status: 3, stdout: 'No difference was found in what can be read.\n' });
  expect(salvaged.stderr).toMatch(/lost: \d+ bytes at \d+ of disk 1: .*\n.*lost: \d+ bytes at \d+ of disk 2/s);
});

test('a comparison is cancelled while a source does not answer', async () => {
  const bytes = readFileSync(images.zlib());
  let isHeld = false;
  let reached = () => {};
  const held = new Promise<void>((resolve) => {
    reached = resolve;
  });
  const source: decant.Source = {
    size: bytes.length,
    name: 'held.qcow2',
    read: (offset, length) => {
      if (!isHeld) return Promise.resolve(new Uint8Array(bytes.subarray(offset, offset + length)));
      reached();
      return new Promise(() => {});
    },
  };
  await closing(await decant.open(images.zlib()), async (one) =>
    closing(await decant.open(source), async (other) => {
      isHeld = true;
      const ending = new AbortController();
      const comparing = one.compare(other, { signal: ending.signal });
      const failed = expect(comparing).rejects.toMatchObject({ kind: 'cancelled' });
      await held;
      ending.abort();
      await failed;
    }),
  );
});

test('a stored disk bears the notices of its image, and is swept after SIGKILL', async ({ folder }) => {
  const spool = join(folder, 'spool');
  mkdirSync(spool);
  const { image, raw } = sparse(4 << 20);
  const fixed = join(folder, 'fixed.vhd');
  qemuImg('convert', '-O', 'vpc', '-o', 'subformat=fixed,force_size=on', image, fixed);
  const packed = join(folder, 'fixed.vhd.gz');
  writeFileSync(packed, spawnSync('gzip', ['-nc', fixed], { maxBuffer: 1 << 30 }).stdout);
  const killed = startFed('compare', `--spool=${spool}`, '-f', 'raw', ...RAW, '-', raw);
  killed.child.stdin!.write(readFileSync(raw).subarray(0, 2 << 20));
  await expect.poll(() => readdirSync(spool).filter((name) => name.endsWith('.partial'))).toHaveLength(1);
  killed.child.kill('SIGKILL');
  await killed.ended;
  const [left] = readdirSync(spool);
  // It stays while it is compared itself.
  const rescued = command('compare', `--spool=${spool}`, '-f', 'raw', join(spool, left!), packed);
  expect(rescued.status).toBe(1);
  expect(readdirSync(spool)).toEqual([left]);
  // Or while the other image is unpacked, which is opened before it.
  const archive = join(folder, 'image.qcow2.gz');
  writeFileSync(archive, spawnSync('gzip', ['-nc', images.zlib()], { maxBuffer: 1 << 30 }).stdout);
  for (const operands of [
    ['-F', 'raw', archive, join(spool, left!)],
    ['-f', 'raw', join(spool, left!), archive],
  ])
    expect(command('compare', `--spool=${spool}`, ...operands).status).toBe(1);
  expect(readdirSync(spool)).toEqual([left]);
  const { status, stdout, stderr } = command('compare', `--spool=${spool}`, ...RAW, packed, raw);
  expect({ status, stdout }).toEqual({ status: 0, stdout: 'Images are identical.\n' });
  expect(stderr.match(/'.*fixed\.vhd\.gz', disk 1 of 2: .*its footer is not a part of the disk/g)).toHaveLength(1);
  expect(readdirSync(spool)).toEqual([]);
});

test('a backing file that both images have is not read where both leave it', async () => {
  const { top, below } = images.chain();
  const counted = () => {
    const count = { bytes: 0 };
    const companions = below.map((path): decant.Source => {
      const bytes = readFileSync(path);
      const read = async (offset: number, length: number) => {
        count.bytes += length;
        return new Uint8Array(bytes.subarray(offset, offset + length));
      };
      return { size: bytes.length, name: path, read };
    });
    return { companions, count };
  };
  const [one, other] = [counted(), counted()];
  /** The bytes of the layers below that a comparison reads: at least the headers. */
  const readBy = async (second: typeof one) =>
    closing(await decant.open(top, { companions: one.companions }), async (image) =>
      closing(await decant.open(top, { companions: second.companions }), async (copy) => {
        one.count.bytes = 0;
        expect(await image.compare(copy)).toMatchObject({ same: true });
        return one.count.bytes;
      }),
    );
  expect(await readBy(one)).toBeLessThan(2 ** 20);
  expect(await readBy(other)).toBeGreaterThan(3 * 2 ** 20);
});

for (const [image, details] of [
  ['zlib', {}],
  ['kinds', FULL],
  ['empty', FULL],
  ['tiny', FULL],
] as const) {
  test(`measures ${image} as qemu-img does`, details, () => {
    const all = [['-O', 'qcow2', '-o', 'cluster_size=4k'], [], ['-O', 'qcow2']];
    for (const options of all.slice(0, byScope({ short: 1, full: 3 }))) {
      const theirs = qemuImg('measure', ...options, images[image]()).replace(/^bitmaps.*\n/m, '');
      const ours = command('measure', ...options, images[image]());
      // Without -O, qemu-img measures a raw disk, too.
      expect(ours).toEqual({ status: 0, stdout: theirs, stderr: '' });
      const json = JSON.parse(command('measure', '--output=json', ...options, images[image]()).stdout);
      const { bitmaps: _, ...sizes } = JSON.parse(qemuImg('measure', '--output=json', ...options, images[image]()));
      expect(json).toEqual(sizes);
    }
  });
}
