// How images on servers are asked for: how many requests, which bytes, and when.

import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as Decant from '../../dist/node.js';
import { expectSame, images, qemuImg, small } from '../support/images.js';
import { expect, test } from '../support/node.js';
import { random } from '../support/random.js';
import { type Asked, type RemoteFile, serveFile } from '../support/remote.js';
import { type Fault, PASSING } from '../support/replies.js';
import { byScope } from '../support/scope.js';

const decant = (await import(fileURLToPath(new URL('../../dist/node.js', import.meta.url)))) as typeof Decant;

let remote: RemoteFile | undefined;
test.afterEach(async () => {
  await remote?.close();
  remote = undefined;
});
test.afterAll(() => decant.dispose());

const MIB = 1 << 20;

function rangeOf({ range }: Asked): { start: number; end: number } {
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(range!)!;
  return { start: Number(first), end: Number(last) + 1 };
}

/** How many of the first `size` bytes were asked for. */
const asked = ({ asked }: RemoteFile, size: number): number =>
  asked.map(rangeOf).reduce((sum, { start, end }) => sum + Math.min(end, size) - Math.min(start, size), 0);

// The bars: for each 4 MiB that are needed one request, and 16 more; 1.02 × the bytes; where every second cluster is
// needed, 2.1 ×.
const ROWS = [
  { name: 'compressed', image: images.zlib, share: 1, excess: 1.02 },
  { name: 'uncompressed', image: images.plain, share: 1, excess: 1.02 },
  { name: 'every second cluster', image: images.halves, share: 0.5, excess: 2.1 },
];
for (const { name, image, share, excess } of ROWS) {
  test(`an image on a server, ${name}: few requests, and no byte without need`, async ({ folder }) => {
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

test('what does not fit into a request is asked for by the next one, at the same time', async () => {
  const held: (() => void)[] = [];
  remote = await serveFile(Buffer.alloc(40 * MIB));
  const holding: typeof fetch = async (...request) => {
    const range = new Headers(request[1]?.headers).get('range')!;
    if (!range.startsWith('bytes=0-')) await new Promise<void>((go) => held.push(go));
    return fetch(...request);
  };
  const source = await decant.httpSource(remote.url, { fetch: holding });
  // Of the first 4 MiB the last part reaches into the next ones.
  const ranges = Array.from({ length: 300 }, (_, at) => ({ offset: MIB + 1000 + at * 131072, length: 65536 }));
  source.expect!(ranges);
  await expect.poll(() => held.length).toBe(4);
  source.expect!([]);
  for (const go of held) go();
});

test('100 GiB without data: at most 4 requests', async ({ folder }) => {
  remote = await serveFile(readFileSync(images.empty()));
  const opened = await decant.open(remote.url);
  await opened.convert(join(folder, 'out.raw'));
  await opened.close();
  expect(remote.asked.length).toBeLessThanOrEqual(4);
});

/** Answers only when nothing more is asked for: each time is one round trip. */
class RoundTrips {
  count = 0;
  #waiting: (() => void)[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Resolves with the next answers. */
  next(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.count += 1;
      for (const go of this.#waiting.splice(0)) go();
    }, 150);
    return new Promise((go) => this.#waiting.push(go));
  }
}

test('the first byte of the output is there after at most 6 round trips', async () => {
  remote = await serveFile(readFileSync(images.zlib()));
  const trips = new RoundTrips();
  const slowly: typeof fetch = async (...request) => {
    await trips.next();
    return fetch(...request);
  };
  const opened = await decant.open(await decant.httpSource(remote.url, { fetch: slowly }));
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
  expect(first).toBeLessThanOrEqual(6);
  test.info().annotations.push({ type: 'counts', description: `${first} round trips, ${opening} for opening` });
});

test('a source that expects is told each range before it is read, and in the end that nothing is left', async ({
  folder,
}) => {
  const fd = openSync(images.zlib(), 'r');
  const told: { offset: number; length: number }[] = [];
  const reads: string[] = [];
  let waiting = 0;
  let most = 0;
  let last: unknown;
  const source: Decant.Source = {
    size: readFileSync(images.zlib()).length,
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
  const output = join(folder, 'out.raw');
  await image.convert(output);
  await image.close();
  closeSync(fd);
  expectSame(output, images.raw());
  expect(told).toEqual([]);
  expect(last).toEqual([]);
  // Tables alone.
  expect(reads.filter((read) => read === 'untold').length).toBeLessThan(6);
  expect(most).toBeGreaterThan(16 * MIB);
  expect(most).toBeLessThan(64 * MIB);
});

const SEEDS = byScope({ short: 20, long: 300 });

test(`ranges that overlap, given up and forgotten, from a server that fails: ${SEEDS} seeds`, async () => {
  test.setTimeout(600_000);
  const bytes = Buffer.from(Uint32Array.from({ length: 2 * MIB }, (_, at) => Math.imul(at, 2_654_435_761)).buffer);
  for (let seed = 0; seed < SEEDS; seed += 1) {
    const next = random(seed * 31 + 5);
    const below = (most: number) => Math.floor(next() * most);
    const fault = () => (next() < 0.1 ? PASSING[below(PASSING.length)] : undefined);
    const server = await serveFile(bytes, { fault: fault as () => Fault | undefined });
    const source = await decant.httpSource(server.url, { timeout: 0.5, patience: 60 });
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

test('a server that is asked too much is asked less', async ({ folder }) => {
  const file = readFileSync(small.zlib());
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
  expectSame(output, small.raw());
  expect(refused).toBeLessThan(20);
});
