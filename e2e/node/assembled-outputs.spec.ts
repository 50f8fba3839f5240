// qcow2, VMDK, dynamic VHD, VHDX and VDI as outputs: other programs read them.

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cli, decant, program, run } from '../support/command.js';
import { diskUsage, flush, hashFile, images, qemuImg } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';

const VMDK = ['-O', 'vmdk'];
const VHD = ['-O', 'vpc', '-o', 'subformat=dynamic'];

interface Made {
  args: string[];
  format: 'qcow2' | 'vmdk' | 'vpc' | 'vhdx' | 'vdi';
  clusterSize: number;
}

/** It takes four times as long as the others. */
const SLOW = 'a compressed qcow2 with large clusters';
/** One of each way to lay out a file, and those without holes. judges.spec.ts reads all kinds, of a smaller disk. */
const IN_SHORT = ['a compressed qcow2', 'a VHDX', 'a dynamic VHD'];

const MADE: Record<string, Made> = {
  'a plain qcow2': { args: ['-O', 'qcow2'], format: 'qcow2', clusterSize: 65_536 },
  'a compressed qcow2': { args: ['-O', 'qcow2', '-c'], format: 'qcow2', clusterSize: 65_536 },
  'qcow2 with small clusters': { args: ['-O', 'qcow2', '-o', 'cluster_size=512'], format: 'qcow2', clusterSize: 512 },
  [SLOW]: {
    args: ['-O', 'qcow2', '-c', '-o', 'cluster_size=2M,compression_type=zlib,compat=1.1'],
    format: 'qcow2',
    clusterSize: 2 ** 21,
  },
  'a qcow2 compressed by zstd': {
    args: ['-O', 'qcow2', '-c', '-o', 'compression_type=zstd'],
    format: 'qcow2',
    clusterSize: 65_536,
  },
  'a qcow2 of version 2': { args: ['-O', 'qcow2', '-c', '-o', 'compat=0.10'], format: 'qcow2', clusterSize: 65_536 },
  'a streamOptimized VMDK': { args: VMDK, format: 'vmdk', clusterSize: 65_536 },
  'a VHDX': { args: ['-O', 'vhdx'], format: 'vhdx', clusterSize: 2 ** 20 },
  'a fixed VHDX': { args: ['-O', 'vhdx', '-o', 'subformat=fixed,block_size=2M'], format: 'vhdx', clusterSize: 2 ** 21 },
  'a VDI': { args: ['-O', 'vdi'], format: 'vdi', clusterSize: 2 ** 20 },
  'a fixed VDI': { args: ['-O', 'vdi', '-o', 'static=on'], format: 'vdi', clusterSize: 2 ** 20 },
  'a dynamic VHD': { args: VHD, format: 'vpc', clusterSize: 2 ** 21 },
};

for (const [what, { args, format, clusterSize }] of Object.entries(MADE)) {
  for (const [image, tag] of [
    ['zlib', IN_SHORT.includes(what) ? [] : ['@full']],
    ['kinds', ['@full']],
    ['plain', ['@full']],
  ] as const) {
    test(`${image} becomes ${what}`, { tag: [...tag] }, ({ folder }) => {
      const [output, back] = [join(folder, 'out'), join(folder, 'back.raw')];
      const path = images[image]();
      expect(decant('convert', ...args, path, output)).toMatchObject({ status: 0, stdout: '' });
      if (['qcow2', 'vdi', 'vhdx'].includes(format)) qemuImg('check', '-f', format, output);
      qemuImg('compare', '-f', format, '-F', 'qcow2', output, path);
      const { 'cluster-size': found } = JSON.parse(qemuImg('info', '--output=json', output));
      expect(found).toBe(clusterSize);
      // Hyper-V refuses files with holes.
      if (what === 'a VHDX' || what === 'a dynamic VHD') {
        flush(output);
        expect(diskUsage(output)).toBeGreaterThanOrEqual(statSync(output).size);
      }
      // Another program reads the output, as does Decant if it supports the format.
      if (format === 'vpc') qemuImg('convert', '-f', format, '-O', 'raw', output, back);
      else decant('convert', output, back);
      qemuImg('compare', '-f', 'raw', '-F', 'qcow2', back, path);
    });
  }
}

test('compressed by qemu-img, it is hardly smaller', { tag: '@full' }, ({ folder }) => {
  const sizes = (args: string[], theirs: string[]) => {
    const [ours, others] = [join(folder, 'ours'), join(folder, 'theirs')];
    decant('convert', ...args, images.plain(), ours);
    qemuImg('convert', ...theirs, images.plain(), others);
    return statSync(ours).size / statSync(others).size;
  };
  expect(sizes(['-O', 'qcow2', '-c'], ['-c', '-O', 'qcow2'])).toBeLessThan(1.02);
  const zstd = ['-c', '-O', 'qcow2', '-o', 'compression_type=zstd'];
  expect(sizes(zstd, zstd)).toBeLessThan(1.02);
  expect(sizes(VMDK, VMDK)).toBeLessThan(1.02);
});

