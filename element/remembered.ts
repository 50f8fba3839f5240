// Remembers the image whose download is under way, for the next visit: the tab may be closed or reloaded in the middle.

/** The key in `localStorage`. */
export const KEY = 'decant.converting';

/** Remembers the image `name`; `undefined` if no download is under way. */
export function remember(name: string | undefined): void {
  try {
    if (name === undefined) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, JSON.stringify({ name, at: Date.now() }));
  } catch {
    // Storage may be forbidden, or full.
  }
}
