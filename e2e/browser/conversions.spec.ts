// Behaviour besides the bytes: cancelling, failures, cleaning up, concurrent conversions.

import { appendFileSync, copyFileSync } from 'node:fs';
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
import { DISK_SIZE, hashFile, images, sparse } from '../support/images.js';

type Engine = 'threads' | 'workers';
type Target = 'opfs' | 'handle';

interface Attempt {
  engine: Engine;
  target: Target;
  /** Pauses reads in the second half of the image. */
  holds?: boolean;
  /** The phase in which to cancel. */
  cancelIn?: string;
  /** The bytes of the disk that are done by then. */
  after?: number;
}

/** Converts `window.file`, cancels if requested, and returns the outcome. */
async function attempt(page: Page, options: Attempt) {
  return page.evaluate(async ({ engine, target, holds, cancelIn, after = 0 }) => {
    const { file } = window;
    const held = window.hold(file);
    const opened = window.decant.open(holds ? held : file, { engine, workers: 2 });
    const image = await opened.catch(({ kind, message }) => ({ kind, message }));
    if ('kind' in image) return { ...image, guestDone: 0 };
    if (holds) held.holdFrom(file.size / 2);
    const root = await navigator.storage.getDirectory();
    const output = target === 'opfs' ? { opfs: 'out.raw' } : await root.getFileHandle('out.raw', { create: true });
    const abort = new AbortController();
    let isCancelled = false;
    const onProgress = ({ phase, guestDone = 0 }: { phase: string; guestDone?: number }) => {
      if (phase !== cancelIn || guestDone < after || isCancelled) return;
      isCancelled = true;
      // Not inside the callback: as by a click.
      setTimeout(() => abort.abort());
    };
    try {
      const result = await image.convert(output, { signal: abort.signal, onProgress });
      return { kind: 'done', message: '', result };
    } catch (error) {
      const { kind, message } = error as { kind: string; message: string };
      return { kind, message };
    } finally {
      await image.close();
    }
  }, options);
}

/** Checks that a cancelled conversion has left nothing, and that the next one works. */
async function expectNothingLeft(page: Page, { engine, target, cancelIn }: Attempt, raw: string): Promise<void> {
  // An empty file of a handle may be older than the conversion: it is not removed.
  expect((await storage(page)).names).toEqual(target === 'handle' ? ['out.raw'] : []);
  // The coordinator stays warm, as do threads that no conversion has used. The workers of a conversion end.
  const isUnused = engine === 'threads' && cancelIn === 'preparing';
  await expect.poll(() => page.workers().length).toBeLessThanOrEqual(isUnused ? 3 : 1);
  expect((await attempt(page, { engine, target })).kind).toBe('done');
  expect(await hashOpfs(page, 'out.raw')).toBe(hashFile(raw));
}

/** A disk of several jobs for every `DECANT_DISK_MIB`. */
const disk = () => sparse(64 << 20);

/** The moments at which a conversion is cancelled, and those in the short scope. */
const CANCELS: { when: string; cancelIn: string; after: number; short: string[] }[] = [
  { when: 'while preparing', cancelIn: 'preparing', after: 0, short: [] },
  { when: 'before the first byte', cancelIn: 'converting', after: 0, short: [] },
  { when: 'with 4 MiB done', cancelIn: 'converting', after: 4 << 20, short: ['workers, opfs'] },
];

for (const engine of ['threads', 'workers'] as const) {
  for (const target of ['opfs', 'handle'] as const) {
    for (const { when, cancelIn, after, short } of CANCELS) {
      const tag = short.includes(`${engine}, ${target}`) ? [] : '@full';
      test(`cancelled ${when}, ${engine}, ${target}: nothing is left`, { tag }, async ({ apiPage: page }) => {
        const { image, raw } = disk();
        await giveFile(page, image);
        if (after > 0) await reportAll(page);
        const options = { engine, target, cancelIn, after };
        expect((await attempt(page, { ...options, holds: true })).kind).toBe('cancelled');
        await expectNothingLeft(page, options, raw);
      });
    }
  }
}

