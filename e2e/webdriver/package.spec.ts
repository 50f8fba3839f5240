// The package in Firefox and WebKit: images opened, unlocked, converted by every route that the browser has.

import { readdirSync, readFileSync } from 'node:fs';
import { DISK_SIZE, expectSame, hashFile, images, PASSWORD } from '../support/images.js';
import { convert, convertToStream, hashPieces, hashStored } from '../support/in-page.js';
import { EXPOSED, takeUploads } from '../support/uploads.js';
import { expect, test } from '../support/webdriver/browsers.js';

const PIECE = 4 << 20;

/** What is special about each. */
const TABLE = [
  { name: 'zlib', image: images.zlib, options: {} },
  { name: 'zstd', image: images.zstd, options: {} },
  { name: 'uncompressed', image: images.plain, options: {} },
  { name: 'LUKS', image: images.luks, options: { password: PASSWORD } },
];

const REFUSED = { kind: 'usage', message: expect.stringContaining("needs the browser's private storage") };

test('the description of an image, and its map', async ({ session, chooseImage }) => {
  await chooseImage(images.zlib());
  const { info, end } = await session.run(async () => {
    const image = await window.decant.open(window.file);
    let end = 0;
    for await (const { offset, length } of image.map()) end = offset === end ? offset + length : Number.NaN;
    await image.close();
    return { info: image.info, end };
  });
  expect(info).toMatchObject({ format: 'qcow2', virtualSize: DISK_SIZE, compression: 'zlib' });
  expect(end).toBe(DISK_SIZE);
});

test('a wrong password is refused, the right one taken', async ({ session, chooseImage }) => {
  await chooseImage(images.luks());
  const unlock = (password: string) =>
    session.run(async (password) => {
      const image = await window.decant.open(window.file, { password });
      try {
        await image.unlock();
        return 'unlocked';
      } catch (thrown) {
        return (thrown as { kind: string }).kind;
      } finally {
        await image.close();
      }
    }, password);
  expect(await unlock('wrong')).toBe('password');
  expect(await unlock(PASSWORD)).toBe('unlocked');
});

for (const { name, image, options } of TABLE) {
  test(`${name} to the private file system`, async ({ session, chooseImage, browserUnderTest }) => {
    await chooseImage(image());
    const { failed } = await session.run(convert, [{ opfs: 'disk.raw' }, options] as const);
    if (browserUnderTest.room > 0) {
      expect(failed).toBeUndefined();
      expect(await session.run(hashStored, ['disk.raw', PIECE] as const)).toBe(hashPieces(images.raw(), PIECE));
    } else expect(failed).toEqual(REFUSED);
  });

  test(`${name} as a download`, async ({ session, chooseImage, browserUnderTest }) => {
    await chooseImage(image());
    const { failed } = await session.run(convert, [{ download: 'disk.raw' }, options] as const);
    if (browserUnderTest.room > 0) {
      expect(failed).toBeUndefined();
      expectSame(await session.downloaded('disk.raw', DISK_SIZE), images.raw());
    } else {
      expect(failed).toEqual(REFUSED);
      expect(readdirSync(session.downloads)).toEqual([]);
    }
  });

  test(`${name} to a stream`, async ({ session, chooseImage }) => {
    await chooseImage(image());
    const { hash, ended, failed, sha256 } = await session.run(convertToStream, [
      PIECE,
      { ...options, sha256: true },
    ] as const);
    expect(failed).toBeUndefined();
    expect(ended).toBe('closed');
    expect(sha256).toBe(hashFile(images.raw()));
    expect(hash).toBe(hashPieces(images.raw(), PIECE));
  });
}

test('a cancelled conversion resumes if progress was kept', async ({ session, chooseImage, browserUnderTest }) => {
  await chooseImage(images.zlib());
  /** Converts; `cancels` when all of the image was read, before the output is complete. */
  const run = (cancels: boolean) =>
    session.run(async (cancels) => {
      const { file } = window;
      const ending = new AbortController();
      const source = {
        size: file.size,
        name: file.name,
        state: 'the same',
        read: async (offset: number, length: number) =>
          new Uint8Array(await file.slice(offset, offset + length).arrayBuffer()),
        async verify({ signal }: { signal: AbortSignal }) {
          if (!cancels) return;
          ending.abort();
          await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
        },
      };
      const image = await window.decant.open(source);
      let first: number | undefined;
      try {
        await image.convert(
          { opfs: 'disk.raw' },
          {
            resume: true,
            signal: ending.signal,
            onProgress({ phase, guestDone }) {
              if (phase === 'converting') first ??= guestDone;
            },
          },
        );
        return { end: 'done', first };
      } catch (thrown) {
        return { end: (thrown as Error).message, first };
      } finally {
        await image.close();
      }
    }, cancels);
  const cancelled = await run(true);
  if (browserUnderTest.room === 0) {
    expect(cancelled.end).toContain("needs the browser's private storage");
    return;
  }
  expect(cancelled.end).toMatch(/^The conversion was cancelled(; progress was saved; .* to continue)?$/);
  const isKept = cancelled.end.includes('progress was saved');
  const { end, first } = await run(false);
  expect(end).toBe('done');
  expect(first! > 0).toBe(isKept);
  test.info().annotations.push({ type: 'kept', description: `${first} bytes` });
  expect(await session.run(hashStored, ['disk.raw', PIECE] as const)).toBe(hashPieces(images.raw(), PIECE));
});

for (const kind of ['s3', 'azure'] as const) {
  test(`an upload with digests of its parts: ${kind}`, async ({ session, chooseImage }) => {
    const server = await takeUploads({ headers: EXPOSED });
    try {
      await chooseImage(images.zlib());
      await session.run(
        async ({ kind, origin }) => {
          const path = '/dist/upload.js';
          const upload = (await import(path)) as typeof import('../../dist/upload.js');
          const targets = {
            s3: () =>
              upload.s3Target({
                sign: ({ action, ...named }) => {
                  const query = Object.entries(named).map(([name, value]) => [name, String(value)]);
                  return `${origin}/s3/disk?${action === 'create' ? 'uploads=' : new URLSearchParams(query)}`;
                },
              }),
            azure: () => upload.azureBlockBlobTarget({ url: `${origin}/azure/disk?sig=x` }),
          };
          const image = await window.decant.open(window.file);
          await image.convert(targets[kind]());
          await image.close();
        },
        { kind, origin: server.origin },
      );
      const [object] = [...server.objects.values()];
      expect(object!.equals(readFileSync(images.raw()))).toBe(true);
    } finally {
      await server.close();
    }
  });
}
