// The language of the page.

/** Whether the person prefers German. The page is in English otherwise. */
export const isGerman = (): boolean => /^de(-|$)/i.test(navigator.languages?.[0] ?? '');
