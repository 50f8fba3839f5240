// Interrupted downloads of the page: it asks whether to resume.

import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import type { BrowserContext } from '@playwright/test';
import { expect, type Page, storage, test } from '../support/browser.js';
import { hashFile, sparse } from '../support/images.js';
import { look } from '../support/page.js';
import { type RemoteFile, serveFile } from '../support/remote.js';

const OPEN_TO_ALL = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'Content-Range, ETag',
};

/** A server that sends only the bytes that the test allows. */
interface HeldFile extends RemoteFile {
  size: number;
  /** The number of sent bytes. */
  sent: number;
  /** The offset up to which the file is sent. */
  sendsUpTo: number;
  /** Sends the file up to `end`, including to waiting requests. */
  sendUpTo(end: number): void;
  /** Sends nothing more, as after a token has expired. */
  refuse(): void;
}

async function serveHeld(path: string): Promise<HeldFile> {
  const file = readFileSync(path);
  const waiting = new Set<() => void>();
  let refuses = false;
  const answer = (range: string | undefined, response: ServerResponse): true => {
    if (refuses) {
      response.writeHead(403, OPEN_TO_ALL).end();
      return true;
    }
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(range ?? '')!;
    const [start, end] = [Number(first), Math.min(Number(last) + 1, file.length)];
    const lengths = { 'Content-Range': `bytes ${start}-${end - 1}/${file.length}`, 'Content-Length': end - start };
    response.writeHead(206, { ETag: '"now"', ...lengths, ...OPEN_TO_ALL }).flushHeaders();
    // The last 512 bytes identify a file, and are sent at once.
    const isTail = start === file.length - 512;
    let at = start;
    const send = () => {
      if (refuses) response.destroy();
      const part = file.subarray(at, isTail ? end : Math.min(end, server.sendsUpTo));
      if (!response.destroyed && part.length > 0) {
        response.write(part);
        server.sent += part.length;
        at += part.length;
      }
      if (at < end && !response.destroyed) return;
      waiting.delete(send);
      response.end();
    };
    waiting.add(send);
    send();
    return true;
  };
  const served = await serveFile(file, { answer: ({ headers }, response) => answer(headers.range, response) });
  const server: HeldFile = Object.assign(served, {
    size: file.length,
    sent: 0,
    sendsUpTo: file.length * 0.4,
    sendUpTo(end: number) {
      server.sendsUpTo = end;
      for (const send of waiting) send();
    },
    refuse() {
      refuses = true;
      for (const send of waiting) send();
    },
  });
  return server;
}

const DISK = 64 << 20;
const { image, raw } = sparse(DISK);

let remote: HeldFile;
test.beforeEach(async () => {
  remote = await serveHeld(image);
});
test.afterEach(() => remote.close());

/** Opens the page with the image, and starts a download. */
async function begin(context: BrowserContext): Promise<Page> {
  const page = await context.newPage();
  await page.goto('/');
  const field = page.getByRole('textbox', { name: /^Link to/ });
  await field.fill(remote.url);
  await field.press('Enter');
  await page.getByRole('radio', { name: /As a download/ }).click();
  await page.getByRole('button', { name: 'Convert', exact: true }).click();
  return page;
}

/** Lets the server send more, step by step, until the journal records a fifth of the disk. */
async function noted(page: Page): Promise<void> {
  /** The recorded bytes of the disk: the first number of the last line, after a line about the conversion. */
  const done = () =>
    page.evaluate(async () => {
      const root = await navigator.storage.getDirectory();
      for await (const [name, folder] of root.entries()) {
        if (!name.startsWith('.decant')) continue;
        for await (const [name, file] of (folder as FileSystemDirectoryHandle).entries()) {
          if (!name.endsWith('.journal')) continue;
          const text = await (await (file as FileSystemFileHandle).getFile()).text();
          const notes = text.split('\n').slice(1, -1);
          return Number.parseInt(notes.at(-1) ?? '0', 10);
        }
      }
      return 0;
    });
  const more = async () => {
    remote.sendUpTo(remote.sendsUpTo + remote.size / 200);
    expect(remote.sendsUpTo).toBeLessThan(remote.size * 0.9);
    return done();
  };
  // A line is added when new data is written, but not too often.
  await expect.poll(more, { timeout: 60_000, intervals: [200] }).toBeGreaterThan(DISK / 5);
}

/** In bytes: a conversion from the beginning reads more, a resumed one less. */
const nearlyAll = () => remote.size * 0.95;

const files = async (page: Page): Promise<number> => (await storage(page)).names.length;

async function cutOff(context: BrowserContext): Promise<void> {
  const page = await begin(context);
  await noted(page);
  await page.close();
  remote.sent = 0;
}

