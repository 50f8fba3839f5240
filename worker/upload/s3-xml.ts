// The answers of S3, in XML.

import { RequestRefused, TransientFailure } from '../http/http-failures.js';
import { bareEtag } from './confirmation.js';
import { isTransient, serverError } from './server-errors.js';

/** A part as a server lists it. */
export interface ListedPart {
  etag: string | undefined;
  size: number;
}

/** The parts of an answer to ListParts, by their numbers. Some servers leave the order or the ETags out. */
export function partsIn(text: string): Map<number, ListedPart> {
  const fieldOf = (part: string, name: string) => new RegExp(`<${name}>([^<]*)<`).exec(part)?.[1];
  const parts = [...text.matchAll(/<Part>(.*?)<\/Part>/gs)].map(([, part = '']) => {
    const etag = fieldOf(part, 'ETag');
    const listed = { etag: etag && bareEtag(unescapeXml(etag)), size: Number(fieldOf(part, 'Size')) };
    return [Number(fieldOf(part, 'PartNumber')), listed] as const;
  });
  return new Map(parts);
}

/** The ID of the upload that was created, if the answer has one. */
export function uploadIdIn(text: string): string | undefined {
  const id = /<UploadId>([^<]+)</.exec(text)?.[1];
  return id && unescapeXml(id);
}

/**
 * The result in an answer to CompleteMultipartUpload: the ETag of the object, if it states one. `undefined` where there is
 * neither a result nor an error. An answer begins before the server knows how it ends: an error in it is thrown, as `Passing`
 * where another attempt may succeed.
 */
export function resultIn(text: string): { etag: string | undefined } | undefined {
  if (/<Error[\s>]/.test(text)) {
    const { code, words } = serverError(text);
    // Without a code nobody knows whether the upload was completed.
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
