// A server that takes uploads as clouds do, and may fail in many ways. What it has as an object is complete.

import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Pages of any origin may send what they like. */
export const CORS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Allow-Methods': '*',
  'Access-Control-Allow-Headers': '*',
};
/** And they see what an upload is told by. */
export const EXPOSED = {
  ...CORS,
  'Access-Control-Expose-Headers': 'ETag, Location, Range, Upload-Offset, x-ms-meta-decant',
};

/** What the server can do instead of answering as it should. */
export const UPLOAD_FAULTS = {
  // What passes, unless the protocol has one request only.
  drop: 'passes',
  'lost answer': 'passes',
  cut: 'passes',
  silent: 'passes',
  'status 500': 'passes',
  'status 503': 'passes',
  'status 429': 'passes',
  'status 408': 'passes',
  'late body': 'passes',
  // What does not.
  'status 400': 'lasts',
  'status 403': 'lasts',
  'status 404': 'lasts',
  'status 413': 'lasts',
  redirect: 'lasts',
} as const;
export type UploadFault = keyof typeof UPLOAD_FAULTS;

interface Asked {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  length: number;
}

/** What a protocol makes of a request. `isCut` says that the body is not all: only where a part of one counts. */
interface Request {
  method: string;
  url: URL;
  headers: IncomingMessage['headers'];
  body: Buffer;
  isCut: boolean;
}
interface Answer {
  status: number;
  headers?: Record<string, string | number>;
  body?: string;
}
type Protocol = (request: Request) => Answer;

export interface UploadServer {
  origin: string;
  /** The objects that are complete, by their paths. */
  objects: Map<string, Buffer>;
  /** Uploads that were begun and neither completed nor given up. */
  begun: Set<string>;
  asked: Asked[];
  /** How long each answer takes, in milliseconds. */
  pause: number;
  /** What each PUT waits for before that. */
  hold: () => Promise<void>;
  close(): Promise<void>;
}

interface Options {
  /** What to do at a request instead of answering it, by its number. */
  fault?: (number: number, request: IncomingMessage) => UploadFault | undefined;
  /** The same at requests to give an upload up. */
  faultAtEnd?: () => UploadFault | undefined;
  /** Answers in another way, whatever its body; returns whether it has. */
  answer?: (request: IncomingMessage, response: ServerResponse, body: Buffer) => boolean;
  /** Damages the bytes of a request before they are stored, by its number. */
  damages?: (number: number) => boolean;
  headers?: Record<string, string>;
}

const md5 = (bytes: Buffer | string) => createHash('md5').update(bytes).digest();
const BAD: Answer = { status: 400, body: '<Error><Code>InvalidRequest</Code><Message>No</Message></Error>' };

/** How many parts a list of them has at most. */
const PAGE = 3;

