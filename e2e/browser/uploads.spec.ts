// Uploads from pages, to servers of other origins: by what CORS lets pages see.

import { expect, type Page, test } from '../support/browser.js';
import type { UploadFault } from '../support/cloud.js';
import { byScope } from '../support/scope.js';
import { CORS, EXPOSED, takeUploads, type UploadServer } from '../support/uploads.js';

test.use({ isolated: false });

let server: UploadServer;
test.beforeEach(({ servers }) => {
  servers.plain.headers['Content-Security-Policy'] =
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self' http://127.0.0.1:*";
});
test.afterEach(async ({ servers }) => {
  servers.plain.headers = {};
  await server.close();
});

type Kind = 's3' | 'gcs' | 'tus' | 'page blob' | 'block blob' | 'put';

/** Where an answer is lost, a server has more than the page knows. */
const FAULTS = byScope<UploadFault[]>({ short: ['lost answer'], long: ['drop', 'status 503', 'lost answer'] });

const MIB = 1 << 20;

/** What each protocol uploads, in bytes, and the requests whose answers are lost, by their numbers from 0 on. */
const LOST: Record<Exclude<Kind, 'put'>, { size: number; at: number[] }> = {
  s3: { size: 9 * MIB + 512, at: [2] },
  // The last of two chunks. Chromium itself sends a request again whose connection breaks: of the first chunk this server
  // would refuse that, as Google's does not.
  gcs: { size: 17 * MIB + 512, at: [2] },
  tus: { size: 9 * MIB + 512, at: [1] },
  // The blob itself, and one of its pages.
  'page blob': { size: 9 * MIB + 512, at: [0, 3] },
  'block blob': { size: 9 * MIB + 512, at: [2] },
};

/** The disk that a page uploads, with zeros in its middle; a page makes it by this function, too. */
function makeDisk(size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  const words = new Uint32Array(bytes.buffer, 0, size >> 2);
  for (let at = 0; at < words.length; at += 1) words[at] = Math.imul(at + 1, 2_654_435_761);
  return bytes.fill(0, size >> 2, size >> 1);
}

/** Uploads a raw disk; resolves to the message of what has failed. */
async function convert(page: Page, kind: Kind, origin: string, size = MIB): Promise<string> {
  await page.goto('/blank');
  const disk = await page.evaluateHandle(makeDisk, size);
  return page.evaluate(
    async ([kind, origin, disk]) => {
      const { open } = (await import('/dist/browser.js' as string)) as typeof import('../../dist/browser.js');
      const upload = (await import('/dist/upload.js' as string)) as typeof import('../../dist/upload.js');
      const sign = ({ action, ...named }: import('../../dist/upload.js').S3Request) => {
        const query = Object.entries(named).map(([name, value]) => [name, String(value)]);
        return `${origin}/s3/disk?${action === 'create' ? 'uploads=' : new URLSearchParams(query)}`;
      };
      const targets = {
        s3: () => upload.s3Target({ sign }),
        gcs: () => upload.gcsTarget({ url: `${origin}/gcs/disk` }),
        tus: () => upload.tusTarget({ url: `${origin}/tus/files` }),
        'page blob': () => upload.azurePageBlobTarget({ url: `${origin}/azure/disk?sig=x` }),
        'block blob': () => upload.azureBlockBlobTarget({ url: `${origin}/azure/disk?sig=x` }),
        put: () => upload.putTarget({ url: `${origin}/put/disk` }),
      };
      const image = await open(new Blob([disk]), { inputFormat: 'raw' });
      try {
        await image.convert(targets[kind](), { format: kind === 'page blob' ? 'vpc' : 'raw' });
        return '';
      } catch (thrown) {
        return (thrown as Error).message;
      } finally {
        await image.close();
      }
    },
    [kind, origin, disk] as const,
  );
}

