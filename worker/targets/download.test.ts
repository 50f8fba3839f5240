// Downloads in frames: what is refused, and what is only possible.

import { afterEach, expect, test, vi } from 'vitest';
import { DownloadRoute } from './download.js';

afterEach(() => {
  vi.unstubAllGlobals();
});

/** A page in a frame, whose element has a sandbox; `undefined` where a page of another origin has it. */
function lieIn(sandbox: string | null | undefined): void {
  const top = {};
  const frameElement = sandbox === undefined ? null : { getAttribute: () => sandbox };
  vi.stubGlobal('window', { parent: Object.assign(top, { parent: top }), top, frameElement });
  vi.stubGlobal('document', {});
}

test('a sandbox that forbids downloads', () => {
  lieIn('allow-scripts allow-same-origin');
  expect(() => new DownloadRoute('disk.raw')).toThrow(
    expect.objectContaining({ kind: 'usage', code: 'sandboxed-downloads' }),
  );
});

test.each([null, 'allow-downloads'])('a sandbox of %j', (sandbox) => {
  lieIn(sandbox);
  expect(new DownloadRoute('disk.raw').notices).toEqual([]);
});

test('where only a page of another origin knows, the result says so', () => {
  lieIn(undefined);
  expect(new DownloadRoute('disk.raw').notices).toMatchObject([{ code: 'download-unconfirmed', fields: {} }]);
});

test('outside of a page', () => {
  expect(() => new DownloadRoute('disk.raw')).toThrow(expect.objectContaining({ code: 'no-page' }));
});
