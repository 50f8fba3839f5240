// Secrets in the headers of requests: a server may repeat them in its response.

/** Names of headers that carry secrets. */
const SECRET = /auth|token|key|secret|cookie|password|credential|session|signature/i;
/** Names of headers that carry none, unless they match `SECRET`. All others may. */
const PLAIN =
  /^(accept|cache-control|content-|expect|if-|origin|pragma|range|referer|tus-|upload-|user-agent|x-(amz|goog|ms)-)/i;
/** Shorter values are words of many messages. */
const SHORTEST = 4;

/** Returns the secrets in `headers`, and the forms in which a server may repeat them: the longest first. */
export function secretsIn(headers: HeadersInit = {}): string[] {
  const found = [...new Headers(headers)].flatMap(([name, value]) => {
    if (SECRET.test(name)) return [value, ...partsOf(value)];
    return PLAIN.test(name) ? [] : [value];
  });
  const forms = found.flatMap((secret) => [secret, encodeURIComponent(secret)]);
  return [...new Set(forms)].filter(({ length }) => length >= SHORTEST).sort((a, b) => b.length - a.length);
}

/** The parts of a value without its scheme, such as `Bearer`, and the password of `Basic`. */
function partsOf(value: string): string[] {
  const [, scheme, rest] = /^([\w-]+) +(.+)$/.exec(value) ?? [];
  const parts = (rest ?? value).split(/[\s,;="']+/);
  if (scheme?.toLowerCase() !== 'basic') return parts;
  const pair = decodedPair(rest!);
  return [...parts, pair, pair.slice(pair.indexOf(':') + 1)];
}

/** Decodes base64; empty for a text that is not base64. */
function decodedPair(text: string): string {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(text), (character) => character.charCodeAt(0)));
  } catch {
    return '';
  }
}