test('the extension of the output chooses qcow2, plain as qemu-img makes it', ({ folder }) => {
  const output = join(folder, 'out.qcow2');
  expect(decant('convert', images.zlib(), output)).toEqual({ status: 0, stdout: '', stderr: '' });
  const listed = JSON.parse(qemuImg('map', '--output=json', output)) as { compressed?: boolean }[];
  expect(listed.filter(({ compressed }) => compressed)).toEqual([]);
});

test('options of a VMDK are in its descriptor', ({ folder }) => {
  const output = join(folder, 'out.vmdk');
  decant('convert', ...VMDK, '-o', 'adapter_type=ide,hwversion=17', images.kinds(), output);
  const descriptor = readFileSync(output)
    .subarray(512, 21 * 512)
    .toString('latin1');
  expect(descriptor).toContain('ddb.adapterType = "ide"\n');
  expect(descriptor).toContain('ddb.virtualHWVersion = "17"\n');
  expect(descriptor).toContain('ddb.geometry.heads = "16"\n');
});

test('a VMDK goes to standard output, byte by byte the same but for its identifiers', ({ folder }) => {
  const script = `'${process.execPath}' '${cli}' convert ${VMDK.join(' ')} '${images.zlib()}' - | cat > pipe`;
  expect(run('bash', ['-o', 'pipefail', '-c', script], { cwd: folder })).toMatchObject({ status: 0, stderr: '' });
  qemuImg('compare', '-f', 'vmdk', '-F', 'qcow2', join(folder, 'pipe'), images.zlib());
});

// (bytes of the disk, and of the disk in the VHD)
for (const [size, made, details] of [
  [0, 512, {}],
  [700, 1024, FULL],
  [2 ** 21, 2 ** 21, FULL],
  [5 * 2 ** 21 - 1536, 5 * 2 ** 21 - 1536, {}],
] as const) {
  test(`a disk of ${size} bytes becomes a dynamic VHD, rounded up to a sector`, details, ({ folder }) => {
    const [disk, output] = [join(folder, 'disk.raw'), join(folder, 'out.vhd')];
    const bytes = Buffer.alloc(made);
    bytes.fill('start', 0, Math.min(size, 4000));
    bytes.fill('end', Math.max(0, size - 4000), size);
    writeFileSync(disk, bytes.subarray(0, size));
    const { status, stderr } = decant('convert', '-f', 'raw', ...VHD, disk, output);
    expect(status).toBe(0);
    // A raw disk has whole sectors already.
    expect(stderr.includes('since VHD accepts only whole sectors')).toBe(size === 0);
    expect(JSON.parse(qemuImg('info', '--output=json', output))['virtual-size']).toBe(made);
    qemuImg('convert', '-O', 'raw', output, join(folder, 'back.raw'));
    expect(readFileSync(join(folder, 'back.raw')).equals(bytes)).toBe(true);
  });
}

/** A dynamic VHD without the bytes that differ between conversions: the UUID and its checksum. */
function withoutStamp(path: string): string {
  const bytes = readFileSync(path);
  for (const footer of [0, bytes.length - 512]) {
    bytes.fill(0, footer + 64, footer + 84);
  }
  return createHash('sha256').update(bytes).digest('hex');
}

test('workers and standard output make the same dynamic VHD', FULL, ({ folder }) => {
  const hashes = ['1', '2', '5'].map((workers) => {
    const output = join(folder, `${workers}.vhd`);
    expect(decant('convert', ...VHD, '-m', workers, images.zlib(), output)).toMatchObject({ status: 0, stderr: '' });
    return withoutStamp(output);
  });
  const script = `'${process.execPath}' '${cli}' convert ${VHD.join(' ')} '${images.zlib()}' - | cat > pipe`;
  expect(run('bash', ['-o', 'pipefail', '-c', script], { cwd: folder })).toMatchObject({ status: 0, stderr: '' });
  expect(new Set([...hashes, withoutStamp(join(folder, 'pipe'))]).size).toBe(1);
});

test('engines and numbers of workers make the same qcow2', FULL, ({ folder }) => {
  const hashes = ['1', '2', '5'].map((workers) => {
    const output = join(folder, `${workers}.qcow2`);
    decant('convert', '-c', '-m', workers, images.plain(), output);
    return hashFile(output);
  });
  expect(new Set(hashes).size).toBe(1);
});

