/** Upper bound, in bytes of UTF-8, on a name. File systems take little more. */
const LONGEST = 200;

/**
 * What a file's name must not have: path separators, what Windows forbids, control characters, marks that reorder
 * text.
 */
const FORBIDDEN = /[\\/:*?"<>|\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu;

/** The name without what no file may have in it. */
function plain(name: string): string {
  const shown = name.toWellFormed().replace(FORBIDDEN, '_');
  return /^[. ]*$/.test(shown) ? 'disk' : shown;
}

/** The name, cut in the middle, so that its ending stays. */
function cut(name: string): string {
  const length = (text: string) => new TextEncoder().encode(text).length;
  const letters = [...name];
  let excess = length(name) - LONGEST;
  while (excess > 0) excess -= length(letters.splice(letters.length >> 1, 1)[0]!);
  return letters.join('');
}

/** The header that saves a response as a file of that name (RFC 6266, RFC 8187). */
export function contentDisposition(name: string): string {
  const encoded = encodeURIComponent(cut(plain(name))).replace(
    /['()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename*=UTF-8''${encoded}`;
}
