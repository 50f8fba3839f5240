// What the person has chosen last, in `localStorage`: proposed on the next visit.

type Choice = 'place' | 'way';

const keyOf = (what: Choice): string => `decant.${what}`;

export function remembered(what: Choice): string | undefined {
  try {
    return localStorage.getItem(keyOf(what)) ?? undefined;
  } catch {
    return undefined;
  }
}

export function remember(what: Choice, name: string): void {
  try {
    localStorage.setItem(keyOf(what), name);
  } catch {
    // Storage may be forbidden.
  }
}
