// Interrupted conversions to the browser's storage, and their resumption.

import { statSync } from 'node:fs';
import { type BrowserContext, chromium } from '@playwright/test';
import {
  ENGINES,
  expect,
  giveFile,
  hashOpfs,
  holdFiles,
  loadApi,
  type Page,
  reportAll,
  storage,
  test,
} from '../support/browser.js';
import { hashFile, qemuImg, sparse } from '../support/images.js';
import { random } from '../support/random.js';

const MIB = 1 << 20;
const KEPT = 'The conversion was cancelled; progress was saved; run again with resume to continue';

/** A disk of several jobs, regardless of the size of others, and an image with its bytes in order. */
const disk = () => sparse(64 * MIB);
/** The offset at which reads of that image pause, and the minimum of the disk that is converted by then. */
const HELD_FROM = 12 * MIB;
const DONE = 24 * MIB;

interface Run {
  output: { opfs: string } | { download: string };
  /** The state of the image; by default that of the file itself. */
  state?: string;
  resume?: boolean;
  format?: string;
  engine?: 'workers' | 'threads';
  /** Pauses reads beyond this offset; only with a state. */
  holdFrom?: number;
}
interface End {
  end: string;
  /** The bytes of the disk that were done at first. */
  first: number;
  bytesWritten?: number;
}

const RUN: Run = { output: { opfs: 'out.raw' }, state: 'one' };

declare global {
  interface Window {
    /** The bytes from the start of the disk that are converted without a gap. */
    done: number;
    /** Whether the image is open, and the conversion begins. */
    isOpen: boolean;
    /** Ends the conversion. */
    ending: AbortController;
  }
}

/** Converts `window.file`, with a state by a source that becomes `window.held`. */
const convert = (page: Page, run: Run): Promise<End> =>
  page.evaluate(async ({ output, state, resume = true, format = 'raw', engine = 'auto', holdFrom = Infinity }) => {
    window.done = 0;
    window.isOpen = false;
    window.ending = new AbortController();
    window.held = window.hold(window.file, state);
    const source = state === undefined ? window.file : window.held;
    const image = await window.decant.open(source, { engine: engine as 'auto' });
    window.held.holdFrom(holdFrom);
    window.isOpen = true;
    let first: number | undefined;
    try {
      const { bytesWritten } = await image.convert(output, {
        resume,
        format,
        signal: window.ending.signal,
        onProgress({ phase, guestDone, guestTotal, cells }) {
          if (phase !== 'converting') return;
          first ??= guestDone;
          const undone = cells!.indexOf(0);
          window.done = undone < 0 ? guestTotal! : undone * Math.ceil(guestTotal! / cells!.length);
        },
      });
      return { end: 'done', first: first!, bytesWritten };
    } catch (thrown) {
      return { end: (thrown as Error).message, first: first! };
    } finally {
      await image.close();
    }
  }, run);

async function openTab(context: BrowserContext, path = disk().image): Promise<Page> {
  const page = await context.newPage();
  await page.goto('/blank');
  await loadApi(page);
  await reportAll(page);
  await giveFile(page, path);
  return page;
}

const names = async (page: Page): Promise<string[]> => (await storage(page)).names;

/** Starts a conversion, and returns once `done` bytes are converted. */
async function convertUntil(done: number, page: Page, run: Run): Promise<{ ended: Promise<End> }> {
  const ended = convert(page, run);
  // A closed page no longer answers.
  ended.catch(() => {});
  await expect.poll(() => page.evaluate(() => window.done)).toBeGreaterThanOrEqual(done);
  return { ended };
}

const convertUntilHeld = (page: Page, run: Run) => convertUntil(DONE, page, { ...run, holdFrom: HELD_FROM });

async function cancel(page: Page, { ended }: { ended: Promise<End> }): Promise<void> {
  await page.evaluate(() => window.ending.abort());
  expect((await ended).end).toBe(KEPT);
}

const convertAndCancel = async (page: Page, run: Run): Promise<void> => cancel(page, await convertUntilHeld(page, run));

/** Starts a conversion, and returns once its journal has an entry and it is paused. */
async function convertUntilNoted(page: Page, run: Run): Promise<void> {
  await convertUntilHeld(page, run);
  // A line is added when a part is done half a second or more after the start.
  await page.waitForTimeout(600);
  await page.evaluate((offset) => window.held.holdFrom(offset), HELD_FROM + 4 * MIB);
  await expect.poll(() => noted(page)).toBeGreaterThan(0);
}

