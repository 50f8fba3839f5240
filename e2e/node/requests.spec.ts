// Requests for images on servers: their number, ranges and timing.

import { execFile, execFileSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, readSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type * as Decant from '../../dist/node.js';
import { expectSame, images, qemuImg, sparse } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';
import { random } from '../support/random.js';
import { type RemoteFile, serveFile } from '../support/remote.js';
import { type Fault, PASSING, rangeOf } from '../support/replies.js';
import { byScope } from '../support/scope.js';

const PACKAGE = fileURLToPath(new URL('../../dist/node.js', import.meta.url));
const decant = (await import(PACKAGE)) as typeof Decant;

let remote: RemoteFile | undefined;
test.afterEach(async () => {
  await remote?.close();
  remote = undefined;
});
test.afterAll(() => decant.dispose());

const MIB = 1 << 20;

/** The number of requested bytes among the first `size`. */
const asked = ({ asked }: RemoteFile, size: number): number =>
  asked
    .map((one) => rangeOf(one)!)
    .reduce((sum, { start, end }) => sum + Math.min(end, size) - Math.min(start, size), 0);

// The bars: for each 4 MiB that are needed one request, and 16 more; 1.02 × the bytes; where every second cluster is
// needed, 2.1 ×.
const ROWS = [
  { name: 'compressed', image: images.zlib, share: 1, excess: 1.02, tagged: {} },
  { name: 'uncompressed', image: images.plain, share: 1, excess: 1.02, tagged: FULL },
  { name: 'every second cluster', image: images.halves, share: 0.5, excess: 2.1, tagged: FULL },
];
for (const { name, image, share, excess, tagged } of ROWS) {
  test(`an image on a server, ${name}: few requests, and no byte without need`, tagged, async ({ folder }) => {
    test.setTimeout(300_000);
    const [path, output, expected] = [image(), join(folder, 'out.raw'), join(folder, 'expected.raw')];
    qemuImg('convert', '-O', 'raw', path, expected);
    const file = readFileSync(path);
    remote = await serveFile(file);
    const opened = await decant.open(remote.url);
    await opened.convert(output);
    await opened.close();
    expectSame(output, expected);
    const bytes = asked(remote, file.length);
    const told = `${remote.asked.length} requests for ${bytes} of ${file.length} bytes`;
    test.info().annotations.push({ type: 'counts', description: told });
    expect(remote.asked.length, told).toBeLessThanOrEqual(file.length / (4 * MIB) + 16);
    expect(bytes, told).toBeLessThanOrEqual(file.length * share * excess);
  });
}

test('100 GiB without data: at most 4 requests', async ({ folder }) => {
  remote = await serveFile(readFileSync(images.empty()));
  const opened = await decant.open(remote.url);
  await opened.convert(join(folder, 'out.raw'));
  await opened.close();
  expect(remote.asked.length).toBeLessThanOrEqual(4);
});

test('the first data is requested after two round trips', async ({ folder }) => {
  const [disk, path, output] = ['disk.raw', 'dense.qcow2', 'out.raw'].map((name) => join(folder, name));
  const bytes = Buffer.alloc(16 * MIB, 'dense');
  writeFileSync(disk!, bytes);
  qemuImg('convert', '-f', 'raw', '-O', 'qcow2', disk!, path!);
  const file = readFileSync(path!);
  let release = () => {};
  const areAsked = new Promise<void>((done) => {
    release = done;
  });
  // The second round trip: neither request is answered before the other one is there.
  const second = [64 << 10, file.length - 512];
  let count = 0;
  remote = await serveFile(file, {
    before(one) {
      if (!second.includes(rangeOf(one)!.start)) return undefined;
      count += 1;
      if (count === second.length) release();
      return areAsked;
    },
  });
  const opened = await decant.open(remote.url);
  await opened.convert(output!);
  await opened.close();
  expect(readFileSync(output!).equals(bytes)).toBe(true);
  const starts = remote.asked.map((one) => rangeOf(one)!.start);
  expect(starts.slice(0, 3).toSorted((a, b) => a - b)).toEqual([0, ...second]);
  expect(starts[3]).toBeGreaterThanOrEqual(512 << 10);
});

test('the classes of fetch, which take 20 ms to load, are not loaded', async () => {
  const before = Buffer.alloc(MIB, 'bytes');
  remote = await serveFile(before);
  const program = `
    const { httpSource } = await import(${JSON.stringify(PACKAGE)});
    const { signal } = new AbortController();
    const source = await httpSource(${JSON.stringify(remote.url)});
    const bytes = await source.read(source.size - 5, 5, { signal });
    const isLoaded = process.moduleLoadList.some((name) => name.includes('undici'));
    console.log([String(Buffer.from(bytes)), isLoaded].join());
  `;
  const node = promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
  expect((await node).stdout).toBe(`${before.subarray(-5)},false\n`);
});

test('headers are enough for info', async ({ folder }) => {
  const path = join(folder, 'preallocated.qcow2');
  // Tables of 1 MiB in all.
  qemuImg('create', '-q', '-f', 'qcow2', '-o', 'cluster_size=512,preallocation=metadata', path, '64M');
  remote = await serveFile(readFileSync(path));
  await (await decant.open(remote.url)).close();
  // The start with the first tables, and the end: a fixed VHD may begin as another image.
  expect(asked(remote, statSync(path).size)).toBeLessThanOrEqual((512 << 10) + 512);
});

test('a sparse disk with a table for each piece of data: each byte of the file once', async ({ folder }) => {
  const path = join(folder, 'sparse.qcow2');
  qemuImg('create', '-q', '-f', 'qcow2', path, '8T');
  const writes = Array.from({ length: 60 }, (_, at) => ['-c', `write -q -P ${at + 1} ${at * 100}G 64k`]);
  execFileSync('qemu-io', [...writes.flat(), path]);
  const file = readFileSync(path);
  remote = await serveFile(file);
  const opened = await decant.open(remote.url);
  let written = 0;
  await opened.convert({
    write: async (_: number, bytes: Uint8Array) => {
      written += bytes.length;
    },
    hole: async () => {},
    close: async () => {},
    abort: async () => {},
  });
  await opened.close();
  expect(written).toBe(60 * (64 << 10));
  const bytes = asked(remote, file.length);
  const counts = `${remote.asked.length} requests for ${bytes} of ${file.length} bytes`;
  test.info().annotations.push({ type: 'counts', description: counts });
  expect(bytes, counts).toBeLessThanOrEqual(file.length * 1.02);
  expect(remote.asked.length, counts).toBeLessThanOrEqual(32);
});

test('small reads ask for no table twice', async ({ folder }) => {
  const path = join(folder, 'image.qcow2');
  qemuImg('create', '-q', '-f', 'qcow2', path, '4G');
  // Far from each other in the file, too.
  for (const at of [0, 1, 2, 3]) execFileSync('qemu-io', ['-c', `write -q -P ${at + 1} ${at}G 4M`, path]);
  remote = await serveFile(readFileSync(path));
  const opened = (await decant.open(remote.url)) as Decant.DiskImage;
  const read = async (offset: number) => (await opened.read(offset, 512))[0];
  const counts: number[] = [];
  for (const [at, value] of [
    [3 * 1024, 4],
    [0, 1],
    [3 * 1024 + 2, 4],
    [2, 1],
    [3 * 1024 + 3, 4],
  ] as const) {
    const before = remote.asked.length;
    expect(await read(at * MIB)).toBe(value);
    counts.push(remote.asked.length - before);
  }
  await opened.close();
  // A table and data; then data alone.
  expect(counts.slice(2)).toEqual([1, 1, 1]);
  expect(counts[0]).toBeLessThanOrEqual(3);
});

/** Answers only when there was no request for `pause` milliseconds: each time is one round trip. */
class RoundTrips {
  count = 0;
  #waiting: (() => void)[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly pause: number) {}

  /** Resolves with the next answers. */
  next(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.count += 1;
      for (const go of this.#waiting.splice(0)) go();
    }, this.pause);
    return new Promise((go) => this.#waiting.push(go));
  }
}

/** The number of round trips of a conversion until the first byte of its output. */
async function tripsToFirstByte(url: string, pause: number): Promise<number> {
  const trips = new RoundTrips(pause);
  const slowly: typeof fetch = async (...request) => {
    await trips.next();
    return fetch(...request);
  };
  const opened = await decant.open(await decant.httpSource(url, { fetch: slowly }));
  const opening = trips.count;
  let first: number | undefined;
  const target = {
    write: async () => {
      first ??= trips.count - opening;
    },
    hole: async () => {},
    close: async () => {},
    abort: async () => {},
  };
  await opened.convert(target);
  await opened.close();
  return first!;
}

test('the first byte of the output is there after at most 6 round trips', FULL, async () => {
  remote = await serveFile(readFileSync(images.zlib()));
  // What a busy machine asks for too late for one trip counts as another: never too few are counted.
  let pause = 150;
  let fewest = Number.POSITIVE_INFINITY;
  while (fewest > 6 && pause < 10_000) {
    fewest = Math.min(fewest, await tripsToFirstByte(remote.url, pause));
    pause *= 4;
  }
  expect(fewest).toBeLessThanOrEqual(6);
  test.info().annotations.push({ type: 'counts', description: `${fewest} round trips` });
});

test('a source with expect learns each range before it is read, and at the end that none is left', async ({
  folder,
}) => {
  // 64 MiB of data.
  const path = images.halves();
  const fd = openSync(path, 'r');
  const told: { offset: number; length: number }[] = [];
  const reads: string[] = [];
  let waiting = 0;
  let most = 0;
  let last: unknown;
  const source: Decant.Source = {
    size: statSync(path).size,
    expect(ranges) {
      last = ranges;
      told.push(...ranges);
      waiting += ranges.reduce((sum, { length }) => sum + length, 0);
      most = Math.max(most, waiting);
      throw new Error('this affects speed only');
    },
    async read(offset, length) {
      const at = told.findIndex((range) => range.offset === offset && range.length === length);
      reads.push(at < 0 ? 'untold' : 'told');
      if (at >= 0) waiting -= told.splice(at, 1)[0]!.length;
      const bytes = new Uint8Array(length);
      readSync(fd, bytes, 0, length, offset);
      return bytes;
    },
  };
  const image = await decant.open(source);
  reads.length = 0;
  const [output, expected] = [join(folder, 'out.raw'), join(folder, 'expected.raw')];
  await image.convert(output);
  await image.close();
  closeSync(fd);
  qemuImg('convert', '-O', 'raw', path, expected);
  expectSame(output, expected);
  expect(told).toEqual([]);
  expect(last).toEqual([]);
  // Tables alone.
  expect(reads.filter((read) => read === 'untold').length).toBeLessThan(6);
  expect(most).toBeGreaterThan(16 * MIB);
  expect(most).toBeLessThan(64 * MIB);
});

/** An image with many tables that are not adjacent. */
function ofManyTables(folder: string): string {
  const path = join(folder, 'tables.qcow2');
  qemuImg('create', '-q', '-f', 'qcow2', '-o', 'cluster_size=4k', path, '32M');
  const writes = Array.from({ length: 16 }, (_, at) => ['-c', `write -q -P ${at + 1} ${2 * at}M 100k`]).flat();
  execFileSync('qemu-io', [...writes, path]);
  return path;
}

/** A source that records announced ranges, and those not read yet; announced reads wait for `gate`. */
function telling(path: string) {
  const bytes = new Uint8Array(readFileSync(path));
  const seen = { waiting: [] as string[], told: 0, last: undefined as unknown, untold: 0, gate: Promise.resolve() };
  const nameOf = ({ offset, length }: { offset: number; length: number }) => `${length} at ${offset}`;
  const source: Decant.Source = {
    size: bytes.length,
    expect(ranges) {
      seen.last = ranges;
      if (ranges.length > 0) seen.told += 1;
      seen.waiting = ranges.length === 0 ? [] : [...seen.waiting, ...ranges.map(nameOf)];
    },
    async read(offset, length) {
      const at = seen.waiting.indexOf(nameOf({ offset, length }));
      if (at < 0) seen.untold += 1;
      else {
        seen.waiting.splice(at, 1);
        await seen.gate;
      }
      return bytes.slice(offset, offset + length);
    },
  };
  return { source, seen };
}

const listed = async (image: Decant.DiskImage, signal?: AbortSignal) => {
  for await (const _ of image.map(signal ? { signal } : {}));
};

for (const [name, use] of [
  ['a map', (image) => listed(image)],
  ['a check', (image) => image.check({ deep: true })],
  ['a read', (image) => image.read(0, 32 * MIB)],
] as [string, (image: Decant.DiskImage) => Promise<unknown>][]) {
  test(`${name} reads all ranges that it announced`, async ({ folder }) => {
    const { source, seen } = telling(ofManyTables(folder));
    const image = await decant.open(source);
    seen.last = undefined;
    await use(image as Decant.DiskImage);
    await expect.poll(() => seen.last).toEqual([]);
    expect(seen.waiting).toEqual([]);
    await image.close();
  });
}

test('a map that is given up takes nothing from a conversion', async ({ folder }) => {
  const path = ofManyTables(folder);
  const { source, seen } = telling(path);
  const [mapped, converted] = [await decant.open(source), await decant.open(source)];
  let release = () => {};
  seen.gate = new Promise((resolve) => {
    release = resolve;
  });
  // Both announce the tables that they need, and receive none.
  const cancel = new AbortController();
  const map = listed(mapped as Decant.DiskImage, cancel.signal);
  await expect.poll(() => seen.told).toBe(1);
  const output = join(folder, 'out.raw');
  const conversion = converted.convert(output);
  await expect.poll(() => seen.told).toBe(2);
  seen.untold = 0;
  cancel.abort();
  await expect(map).rejects.toMatchObject({ kind: 'cancelled' });
  await mapped.close();
  release();
  await conversion;
  expect(seen.untold).toBe(0);
  expect(seen.last).toEqual([]);
  await converted.close();
  const expected = join(folder, 'expected.raw');
  qemuImg('convert', '-O', 'raw', path, expected);
  expectSame(output, expected);
});

const SEEDS = byScope({ short: 20, long: 300 });

test(`ranges that overlap, given up and forgotten, from a server that fails: ${SEEDS} seeds`, FULL, async () => {
  test.setTimeout(3_600_000);
  const bytes = Buffer.from(Uint32Array.from({ length: 2 * MIB }, (_, at) => Math.imul(at, 2_654_435_761)).buffer);
  for (let seed = 0; seed < SEEDS; seed += 1) {
    const next = random(seed * 31 + 5);
    const below = (most: number) => Math.floor(next() * most);
    const fault = () => (next() < 0.1 ? PASSING[below(PASSING.length)] : undefined);
    const server = await serveFile(bytes, { fault: fault as () => Fault | undefined });
    const source = await decant.httpSource(server.url, { timeout: 1 });
    const some = () => {
      const length = 1 + below(next() < 0.2 ? 3 * MIB : 50_000);
      return { offset: below(bytes.length - length), length };
    };
    const ranges = Array.from({ length: 60 }, some);
    // The same range twice is two ranges.
    ranges.push(...ranges.slice(0, 5));
    source.expect!(ranges.slice(0, 50));
    const check = async ({ offset, length }: { offset: number; length: number }, at: number) => {
      const ending = new AbortController();
      const isGivenUp = next() < 0.1;
      if (isGivenUp) setTimeout(() => ending.abort(), below(50));
      if (at === 30 && next() < 0.3) source.expect!([]);
      const read = source.read(offset, length, { signal: ending.signal });
      const came = await read.catch((thrown: unknown) => {
        if (!isGivenUp) throw thrown;
        return undefined;
      });
      if (came) expect(Buffer.compare(came, bytes.subarray(offset, offset + length)), `seed ${seed}`).toBe(0);
    };
    await Promise.all(ranges.map(check));
    await server.close();
  }
});

test('a server that is asked too much is asked less', FULL, async ({ folder }) => {
  const disk = sparse(64 * MIB);
  const file = readFileSync(disk.image);
  let underWay = 0;
  let refused = 0;
  remote = await serveFile(file, {
    answer: (_, response) => {
      underWay += 1;
      response.on('close', () => {
        underWay -= 1;
      });
      if (underWay <= 1) return false;
      refused += 1;
      response.writeHead(503).end();
      return true;
    },
  });
  const output = join(folder, 'out.raw');
  const opened = await decant.open(remote.url);
  await opened.convert(output);
  await opened.close();
  expectSame(output, disk.raw);
  expect(refused).toBeLessThan(20);
});
