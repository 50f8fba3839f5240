// Raw disks in gzip, xz, zstd, bzip2 and lz4, images in tar and zip archives, and streams as the image: the command and the package.

import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { cli, decant, program, run } from '../support/command.js';
import { DISK_SIZE, diskUsage, flush, hashFile, images, qemuImg } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';
import { byScope } from '../support/scope.js';

const MIB = 2 ** 20;
const GUESSED = 'not in a recognised format; it is read as raw';

/** Runs a script with `decant` in `folder`. */
function shell(folder: string, script: string) {
  const command = `decant() { '${process.execPath}' '${cli}' "$@"; }; ${script}`;
  return run('bash', ['-o', 'pipefail', '-c', command], { cwd: folder });
}

/** `images.raw()` as `pack` writes it to standard output, as a file. */
function packed(folder: string, name: string, pack: string): string {
  execFileSync('bash', ['-o', 'pipefail', '-c', `${pack} > '${name}'`], { cwd: folder });
  return join(folder, name);
}

const raw = () => images.raw();
const tarOf = (path: string) => `tar -cf - -C '${dirname(path)}' '${basename(path)}'`;

/** Half of the disk. */
const HALF = DISK_SIZE / 2;

/** One that is read in order, and one decoded in parallel: the other codecs by standard input. */
const RAW_IN_SHORT = ['disk.gz', 'blocks.xz'];

for (const [name, pack, details] of [
  ['disk.gz', () => `gzip -1c '${raw()}'`, FULL],
  ['two.gz', () => `(head -c ${HALF} '${raw()}' | gzip -1c; tail -c +${HALF + 1} '${raw()}' | pigz -1c)`, FULL],
  ['disk.tar.gz', () => `${tarOf(raw())} | gzip -1c`, FULL],
  ['disk.xz', () => `xz -0c '${raw()}'`, FULL],
  ['blocks.xz', () => `xz -0cT2 --block-size=1MiB '${raw()}'`, FULL],
  ['disk.zst', () => `zstd -qc '${raw()}'`, FULL],
  ['disk.lz4', () => `lz4 -qc '${raw()}'`, FULL],
  ['disk.tar.bz2', () => `${tarOf(raw())} | bzip2 -1c`, FULL],
] as const) {
  test(`${name} becomes a raw disk, as sparse as any`, RAW_IN_SHORT.includes(name) ? {} : FULL, ({ folder }) => {
    const file = packed(folder, name, pack());
    const stderr = expect.stringMatching(
      `^decant: note: The content of the (gzip|xz|zstd|lz4|tar) file is ${GUESSED}\n$`,
    );
    expect(decant('convert', file, join(folder, 'out'))).toEqual({ status: 0, stdout: '', stderr });
    expect(hashFile(join(folder, 'out'))).toBe(hashFile(raw()));
    decant('convert', images.zlib(), join(folder, 'other'));
    for (const output of ['out', 'other']) flush(join(folder, output));
    expect(diskUsage(join(folder, 'out'))).toBeLessThanOrEqual(diskUsage(join(folder, 'other')) * 1.01 + 8192);
  });

  test(`${name} becomes every output`, details, ({ folder }) => {
    const file = packed(folder, name, pack());
    const convert = (...args: string[]) => decant('convert', ...args, file, join(folder, 'out'));
    expect(convert('-O', 'vpc')).toMatchObject({ status: 0 });
    qemuImg('compare', '-f', 'vpc', '-F', 'raw', join(folder, 'out'), raw());
    expect(convert('-O', 'raw.gz')).toMatchObject({ status: 0 });
    expect(shell(folder, `gzip -dc out | cmp - '${raw()}'`)).toMatchObject({ status: 0 });
    const stderr = expect.stringContaining('the size of the disk is needed first');
    const said = name === 'disk.gz' ? { stderr } : {};
    expect(convert('-O', 'qcow2')).toMatchObject({ status: 0, ...said });
    qemuImg('compare', '-f', 'qcow2', '-F', 'raw', join(folder, 'out'), raw());
    expect(convert('-O', 'tar.gz')).toMatchObject({ status: 0 });
    expect(shell(folder, `{ tar -xzOf out || true; } | cmp -n ${DISK_SIZE} - '${raw()}'`)).toMatchObject({ status: 0 });
  });
}

