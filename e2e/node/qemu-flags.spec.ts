// The command accepts options of qemu-img, and derives the format from the output's name.

import { execFileSync } from 'node:child_process';
import {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { cli, decant, run } from '../support/command.js';
import { DISK_SIZE, diskUsage, flush, hashFile, images, qemuImg } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';

const DONE = { status: 0, stdout: '', stderr: '' };

test('the name of the output states its format', ({ folder }) => {
  expect(decant('convert', images.zlib(), join(folder, 'disk.vhd'))).toMatchObject({ status: 0 });
  qemuImg('compare', '-f', 'vpc', '-F', 'raw', join(folder, 'disk.vhd'), images.raw());
  expect(decant('convert', images.kinds(), join(folder, 'disk.raw.gz'))).toEqual(DONE);
  expect([...readFileSync(join(folder, 'disk.raw.gz')).subarray(0, 2)]).toEqual([0x1f, 0x8b]);
  expect(decant('convert', images.zlib(), join(folder, 'disk.qed'))).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('does not write .qed files yet'),
  });
  // What is asked for is done, with a note.
  const note = 'decant: note: the output is raw, as -O says, although its name ends in .qcow2\n';
  expect(decant('convert', '-O', 'raw', images.zlib(), join(folder, 'disk.qcow2'))).toEqual({ ...DONE, stderr: note });
  expect(hashFile(join(folder, 'disk.qcow2'))).toBe(hashFile(images.raw()));
  expect(decant('convert', '-q', '-O', 'raw', images.zlib(), join(folder, 'disk.qcow2'))).toEqual(DONE);
  expect(readdirSync(folder).toSorted()).toEqual(['disk.qcow2', 'disk.raw.gz', 'disk.vhd']);
});

test('flags of qemu-img that change nothing are taken', FULL, ({ folder }) => {
  const flags = ['-U', '-W', '-t', 'none', '-T', 'none'];
  expect(decant('convert', ...flags, images.zlib(), join(folder, 'out'))).toEqual(DONE);
  expect(hashFile(join(folder, 'out'))).toBe(hashFile(images.raw()));
  const out = join(folder, 'other');
  expect(decant('convert', '-S', '64k', images.zlib(), out).stderr).toMatch(/^decant: note: -S 64k is ignored: /);
  expect(decant('convert', '-c', images.zlib(), out)).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('-c needs a compressed output format: -O qcow2 or -O vmdk or'),
  });
  expect(decant('convert', '-c', '-O', 'raw.gz', images.zlib(), out)).toEqual(DONE);
});

test('-S 0 leaves no holes', ({ folder }) => {
  const out = join(folder, 'out.raw');
  const stderr = expect.stringMatching(/^decant: note: the output takes \d+ MiB on the disk, since it has no holes\n$/);
  expect(decant('convert', '-S', '0', images.zlib(), out)).toEqual({ ...DONE, stderr });
  flush(out);
  expect(diskUsage(out)).toBeGreaterThanOrEqual(DISK_SIZE);
  expect(hashFile(out)).toBe(hashFile(images.raw()));
});

test('-n writes into the file that is there', ({ folder }) => {
  const out = join(folder, 'out.raw');
  const refused = (sentence: string) => ({ status: 2, stdout: '', stderr: expect.stringContaining(sentence) });
  expect(decant('convert', '-n', images.zlib(), out)).toEqual(refused('does not exist'));
  writeFileSync(out, 'short');
  expect(decant('convert', '-n', images.zlib(), out)).toEqual(refused('holds 5 bytes, but the output has'));
  expect(readFileSync(out, 'utf8')).toBe('short');
  const fd = openSync(out, 'w');
  for (let at = 0; at <= DISK_SIZE; at += 1 << 20) writeSync(fd, Buffer.alloc(1 << 20, 7), 0, 1 << 20, at);
  closeSync(fd);
  const { ino, size } = statSync(out);
  expect(decant('convert', '-n', images.zlib(), out)).toEqual(DONE);
  const file = readFileSync(out);
  expect(file.subarray(0, DISK_SIZE).equals(readFileSync(images.raw()))).toBe(true);
  expect(file.subarray(DISK_SIZE).every((byte) => byte === 7)).toBe(true);
  expect(statSync(out)).toMatchObject({ ino, size });
  // The compressed size is unknown in advance.
  expect(decant('convert', '-n', '-O', 'raw.gz', images.zlib(), out)).toEqual(
    refused('known only at the end of this conversion; write a new file instead'),
  );
});

