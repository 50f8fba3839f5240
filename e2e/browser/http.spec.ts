// Images on servers, from pages: of the page's origin and of others, with many or few headers.

import { readFileSync } from 'node:fs';
import { expect, hashOpfs, type Page, test } from '../support/browser.js';
import { hashFile, small } from '../support/images.js';
import { random } from '../support/random.js';
import { type RemoteFile, serveFile } from '../support/remote.js';
import { PASSING } from '../support/replies.js';
import type { TestServer } from '../support/server.js';

test.use({ isolated: false });

/** Permutations of cases that the tests beside the sources cover (worker/http, worker/sources). */
const FULL = { tag: '@full' };

const ALLOWED = { 'Access-Control-Allow-Origin': '*' };
const EXPOSED = { ...ALLOWED, 'Access-Control-Expose-Headers': 'Content-Range, ETag, Content-Encoding, Retry-After' };

let remote: RemoteFile | undefined;
test.afterEach(async ({ servers }) => {
  servers.plain.headers = {};
  await remote?.close();
  remote = undefined;
});

/** A page that may reach other servers. */
async function openPage(page: Page, { headers }: TestServer): Promise<void> {
  headers['Content-Security-Policy'] =
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self' http://127.0.0.1:*";
  await page.goto('/blank');
  await page.evaluate(async () => {
    window.decant = await import('/dist/browser.js' as string);
  });
}

interface Told {
  verified?: boolean;
  safety?: string[];
  failure?: string;
}

/** Converts to `out.raw` in the private file system. */
const convert = (page: Page, url: string, options = {}): Promise<Told> =>
  page.evaluate(
    async ([url, options]) => {
      try {
        const image = await window.decant.open(await window.decant.httpSource(url, options));
        const { sourceVerified: verified } = await image.convert({ opfs: 'out.raw' });
        const safety = image.info.safety.map(({ message }) => message);
        await image.close();
        return { verified, safety };
      } catch (thrown) {
        return { failure: (thrown as Error).message };
      }
    },
    [url, options] as const,
  );

test('a file of the same origin, by its address alone', async ({ page, servers }) => {
  await openPage(page, servers.plain);
  const told = await page.evaluate(async () => {
    try {
      await window.decant.open(new URL('/dist/decant.wasm', location.href));
      return '';
    } catch (thrown) {
      return (thrown as Error).message;
    }
  });
  // The server of these tests does not support ranges: the file was fetched as a whole, and is not a disk.
  expect(told).toMatch(/^The file is a WebAssembly module, not a disk image/);
});

for (const [what, headers, verified, details] of [
  ['that shows what it says', EXPOSED, true, FULL],
  ['that hides what it says', ALLOWED, false, {}],
] as const) {
  test(`another origin ${what}`, details, async ({ page, servers }) => {
    await openPage(page, servers.plain);
    remote = await serveFile(readFileSync(small.zlib()), { headers });
    const told = await convert(page, `${remote.url}?token=secret`);
    const notice =
      /^http:\S+ hides headers of the file from this page.* Access-Control-Expose-Headers: Content-Range, ETag/;
    expect(told).toEqual({ verified, safety: verified ? [] : [expect.stringMatching(notice)] });
    expect(JSON.stringify(told)).not.toContain('secret');
    expect(await hashOpfs(page, 'out.raw')).toBe(hashFile(small.raw()));
    // A range alone needs no preflight request.
    expect(remote.asked.filter(({ method }) => method === 'OPTIONS')).toEqual([]);
  });
}

for (const isTold of [true, false]) {
  const how = isTold ? 'and says so' : 'and says nothing';
  test(
    `another origin that allows neither HEAD, ${how}, nor a look at Content-Range`,
    isTold ? FULL : {},
    async ({ page, servers }) => {
      await openPage(page, servers.plain);
      remote = await serveFile(readFileSync(small.zlib()), {
        headers: ALLOWED,
        answer: ({ method }, response) => {
          if (method !== 'HEAD') return false;
          // A rule for GET alone omits the CORS headers.
          if (!isTold) response.removeHeader('Access-Control-Allow-Origin');
          response.writeHead(403).end();
          return true;
        },
      });
      expect(await convert(page, remote.url)).toMatchObject({ verified: false });
      expect(await hashOpfs(page, 'out.raw')).toBe(hashFile(small.raw()));
    },
  );
}

