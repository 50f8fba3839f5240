// Parts of the disk: `image.read` and `image.readable`.

import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { program } from '../support/command.js';
import { hashFile, images, PASSWORD, sparse } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';

const own = new URL('../support/own.mjs', import.meta.url).href;

/** Runs a program that has what `own.mjs` exports, and `sha256`, besides the package. */
const run = <T>(code: string, ...args: string[]): T =>
  program<T>(
    `const { fileSource, changed } = await import('${own}');
     const { createHash } = await import('node:crypto');
     const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest('hex');
     ${code}`,
    ...args,
  );

const chain = () => images.chain();

for (const [name, tagged, image, raw, companions] of [
  ['zlib', {}, images.zlib, images.raw, []],
  ['uncompressed', FULL, images.plain, images.raw, []],
  ['out of order', FULL, images.scattered, images.raw, []],
  ['clusters of 512 bytes', FULL, images.tiny, images.raw, []],
  ['zstd', FULL, images.zstd, images.raw, []],
  ['encrypted', FULL, images.luks, images.raw, []],
  ['a chain', {}, () => chain().top, () => chain().raw, () => chain().below],
] as const) {
  test(`any ranges at once, and a stream of all: ${name}`, tagged, () => {
    const path = raw();
    const { parts, whole, most } = run<{ parts: boolean[]; whole: string; most: number }>(
      `const { openSync, readSync, fstatSync } = await import('node:fs');
       const [path, raw, password, ...companions] = args;
       const file = openSync(raw);
       const { size } = fstatSync(file);
       const image = await decant.open(path, { password, companions });
       const isRight = async (offset, length) => {
         const expected = Buffer.alloc(length);
         readSync(file, expected, 0, length, offset);
         const bytes = await image.read(offset, length);
         return bytes.length === length && expected.equals(bytes);
       };
       // Around every kind of boundary, and some in between; a few are longer than what is read at once.
       const starts = [0, 1, 511, 4095, 65535, 65536, 1 << 20, (4 << 20) - 1, size - 1, size - 5000];
       const lengths = [1, 2, 512, 4096, 65537, 9 << 20];
       const ranges = starts.flatMap((start) => lengths.map((length) => [start, Math.min(length, size - start)]));
       for (let seed = 7, at = 0; at < 40; at += 1) {
         seed = (seed * 1103515245 + 12345) % 2 ** 31;
         const start = seed % size;
         ranges.push([start, Math.min(1 + (seed % 100_000), size - start)]);
       }
       const parts = await Promise.all(ranges.filter(([start]) => start < size).map((range) => isRight(...range)));
       let most = 0;
       const hash = createHash('sha256');
       for await (const piece of image.readable()) {
         most = Math.max(most, piece.length);
         hash.update(piece);
       }
       await image.close();
       console.log(JSON.stringify({ parts, whole: hash.digest('hex'), most }));`,
      image(),
      path,
      PASSWORD,
      ...(typeof companions === 'function' ? companions() : companions),
    );
    expect(parts.length).toBeGreaterThan(50);
    expect(parts.every((right) => right)).toBe(true);
    expect(whole).toBe(hashFile(path));
    expect(most).toBe(Math.min(4 << 20, statSync(path).size));
  });
}

/** In bytes. */
const SIZE = 64 << 20;

test('a stream of a part begins and ends at the given offsets', () => {
  const { image, raw: path } = sparse(SIZE);
  const [start, end] = [5_000_001, 14_000_007];
  const seen = run<(string | number)[]>(
    `const [path, start, end] = args;
     const image = await decant.open(path);
     const hashes = [];
     for (const [offset, length] of [[+start, end - start], [0, 1], [70, 0], [${SIZE}, 0]]) {
       const parts = [];
       for await (const part of image.readable({ offset, length })) parts.push(part);
       hashes.push(sha256(...parts));
     }
     hashes.push((await image.read(0, 0)).length, (await image.read(${SIZE}, 0)).length);
     await image.close();
     console.log(JSON.stringify(hashes));`,
    image,
    String(start),
    String(end),
  );
  const bytes = Buffer.alloc(end - start);
  const file = openSync(path, 'r');
  readSync(file, bytes, 0, bytes.length, start);
  closeSync(file);
  const sha256 = (part: Buffer) => createHash('sha256').update(part).digest('hex');
  const nothing = Buffer.alloc(0);
  const hashes = [bytes, Buffer.alloc(1, 1), nothing, nothing].map(sha256);
  expect(seen).toEqual([...hashes, 0, 0]);
});