/** The number of entries in all journals. */
const noted = (page: Page): Promise<number> =>
  page.evaluate(async () => {
    const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle('.decant-1');
    let lines = 0;
    for await (const [name, entry] of folder.entries()) {
      if (!name.endsWith('.journal')) continue;
      const text = await (await (entry as FileSystemFileHandle).getFile()).text();
      lines += text.split('\n').length - 2;
    }
    return lines;
  });

/** Checks that a conversion resumes exactly where the journal ends, and that the disk is right. */
async function expectGoesOn(page: Page, run: Run): Promise<void> {
  const certain = (await kept(page, run))!;
  expect(certain).toBeGreaterThan(0);
  const { end, first } = await convert(page, run);
  expect(end).toBe('done');
  expect(first).toBe(certain);
  expect(await hashOpfs(page, 'out.raw')).toBe(hashFile(disk().raw));
  expect(await names(page)).toEqual(['out.raw']);
}

for (const [engine, details] of ENGINES) {
  test(`${engine}: a closed tab: another one resumes its conversion`, details, async ({ context }) => {
    const page = await openTab(context);
    await convertUntilNoted(page, { ...RUN, engine });
    await page.close();
    await expectGoesOn(await openTab(context), RUN);
  });
}

test(
  'a crashed browser: the next one resumes its conversion',
  { tag: '@full' },
  async ({ launchOptions, baseURL }, testInfo) => {
    const profile = testInfo.outputPath('profile');
    const launch = () => chromium.launchPersistentContext(profile, { ...launchOptions, baseURL: baseURL! });
    const context = await launch();
    const page = await openTab(context);
    await convertUntilNoted(page, RUN);
    await crash(context, page);
    const next = await launch();
    await expectGoesOn(await openTab(next), RUN);
    await next.close();
  },
);

async function crash(context: BrowserContext, page: Page): Promise<void> {
  const closed = new Promise((done) => context.once('close', done));
  const client = await context.newCDPSession(page);
  // A crashed browser no longer answers.
  client.send('Browser.crash').catch(() => {});
  await closed;
}

/** Lets reads of a conversion pass one by one, until its tab is gone. */
async function letGoSlowly(page: Page): Promise<void> {
  await page.waitForFunction(() => window.isOpen);
  for (let offset = MIB; ; offset += MIB / 2) {
    await page.evaluate((offset) => window.held?.holdFrom(offset), offset);
    await page.waitForTimeout(100);
  }
}

for (const [what, seed, times] of [
  ['tabs that are closed', 7, 50],
  ['browsers that crash', 8, 50],
] as const) {
  test(
    `${what} at random moments, ${times} of them with seed ${seed}: the disk is right`,
    { tag: '@long' },
    async ({ launchOptions, baseURL }, testInfo) => {
      test.setTimeout(1_200_000);
      const next = random(seed);
      const profile = testInfo.outputPath('profile');
      const launch = () => chromium.launchPersistentContext(profile, { ...launchOptions, baseURL: baseURL! });
      let context = await launch();
      const firsts: number[] = [];
      for (let time = 0; time < times; time += 1) {
        const page = await openTab(context);
        // A closed page no longer answers.
        const lost = convert(page, { ...RUN, holdFrom: MIB }).catch(() => undefined);
        const progress = letGoSlowly(page).catch(() => {});
        await page.waitForFunction(() => window.done > 0);
        await page.waitForTimeout(600 + next() * 1000);
        // On a slow machine, no other round may have had the time to record progress.
        if (time === times - 1) await expect.poll(() => noted(page), { timeout: 60_000 }).toBeGreaterThan(0);
        if (what === 'tabs that are closed') await page.close();
        else {
          await crash(context, page);
          context = await launch();
        }
        await progress;
        firsts.push((await lost)?.first ?? 0);
      }
      const page = await openTab(context);
      const { end, first } = await convert(page, RUN);
      expect(end).toBe('done');
      expect(Math.max(first, ...firsts)).toBeGreaterThan(0);
      expect(await hashOpfs(page, 'out.raw')).toBe(hashFile(disk().raw));
      expect(await names(page)).toEqual(['out.raw']);
      await context.close();
    },
  );
}

