// Addresses in texts: they may have a user, a password, and a query that is a signature, which nobody else should see.
//
// crate/src/error/secrets.rs has the same rule. The cases in crate/tests/shown.json hold for both.

/** The schemes that are known without a slash, too. */
const HTTP = /https?$/i;
/** What may follow the quote that ends an address. */
const AFTER_QUOTE = /[\t-\r :;,.)\]}]/;
/** Ends a sentence, not an address. */
const PUNCTUATION = ':;,.)]}\'"';
const HOST = /^(?:\[[^\]]*\]|[^:[\]]*)(?::\d*)?$/;

/** Whether `text` is an address, valid or not: a scheme with a slash after it, or http without one. */
export const isAddress = (text: string): boolean => next(text, 0)?.begin === 0;

/** An address without user, password, query and fragment, whatever characters it has. */
export function shownAddress(address: string): string {
  const { start } = next(address, 0)!;
  return address.slice(0, start) + place(address.slice(start));
}

/** `text` with each address in it shown without user, password, query and fragment. */
export function withoutSecrets(text: string): string {
  let result = '';
  let at = 0;
  for (let found = next(text, 0); found; found = next(text, at)) {
    const { begin, start } = found;
    const end = endOf(text, start, text[begin - 1] ?? '');
    result += text.slice(at, start) + place(text.slice(start, end));
    at = end;
  }
  return result + text.slice(at);
}

/** The next address from `at` on: where it begins, and where it does after its scheme and the slashes. */
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

/** The scheme that ends at `colon`, no earlier than `at`. A single letter is a drive, as in `C:\`. */
function schemeOf(text: string, at: number, colon: number): string {
  let begin = colon;
  while (begin > at && /[a-z\d+.-]/i.test(text[begin - 1]!)) begin -= 1;
  while (begin < colon && !/[a-z]/i.test(text[begin]!)) begin += 1;
  return text.slice(begin, colon);
}

const isSlash = (character: string | undefined): boolean => character === '/' || character === '\\';

/** Where the address ends that continues at `start`. `before` is the character before its scheme: perhaps a quote. */
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

/** Host and path of an address whose scheme and slashes are left out; nothing where no host can be made out. */
function place(address: string): string {
  const authority = authorityOf(address);
  // A password may have characters that should have been encoded.
  const userinfo = authority.includes('@') || HOST.test(authority) ? authority : address;
  const rest = address.slice(userinfo.lastIndexOf('@') + 1);
  return HOST.test(authorityOf(rest)) ? rest.split(/[?#]/, 1)[0]! : '';
}

const authorityOf = (address: string): string => address.split(/[\\/?#]/, 1)[0]!;
