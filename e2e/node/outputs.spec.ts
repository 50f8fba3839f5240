// Outputs of the command besides a raw file: other formats, and standard output.

import { execFileSync, spawnSync } from 'node:child_process';
import {
  closeSync,
  copyFileSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { crc32, gunzipSync } from 'node:zlib';
import { cli, decant, program, run, startProgram } from '../support/command.js';
import { diskUsage, flush, hashFile, images, PASSWORD, qemuImg } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';

const MIB = 2 ** 20;
const FOOTER = 512;

/** The result of `gunzipSync` with `info`. */
interface Info {
  buffer: Buffer;
  engine: { bytesWritten: number };
}

/** The last bytes of a file. */
function footerOf(path: string): Buffer {
  const footer = Buffer.alloc(FOOTER);
  const fd = openSync(path, 'r');
  readSync(fd, footer, 0, FOOTER, statSync(path).size - FOOTER);
  closeSync(fd);
  return footer;
}

/** Runs the command in a shell, in `folder`: `script` calls it as `decant`. */
function shell(folder: string, script: string) {
  const command = `decant() { '${process.execPath}' '${cli}' "$@"; }; ${script}`;
  return run('bash', ['-o', 'pipefail', '-c', command], { cwd: folder });
}

for (const [image, tag] of [
  ['zlib', ['@full']],
  ['plain', ['@full']],
  ['kinds', []],
] as const) {
  test(`${image} becomes a fixed VHD of the same content, as sparse`, { tag: [...tag] }, ({ folder }) => {
    const output = join(folder, 'out.vhd');
    const path = images[image]();
    expect(decant('convert', '-O', 'vpc', path, output)).toEqual({ status: 0, stdout: '', stderr: '' });
    expect(readdirSync(folder)).toEqual(['out.vhd']);
    const { 'virtual-size': size } = JSON.parse(qemuImg('info', '--output=json', path));
    expect(JSON.parse(qemuImg('info', '-f', 'vpc', '--output=json', output))).toMatchObject({ 'virtual-size': size });
    expect(statSync(output).size).toBe(size + FOOTER);
    qemuImg('compare', '-f', 'vpc', '-F', 'qcow2', output, path);
    const raw = join(folder, 'out.raw');
    decant('convert', path, raw);
    // Until its last blocks are on the disk, a new file's size there still changes.
    for (const path of [output, raw]) flush(path);
    expect(diskUsage(output)).toBeLessThanOrEqual(diskUsage(raw) * 1.01 + 8192);
  });
}

test('a size that is not a whole number of MiB is rounded up, with a notice', ({ folder }) => {
  const [image, output] = [join(folder, 'odd.qcow2'), join(folder, 'odd.vhd')];
  qemuImg('create', '-q', '-f', 'qcow2', image, String(3 * MIB + 512));
  execFileSync('qemu-io', ['-c', `write -q -P 7 ${3 * MIB} 512`, image]);
  const said = 'The disk grows by 1023.5 KiB of zeros, since Azure accepts only whole MiB';
  const result = decant('convert', '-O', 'vpc', '-o', 'subformat=fixed', image, output);
  expect(result).toMatchObject({ status: 0, stdout: '', stderr: expect.stringContaining(said) });
  expect(statSync(output).size).toBe(4 * MIB + FOOTER);
  expect(JSON.parse(qemuImg('info', '-f', 'vpc', '--output=json', output))['virtual-size']).toBe(4 * MIB);
  qemuImg('compare', '-f', 'vpc', '-F', 'qcow2', output, image);
  expect(decant('convert', '-q', '-O', 'vpc', image, output)).toEqual({ status: 0, stdout: '', stderr: '' });
  const seen = program<unknown[]>(
    `const image = await decant.open(args[0]);
     const { virtualSize, outputSize, bytesWritten, holeBytes, notices } = await image.convert(args[1], { format: 'vpc' });
     await image.close();
     console.log(JSON.stringify([virtualSize, outputSize, bytesWritten, holeBytes, notices]));`,
    image,
    output,
  );
  const written = 4096 - 3584 + FOOTER;
  const grown = { code: 'disk-grows', fields: { added: MIB - 512, unit: MIB }, message: expect.stringContaining(said) };
  expect(seen).toEqual([3 * MIB + 512, 4 * MIB + 512, written, 4 * MIB + 512 - written, [grown]]);
});

for (const [options, tag] of [
  ['force_size', '@full'],
  ['force_size=on', '@full'],
  ['subformat=fixed,force_size', []],
  ['force_size=off,force_size', '@full'],
] as const) {
  test(`-o ${options}: the size is that of the disk`, { tag: typeof tag === 'string' ? tag : [] }, ({ folder }) => {
    const output = join(folder, 'out.vhd');
    const result = decant('convert', '-O', 'vpc', '-o', options, images.kinds(), output);
    expect(result).toEqual({ status: 0, stdout: '', stderr: '' });
    expect(statSync(output).size).toBe(10 * MIB + FOOTER);
  });
}

test('each footer has its own identity, and none the time at which it was made', ({ folder }) => {
  const footers = ['a.vhd', 'b.vhd'].map((name) => {
    decant('convert', '-O', 'vpc', images.kinds(), join(folder, name));
    return footerOf(join(folder, name));
  }) as [Buffer, Buffer];
  const identities = footers.map((footer) => footer.subarray(68, 84).toString('hex'));
  expect(new Set(identities).size).toBe(2);
  for (const [at, footer] of footers.entries()) {
    expect(identities[at]).toMatch(/^.{12}4.{3}[89ab].{15}$/);
    expect(footer.readUInt32BE(24)).toBe(0);
  }
});

test('the output formats of an image', () => {
  const outputs = (image: string) =>
    program<Record<string, unknown>[]>(
      `const image = await decant.open(args[0]);
       console.log(JSON.stringify(image.formats));
       await image.close();`,
      image,
    );
  const common = { recommended: {}, streamable: true, hasFooter: false, notices: [] };
  const plain = { compressed: false, resumable: true, ...common };
  // Their options are the subject of assembled-outputs.spec.ts.
  const others = ['qcow2', 'vmdk'].map((name) => expect.objectContaining({ name, compressed: true }));
  // And vhdx-vdi.spec.ts.
  const inBlocks = [
    { name: 'vhdx', sectorSize: 512 },
    { name: 'vdi', extension: '.vdi' },
  ].map((format) => expect.objectContaining({ ...format, compressed: false, resumable: false, streamable: false }));
  const raw = { name: 'raw', label: 'Raw disk', extension: '.raw', options: [], ...plain };
  const options = [
    { name: 'subformat', default: 'fixed', values: ['fixed', 'dynamic'] },
    { name: 'force_size', default: 'on', values: ['on'] },
  ];
  const vhd = {
    name: 'vpc',
    label: 'VHD',
    hint: 'For Azure',
    extension: '.vhd',
    options,
    ...plain,
    hasFooter: true,
  };
  const compressed = { options: [], compressed: true, resumable: false, ...common };
  const gzip = { name: 'raw.gz', label: 'Raw disk, compressed', extension: '.raw.gz', ...compressed };
  const blocks = [
    { name: 'raw.zst', label: 'Raw disk, zstd', extension: '.raw.zst', ...compressed, hasFooter: true },
    { name: 'raw.xz', label: 'Raw disk, xz', extension: '.raw.xz', ...compressed, hasFooter: true },
  ];
  const tar = {
    name: 'tar.gz',
    label: 'tar.gz with disk.raw',
    hint: 'For Google Cloud',
    extension: '.tar.gz',
    ...compressed,
  };
  const ova = expect.objectContaining({
    name: 'ova',
    label: 'OVA',
    compressed: true,
    streamable: false,
    options: expect.arrayContaining([
      { name: 'cpus', default: '2', values: ['2'], other: 'a number from 1 to 65534' },
      { name: 'firmware', default: 'bios', values: ['bios', 'efi'] },
    ]),
  });
  expect(outputs(images.kinds())).toEqual([
    { ...raw, outputSize: 10 * MIB },
    ...others,
    { ...vhd, outputSize: 10 * MIB + FOOTER },
    ...inBlocks,
    gzip,
    ...blocks,
    {
      ...tar,
      notices: [
        { code: 'disk-grows', fields: { added: 1024 * MIB - 10 * MIB, unit: 1024 * MIB }, message: expect.any(String) },
      ],
    },
    ova,
  ]);
  expect(outputs(images.huge())).toEqual([
    { ...raw, outputSize: 2 ** 43 },
    ...others,
    {
      ...vhd,
      resumable: false,
      streamable: false,
      refusal: {
        kind: 'limit',
        code: 'vhd-too-large',
        fields: { size: 2 ** 43 },
        message: expect.stringContaining('at most 2040 GiB'),
      },
    },
    ...inBlocks,
    gzip,
    ...blocks,
    tar,
    ova,
  ]);
});

test('what the converted disk inherits is noted', ({ folder }) => {
  const [dirty, large, output] = ['dirty.qcow2', 'large.raw', 'out.vhd'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  qemuImg('create', '-q', '-f', 'qcow2', dirty, '1M');
  const header = readFileSync(dirty);
  // The incompatible feature "dirty".
  header[72 + 7] = 1;
  writeFileSync(dirty, header);
  // A GPT header for sectors of 4,096 bytes.
  const disk = Buffer.alloc(1 << 20);
  const gpt = disk.subarray(4096, 4096 + 92);
  gpt.write('EFI PART');
  gpt.set([0, 0, 1, 0, 92, 0, 0, 0], 8);
  gpt[24] = 1;
  gpt.writeUInt32LE(crc32(gpt), 16);
  writeFileSync(large, disk);
  for (const [args, note] of [
    [[dirty], 'The image was not closed properly; the guest may want to check its file systems'],
    [['-f', 'raw', large], 'The disk has sectors of 4096 bytes; programs that assume 512 do not find its partitions'],
  ] as const) {
    expect(decant('convert', ...args, output)).toEqual({ status: 0, stdout: '', stderr: `decant: note: ${note}\n` });
  }
});

// (arguments, exit code, a part of the message, where it runs)
for (const [args, status, part, tag = '@full'] of [
  [
    ['-O', 'qed', 'KINDS', 'out'],
    2,
    "no output format 'qed'; choose one of raw, qcow2, vmdk, vpc, vhdx, vdi, raw.gz, raw.zst, raw.xz, tar.gz, ova",
    [],
  ],
  [['-O', 'vpc', '-o', 'subformat=differencing', 'KINDS', 'out'], 2, "'differencing' is not a valid subformat of"],
  [
    ['-O', 'vpc', '-o', 'subformat', 'KINDS', 'out'],
    2,
    'not a valid subformat of the output format vpc; choose one of fixed, dynamic',
  ],
  [
    ['-O', 'vpc', '-o', 'force_size=off', 'KINDS', 'out'],
    2,
    "'off' is not a valid force_size of the output format vpc; it is always on",
  ],
  [['-O', 'vpc', '-o', 'subformat=fixed,id=1', 'KINDS', 'out'], 2, "no option 'id'; it has subformat, force_size"],
  [['-O', 'vpc', '-o', 'subformat=fixed,size=1', 'KINDS', 'out'], 2, "option 'size': the disk keeps its size"],
  [['-o', 'subformat=fixed', 'KINDS', 'out'], 2, "raw has no option 'subformat'"],
  [['-o', 'toString=x', 'KINDS', 'out'], 2, "raw has no option 'toString'"],
  [['-o', 'subformat', 'KINDS', 'out'], 2, "raw has no option 'subformat'"],
  [['-o', '=fixed', 'KINDS', 'out'], 2, "'-o =fixed' is not NAME=VALUE"],
  [['-O', 'vpc', 'HUGE', 'out'], 1, 'A VHD holds at most 2040 GiB, but the disk has 8192 GiB', []],
  [['-O', 'vpc', 'HUGE', '-'], 1, 'A VHD holds at most 2040 GiB'],
  [['--sync', 'KINDS', '-'], 2, '--sync needs a file'],
] as [string[], number, string, []?][]) {
  test(`said before anything is written: ${args.join(' ')}`, { tag }, ({ folder }) => {
    const names: Record<string, string> = { KINDS: images.kinds(), HUGE: images.huge(), out: join(folder, 'out') };
    const result = decant('convert', ...args.map((argument) => names[argument] ?? argument));
    expect(result.stderr).toMatch(/^decant: [^\n]*\n$/);
    expect(result.stderr).toContain(part);
    expect(result.status).toBe(status);
    expect(readdirSync(folder)).toEqual([]);
  });
}

test.describe('standard output', () => {
  for (const [format, tag] of [
    ['raw', []],
    ['vpc', ['@full']],
  ] as const) {
    test(`gets a ${format} disk through a pipe, and in a file`, { tag: [...tag] }, ({ folder }) => {
      const script = `decant convert -p -O ${format} "$0" - | cat > pipe && decant convert -O ${format} "$0" - > file`;
      const { status, stderr } = shell(folder, script.replaceAll('$0', images.zlib()));
      expect(status).toBe(0);
      // The progress, and nothing else.
      expect(stderr).toMatch(/^(\r *(\([0-9.]+\/100%\).*)?)+\n$/);
      for (const name of ['pipe', 'file']) {
        qemuImg('compare', '-f', format, '-F', 'qcow2', join(folder, name), images.zlib());
      }
      if (format === 'raw') expect(hashFile(join(folder, 'pipe'))).toBe(hashFile(images.raw()));
    });
  }

  test('a reader that ends early fails the conversion', ({ folder }) => {
    const { status, stderr } = shell(folder, `decant convert '${images.zlib()}' - | head -c 1000 > /dev/null`);
    expect(stderr).toBe('decant: Could not write to standard output: its reader has ended\n');
    expect(status).toBe(1);
  });

  test('a terminal is refused', ({ folder }) => {
    const command = `'${process.execPath}' '${cli}' convert '${images.kinds()}' -`;
    const { stdout } = spawnSync('script', ['-qec', command, '/dev/null'], { cwd: folder, encoding: 'utf8' });
    expect(stdout).toBe('decant: Standard output is a terminal; redirect it to a file or a program\r\n');
  });

  test('a file that is read is refused', ({ folder }) => {
    const image = join(folder, 'image.qcow2');
    copyFileSync(images.kinds(), image);
    const before = hashFile(image);
    for (const script of [
      'decant convert image.qcow2 - >> image.qcow2',
      'decant convert ./image.qcow2 - 1<> image.qcow2',
    ]) {
      expect(shell(folder, script)).toMatchObject({
        status: 2,
        stderr: expect.stringContaining('an input of the command'),
      });
      expect(hashFile(image)).toBe(before);
    }
    const chain = images.chain();
    for (const path of [chain.top, ...chain.below])
      copyFileSync(path, join(folder, path.slice(path.lastIndexOf('/') + 1)));
    const script = 'decant convert --with middle.qcow2 --with base.qcow2 top.qcow2 - >> base.qcow2';
    expect(shell(folder, script)).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("'base.qcow2', an input"),
    });
  });

  test('a reader that does not read does not keep a signal from ending the command', async () => {
    const { child, ended } = startProgram(process.execPath, [cli, 'convert', images.largeRaw(), '-f', 'raw', '-']);
    const stdout = child.stdout!;
    // Stops reading after a part has arrived: another listener would prevent other readers.
    await new Promise<void>((resolve) => stdout.on('readable', resolve));
    child.kill('SIGTERM');
    expect(await new Promise((resolve) => child.once('exit', resolve))).toBe(143);
    stdout.removeAllListeners('readable');
    stdout.resume();
    expect((await ended).stderr).toBe('decant: interrupted\n');
  });
});