for (const [engine] of ENGINES) {
  test(
    `${engine}: a cancelled conversion of a file resumes in another tab`,
    { tag: '@full' },
    async ({ context, servers }, testInfo) => {
      const image = testInfo.outputPath('compressed.qcow2');
      qemuImg('convert', '-c', '-O', 'qcow2', disk().image, image);
      const { size } = statSync(image);
      const run: Run = { output: { opfs: 'out.raw' }, engine };
      // A third of the data, which is at the end.
      holdFiles(servers.isolated, size - 8192);
      const page = await openTab(context, image);
      await cancel(page, await convertUntil(DONE / 2, page, run));
      expect((await names(page)).filter((name) => name.endsWith('.journal'))).toHaveLength(1);
      await page.close();
      servers.isolated.alter = undefined;
      const other = await openTab(context, image);
      const certain = (await kept(other, run))!;
      expect(certain).toBeGreaterThanOrEqual(DONE / 2);
      const { end, first, bytesWritten } = await convert(other, run);
      expect(end).toBe('done');
      expect(first).toBe(certain);
      const whole = await convert(other, { output: { opfs: 'whole.raw' }, resume: false });
      expect(bytesWritten).toBe(whole.bytesWritten);
      expect(await hashOpfs(other, 'out.raw')).toBe(hashFile(disk().raw));
      expect((await names(other)).toSorted()).toEqual(['out.raw', 'whole.raw']);
    },
  );
}

test(
  'a file that was changed and kept its name, size and time is converted anew',
  { tag: '@full' },
  async ({ context, servers }) => {
    const { size } = statSync(disk().image);
    const run: Run = { output: { opfs: 'out.raw' } };
    holdFiles(servers.isolated, size / 2 + 2 * MIB);
    const page = await openTab(context);
    await cancel(page, await convertUntil(DONE / 2, page, run));
    await page.close();
    servers.isolated.alter = undefined;
    const other = await openTab(context);
    expect(await kept(other, run)).toBeGreaterThanOrEqual(DONE / 2);
    await other.evaluate(
      async (changed) => {
        const { file } = window;
        const bytes = new Uint8Array(await file.arrayBuffer());
        for (let at = changed; at < changed + (1 << 20); at += 1) bytes[at]! ^= 1;
        const { name, lastModified } = file;
        window.file = new File([bytes], name, { lastModified });
      },
      Math.floor(size / 4),
    );
    expect(await kept(other, run)).toBe(0);
    const { end, first } = await convert(other, run);
    expect([end, first]).toEqual(['done', 0]);
    await convert(other, { output: { opfs: 'whole.raw' }, resume: false });
    expect(await hashOpfs(other, 'out.raw')).toBe(await hashOpfs(other, 'whole.raw'));
  },
);

test('a download resumes under any name, and its copy has no journal', { tag: '@full' }, async ({ context }) => {
  const page = await openTab(context);
  await convertAndCancel(page, { ...RUN, output: { download: 'a.raw' } });
  const downloaded = page.waitForEvent('download');
  const { end, first } = await convert(page, { ...RUN, output: { download: 'b.raw' } });
  expect(end).toBe('done');
  expect(first).toBeGreaterThanOrEqual(DONE);
  expect(hashFile(await (await downloaded).path())).toBe(hashFile(disk().raw));
  // The next conversion leaves the copy alone, which the browser may still read.
  expect(await names(page)).toHaveLength(1);
  expect((await names(page))[0]).not.toContain('journal');
});

/** Changes to the left file and its journal. */
const CHANGED: Record<string, { change: (page: Page) => Promise<void>; goesOn: boolean }> = {
  'data after the certain part': {
    change: (page) => rewrite(page, /[0-9a-f]$/, { behind: true }),
    goesOn: true,
  },
  'an unfinished last line': {
    change: (page) => rewrite(page, /journal$/, { text: (all) => `${all}9` }),
    goesOn: true,
  },
  'the journal of another conversion': {
    change: (page) => rewrite(page, /journal$/, { text: (all) => all.replace('","', '","_') }),
    goesOn: false,
  },
  'no line': {
    change: (page) => rewrite(page, /journal$/, { text: (all) => `${all.split('\n')[0]}\n` }),
    goesOn: false,
  },
  'no journal': { change: (page) => rewrite(page, /journal$/, {}), goesOn: false },
  'a file that is too short': { change: (page) => rewrite(page, /[0-9a-f]$/, { text: () => 'x' }), goesOn: false },
};

