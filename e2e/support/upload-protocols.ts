// How clouds take uploads: each protocol as a function from a request to its answer. An object in `objects` is complete.

import { createHash, randomUUID } from 'node:crypto';

/** Header names are in lower case. */
export type Headers = Record<string, string | undefined>;

export interface Request {
  method: string;
  url: URL;
  headers: Headers;
  body: Buffer;
  /** The connection broke after these bytes. */
  isCut: boolean;
}

export interface Answer {
  status: number;
  headers?: Record<string, string>;
  body?: string | Buffer<ArrayBuffer>;
}

type Protocol = (request: Request) => Answer;

/** The objects and uploads of a server. */
export interface Stored {
  /** The objects that are complete, by their paths. */
  objects: Map<string, Buffer>;
  /** Uploads that were begun and neither completed nor given up. */
  begun: Set<string>;
  /** The bytes that a reader of an object gets; by default those of the object. */
  shown?: (object: Buffer) => Buffer;
}

/** The sizes that servers accept, in bytes. */
export interface Limits {
  /** The smallest part of S3 but for the last one. */
  smallestPart: number;
  /** All chunks for Google but for the last one are multiples of it. */
  chunkUnit: number;
}
const LIMITS: Limits = { smallestPart: 5 << 20, chunkUnit: 256 << 10 };

/** Finds the protocol spoken below `/s3`, `/gcs`, `/tus`, `/put`, `/post` or `/azure`. */
export function protocolsOf(stored: Stored, limits: Partial<Limits> = {}): (path: string) => Protocol | undefined {
  const { smallestPart, chunkUnit } = { ...LIMITS, ...limits };
  const protocols: Record<string, Protocol> = {
    s3: s3(stored, smallestPart),
    gcs: gcs(stored, chunkUnit),
    tus: tus(stored),
    put: put(stored),
    azure: azure(stored),
    post: post(stored),
  };
  return (path) => protocols[path.split('/')[1]!];
}

const md5 = (bytes: Buffer | string) => createHash('md5').update(bytes).digest();
const error = (status: number, code: string): Answer => ({
  status,
  body: `<Error><Code>${code}</Code><Message>No</Message></Error>`,
});
const BAD = error(400, 'InvalidRequest');
/** The headers of HEAD for an object. */
const described = (object: Buffer | undefined, headers: Record<string, string> = {}): Answer =>
  object ? { status: 200, headers: { 'Content-Length': String(object.length), ...headers } } : { status: 404 };

/** The answer to a GET of an object, or of a range of it. */
function read({ objects, shown = (object) => object }: Stored, { url: { pathname }, headers }: Request): Answer {
  const object = objects.get(pathname);
  if (!object) return { status: 404 };
  const bytes = Buffer.from(shown(object));
  const [, start, end] = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? '') ?? [];
  if (start === undefined) return { status: 200, headers: { 'Content-Length': String(bytes.length) }, body: bytes };
  const last = Math.min(bytes.length, end ? Number(end) + 1 : bytes.length);
  if (Number(start) >= last) return { status: 416, headers: { 'Content-Range': `bytes */${bytes.length}` } };
  const body = bytes.subarray(Number(start), last);
  const range = `bytes ${start}-${last - 1}/${bytes.length}`;
  return { status: 206, headers: { 'Content-Range': range, 'Content-Length': String(body.length) }, body };
}

/** How many parts a list of them has at most. */
const PAGE = 3;

/** The answer of S3 that has made an object. */
export const resultOf = (etag: string): string =>
  `<?xml version="1.0"?>\n<CompleteMultipartUploadResult><ETag>${etag.replaceAll('"', '&quot;')}</ETag></CompleteMultipartUploadResult>`;