test('the disk of a stream is stored if its size is needed first, which --spool allows', ({ folder }) => {
  const file = packed(folder, 'disk.gz', `gzip -1c '${raw()}'`);
  const convert = (args: string) => shell(folder, `cat '${file}' | '${process.execPath}' '${cli}' convert ${args}`);
  const refused = convert('- out.qcow2');
  expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining('--spool') });
  expect(existsSync(join(folder, 'out.qcow2'))).toBe(false);
  const stderr = expect.stringContaining('the disk is stored in a temporary file');
  const all = [`--spool='${folder}' - out.qcow2`, `--spool='${folder}' -c -O qcow2 - - >out.qcow2`];
  for (const args of all.slice(0, byScope({ short: 1, full: 2 }))) {
    expect(convert(args)).toMatchObject({ status: 0, stderr });
    qemuImg('compare', '-f', 'qcow2', '-F', 'raw', join(folder, 'out.qcow2'), raw());
  }
  expect(readdirSync(folder).sort()).toEqual(['disk.gz', 'out.qcow2']);
});

test('-f raw takes the bytes of a packed file, with a note, and --unpack its content', ({ folder }) => {
  startOfDisk(folder);
  const disk = join(folder, 'disk');
  const file = packed(folder, 'disk.gz', 'gzip -1c disk');
  const out = join(folder, 'out');
  const noted = expect.stringContaining('is a gzip-compressed file');
  expect(decant('info', '-f', 'raw', file)).toMatchObject({ status: 0, stdout: noted });
  expect(decant('convert', '-f', 'raw', file, out)).toMatchObject({ status: 0, stderr: noted });
  expect(statSync(out).size).toBe(Math.ceil(statSync(file).size / 512) * 512);
  expect(decant('convert', '-f', 'raw', '--unpack', file, out)).toEqual({ status: 0, stdout: '', stderr: '' });
  expect(hashFile(out)).toBe(hashFile(disk));
  expect(decant('convert', '--unpack', file, out)).toMatchObject({ status: 2 });
  expect(decant('convert', '-f', 'raw', '--unpack', disk, out)).toMatchObject({ status: 2 });
});

test('an image in a tar archive is read in place', ({ folder }) => {
  const image = images.zlib();
  writeFileSync(join(folder, 'a.ovf'), '<xml/>');
  const file = packed(folder, 'a.ova', `tar -cf - -C '${folder}' a.ovf -C '${dirname(image)}' '${basename(image)}'`);
  expect(decant('convert', file, join(folder, 'out'))).toEqual({ status: 0, stdout: '', stderr: '' });
  expect(hashFile(join(folder, 'out'))).toBe(hashFile(raw()));
  const info = JSON.parse(decant('info', '--output=json', file).stdout);
  const containers = [{ name: 'tar', member: basename(image) }];
  expect(info).toMatchObject({ format: 'qcow2', 'virtual-size': DISK_SIZE, decant: { containers } });
  expect(info.decant['file-size']).toBe(statSync(image).size);
  // Offsets are those in the archive: data follows three headers and a short file.
  const plain = images.plain();
  const other = packed(folder, 'b.tar', tarOf(plain));
  const map = (path: string): { start: number; offset?: number }[] =>
    JSON.parse(decant('map', '--output=json', path).stdout);
  const [inArchive, alone] = [map(other), map(plain)];
  expect(inArchive.map(({ offset }) => offset)).toEqual(
    alone.map(({ offset }) => (offset === undefined ? undefined : offset + 512)),
  );
});

/** A zip archive of the file `path`, made by Python with `method`. */
function zip(folder: string, name: string, path: string, method: 'STORED' | 'DEFLATED'): string {
  const script =
    'import sys, zipfile as z; z.ZipFile(sys.argv[1], "w", getattr(z, "ZIP_" + sys.argv[2]), compresslevel=1).write(*sys.argv[3:])';
  execFileSync('python3', ['-c', script, join(folder, name), method, path, basename(path)]);
  return join(folder, name);
}

