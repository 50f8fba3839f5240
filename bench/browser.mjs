// Chromium for the benchmark: converts to the origin's private file system, in a profile on disk.

import { createReadStream, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join } from 'node:path';
import { chromium } from 'playwright';
import { root } from '../scripts/lib.mjs';

const TYPES = { '.js': 'text/javascript', '.wasm': 'application/wasm' };
const ARGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

/** Serves dist/ and a blank page, isolated: both engines can run there. */
function serve() {
  const server = createServer((request, response) => {
    response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
    response.setHeader('Cross-Origin-Embedder-Policy', 'require-corp');
    const path = new URL(request.url, 'http://bench').pathname;
    response.setHeader('Content-Type', TYPES[extname(path)] ?? 'text/html');
    if (path === '/') response.end('<!doctype html><input type="file">');
    else createReadStream(join(root, 'dist', path)).on('error', () => response.writeHead(404).end()).pipe(response);
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

export class Browser {
  static async start() {
    const self = new Browser();
    self.server = await serve();
    self.profile = mkdtempSync(join(root, '.cache', 'profile-'));
    self.context = await chromium.launchPersistentContext(self.profile, { executablePath: '/usr/bin/chromium', args: ARGS });
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

  async stop() {
    await this.context.close();
    this.server.close();
    rmSync(this.profile, { recursive: true, force: true });
  }
}