/** Changes the temporary file of that name; removes it by default. */
async function rewrite(
  page: Page,
  name: RegExp,
  { text, behind }: { text?: (all: string) => string; behind?: boolean },
): Promise<void> {
  const path = (await names(page)).find((found) => found.startsWith('.decant') && name.test(found))!;
  const [folder, file] = path.split('/') as [string, string];
  const read = (): Promise<string> =>
    page.evaluate(
      async ([folder, file]) => {
        const root = await navigator.storage.getDirectory();
        return (await (await (await root.getDirectoryHandle(folder!)).getFileHandle(file!)).getFile()).text();
      },
      [folder, file],
    );
  const content = text?.(name.test('journal') ? await read() : '');
  await page.evaluate(
    async ({ folder, file, content, behind }) => {
      const parent = await (await navigator.storage.getDirectory()).getDirectoryHandle(folder);
      if (content === undefined && !behind) {
        await parent.removeEntry(file);
        return;
      }
      const handle = await parent.getFileHandle(file);
      const writable = await handle.createWritable({ keepExistingData: behind === true });
      if (behind) {
        const journal = await (await parent.getFileHandle(`${file}.journal`)).getFile();
        const certain = Number.parseFloat((await journal.text()).trim().split('\n').at(-1)!);
        const { size } = await handle.getFile();
        await writable.write({ type: 'write', position: certain, data: new Uint8Array(size - certain).fill(1) });
      } else await writable.write(content!);
      await writable.close();
    },
    { folder, file, content, behind },
  );
}

/** One that resumes and one that does not. */
const CHANGED_IN_SHORT = ['data after the certain part'];

for (const [what, { change, goesOn }] of Object.entries(CHANGED)) {
  const tag = CHANGED_IN_SHORT.includes(what) ? [] : '@full';
  test(`a leftover with ${what}: the disk is right`, { tag }, async ({ context }) => {
    const page = await openTab(context);
    await convertAndCancel(page, RUN);
    await change(page);
    const { end, first } = await convert(page, RUN);
    expect(end).toBe('done');
    if (goesOn) expect(first).toBeGreaterThanOrEqual(DONE);
    else expect(first).toBe(0);
    expect(await hashOpfs(page, 'out.raw')).toBe(hashFile(disk().raw));
    // Files that no conversion resumes are swept.
    await page.evaluate(() => window.decant.removeLeftovers());
    if (what !== 'the journal of another conversion') expect(await names(page)).toEqual(['out.raw']);
  });
}

/** The result of `resumable` for a conversion of `window.file`. */
const kept = (page: Page, { output, state, format = 'raw' }: Run, discards = false): Promise<number | undefined> =>
  page.evaluate(
    async ({ output, state, format, discards }) => {
      const { file } = window;
      const read = async (offset: number, length: number) =>
        new Uint8Array(await file.slice(offset, offset + length).arrayBuffer());
      const own = { size: file.size, name: file.name, read, ...(state === 'none' ? {} : { state: state! }) };
      const image = await window.decant.open(state === undefined ? file : own);
      const found = await image.savedProgress(output, { format });
      if (discards) await found!.discard();
      await image.close();
      return found?.guestDone;
    },
    { output, state, format, discards },
  );

test('kept progress is reported, and can be discarded', { tag: '@full' }, async ({ context }) => {
  const page = await openTab(context);
  const download: Run = { ...RUN, output: { download: 'out.raw' } };
  expect(await kept(page, RUN)).toBe(0);
  expect(await kept(page, { ...RUN, format: 'raw.gz' })).toBeUndefined();
  expect(await kept(page, { ...RUN, state: 'none' })).toBeUndefined();
  for (const run of [RUN, download]) await convertAndCancel(page, run);
  expect(await kept(page, RUN)).toBeGreaterThanOrEqual(DONE);
  expect(await kept(page, { ...RUN, state: 'two' })).toBe(0);
  expect(await kept(page, { ...RUN, format: 'vpc' })).toBe(0);
  expect(await kept(page, { ...RUN, output: { opfs: 'other.raw' } })).toBe(0);
  await kept(page, RUN, true);
  expect(await kept(page, RUN)).toBe(0);
  expect(await kept(page, download)).toBeGreaterThanOrEqual(DONE);
  expect(await names(page)).toHaveLength(2);
});

