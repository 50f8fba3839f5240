// The language of the person, as far as the page has it.

/** Whether the page is to be in German; otherwise it is in English. */
export const isGerman = (): boolean => /^de(-|$)/i.test(navigator.languages?.[0] ?? '');
