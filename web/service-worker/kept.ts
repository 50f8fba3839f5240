/** Returns the prefix of the names of a page's caches. It sets them apart from caches of other pages of the origin. */
export const keptPrefix = (scope: string): string => `decant ${scope} `;
