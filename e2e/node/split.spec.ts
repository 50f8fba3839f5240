// Images that were split into parts: the command, and the API. crate/tests/split.rs has the contents, and
// worker/api/split-files.test.ts the names.

import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as Decant from '../../dist/node.js';
import { decant as command } from '../support/command.js';
import { qemuImg } from '../support/images.js';
import { expect, test } from '../support/node.js';

const decant = (await import(fileURLToPath(new URL('../../dist/node.js', import.meta.url)))) as typeof Decant;
test.afterAll(() => decant.dispose());

const MIB = 1 << 20;

/** A raw disk, and that as a VMDK and in gzip. */
function made(folder: string) {
  const disk = Buffer.alloc(3 * MIB + 512).fill('decant', 0, 2 * MIB + 77);
  const raw = join(folder, 'whole.raw');
  writeFileSync(raw, disk);
  const vmdk = join(folder, 'whole.vmdk');
  qemuImg('convert', '-f', 'raw', '-O', 'vmdk', raw, vmdk);
  execFileSync('gzip', ['-k', raw]);
  return { disk, raw, vmdk, gzip: `${raw}.gz` };
}

/** Splits `file` with `split` into parts that begin with `prefix`, in a folder of their own. */
function split(folder: string, file: string, prefix: string, ...options: string[]): (name: string) => string {
  const parts = join(folder, 'parts');
  rmSync(parts, { recursive: true, force: true });
  mkdirSync(parts);
  execFileSync('split', ['-n', '5', ...options, file, join(parts, prefix)]);
  return (name) => join(parts, name);
}

test('the command finds the parts beside the first', ({ folder }) => {
  const { disk, raw, vmdk, gzip } = made(folder);
  const output = join(folder, 'out.raw');
  const numeric = ['-a', '3', '--numeric-suffixes=1'];
  // (file, prefix, options of split, first part, arguments, notes)
  for (const [file, prefix, options, first, args, note] of [
    [vmdk, 'disk.vmdk.', numeric, 'disk.vmdk.001', [], /^$/],
    [vmdk, 'disk.vmdk.part', ['-a', '1', '--numeric-suffixes=1'], 'disk.vmdk.part1', [], /^$/],
    [gzip, 'x', [], 'xaa', [], /it is read as raw\n$/],
    [raw, 'disk.img-', [], 'disk.img-aa', ['-f', 'raw'], /split into several files/],
    [raw, 'disk.', ['-d'], 'disk.00', ['-f', 'raw'], /split into several files/],
  ] as const) {
    const part = split(folder, file, prefix, ...options);
    const converted = command('convert', ...args, part(first), output);
    expect(converted, first).toEqual({ status: 0, stdout: '', stderr: expect.stringMatching(note) });
    expect(readFileSync(output).equals(disk), first).toBe(true);
    expect(command('info', ...args, part(first)).stdout).not.toContain('Unused');
    rmSync(output);
  }
});

test('parts that are missing or do not fit are named, and a later part is refused', ({ folder }) => {
  const { vmdk, raw } = made(folder);
  const output = join(folder, 'out.raw');
  const numeric = ['-a', '3', '--numeric-suffixes=1'];
  const parts = (file: string, change: (part: (name: string) => string) => void) => {
    const part = split(folder, file, 'd.', ...numeric);
    change(part);
    return part;
  };
  const nothing = () => {};
  // (what, file, change, image, arguments, status, message)
  for (const [what, file, change, image, args, status, message] of [
    [
      'a missing part',
      vmdk,
      (part) => rmSync(part('d.003')),
      'd.001',
      [],
      1,
      "'d.003', a part of the image, is missing",
    ],
    ['a cut part', vmdk, (part) => truncateSync(part('d.002'), 100), 'd.001', [], 1, "d.002' has another size"],
    ['no last part', vmdk, (part) => rmSync(part('d.005')), 'd.001', [], 1, 'truncated'],
    ['a later part', vmdk, nothing, 'd.002', [], 1, "open the first part, '"],
    ['a later part of a raw disk', raw, nothing, 'd.002', ['-f', 'raw'], 2, "d.001'"],
    ['a later part alone', vmdk, (part) => rmSync(part('d.001')), 'd.002', [], 1, "open the first part, 'd.001'"],
  ] as [string, string, (part: (name: string) => string) => void, string, string[], number, string][]) {
    const part = parts(file, change);
    const refused = command('convert', ...args, part(image), output);
    expect(refused, what).toMatchObject({ status, stdout: '', stderr: expect.stringContaining(message) });
  }
  const part = parts(raw, nothing);
  const onto = command('convert', '-f', 'raw', '-O', 'raw', part('d.001'), part('d.003'));
  expect(onto.status).not.toBe(0);
  expect(
    readFileSync(part('d.003')).equals(
      readFileSync(raw)
        .subarray(readFileSync(part('d.001')).length * 2)
        .subarray(0, readFileSync(part('d.003')).length),
    ),
  ).toBe(true);
  expect(readdirSync(join(folder, 'parts'))).toHaveLength(5);
});

