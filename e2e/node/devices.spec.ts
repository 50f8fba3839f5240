// Reports of writes that fail late, or silently: devices, --sync, and lying file systems.

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { asRoot, cli, decant, program, run, startProgram } from '../support/command.js';
import { makeDevice } from '../support/device.js';
import { type Fault, withFaults } from '../support/faults.js';
import { hashFile, images, PASSWORD, qemuImg } from '../support/images.js';
import { expect, test } from '../support/node.js';
import { byScope } from '../support/scope.js';

const MIB = 1 << 20;

function withDevice(folder: string, size: number, room: number, use: (device: string) => void): void {
  const device = makeDevice(folder, size, room);
  try {
    use(device.path);
  } finally {
    device.remove();
  }
}

for (const [options, tag] of [
  [[], []],
  [['--sync'], ['@full']],
  [['-m', '1'], ['@full']],
] as const) {
  test(
    `a device that holds less than it says fails the conversion ${options.join(' ')}`,
    {
      tag: [...tag],
    },
    ({ folder }) => {
      withDevice(folder, 64 << 20, 8 << 20, (device) => {
        const full = join(folder, 'full.raw');
        writeFileSync(full, Buffer.alloc(64 << 20, 7));
        const result = decant('convert', ...options, '-f', 'raw', full, device);
        expect(result).toMatchObject({
          status: 1,
          stdout: '',
          stderr: expect.stringContaining('the disk reports an error'),
        });
      });
    },
  );
}

test('a device that holds what it says is written', ({ folder }) => {
  withDevice(folder, 16 << 20, 32 << 20, (device) => {
    expect(decant('convert', images.kinds(), device)).toMatchObject({ status: 0, stderr: '' });
    const raw = join(folder, 'out.raw');
    decant('convert', images.kinds(), raw);
    execFileSync('cmp', ['-n', String(10 << 20), device, raw]);
  });
});

/** A device with `content` at its start, and `room` bytes more of zeros. */
function withContent(folder: string, content: Buffer, use: (device: string, file: string) => void): void {
  const size = Math.ceil(content.length / MIB) * MIB + MIB;
  withDevice(folder, size, size + 2 * MIB, (device) => {
    execFileSync('dd', ['status=none', 'bs=1M', 'conv=fsync', `of=${device}`], { input: content });
    use(device, join(folder, 'disk', 'file'));
  });
}

const UNNOTICED =
  /^decant: note: '.*' is a block device, which has no modification time, so a change may go unnoticed\n$/;

for (const [format, tag] of [
  ['qcow2', []],
  ['vmdk', ['@full']],
  ['vdi', ['@full']],
  ['qed', ['@full']],
] as const) {
  test(`an image on a device is read: ${format}`, { tag: [...tag] }, ({ folder }) => {
    const [expected, image] = [join(folder, 'expected.raw'), join(folder, 'image')];
    qemuImg('convert', '-O', 'raw', images.kinds(), expected);
    qemuImg('convert', '-f', 'raw', '-O', format, expected, image);
    withContent(folder, readFileSync(image), (device) => {
      const out = join(folder, 'out.raw');
      const done = { status: 0, stdout: '', stderr: expect.stringMatching(UNNOTICED) };
      expect(decant('convert', device, out)).toEqual(done);
      expect(hashFile(out)).toBe(hashFile(expected));
      const info = JSON.parse(decant('info', '--output=json', device).stdout);
      expect(info).toMatchObject({ filename: device, format, 'actual-size': 0 });
      // As standard input, read at any position.
      const command = `"$1" "$2" convert - "$3" < "$4"`;
      const fromInput = run('sh', ['-c', command, 'sh', process.execPath, cli, join(folder, 'input.raw'), device]);
      expect(fromInput).toEqual(done);
      expect(hashFile(join(folder, 'input.raw'))).toBe(hashFile(expected));
    });
  });
}

