// Custom sources and targets of a page, and parts of the disk, by both engines.

import { ENGINES, expect, giveFile, test } from '../support/browser.js';
import { DISK_SIZE, hashFile, images, PASSWORD } from '../support/images.js';

for (const { isolated, engine, image, hole, ascending, tag = [] } of [
  { isolated: true, engine: 'threads', image: 'zlib', hole: true, ascending: false, tag: '@full' },
  { isolated: true, engine: 'threads', image: 'zstd', hole: false, ascending: true, tag: '@full' },
  { isolated: true, engine: 'threads', image: 'luks', hole: true, ascending: true, tag: '@full' },
  { isolated: true, engine: 'workers', image: 'plain', hole: true, ascending: true, tag: '@full' },
  { isolated: false, engine: 'workers', image: 'zlib', hole: true, ascending: false },
  { isolated: false, engine: 'workers', image: 'tiny', hole: false, ascending: false, tag: '@full' },
  { isolated: false, engine: 'workers', image: 'zstd', hole: true, ascending: false, tag: '@full' },
  { isolated: false, engine: 'workers', image: 'luks', hole: false, ascending: false, tag: '@full' },
] as const) {
  test.describe(isolated ? 'isolated' : 'not isolated', () => {
    test.use({ isolated });

    test(
      `${engine}: ${image} between own objects, ${ascending ? 'ascending, ' : ''}${hole ? 'holes told' : 'dense'}`,
      { tag },
      async ({ apiPage: page }) => {
        await giveFile(page, images[image]());
        const seen = await page.evaluate(
          async ({ engine, hole, ascending, password }) => {
            const { file } = window;
            const source = {
              size: file.size,
              read: async (offset: number, length: number) =>
                new Uint8Array(await file.slice(offset, offset + length).arrayBuffer()),
            };
            let disk = new Uint8Array(0);
            let end = 0;
            let covered = 0;
            const part = (offset: number, length: number) => {
              if (ascending && offset !== end) throw new Error(`out of order: ${offset}`);
              end = offset + length;
              covered += length;
            };
            const target = {
              ascending,
              async open({ virtualSize }: { virtualSize?: number }) {
                disk = new Uint8Array(virtualSize!);
              },
              async write(offset: number, bytes: Uint8Array) {
                part(offset, bytes.length);
                disk.set(bytes, offset);
              },
              ...(hole && { hole: async (offset: number, length: number) => part(offset, length) }),
              async close() {},
              async abort() {},
            };
            const image = await window.decant.open(source, { engine, workers: 2, password });
            const result = await image.convert(target);
            await image.close();
            const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', disk));
            const hash = [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('');
            return { hash, covered, engine: result.engine };
          },
          { engine, hole, ascending, password: PASSWORD },
        );
        expect(seen).toEqual({ hash: hashFile(images.raw()), covered: DISK_SIZE, engine });
      },
    );
  });
}

for (const { image, tag = [] } of [
  { image: 'zlib' },
  { image: 'zstd', tag: '@full' },
  { image: 'luks', tag: '@full' },
] as const) {
  test(`parts of the disk: ${image}`, { tag }, async ({ apiPage: page }) => {
    await giveFile(page, images[image]());
    const seen = await page.evaluate(async (password) => {
      const image = await window.decant.open(window.file, { password });
      const size = image.info.virtualSize!;
      // One byte of each MiB, all at once.
      const bytes = await Promise.all(Array.from({ length: size >> 20 }, (_, at) => image.read((at << 20) + at, 1)));
      const disk = new Uint8Array(size);
      let at = 0;
      const reader = image.readable().getReader();
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        disk.set(value, at);
        at += value.length;
      }
      const same = bytes.every((byte, at) => byte[0] === disk[(at << 20) + at]);
      const kind = await image.read(size, 1).catch(({ kind }) => kind);
      await image.close();
      const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', disk));
      const hash = [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('');
      return { hash, same, kind };
    }, PASSWORD);
    expect(seen).toEqual({ hash: hashFile(images.raw()), same: true, kind: 'usage' });
  });
}

for (const [engine, details] of ENGINES) {
  test(
    `${engine}: what fails is told with its cause, and a cancel waits for nobody`,
    details,
    async ({ apiPage: page }) => {
      await giveFile(page, images.zlib());
      const seen = await page.evaluate(async (engine) => {
        const { file } = window;
        const cause = new Error('the far side is gone');
        const told: unknown[] = [];
        let [aborts, aborted] = [0, 0];
        /** Converts with `read` as the first read of the second half of the image, and `write` as every write. */
        const run = async (
          {
            read,
            write = async () => {},
          }: { read?: (signal: AbortSignal) => Promise<never>; write?: () => Promise<void> },
          signal?: AbortSignal,
        ) => {
          let isDue = false;
          const source = {
            size: file.size,
            async read(offset: number, length: number, { signal }: { signal: AbortSignal }) {
              if (isDue && read && offset + length > file.size / 2) {
                isDue = false;
                return read(signal);
              }
              return new Uint8Array(await file.slice(offset, offset + length).arrayBuffer());
            },
          };
          const target = {
            write,
            close: async () => {},
            abort: async () => {
              aborts += 1;
            },
          };
          const image = await window.decant.open(read ? source : file, { engine });
          isDue = true;
          await image.convert(target, signal ? { signal } : {}).then(
            () => told.push('done'),
            (error) => told.push([error.kind, error.message, error.cause === cause]),
          );
          await image.close();
        };
        const hang = (abort: AbortController) => {
          setTimeout(() => abort.abort());
          return new Promise<never>(() => {});
        };
        await run({ read: () => Promise.reject(cause) });
        await run({ write: () => Promise.reject(cause) });
        const first = new AbortController();
        const read = (signal: AbortSignal) => {
          signal.addEventListener('abort', () => {
            aborted += 1;
          });
          return hang(first);
        };
        await run({ read }, first.signal);
        const second = new AbortController();
        await run({ write: () => hang(second) }, second.signal);
        return { told, aborts, aborted };
      }, engine);
      expect(seen).toEqual({
        told: [
          ['source', 'Could not read the image: the far side is gone', true],
          ['target', 'Could not write the output: the far side is gone', true],
          ['cancelled', 'The conversion was cancelled', false],
          ['cancelled', 'The conversion was cancelled', false],
        ],
        aborts: 4,
        aborted: 1,
      });
    },
  );
}

test('the contract tests run in a page', async ({ apiPage: page }) => {
  const told = await page.evaluate(async () => {
    const url = '/dist/testing.js';
    const { checkSource, checkTarget }: typeof import('../../dist/testing.js') = await import(url);
    const bytes = crypto.getRandomValues(new Uint8Array(60_000));
    const source = {
      size: bytes.length,
      read: async (offset: number, length: number) => bytes.slice(offset, offset + length),
    };
    const kept = {
      size: bytes.length,
      read: async (offset: number, length: number) => bytes.subarray(offset, offset + length),
    };
    const make = () => ({
      disk: new Uint8Array(0),
      complete: undefined as Uint8Array | undefined,
      async open({ virtualSize }: { virtualSize?: number }) {
        this.disk = new Uint8Array(virtualSize!);
      },
      async write(offset: number, bytes: Uint8Array) {
        this.disk.set(bytes, offset);
      },
      async close() {
        this.complete = this.disk;
      },
      async abort() {},
    });
    const good = [
      ...(await checkSource(source, bytes)),
      ...(await checkTarget(make, async ({ complete }) => complete)),
    ];
    return { good, bad: await checkSource(kept) };
  });
  expect(told.good).toEqual([]);
  expect(told.bad.join('\n')).toContain('repeated after its array was transferred');
});

test(
  'code for custom sources that cannot be loaded is reported, and loaded again',
  { tag: '@full' },
  async ({ apiPage: page }) => {
    const code = '**/custom-sources*.js';
    await page.context().route(code, (route) => route.abort());
    const open = () =>
      page.evaluate(async () => {
        const source = { size: 512, read: async (_: number, length: number) => new Uint8Array(length) };
        try {
          await (await window.decant.open(source, { inputFormat: 'raw' })).close();
          return undefined;
        } catch (thrown) {
          return String(thrown);
        }
      });
    expect(await open()).toMatch(/Could not load the code for streams and custom sources: [^;]+; try again, or/);
    await page.context().unroute(code);
    expect(await open()).toBeUndefined();
  },
);
