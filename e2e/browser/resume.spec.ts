// Conversions to the browser's storage that are cut off, and go on from where they were.

import { type BrowserContext, chromium } from '@playwright/test';
import { expect, giveFile, hashOpfs, loadApi, type Page, storage, test } from '../support/browser.js';
import { DISK_SIZE, hashFile, images, small } from '../support/images.js';
import { random } from '../support/random.js';
import { byScope } from '../support/scope.js';

const MIB = 1 << 20;
const LONG = byScope({ short: false, long: true });
const TABS = LONG ? 50 : 5;
const CRASHES = LONG ? 50 : 2;
const KEPT = 'The conversion was cancelled; what is done is kept: convert again with resume to go on';

interface Run {
  output: { opfs: string } | { download: string };
  /** The state of the image; by default that of the file itself, which is read at once. */
  state?: string;
  resume?: boolean;
  format?: string;
  engine?: 'workers' | 'threads';
  /** How long the image takes where it has a state, in milliseconds. */
  whole?: number;
  /** Cancels when so many bytes are done. */
  most?: number;
}
interface End {
  end: string;
  /** How many bytes of the disk were done at first. */
  first: number;
  bytesWritten?: number;
}

/** Converts `window.file`. With a state it is a source that takes its time. */
const convert = (page: Page, run: Run): Promise<End> =>
  page.evaluate(
    async ({ output, state, resume = true, format = 'raw', engine = 'auto', whole = 1500, most = Infinity }) => {
      const { file } = window;
      let due = performance.now();
      const slow = {
        size: file.size,
        name: file.name,
        state: state!,
        async read(offset: number, length: number) {
          due = Math.max(due, performance.now()) + (length / file.size) * whole;
          await new Promise((done) => setTimeout(done, due - performance.now()));
          return new Uint8Array(await file.slice(offset, offset + length).arrayBuffer());
        },
      };
      const image = await window.decant.open(state === undefined ? file : slow, { engine: engine as 'auto' });
      const ending = new AbortController();
      let first: number | undefined;
      try {
        const { bytesWritten } = await image.convert(output, {
          resume,
          format,
          signal: ending.signal,
          onProgress({ phase, guestDone }) {
            if (phase !== 'converting') return;
            first ??= guestDone;
            (window as unknown as { done: number }).done = guestDone;
            if (guestDone > most) ending.abort();
          },
        });
        return { end: 'done', first: first!, bytesWritten };
      } catch (thrown) {
        return { end: (thrown as Error).message, first: first! };
      } finally {
        await image.close();
      }
    },
    run,
  );

async function openTab(context: BrowserContext, path: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto('/blank');
  await loadApi(page);
  await giveFile(page, path);
  return page;
}

/** Waits until something is done, and then for so many milliseconds. */
async function into(page: Page, milliseconds: number): Promise<void> {
  await page.waitForFunction(() => ((window as unknown as { done?: number }).done ?? 0) > 0);
  await page.waitForTimeout(milliseconds);
}

const names = async (page: Page): Promise<string[]> => (await storage(page)).names;

test(`tabs that are closed at random moments, ${TABS} of them: the disk is right`, async ({ context }) => {
  test.setTimeout(600_000);
  const next = random(7);
  let furthest = 0;
  for (let tab = 0; tab < TABS; tab += 1) {
    const page = await openTab(context, small.zlib());
    // A page that is closed answers no more.
    const work = convert(page, { output: { opfs: 'out.raw' }, state: 'one', whole: 6000 }).catch(() => undefined);
    await into(page, 600 + next() * 600);
    await page.close();
    furthest = Math.max(furthest, (await work)?.first ?? 0);
  }
  const page = await openTab(context, small.zlib());
  const { end, first } = await convert(page, { output: { opfs: 'out.raw' }, state: 'one' });
  expect(end).toBe('done');
  // Several tabs had time to make something certain.
  expect(Math.max(first, furthest)).toBeGreaterThan(0);
  expect(await hashOpfs(page, 'out.raw')).toBe(hashFile(small.raw()));
  expect(await names(page)).toEqual(['out.raw']);
});

