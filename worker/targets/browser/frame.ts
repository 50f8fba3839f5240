// The frames around a page, and their restrictions.

const isInFrame = (): boolean => typeof window !== 'undefined' && window.parent !== window;

/** Whether the page is in a frame of another origin. */
export function isInForeignFrame(): boolean {
  if (!isInFrame()) return false;
  try {
    // The document of another origin is undefined, or access throws.
    return window.top?.document === undefined;
  } catch {
    return true;
  }
}

/** Whether the page is in a sandboxed frame without `allow-same-origin`: it has no origin, and so no storage. */
export const isWithoutOrigin = (): boolean => isInFrame() && globalThis.origin === 'null';

/**
 * Whether the frames around the page allow downloads: a sandbox needs `allow-downloads`. Undefined if the sandbox of an outer
 * page of another origin is not visible.
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
