// Downloads: their type, and refusals and notices in frames.

import { afterEach, expect, test, vi } from 'vitest';
import { DownloadTarget } from './download.js';
import { stubStorage } from './memory-storage.test-support.js';

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

/** A page in a frame whose element has a sandbox; `undefined` if it is of another origin. */
function lieIn(sandbox: string | null | undefined): void {
  const top = {};
  const frameElement = sandbox === undefined ? null : { getAttribute: () => sandbox };
  vi.stubGlobal('window', { parent: Object.assign(top, { parent: top }), top, frameElement });
  vi.stubGlobal('document', {});
}

test('a sandbox that forbids downloads', () => {
  lieIn('allow-scripts allow-same-origin');
  expect(() => new DownloadTarget('disk.raw')).toThrow(
    expect.objectContaining({ kind: 'usage', code: 'sandboxed-downloads' }),
  );
});

test.each([null, 'allow-downloads'])('a sandbox of %j', (sandbox) => {
  lieIn(sandbox);
  expect(new DownloadTarget('disk.raw').notices).toEqual([]);
});

test('a notice says that an outer page of another origin may block it', () => {
  lieIn(undefined);
  expect(new DownloadTarget('disk.raw').notices).toMatchObject([{ code: 'download-unconfirmed', fields: {} }]);
});

test('outside of a page', () => {
  expect(() => new DownloadTarget('disk.raw')).toThrow(expect.objectContaining({ code: 'no-page' }));
});

test('has a type: a browser adds an extension to the name of a file without one', async () => {
  vi.useFakeTimers();
  stubStorage();
  lieIn(null);
  const link = { click: vi.fn() };
  vi.stubGlobal('document', { createElement: () => link });
  const blobs: Blob[] = [];
  vi.spyOn(URL, 'createObjectURL').mockImplementation((blob) => `blob:${blobs.push(blob as Blob)}`);
  const target = new DownloadTarget('disk');
  await target.prepare({ virtualSize: 0, outputSize: 0 }, new AbortController().signal);
  await target.commit(0);
  expect(link.click).toHaveBeenCalledOnce();
  expect(link).toMatchObject({ download: 'disk', href: 'blob:1' });
  expect(blobs.map(({ type }) => type)).toEqual(['application/octet-stream']);
});