test('images in zip archives are read in place, in order, or unpacked', FULL, ({ folder }) => {
  const out = join(folder, 'out');
  const containers = (member: string) => ({ decant: { containers: [{ name: 'zip', member }] } });
  const stored = zip(folder, 'a.zip', images.zlib(), 'STORED');
  const unchecked = `decant: note: '${basename(images.zlib())}' was not compared with the checksum in the zip archive, since only parts of it are read\n`;
  expect(decant('convert', stored, out)).toEqual({ status: 0, stdout: '', stderr: unchecked });
  expect(hashFile(out)).toBe(hashFile(raw()));
  const info = JSON.parse(decant('info', '--output=json', stored).stdout);
  expect(info).toMatchObject({ format: 'qcow2', 'virtual-size': DISK_SIZE, ...containers(basename(images.zlib())) });
  const deflated = zip(folder, 'b.zip', raw(), 'DEFLATED');
  expect(decant('convert', deflated, out)).toMatchObject({ status: 0, stderr: expect.stringContaining(GUESSED) });
  expect(hashFile(out)).toBe(hashFile(raw()));
  expect(JSON.parse(decant('info', '--output=json', deflated).stdout)).toMatchObject({
    'virtual-size': DISK_SIZE,
    ...containers(basename(raw())),
  });
  const packed = zip(folder, 'c.zip', images.zlib(), 'DEFLATED');
  const stderr = `decant: note: unpacking '${packed}' to a temporary file in '${folder}'\n`;
  expect(decant('convert', packed, out)).toEqual({ status: 0, stdout: '', stderr });
  expect(hashFile(out)).toBe(hashFile(raw()));
});

test('the description of a disk in gzip, and refused operations', ({ folder }) => {
  const size = Math.min(9 * MIB, DISK_SIZE);
  const file = packed(folder, 'disk.gz', `head -c ${size} '${raw()}' | gzip -1c`);
  const text = decant('info', file);
  expect(text).toMatchObject({ status: 0, stderr: '' });
  for (const line of ['file format: raw', 'packed in: gzip', 'virtual size: unknown until its end is read', GUESSED]) {
    expect(text.stdout).toContain(line);
  }
  const info = JSON.parse(decant('info', '--output=json', file).stdout);
  expect(info).toMatchObject({ format: 'raw', decant: { containers: [{ name: 'gzip' }] } });
  expect(info).not.toHaveProperty('virtual-size');
  expect(decant('map', file)).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('A disk in a gzip file cannot be mapped; unpack it first'),
  });
  expect(decant('convert', '--snapshot', '1', file, join(folder, 'out'))).toMatchObject({ status: 2 });
  const seen = program(
    `const image = await decant.open(args[0]);
     const told = async (work) => { try { await work; } catch ({ kind, message }) { return [kind, message]; } };
     const seen = [await told(image.read(0, 512)), await told(image.readable().getReader().read())];
     const progress = [];
     const { virtualSize } = await image.convert(args[1], { onProgress: (one) => progress.push(one) });
     // The file is read anew.
     await image.convert(args[1]);
     await image.close();
     const last = progress.at(-1);
     seen.push([virtualSize, 'guestTotal' in last, last.guestDone, last.bytesRead === image.info.fileSize]);
     console.log(JSON.stringify(seen));`,
    file,
    join(folder, 'out'),
  );
  const sentence = 'A disk in a gzip file cannot be read in parts; unpack it first';
  expect(seen).toEqual([
    ['unsupported', sentence],
    ['unsupported', sentence],
    [size, false, size, true],
  ]);
});

test('damage and several disks leave nothing behind', ({ folder }) => {
  const file = packed(folder, 'disk.gz', `gzip -1c '${raw()}'`);
  truncateSync(file, statSync(file).size - 100);
  const cases: [string, string, number][] = [
    [file, 'truncated', 1],
    [
      packed(
        folder,
        'two.tar',
        `tar -cf - -C '${dirname(raw())}' $(basename '${images.zlib()}' ) $(basename '${images.plain()}')`,
      ),
      // A request that does not state which one.
      'holds 2 disk images',
      2,
    ],
  ];
  for (const [path, sentence, status] of cases) {
    const result = decant('convert', path, join(folder, 'out'));
    expect(result, path).toMatchObject({ status, stderr: expect.stringContaining(sentence) });
    expect(existsSync(join(folder, 'out'))).toBe(false);
  }
  expect(readdirSync(folder).sort()).toEqual(['disk.gz', 'two.tar']);
});

