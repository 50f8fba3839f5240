// Chromium for the benchmark, with a profile on disk: conversions and bare copies by every way that a page can save.

import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { chromium } from 'playwright';
import { save, startDisplay } from '../e2e/support/save-dialog.mjs';
import { bin, root, run } from '../scripts/lib.mjs';
import { builds } from './arguments.mjs';
import { PAGE, PageServer } from './page-server.mjs';

const ARGS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync'],
];

export class Browser {
  static async start() {
    const [, other] = builds;
    const env = { ...process.env, ...(other && { OTHER_DECANT: other.browserPackage }) };
    const options = ['--outDir', PAGE, '--logLevel', 'warn'];
    run('Building the page of the benchmark', bin('vite'), ['build', 'bench/page', ...options], { env });
    const self = new Browser();
    self.server = await PageServer.start();
    await self.launch({});
    self.version = self.context.browser()?.version() ?? '';
    return self;
  }

  async launch(options) {
    this.profile = mkdtempSync(join(root, '.cache', 'profile-'));
    this.context = await chromium.launchPersistentContext(this.profile, {
      executablePath: '/usr/bin/chromium',
      args: ARGS,
      ...options,
    });
    this.page = this.context.pages()[0] ?? (await this.context.newPage());
    await this.page.goto(this.server.url);
  }

  async end() {
    await this.context.close();
    rmSync(this.profile, { recursive: true, force: true });
  }

  /** Restarts the browser with a new profile. */
  async restart() {
    await this.end();
    await this.launch({});
  }

  /** Starts a browser with windows, since only these have a save dialog; the dialog picks `path`. */
  async restartWithFile(path) {
    await this.end();
    this.display = await startDisplay();
    await this.launch({ headless: false, env: { ...process.env, DISPLAY: this.display.name } });
    await this.page.evaluate(() => {
      document.querySelector('button').addEventListener('click', () => {
        showSaveFilePicker({ suggestedName: 'disk.raw' }).then((handle) => {
          globalThis.picked = handle;
        }, reportError);
      });
    });
    await this.page.locator('button').click();
    await save(this.display.name, path);
    await this.page.waitForFunction(() => globalThis.picked !== undefined);
  }

  /** Seconds from the call to the finished file, without the removal of a file in the private storage. */
  async convert(build, path, engine, { output = 'storage', format = 'raw', formatOptions = {} } = {}) {
    await this.page.locator('input').setInputFiles(path);
    return this.page.evaluate(
      async ({ name, engine, output, format, formatOptions }) => {
        const file = document.querySelector('input').files[0];
        const target = { storage: { opfs: 'out.raw' }, picked: globalThis.picked, download: { download: 'out.raw' } };
        const start = performance.now();
        const image = await builds[name].open(file, { engine });
        await image.convert(target[output], { format, formatOptions });
        const seconds = (performance.now() - start) / 1000;
        await image.close();
        if (output === 'storage') await (await navigator.storage.getDirectory()).removeEntry('out.raw');
        return seconds;
      },
      { name: build.name, engine, output, format, formatOptions },
    );
  }

  /** Seconds of the SHA-256 of the disk. */
  async digest(build, path) {
    await this.page.locator('input').setInputFiles(path);
    return this.page.evaluate(async (name) => {
      const start = performance.now();
      const image = await builds[name].open(document.querySelector('input').files[0]);
      await image.digest();
      const seconds = (performance.now() - start) / 1000;
      await image.close();
      return seconds;
    }, build.name);
  }

