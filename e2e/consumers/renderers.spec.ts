// The package in pages without a server: from files, and of an extension. They replace renderers of Electron, which is not
// available here: a page from `file://`, and a page of a custom scheme.

import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type BrowserContext, chromium, expect, type LaunchOptions, test } from '@playwright/test';
import { type Project, project } from '../support/consumers/project.js';
import { serve } from '../support/consumers/server.js';
import { hashFile, PASSWORD, small } from '../support/images.js';
import { watchUnhandled } from '../support/unhandled.js';

const IMAGES = { zlib: small.zlib, zstd: small.zstd, luks: small.luks };

test.describe.configure({ timeout: 300_000 });

/** Chromium with a separate profile that allows extensions, unlike Playwright's. */
function launch(profile: string, args: string[], launched: LaunchOptions): Promise<BrowserContext> {
  return chromium.launchPersistentContext(profile, {
    ...launched,
    args: [...(launched.args ?? []), ...args],
    ignoreDefaultArgs: ['--disable-extensions'],
  });
}

/** Converts every image in the page at `url`, to the browser's storage and to a target. */
async function convertAll(context: BrowserContext, url: string): Promise<void> {
  const images = Object.fromEntries(Object.entries(IMAGES).map(([name, make]) => [name, make()]));
  const files = await serve({ images });
  try {
    const check = watchUnhandled(context);
    const page = await context.newPage();
    await page.goto(url);
    await page.waitForFunction(() => typeof globalThis.convertImage === 'function', undefined, { timeout: 30_000 });
    for (const name of Object.keys(IMAGES)) {
      for (const to of ['opfs', 'target']) {
        const task = { url: `${files.origin}/images/${name}`, password: PASSWORD, to };
        const { hash } = await page.evaluate((task) => globalThis.convertImage(task), task);
        expect(hash, `${name} to ${to}`).toBe(hashFile(small.raw()));
      }
    }
    check();
  } finally {
    await files.close();
  }
}

test('a page from file://', { tag: '@long' }, async ({ launchOptions }, info) => {
  const { folder } = await project('no-bundler', ['common', 'no-bundler']);
  const context = await launch(info.outputPath('profile'), ['--allow-file-access-from-files'], launchOptions);
  try {
    await convertAll(context, pathToFileURL(join(folder, 'index.html')).href);
  } finally {
    await context.close();
  }
});

/** The folder of the extension; its page has no import map, which its policy forbids. */
async function extension(): Promise<Project> {
  const made = await project('extension', ['common', 'extension']);
  const script = join(made.folder, 'app.js');
  const text = readFileSync(script, 'utf8');
  writeFileSync(script, text.replace("from 'decant'", "from './node_modules/decant/dist/browser.js'"));
  return made;
}

/** The ID that Chromium gives an unpacked extension: the digest of its path, in the letters from a to p. */
const extensionId = (folder: string): string =>
  createHash('sha256')
    .update(folder)
    .digest('hex')
    .slice(0, 32)
    .replace(/./g, (digit) => String.fromCharCode(97 + Number.parseInt(digit, 16)));

test(
  "a page of an extension's own scheme, under a strict policy",
  { tag: '@long' },
  async ({ launchOptions }, info) => {
    const { folder } = await extension();
    const args = [`--disable-extensions-except=${folder}`, `--load-extension=${folder}`];
    const context = await launch(info.outputPath('profile'), args, launchOptions);
    try {
      await convertAll(context, `chrome-extension://${extensionId(folder)}/index.html`);
    } finally {
      await context.close();
    }
  },
);