test('an invalid range of the disk is refused', () => {
  const { kinds, told } = run<{ kinds: string[]; told: string[] }>(
    `const image = await decant.open(args[0]);
     const size = image.info.virtualSize;
     const kinds = [];
     const told = [];
     const ranges = [[-1, 1], [0, -1], [size, 1], [size - 1, 2], [0.5, 1], [0, 0.5], [NaN, 1], [0, 2 ** 60], ['0', 1], [0], []];
     for (const range of ranges) await image.read(...range).catch(({ kind }) => kinds.push(kind));
     for (const [offset, length] of [[-1, 1], [2, -1], [0, size + 1], [size + 1], [0.5, 1], ['0', 1]]) {
       try { image.readable({ offset, length }); } catch ({ kind }) { kinds.push(kind); }
     }
     for (const range of [['0', 3], [0, '3'], [0, -1], [size, 1]]) {
       await image.read(...range).catch(({ message }) => told.push(message));
     }
     try { image.readable({ length: '3' }); } catch ({ message }) { told.push(message); }
     await image.close();
     await image.read(0, 1).catch(({ message }) => told.push(message));
     console.log(JSON.stringify({ kinds, told }));`,
    images.kinds(),
  );
  expect(kinds).toEqual(Array(17).fill('usage'));
  const noNumber = (name: string) => `'${name}' must be a whole number from 0 to 2^53-1`;
  expect(told).toEqual([
    ...['offset', 'length', 'length'].map(noNumber),
    expect.stringContaining('but the range has 1 from byte 10485760 on'),
    noNumber('length'),
    'The image was closed',
  ]);
});

test('damage fails where it is read, and is zeros where the image is salvaged', () => {
  const seen = run<{ offset: number; length: number; kinds: string[]; zeros: boolean; rest: boolean }>(
    `const { openSync, readSync } = await import('node:fs');
     const [corrupt, raw] = args;
     const salvaged = await decant.open(corrupt, { salvage: true });
     const nowhere = { write: async () => {}, close: async () => {}, abort: async () => {} };
     const { lost } = await salvaged.convert(nowhere);
     const { offset, length } = lost[0];
     const image = await decant.open(corrupt);
     const kinds = [];
     await image.read(offset, 1).catch(({ kind }) => kinds.push(kind));
     try { for await (const part of image.readable()); } catch ({ kind }) { kinds.push(kind); }
     const zeros = (await salvaged.read(offset, length)).every((byte) => byte === 0);
     // The cluster before may have been hit too, without contradicting the format of its stream.
     const before = Buffer.alloc(Math.max(0, offset - (1 << 20)));
     readSync(openSync(raw), before, 0, before.length, 0);
     const rest = before.equals(await image.read(0, before.length));
     await image.close();
     await salvaged.close();
     console.log(JSON.stringify({ offset, length, kinds, zeros, rest }));`,
    images.corrupt(),
    images.raw(),
  );
  expect(seen).toMatchObject({ kinds: ['corrupt', 'corrupt'], zeros: true, rest: true });
});

test('a missing file and a missing password are reported', () => {
  const kinds = run<string[]>(
    `const kinds = [];
     for (const [path, options] of [[args[0], {}], [args[1], {}], [args[1], { password: 'wrong' }]]) {
       const image = await decant.open(path, options);
       await image.read(0, 1).catch(({ kind }) => kinds.push(kind));
       await image.close();
     }
     console.log(JSON.stringify(kinds));`,
    images.chain().top,
    images.luks(),
  );
  expect(kinds).toEqual(['missing-file', 'password', 'password']);
});