  /** Seconds of a conversion of the image at `url` to the private storage. */
  async convertAddress(build, url) {
    return (await this.#undriven({ build: build.name, url })).seconds;
  }

  /** Seconds and long tasks of a conversion to `target`: 'storage', or 's3' with the addresses from `sign`. */
  convertUndriven(build, image, { target, format, sign }) {
    this.server.sign = sign;
    // The S3 server has no CORS rules.
    return this.#undriven({ build: build.name, image, target, format }, ['--disable-web-security']);
  }

  /**
   * The result of a task of the page (page/task.js), in a browser without Playwright, which would record all network traffic:
   * that took four times as long as the rest.
   */
  async #undriven(task, more = []) {
    const profile = mkdtempSync(join(root, '.cache', 'profile-'));
    const report = new Promise((resolve) => {
      this.server.onReport = resolve;
    });
    const page = new URL(this.server.url);
    page.search = new URLSearchParams(task);
    const args = [...ARGS, ...more, '--headless', `--user-data-dir=${profile}`, page.href];
    const browser = spawn('/usr/bin/chromium', args, { stdio: 'ignore' });
    const closed = new Promise((resolve) => browser.on('close', resolve));
    const { failed, ...took } = await report;
    browser.kill();
    await closed;
    // Its child processes end a little later.
    await rm(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
    if (failed !== undefined) throw new Error(failed);
    return took;
  }

  picked(build, path) {
    return this.convert(build, path, 'auto', { output: 'picked' });
  }

  /** Seconds until the downloaded file is on the disk. */
  download(build, path) {
    return this.downloaded(() => this.convert(build, path, 'auto', { output: 'download' }));
  }

  async downloaded(work) {
    const started = this.page.waitForEvent('download');
    const start = performance.now();
    await work();
    const download = await started;
    await download.path();
    const seconds = (performance.now() - start) / 1000;
    await download.delete();
    // The temporary file is needed until the page is closed.
    await this.page.reload();
    await this.page.evaluate(async () => {
      await builds.Decant.removeLeftovers();
      // A download leaves no such file.
      await (await navigator.storage.getDirectory()).removeEntry('out.raw').catch(() => {});
    });
    return seconds;
  }

  /** Seconds that the bare copy takes: rivals.js. */
  async rival(way, path, options) {
    if (way === 'download') return this.downloaded(() => this.copyAndDownload(path, options));
    const seconds = await this.copy(way, path, options);
    if (way === 'storage') {
      await this.page.evaluate(async () => (await navigator.storage.getDirectory()).removeEntry('out.raw'));
    }
    return seconds;
  }

  async copy(way, path, options) {
    await this.page.locator('input').setInputFiles(path);
    return this.page.evaluate(
      async (options) => {
        const worker = startRival();
        const file = document.querySelector('input').files[0];
        const answer = new Promise((done, failed) => {
          worker.addEventListener('message', ({ data }) => done(data));
          worker.addEventListener('error', ({ message }) => failed(new Error(message)));
        });
        worker.postMessage({ file, name: 'out.raw', handle: globalThis.picked, ...options });
        const seconds = await answer;
        worker.terminate();
        return seconds;
      },
      { way, ...options },
    );
  }

  async copyAndDownload(path, options) {
    await this.copy('storage', path, options);
    await this.page.evaluate(async () => {
      const handle = await (await navigator.storage.getDirectory()).getFileHandle('out.raw');
      const link = document.createElement('a');
      link.href = URL.createObjectURL(await handle.getFile());
      link.download = 'out.raw';
      link.click();
    });
  }

  /** Milliseconds from the call to idle workers, in a browser that was just started. */
  async ready(build, engine) {
    await this.restart();
    return this.page.evaluate(
      async ({ name, engine }) => {
        const start = performance.now();
        await builds[name].prepare({ engine, workers: 2 });
        return performance.now() - start;
      },
      { name: build.name, engine },
    );
  }

  /** Milliseconds of a conversion of an opened image by warm workers. */
  async warm(build, path) {
    await this.page.locator('input').setInputFiles(path);
    return this.page.evaluate(async (name) => {
      const file = document.querySelector('input').files[0];
      let milliseconds = 0;
      for (let run = 0; run < 3; run += 1) {
        const image = await builds[name].open(file);
        const start = performance.now();
        await image.convert({ opfs: 'out.raw' });
        milliseconds = performance.now() - start;
        await image.close();
        await (await navigator.storage.getDirectory()).removeEntry('out.raw');
      }
      return milliseconds;
    }, build.name);
  }

  /**
   * Peak memory of the page's process during a conversion of `path`, above its memory with idle workers, and the latter; in
   * MiB.
   */
  async memory(build, first, path, engine, { format, formatOptions }) {
    await this.restart();
    await this.convert(build, first, engine, { format, formatOptions });
    // The page's process is the one that grows.
    const idle = renderers().map((process) => [process, statusOf(process, 'VmRSS')]);
    // Resets the peak.
    for (const [process] of idle) writeFileSync(`/proc/${process}/clear_refs`, '5');
    await this.convert(build, path, engine, { format, formatOptions });
    const peaks = idle.map(([process, before]) => [before, statusOf(process, 'VmHWM')]);
    return peaks.toSorted(([a, b], [c, d]) => d - c - (b - a))[0];
  }

  async stop() {
    await this.end();
    this.display?.stop();
    this.server.stop();
  }
}

/** The page processes that this process has started. */
function renderers() {
  return readdirSync('/proc').filter((id) => {
    try {
      return readFileSync(`/proc/${id}/cmdline`, 'utf8').includes('--type=renderer') && isOurs(id);
    } catch {
      // No process, or one that has just ended.
      return false;
    }
  });
}

/** Whether it descends from this process. */
function isOurs(id) {
  const parent = Number(/PPid:\s+(\d+)/.exec(readFileSync(`/proc/${id}/status`, 'utf8'))[1]);
  return parent === process.pid || (parent > 1 && isOurs(parent));
}

/** A figure of a process, in MiB. */
function statusOf(process, name) {
  const status = readFileSync(`/proc/${process}/status`, 'utf8');
  return Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)[1]) / 1024;
}