test.describe('what the command reads besides is no output:', () => {
  const read = [
    ['the file of standard input', 'gzip -1c disk > it', 'convert -f raw - it < it', []],
    ['the same by a link', 'gzip -1c disk > it && ln -s it link', 'convert -f raw - link < it', ['@full']],
    ['a password file', `printf '${PASSWORD}' > it`, 'convert --password-file it luks.qcow2 it', []],
    [
      'the password file of a layer',
      `printf '${PASSWORD}' > it`,
      'convert --password-file luks.qcow2=it luks.qcow2 it',
      ['@full'],
    ],
    [
      'a password file, to standard output',
      `printf '${PASSWORD}' > it`,
      'convert --password-file it luks.qcow2 - >> it',
      ['@full'],
    ],
    [
      'a password by standard input',
      `printf '${PASSWORD}' > it`,
      'convert --password-file - luks.qcow2 it < it',
      ['@full'],
    ],
  ] as const;
  for (const [what, made, command, tag] of read) {
    test(what, { tag: [...tag] }, ({ folder }) => {
      copyFileSync(images.raw(), join(folder, 'disk'));
      copyFileSync(images.luks(), join(folder, 'luks.qcow2'));
      execFileSync('bash', ['-c', made], { cwd: folder });
      const before = [hashFile(join(folder, 'it')), readdirSync(folder)];
      const refused = { status: 2, stderr: expect.stringContaining('an input of the command; choose another output') };
      expect(shell(folder, `decant ${command}`)).toMatchObject(refused);
      expect([hashFile(join(folder, 'it')), readdirSync(folder)]).toEqual(before);
    });
  }
});

