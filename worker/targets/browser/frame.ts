// The frames that a page lies in, and what they forbid.

const isInFrame = (): boolean => typeof window !== 'undefined' && window.parent !== window;

/** Whether the page lies in a page of another origin. */
export function isInForeignFrame(): boolean {
  if (!isInFrame()) return false;
  try {
    // Another origin's is not given, or throws.
    return window.top?.document === undefined;
  } catch {
    return true;
  }
}

/** Whether the page lies in a sandboxed frame without `allow-same-origin`: it has no origin, and so no storage. */
export const isWithoutOrigin = (): boolean => isInFrame() && globalThis.origin === 'null';

/**
 * Whether the frames that the page lies in allow downloads: a sandbox does so by `allow-downloads` only. Undefined where
 * only a page of another origin knows.
 */
export function mayDownload(): boolean | undefined {
  if (!isInFrame()) return true;
  for (let page: Window = window; page !== page.parent; page = page.parent) {
    const frame = frameOf(page);
    if (!frame) return undefined;
    const sandbox = frame.getAttribute('sandbox');
    if (sandbox !== null && !sandbox.toLowerCase().split(/\s+/).includes('allow-downloads')) return false;
  }
  return true;
}

function frameOf(page: Window): Element | null {
  try {
    return page.frameElement;
  } catch {
    return null;
  }
}
