/** The prefix of the names of a page's caches. Other pages of the origin have caches, too. */
export const keptPrefix = (scope: string): string => `decant ${scope} `;
