import { afterEach, describe, expect, test, vi } from 'vitest';
import { isInForeignFrame, isWithoutOrigin, mayDownload } from './frame.js';

afterEach(() => {
  vi.unstubAllGlobals();
});

/** Puts the page into frames with these sandboxes, from the inside out; 'foreign' stands for a page of another origin. */
function putInFrames(...frames: (string | null)[]): void {
  const top: Record<string, unknown> = { document: {} };
  top.parent = top;
  let page = top;
  for (const sandbox of frames.toReversed()) {
    const inner: Record<string, unknown> = { document: {}, parent: page };
    if (sandbox === 'foreign') {
      inner.frameElement = null;
      delete top.document;
    } else {
      inner.frameElement = { getAttribute: () => sandbox };
    }
    page = inner;
  }
  page.top = top;
  vi.stubGlobal('window', page);
}

describe('downloads', () => {
  test.each([
    [true, []],
    [true, [null]],
    [true, ['allow-scripts allow-downloads']],
    [true, ['allow-scripts\n ALLOW-DOWNLOADS', null]],
    [false, ['']],
    [false, ['allow-scripts allow-same-origin']],
    [false, ['allow-downloads-without-user-activation']],
    [false, [null, 'allow-scripts']],
    [false, ['allow-scripts', 'foreign']],
    [undefined, ['foreign']],
    [undefined, ['allow-downloads', 'foreign']],
  ])('are %s in %j', (expected, frames) => {
    putInFrames(...frames);
    expect(mayDownload()).toBe(expected);
  });

  test('are a matter of pages only', () => {
    expect(mayDownload()).toBe(true);
  });
});

test.each([
  [false, []],
  [false, [null, 'allow-scripts']],
  [true, ['foreign']],
  [true, [null, 'foreign']],
])('a foreign frame is %s in %j', (expected, frames) => {
  putInFrames(...frames);
  expect(isInForeignFrame()).toBe(expected);
});

test('another origin may throw', () => {
  const top = {};
  const page = { parent: top };
  for (const [object, name] of [
    [page, 'top'],
    [page, 'frameElement'],
  ] as const) {
    Object.defineProperty(object, name, {
      get: () => {
        throw new DOMException('', 'SecurityError');
      },
    });
  }
  vi.stubGlobal('window', page);
  expect([isInForeignFrame(), mayDownload()]).toEqual([true, undefined]);
});

test('a page without an origin in a frame, and a local file', () => {
  vi.stubGlobal('origin', 'null');
  putInFrames();
  expect(isWithoutOrigin()).toBe(false);
  putInFrames('allow-scripts');
  expect(isWithoutOrigin()).toBe(true);
});
