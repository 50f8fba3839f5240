// Disks that become larger, and their GPT, judged by other programs.

import { execFileSync } from 'node:child_process';
import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cli, decant, run } from '../support/command.js';
import { qemuImg } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';

const MIB = 2 ** 20;
const SIZE = 64 * MIB;

/** A raw disk of `size` bytes with a GPT and some data, made by sfdisk. */
function makeDisk(folder: string, size = SIZE): string {
  const path = join(folder, 'disk.raw');
  writeFileSync(path, '');
  truncateSync(path, size);
  execFileSync('sfdisk', ['-q', path], { input: 'label: gpt\nsize=8M, name=one\nsize=20M, name=two\n' });
  const bytes = readFileSync(path);
  bytes.fill('data', MIB, 3 * MIB);
  writeFileSync(path, bytes);
  return path;
}

/** What sfdisk and sgdisk say about the disk `path`. */
function verdicts(path: string): string {
  const { stdout, stderr } = run('sfdisk', ['--verify', path]);
  return `${stdout}${stderr}${run('sgdisk', ['-v', path]).stdout}`;
}

const GOOD = /No errors detected\..*No problems found\./s;

/** Reads the disk of an output of Decant with qemu-img, or by unpacking. */
const READERS: Record<string, (output: string, raw: string) => void> = {
  '-O raw': (output, raw) => writeFileSync(raw, readFileSync(output)),
  '-O qcow2 -c': (output, raw) => qemuImg('convert', '-f', 'qcow2', '-O', 'raw', output, raw),
  '-O vmdk -o subformat=streamOptimized': (output, raw) => qemuImg('convert', '-f', 'vmdk', '-O', 'raw', output, raw),
  '-O vhdx -o subformat=fixed': (output, raw) => qemuImg('convert', '-f', 'vhdx', '-O', 'raw', output, raw),
  '-O vpc -o subformat=dynamic': (output, raw) => qemuImg('convert', '-f', 'vpc', '-O', 'raw', output, raw),
  '-O raw.zst': (output, raw) => execFileSync('zstd', ['-q', '-d', '-f', output, '-o', raw]),
};

for (const [options, read] of Object.entries(READERS)) {
  const tag = options === '-O raw' ? [] : ['@full'];
  test(`a GPT at the end of a larger disk: ${options}`, { tag }, ({ folder }) => {
    const [output, back] = [join(folder, 'out'), join(folder, 'back.raw')];
    const arguments_ = ['convert', '-f', 'raw', ...options.split(' '), '--size', '100M', '--fix-gpt'];
    const { status, stderr } = decant(...arguments_, makeDisk(folder), output);
    expect({ status, stderr }).toMatchObject({ status: 0 });
    const end = 100 * MIB;
    expect(stderr).toContain(`rewritten bytes of the disk: 0-1023, ${end - 33 * 512}-${end - 1}\n`);
    read(output, back);
    expect(statSync(back).size).toBe(end);
    expect(verdicts(back)).toMatch(GOOD);
    const [disk, larger] = [readFileSync(join(folder, 'disk.raw')), readFileSync(back)];
    expect(larger.subarray(1024, SIZE).equals(disk.subarray(1024))).toBe(true);
    expect(larger.subarray(SIZE, end - 33 * 512).every((byte) => byte === 0)).toBe(true);
  });
}

test('a pipe becomes larger, too, and a format that states the size needs no temporary file', FULL, ({ folder }) => {
  makeDisk(folder);
  const command = `'${process.execPath}' '${cli}' convert -q -f raw --size 100M --fix-gpt`;
  const script = `${command} - - < disk.raw > out.raw; cat disk.raw | ${command} -O qcow2 - out.qcow2; gzip -c disk.raw > disk.raw.gz; '${process.execPath}' '${cli}' convert -q --size 100M --fix-gpt disk.raw.gz out2.raw`;
  expect(run('bash', ['-e', '-o', 'pipefail', '-c', script], { cwd: folder })).toMatchObject({ status: 0, stderr: '' });
  qemuImg('compare', '-f', 'raw', '-F', 'qcow2', join(folder, 'out.raw'), join(folder, 'out.qcow2'));
  qemuImg('compare', '-f', 'raw', '-F', 'raw', join(folder, 'out.raw'), join(folder, 'out2.raw'));
  expect(verdicts(join(folder, 'out.raw'))).toMatch(GOOD);
});

test('the GPT of a fixed VHD of whole MiB is at its end', ({ folder }) => {
  const output = join(folder, 'out.vhd');
  const { status, stderr } = decant('convert', '-f', 'raw', makeDisk(folder, SIZE - 7 * 512), output);
  expect(status).toBe(0);
  expect(stderr).toContain('the backup GPT was moved to the end of the disk');
  truncateSync(output, SIZE);
  expect(verdicts(output)).toMatch(GOOD);
});

test('the disk does not become smaller, and the format holds it', ({ folder }) => {
  const disk = makeDisk(folder);
  for (const [options, status, message] of [
    [['--size', '63M'], 2, 'The disk has 67108864 bytes and cannot become smaller: 66060288 bytes were requested'],
    [['--size', '2041G', '-O', 'vpc'], 1, 'A VHD holds at most 2040 GiB'],
    [['--size', '101G', '--for', 'digitalocean'], 1, 'DigitalOcean accepts at most 100 GiB'],
  ] as const) {
    const result = decant('convert', '-f', 'raw', ...options, disk, join(folder, 'out'));
    expect(result).toMatchObject({ status, stderr: expect.stringContaining(message) });
  }
});