test(`browsers that crash at random moments, ${CRASHES} of them: the disk is right`, async ({
  launchOptions,
  baseURL,
}, testInfo) => {
  test.setTimeout(600_000);
  const next = random(8);
  const firsts: number[] = [];
  const run: Run = { output: { opfs: 'out.raw' }, state: 'one', whole: 6000 };
  for (let crashes = 0; ; crashes += 1) {
    const profile = testInfo.outputPath('profile');
    const context = await chromium.launchPersistentContext(profile, { ...launchOptions, baseURL: baseURL! });
    const page = await openTab(context, small.zlib());
    const work = convert(page, run);
    if (crashes === CRASHES) {
      const { end, first } = await work;
      expect(end).toBe('done');
      firsts.push(first);
      expect(await hashOpfs(page, 'out.raw')).toBe(hashFile(small.raw()));
      expect(await names(page)).toEqual(['out.raw']);
      await context.close();
      break;
    }
    // A browser that has crashed answers no more.
    const lost = work.catch(() => undefined);
    await into(page, 800 + next() * 1000);
    const closed = new Promise((done) => context.once('close', done));
    const client = await context.newCDPSession(page);
    client.send('Browser.crash').catch(() => {});
    await closed;
    firsts.push((await lost)?.first ?? 0);
  }
  expect(Math.max(...firsts)).toBeGreaterThan(0);
});

for (const engine of ['workers', 'threads'] as const) {
  test(`${engine}: what was cancelled goes on, and a file of the same state in another tab`, async ({ context }) => {
    const run: Run = { output: { opfs: 'out.raw' }, engine };
    const page = await openTab(context, images.zlib());
    expect((await convert(page, { ...run, most: 64 * MIB })).end).toBe(KEPT);
    expect((await names(page)).filter((name) => name.endsWith('.journal'))).toHaveLength(1);
    await page.close();
    const other = await openTab(context, images.zlib());
    // How much that is depends on the jobs that were under way: their memory may hold as much as the disk has.
    const certain = (await kept(other, run))!;
    expect(certain).toBeGreaterThan(0);
    const { end, first, bytesWritten } = await convert(other, run);
    expect(end).toBe('done');
    expect(first).toBe(certain);
    const whole = await convert(other, { output: { opfs: 'whole.raw' }, resume: false });
    expect(bytesWritten).toBe(whole.bytesWritten);
    expect(await hashOpfs(other, 'out.raw')).toBe(hashFile(images.raw()));
    expect((await names(other)).toSorted()).toEqual(['out.raw', 'whole.raw']);
  });
}

test('a download goes on, whatever its name, and its copy has no journal', async ({ context }) => {
  const page = await openTab(context, small.zlib());
  const run = { state: 'one' };
  expect((await convert(page, { ...run, output: { download: 'a.raw' }, most: 8 * MIB })).end).toBe(KEPT);
  const downloaded = page.waitForEvent('download');
  const { end, first } = await convert(page, { ...run, output: { download: 'b.raw' } });
  expect(end).toBe('done');
  expect(first).toBeGreaterThan(4 * MIB);
  expect(hashFile(await (await downloaded).path())).toBe(hashFile(small.raw()));
  // The next conversion leaves the copy alone, which the browser may still read.
  expect(await names(page)).toHaveLength(1);
  expect((await names(page))[0]).not.toContain('journal');
});

