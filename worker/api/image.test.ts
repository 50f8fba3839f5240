// The methods of an image as values: bound, replaced, and on closed images.

import { expect, test, vi } from 'vitest';
import { OpenImage } from './image.js';
import { infoOf } from './info.test-support.js';
import { disposeOfAll, openImageOn } from './opening.js';
import type { Platform } from './platform.js';

/** An image that cannot be read. */
function bare(platform: Partial<Platform> = {}, sources: object = {}): OpenImage {
  const opening = { settings: {}, sources: { unnoticed: [], close: async () => {}, ...sources } };
  const formats = [{ name: 'raw' }];
  const info = infoOf({});
  const opened = { info, opened: { info, formats }, cancelReads: () => {}, close: async () => {} };
  return new OpenImage(platform as Platform, opening as never, opened as never, undefined);
}

test('methods work without their image', async () => {
  const { read, close } = bare();
  expect(await read(0, 0)).toEqual(new Uint8Array(0));
  await close();
  await expect(read(0, 0)).rejects.toMatchObject({ kind: 'usage' });
});

test('the disposer is not a bound function, which Node 24 does not accept', async () => {
  const image = bare();
  expect(image[Symbol.asyncDispose].name).not.toMatch(/^bound/);
  const { [Symbol.asyncDispose]: dispose } = image;
  await dispose();
  await expect(image.read(0, 0)).rejects.toMatchObject({ kind: 'usage' });
});

test('tests can replace and restore methods', async () => {
  const image = bare();
  const spy = vi.spyOn(image, 'convert').mockResolvedValue({ outputSize: 7 } as never);
  expect(await image.convert('disk.raw')).toEqual({ outputSize: 7 });
  expect(spy).toHaveBeenCalledWith('disk.raw');
  spy.mockRestore();
  await image.close();
  await expect(image.convert('disk.raw')).rejects.toMatchObject({ kind: 'usage' });
});

test('another image is one of this package, and open', async () => {
  const [image, closed] = [bare(), bare()];
  await closed.close();
  const refused = (other: unknown, message: string) =>
    expect(image.compare(other as never)).rejects.toMatchObject({ kind: 'usage', message });
  for (const other of [undefined, {}, { ...bare() }])
    await refused(other, 'The other image is not an image of this copy of the package');
  await refused(closed, 'The image was closed');
  await expect(image.compare(image as never, { first: true } as never)).rejects.toMatchObject({
    code: 'unknown-option',
  });
  await image.close();
});

test('dispose closes open images', async () => {
  const image = bare();
  await disposeOfAll();
  await expect(image.read(0, 0)).rejects.toMatchObject({ kind: 'usage' });
});

test('an image is opened after a disposal that runs', async () => {
  const order: string[] = [];
  const image = bare();
  const close = vi.spyOn(image, 'close').mockImplementation(async () => {
    await new Promise(setImmediate);
    order.push('closed');
  });
  const openSource = async () => {
    order.push('opened');
    throw new Error('no');
  };
  const platform = { cores: 1, openSource } as unknown as Platform;
  const disposals = [disposeOfAll(), disposeOfAll()];
  await expect(openImageOn(platform, new Uint8Array(1))).rejects.toThrow('no');
  expect(order).toEqual(['closed', 'closed', 'opened']);
  await Promise.all(disposals);
  await expect(openImageOn(platform, new Uint8Array(1))).rejects.toThrow('no');
  close.mockRestore();
  await image.close();
});

test('dispose cancels an image that is being opened', async () => {
  let opened = () => {};
  const sources: string[] = [];
  const close = async () => void sources.push('closed');
  const openSource = () =>
    new Promise<object>((resolve) => {
      opened = () => resolve({ spec: {}, name: 'a', size: 1, verify: async () => {}, close });
    });
  const platform = { cores: 1, openSource, spool: () => undefined } as unknown as Platform;
  const opening = openImageOn(platform, new Uint8Array(1));
  const failed = expect(opening).rejects.toMatchObject({
    kind: 'cancelled',
    message: 'Opening the image was cancelled',
  });
  await disposeOfAll();
  opened();
  await failed;
  expect(sources).toEqual(['closed']);
});

test('headers are refused without a URL', async () => {
  const opening = openImageOn({ cores: 1 } as Platform, new Uint8Array(1), { headers: { Authorization: 'secret' } });
  await expect(opening).rejects.toMatchObject({ kind: 'usage', message: expect.stringMatching(/httpSource/) });
});

test('a URL is opened with the given headers and fetch', async () => {
  const asked: unknown[] = [];
  const fetch = async () => new Response();
  const openSource = async (...args: unknown[]) => {
    asked.push(args);
    throw new Error('no');
  };
  const headers = { Authorization: 'secret' };
  const platform = { cores: 1, openSource } as unknown as Platform;
  await expect(openImageOn(platform, 'https://host.test/disk.raw', { headers, fetch })).rejects.toThrow('no');
  expect(asked).toMatchObject([['https://host.test/disk.raw', { headers, fetch }]]);
});

test('options may be inherited', async () => {
  const asked: unknown[] = [];
  const openSource = async (...args: unknown[]) => {
    asked.push(args);
    throw new Error('no');
  };
  class Options {
    get headers() {
      return { Authorization: 'secret' };
    }
  }
  const platform = { cores: 1, openSource } as unknown as Platform;
  await expect(openImageOn(platform, 'https://host.test/disk.raw', new Options())).rejects.toThrow('no');
  expect(asked).toMatchObject([['https://host.test/disk.raw', { headers: { Authorization: 'secret' } }]]);
});

test('looking for saved progress can be cancelled', async () => {
  let answer = (_: Uint8Array[]) => {};
  const peek = () =>
    new Promise<Uint8Array[]>((resolve) => {
      answer = resolve;
    });
  const image = bare({ target: () => ({}) as never }, { all: [{ state: 'known', size: 10, peek }], companions: [] });
  const cancel = new AbortController();
  const looking = image.savedProgress('disk.raw', { signal: cancel.signal });
  cancel.abort();
  await expect(looking).rejects.toMatchObject({
    kind: 'cancelled',
    message: 'Looking for saved progress was cancelled',
  });
  answer([new Uint8Array(10)]);
  await image.close();
});
