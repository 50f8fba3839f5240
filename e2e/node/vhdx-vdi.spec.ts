// VHDX and VDI as outputs: disks of every size, identifiers, sizes of sectors, and what is refused.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { cli, decant, program, run } from '../support/command.js';
import { hashFile, images, qemuImg } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';

const TIB = 2 ** 40;
const UUID = ['-o', 'uuid=00010203-0405-0607-0809-0a0b0c0d0e0f'];

const FORMS: Record<string, string[]> = {
  VHDX: ['-O', 'vhdx'],
  'fixed VHDX': ['-O', 'vhdx', '-o', 'subformat=fixed'],
  VDI: ['-O', 'vdi'],
  'fixed VDI': ['-O', 'vdi', '-o', 'static=on'],
};

const infoOf = (path: string) => JSON.parse(qemuImg('info', '--output=json', path));

for (const [form, args] of Object.entries(FORMS)) {
  // The core's tests have these sizes.
  test(`small disks become a ${form}, rounded up to a sector`, FULL, ({ folder }) => {
    const [disk, output, back] = ['disk.raw', 'out', 'back.raw'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    for (const size of [0, 1, 511, 512, 2 ** 20 + 1]) {
      const made = Math.max(512, Math.ceil(size / 512) * 512);
      const bytes = Buffer.alloc(made);
      bytes.fill('content', 0, size);
      writeFileSync(disk, bytes.subarray(0, size));
      expect(decant('convert', '-f', 'raw', ...args, disk, output)).toMatchObject({ status: 0, stdout: '' });
      expect(infoOf(output)['virtual-size']).toBe(made);
      qemuImg('convert', '-O', 'raw', output, back);
      expect(readFileSync(back).equals(bytes), String(size)).toBe(true);
    }
  });

  test(`workers and standard output make the same ${form} with a UUID`, form === 'VHDX' ? {} : FULL, ({ folder }) => {
    const hashes = ['1', '3'].map((workers) => {
      const output = join(folder, workers);
      const made = decant('convert', ...args, ...UUID, '-m', workers, images.zlib(), output);
      expect(made).toEqual({ status: 0, stdout: '', stderr: '' });
      return hashFile(output);
    });
    const script = `'${process.execPath}' '${cli}' convert ${[...args, ...UUID].join(' ')} '${images.zlib()}' - | cat > pipe`;
    expect(run('bash', ['-o', 'pipefail', '-c', script], { cwd: folder })).toMatchObject({ status: 0, stderr: '' });
    expect(new Set([...hashes, hashFile(join(folder, 'pipe'))]).size).toBe(1);
  });
}

test('a disk of 64 TiB becomes a VHDX', ({ folder }) => {
  const [large, output] = [join(folder, 'large.qcow2'), join(folder, 'out.vhdx')];
  qemuImg('create', '-q', '-f', 'qcow2', large, '64T');
  const writes = ['write -P 1 1M 64k', `write -P 2 ${64 * TIB - 65_536} 64k`].flatMap((write) => ['-c', write]);
  expect(run('qemu-io', ['-f', 'qcow2', ...writes, large])).toMatchObject({ status: 0 });
  expect(decant('convert', large, output)).toEqual({ status: 0, stdout: '', stderr: '' });
  expect(infoOf(output)).toMatchObject({ 'virtual-size': 64 * TIB, 'cluster-size': 64 * 2 ** 20 });
  const read = ['-c', 'read -P 1 1M 64k', '-c', 'read -P 0 2M 1M', '-c', `read -P 2 ${64 * TIB - 65_536} 64k`];
  const { status, stdout } = run('qemu-io', ['-r', '-f', 'vhdx', ...read, output]);
  expect([status, stdout.includes('failed')]).toEqual([0, false]);
});

test('a VHDX has the sectors of the disk', ({ folder }) => {
  const [disk, first, second] = ['disk.raw', 'first.vhdx', 'second.vhdx'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const bytes = Buffer.alloc(2 ** 20);
  const gpt = bytes.subarray(4096, 4096 + 92);
  gpt.write('EFI PART');
  gpt.writeUInt32LE(92, 12);
  gpt[24] = 1;
  gpt.writeUInt32LE(crc32(gpt), 16);
  writeFileSync(disk, bytes);
  // By its GPT, and then as the VHDX states it.
  for (const [from, to, said] of [
    [disk, first, ['-f', 'raw']],
    [first, second, []],
  ] as const) {
    expect(decant('convert', ...said, from, to)).toEqual({ status: 0, stdout: '', stderr: '' });
    const { sizes, content } = program<{ sizes: unknown; content: boolean }>(
      `const image = await decant.open(args[0]);
       const { 'logical-sector-size': logical, 'physical-sector-size': physical } = image.info.specific;
       const bytes = await image.read(0, 2 ** 20);
       const { readFileSync } = await import('node:fs');
       console.log(JSON.stringify({ sizes: [logical, physical], content: readFileSync(args[1]).equals(bytes) }));
       await image.close();`,
      to,
      disk,
    );
    expect({ sizes, content }).toEqual({ sizes: [4096, 4096], content: true });
  }
  const { stderr } = decant('convert', first, join(folder, 'out.vdi'));
  expect(stderr).toContain('The disk has sectors of 4096 bytes');
});

// (arguments, exit code, a part of the message)
for (const [args, status, part] of [
  [
    ['-O', 'vhdx', '-o', 'block_size=512k', 'KINDS', 'out'],
    2,
    "'512k' is not a valid block_size of the output format vhdx",
  ],
  [
    ['-O', 'vhdx', '-o', 'uuid=1234', 'KINDS', 'out'],
    2,
    "'1234' is not a valid uuid of the output format vhdx; it is a UUID, such as ",
  ],
  [['-O', 'vhdx', '-o', 'block_size=1M', 'LARGE', 'out'], 1, 'choose a block_size of at least 16M'],
  [['-O', 'vdi', 'LARGE', 'out'], 1, 'but Decant writes a VDI of at most 8 TiB'],
  [['-O', 'vdi', '--resume', 'KINDS', 'out'], 2, 'the output format vdi is written in one pass'],
] as [string[], number, string][]) {
  test(`said before anything is written: ${args.join(' ')}`, ({ folder }, testInfo) => {
    const names: Record<string, string> = { KINDS: images.kinds(), LARGE: testInfo.outputPath('large.qcow2') };
    if (args.includes('LARGE')) qemuImg('create', '-q', '-f', 'qcow2', names.LARGE!, '64T');
    const path = (argument: string) => names[argument] ?? (argument === 'out' ? join(folder, argument) : argument);
    const result = decant('convert', ...args.map(path));
    expect(result.stderr).toMatch(/^decant: [^\n]*\n$/);
    expect(result.stderr).toContain(part);
    expect(result.status).toBe(status);
    expect(readdirSync(folder)).toEqual([]);
  });
}

test('-o help lists the options', () => {
  expect(decant('convert', '-O', 'vhdx', '-o', 'help')).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('uuid=random (default: random; or a UUID, such as '),
  });
});