for (const [what, args] of [
  ['a plain qcow2, after a pass that finds its zeros,', ['-O', 'qcow2']],
  ['a compressed qcow2, in two passes,', ['-c', '--two-pass', '-O', 'qcow2']],
] as const) {
  test(`${what} goes to standard output, with the bytes of a file`, FULL, ({ folder }) => {
    const file = join(folder, 'file');
    decant('convert', ...args, images.plain(), file);
    const script = `'${process.execPath}' '${cli}' convert ${args.join(' ')} '${images.plain()}' - | cat > pipe`;
    expect(run('bash', ['-o', 'pipefail', '-c', script], { cwd: folder })).toMatchObject({ status: 0, stderr: '' });
    expect(hashFile(join(folder, 'pipe'))).toBe(hashFile(file));
  });
}

/** The messages of the rows below that run in the short scope. */
const SHORT = [
  "'monolithicSparse' is not a valid subformat",
  'choose a cluster_size of at least 4096',
  'the output format qcow2 is written in one pass',
  'A VHD holds at most 2040 GiB',
];

// (arguments, exit code, a part of the message)
for (const [args, status, part] of [
  [['-O', 'vmdk', '-o', 'subformat=monolithicFlat', 'KINDS', 'out'], 2, 'is always streamOptimized'],
  [
    ['-O', 'vmdk', '-o', 'subformat=monolithicSparse', 'KINDS', 'out'],
    2,
    "'monolithicSparse' is not a valid subformat",
  ],
  [['-O', 'qcow2', '-o', 'compat=0.9', 'KINDS', 'out'], 2, "'0.9' is not a valid compat of the output format qcow2"],
  [
    ['-O', 'qcow2', '-o', 'compat=v2,compression_type=zstd', 'KINDS', 'out'],
    2,
    'compression_type=zstd needs compat=1.1',
  ],
  [['-O', 'qcow2', '-o', 'cluster_size=3k', 'KINDS', 'out'], 2, "'3k' is not a valid cluster_size"],
  [['-O', 'qcow2', '-o', 'cluster_size=512', 'HUGE', 'out'], 1, 'choose a cluster_size of at least 4096'],
  [
    ['-c', '-O', 'qcow2', 'KINDS', '-'],
    1,
    '(twoPass, --two-pass) or a temporary file (spool, --spool), write to a file',
  ],
  [['-O', 'qcow2', '--resume', 'KINDS', 'out'], 2, 'the output format qcow2 is written in one pass'],
  [[...VHD, '--resume', 'KINDS', 'out'], 2, 'the output format vpc (subformat=dynamic) is written in one pass'],
  [[...VHD, 'HUGE', 'out'], 1, 'A VHD holds at most 2040 GiB'],
  [['-c', 'KINDS', 'out'], 2, '-c needs a compressed output format'],
  [['-c', '-o', 'compress=no', 'KINDS', 'out.qcow2'], 2, '-c and -o compress state one option; omit one of them'],
  [['--cpus', '4', '-o', 'cpus=2', 'KINDS', 'out.ova'], 2, '--cpus and -o cpus state one option; omit one of them'],
  [['-o', 'compress=maybe', 'KINDS', 'out.qcow2'], 2, "'maybe' is not a valid compress of the output format qcow2"],
  [['-o', '__proto__=x', 'KINDS', 'out.qcow2'], 2, "has no option '__proto__'"],
] as [string[], number, string][]) {
  test(`said before anything is written: ${args.join(' ')}`, SHORT.includes(part) ? {} : FULL, ({ folder }) => {
    const names: Record<string, string> = { KINDS: images.kinds(), HUGE: images.huge() };
    const path = (argument: string) => names[argument] ?? (/^out/.test(argument) ? join(folder, argument) : argument);
    const result = decant('convert', ...args.map(path));
    expect(result.stderr).toMatch(/^decant: [^\n]*\n$/);
    expect(result.stderr).toContain(part);
    expect(result.status).toBe(status);
    expect(readdirSync(folder)).toEqual([]);
  });
}

// (arguments that compress, the same output without -c)
for (const [args, plain] of [
  [['-c', ...VMDK], VMDK],
  [
    ['-c', '-O', 'qcow2', '-o', 'compress'],
    ['-O', 'qcow2', '-o', 'compress=on'],
  ],
  [
    ['-c', '-O', 'raw.gz'],
    ['-O', 'raw.gz'],
  ],
] as const) {
  test(`-c is accepted where the output is compressed: ${args.join(' ')}`, FULL, ({ folder }) => {
    const sizes = [args, plain].map((given, at) => {
      const output = join(folder, `${at}`);
      const ended = decant('convert', ...given, images.kinds(), output);
      expect(ended).toEqual({ status: 0, stdout: '', stderr: '' });
      return statSync(output).size;
    });
    expect(sizes[0]).toBe(sizes[1]);
  });
}