/** Expects these notices on the first screen of another visit. */
async function firstScreen(context: BrowserContext, notices: RegExp[]): Promise<void> {
  const page = await context.newPage();
  await page.goto('/');
  // A notice follows the code that shows this.
  await expect(page.getByRole('textbox', { name: /^Link to/ })).toBeVisible();
  await expect(page.locator('.notice')).toHaveText(notices);
  await page.close();
}

test(
  'a closed tab: the page says so, asks, resumes, and the disk is right',
  { tag: '@full' },
  async ({ context }, testInfo) => {
    await cutOff(context);
    await firstScreen(context, [/^\s*The conversion of .* was interrupted at \d+%\./]);
    const page = await begin(context);
    await expect(page.getByRole('heading', { name: /^\d+% of this disk is already converted$/ })).toBeFocused();
    await look(page, testInfo, 'go-on');
    const downloading = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Resume' }).click();
    const bar = page.getByRole('progressbar');
    await expect.poll(() => bar.evaluate((bar: HTMLProgressElement) => bar.value)).toBeGreaterThan(0.1);
    remote.sendUpTo(remote.size);
    expect(hashFile(await (await downloading).path())).toBe(hashFile(raw));
    expect(remote.sent).toBeLessThan(nearlyAll());
    expect(await files(page)).toBe(1);
    await expect(page.getByRole('heading', { name: /^Done/ })).toBeVisible();
    await firstScreen(context, []);
  },
);

test(
  'Resume opens the link again, and in a second tab says that the first one has resumed',
  { tag: '@full' },
  async ({ context }, testInfo) => {
    await cutOff(context);
    remote.sendUpTo(remote.size);
    const [first, second] = [await context.newPage(), await context.newPage()];
    for (const page of [first, second]) {
      await page.goto('/');
      await expect(page.locator('.left-card')).toContainText(`Resume opens its link again: ${remote.url}`);
    }
    await look(first, testInfo, 'card-of-link');
    // Counts only the bytes for this tab, not those for the closed one.
    remote.sent = 0;
    const downloading = first.waitForEvent('download');
    await first.getByRole('button', { name: /^Resume: / }).click();
    expect(hashFile(await (await downloading).path())).toBe(hashFile(raw));
    expect(remote.sent).toBeLessThan(nearlyAll());
    await second.getByRole('button', { name: /^Resume: / }).click();
    await expect(second.getByText(/^\s*Another tab has resumed this download\./).first()).toBeVisible();
    await firstScreen(context, []);
  },
);

test('two tabs that resume: the second one says so', { tag: '@full' }, async ({ context }, testInfo) => {
  await cutOff(context);
  const [first, second] = [await begin(context), await begin(context)];
  for (const page of [first, second]) await expect(page.getByRole('button', { name: 'Resume' })).toBeVisible();
  const downloading = first.waitForEvent('download');
  await first.getByRole('button', { name: 'Resume' }).click();
  const bar = first.getByRole('progressbar');
  await expect.poll(() => bar.evaluate((bar: HTMLProgressElement) => bar.value)).toBeGreaterThan(0.1);
  await second.getByRole('button', { name: 'Resume' }).click();
  await expect(second.getByRole('heading', { name: 'Another tab has resumed this download' })).toBeFocused();
  await look(second, testInfo, 'elsewhere');
  expect(await files(first)).toBe(2);
  remote.sendUpTo(remote.size);
  expect(hashFile(await (await downloading).path())).toBe(hashFile(raw));
});

test('a closed tab: the page asks, and begins anew', { tag: '@full' }, async ({ context }) => {
  await cutOff(context);
  const page = await begin(context);
  const downloading = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Start over' }).click();
  remote.sendUpTo(remote.size);
  expect(hashFile(await (await downloading).path())).toBe(hashFile(raw));
  expect(remote.sent).toBeGreaterThan(nearlyAll());
});

test('a cancel leaves nothing, and nothing is asked afterwards', { tag: '@full' }, async ({ context }) => {
  const page = await begin(context);
  await noted(page);
  await page.getByRole('button', { name: 'Cancel' }).click();
  await expect(page.getByRole('heading', { name: 'Cancelled. Nothing was left behind.' })).toBeVisible();
  expect(await files(page)).toBe(0);
  await page.close();
  remote.sendUpTo(remote.size);
  const again = await begin(context);
  const downloading = again.waitForEvent('download');
  expect(hashFile(await (await downloading).path())).toBe(hashFile(raw));
});

test('after a failure the page says what is kept', { tag: '@full' }, async ({ context }, testInfo) => {
  const page = await begin(context);
  await noted(page);
  remote.refuse();
  const title = page.getByRole('heading', { name: 'disk.qcow2 could not be converted' });
  await expect(title).toBeVisible({ timeout: 30_000 });
  await expect(page.getByText(/^The finished part is kept for a week/)).toBeVisible();
  await expect(page.locator('decant-converter')).not.toContainText('with resume');
  await look(page, testInfo, 'failed');
});
