// Uploads from pages to a bucket, by requests that a server signs: the page's part from docs/upload.md, the server's from the
// console example, and the bucket's CORS rules from the document.

import { readFileSync } from 'node:fs';
import { expect, type Page, test } from '../support/browser.js';
import { type Presigned, presigned } from '../support/presigner.js';

test.use({ isolated: false });

const MIB = 1 << 20;
const document = readFileSync(new URL('../../docs/upload.md', import.meta.url), 'utf8');

interface Rule {
  AllowedMethods: string[];
  AllowedHeaders: string[];
  ExposeHeaders: string[];
}

/** The rules of the document, in both of their forms. */
const blocks = [...document.matchAll(/^```json\n([\s\S]*?AllowedMethods[\s\S]*?)^```$/gm)].map(([, json]) =>
  JSON.parse(json!),
);
const [byConsole, byCommand] = blocks as [Rule[], { CORSRules: Rule[] }];

/** The response of a bucket under `rule`. */
const headersOf = ({ AllowedMethods, AllowedHeaders, ExposeHeaders }: Rule) => ({
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Allow-Methods': AllowedMethods.join(', '),
  'Access-Control-Allow-Headers': AllowedHeaders.join(', '),
  'Access-Control-Expose-Headers': ExposeHeaders.join(', '),
});

let server: Presigned;
test.beforeEach(async ({ servers }) => {
  server = await presigned(headersOf(byConsole[0]!));
  const connect = `connect-src 'self' ${server.console} ${server.bucket.origin}`;
  servers.plain.headers['Content-Security-Policy'] =
    `default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; ${connect}`;
});
test.afterEach(async ({ servers }) => {
  servers.plain.headers = {};
  await server.close();
});

/** Uploads a disk of `size` bytes. Resolves to the outcome. `cancelUpload()` cancels it. */
async function upload(page: Page, size: number) {
  await page.goto('/blank');
  return page.evaluate(
    async ([console_, size]) => {
      const { open, DecantError } = (await import(
        '/dist/browser.js' as string
      )) as typeof import('../../dist/browser.js');
      const { s3Target } = (await import('/dist/upload.js' as string)) as typeof import('../../dist/upload.js');
      const post = async (path: string, body: unknown) =>
        (await fetch(`${console_}/api/imports${path}`, { method: 'POST', body: JSON.stringify(body) })).json();
      const { id } = (await post('', { name: 'disk', size })) as { id: string };
      const target = s3Target({
        sign: async (request) => ((await post(`/${id}/sign`, request)) as { url: string }).url,
      });
      const cancel = new AbortController();
      Object.assign(globalThis, { cancelUpload: () => cancel.abort() });
      const image = await open(new Blob([new Uint8Array(size).fill(7)]), { inputFormat: 'raw' });
      try {
        await image.convert(target, { signal: cancel.signal });
        return { end: (await post(`/${id}/complete`, {})) as unknown, sent: target.network!.sent, kind: undefined };
      } catch (thrown) {
        return { end: undefined, sent: 0, kind: DecantError.is(thrown) ? thrown.kind : String(thrown) };
      } finally {
        await image.close();
      }
    },
    [server.console, size] as const,
  );
}

test('the documented CORS rules are the same in both forms', () => {
  expect(byCommand.CORSRules).toEqual(byConsole);
});

test('a disk arrives by signed requests only, and the console learns of it', async ({ page }) => {
  const size = 17 * MIB + 512;
  const { end, sent, kind } = await upload(page, size);
  expect(kind).toBeUndefined();
  expect(end).toEqual({ name: 'disk', size });
  expect(sent).toBeGreaterThanOrEqual(size);
  const { objects, asked, begun } = server.bucket;
  expect([...objects.values()].map((object) => object.equals(Buffer.alloc(size, 7)))).toEqual([true]);
  expect(begun.size).toBe(0);
  expect(asked.filter(({ url }) => !url.includes('X-Amz-Signature='))).toEqual([]);
});

test('a cancel has the bucket forget the parts', { tag: '@full' }, async ({ page }) => {
  const { bucket } = server;
  bucket.before = ({ url }) => (url.includes('partNumber=2&') ? new Promise(() => {}) : undefined);
  const uploading = upload(page, 33 * MIB);
  await expect.poll(() => bucket.asked.some(({ url }) => url.includes('partNumber=2&'))).toBe(true);
  await page.evaluate(() => (globalThis as unknown as { cancelUpload(): void }).cancelUpload());
  expect((await uploading).kind).toBe('cancelled');
  await expect.poll(() => bucket.begun.size).toBe(0);
  expect(bucket.asked.at(-1)!.method).toBe('DELETE');
  expect(bucket.objects.size).toBe(0);
});

for (const request of [
  {},
  { action: 'acl' },
  { action: 'toString' },
  { action: '__proto__' },
  { action: 'delete' },
  // Without an ID these would be requests for the object itself.
  { action: 'abort' },
  { action: 'abort', uploadId: '' },
  { action: 'abort', uploadId: ['x'] },
  { action: 'complete' },
  { action: 'part', uploadId: 'x' },
  { action: 'part', uploadId: 'x', partNumber: 0 },
  { action: 'part', uploadId: 'x', partNumber: 10_001 },
  { action: 'part', uploadId: 'x', partNumber: '1&acl' },
  { action: 'part', partNumber: 1 },
  { action: 'list', uploadId: 'x', partNumberMarker: -1 },
]) {
  test(`nothing is signed for ${JSON.stringify(request)}`, async () => {
    const post = (path: string, body: unknown) =>
      fetch(`${server.console}/api/imports${path}`, { method: 'POST', body: JSON.stringify(body) });
    const { id } = (await (await post('', { name: 'disk', size: 512 })).json()) as { id: string };
    expect((await post(`/${id}/sign`, request)).status).toBe(400);
    expect((await post('/another/sign', { action: 'create' })).status).toBe(404);
  });
}

test('what a page adds to a request is not signed', async () => {
  const post = (path: string, body: unknown) =>
    fetch(`${server.console}/api/imports${path}`, { method: 'POST', body: JSON.stringify(body) });
  const { id } = (await (await post('', { name: 'disk', size: 512 })).json()) as { id: string };
  const given = { action: 'abort', uploadId: 'x&acl=', method: 'PUT', query: 'acl=', object: 'https://elsewhere/' };
  const { url } = (await (await post(`/${id}/sign`, given)).json()) as { url: string };
  expect(url.startsWith(`${server.bucket.origin}/s3/imports/${id}.raw?`)).toBe(true);
  const names = [...new URL(url).searchParams.keys()].filter((name) => !name.startsWith('X-Amz-'));
  expect(names).toEqual(['uploadId']);
  // Signed for DELETE, it permits nothing else.
  expect((await fetch(url, { method: 'PUT', body: 'x' })).status).toBe(403);
});