test(
  'what is kept stays for a week, or until somebody converts to the name without resume',
  { tag: '@full' },
  async ({ context }) => {
    const page = await openTab(context);
    await convertAndCancel(page, RUN);
    await convert(page, { output: { opfs: 'other.raw' }, resume: false });
    await page.evaluate(() => window.decant.removeLeftovers());
    expect(await names(page)).toHaveLength(3);
    await convert(page, { ...RUN, resume: false });
    expect((await names(page)).toSorted()).toEqual(['other.raw', 'out.raw']);
    await convertAndCancel(page, { ...RUN, output: { opfs: 'third.raw' } });
    expect(await names(page)).toHaveLength(4);
    await page.clock.setFixedTime(Date.now() + 8 * 24 * 3600 * 1000);
    await page.evaluate(() => window.decant.removeLeftovers());
    expect((await names(page)).toSorted()).toEqual(['other.raw', 'out.raw']);
  },
);

test(
  'two tabs that resume at once: one resumes, the other begins anew, and both are right',
  { tag: '@full' },
  async ({ context }) => {
    const tabs = [await openTab(context), await openTab(context)] as const;
    await convertAndCancel(tabs[0], RUN);
    const held = await Promise.all(tabs.map((tab) => convertUntilHeld(tab, RUN)));
    for (const tab of tabs) await tab.evaluate(() => window.held.holdFrom(Infinity));
    const ends = await Promise.all(held.map(({ ended }) => ended));
    expect(ends.filter(({ first }) => first > 0)).toHaveLength(1);
    const [done, other] = ends.toSorted((a, b) => Number(b.end === 'done') - Number(a.end === 'done'));
    expect(done!.end).toBe('done');
    expect(other!.end).toMatch(/'out.raw' was changed during the conversion/);
    expect(await hashOpfs(tabs[0], 'out.raw')).toBe(hashFile(disk().raw));
  },
);

for (const { output } of [{ output: { opfs: 'out.raw' } }, { output: { download: 'out.raw' } }]) {
  test(
    `what two tabs have left is gone once the disk is complete: ${Object.keys(output)}`,
    { tag: '@full' },
    async ({ context }) => {
      const run: Run = { output, state: 'one' };
      const tabs = [await openTab(context), await openTab(context)] as const;
      const held = await Promise.all(tabs.map((tab) => convertUntilHeld(tab, run)));
      for (const [at, tab] of tabs.entries()) await cancel(tab, held[at]!);
      expect(await kept(tabs[0], run)).toBeGreaterThanOrEqual(DONE);
      expect((await names(tabs[0])).filter((name) => name.endsWith('.journal'))).toHaveLength(2);
      expect((await convert(tabs[0], run)).end).toBe('done');
      expect(await kept(tabs[0], run)).toBe(0);
      expect((await names(tabs[0])).filter((name) => name.endsWith('.journal'))).toEqual([]);
    },
  );
}

test('refused: outputs that cannot be resumed', async ({ context }) => {
  const page = await openTab(context);
  expect((await convert(page, { ...RUN, format: 'raw.gz' })).end).toMatch(
    /the output format raw.gz is written in one pass/,
  );
  const refusal = await page.evaluate(async () => {
    const image = await window.decant.open(window.file);
    try {
      await image.convert(new WritableStream(), { resume: true });
      return 'done';
    } catch (thrown) {
      return (thrown as Error).message;
    } finally {
      await image.close();
    }
  });
  expect(refusal).toBe('An output of this kind cannot be resumed');
  expect(await names(page)).toEqual([]);
});

test('a full storage: progress stays, and is resumed when there is room', async ({ context }) => {
  const page = await openTab(context);
  await convertAndCancel(page, RUN);
  const [client, { origin }] = [await context.newCDPSession(page), new URL(page.url())];
  await client.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: 40 * MIB });
  expect((await convert(page, RUN)).end).toBe(
    "Could not write the output: the disk or the browser's storage is full; free some space, or save another way; progress was saved; run again with resume to continue",
  );
  await client.send('Storage.overrideQuotaForOrigin', { origin });
  expect(await kept(page, RUN)).toBeGreaterThanOrEqual(DONE);
  await expectGoesOn(page, RUN);
});
