/** The prefix of the names of a page's caches, which differ from those of other pages of the origin. */
export const keptPrefix = (scope: string): string => `decant ${scope} `;