for (const [engine] of ENGINES) {
  test(
    `${engine}: a cancel does not wait for the browser to read a file`,
    { tag: '@full' },
    async ({ apiPage: page, servers }) => {
      const { image, raw } = disk();
      holdFiles(servers.isolated, 8 << 20);
      await giveFile(page, image);
      const options = { engine, target: 'opfs', cancelIn: 'converting' } as const;
      expect((await attempt(page, options)).kind).toBe('cancelled');
      await page.evaluate(() => window.decant.dispose());
      servers.isolated.alter = undefined;
      await expectNothingLeft(page, options, raw);
    },
  );
}

test('cancelled while finalizing', async ({ apiPage: page }) => {
  await giveFile(page, images.zlib());
  const ended = await attempt(page, { engine: 'workers', target: 'handle', cancelIn: 'finalizing' });
  // The private file system completes a file at once, so the cancel may come too late.
  expect(['cancelled', 'done']).toContain(ended.kind);
  const size = await page.evaluate(async () => {
    const root = await navigator.storage.getDirectory();
    return (await (await root.getFileHandle('out.raw')).getFile()).size;
  });
  expect(size).toBe(ended.kind === 'done' ? DISK_SIZE : 0);
});

for (const { engine, target, tag = [] } of [
  { engine: 'workers', target: 'opfs' },
  { engine: 'workers', target: 'handle', tag: '@full' },
  { engine: 'threads', target: 'opfs', tag: '@full' },
  { engine: 'threads', target: 'handle', tag: '@full' },
] as const) {
  test(`files that cannot be converted leave nothing, ${engine}, ${target}`, { tag }, async ({ apiPage: page }) => {
    const rows: ['truncated' | 'corrupt', string, string][] = [
      ['truncated', 'corrupt', 'truncated'],
      ['corrupt', 'corrupt', 'does not decompress'],
    ];
    for (const [image, kind, part] of rows) {
      await giveFile(page, images[image]());
      const ended = await attempt(page, { engine, target });
      expect(ended.kind, image).toBe(kind);
      expect(ended.message).toContain(part);
      expect((await storage(page)).names).toEqual(target === 'handle' ? ['out.raw'] : []);
      if (target === 'handle') {
        await page.evaluate(async () => (await navigator.storage.getDirectory()).removeEntry('out.raw'));
      }
    }
  });
}

test(
  'options out of range, engines and outputs that cannot be',
  { tag: '@full' },
  async ({ apiPage: page, isolated }) => {
    expect(isolated).toBe(true);
    await giveFile(page, images.kinds());
    const failures = await page.evaluate(async () => {
      const image = await window.decant.open(window.file);
      const output = { opfs: 'out.raw' };
      const attempts: [unknown, object][] = [
        [output, { memory: 1 }],
        [output, { memory: 2 ** 40 }],
        ['/tmp/out.raw', {}],
        [{ opfs: '' }, {}],
        [{ opfs: 'a/../b' }, {}],
        [{ opfs: '.decant-1/b' }, {}],
        [null, {}],
        [{ download: '' }, {}],
      ];
      const failures: string[] = [];
      for (const options of [{ workers: 0 }, { workers: 65 }, { workers: 1.5 }, { engine: 'steam' }]) {
        await window.decant.open(window.file, options as never).then(
          () => failures.push('done'),
          (error) => failures.push(`${error.kind} ${error.message}`),
        );
      }
      for (const [output, options] of attempts) {
        await image.convert(output as never, options).then(
          () => failures.push('done'),
          (error) => failures.push(`${error.kind} ${error.message}`),
        );
      }
      await image.close();
      await image.convert(output).catch((error) => failures.push(`${error.kind} ${error.message}`));
      return failures;
    });
    const parts = [
      'from 1 to 64',
      'from 1 to 64',
      'from 1 to 64',
      "'steam'",
      'bytes',
      'bytes',
      'In a browser',
      'not a valid file name',
      'not a valid file name',
      'not a valid file name',
      'In a browser',
      'a name',
      'closed',
    ];
    expect(failures).toEqual(parts.map((part) => expect.stringMatching(new RegExp(`^usage .*${part}`))));
  },
);

