/** The longest name, in bytes of UTF-8. File systems allow little more. */
const LONGEST = 200;

/**
 * Characters that a file name must not contain: path separators, those that Windows forbids, control characters, and marks
 * that reorder text.
 */
const FORBIDDEN = /[\\/:*?"<>|\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu;

/** Replaces forbidden characters. A name of dots and spaces becomes `disk`. */
function plain(name: string): string {
  const shown = name.toWellFormed().replace(FORBIDDEN, '_');
  return /^[. ]*$/.test(shown) ? 'disk' : shown;
}

/** Cuts a long name in the middle, so that its extension stays. */
function cut(name: string): string {
  const length = (text: string) => new TextEncoder().encode(text).length;
  const letters = [...name];
  let excess = length(name) - LONGEST;
  while (excess > 0) excess -= length(letters.splice(letters.length >> 1, 1)[0]!);
  return letters.join('');
}

/** Returns the header that saves a response as a file called `name` (RFC 6266, RFC 8187). */
export function contentDisposition(name: string): string {
  const encoded = encodeURIComponent(cut(plain(name))).replace(
    /['()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename*=UTF-8''${encoded}`;
}