test('a backing file in a tar archive is read in place', FULL, ({ folder }) => {
  const image = images.zlib();
  const top = join(folder, 'top.qcow2');
  qemuImg('create', '-q', '-f', 'qcow2', '-F', 'qcow2', '-b', image, top);
  const archive = packed(folder, 'base.tar', tarOf(image));
  expect(decant('convert', '--with', `${image}=${archive}`, top, join(folder, 'out'))).toMatchObject({ status: 0 });
  expect(hashFile(join(folder, 'out'))).toBe(hashFile(raw()));
  const zipped = packed(folder, 'base.gz', `gzip -1c '${image}'`);
  expect(decant('convert', '--with', `${image}=${zipped}`, top, join(folder, 'new'))).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('The backing file is a gzip-compressed file, which can only be decoded in order'),
  });
  expect(existsSync(join(folder, 'new'))).toBe(false);
});

test('an archive that ends inside its disk is salvaged', ({ folder }) => {
  const file = packed(folder, 'disk.tar', tarOf(raw()));
  truncateSync(file, HALF);
  const refused = decant('convert', file, join(folder, 'out'));
  expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining('The image is truncated') });
  const { status, stderr } = decant('convert', '--salvage', file, join(folder, 'out'));
  // The first block of the archive is a header.
  const left = HALF - 512;
  expect(status).toBe(3);
  expect(stderr).toContain(`lost: ${DISK_SIZE - left} bytes at ${left}: the file ends before the end of the disk`);
  expect(statSync(join(folder, 'out')).size).toBe(DISK_SIZE);
  expect(
    shell(folder, `cmp -n ${left} out '${raw()}' && tail -c +${left + 1} out | tr -d '\\0' | wc -c`),
  ).toMatchObject({
    status: 0,
    stdout: '0\n',
  });
});

/** The size of `startOfDisk`: a whole number of sectors. */
const START = Math.min(4 * MIB, HALF);

/** The first bytes of the disk, as a file `disk` in `folder`. */
function startOfDisk(folder: string): void {
  packed(folder, 'disk', `head -c ${START} '${raw()}'`);
}

for (const [script, details] of [
  ['gzip -1c disk | decant convert - out && cmp out disk', FULL],
  ['xz -0c disk | decant convert - out && cmp out disk', FULL],
  ['zstd -qc disk | decant convert - out && cmp out disk', {}],
  ['bzip2 -1c disk | decant convert - out && cmp out disk', {}],
  ['lz4 -qcl disk | decant convert - out && cmp out disk', {}],
  ['cat disk | decant convert -f raw - out && cmp out disk', FULL],
  ['decant convert -f raw - out < disk && cmp out disk', FULL],
  ['gzip -1c disk | decant convert - - | cmp - disk', {}],
  ['tar -cf - disk | decant convert - out && cmp out disk', FULL],
  ["gzip -1c disk > disk.gz && decant info - < disk.gz | grep 'packed in: gzip'", FULL],
  // If it is a file, every format is read.
  ['qemu-img convert -O qcow2 disk image && decant convert - out < image && cmp out disk', {}],
  ['(dd of=start bs=512 count=1; decant convert -f raw - rest) < disk && cat start rest | cmp - disk', {}],
  ['decant convert -f raw <(cat disk) out && cmp out disk', {}],
  ['mkfifo pipe && { gzip -1c disk > pipe & } && decant convert pipe out && cmp out disk', FULL],
] as const) {
  test(`standard input is an image: ${script}`, details, ({ folder }) => {
    startOfDisk(folder);
    expect(shell(folder, script)).toMatchObject({ status: 0 });
  });
}