/** What may become of what is left: the file and its journal. */
const MEANWHILE: Record<string, { change: (page: Page) => Promise<void>; goesOn: boolean }> = {
  'something lies behind what is certain': {
    change: (page) => rewrite(page, /[0-9a-f]$/, { behind: true }),
    goesOn: true,
  },
  'the last line was not finished': {
    change: (page) => rewrite(page, /journal$/, { text: (all) => `${all}9` }),
    goesOn: true,
  },
  'another conversion': {
    change: (page) => rewrite(page, /journal$/, { text: (all) => all.replace('"]', '_"]') }),
    goesOn: false,
  },
  'no line': {
    change: (page) => rewrite(page, /journal$/, { text: (all) => `${all.split('\n')[0]}\n` }),
    goesOn: false,
  },
  'no journal': { change: (page) => rewrite(page, /journal$/, {}), goesOn: false },
  'a file that is too short': { change: (page) => rewrite(page, /[0-9a-f]$/, { text: () => 'x' }), goesOn: false },
};

/** Changes the temporary file of that name; removes it where nothing else is said. */
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

for (const [what, { change, goesOn }] of Object.entries(MEANWHILE)) {
  test(`meanwhile ${what}: the disk is right`, async ({ context }) => {
    const page = await openTab(context, small.zlib());
    const run: Run = { output: { opfs: 'out.raw' }, state: 'one' };
    expect((await convert(page, { ...run, most: 12 * MIB })).end).toBe(KEPT);
    await change(page);
    const { end, first } = await convert(page, run);
    expect(end).toBe('done');
    if (goesOn) expect(first).toBeGreaterThan(4 * MIB);
    else expect(first).toBe(0);
    expect(await hashOpfs(page, 'out.raw')).toBe(hashFile(small.raw()));
    // What nobody goes on with is swept.
    await page.evaluate(() => window.decant.removeLeftovers());
    if (what !== 'another conversion') expect(await names(page)).toEqual(['out.raw']);
  });
}

/** What `kept` says of a conversion of `window.file`. */
const kept = (page: Page, { output, state, format = 'raw' }: Run, discards = false): Promise<number | undefined> =>
  page.evaluate(
    async ({ output, state, format, discards }) => {
      const { file } = window;
      const read = async (offset: number, length: number) =>
        new Uint8Array(await file.slice(offset, offset + length).arrayBuffer());
      const own = { size: file.size, name: file.name, read, ...(state === 'none' ? {} : { state: state! }) };
      const image = await window.decant.open(state === undefined ? file : own);
      const found = await image.kept(output, { format });
      if (discards) await found!.discard();
      await image.close();
      return found?.guestDone;
    },
    { output, state, format, discards },
  );

test('what is kept is told, and can be discarded', async ({ context }) => {
  const page = await openTab(context, small.zlib());
  const [run, other]: Run[] = [
    { output: { opfs: 'out.raw' }, state: 'one' },
    { output: { download: 'out.raw' }, state: 'one' },
  ];
  expect(await kept(page, run!)).toBe(0);
  expect(await kept(page, { ...run!, format: 'raw.gz' })).toBeUndefined();
  expect(await kept(page, { ...run!, state: 'none' })).toBeUndefined();
  for (const one of [run!, other!]) expect((await convert(page, { ...one, most: 8 * MIB })).end).toBe(KEPT);
  expect(await kept(page, run!)).toBeGreaterThan(4 * MIB);
  expect(await kept(page, { ...run!, state: 'two' })).toBe(0);
  expect(await kept(page, { ...run!, format: 'vpc' })).toBe(0);
  expect(await kept(page, { ...run!, output: { opfs: 'other.raw' } })).toBe(0);
  await kept(page, run!, true);
  expect(await kept(page, run!)).toBe(0);
  expect(await kept(page, other!)).toBeGreaterThan(4 * MIB);
  expect(await names(page)).toHaveLength(2);
});

