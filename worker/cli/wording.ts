// Names in sentences.

/** Lists `names` with `last` before the last one. */
export const listed = (names: readonly string[], last: string): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} ${last} ${names.at(-1)}`;