test('a stream reads no further than it is taken, and nothing when it is cancelled', () => {
  const { ahead, later, kinds } = run<{ ahead: number; later: number; kinds: string[] }>(
    `const source = await fileSource(args[0]);
     let bytes = 0;
     const own = new Set();
     let isOwn = true;
     const read = (offset, length) => {
       if (isOwn) own.add(offset + ' ' + length);
       if (!own.has(offset + ' ' + length)) bytes += length;
       return source.read(offset, length);
     };
     const image = await decant.open({ size: source.size, read });
     // Whoever reads ahead has asked for more when others have been answered so often. What these read does not count.
     const wait = async () => { for (let turn = 0; turn < 50; turn += 1) await image.read(${SIZE} - 1, 1); };
     await wait();
     isOwn = false;
     const kinds = [];
     const reader = image.readable().getReader();
     await reader.read();
     await wait();
     const ahead = bytes;
     await reader.cancel();
     await wait();
     const before = bytes;
     await wait();
     const later = bytes - before;
     // By a signal: what is read, and what is only held.
     const abort = new AbortController();
     const held = image.readable({ signal: abort.signal }).getReader();
     await held.read();
     await wait();
     const reading = image.read(0, ${SIZE}, { signal: abort.signal }).catch(({ kind }) => kinds.push(kind));
     abort.abort();
     await reading;
     await held.read().then(() => held.read()).catch(({ kind }) => kinds.push(kind));
     await image.readable({ signal: abort.signal }).getReader().read().catch(({ kind }) => kinds.push(kind));
     // A closed image ends its streams.
     const last = image.readable().getReader();
     await last.read();
     await image.close();
     try { for (;;) await last.read(); } catch ({ kind }) { kinds.push(kind); }
     await source.close();
     console.log(JSON.stringify({ ahead, later, kinds }));`,
    sparse(SIZE).image,
  );
  // The chunk that was taken, the one ahead of it, tables and headers: a third of the disk's data is never reached.
  expect(ahead).toBeLessThan(10 << 20);
  expect(later).toBe(0);
  expect(kinds).toEqual(['cancelled', 'cancelled', 'cancelled', expect.stringMatching('cancelled|usage')]);
});

test('reads that never settle are given up, and leave room for others', () => {
  const seen = run<{ kinds: string[]; aborted: number; right: boolean }>(
    `const source = await fileSource(args[0]);
     let hangs = false, aborted = 0, begun = 0, go;
     const eight = new Promise((resolve) => { go = resolve; });
     const read = (offset, length, { signal }) => {
       if (!hangs) return source.read(offset, length);
       begun += 1;
       if (begun === 8) go();
       signal.addEventListener('abort', () => { aborted += 1; });
       return new Promise(() => {});
     };
     const image = await decant.open({ size: source.size, read });
     // Every second cluster has data.
     const dataAt = (at) => (at << 20) + 65536;
     const expected = await image.read(dataAt(1), 100);
     hangs = true;
     const abort = new AbortController();
     const reads = Array.from({ length: 30 }, (_, at) => image.read(dataAt(at), 100, { signal: abort.signal }));
     const kinds = Promise.all(reads.map((read) => read.then(() => 'read', ({ kind }) => kind)));
     await eight;
     abort.abort();
     const told = [...new Set(await kinds)];
     hangs = false;
     const right = Buffer.from(expected).equals(await image.read(dataAt(1), 100));
     await image.close();
     await source.close();
     console.log(JSON.stringify({ kinds: told, aborted: aborted - begun, right }));`,
    images.halves(),
  );
  // They never settle: what ends is what was given up.
  expect(seen).toEqual({ kinds: ['cancelled'], aborted: 0, right: true });
});