test('what is kept stays for a week, or until somebody converts to the name without resume', async ({ context }) => {
  const page = await openTab(context, small.zlib());
  const run: Run = { output: { opfs: 'out.raw' }, state: 'one' };
  await convert(page, { ...run, most: 8 * MIB });
  await convert(page, { output: { opfs: 'other.raw' }, resume: false });
  await page.evaluate(() => window.decant.removeLeftovers());
  expect(await names(page)).toHaveLength(3);
  await convert(page, { ...run, resume: false });
  expect((await names(page)).toSorted()).toEqual(['other.raw', 'out.raw']);
  await convert(page, { ...run, output: { opfs: 'third.raw' }, most: 8 * MIB });
  expect(await names(page)).toHaveLength(4);
  await page.clock.setFixedTime(Date.now() + 8 * 24 * 3600 * 1000);
  await page.evaluate(() => window.decant.removeLeftovers());
  expect((await names(page)).toSorted()).toEqual(['other.raw', 'out.raw']);
});

test('two tabs that go on at once: one goes on, the other begins anew, and both are right', async ({ context }) => {
  const run: Run = { output: { opfs: 'out.raw' }, state: 'one' };
  const [one, two] = [await openTab(context, small.zlib()), await openTab(context, small.zlib())];
  await convert(one, { ...run, most: 8 * MIB });
  const ends = await Promise.all([convert(one, run), convert(two, run)]);
  expect(ends.filter(({ first }) => first > 0).length).toBeLessThan(2);
  expect(ends.map(({ end }) => end)).toContain('done');
  for (const { end } of ends) if (end !== 'done') expect(end).toMatch(/Somebody else has written 'out.raw' meanwhile/);
  expect(await hashOpfs(one, 'out.raw')).toBe(hashFile(small.raw()));
});

test('what two tabs have left is gone once the disk is complete', async ({ context }) => {
  for (const output of [{ opfs: 'out.raw' }, { download: 'out.raw' }]) {
    const run: Run = { output, state: 'one', whole: 4000 };
    const tabs = [await openTab(context, small.zlib()), await openTab(context, small.zlib())];
    const ends = await Promise.all(tabs.map((tab) => convert(tab, { ...run, most: 16 * MIB })));
    expect(ends.map(({ end }) => end)).toEqual([KEPT, KEPT]);
    expect(await kept(tabs[0]!, run)).toBeGreaterThan(4 * MIB);
    expect((await names(tabs[0]!)).filter((name) => name.endsWith('.journal'))).toHaveLength(2);
    expect((await convert(tabs[0]!, run)).end).toBe('done');
    expect(await kept(tabs[0]!, run)).toBe(0);
    expect((await names(tabs[0]!)).filter((name) => name.endsWith('.journal'))).toEqual([]);
  }
});

test('refused: outputs that cannot be resumed', async ({ context }) => {
  const page = await openTab(context, small.zlib());
  const run: Run = { output: { opfs: 'out.raw' }, state: 'one' };
  expect((await convert(page, { ...run, format: 'raw.gz' })).end).toMatch(/an output in raw.gz is made in one go/);
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

test('a storage that is full: what is done stays, and goes on when there is room', async ({ context }) => {
  const page = await openTab(context, images.zlib());
  const run: Run = { output: { opfs: 'out.raw' } };
  const [most, quotaSize] = [DISK_SIZE * 0.4, DISK_SIZE * 0.65];
  expect((await convert(page, { ...run, most })).end).toBe(KEPT);
  const [client, { origin }] = [await context.newCDPSession(page), new URL(page.url())];
  await client.send('Storage.overrideQuotaForOrigin', { origin, quotaSize });
  expect((await convert(page, run)).end).toBe(
    'Could not write the output: the storage is full; what is done is kept: convert again with resume to go on',
  );
  await client.send('Storage.overrideQuotaForOrigin', { origin });
  const { end, first } = await convert(page, run);
  expect(end).toBe('done');
  expect(first).toBeGreaterThan(most / 2);
  expect(await hashOpfs(page, 'out.raw')).toBe(hashFile(images.raw()));
  expect(await names(page)).toEqual(['out.raw']);
});
