// Removes secrets from URLs in texts: user, password, and the query, which may be a signature.
//
// crate/src/error/secrets.rs implements the same rule. The cases in crate/tests/shown.json test both.

/** Schemes that are recognised without a slash too. */
const HTTP = /https?$/i;
/** Characters that may follow the closing quote of a URL. */
const AFTER_QUOTE = /[\t-\r :;,.)\]}]/;
/** At the end, these belong to the sentence, not to the URL. */
const PUNCTUATION = ':;,.)]}\'"';
const HOST = /^(?:\[[^\]]*\]|[^:[\]]*)(?::\d*)?$/;

/** Whether `text` is a URL, valid or not: a scheme with a slash after it, or http without one. */
export const isAddress = (text: string): boolean => next(text, 0)?.begin === 0;

/** Returns a URL without user, password, query and fragment. It may contain any characters. */
export function shownAddress(address: string): string {
  const { start } = next(address, 0)!;
  return address.slice(0, start) + withoutQuery(address.slice(start));
}

/** Returns `text` with each URL in it reduced by user, password, query and fragment. */
export function withoutSecrets(text: string): string {
  let result = '';
  let at = 0;
  for (let found = next(text, 0); found; found = next(text, at)) {
    const { begin, start } = found;
    const end = endOf(text, start, text[begin - 1] ?? '');
    result += text.slice(at, start) + withoutQuery(text.slice(start, end));
    at = end;
  }
  return result + text.slice(at);
}

/** An equals sign, plain or encoded: by percent (also twice), in JSON or in XML. */
const EQUALS = /(=|%(?:25)*3d|\\u003d|&#(?:61|x3d);)\s*\S+/gi;

/**
 * Returns a foreign `text` without the values in it, such as `SECRET` in `sig=SECRET`, since a query may lack its URL, and
 * without the secrets `known`.
 */
export function withoutValues(text: string, known: readonly string[] = []): string {
  const rest = known.reduce((rest, secret) => rest.replaceAll(secret, '…'), text);
  return rest.replace(EQUALS, '$1…');
}

/** Finds the next URL from `at`: its `begin`, and its `start` after scheme and slashes. */
function next(text: string, at: number): { begin: number; start: number } | undefined {
  for (let colon = text.indexOf(':', at); colon >= 0; colon = text.indexOf(':', colon + 1)) {
    const scheme = schemeOf(text, at, colon);
    if (scheme.length < 2 || !(isSlash(text[colon + 1]) || HTTP.test(scheme))) continue;
    let start = colon + 1;
    while (isSlash(text[start])) start += 1;
    return { begin: colon - scheme.length, start };
  }
  return undefined;
}

/** The scheme that ends at `colon` and starts no earlier than `at`. A single letter is a drive, as in `C:\`. */
function schemeOf(text: string, at: number, colon: number): string {
  let begin = colon;
  while (begin > at && /[a-z\d+.-]/i.test(text[begin - 1]!)) begin -= 1;
  while (begin < colon && !/[a-z]/i.test(text[begin]!)) begin += 1;
  return text.slice(begin, colon);
}

const isSlash = (character: string | undefined): boolean => character === '/' || character === '\\';

/** The end of the URL that continues at `start`. `before` is the character before its scheme, perhaps a quote. */
function endOf(text: string, start: number, before: string): number {
  if (before === "'" || before === '"') {
    for (let quote = text.indexOf(before, start); quote >= 0; quote = text.indexOf(before, quote + 1)) {
      if (quote + 1 === text.length || AFTER_QUOTE.test(text[quote + 1]!)) return quote;
    }
    return text.length;
  }
  let end = start;
  while (end < text.length && !/[\t-\r ]/.test(text[end]!)) end += 1;
  while (end > start && PUNCTUATION.includes(text[end - 1]!)) end -= 1;
  return end;
}

/** Host and path of a URL without its scheme and slashes; empty if it has no recognisable host. */
function withoutQuery(address: string): string {
  const authority = authorityOf(address);
  // A password may have characters that should be encoded.
  const userinfo = authority.includes('@') || HOST.test(authority) ? authority : address;
  const rest = address.slice(userinfo.lastIndexOf('@') + 1);
  return HOST.test(authorityOf(rest)) ? rest.split(/[?#]/, 1)[0]! : '';
}

const authorityOf = (address: string): string => address.split(/[\\/?#]/, 1)[0]!;