test('a raw disk on a device is read whole', ({ folder }) => {
  const content = Buffer.alloc(3 * MIB, 'disk');
  withContent(folder, content, (device, file) => {
    const out = join(folder, 'out.raw');
    expect(decant('convert', '-f', 'raw', device, out).status).toBe(0);
    execFileSync('cmp', [out, file]);
    const result = program<{ sourceVerified: boolean; notices: { code: string }[]; safety: { code: string }[] }>(
      `const image = await decant.open(args[0], { inputFormat: 'raw' });
       const { sourceVerified, notices } = await image.convert(args[1]);
       console.log(JSON.stringify({ sourceVerified, notices, safety: image.info.safety }));
       await image.close();`,
      device,
      out,
    );
    expect(result).toMatchObject({
      sourceVerified: false,
      notices: [{ code: 'unverified' }],
      safety: [{ code: 'source-not-verified' }],
    });
    const resumed = decant('convert', '--resume', '-f', 'raw', device, out);
    expect(resumed).toMatchObject({ status: 2, stderr: expect.stringContaining('cannot be resumed') });
  });
});

test('an image on a device is never the output, whatever its name', ({ folder }) => {
  const content = Buffer.alloc(3 * MIB, 'disk');
  withContent(folder, content, (device, file) => {
    const before = hashFile(file);
    const node = join(folder, 'node');
    const [major, minor] = execFileSync('stat', ['-c', '0x%t 0x%T', device], { encoding: 'utf8' }).trim().split(' ');
    asRoot('mknod', '-m', '666', node, 'b', `${Number(major)}`, `${Number(minor)}`);
    symlinkSync(device, join(folder, 'link'));
    const all = [
      [device, node],
      [device, file],
      [device, device],
      [node, device],
      [device, join(folder, 'link')],
      [file, device],
    ] as const;
    for (const [image, output] of all.slice(0, byScope({ short: 2, full: 6 }))) {
      for (const options of [[], ['-n']]) {
        const said = `'${output}' is the image itself`;
        expect(
          decant('convert', '-f', 'raw', ...options, image, output),
          `${options} ${image} ${output}`,
        ).toMatchObject({
          status: 2,
          stderr: expect.stringContaining(said),
        });
      }
    }
    const input = run('sh', ['-c', `"$1" "$2" convert -f raw - "$3" < "$3"`, 'sh', process.execPath, cli, device]);
    expect(input).toMatchObject({ status: 2, stderr: expect.stringContaining('an input of the command') });
    expect(hashFile(file)).toBe(before);
  });
});

test('a VHD on a larger device is written, with a note', ({ folder }) => {
  withDevice(folder, 16 * MIB, 32 * MIB, (device) => {
    const result = decant('convert', '-O', 'vpc', images.kinds(), device);
    expect(result).toMatchObject({
      status: 0,
      stderr: expect.stringMatching(
        /note: '.*' holds 16777216 bytes, but the output has 10486272: readers will not find .*/,
      ),
    });
  });
});

/** A conversion of `kinds` over an old file, with the system's answers from `fault`. */
function convertWith(folder: string, fault: Fault, ...options: string[]) {
  const target = join(folder, 'out.raw');
  writeFileSync(target, 'old');
  const env = withFaults({ fault });
  const result = run(process.execPath, [cli, 'convert', ...options, images.kinds(), target], { env });
  expect(readdirSync(folder)).toEqual(['out.raw']);
  return { target, result };
}

for (const { fault, options, said, tag } of [
  { fault: 'write zero', options: [], said: '0 bytes were written', tag: [] },
  {
    fault: 'truncate nothing',
    options: [],
    said: 'it has \\d+ bytes instead of 10485760',
    tag: ['@full'],
  },
  { fault: 'fsync EIO', options: ['--sync'], said: 'the disk reports an error', tag: [] },
] as const) {
  test(`${fault} ${options.join()} fails the conversion, and the old file stays`, { tag: [...tag] }, ({ folder }) => {
    const { target, result } = convertWith(folder, fault, ...options);
    const stderr = expect.stringMatching(`^decant: Could not write '${target}': ${said}`);
    expect(result).toMatchObject({ status: 1, stdout: '', stderr });
    expect(readFileSync(target, 'utf8')).toBe('old');
  });
}

