// Keeps data for the next visit in `localStorage`: the last choices of the person, the rates of the browser, and links.

export type Remembered = 'place' | 'way' | 'rates' | 'probed' | 'links';

const keyOf = (what: Remembered): string => `decant.${what}`;

export function remembered(what: Remembered): string | undefined {
  try {
    return localStorage.getItem(keyOf(what)) ?? undefined;
  } catch {
    return undefined;
  }
}

export function remember(what: Remembered, value: string): void {
  try {
    localStorage.setItem(keyOf(what), value);
  } catch {
    // Storage may be forbidden.
  }
}