/** S3's multipart uploads. */
function s3({ objects, begun }: Stored, smallestPart: number): Protocol {
  const etags = new Map<string, string>();
  const uploads = new Map<string, Map<number, Buffer>>();
  return ({ method, url: { pathname, searchParams }, headers, body }) => {
    const id = searchParams.get('uploadId');
    if (method === 'HEAD') {
      return described(objects.get(pathname), { ETag: etags.get(pathname) ?? '' });
    }
    if (method === 'POST' && searchParams.has('uploads')) {
      const id = `${randomUUID()}&<`;
      uploads.set(id, new Map());
      begun.add(id);
      return { status: 200, body: `<R><UploadId>${id.replace('&', '&amp;').replace('<', '&lt;')}</UploadId></R>` };
    }
    const parts = uploads.get(id ?? '');
    if (!parts) return { status: 404, body: '<Error><Code>NoSuchUpload</Code></Error>' };
    if (method === 'PUT') {
      const digest = headers['content-md5'];
      if (digest !== undefined && digest !== md5(body).toString('base64')) return error(400, 'BadDigest');
      parts.set(Number(searchParams.get('partNumber')), body);
      return { status: 200, headers: { ETag: `"${md5(body).toString('hex')}"` } };
    }
    if (method === 'GET') {
      const marker = Number(searchParams.get('part-number-marker'));
      const numbers = [...parts.keys()].toSorted((a, b) => a - b).filter((number) => number > marker);
      const list = numbers.slice(0, PAGE).map((number) => {
        const part = parts.get(number)!;
        const etag = `&quot;${md5(part).toString('hex')}&quot;`;
        return `<Part><ETag>${etag}</ETag><PartNumber>${number}</PartNumber><Size>${part.length}</Size></Part>`;
      });
      return { status: 200, body: `<ListPartsResult>${list.join('\n')}</ListPartsResult>` };
    }
    begun.delete(id!);
    uploads.delete(id!);
    if (method === 'DELETE') return { status: 204 };
    const listed = [...body.toString().matchAll(/<PartNumber>(\d+)<.*?<ETag>(?:&quot;|")(\w+)/g)];
    const found = listed.map(([, number]) => parts.get(Number(number)));
    const isRight = found.every((part, at) => part && md5(part).toString('hex') === listed[at]![2]);
    const isLarge = found.slice(0, -1).every((part) => part && part.length >= smallestPart);
    if (listed.length === 0 || !isRight || !isLarge) return BAD;
    const etag = `"${md5(Buffer.concat(found.map((part) => md5(part!)))).toString('hex')}-${found.length}"`;
    objects.set(pathname, Buffer.concat(found as Buffer[]));
    etags.set(pathname, etag);
    return { status: 200, body: resultOf(etag) };
  };
}

/** Google Cloud Storage's resumable uploads. */
function gcs(stored: Stored, chunkUnit: number): Protocol {
  const { objects, begun } = stored;
  const sessions = new Map<string, { name: string; bytes: Buffer; isComplete: boolean }>();
  return (request) => {
    const { method, url, headers, body, isCut } = request;
    if (method === 'GET') return read(stored, request);
    const id = url.searchParams.get('upload_id');
    if (method === 'POST') {
      if (headers['x-goog-resumable'] !== 'start') return BAD;
      const id = randomUUID();
      sessions.set(id, { name: url.pathname, bytes: Buffer.alloc(0), isComplete: false });
      begun.add(id);
      return { status: 201, headers: { Location: `${url.pathname}?upload_id=${id}` } };
    }
    if (method === 'HEAD') {
      const object = objects.get(url.pathname);
      const hash: Record<string, string> = object ? { 'x-goog-hash': `md5=${md5(object).toString('base64')}` } : {};
      return described(object, hash);
    }
    const session = sessions.get(id ?? '');
    if (!session) return { status: 404 };
    if (method === 'DELETE') {
      begun.delete(id!);
      sessions.delete(id!);
      return { status: 499 };
    }
    const [, start, end, total] = /^bytes (?:(\d+)-(\d+)|\*)\/(\d+|\*)$/.exec(headers['content-range'] ?? '') ?? [];
    if (total === undefined) return BAD;
    if (start !== undefined && !session.isComplete) {
      const isWhole = isCut || Number(end) - Number(start) + 1 === body.length;
      if (Number(start) !== session.bytes.length || !isWhole) return BAD;
      if (total === '*' && body.length % chunkUnit !== 0 && !isCut) return BAD;
      session.bytes = Buffer.concat([
        session.bytes,
        body.subarray(0, body.length - (isCut ? body.length % chunkUnit : 0)),
      ]);
    }
    const { bytes, name } = session;
    const digest = /^md5=(\S+)$/.exec(headers['x-goog-hash'] ?? '')?.[1];
    if (total === String(bytes.length) && digest !== undefined && digest !== md5(bytes).toString('base64'))
      return error(400, 'BadDigest');
    if (total === '*' || Number(total) !== bytes.length) {
      return { status: 308, headers: bytes.length > 0 ? { Range: `bytes=0-${bytes.length - 1}` } : {} };
    }
    session.isComplete = true;
    begun.delete(id!);
    objects.set(name, bytes);
    return {
      status: 200,
      body: JSON.stringify({ size: String(bytes.length), md5Hash: md5(bytes).toString('base64') }, null, 2),
    };
  };
}

/** tus 1.0.0. */
function tus({ objects, begun }: Stored): Protocol {
  const files = new Map<string, { bytes: Buffer; length: number | undefined }>();
  const finish = (path: string) => {
    const { bytes, length } = files.get(path)!;
    if (bytes.length !== length) return;
    begun.delete(path);
    objects.set(path, bytes);
  };
  return ({ method, url: { pathname }, headers, body }) => {
    if (headers['tus-resumable'] !== '1.0.0') return BAD;
    if (method === 'POST') {
      const length = headers['upload-length'];
      if (length === undefined && headers['upload-defer-length'] !== '1') return BAD;
      const path = `${pathname}/${randomUUID()}`;
      files.set(path, { bytes: Buffer.alloc(0), length: length === undefined ? undefined : Number(length) });
      begun.add(path);
      finish(path);
      return { status: 201, headers: { Location: path } };
    }
    const file = files.get(pathname);
    if (!file) return { status: 404 };
    if (method === 'HEAD') {
      const length: Record<string, string> =
        file.length === undefined ? { 'Upload-Defer-Length': '1' } : { 'Upload-Length': String(file.length) };
      return { status: 200, headers: { 'Upload-Offset': String(file.bytes.length), ...length } };
    }
    if (method === 'DELETE') {
      objects.delete(pathname);
      begun.delete(pathname);
      files.delete(pathname);
      return { status: 204 };
    }
    if (Number(headers['upload-offset']) !== file.bytes.length) return { status: 409 };
    // It is said once.
    if (headers['upload-length'] !== undefined && file.length !== undefined) return BAD;
    if (headers['upload-length'] !== undefined) file.length = Number(headers['upload-length']);
    file.bytes = Buffer.concat([file.bytes, body]);
    finish(pathname);
    return { status: 204, headers: { 'Upload-Offset': String(file.bytes.length) } };
  };
}

/** A plain PUT. */
const put =
  (stored: Stored): Protocol =>
  (request) => {
    const { objects } = stored;
    const {
      method,
      url: { pathname },
      body,
    } = request;
    if (method === 'GET') return read(stored, request);
    if (method === 'DELETE') return { status: objects.delete(pathname) ? 204 : 404 };
    if (method === 'HEAD') return described(objects.get(pathname));
    if (method !== 'PUT') return { status: 405 };
    objects.set(pathname, body);
    return { status: 201 };
  };

/** An address that takes POST only. */
const post =
  ({ objects }: Stored): Protocol =>
  ({ method, url: { pathname }, body }) => {
    if (method !== 'POST') return { status: 404 };
    objects.set(pathname, body);
    return { status: 200 };
  };

/** Azure's page blobs and block blobs. */
function azure({ objects, begun }: Stored): Protocol {
  /** Of each blob: its metadata, its sequence number, and how often it was changed. */
  const states = new Map<string, { mark: string; sequence: string; changes: number }>();
  const blocks = new Map<string, Buffer>();
  /** The committed lists, in XML, by path. */
  const lists = new Map<string, string>();
  const isSent = (headers: Headers, body: Buffer) => headers['content-md5'] === md5(body).toString('base64');
  return ({ method, url: { pathname, searchParams }, headers, body }) => {
    const blob = objects.get(pathname);
    const what = searchParams.get('comp');
    const state = states.get(pathname) ?? { mark: '', sequence: '0', changes: 0 };
    const etag = () => `"${state.changes}"`;
    /** The answer to a request that has changed the blob. */
    const changed = (status: number): Answer => {
      state.changes += 1;
      states.set(pathname, state);
      return { status, headers: { ETag: etag() } };
    };
    if (headers['x-ms-version'] === undefined) return BAD;
    if (method === 'HEAD') {
      const mark: Record<string, string> = state.mark === '' ? {} : { 'x-ms-meta-decant': state.mark };
      return described(blob, { ETag: etag(), 'x-ms-blob-sequence-number': state.sequence, ...mark });
    }
    if (method === 'DELETE') return { status: objects.delete(pathname) ? 202 : 404 };
    if (what === 'pagelist') {
      if (!blob) return { status: 404 };
      return {
        status: 200,
        body: `<PageList>${blob.some((byte) => byte > 0) ? '<PageRange></PageRange>' : ''}</PageList>`,
      };
    }
    if (what === null) {
      if (blob && headers['if-none-match'] === '*') return error(409, 'BlobAlreadyExists');
      const match = headers['if-match'];
      if (match !== undefined && (!blob || match !== etag())) return error(412, 'ConditionNotMet');
      objects.set(pathname, Buffer.alloc(Number(headers['x-ms-blob-content-length'])));
      state.mark = String(headers['x-ms-meta-decant']);
      state.sequence = headers['x-ms-blob-sequence-number'] ?? '0';
      return changed(201);
    }
    if (what === 'metadata') {
      if (!blob) return { status: 404 };
      state.mark = headers['x-ms-meta-decant'] ?? '';
      return changed(200);
    }
    if (what === 'blocklist' && method === 'GET')
      return blob ? { status: 200, body: lists.get(pathname) ?? '' } : { status: 404 };
    if (what === 'blocklist') {
      if (!isSent(headers, body)) return error(400, 'Md5Mismatch');
      const list = [...body.toString().matchAll(/<Latest>([^<]+)</g)].map(([, id]) => blocks.get(`${pathname} ${id}`));
      if (list.some((block) => !block)) return BAD;
      begun.clear();
      lists.set(pathname, body.toString().replaceAll('Latest>', 'Name>'));
      objects.set(pathname, Buffer.concat(list as Buffer[]));
      return changed(201);
    }
    const isClear = headers['x-ms-page-write'] === 'clear';
    if (!isClear && !isSent(headers, body)) return error(400, 'Md5Mismatch');
    if (what === 'block') {
      blocks.set(`${pathname} ${searchParams.get('blockid')}`, body);
      return { status: 201 };
    }
    const [, start, end] = /^bytes=(\d+)-(\d+)$/.exec(String(headers['x-ms-range'])) ?? [];
    const [from, length] = [Number(start), Number(end) - Number(start) + 1];
    const isPages = from % 512 === 0 && length % 512 === 0 && body.length <= 4 << 20;
    if (!blob || !isPages || length !== (isClear ? length : body.length)) return BAD;
    const expected = headers['x-ms-if-sequence-number-eq'];
    if (expected !== undefined && expected !== state.sequence) return error(412, 'SequenceNumberConditionNotMet');
    if (isClear) blob.fill(0, from, from + length);
    else body.copy(blob, from);
    return changed(201);
  };
}