/** S3's multipart uploads. */
function s3(objects: Map<string, Buffer>, begun: Set<string>): Protocol {
  const etags = new Map<string, string>();
  const uploads = new Map<string, Map<number, Buffer>>();
  return ({ method, url: { pathname, searchParams }, body }) => {
    const id = searchParams.get('uploadId');
    if (method === 'HEAD') {
      const etag = etags.get(pathname);
      return etag === undefined ? { status: 404 } : { status: 200, headers: { ETag: etag } };
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
    const isLarge = found.slice(0, -1).every((part) => part && part.length >= 5 << 20);
    if (listed.length === 0 || !isRight || !isLarge) return BAD;
    const etag = `"${md5(Buffer.concat(found.map((part) => md5(part!)))).toString('hex')}-${found.length}"`;
    objects.set(pathname, Buffer.concat(found as Buffer[]));
    etags.set(pathname, etag);
    return { status: 200, body: `<R><ETag>${etag.replaceAll('"', '&quot;')}</ETag></R>` };
  };
}

/** Google Cloud Storage's resumable uploads. */
function gcs(objects: Map<string, Buffer>, begun: Set<string>): Protocol {
  const sessions = new Map<string, { name: string; bytes: Buffer; isComplete: boolean }>();
  return ({ method, url, headers, body, isCut }) => {
    const id = url.searchParams.get('upload_id');
    if (method === 'POST') {
      if (headers['x-goog-resumable'] !== 'start') return BAD;
      const id = randomUUID();
      sessions.set(id, { name: url.pathname, bytes: Buffer.alloc(0), isComplete: false });
      begun.add(id);
      return { status: 201, headers: { Location: `${url.pathname}?upload_id=${id}` } };
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
      if (total === '*' && body.length % (256 << 10) !== 0 && !isCut) return BAD;
      session.bytes = Buffer.concat([
        session.bytes,
        body.subarray(0, body.length - (isCut ? body.length % (256 << 10) : 0)),
      ]);
    }
    const { bytes, name } = session;
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
function tus(objects: Map<string, Buffer>, begun: Set<string>): Protocol {
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
      const length: Record<string, number> = file.length === undefined ? {} : { 'Upload-Length': file.length };
      return { status: 200, headers: { 'Upload-Offset': file.bytes.length, ...length } };
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
    return { status: 204, headers: { 'Upload-Offset': file.bytes.length } };
  };
}

/** A plain PUT. */
const put =
  (objects: Map<string, Buffer>): Protocol =>
  ({ method, url: { pathname }, body }) => {
    if (method !== 'PUT') return { status: 405 };
    objects.set(pathname, body);
    return { status: 201 };
  };

/** Azure's page blobs and block blobs. */
function azure(objects: Map<string, Buffer>, begun: Set<string>): Protocol {
  const marks = new Map<string, string>();
  const blocks = new Map<string, Buffer>();
  const isSent = (headers: IncomingMessage['headers'], body: Buffer) =>
    headers['content-md5'] === md5(body).toString('base64');
  return ({ method, url: { pathname, searchParams }, headers, body }) => {
    const blob = objects.get(pathname);
    const what = searchParams.get('comp');
    if (headers['x-ms-version'] === undefined) return BAD;
    if (method === 'HEAD') {
      return blob ? { status: 200, headers: { 'x-ms-meta-decant': marks.get(pathname) ?? '' } } : { status: 404 };
    }
    if (method === 'DELETE') return { status: objects.delete(pathname) ? 202 : 404 };
    if (what === null) {
      if (blob && headers['if-none-match'] === '*') return { status: 409 };
      objects.set(pathname, Buffer.alloc(Number(headers['x-ms-blob-content-length'])));
      marks.set(pathname, String(headers['x-ms-meta-decant']));
      return { status: 201 };
    }
    if (what === 'blocklist') {
      const list = [...body.toString().matchAll(/<Latest>([^<]+)</g)].map(([, id]) => blocks.get(`${pathname} ${id}`));
      if (list.some((block) => !block)) return BAD;
      begun.clear();
      objects.set(pathname, Buffer.concat(list as Buffer[]));
      return { status: 201 };
    }
    if (!isSent(headers, body)) return { ...BAD, body: '<Error><Code>Md5Mismatch</Code></Error>' };
    if (what === 'block') {
      blocks.set(`${pathname} ${searchParams.get('blockid')}`, body);
      return { status: 201 };
    }
    const [, start, end] = /^bytes=(\d+)-(\d+)$/.exec(String(headers['x-ms-range'])) ?? [];
    const isPages = Number(start) % 512 === 0 && (Number(end) + 1) % 512 === 0 && body.length <= 4 << 20;
    if (!blob || !isPages || Number(end) - Number(start) + 1 !== body.length) return BAD;
    body.copy(blob, Number(start));
    return { status: 201 };
  };
}

/** Takes uploads below `/s3`, `/gcs`, `/tus`, `/put` and `/azure`. */
export async function takeUploads({
  fault = () => undefined,
  faultAtEnd = () => undefined,
  answer: other = () => false,
  damages = () => false,
  headers = {},
}: Options = {}): Promise<UploadServer> {
  const [objects, begun, asked] = [new Map<string, Buffer>(), new Set<string>(), [] as Asked[]];
  const protocols = Object.entries({ s3, gcs, tus, put, azure }).map(
    ([name, make]) => [`/${name}/`, make(objects, begun)] as const,
  );
  const take = async (request: IncomingMessage, response: ServerResponse) => {
    const { method, url, headers: given } = request;
    const number = asked.length;
    const entry: Asked = { method: method!, url: url!, headers: given, length: 0 };
    asked.push(entry);
    response.on('error', () => {});
    request.on('error', () => {});
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    if (method === 'OPTIONS') {
      response.writeHead(204).end();
      return;
    }
    const meant = method === 'DELETE' ? faultAtEnd() : fault(number, request);
    const body = await bodyOf(request).catch(() => undefined);
    if (body && other(request, response, body)) return;
    // What has no body cannot be late.
    const wrong = meant === 'late body' && body?.length === 0 ? undefined : meant;
    entry.length = body?.length ?? 0;
    const isCut = wrong === 'cut' && /^\/(gcs|tus)\//.test(url!);
    if (!body || (wrong !== undefined && wrong !== 'lost answer' && !isCut)) {
      fail(wrong ?? 'drop', response);
      return;
    }
    if (method === 'PUT') await taken.hold();
    if (taken.pause > 0) await new Promise((done) => setTimeout(done, taken.pause));
    if (damages(number) && body.length > 0) body[0]! ^= 1;
    const [, protocol] = protocols.find(([prefix]) => url!.startsWith(prefix)) ?? [];
    const half = isCut ? body.subarray(0, body.length >> 1) : body;
    const answer = protocol?.({
      method: method!,
      url: new URL(url!, 'http://server'),
      headers: given,
      body: half,
      isCut,
    }) ?? { status: 404 };
    if (wrong !== undefined) response.destroy();
    else response.writeHead(answer.status, answer.headers).end(method === 'HEAD' ? undefined : answer.body);
  };
  const server = createServer((request, response) => void take(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const taken: UploadServer = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    objects,
    begun,
    asked,
    pause: 0,
    hold: async () => {},
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return taken;
}

function fail(fault: UploadFault, response: ServerResponse): void {
  if (fault === 'silent') return;
  if (fault === 'redirect') {
    response.writeHead(307, { Location: '/elsewhere' }).end();
    return;
  }
  if (fault === 'late body') {
    response.writeHead(400).end('<Error><Code>RequestTimeout</Code></Error>');
    return;
  }
  const status = /^status (\d+)$/.exec(fault)?.[1];
  if (status === undefined) response.destroy();
  else response.writeHead(Number(status), status === '429' ? { 'Retry-After': '0' } : {}).end();
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