test('numbers of other images are no parts', ({ folder }) => {
  const { vmdk, disk } = made(folder);
  for (const number of ['001', '002', '004']) qemuImg('convert', '-O', 'qcow2', vmdk, join(folder, `vm.${number}`));
  const output = join(folder, 'out.raw');
  expect(command('convert', join(folder, 'vm.001'), output)).toMatchObject({ status: 0 });
  expect(readFileSync(output).equals(disk)).toBe(true);
  renameSync(join(folder, 'vm.004'), join(folder, 'alone.001'));
  expect(command('convert', join(folder, 'alone.001'), output)).toEqual({ status: 0, stdout: '', stderr: '' });
});

test('copies of a raw disk with numbers are no parts', ({ folder }) => {
  const output = join(folder, 'out.raw');
  for (const [offset, sign] of [
    [510, '\x55\xaa'],
    [1080, '\x53\xef'],
  ] as const) {
    const disk = Buffer.alloc(MIB).fill('some data', 4096);
    disk.write(sign, offset, 'latin1');
    for (const number of ['01', '02', '03']) writeFileSync(join(folder, `disk.raw.${number}`), disk);
    expect(command('convert', '-f', 'raw', join(folder, 'disk.raw.01'), output)).toMatchObject({ status: 0 });
    expect(readFileSync(output).equals(disk), sign).toBe(true);
  }
});

test('the API takes parts as companions', async ({ folder }) => {
  const { disk, vmdk } = made(folder);
  const part = split(folder, vmdk, 'd.vmdk.', '-a', '3', '--numeric-suffixes=1');
  const names = readdirSync(join(folder, 'parts'));
  expect(await decant.splitFiles(['other', ...names])).toEqual([[1, 2, 3, 4, 5]]);
  const [first, ...others] = names;
  const companions = others.toReversed().map((name) => ({ name, source: new Blob([readFileSync(part(name))]) }));
  for (const [input, name] of [
    [part(first!), undefined],
    [new Blob([readFileSync(part(first!))]), first],
  ] as const) {
    const image = await decant.open(input, { companions, ...(name === undefined ? {} : { name }) });
    expect(image.info).toMatchObject({ format: 'vmdk', fileSize: readFileSync(vmdk).length, unusedCompanions: [] });
    expect(Buffer.from(await (image as Decant.Image).read(0, disk.length)).equals(disk)).toBe(true);
    await image.close();
  }
  const wanted = { kind: 'missing-file', code: 'missing-file', fields: { file: 'd.vmdk.003', role: 'part' } };
  const withoutThird = companions.filter((companion) => companion.name !== 'd.vmdk.003');
  await expect(decant.open(part(first!), { companions: withoutThird })).rejects.toMatchObject(wanted);
});

test('a packed image in parts is unpacked', ({ folder }) => {
  const { disk, vmdk } = made(folder);
  execFileSync('gzip', ['-k', vmdk]);
  const part = split(folder, `${vmdk}.gz`, 'd.vmdk.gz.', '-a', '3', '--numeric-suffixes=1');
  const output = join(folder, 'out.raw');
  expect(command('convert', '-q', part('d.vmdk.gz.001'), output)).toEqual({ status: 0, stdout: '', stderr: '' });
  expect(readFileSync(output).equals(disk)).toBe(true);
});