test('another origin that does not allow it', async ({ page, servers }) => {
  await openPage(page, servers.plain);
  remote = await serveFile(readFileSync(small.zlib()));
  // Otherwise there would be three attempts.
  const { failure } = await convert(page, remote.url, { patience: 0 });
  expect(failure).toMatch(/^Could not open '[^']*': no answer came from .*Access-Control-Allow-Origin$/);
});

test('another origin that does not allow custom headers', async ({ page, servers }) => {
  await openPage(page, servers.plain);
  remote = await serveFile(readFileSync(small.zlib()), { headers: ALLOWED });
  const { failure } = await convert(page, remote.url, { patience: 0, headers: { 'X-A': '1', 'X-B': '2' } });
  expect(failure).toMatch(/allow the method GET .*allow the headers x-a, x-b \(Access-Control-Allow-Headers\)/);
});

test('custom headers cause a preflight request', { tag: '@full' }, async ({ page, servers }) => {
  await openPage(page, servers.plain);
  remote = await serveFile(readFileSync(small.zlib()), {
    headers: { ...EXPOSED, 'Access-Control-Allow-Headers': 'X-Token, Range' },
    answer: ({ method }, response) => {
      if (method === 'OPTIONS') response.writeHead(204).end();
      return method === 'OPTIONS';
    },
  });
  expect(await convert(page, remote.url, { headers: { 'X-Token': 'mine' } })).toEqual({ verified: true, safety: [] });
  const gets = remote.asked.filter(({ method }) => method === 'GET');
  expect(gets.every(({ headers }) => headers['x-token'] === 'mine')).toBe(true);
});

test('a server that fails in every way that passes', { tag: '@full' }, async ({ page, servers }) => {
  await page.clock.install();
  await openPage(page, servers.plain);
  let [faults, passed] = [0, 0];
  // The first request opens the image; each later one meets another fault.
  const fault = (number: number) => {
    const kind = PASSING[number - 1];
    if (kind) faults += 1;
    return kind;
  };
  remote = await serveFile(readFileSync(small.zlib()), { fault, headers: EXPOSED });
  const { url, asked } = remote;
  let told: Told | undefined;
  const converted = convert(page, url).then((end) => {
    told = end;
  });
  let before = 0;
  const pass = async () => {
    // The time-out of a silent server, or the wait after a fault; too early, it only takes as long.
    if (asked.length === before && faults > passed) {
      passed = faults;
      await page.clock.fastForward(31_000);
    }
    before = asked.length;
    return told;
  };
  await expect.poll(pass, { intervals: [200], timeout: 110_000 }).toBeDefined();
  await converted;
  expect(told).toEqual({ verified: true, safety: [] });
  expect(await hashOpfs(page, 'out.raw')).toBe(hashFile(small.raw()));
  expect(asked.length).toBeGreaterThan(PASSING.length);
});

const SEEDS = 24;

test(`a server that fails at random, ${SEEDS} seeds`, FULL, async ({ page, servers }) => {
  test.setTimeout(300_000);
  await openPage(page, servers.plain);
  const file = readFileSync(small.zlib());
  for (let seed = 0; seed < SEEDS; seed += 1) {
    const next = random(seed * 7919);
    const share = next() * 0.3;
    const fault = () => (next() < share ? PASSING[Math.floor(next() * PASSING.length)] : undefined);
    const server = await serveFile(file, { fault, headers: EXPOSED });
    const told = await convert(page, server.url, { timeout: 1 });
    await server.close();
    expect(told, `seed ${seed}`).toEqual({ verified: true, safety: [] });
    expect(await hashOpfs(page, 'out.raw')).toBe(hashFile(small.raw()));
  }
});