// (script, where `image` is one, exit code, a part of the message)
for (const [script, status, sentence, details] of [
  ['cat disk | decant convert - new', 1, 'state the format raw', {}],
  ['gzip -1c disk | decant map -', 1, 'cannot be mapped', FULL],
  ['gzip -1c disk | head -c -100 | decant convert - new', 1, 'truncated', {}],
  ['decant convert - new < /dev/null', 1, 'empty', FULL],
  ['cp disk same; decant convert -f raw - - < same >> same', 2, 'an input of the command', {}],
  [
    'cat disk | decant convert -f raw --password-file - - new',
    2,
    'Standard input is already the image; put the password into',
    FULL,
  ],
  [
    'cat disk | decant info --password-file a=- -',
    2,
    'Standard input is already the image; put the password into a file',
    FULL,
  ],
  ['decant convert -f raw - new < .', 1, 'Standard input is a folder', {}],
  // As a stream, it is refused for its size, which is not a whole number of sectors.
  ['decant convert - new < /proc/version', 1, 'if it is a raw disk, state the format raw (-f raw)', FULL],
  ['decant convert -f raw /proc/version new', 2, 'has content, but its size is 0', FULL],
  ['decant convert -f raw - new <&-', 1, 'The stream is empty', {}],
  ['false | decant convert -f raw - new', 1, 'The stream is empty', FULL],
  ['decant convert -f raw <(false) new', 1, 'The stream is empty', FULL],
  ['decant convert . new', 2, "'.' is a folder, not an image", FULL],
  ['decant convert /dev/zero new', 2, 'on the command line: - as the image', FULL],
  ['mkfifo base && decant convert --with base image new', 2, "'base' is a stream, but companions must be", FULL],
  ['xz -0c disk | head -c -100 | decant convert - new', 1, 'truncated', FULL],
  ['zstd -qc disk | head -c -100 | decant convert - new', 1, 'truncated', FULL],
  ['bzip2 -1c disk | head -c -100 | decant convert - new', 1, 'truncated', FULL],
  ['lz4 -qc disk | head -c -100 | decant convert - new', 1, 'truncated', FULL],
  [
    'gzip -1c disk | decant convert --salvage - new',
    1,
    'A disk in a gzip file, which is decoded in order, cannot be salvaged',
    {},
  ],
] as const) {
  test(`standard input is no image: ${script}`, details, ({ folder }) => {
    startOfDisk(folder);
    symlinkSync(images.zlib(), join(folder, 'image'));
    writeFileSync(join(folder, 'new'), 'precious');
    expect(shell(folder, script)).toMatchObject({ status, stderr: expect.stringContaining(sentence) });
    expect(readFileSync(join(folder, 'new'), 'utf8')).toBe('precious');
  });
}

test('a file that is not a disk is refused, and the old file stays', ({ folder }) => {
  writeFileSync(join(folder, 'page'), '<!DOCTYPE html>\n<html><body>Log in</body></html>\n');
  writeFileSync(join(folder, 'text'), 'Nothing shows that this is a disk.\n');
  for (const [script, sentence] of [
    ['decant convert page new', 'The file is a web page, not a disk image; '],
    ['gzip -1c page > page.gz && decant convert page.gz new', 'The gzip file holds a web page'],
    ['tar -cf page.tar page && decant convert page.tar new', "In 'page': The file is a web page"],
    ['gzip -1c text | decant convert - new', 'does not look like a raw disk'],
    ['(cat text && head -c 3M /dev/urandom) | gzip -1c | decant convert - new', 'does not look like a raw disk'],
  ] as const) {
    writeFileSync(join(folder, 'new'), 'precious');
    expect(shell(folder, script)).toMatchObject({ status: 1, stderr: expect.stringContaining(sentence) });
    expect(readFileSync(join(folder, 'new'), 'utf8')).toBe('precious');
  }
});

