// decant/upload: targets for `DiskImage.convert`. Importing it has no side effects.

import { checkNames } from '../errors/argument-checks.js';
import { DecantError } from '../errors/errors.js';
import { shownText } from '../errors/shown.js';
import { addressOf } from '../http/address.js';
import { checkHttpOptions, milliseconds } from '../http/http-options.js';
import type { Target } from '../public/types.js';
import { singleUse, type UploadProtocol, UploadTarget } from './ascending-target.js';
import { AzureBlob, BlockBlob, PageBlob } from './azure.js';
import { Gcs } from './gcs.js';
import { Put } from './put.js';
import { S3 } from './s3.js';
import { S3Journal } from './s3-journal.js';
import { checkKeys, signedUrl, signerOf } from './s3-sign.js';
import { Tus } from './tus.js';
import {
  type AzureBlockBlobOptions,
  type AzurePageBlobOptions,
  BLOCK_BLOB_OPTIONS,
  GCS_OPTIONS,
  type GcsOptions,
  PAGE_BLOB_OPTIONS,
  PUT_OPTIONS,
  type PutOptions,
  S3_KEYS,
  S3_OPTIONS,
  type S3Options,
  TUS_OPTIONS,
  type TusOptions,
  type UploadOptions,
} from './upload-options.js';
import { DEFAULT_TIMEOUT, UploadRequests } from './upload-requests.js';

export type { AddressOptions, Fetch, HttpHeaders, HttpOptions, Waiting } from '../http/http-types.js';
export type { RequestLimit } from '../http/request-limit.js';
export type {
  Bytes,
  Network,
  ReadableOutput,
  Source,
  Target,
  TargetEnd,
  TargetPlan,
  TargetResumePoint,
} from '../public/types.js';
export type {
  AzureBlockBlobOptions,
  AzurePageBlobOptions,
  GcsOptions,
  PutOptions,
  S3Keys,
  S3Options,
  S3Request,
  TusOptions,
  UploadJournal,
  UploadOptions,
} from './upload-options.js';

/** Fails with `usage` unless `options` of `call` match their type. */
function check(call: string, options: UploadOptions, names: readonly string[]): void {
  checkHttpOptions(options);
  checkNames(call, options, names);
}

/** Parses `url`, and makes the requests to it. */
function requestsTo(url: string | URL, options: UploadOptions): { url: URL; requests: UploadRequests } {
  const address = addressOf(url);
  return { url: address.url, requests: new UploadRequests(address, options) };
}

const upload = (protocol: UploadProtocol): Target => singleUse(new UploadTarget(protocol));

/**
 * Returns a target that makes an object of S3, or of a compatible server, by a multipart upload. The object appears, and replaces
 * an existing one, at the end. 4 parts of 8 MiB are sent at once; they are larger for more than 80 GB. Each part is checked by its
 * ETag, if that is an MD5 digest. A failed upload is aborted. Throws `usage` for keys in a page, or an invalid URL.
 */
export function s3Target(options: S3Options): Target {
  check('s3Target', options, S3_OPTIONS);
  const journal =
    options.journal && new S3Journal(options.journal, milliseconds('timeout', options.timeout ?? DEFAULT_TIMEOUT));
  if ('sign' in options) {
    if (typeof options.sign !== 'function') throw new DecantError('usage', "'sign' must be a function");
    const requests = new UploadRequests(undefined, options);
    return upload(new S3(requests, async (request) => signedUrl(await options.sign(request)), journal));
  }
  if (globalThis.process?.versions?.node === undefined) {
    throw new DecantError('usage', "Keys do not belong in a page; presign the requests on your server ('sign')");
  }
  checkKeys(options.keys);
  checkNames('keys', options.keys, S3_KEYS);
  const { requests } = requestsTo(options.url, options);
  return upload(new S3(requests, signerOf(options.url, options.keys), journal));
}

/**
 * Returns a target that makes an object of Google Cloud Storage by a resumable upload, in chunks of 16 MiB. The object appears,
 * and replaces an existing one, at the end. Its size and MD5 digest are checked, if the response has them. A failed upload is
 * cancelled.
 */
export function gcsTarget(options: GcsOptions): Target {
  check('gcsTarget', options, GCS_OPTIONS);
  if (options.session !== undefined) {
    const { url, requests } = requestsTo(options.session, options);
    return upload(new Gcs(requests, undefined, url));
  }
  const { url, requests } = requestsTo(options.url, options);
  return upload(new Gcs(requests, url, undefined));
}

/**
 * Returns a target that makes a file on a tus 1.0.0 server with the extension `creation`, in chunks of 16 MiB. An output of
 * unknown size needs `creation-defer-length`. At the end, HEAD confirms the file. A failed upload is removed, if the server has
 * the extension `termination`.
 */
export function tusTarget(options: TusOptions): Target {
  check('tusTarget', options, TUS_OPTIONS);
  const { url, requests } = requestsTo(options.url, options);
  return upload(new Tus(requests, url, options.name));
}

/**
 * Returns a target that sends the output by one PUT, or POST, with `Content-Length` if the size is known, otherwise
 * chunked. It is not retried: a broken connection fails the conversion. Only some browsers support it, over HTTP/2 and 3.
 */
export function putTarget(options: PutOptions): Target {
  check('putTarget', options, PUT_OPTIONS);
  const { method = 'PUT', confirm = true } = options;
  if (method !== 'PUT' && method !== 'POST')
    throw new DecantError('usage', `'method' must be PUT or POST, not ${shownText(String(method))}`);
  if (typeof confirm !== 'boolean') throw new DecantError('usage', "'confirm' must be true or false");
  const { url, requests } = requestsTo(options.url, options);
  return singleUse(new Put(requests, url, options));
}

/**
 * Returns a target that makes an Azure page blob, for a fixed VHD (`vpc`) or another output of known size, a multiple of 512 bytes.
 * Holes are not sent. The last bytes, such as the footer of a VHD, are written last. If a blob already exists, it stays unchanged
 * and the conversion fails, unless an interrupted upload left it. An incomplete blob is removed, unless it is `existing`.
 */
export function azurePageBlobTarget(options: AzurePageBlobOptions): Target {
  check('azurePageBlobTarget', options, PAGE_BLOB_OPTIONS);
  const { url, requests } = requestsTo(options.url, options);
  return singleUse(new PageBlob(new AzureBlob(requests, url), options.existing));
}

/**
 * Returns a target that makes an Azure block blob. The blob appears, and replaces an existing one, at the end. 4 blocks of 8 MiB
 * are sent at once; they are larger for more than 400 GB. The server checks each by its MD5 digest.
 */
export function azureBlockBlobTarget(options: AzureBlockBlobOptions): Target {
  check('azureBlockBlobTarget', options, BLOCK_BLOB_OPTIONS);
  const { url, requests } = requestsTo(options.url, options);
  return upload(new BlockBlob(new AzureBlob(requests, url)));
}