for (const [kind, { size, at }] of Object.entries(LOST)) {
  for (const fault of FAULTS) {
    test(`${kind}, ${fault}: the object is the disk`, { tag: kind === 's3' ? [] : '@full' }, async ({ page }) => {
      let met = 0;
      server = await takeUploads({
        headers: EXPOSED,
        fault: (number) => {
          if (!at.includes(number)) return undefined;
          met += 1;
          return fault;
        },
      });
      expect(await convert(page, kind as Kind, server.origin, size)).toBe('');
      expect(met).toBe(at.length);
      const [object] = [...server.objects.values()];
      expect(object!.subarray(0, size).equals(makeDisk(size))).toBe(true);
      expect(server.objects.size).toBe(1);
    });
  }
}

test('hashes and Blobs are made in a worker, and the browser gets no typed array', async ({ page }) => {
  server = await takeUploads({ headers: EXPOSED });
  await page.addInitScript(() => {
    const counts = { arrays: 0, blobs: 0, made: [] as number[], hashers: 0 };
    const [realFetch, RealBlob, instantiate] = [fetch, Blob, WebAssembly.instantiate];
    // Hashers are modules of wasm.
    WebAssembly.instantiate = ((...given: Parameters<typeof instantiate>) => {
      counts.hashers += 1;
      return instantiate(...given);
    }) as typeof instantiate;
    globalThis.fetch = (input, init) => {
      if (ArrayBuffer.isView(init?.body) || init?.body instanceof ArrayBuffer) counts.arrays += 1;
      if (init?.body instanceof RealBlob) counts.blobs += 1;
      return realFetch(input, init);
    };
    globalThis.Blob = new Proxy(RealBlob, {
      construct(target, args: [BlobPart[]?, BlobPropertyBag?]) {
        const arrays = (args[0] ?? []).filter((part) => ArrayBuffer.isView(part));
        counts.made.push(...arrays.map(({ byteLength }) => byteLength));
        return Reflect.construct(target, args) as Blob;
      },
    });
    Object.assign(globalThis, { counts });
  });
  const size = 9 * MIB + 512;
  expect(await convert(page, 's3', server.origin, size)).toBe('');
  const counts = await page.evaluate(() => (globalThis as unknown as { counts: object }).counts);
  // The Blob of the disk is made by this test. One hasher digests the digests of the parts, for the ETag of the object.
  expect(counts).toEqual({ arrays: 0, blobs: 2, made: [size], hashers: 1 });
});

for (const [kind, sentence] of [
  ['s3', /CORS rules must expose ETag$/],
  ['gcs', /CORS rules must expose Location$/],
  ['tus', /CORS rules must expose Location$/],
] as const) {
  test(`${kind}: the header that CORS hides is named`, { tag: kind === 's3' ? [] : '@full' }, async ({ page }) => {
    server = await takeUploads({ headers: CORS });
    expect(await convert(page, kind, server.origin)).toMatch(sentence);
    expect(server.objects.size).toBe(0);
  });
}

test('a server that no page of another origin may write to', { tag: '@full' }, async ({ page }) => {
  server = await takeUploads();
  expect(await convert(page, 'block blob', server.origin)).toMatch(
    /^Could not upload to 'http:\/\/127\.0\.0\.1:\d+\/azure\/disk': no answer came from .*, or its CORS rules do not allow this page/,
  );
});

test('one PUT over HTTP/1.1 is refused, and nothing of the disk is there', async ({ page }) => {
  server = await takeUploads({ headers: EXPOSED });
  expect(await convert(page, 'put', server.origin)).toMatch(
    /^Could not upload to 'http:\/\/127\.0\.0\.1:\d+\/put\/disk': no answer/,
  );
  expect(server.objects.size).toBe(0);
});

test('keys do not belong in a page', async ({ page }) => {
  server = await takeUploads();
  await page.goto('/blank');
  const told = await page.evaluate(async () => {
    const { DecantError } = (await import('/dist/browser.js' as string)) as typeof import('../../dist/browser.js');
    const { s3Target } = (await import('/dist/upload.js' as string)) as typeof import('../../dist/upload.js');
    try {
      s3Target({ url: 'http://localhost/b/k', keys: { accessKeyId: 'a', secretAccessKey: 'b' } });
      return '';
    } catch (thrown) {
      // One class for both entry points.
      return thrown instanceof DecantError && thrown.message;
    }
  });
  expect(told).toBe("Keys do not belong in a page; presign the requests on your server ('sign')");
});