for (const [fault, options] of [
  ['write short', []],
  // Files are flushed only on request.
  ['fsync EIO', []],
  // A folder may be writable, but not readable.
  ['folder EACCES', ['--sync']],
] as const) {
  test(`${fault} does not disturb a conversion`, { tag: '@full' }, ({ folder }) => {
    const { target, result } = convertWith(folder, fault, ...options);
    expect(result).toMatchObject({ status: 0, stderr: '' });
    const raw = join(folder, 'plain.raw');
    decant('convert', images.kinds(), raw);
    expect(hashFile(target)).toBe(hashFile(raw));
  });
}

const NAMINGS: { where: string; before?: string; fault?: Fault; naming: string[]; tag?: string }[] = [
  { where: 'where nothing was', naming: ['link'], tag: '@full' },
  { where: 'where the system has no links', fault: 'link EPERM', naming: ['link', 'rename'] },
  { where: 'over another file', before: 'old', naming: ['rename'], tag: '@full' },
];
for (const { where, before, fault, naming, tag = [] } of NAMINGS) {
  test(`--sync flushes the file before it gets its name, and the folder after it, ${where}`, { tag }, ({ folder }) => {
    const [trace, target] = [join(folder, 'trace'), join(folder, 'out.raw')];
    if (before) writeFileSync(target, before);
    const env = withFaults({ log: trace, ...(fault ? { fault } : {}) });
    const result = run(process.execPath, [cli, 'convert', '--sync', images.kinds(), target], { env });
    expect(result).toMatchObject({ status: 0, stderr: '' });
    expect(readFileSync(trace, 'utf8').trim().split('\n')).toEqual(['fsync file', ...naming, 'fsync folder']);
    expect(readdirSync(folder).toSorted()).toEqual(['out.raw', 'trace']);
  });
}

for (const { when, image, reason, left, tag } of [
  {
    when: 'the output is complete',
    image: images.kinds,
    reason: "'.*out.raw' is complete, but ",
    left: ['out.raw'],
    tag: ['@full'],
  },
  { when: 'the image is damaged', image: images.corrupt, reason: 'The image is corrupt: .*; ', left: [], tag: [] },
]) {
  test(`a temporary file that cannot be removed is reported: ${when}`, { tag }, ({ folder }) => {
    const env = withFaults({ fault: 'unlink EPERM' });
    const result = run(process.execPath, [cli, 'convert', image(), join(folder, 'out.raw')], { env });
    const partial = readdirSync(folder).find((name) => name.endsWith('.partial'));
    const removing = `'${join(folder, partial!)}' could not be removed: the operation is not permitted\n`;
    expect(result).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(`^decant: ${reason}${removing}$`),
    });
    expect(readdirSync(folder).toSorted()).toEqual([partial, ...left]);
  });
}

test('a temporary file that cannot be removed is reported: interrupted', { tag: '@full' }, async ({ folder }) => {
  const password = join(folder, 'password');
  writeFileSync(password, PASSWORD);
  const convert = [cli, 'convert', '--password-file', password, images.luksSlow(), join(folder, 'out')];
  const env = withFaults({ fault: 'unlink EPERM' }) as Record<string, string>;
  const { child, ended } = startProgram(process.execPath, convert, env);
  const partials = () => readdirSync(folder).filter((name) => name.endsWith('.partial'));
  // The file is created before the image is unlocked, which takes seconds with this image.
  await expect.poll(partials, { timeout: 60_000, intervals: [20] }).toHaveLength(1);
  child.kill('SIGINT');
  const stderr = `decant: interrupted; '${join(folder, partials()[0]!)}' could not be removed: the operation is not permitted\n`;
  expect(await ended).toEqual({ status: 130, stdout: '', stderr });
});
