// Images in compressed files that are read in place: the right bytes at any position, without a temporary file.

import { execFileSync } from 'node:child_process';
import { appendFileSync, copyFileSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { crc32, deflateRawSync } from 'node:zlib';
import type * as Decant from '../../dist/node.js';
import { closing } from '../support/closing.js';
import { decant, run } from '../support/command.js';
import { cached, hashFile, images, qemuImg, small } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';

const api = (await import(fileURLToPath(new URL('../../dist/node.js', import.meta.url)))) as typeof Decant;
test.afterAll(() => api.dispose());

const MIB = 1 << 20;
/** More than is decoded in memory as a whole. */
const LONG = 65 * MIB;
/** The image followed by so many zeros that the content is read by its units. */
const longer = (path: string) => `{ cat '${path}'; head -c ${LONG} /dev/zero; }`;

/** Writes what `script` prints to the file `name`. */
function packed(folder: string, name: string, script: string): string {
  execFileSync('bash', ['-eo', 'pipefail', '-c', `(${script}) > '${name}'`], { cwd: folder });
  return join(folder, name);
}

/** A copy in `folder` of the image in blocks of xz, which several tests read. */
function blocksOfXz(folder: string): string {
  const script = `${longer(images.plain())} | xz -0 -T2 --block-size=4MiB`;
  const made = cached('blocks.xz', (path) => {
    packed('.', path, script);
  });
  const file = join(folder, 'blocks.xz');
  copyFileSync(made, file);
  return file;
}

/** `content` in BGZF, with the empty block at its end. */
function bgzf(content: Buffer): Buffer {
  const block = (data: Buffer) => {
    const deflated = deflateRawSync(data, { level: 1 });
    const header = Buffer.from([0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff, 6, 0, 0x42, 0x43, 2, 0, 0, 0]);
    header.writeUInt16LE(header.length + deflated.length + 7, 16);
    const trailer = Buffer.alloc(8);
    trailer.writeUInt32LE(crc32(data), 0);
    trailer.writeUInt32LE(data.length, 4);
    return Buffer.concat([header, deflated, trailer]);
  };
  const starts = Array.from({ length: Math.ceil(content.length / 65_280) }, (_, at) => at * 65_280);
  return Buffer.concat([...starts.map((at) => block(content.subarray(at, at + 65_280))), block(Buffer.alloc(0))]);
}

/** Frames of zstd with a seek table; with checksums, each entry has four more bytes. */
function seekable(folder: string, content: Buffer, withChecksums: boolean): Buffer {
  const frames: Buffer[] = [];
  const entries: Buffer[] = [];
  for (let at = 0; at < content.length; at += 4 * MIB) {
    const data = content.subarray(at, at + 4 * MIB);
    const frame = execFileSync('zstd', ['-1qc'], { cwd: folder, input: data, maxBuffer: 8 * MIB });
    const entry = Buffer.alloc(withChecksums ? 12 : 8);
    entry.writeUInt32LE(frame.length, 0);
    entry.writeUInt32LE(data.length, 4);
    frames.push(frame);
    entries.push(entry);
  }
  const table = Buffer.concat(entries);
  const [head, foot] = [Buffer.alloc(8), Buffer.alloc(9)];
  head.writeUInt32LE(0x184d2a5e, 0);
  head.writeUInt32LE(table.length + foot.length, 4);
  foot.writeUInt32LE(frames.length, 0);
  foot[4] = withChecksums ? 0x80 : 0;
  foot.writeUInt32LE(0x8f92eab1, 5);
  return Buffer.concat([...frames, head, table, foot]);
}

/** Splits the image into pieces and compresses each with `command`. */
const inPieces = (path: string, command: string) =>
  `${longer(path)} | split -b 20M - piece-; for piece in piece-*; do ${command} $piece; done; rm piece-*`;

type Case = [name: string, make: (folder: string) => string | Buffer, container: string, details: { tag?: string }];

// The unit tests of the core read every kind of index in the short run, too.
const PACKED: Case[] = [
  ['blocks.xz', (folder) => readFileSync(blocksOfXz(folder)), 'xz', {}],
  ['streams.xz', () => `${inPieces(images.zlib(), 'xz -0c')}; head -c 64 /dev/zero`, 'xz', FULL],
  [
    'sha.xz',
    () => `${longer(images.zlib())} | xz -0 -Csha256 --x86 --lzma2=preset=0 -T2 --block-size=3MiB`,
    'xz',
    FULL,
  ],
  ['frames.zst', () => inPieces(images.plain(), 'zstd -qc'), 'zstd', FULL],
  ['table.zst', (folder) => seekable(folder, readFileSync(images.zlib()), false), 'zstd', FULL],
  ['checked.zst', (folder) => seekable(folder, readFileSync(images.plain()), true), 'zstd', FULL],
  ['blocks.gz', () => bgzf(readFileSync(images.plain())), 'gzip', FULL],
  // The sizes of their parts are not stated.
  ['members.gz', () => inPieces(images.plain(), 'gzip -1c'), 'gzip', FULL],
  ['unsized.zst', () => inPieces(images.zlib(), 'zstd -qc <'), 'zstd', FULL],
  // Their content is decoded in memory, as a whole.
  ['whole.gz', () => `gzip -1c '${small.zlib()}'`, 'gzip', {}],
  ['whole.xz', () => `xz -0c '${small.zlib()}'`, 'xz', FULL],
  ['whole.zst', () => `zstd -qc < '${small.zlib()}'`, 'zstd', FULL],
  ['whole.bz2', () => `bzip2 -1c '${small.zlib()}'`, 'bzip2', FULL],
  ['whole.lz4', () => `lz4 -qc '${small.zlib()}'`, 'lz4', FULL],
];

/** Packs an image in `folder`. */
function pack(folder: string, name: string, made: string | Buffer): string {
  if (typeof made === 'string') return packed(folder, name, made);
  writeFileSync(join(folder, name), made);
  return join(folder, name);
}

for (const [name, make, container, details] of PACKED) {
  test(`${name} is read in place`, details, async ({ folder }) => {
    const file = pack(folder, name, make(folder));
    const before = readdirSync(folder).sort();
    const image = await api.open(file);
    if (image.streamed) throw new Error('it is read in order');
    expect(image.info).toMatchObject({ format: 'qcow2', containers: [{ name: container }], name: file });
    const isSmall = name.startsWith('whole');
    const raw = isSmall ? small.raw() : images.raw();
    const plain = await api.open(isSmall ? small.zlib() : images.plain());
    if (plain.streamed) throw new Error('it is read in order');
    for (const [offset, length] of [
      [9 * MIB + 3, 5 * MIB],
      [0, 512],
      [9 * MIB, 3],
    ] as const)
      expect(Buffer.compare(await image.read(offset, length), await plain.read(offset, length))).toBe(0);
    await plain.close();
    const { notices } = await image.convert(join(folder, 'out'));
    await image.close();
    expect(notices).toEqual([]);
    expect(hashFile(join(folder, 'out'))).toBe(hashFile(raw));
    expect(decant('info', file)).toMatchObject({ status: 0, stdout: expect.stringContaining('virtual size: ') });
    expect(decant('convert', file, join(folder, 'out'))).toEqual({ status: 0, stdout: '', stderr: '' });
    expect(hashFile(join(folder, 'out'))).toBe(hashFile(raw));
    expect(readdirSync(folder).sort()).toEqual([...before, 'out'].sort());
  });
}

test('a block that is too large is refused with the size of the content', FULL, async ({ folder }) => {
  const file = packed(folder, 'a.xz', `head -c ${LONG} /dev/zero | cat '${small.zlib()}' - | xz -0`);
  const fields = { format: 'qcow2', container: 'xz', size: statSync(small.zlib()).size + LONG };
  await expect(api.open(file)).rejects.toMatchObject({ kind: 'unsupported', code: 'needs-spool', fields });
  expect(decant('info', file).stdout).toMatch(/virtual size: unknown.+\nunpacked size: /);
});

test('bytes after a compressed image have a notice, in place and unpacked', async ({ folder }) => {
  const file = packed(folder, 'a.gz', `gzip -1c '${small.zlib()}'; printf 'a trailer\\0\\0\\0\\0'`);
  for (const options of [{}, { spool: folder }]) {
    const notices = await closing(await api.open(file, options), async (image) => image.info.safety);
    expect(notices).toMatchObject([{ code: 'trailer', fields: { size: 13 } }]);
  }
  expect(decant('convert', file, join(folder, 'out'))).toMatchObject({
    status: 0,
    stderr: expect.stringContaining('13 bytes after the compressed data belong to nothing and are ignored'),
  });
  expect(hashFile(join(folder, 'out'))).toBe(hashFile(small.raw()));
});

/** The first block of an xz file begins here. */
const FIRST_BLOCK = 12;

test('damage is reported as that, when its unit is read', async ({ folder }) => {
  const file = blocksOfXz(folder);
  const bytes = readFileSync(file);
  bytes[FIRST_BLOCK + 100_000]! ^= 1;
  writeFileSync(file, bytes);
  await expect(api.open(file)).rejects.toMatchObject({
    kind: 'corrupt',
    code: 'xz-damaged',
    fields: { container: 'xz', offset: FIRST_BLOCK },
    message: expect.stringContaining('The xz file is damaged: its bytes from 12 to '),
  });
});

/** A disk of so many clusters, none of which is near the next one. */
const CLUSTERS = 2048;

test('a disk in another order than its own is unpacked', async ({ folder }) => {
  qemuImg('create', '-q', '-f', 'qcow2', join(folder, 'a.qcow2'), `${CLUSTERS * 64}k`);
  const order = Array.from({ length: CLUSTERS }, (_, at) => (at * 577) % CLUSTERS);
  const writes = order.map((cluster) => `write -q -P ${1 + (cluster % 255)} ${cluster * 64}k 64k\n`).join('');
  run('qemu-io', [join(folder, 'a.qcow2')], { input: writes });
  const file = packed(folder, 'a.xz', 'xz -0cT2 --block-size=2MiB a.qcow2');
  const image = await api.open(file);
  const refused = { code: 'needs-spool', fields: { container: 'xz' } };
  await expect(image.convert(join(folder, 'out'))).rejects.toMatchObject(refused);
  await image.close();
  expect(existsSync(join(folder, 'out'))).toBe(false);
  expect(decant('convert', file, join(folder, 'out'))).toEqual({
    status: 0,
    stdout: '',
    stderr: `decant: note: unpacking '${file}' to a temporary file in '${folder}'\n`,
  });
  expect(run('qemu-img', ['compare', 'a.qcow2', 'out'], { cwd: folder })).toMatchObject({ status: 0 });
});

test('parts of unknown size are measured with progress, and a cancel ends it', async ({ folder }) => {
  const file = packed(folder, 'members.gz', inPieces(images.plain(), 'gzip -1c'));
  const reports: Decant.Progress[] = [];
  const image = await api.open(file, { onProgress: (progress) => reports.push(progress) });
  await image.close();
  const shares = reports.map(({ fraction }) => fraction!);
  expect(reports.every(({ phase }) => phase === 'measuring')).toBe(true);
  expect(shares.length).toBeGreaterThan(1);
  expect(shares).toEqual(shares.toSorted((a, b) => a - b));
  expect(shares.at(-1)).toBe(1);
  const cancel = new AbortController();
  const cancelled = api.open(file, { signal: cancel.signal, onProgress: () => cancel.abort() });
  await expect(cancelled).rejects.toMatchObject({ kind: 'cancelled' });
  const onProgress = () => {
    throw new Error('asleep');
  };
  await expect(api.open(file, { onProgress })).rejects.toMatchObject({ kind: 'usage' });
  const { status, stderr } = decant('convert', '-p', file, join(folder, 'out'));
  expect([status, /\r {4}measuring the compressed file \(100%\) *\n/.test(stderr)]).toEqual([0, true]);
});

test('a closed image, a cancel and a changed file end in place reading', async ({ folder }) => {
  const file = blocksOfXz(folder);
  const cancelled = new AbortController();
  const opening = api.open(file, { signal: cancelled.signal });
  cancelled.abort();
  await expect(opening).rejects.toMatchObject({ kind: 'cancelled' });
  const image = await api.open(file);
  if (image.streamed) throw new Error('it is read in order');
  const refused = expect(image.read(0, 8 * MIB)).rejects.toMatchObject({ kind: 'cancelled' });
  await image.close();
  await refused;
  const changed = await api.open(file);
  appendFileSync(file, 'x');
  await expect(changed.convert(join(folder, 'out'))).rejects.toMatchObject({ code: 'source-changed' });
  await changed.close();
});
