// Parses responses of servers: errors in XML (S3, Azure) or JSON (Google), ETags, and S3's results.

import { withoutValues } from '../errors/secrets.js';

export const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

const ENTITIES: Record<string, string> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };

export const unescapeXml = (text: string): string =>
  text.replaceAll(/&(?:(lt|gt|quot|apos|amp)|#(\d{1,6})|#x([0-9a-f]{1,5}));/gi, (whole, name, decimal, hexadecimal) => {
    if (name) return ENTITIES[name.toLowerCase()]!;
    const code = decimal ? Number(decimal) : Number.parseInt(hexadecimal, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });

/** The maximum length of a server's error message, in characters. */
const MAX_WORDS = 200;

/** S3's codes of transient errors, with any status. Amazon S3 API Reference, "Error responses". */
const TRANSIENT_CODES = ['InternalError', 'OperationAborted', 'RequestTimeout', 'ServiceUnavailable', 'SlowDown'];

export interface ServerError {
  code?: string;
  /** Code and message, without values of parameters; empty if there is neither. */
  words: string;
}

/** Finds the error in a body. `secrets` are those of the request, which the server may repeat. */
export function serverError(text: string, secrets?: readonly string[]): ServerError {
  const code = /<Code>([^<]*)</.exec(text)?.[1];
  const inXml = /<Message>([^<]*)</.exec(text)?.[1];
  const message = inXml !== undefined ? unescapeXml(inXml) : /"message":\s*"([^"]*)"/.exec(text)?.[1];
  // They may repeat the query of the request, with its signature.
  const words = withoutValues([code, message?.split('\n')[0]].filter(Boolean).join(': '), secrets).slice(0, MAX_WORDS);
  return { ...(code ? { code } : {}), words };
}

/** Whether a retry may succeed. */
export const isTransient = (code: string | undefined): boolean => code !== undefined && TRANSIENT_CODES.includes(code);

/** Removes the quotes of an ETag, which servers use inconsistently. */
export const bareEtag = (etag: string): string => etag.replace(/^W\//, '').replaceAll('"', '');

/** A part in a response to ListParts. */
export interface ListedPart {
  etag: string | undefined;
  size: number;
}

/** Parses a response to ListParts. Returns the parts by number: some servers do not sort them, or omit ETags. */
export function partsIn(text: string): Map<number, ListedPart> {
  const fieldOf = (part: string, name: string) => new RegExp(`<${name}>([^<]*)<`).exec(part)?.[1];
  const parts = [...text.matchAll(/<Part>(.*?)<\/Part>/gs)].map(([, part = '']) => {
    const etag = fieldOf(part, 'ETag');
    const listed = { etag: etag && bareEtag(unescapeXml(etag)), size: Number(fieldOf(part, 'Size')) };
    return [Number(fieldOf(part, 'PartNumber')), listed] as const;
  });
  return new Map(parts);
}

/** Parses a response to CreateMultipartUpload. Returns the upload ID, if any. */
export function uploadIdIn(text: string): string | undefined {
  const id = /<UploadId>([^<]+)</.exec(text)?.[1];
  return id && unescapeXml(id);
}

/** A result is the whole document: other content shows that something else has answered, or that completing has failed. */
const RESULT = /^\s*(?:<\?xml[^>]*\?>\s*)?<((?:\w+:)?CompleteMultipartUploadResult)(?:\s[^>]*)?>.*<\/\1>\s*$/s;

/** Parses a response to CompleteMultipartUpload. Returns the object's ETag, if stated, or `undefined` without a result. */
export function resultIn(text: string): { etag: string | undefined } | undefined {
  if (!RESULT.test(text)) return undefined;
  const etag = /<(?:\w+:)?ETag>([^<]*)</.exec(text)?.[1];
  return { etag: etag && unescapeXml(etag) };
}
