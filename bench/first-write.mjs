// The page's first write: milliseconds from the drop of an image to the first write of a worker, in a fresh browser.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join } from 'node:path';
import { chromium } from 'playwright';
import { root } from '../scripts/lib.mjs';

const TYPES = { '.js': 'text/javascript', '.wasm': 'application/wasm', '.css': 'text/css', '.svg': 'image/svg+xml' };
const ISOLATED = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' };

/** Runs before a worker's own script: tells the page the time of the first write, in milliseconds since 1970. */
const TELL = `{
  const { prototype } = FileSystemSyncAccessHandle;
  const { write } = prototype;
  prototype.write = function (...given) {
    prototype.write = write;
    new BroadcastChannel('first-write').postMessage(performance.timeOrigin + performance.now());
    return write.apply(this, given);
  };
}
`;

/** Serves the page in `site`. */
async function serve(site) {
  const server = createServer(({ url }, response) => {
    const { pathname } = new URL(url, 'http://localhost');
    const path = pathname === '/' ? '/index.html' : pathname;
    const isWorker = /\/worker[-.][^/]*\.js$/.test(path);
    try {
      const file = readFileSync(join(site, path));
      response.writeHead(200, { ...ISOLATED, 'Content-Type': TYPES[extname(path)] ?? 'text/html' });
      response.end(isWorker ? TELL + file : file);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://localhost:${server.address().port}/`, stop: () => server.close() };
}

/** How long the file is dragged over the page, in milliseconds: a person needs longer. */
const DRAG = 300;

/** Runs in the page: drags and drops the chosen file, and clicks Convert as soon as that is possible. */
async function dropAndConvert(drag) {
  const element = document.querySelector('decant-converter');
  const [file] = document.querySelector('input.of-benchmark').files;
  const written = new Promise((resolve) => {
    new BroadcastChannel('first-write').onmessage = ({ data }) => resolve(data);
  });
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(file);
  const button = () => element.shadowRoot.querySelector('[data-convert]:not([aria-disabled=true])');
  const ready = new Promise((resolve) => {
    const observer = new MutationObserver(() => {
      if (!button()) return;
      observer.disconnect();
      resolve();
    });
    observer.observe(element.shadowRoot, { childList: true, subtree: true, attributes: true });
  });
  const now = () => performance.timeOrigin + performance.now();
  const card = element.shadowRoot.querySelector('.card');
  const tell = (type) =>
    card.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true, composed: true }));
  tell('dragenter');
  tell('dragover');
  await new Promise((resolve) => setTimeout(resolve, drag));
  const dropped = now();
  tell('drop');
  await ready;
  const clicked = now();
  button().click();
  return { untilReady: clicked - dropped, untilWritten: (await written) - clicked };
}

/**
 * Milliseconds in a new profile whose page has loaded and is idle: from the drop of `image` to the enabled button, and from a
 * click on that by script to the first write. The disk is downloaded by the private storage.
 */
export async function firstWrite(site, image) {
  const profile = mkdtempSync(join(root, '.cache', 'profile-'));
  const server = await serve(site);
  const args = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'];
  const context = await chromium.launchPersistentContext(profile, { executablePath: '/usr/bin/chromium', args });
  try {
    const page = context.pages()[0] ?? (await context.newPage());
    // A dialog would wait for a person.
    await page.addInitScript(() => {
      delete globalThis.showDirectoryPicker;
      delete globalThis.showSaveFilePicker;
    });
    await page.goto(server.url, { waitUntil: 'networkidle' });
    await page.evaluate(() => {
      const input = Object.assign(document.createElement('input'), { type: 'file', className: 'of-benchmark' });
      document.body.append(input);
    });
    await page.locator('input.of-benchmark').setInputFiles(image);
    return await page.evaluate(dropAndConvert, DRAG);
  } finally {
    await context.close();
    server.stop();
    rmSync(profile, { recursive: true, force: true });
  }
}