for (const [args, listed] of [
  [['-o', 'help'], 'The output format raw has no options\n'],
  [['-O', 'vpc', '-o', '?'], 'subformat=fixed|dynamic (default: fixed)\nforce_size=on (default: on)\n'],
  [
    ['-O', 'vmdk', '-o', 'help'],
    'subformat=streamOptimized (default: streamOptimized)\nadapter_type=lsilogic|buslogic|ide|legacyESX',
  ],
] as const) {
  test(`lists the options and converts nothing: ${args.join(' ')}`, args.at(1) === 'vpc' ? {} : FULL, ({ folder }) => {
    for (const files of [[], [images.kinds(), join(folder, 'out')]]) {
      const { status, stdout, stderr } = decant('convert', ...args, ...files);
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      expect(stdout.startsWith(listed)).toBe(true);
      expect(readdirSync(folder)).toEqual([]);
    }
  });
}

test('the API chooses options, and lists those that it recommends', ({ folder }) => {
  const seen = program<[string, object, boolean, boolean][]>(
    `const image = await decant.open(args[0]);
     await image.convert(args[1], { format: 'qcow2', formatOptions: { compress: 'on', cluster_size: '4096' } });
     await image.close();
     const of = ({ name, recommended, streamable, resumable }) => [name, recommended, streamable, resumable];
     console.log(JSON.stringify(image.formats.map(of)));`,
    images.kinds(),
    join(folder, 'out'),
  );
  expect(seen).toEqual([
    ['raw', {}, true, true],
    ['qcow2', { compress: 'on' }, false, false],
    ['vmdk', {}, true, false],
    ['vpc', {}, true, true],
    ['vhdx', {}, false, false],
    ['vdi', {}, false, false],
    ['raw.gz', {}, true, false],
    ['raw.zst', {}, true, false],
    ['raw.xz', {}, true, false],
    ['tar.gz', {}, true, false],
    ['ova', {}, false, false],
  ]);
  expect(JSON.parse(qemuImg('info', '--output=json', join(folder, 'out')))['cluster-size']).toBe(4096);
  qemuImg('compare', join(folder, 'out'), images.kinds());
});

test('the API takes numbers and switches for options', ({ folder }) => {
  const uuid = '8d5c4f0e-7a35-4b0c-9d2e-1f6a7b8c9d0e';
  const same: [format: string, typed: object, texts: Record<string, string>][] = [
    ['qcow2', { compress: true, cluster_size: 4096, lazy_refcounts: false }, { compress: 'on', cluster_size: '4k' }],
    ['qcow2', { compress: false, compat: undefined, refcount_bits: 16 }, { compress: 'off' }],
    ['vdi', { static: true, uuid }, { static: 'on', uuid }],
    ['ova', { cpus: 4, memory: 1024, uuid, name: 'vm' }, { cpus: '4', memory: '1G', uuid, name: 'vm' }],
  ];
  const refused: [format: string, typed: object, message: string][] = [
    [
      'qcow2',
      { lazy_refcounts: true },
      "'on' is not a valid lazy_refcounts of the output format qcow2; it is always off",
    ],
    ['qcow2', { cluster_size: 4097 }, "'4097' is not a valid cluster_size of the output format qcow2"],
    ['qcow2', { compat: 0.1 }, "'0.1' is not a valid compat of the output format qcow2"],
    ['ova', { cpus: 1.5 }, "'1.5' is not a valid cpus of the output format ova"],
    ['raw.gz', { level: 5 }, "The output format raw.gz has no option 'level'"],
    ['raw.gz', { level: [5] }, "The option 'level' must be a string, a number, true or false"],
  ];
  const messages = program<[convert: string, measure: string][]>(
    `const [image, folder, same, refused] = [await decant.open(args[0]), args[1], ${JSON.stringify(same)}, ${JSON.stringify(refused)}];
     for (const [at, [format, ...options]] of same.entries())
       for (const [form, formatOptions] of options.entries()) await image.convert(\`\${folder}/\${at}-\${form}\`, { format, formatOptions });
     const message = (call) => call.then(() => '', ({ kind, message }) => \`\${kind}: \${message}\`);
     const messages = [];
     for (const [format, formatOptions] of refused) messages.push([
       await message(image.convert(folder + '/refused', { format, formatOptions })),
       await message(image.measure({ format, formatOptions })),
     ]);
     console.log(JSON.stringify(messages));
     await image.close();`,
    images.kinds(),
    folder,
  );
  const written = (name: string) => readFileSync(join(folder, name));
  for (const at of same.keys()) expect(written(`${at}-0`).equals(written(`${at}-1`)), `row ${at}`).toBe(true);
  for (const [at, [, , expected]] of refused.entries())
    expect(messages[at]).toEqual([0, 1].map(() => expect.stringContaining(`usage: ${expected}`)));
});