test.describe('without isolation', () => {
  test.use({ isolated: false });

  test('threads are refused with the reason', async ({ apiPage: page }) => {
    await giveFile(page, images.kinds());
    const ended = await attempt(page, { engine: 'threads', target: 'opfs' });
    expect(ended).toMatchObject({ kind: 'usage', message: expect.stringContaining('not cross-origin isolated') });
  });
});

test('conversions that fail before any work, or by a listener, leave nothing; a file may go into a folder', async ({
  apiPage: page,
}) => {
  const options = { engine: 'workers', target: 'opfs' } as const;
  await giveFile(page, images.huge());
  expect(await attempt(page, options)).toMatchObject({
    kind: 'target',
    message: expect.stringContaining('no room for'),
  });
  expect((await storage(page)).names).toEqual([]);

  await giveFile(page, images.kinds());
  const ended = await page.evaluate(async () => {
    const image = await window.decant.open(window.file);
    const onProgress = () => {
      throw new Error('a fault of the caller');
    };
    return image.convert({ opfs: 'out.raw' }, { onProgress }).catch(({ kind, message }) => ({ kind, message }));
  });
  expect(ended).toMatchObject({ kind: 'usage', message: expect.stringContaining('a fault of the caller') });
  expect((await storage(page)).names).toEqual([]);

  await page.evaluate(async () => {
    await (await navigator.storage.getDirectory()).getDirectoryHandle('out.raw', { create: true });
  });
  expect(await attempt(page, options)).toMatchObject({
    kind: 'target',
    message: expect.stringContaining('a folder of that name'),
  });

  await page.evaluate(async () => {
    const image = await window.decant.open(window.file);
    await image.convert({ opfs: 'disks/new/out.raw' });
    await image.close();
  });
  expect((await storage(page)).names).toEqual(['disks/new/out.raw']);
});

test('a file that changes after it was opened is noticed', async ({ apiPage: page }, testInfo) => {
  const path = testInfo.outputPath('changing.qcow2');
  copyFileSync(images.zlib(), path);
  await giveFile(page, path);
  // The browser compares with the state at the first read of the file.
  const opened = await page.evaluateHandle(() =>
    Promise.all((['threads', 'workers'] as const).map((engine) => window.decant.open(window.file, { engine }))),
  );
  appendFileSync(path, 'more');
  for (const number of [0, 1]) {
    const ended = await opened.evaluate(
      (images, number) =>
        images[number]!.convert({ opfs: 'out.raw' }).catch(({ kind, message }) => ({ kind, message })),
      number,
    );
    expect(ended).toMatchObject({ kind: 'source', message: expect.stringContaining('changed') });
  }
  expect((await storage(page)).names).toEqual([]);
});

test('a target that existed is kept by a failure and replaced by a success', async ({ apiPage: page }) => {
  const write = () =>
    page.evaluate(async () => {
      const root = await navigator.storage.getDirectory();
      const writable = await (await root.getFileHandle('out.raw', { create: true })).createWritable();
      await writable.write('precious');
      await writable.close();
    });
  for (const target of ['opfs', 'handle'] as const) {
    await write();
    await giveFile(page, images.truncated());
    expect((await attempt(page, { engine: 'workers', target })).kind).toBe('corrupt');
    const kept = await page.evaluate(async () => {
      const root = await navigator.storage.getDirectory();
      return (await (await root.getFileHandle('out.raw')).getFile()).text();
    });
    expect(kept).toBe('precious');
    await giveFile(page, disk().image);
    expect((await attempt(page, { engine: 'workers', target })).kind).toBe('done');
    expect(await hashOpfs(page, 'out.raw')).toBe(hashFile(disk().raw));
  }
});