test('-n determines the size of a streamed disk first, which a note says', ({ folder }) => {
  const [raw, out] = [join(folder, 'disk.raw'), join(folder, 'out.raw')];
  const [disk, before] = [Buffer.alloc(1 << 20).fill('disk', 4096), Buffer.alloc(1 << 20, 7)];
  writeFileSync(raw, disk);
  execFileSync('bzip2', ['-k', raw]);
  const piped = (options: string) =>
    run('bash', ['-c', `cat '${raw}.bz2' | '${process.execPath}' '${cli}' convert -n ${options} - '${out}'`]);
  const refusal = 'known only at the end of this conversion; write a new file instead';
  // (how, the command, exit code, note or message)
  for (const [how, convert, status, part] of [
    ['a file', () => decant('convert', '-n', `${raw}.bz2`, out), 0, 'so the file is decoded twice'],
    ['a stream', () => piped('--spool'), 0, 'so the disk is stored in a temporary file'],
    ['a stream without a temporary file', () => piped(''), 2, refusal],
  ] as const) {
    writeFileSync(out, before);
    expect(convert(), how).toMatchObject({ status, stderr: expect.stringContaining(part) });
    expect(readFileSync(out).equals(status === 0 ? disk : before), how).toBe(true);
  }
  expect(readdirSync(folder).toSorted()).toEqual(['disk.raw', 'disk.raw.bz2', 'out.raw']);
});

test('-n refuses a file that is larger than a VHD, before anything is written', FULL, ({ folder }) => {
  const out = join(folder, 'out.vhd');
  const room = DISK_SIZE + 512;
  const content = Buffer.alloc(room + 512, 7);
  writeFileSync(out, content);
  for (const name of ['out.vhd', 'out']) {
    renameSync(out, join(folder, name));
    expect(decant('convert', '-n', '-O', 'vpc', images.zlib(), join(folder, name))).toEqual({
      status: 2,
      stdout: '',
      stderr: expect.stringContaining(`truncate it to ${room} bytes first`),
    });
    expect(readFileSync(join(folder, name)).equals(content)).toBe(true);
    renameSync(join(folder, name), out);
  }
  truncateSync(out, room);
  expect(decant('convert', '-n', images.zlib(), out)).toEqual(DONE);
  qemuImg('compare', '-f', 'vpc', '-F', 'raw', out, images.raw());
});

test('addresses of files are read, and others say what to write instead', FULL, ({ folder }) => {
  const image = images.zlib();
  expect(decant('convert', pathToFileURL(image).href, `file:${join(folder, 'out.raw')}`)).toEqual(DONE);
  expect(hashFile(join(folder, 'out.raw'))).toBe(hashFile(images.raw()));
  for (const [args, sentence] of [
    [['info', 's3://bucket/disk.qcow2'], 'aws s3 presign'],
    [['convert', image, 'gs://bucket/disk.raw'], '--upload gcs'],
    [['info', 'nbd:localhost:10809'], 'nbdcopy'],
    [['info', 'ssh://host/disk.qcow2'], 'ssh HOST cat FILE'],
    [['info', 'ftp://user:secret@host/disk.qcow2'], "'ftp://host/disk.qcow2' is neither a path nor a supported URL"],
  ] as const) {
    expect(decant(...args)).toMatchObject({ status: 2, stderr: expect.stringContaining(sentence) });
  }
});

test('a name of 256 bytes is refused in words', FULL, ({ folder }) => {
  const path = join(folder, 'a'.repeat(256));
  const stderr = expect.stringMatching(
    /^decant: Could not .*: its name is longer than 255 bytes, or its path than 4,095\n$/,
  );
  expect(decant('info', path)).toEqual({ status: 1, stdout: '', stderr });
  expect(decant('convert', images.zlib(), path)).toEqual({ status: 1, stdout: '', stderr });
  expect(decant('convert', '--resume', images.zlib(), path)).toEqual({ status: 1, stdout: '', stderr });
  const longest = join(folder, 'a'.repeat(255));
  expect(decant('convert', '--resume', images.zlib(), longest)).toEqual(DONE);
  expect(readdirSync(folder)).toEqual(['a'.repeat(255)]);
});
