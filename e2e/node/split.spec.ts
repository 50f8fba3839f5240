// Images that were split into parts: the command, and the API. crate/tests/split.rs has the contents, and
// crate/tests/split_names.rs the names.

import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as Decant from '../../dist/node.js';
import { closing } from '../support/closing.js';
import { cli, decant as command, run, start, startProgram } from '../support/command.js';
import { qemuImg } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';
import { serveFile } from '../support/remote.js';
import { byScope } from '../support/scope.js';

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
  const amount = options.includes('-n') ? [] : ['-n', '5'];
  execFileSync('split', [...amount, ...options, file, join(parts, prefix)]);
  return (name) => join(parts, name);
}

test('the command finds the parts beside the first', ({ folder }) => {
  const { disk, raw, vmdk, gzip } = made(folder);
  const output = join(folder, 'out.raw');
  const numeric = ['-a', '3', '--numeric-suffixes=1'];
  // (file, prefix, options of split, first part, arguments, notes)
  const all = [
    [vmdk, 'disk.vmdk.', numeric, 'disk.vmdk.001', [], /^$/],
    [
      raw,
      'disk.img-',
      [],
      'disk.img-aa',
      ['-f', 'raw'],
      /read from 5 files, '.*disk.img-aa' to '.*disk.img-ae', as parts of one file/,
    ],
    [gzip, 'x', [], 'xaa', [], /it is read as raw\n$/],
    [vmdk, 'disk.vmdk.part', ['-a', '1', '--numeric-suffixes=1'], 'disk.vmdk.part1', [], /^$/],
    [
      raw,
      'disk.',
      ['-d'],
      'disk.00',
      ['-f', 'raw'],
      /read from 5 files, '.*disk.00' to '.*disk.04', as parts of one file/,
    ],
  ] as const;
  for (const [file, prefix, options, first, args, note] of all.slice(0, byScope({ short: 3, full: 5 }))) {
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
  const all: [string, string, (part: (name: string) => string) => void, string, string[], number, string][] = [
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
    ['no last part', vmdk, (part) => rmSync(part('d.005')), 'd.001', [], 1, "d.004' are the first parts"],
    [
      'the first part alone',
      vmdk,
      (part) => {
        for (const number of [2, 3, 4, 5]) rmSync(part(`d.00${number}`));
      },
      'd.001',
      [],
      1,
      'is the first part of a split file: open all parts together',
    ],
    ['a later part', vmdk, nothing, 'd.002', [], 1, "open the first part, '"],
    ['a later part of a raw disk', raw, nothing, 'd.002', ['-f', 'raw'], 2, "d.001'"],
    ['a later part alone', vmdk, (part) => rmSync(part('d.001')), 'd.002', [], 1, "open the first part, 'd.001'"],
  ];
  for (const [what, file, change, image, args, status, message] of all.slice(0, byScope({ short: 4, full: 7 }))) {
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

test('parts of one file or of two are refused', FULL, ({ folder }) => {
  const { raw } = made(folder);
  const part = split(folder, raw, 'sd', '-a', '3', '-n', '800');
  const output = join(folder, 'out.raw');
  const convert = (name: string) => command('convert', '-f', 'raw', part(name), output);
  expect(convert('sdaaa')).toMatchObject({ status: 0 });
  expect(readFileSync(output).equals(readFileSync(raw))).toBe(true);
  const unclear = { status: 2, stderr: expect.stringContaining('may be parts of one file or of two') };
  rmSync(part('sdaac'));
  expect(convert('sdbaa')).toMatchObject(unclear);
  expect(convert('sdaaa')).toMatchObject({ status: 1, stderr: expect.stringContaining("sdaac', a part of") });
  rmSync(part('sdaaa'));
  expect(convert('sdbaa')).toMatchObject(unclear);
});

test('numbers of other images are no parts', FULL, ({ folder }) => {
  const { vmdk, disk } = made(folder);
  for (const number of ['001', '002', '004']) qemuImg('convert', '-O', 'qcow2', vmdk, join(folder, `vm.${number}`));
  const output = join(folder, 'out.raw');
  expect(command('convert', join(folder, 'vm.001'), output)).toMatchObject({ status: 0 });
  expect(readFileSync(output).equals(disk)).toBe(true);
  renameSync(join(folder, 'vm.004'), join(folder, 'alone.001'));
  expect(command('convert', join(folder, 'alone.001'), output)).toEqual({ status: 0, stdout: '', stderr: '' });
});

// (signature, offset)
const SIGNS = [
  ['\x55\xaa', 510],
  ['\x53\xef', 1080],
  ['_BHRfS_M', 65_600],
  ['SWAPSPACE2', 4086],
] as const;

/** How many of the signatures, and of the compressed formats, the command is tried with. */
const BY_COMMAND = byScope({ short: 1, full: 4 });

test('files that may be parts or whole ones are refused, and read by standard input', async ({ folder }) => {
  const output = join(folder, 'out.raw');
  const refused = /named as parts of one file, but each begins like a whole one/;
  const [one, two] = [join(folder, 'd.img.01'), join(folder, 'd.img.02')];
  const check = async (at: number, args: string[], disk: Buffer, what: string) => {
    const opening = decant.open(one, { companions: [two], ...(args.length > 0 && { inputFormat: 'raw' }) });
    await expect(opening, what).rejects.toMatchObject({ kind: 'usage', code: 'parts-ambiguous' });
    if (at >= BY_COMMAND) return;
    expect(command('convert', ...args, one, output), what).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(refused),
    });
    const input = readFileSync(one);
    const alone = run(process.execPath, [cli, 'convert', '-q', ...args, '-', output], { input });
    expect(alone, what).toMatchObject({ status: 0 });
    expect(readFileSync(output).equals(disk), what).toBe(true);
    rmSync(output);
  };
  for (const [at, [sign, offset]] of SIGNS.entries()) {
    const disk = Buffer.alloc(MIB).fill('some data', 4096);
    disk.write(sign, offset, 'latin1');
    for (const file of [one, two]) writeFileSync(file, disk);
    await check(at, ['-f', 'raw'], disk, sign);
  }
  const [disk, other] = [randomBytes(MIB >> 1), randomBytes(MIB >> 1)];
  for (const [at, program] of ['gzip', 'xz', 'zstd', 'bzip2', 'lz4'].entries()) {
    writeFileSync(one, execFileSync(program, ['-c'], { input: disk }));
    writeFileSync(two, execFileSync(program, ['-c'], { input: other }));
    await check(at, [], disk, program);
  }
});

test('what only its name calls a part is read with a note', ({ folder }) => {
  const output = join(folder, 'out.raw');
  const disk = randomBytes(MIB);
  const alone = join(folder, 'd.raw.01');
  writeFileSync(alone, disk);
  expect(command('convert', '-f', 'raw', alone, output)).toEqual({
    status: 0,
    stdout: '',
    stderr: expect.stringMatching(
      /^decant: note: By its name, '.*d.raw.01' is a part of a split file; it is read as the whole disk\n$/,
    ),
  });
  expect(readFileSync(output).equals(disk)).toBe(true);
});

/** The last parts of the rows in the short scope, in which the names are only those of crate/tests/split_names.rs. */
const IN_SHORT = ['xzadd.img'];

// (prefix, options of split, first part, last part); 512 bytes a part unless -n
for (const [prefix, options, first, last] of [
  ['x', ['-n', '100'], 'xaa', 'xdv'],
  ['x', ['-n', '700'], 'xaaa', 'xbax'],
  ['x', ['-n', '1000', '-d'], 'x000', 'x999'],
  ['x', ['-n', '100', '-d'], 'x00', 'x99'],
  ['x', ['-n', '700', '-x'], 'x000', 'x2bb'],
  ['x', [], 'xaa', 'xzanl'],
  ['x', ['-d'], 'x00', 'x990009'],
  ['x', ['-x'], 'x00', 'xf2f7'],
  ['d.', ['-x'], 'd.00', 'd.f2f7'],
  ['x', ['-a', '3'], 'xaaa', 'xbml'],
  ['x', ['-a', '4'], 'xaaaa', 'xabml'],
  ['d.img-', ['-a', '3'], 'd.img-aaa', 'd.img-bml'],
  ['x', ['-a', '2', '-b', '800'], 'xaa', 'xyp'],
  ['x', ['-a', '2', '-b', '768'], 'xaa', 'xzq'],
  ['d.', ['-a', '3', '-d'], 'd.000', 'd.999'],
  ['d.part', ['-a', '3', '--numeric-suffixes=1', '-b', '520'], 'd.part001', 'd.part985'],
  ['d.', ['-a', '2', '-b', '5200', '--numeric-suffixes=1'], 'd.01', 'd.99'],
  ['d.', ['-a', '3', '--hex-suffixes=1'], 'd.001', 'd.3e8'],
  ['x', ['-b', '700', '--additional-suffix=.img'], 'xaa.img', 'xzadd.img'],
  ['x', ['-b', '700', '-d', '--additional-suffix=.img'], 'x00.img', 'x9641.img'],
  ['vmaa', ['-b', '700'], 'vmaaaa', 'vmaazadd'],
  ['sda', ['-b', '5200'], 'sdaaa', 'sdadu'],
] as [string, string[], string, string][]) {
  test(`split ${options.join(' ')} of ${prefix}`, IN_SHORT.includes(last) ? {} : FULL, async ({ folder }) => {
    const disk = randomBytes(512_000);
    const whole = join(folder, 'whole');
    const parts = join(folder, 'parts');
    mkdirSync(parts);
    writeFileSync(whole, disk);
    const size = options.some((option) => option === '-b' || option === '-n') ? [] : ['-b', '512'];
    execFileSync('split', [...size, ...options, whole, join(parts, prefix)]);
    const names = readdirSync(parts);
    expect([names.at(0), names.at(-1)]).toEqual([first, last]);
    const other = ['other.img', 'sdbaa', 'sdbab'].filter((name) => !names.includes(name));
    for (const name of other) writeFileSync(join(parts, name), '');
    const all = readdirSync(parts);
    const found = (await decant.splitFiles(all)).find((parts) => all[parts[0]!] === first);
    expect(found?.map((at) => all[at])).toEqual(names);
    const companions = names.toReversed().map((name) => join(parts, name));
    const image = (await decant.open(join(parts, first), { inputFormat: 'raw', companions })) as Decant.DiskImage;
    expect(Buffer.from(await image.read(0, disk.length)).equals(disk)).toBe(true);
    expect(image.info.safety).toMatchObject([
      { code: 'parts-unchecked', fields: { last: join(parts, last), count: names.length } },
    ]);
    await image.close();
    const output = join(folder, 'out.raw');
    expect(command('convert', '-f', 'raw', join(parts, first), output)).toMatchObject({ status: 0 });
    expect(readFileSync(output).equals(disk)).toBe(true);
  });
}

test('the image among its companions, and parts in several folders', async ({ folder }) => {
  const { disk, vmdk } = made(folder);
  const part = split(folder, vmdk, 'd.vmdk.', '-a', '3', '--numeric-suffixes=1');
  const files = readdirSync(join(folder, 'parts')).map(part);
  const output = join(folder, 'out.raw');
  expect(command('convert', '--with', files[0]!, files[0]!, output)).toEqual({ status: 0, stdout: '', stderr: '' });
  expect(readFileSync(output).equals(disk)).toBe(true);
  const blobs = files.map((file) => new File([readFileSync(file)], file));
  for (const all of [files, blobs]) {
    const image = await decant.open(all[0]!, { companions: all });
    expect(image.info).toMatchObject({ fileSize: readFileSync(vmdk).length, unusedCompanions: [] });
    await image.close();
  }
  expect(await decant.splitFiles(['x/a.001', 'x/a.002', 'y/a.001', 'y/a.002'])).toEqual([
    [0, 1],
    [2, 3],
  ]);
});

test('a truncated image asks for all parts, and a missing part too', async ({ folder }) => {
  const { vmdk } = made(folder);
  const part = split(folder, vmdk, 'd.vmdk.', '-a', '3', '--numeric-suffixes=1');
  const first = readFileSync(part('d.vmdk.001'));
  const server = await serveFile(first);
  for (const input of [part('d.vmdk.001'), `${server.origin}/d.vmdk.001`]) {
    const wanted = {
      kind: 'corrupt',
      code: 'parts-needed',
      fields: { first: expect.stringContaining('d.vmdk.001'), count: 1 },
    };
    const converting = closing(await decant.open(input), (image) => image.convert(join(folder, 'out.raw')));
    await expect(converting).rejects.toMatchObject(wanted);
    const { findings } = await closing(await decant.open(input), (image) => image.check());
    const { fields, code } = wanted;
    expect(findings).toContainEqual(expect.objectContaining({ code, fields: expect.objectContaining(fields) }));
  }
  await server.close();
  await expect(decant.open(part('d.vmdk.001'), { companions: [part('d.vmdk.003')] })).rejects.toThrow(
    "'d.vmdk.002', a part of the image, is missing; open all parts again, together with it",
  );
});

test('many parts on servers give no warning of Node', async ({ folder }) => {
  const { disk, vmdk } = made(folder);
  const part = split(folder, vmdk, 'd.vmdk.', '-n', '30', '-a', '3', '-d');
  const servers = await Promise.all(
    readdirSync(join(folder, 'parts')).map((name) => serveFile(readFileSync(part(name)))),
  );
  const urls = servers.map(({ origin }, at) => `${origin}/d.vmdk.${String(at).padStart(3, '0')}`);
  const output = join(folder, 'out.raw');
  const code = `
    import { dispose, open } from '${new URL('../../dist/node.js', import.meta.url).href}';
    const urls = process.argv.slice(1);
    const { signal } = new AbortController();
    const image = await open(urls[0], { companions: urls, signal });
    await image.convert('${output}', { signal });
    await dispose();`;
  const withUrls = urls.slice(1).flatMap((url) => ['--with', url]);
  for (const [what, { ended }] of [
    ['API', startProgram(process.execPath, ['--input-type=module', '-e', code, ...urls])],
    ['command', start('convert', ...withUrls, urls[0]!, join(folder, 'second.raw'))],
  ] as const)
    expect(await ended, what).toEqual({ status: 0, stdout: '', stderr: '' });
  for (const file of [output, join(folder, 'second.raw')]) expect(readFileSync(file).equals(disk)).toBe(true);
  await Promise.all(servers.map(({ close }) => close()));
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
    expect(Buffer.from(await (image as Decant.DiskImage).read(0, disk.length)).equals(disk)).toBe(true);
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