for (const [engine, details] of ENGINES) {
  test(`the charged quota is released, ${engine}`, details, async ({ apiPage: page }) => {
    await giveFile(page, images.zlib());
    expect((await attempt(page, { engine, target: 'opfs' })).kind).toBe('done');
    await page.evaluate(async () => (await navigator.storage.getDirectory()).removeEntry('out.raw'));
    await expect.poll(async () => (await storage(page)).usage).toBeLessThan(1 << 20);
  });
}

test('closing an image ends its operations', async ({ apiPage: page }) => {
  await giveFile(page, disk().image);
  const kinds = await page.evaluate(async () => {
    const held = window.hold(window.file);
    const image = await window.decant.open(held);
    held.holdFrom(window.file.size / 2);
    const converting = image.convert({ opfs: 'out.raw' }).catch(({ kind }) => kind);
    const map = image.map();
    await map.next();
    await image.close();
    const listing = (async () => {
      for await (const _ of map);
    })().catch(({ kind }) => kind);
    return [await converting, await listing];
  });
  expect(kinds[0]).toBe('cancelled');
  expect((await storage(page)).names).toEqual([]);
});

test('a download continues while other conversions run', { tag: '@full' }, async ({ apiPage: page }, testInfo) => {
  await giveFile(page, disk().image);
  const downloads = [page.waitForEvent('download')];
  const both = page.evaluate(async () => {
    const image = await window.decant.open(window.file);
    await image.convert({ download: 'first.raw' });
    const others = await Promise.all([image.convert({ opfs: 'second.raw' }), image.convert({ opfs: 'third.raw' })]);
    await image.close();
    return others.length;
  });
  const path = testInfo.outputPath('first.raw');
  await (await downloads[0]!).saveAs(path);
  expect(await both).toBe(2);
  const expected = hashFile(disk().raw);
  expect(hashFile(path)).toBe(expected);
  expect(await hashOpfs(page, 'second.raw')).toBe(expected);
  expect(await hashOpfs(page, 'third.raw')).toBe(expected);
  // The download's file stays for as long as the tab may need it.
  expect((await storage(page)).names).toHaveLength(3);
});

test('leftovers of closed tabs are removed, files of open tabs are not', async ({ apiPage: page, context }) => {
  const other = await context.newPage();
  await other.goto('/blank');
  await loadApi(other);
  const begin = async (page: Page) => {
    await giveFile(page, disk().image);
    await page.evaluate(async () => {
      const held = window.hold(window.file);
      const image = await window.decant.open(held, { workers: 1 });
      held.holdFrom(window.file.size / 2);
      await new Promise<void>((resolve) => {
        const onProgress = ({ phase }: { phase: string }) => phase === 'converting' && resolve();
        // It ends with its tab.
        image.convert({ opfs: 'out.raw' }, { onProgress }).catch(() => {});
      });
    });
  };
  await begin(other);
  expect((await storage(page)).names).toHaveLength(1);
  await page.evaluate(() => window.decant.removeLeftovers());
  expect((await storage(page)).names).toHaveLength(1);
  await other.close();
  await expect
    .poll(async () => {
      await page.evaluate(() => window.decant.removeLeftovers());
      return (await storage(page)).names;
    })
    .toEqual([]);
});

/** The number of running workers: ended ones may stay listed for many seconds on a busy machine. */
async function countAnswering(page: Page): Promise<number> {
  const answers = page.workers().map((worker) => {
    const answer = worker.evaluate(() => true).catch(() => false);
    return Promise.race([answer, new Promise<false>((done) => setTimeout(() => done(false), 500))]);
  });
  return (await Promise.all(answers)).filter(Boolean).length;
}

async function expectDeath(
  page: Page,
  ended: ReturnType<typeof attempt>,
  countWorkers: () => number | Promise<number>,
): Promise<void> {
  expect(await ended).toMatchObject({ kind: 'internal', message: expect.stringContaining('killed by the test') });
  expect((await storage(page)).names).toEqual([]);
  // The coordinator may stay for the next image.
  await expect.poll(countWorkers).toBeLessThanOrEqual(1);
}

