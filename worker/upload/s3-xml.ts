// S3's responses in XML.

import { RequestRefused, TransientFailure } from '../http/http-failures.js';
import { bareEtag } from './confirmation.js';
import { isTransient, serverError } from './server-errors.js';

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

/**
 * Parses a response to CompleteMultipartUpload, which has status 200 even if it ends in an error. Returns the object's ETag, if
 * stated, or `undefined` if there is neither a result nor an error. Throws an error in it, as `TransientFailure` if a retry may
 * succeed.
 */
export function resultIn(text: string): { etag: string | undefined } | undefined {
  if (/<Error[\s>]/.test(text)) {
    const { code, words } = serverError(text);
    // Without a code, the upload may have been completed.
    if (code === undefined) return undefined;
    const message = `the server could not complete the upload (${words})`;
    throw isTransient(code) ? new TransientFailure(message) : new RequestRefused(message, 200, code);
  }
  if (!/<(\w+:)?CompleteMultipartUploadResult[\s>]/.test(text)) return undefined;
  const etag = /<(?:\w+:)?ETag>([^<]*)</.exec(text)?.[1];
  return { etag: etag && unescapeXml(etag) };
}

export const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

const unescapeXml = (text: string): string =>
  text.replaceAll('&lt;', '<').replaceAll('&quot;', '"').replaceAll('&#34;', '"').replaceAll('&amp;', '&');
