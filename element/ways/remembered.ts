// What is kept for the next visit, in `localStorage`: what the person has chosen last, the rates of the browser, and links.

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