test('a stream gets a VHD, in pieces of a mebibyte', ({ folder }) => {
  const seen = program<{ sizes: number[]; outputSize: number; holeBytes: number }>(
    `import { createWriteStream } from 'node:fs';
     const file = createWriteStream(args[1]);
     const sizes = [];
     const stream = new WritableStream({
       write(piece) { sizes.push(piece.length); file.write(piece); },
       close: () => new Promise((resolve) => file.end(resolve)),
     });
     const image = await decant.open(args[0]);
     const { outputSize, holeBytes } = await image.convert(stream, { format: 'vpc' });
     await image.close();
     console.log(JSON.stringify({ sizes, outputSize, holeBytes }));`,
    images.kinds(),
    join(folder, 'out.vhd'),
  );
  expect(seen).toEqual({ sizes: [...Array(10).fill(MIB), FOOTER], outputSize: 10 * MIB + FOOTER, holeBytes: 0 });
  qemuImg('compare', '-f', 'vpc', '-F', 'qcow2', join(folder, 'out.vhd'), images.kinds());
  expect(
    readFileSync(join(folder, 'out.vhd'))
      .subarray(10 * MIB, 10 * MIB + 8)
      .toString(),
  ).toBe('conectix');
});

test.describe('compressed disks', () => {
  /** The digest of a shell command's output for `path`. */
  const digest = (path: string, command: string): string =>
    execFileSync('bash', ['-o', 'pipefail', '-c', `{ ${command}; } < "$0" | sha256sum`, path], {
      encoding: 'utf8',
    }).slice(0, 64);

  for (const [image, tag] of [
    ['zlib', ['@full']],
    ['kinds', []],
  ] as const) {
    test(`${image} becomes one member of gzip`, { tag: [...tag] }, ({ folder }) => {
      const path = images[image]();
      const [raw, output] = [join(folder, 'out.raw'), join(folder, 'out.raw.gz')];
      decant('convert', path, raw);
      expect(decant('convert', '-O', 'raw.gz', path, output)).toEqual({ status: 0, stdout: '', stderr: '' });
      expect(readdirSync(folder).sort()).toEqual(['out.raw', 'out.raw.gz']);
      expect(digest(output, 'gzip -dc')).toBe(hashFile(raw));
      // zlib reports the end of the first member, so a second one would be found.
      const { engine, buffer } = gunzipSync(readFileSync(output), { info: true }) as unknown as Info;
      expect(engine.bytesWritten).toBe(statSync(output).size);
      expect(buffer.length).toBe(statSync(raw).size);
    });
  }

  const done = { status: 0, stdout: '', stderr: '' };

  // (output, a program that checks it, one that decompresses it)
  for (const [format, check, decompress, details] of [
    ['raw.zst', 'zstd -tq', 'zstd -dc', {}],
    ['raw.xz', 'xz -t', 'xz -dc', FULL],
  ] as const) {
    test(`${format} is checked by its own program, and read back`, details, ({ folder }) => {
      const path = images.kinds();
      const [raw, output, again] = [join(folder, 'out.raw'), join(folder, `out.${format}`), join(folder, 'again.raw')];
      decant('convert', path, raw);
      expect(decant('convert', path, output)).toEqual(done);
      expect(shell(folder, `${check} out.${format}`)).toEqual(done);
      expect(digest(output, decompress)).toBe(hashFile(raw));
      expect(decant('convert', '-f', 'raw', '--unpack', output, again)).toEqual(done);
      expect(hashFile(again)).toBe(hashFile(raw));
    });
  }

  for (const [image, places] of [
    ['kinds', ['a file']],
    ['zlib', ['a file', 'a pipe']],
  ] as const) {
    for (const place of places) {
      test(
        `an archive of ${image} in ${place} has the disk, in whole GiB, as tar reads it`,
        { tag: '@full' },
        ({ folder }) => {
          const path = join(folder, 'out.tar.gz');
          const output = place === 'a file' ? 'out.tar.gz' : '- | cat > out.tar.gz';
          const { status, stderr } = shell(folder, `decant convert -O tar.gz '${images[image]()}' ${output}`);
          expect({ status, stderr }).toEqual({ status: 0, stderr: expect.stringContaining('whole GiB') });
          const listed = execFileSync('tar', ['-tvzf', path], { encoding: 'utf8' });
          expect(listed).toMatch(/^-rw-r--r-- root\/root +1073741824 .* disk\.raw\n$/);
          const raw = join(folder, 'disk.raw');
          qemuImg('convert', '-O', 'raw', images[image](), raw);
          expect(digest(path, `tar -xzO disk.raw 2>&- | head -c ${statSync(raw).size} || true`)).toBe(hashFile(raw));
        },
      );
    }
  }

  test('the bytes depend neither on workers nor on memory nor on the source', ({ folder }) => {
    const path = join(folder, 'disk.raw');
    // Incompressible data, without zeros.
    const noise = Buffer.alloc(9 << 20);
    for (let at = 0, state = 1; at < noise.length; at += 1) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      noise[at] = (state >>> 24) | 1;
    }
    writeFileSync(path, noise);
    const digests = program<string[]>(
      `const { createHash } = await import('node:crypto');
       const bytes = new Uint8Array((await import('node:fs')).readFileSync(args[0]));
       const own = { size: bytes.length, read: async (offset, length) => bytes.slice(offset, offset + length), expect() {} };
       const digests = [];
       for (const [source, workers, memory] of [
         [args[0], 1], [args[0], 2], [args[0], 4], [args[0], 4, 32 << 20], [own, 1], [own, 3], [own, 3, 32 << 20],
       ]) {
         const image = await decant.open(source, { inputFormat: 'raw', workers });
         const hash = createHash('sha256');
         const output = new WritableStream({ write(piece) { hash.update(piece); } });
         await image.convert(output, { format: 'raw.gz', ...(memory && { memory }) });
         await image.close();
         digests.push(hash.digest('hex'));
       }
       console.log(JSON.stringify(digests));`,
      path,
    );
    expect(digests).toEqual(digests.map(() => digests[0]));
    expect(digests).toHaveLength(7);
  });

  test('results tell sizes, and a stream gets the same bytes as a file', { tag: '@full' }, ({ folder }) => {
    const seen = program<{ outputSize: number; bytesWritten: number; holeBytes: number; streamed: number }>(
      `const image = await decant.open(args[0]);
       const { outputSize, bytesWritten, holeBytes } = await image.convert(args[1], { format: 'raw.gz' });
       let streamed = 0;
       await image.convert(new WritableStream({ write(piece) { streamed += piece.length; } }), { format: 'raw.gz' });
       await image.close();
       console.log(JSON.stringify({ outputSize, bytesWritten, holeBytes, streamed }));`,
      images.zlib(),
      join(folder, 'out.gz'),
    );
    const { size } = statSync(join(folder, 'out.gz'));
    expect(seen).toEqual({ outputSize: size, bytesWritten: size, holeBytes: 0, streamed: size });
  });
});