test('a worker that dies fails the conversion', async ({ apiPage: page, servers }) => {
  holdFiles(servers.isolated, 8 << 20);
  await giveFile(page, disk().image);
  const ended = attempt(page, { engine: 'workers', target: 'opfs' });
  // The first worker is the coordinator.
  await expect.poll(() => page.workers().length).toBeGreaterThan(1);
  await expect.poll(async () => (await storage(page)).names.length).toBe(1);
  await page.workers()[1]!.evaluate(() => {
    setTimeout(() => {
      throw new Error('killed by the test');
    });
  });
  await expectDeath(page, ended, () => countAnswering(page));
});

/** Scripts that kill a thread, which takes no messages while it runs jobs. */
const KILLING = {
  'while it opens its files': `addEventListener('message', ({ data }) => {
    if (data.method === 'openInThread') throw new Error('killed by the test');
  });`,
  'in a job': `FileReaderSync.prototype.readAsArrayBuffer = () => ({
    get length() { throw new Error('killed by the test'); },
  });`,
};

for (const [when, script] of Object.entries(KILLING)) {
  const tag = when === 'in a job' ? [] : '@full';
  test(`a thread that dies ${when} fails the conversion`, { tag }, async ({ apiPage: page, servers }) => {
    servers.isolated.alter = (path, text) => (path.endsWith('worker.threads.js') ? script + text : text);
    const { image, raw } = disk();
    await giveFile(page, image);
    await expectDeath(page, attempt(page, { engine: 'threads', target: 'opfs' }), () => page.workers().length);
    servers.isolated.alter = undefined;
    expect((await attempt(page, { engine: 'threads', target: 'opfs' })).kind).toBe('done');
    expect(await hashOpfs(page, 'out.raw')).toBe(hashFile(raw));
  });
}

test('a failure of worker.js is reported', { tag: '@full' }, async ({ apiPage: page, servers }) => {
  const damage = "throw new Error('damaged by the test');";
  servers.isolated.alter = (path, text) => (path.endsWith('/worker.js') ? damage : text);
  await giveFile(page, images.zlib());
  const told = await page.evaluate(async () => {
    try {
      const image = await window.decant.open(window.file);
      await image.convert({ opfs: 'out.raw' });
      return undefined;
    } catch (error) {
      const { kind, message } = error as { kind: string; message: string };
      return { kind, message };
    }
  });
  expect(told).toMatchObject({ kind: 'internal', message: expect.stringContaining('damaged by the test') });
  expect((await storage(page)).names).toEqual([]);
});

test('a missing script is reported, and loaded again when it is back', { tag: '@full' }, async ({ apiPage: page }) => {
  await giveFile(page, images.kinds());
  const open = () =>
    page.evaluate(() =>
      window.decant.open(window.file).then(
        (image) => image.close(),
        ({ message }) => message,
      ),
    );
  await page.context().setOffline(true);
  const told = await open();
  expect(told).toMatch(/Could not load .* worker script .*; check the connection|Could not load .*decant\.wasm/);
  await page.context().setOffline(false);
  expect(await open()).toBe(undefined);
});

test(
  'nothing happens at import, and workers end ten seconds after their last use',
  { tag: '@full' },
  async ({ page }) => {
    // Only the test advances the clock.
    await page.clock.install({ time: 0 });
    await page.goto('/blank');
    // Later than even a slow machine arrives here.
    await page.clock.pauseAt(3_600_000);
    const requests: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    await loadApi(page);
    expect(page.workers()).toHaveLength(0);
    expect(requests.filter((url) => !url.endsWith('.js'))).toEqual([]);
    // Large enough to start all workers.
    await giveFile(page, images.plain());
    expect((await attempt(page, { engine: 'workers', target: 'opfs' })).kind).toBe('done');
    await page.clock.runFor(9999);
    // A coordinator and two workers.
    expect(page.workers()).toHaveLength(3);
    await page.clock.runFor(1);
    await expect.poll(() => page.workers().length).toBe(0);
  },
);
