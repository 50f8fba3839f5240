// Chromium for the benchmark: converts to the origin's private file system, in a profile on disk, and copies
// there without any conversion.

import { createReadStream, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join } from 'node:path';
import { chromium } from 'playwright';
import { root } from '../scripts/lib.mjs';

const TYPES = { '.js': 'text/javascript', '.wasm': 'application/wasm' };
const ARGS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync'],
];

/** Serves dist/, the bare copy and a blank page, isolated: both engines can run there. */
function serve() {
  const server = createServer((request, response) => {
    response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
    response.setHeader('Cross-Origin-Embedder-Policy', 'require-corp');
    const path = new URL(request.url, 'http://bench').pathname;
    response.setHeader('Content-Type', TYPES[extname(path)] ?? 'text/html');
    if (path === '/') response.end('<!doctype html><input type="file">');
    else if (path === '/copy.js') response.end(readFileSync(new URL('copy.js', import.meta.url)));
    else
      createReadStream(join(root, 'dist', path))
        .on('error', () => response.writeHead(404).end())
        .pipe(response);
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

export class Browser {
  static async start() {
    const self = new Browser();
    self.server = await serve();
    self.profile = mkdtempSync(join(root, '.cache', 'profile-'));
    self.context = await chromium.launchPersistentContext(self.profile, {
      executablePath: '/usr/bin/chromium',
      args: ARGS,
    });
    self.version = self.context.browser()?.version() ?? '';
    self.page = self.context.pages()[0] ?? (await self.context.newPage());
    await self.page.goto(`http://localhost:${self.server.address().port}/`);
    return self;
  }

  /** Seconds from the call to the finished file; the file is removed outside of that. */
  async convert(path, engine) {
    await this.page.locator('input').setInputFiles(path);
    return this.page.evaluate(async (engine) => {
      const { open } = await import('/index.js');
      const file = document.querySelector('input').files[0];
      const start = performance.now();
      const image = await open(file);
      await image.convert({ opfs: 'out.raw' }, { engine });
      const seconds = (performance.now() - start) / 1000;
      await image.close();
      await (await navigator.storage.getDirectory()).removeEntry('out.raw');
      return seconds;
    }, engine);
  }

  /** Seconds that the bare copy takes: bench/copy.js. */
  async copy(path, options) {
    await this.page.locator('input').setInputFiles(path);
    return this.page.evaluate(async (options) => {
      const worker = new Worker('/copy.js', { type: 'module' });
      const file = document.querySelector('input').files[0];
      const answer = new Promise((done) => worker.addEventListener('message', ({ data }) => done(data)));
      worker.postMessage({ file, ...options });
      const seconds = await answer;
      worker.terminate();
      await (await navigator.storage.getDirectory()).removeEntry('out.raw');
      return seconds;
    }, options);
  }

  /** Milliseconds until both workers are ready, in a page that was just loaded. */
  async ready(engine) {
    await this.page.reload();
    return this.page.evaluate(async (engine) => {
      const { open } = await import('/index.js');
      // The smallest qcow2 there is: its conversion is the start of its workers, and little else.
      const bytes = new Uint8Array(1024);
      const view = new DataView(bytes.buffer);
      bytes.set([0x51, 0x46, 0x49, 0xfb]);
      view.setUint32(4, 2);
      view.setUint32(20, 9);
      view.setUint32(36, 1);
      view.setUint32(44, 512);
      view.setUint32(28, 512);
      const start = performance.now();
      const image = await open(new File([bytes], 'empty.qcow2'));
      await image.convert({ opfs: 'out.raw' }, { engine, workers: 2 });
      const milliseconds = performance.now() - start;
      await image.close();
      await (await navigator.storage.getDirectory()).removeEntry('out.raw');
      return milliseconds;
    }, engine);
  }

  async stop() {
    await this.context.close();
    this.server.close();
    rmSync(this.profile, { recursive: true, force: true });
  }
}
