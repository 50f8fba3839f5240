// The packed package in pages, as each consumer builds and serves them by default.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, type BrowserContext, expect, type Page, test } from '@playwright/test';
import { build, develop, folder, project } from '../support/consumers/project.js';
import { BASE, type Sent, serve } from '../support/consumers/server.js';
import { buildDigest, documentOf, type Loaded } from '../support/consumers/table.js';
import { hashFile, PASSWORD, small } from '../support/images.js';
import { scope } from '../support/scope.js';
import { watchUnhandled } from '../support/unhandled.js';
import { CONSUMERS, type Consumer } from './consumers.js';

interface Converted {
  hash: string | undefined;
  engine: string;
  workers: number;
  outputSize: number;
}

declare global {
  /** See projects/common/app.js. */
  function convertImage(task: { url: string; password?: string | undefined; to: string }): Promise<Converted>;
}

const IMAGES = { zlib: small.zlib, zstd: small.zstd, luks: small.luks };
type ImageName = keyof typeof IMAGES;
const OUTPUTS = ['opfs', 'download', 'target'];

const MINUTE = 60_000;

const results = join(folder, 'results');
const DOCUMENT = fileURLToPath(new URL('../../docs/bundlers.md', import.meta.url));

const images = () => Object.fromEntries(Object.entries(IMAGES).map(([name, make]) => [name, make()]));

/** Opens the page. Fails early if its script does not start. */
async function openPage(context: BrowserContext, url: string): Promise<Page> {
  const page = await context.newPage();
  const said: string[] = [];
  page.on('console', (message) => said.push(message.text()));
  page.on('pageerror', (error) => said.push(error.message));
  await page.goto(url);
  const ready = page.waitForFunction(() => typeof globalThis.convertImage === 'function', undefined, {
    timeout: MINUTE / 2,
  });
  await ready.catch(() => {
    throw new Error(`the page's script did not run: ${said.join('\n')}`);
  });
  return page;
}

async function convert(page: Page, origin: string, image: ImageName, to: string): Promise<void> {
  const password = image === 'luks' ? PASSWORD : undefined;
  const download = to === 'download' ? page.waitForEvent('download', { timeout: MINUTE }) : undefined;
  // It is not awaited if the conversion fails.
  download?.catch(() => {});
  const task = { url: `${origin}/images/${image}`, password, to };
  const converted = await page.evaluate((task) => {
    const late = new Promise<never>((_, reject) => {
      setTimeout(() => reject(new Error('the conversion takes more than 45 s')), 45_000);
    });
    return Promise.race([globalThis.convertImage(task), late]);
  }, task);
  const hash = download ? hashFile(await (await download).path()) : converted.hash;
  expect(hash, `${image} to ${to}`).toBe(hashFile(small.raw()));
}

async function convertAll(page: Page, origin: string, outputs = OUTPUTS): Promise<void> {
  for (const image of Object.keys(IMAGES) as ImageName[]) {
    for (const to of outputs) await convert(page, origin, image, to);
  }
}

/** The loads of the page, of its first conversion, and of later ones. */
interface Counts {
  page: Sent[];
  conversion: Sent[];
  later: Sent[];
}

/** Opens the built page in a fresh profile, and converts every image to `outputs`. */
async function visit(
  browser: Browser,
  { policy }: Consumer,
  site: string,
  cached: boolean,
  outputs: string[],
): Promise<Counts> {
  const server = await serve({ site, images: images(), policy: policy ?? {}, cached });
  const context = await browser.newContext();
  try {
    const check = watchUnhandled(context);
    const page = await openPage(context, `${server.origin}${BASE}`);
    const opened = server.sent.splice(0);
    await convert(page, server.origin, 'zlib', 'opfs');
    const conversion = server.sent.splice(0);
    await convertAll(page, server.origin, outputs);
    check();
    expect(server.missing, 'what the server does not have').toEqual([]);
    return { page: opened, conversion, later: server.sent };
  } finally {
    await context.close();
    await server.close();
  }
}