test('streams of Node and file handles in a program', ({ folder }) => {
  startOfDisk(folder);
  const seen = program<unknown[]>(
    `import { createReadStream } from 'node:fs';
     import { open, rm } from 'node:fs/promises';
     import { createServer, get } from 'node:http';
     import { spawn } from 'node:child_process';
     process.chdir(args[0]);
     const server = createServer((request, response) => createReadStream('disk').pipe(response));
     await new Promise((done) => server.listen(0, done));
     const answer = await new Promise((done) => get('http://localhost:' + server.address().port, done));
     const handle = await open(args[1]);
     // Node drains the output of an ended process, so each begins when it is read.
     const inputs = {
       file: () => [createReadStream('disk'), { inputFormat: 'raw' }],
       request: () => [answer, { inputFormat: 'raw' }],
       process: () => [spawn('gzip', ['-c', 'disk']).stdout, {}],
       handle: () => [handle, {}],
     };
     const seen = [];
     for (const [name, begin] of Object.entries(inputs)) {
       const [input, options] = begin();
       const image = await decant.open(input, options);
       if (name === 'handle') await handle.close();
       seen.push([image.info.format, (await image.convert(name)).virtualSize]);
       await image.close();
     }
     const image = await decant.open(createReadStream('missing'), { inputFormat: 'raw' });
     const failed = await image.convert('out').catch((error) => error);
     await image.close();
     seen.push([failed.kind, failed.cause.code]);
     server.close();
     console.log(JSON.stringify(seen));`,
    folder,
    images.zlib(),
  );
  const start = ['raw', START];
  expect(seen).toEqual([start, start, start, ['qcow2', DISK_SIZE], ['source', 'ENOENT']]);
  for (const name of ['file', 'request', 'process']) {
    expect(hashFile(join(folder, name))).toBe(hashFile(join(folder, 'disk')));
  }
  expect(hashFile(join(folder, 'handle'))).toBe(hashFile(raw()));
  expect(existsSync(join(folder, 'out'))).toBe(false);
});

test('a stream in a program', ({ folder }) => {
  // Not a whole number of sectors: the disk is longer.
  const size = Math.min(5_000_000, DISK_SIZE - 300);
  const file = packed(folder, 'disk.gz', `head -c ${size} '${raw()}' | gzip -1c`);
  const seen = program<unknown[]>(
    `import { createReadStream } from 'node:fs';
     import { Readable } from 'node:stream';
     const told = async (work) => { try { return await work; } catch ({ kind, message }) { return [kind, message]; } };
     const streamed = (path) => Readable.toWeb(createReadStream(path, { highWaterMark: 777 }));
     const image = await decant.open(streamed(args[0]));
     const seen = [image.info.fileSize === undefined];
     seen.push((await image.convert(args[1])).virtualSize);
     seen.push(await told(image.convert(args[1])));
     await image.close();
     const locked = streamed(args[0]);
     locked.getReader();
     seen.push((await told(decant.open(locked)))[0]);
     seen.push((await told(decant.open(args[0], { companions: [streamed(args[0])] })))[0]);
     let pulled = 0;
     const failing = new ReadableStream({ pull(controller) {
       if (pulled++ < 3) controller.enqueue(new Uint8Array(1 << 20));
       else controller.error(new Error('the line was cut'));
     } });
     const other = await decant.open(failing, { inputFormat: 'raw' });
     seen.push(await told(other.convert(args[1] + '2')));
     await other.close();
     const words = new ReadableStream({ start: (controller) => controller.enqueue('text') });
     seen.push((await told(decant.open(words)))[0]);
     let cancelled = 0;
     const stop = new AbortController();
     // It is asked for bytes, and has none.
     const pull = () => void setImmediate(() => stop.abort());
     const waiting = new ReadableStream({ pull, cancel: () => void (cancelled += 1) }, { highWaterMark: 0 });
     const silent = await decant.open(waiting, { inputFormat: 'raw' });
     seen.push((await told(silent.convert(args[1] + '3', { signal: stop.signal })))[0]);
     await silent.close();
     seen.push(cancelled);
     console.log(JSON.stringify(seen));`,
    file,
    join(folder, 'out'),
  );
  expect(seen).toEqual([
    true,
    Math.ceil(size / 512) * 512,
    ['usage', expect.stringContaining('was read already')],
    'usage',
    'usage',
    ['source', 'Could not read the image: the line was cut'],
    'source',
    'cancelled',
    1,
  ]);
  const disk = readFileSync(join(folder, 'out'));
  expect(disk.subarray(0, size).equals(readFileSync(raw()).subarray(0, size))).toBe(true);
  expect(readdirSync(folder).sort()).toEqual(['disk.gz', 'out']);
});
