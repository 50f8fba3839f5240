// S3's responses in XML.

import { bareEtag } from './confirmation.js';
import { unescapeXml } from './xml-text.js';

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