/** The package's files under their own names, for servers that require revalidation on each request. */
const UNHASHED = /\/(worker\.js|decant\.wasm)$/;

/** The coordinator's, and two of the pool. */
const WORKERS = 3;

const repeated = (sent: Sent[]): string[] => {
  const names = sent.map(({ name }) => name);
  return names.filter((name, at) => names.indexOf(name) !== at);
};

const sum = (sent: Sent[]): number => sent.reduce((total, { bytes }) => total + bytes, 0);

const loaded = ({ page, conversion }: Counts): Loaded => ({
  page: { requests: page.length, bytes: sum(page) },
  conversion: { requests: conversion.length, bytes: sum(conversion) },
});

for (const consumer of CONSUMERS) {
  const { name, layers = [], output, path, env } = consumer;
  const made = () => project(consumer.project ?? name, ['common', ...layers, consumer.project ?? name]);
  const builtSite = async () => {
    const installed = await made();
    return consumer.build ? build(installed, consumer.build, output!, env) : installed.folder;
  };

  const tag = consumer.scope === 'long' ? '@long' : '@full';

  test.describe(name, () => {
    test.setTimeout(12 * MINUTE);

    test('production', { tag: consumer.scope === 'short' ? [] : tag }, async ({ browser }) => {
      const counts = await visit(browser, consumer, await builtSite(), true, OUTPUTS);
      const sent = Object.values(counts).flat() as Sent[];
      expect(repeated(sent), 'loaded twice').toEqual([]);
      const unhashed = sent.filter((each) => UNHASHED.test(each.name));
      expect(unhashed.length, 'files without a hash in their names').toBe(consumer.unhashed ?? 0);
    });

    test('without an HTTP cache', { tag }, async ({ browser }) => {
      const counts = await visit(browser, consumer, await builtSite(), false, []);
      mkdirSync(results, { recursive: true });
      writeFileSync(
        join(results, `${name}.json`),
        JSON.stringify({ build: buildDigest(), loaded: loaded(counts), ...counts }, null, 2),
      );
      const sent = [...counts.page, ...counts.conversion];
      const isScript = ({ name }: Sent) => name.endsWith('.js');
      expect(repeated(sent.filter((each) => !isScript(each))), 'loaded twice').toEqual([]);
      // Every worker loads its script: a page could pass it on only as a blob, which policies forbid.
      const most = Math.max(
        ...sent.filter(isScript).map(({ name }) => sent.filter((each) => each.name === name).length),
      );
      // With Turbopack, the page and its workers share a script.
      expect(most).toBeLessThanOrEqual(WORKERS + (name === 'next16-turbopack' ? 1 : 0));
    });

    if (!consumer.dev) return;
    test('development server', { tag }, async ({ browser }) => {
      const files = await serve({ images: images() });
      const server = await develop(await made(), consumer.dev!, path!, env);
      const context = await browser.newContext();
      try {
        const page = await openPage(context, server.url);
        // When nothing more is loaded, any reload of the page is over.
        await page.waitForLoadState('networkidle');
        await convertAll(page, files.origin);
      } catch (thrown) {
        throw new Error(`${(thrown as Error).message}\n${server.log()}`, { cause: thrown });
      } finally {
        await context.close();
        await server.close();
        await files.close();
      }
    });
  });
}

/** The loads of the consumer `name`, with the build of the package with this `digest`. */
function resultOf(name: string, digest: string): Loaded | undefined {
  const file = join(results, `${name}.json`);
  if (!existsSync(file)) return undefined;
  const result = JSON.parse(readFileSync(file, 'utf8')) as { build: string; loaded: Loaded };
  return result.build === digest ? result.loaded : undefined;
}

test.afterAll('the document', () => {
  // Other scopes run too few consumers.
  if (scope !== 'long') return;
  const digest = buildDigest();
  writeFileSync(DOCUMENT, documentOf(CONSUMERS.map(({ name, label }) => [label, resultOf(name, digest)])));
});
