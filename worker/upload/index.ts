// Targets that upload: for `Image.convert`. Nothing happens at import.

import { DecantError } from '../errors/errors.js';
import { checkNames } from '../errors/option-names.js';
import { addressOf } from '../http/address.js';
import { checkHttpOptions } from '../http/http-options.js';
import { milliseconds } from '../http/time-outs.js';
import type { Target } from '../public/types.js';
import { SingleUseTarget, type UploadProtocol, UploadTarget } from './ascending-target.js';
import { AzureBlob } from './azure-blob.js';
import { BlockBlob } from './azure-block.js';
import { PageBlob } from './azure-page.js';
import { Gcs } from './gcs.js';
import { Put } from './put.js';
import { S3 } from './s3.js';
import { S3Journal } from './s3-journal.js';
import { checkKeys, signedUrl, signerOf } from './s3-sign.js';
import type { S3Options } from './s3-types.js';
import { Tus } from './tus.js';
import { GCS_OPTIONS, PAGE_BLOB_OPTIONS, S3_KEYS, S3_OPTIONS, TUS_OPTIONS, UPLOAD_OPTIONS } from './upload-options.js';
import { TIMEOUT, UploadRequests } from './upload-requests.js';
import type { AzurePageBlobOptions, GcsOptions, TusOptions, UploadOptions } from './upload-types.js';

export type { AddressOptions, Fetch, HttpHeaders, HttpOptions, Waiting } from '../http/http-types.js';
export type { RequestLimit } from '../http/request-limit.js';
export type { Bytes, Network, Target, TargetEnd, TargetPlan, TargetResumePoint } from '../public/types.js';
export type { S3Keys, S3Options, S3Request } from './s3-types.js';
export type { AzurePageBlobOptions, GcsOptions, TusOptions, UploadJournal, UploadOptions } from './upload-types.js';

/** Fails with `usage` where `options` of `call` are not what their type says. */
function check(call: string, options: UploadOptions, names: readonly string[]): void {
  checkHttpOptions(options);
  checkNames(call, options, names);
}

/** The place at `url`, and the requests to it. */
function place(url: string | URL, options: UploadOptions): { url: URL; requests: UploadRequests } {
  const address = addressOf(url);
  return { url: address.url, requests: new UploadRequests(address, options) };
}

const upload = (protocol: UploadProtocol): Target => new SingleUseTarget(new UploadTarget(protocol));

/**
 * An object of S3, or of what speaks as S3 does, by a multipart upload: it appears when it is complete, and replaces what
 * had its name then. 4 parts of 8 MiB are on their way at once; they are larger for more than 80 GB. Each part is checked
 * by its ETag, where that is an MD5 digest. An upload that fails is aborted. Fails with `usage` where keys are given to a
 * page, or the URL is none.
 */
export function s3Target(options: S3Options): Target {
  check('s3Target', options, S3_OPTIONS);
  const journal =
    options.journal && new S3Journal(options.journal, milliseconds('timeout', options.timeout ?? TIMEOUT));
  if ('sign' in options) {
    if (typeof options.sign !== 'function') throw new DecantError('usage', "'sign' must be a function");
    const requests = new UploadRequests(undefined, options);
    return upload(new S3(requests, async (request) => signedUrl(await options.sign(request)), journal));
  }
  if (globalThis.process?.versions?.node === undefined) {
    throw new DecantError('usage', "Keys belong in no page; presign the requests on a server of yours ('sign')");
  }
  checkKeys(options.keys);
  checkNames('keys', options.keys, S3_KEYS);
  const { requests } = place(options.url, options);
  return upload(new S3(requests, signerOf(options.url, options.keys), journal));
}

/**
 * An object of Google Cloud Storage by a resumable upload, in chunks of 16 MiB: it appears when it is complete, and replaces
 * what had its name then. Its size and MD5 digest are checked, where the answer has them. An upload that fails is cancelled.
 */
export function gcsTarget(options: GcsOptions): Target {
  check('gcsTarget', options, GCS_OPTIONS);
  if ('session' in options) {
    const { url, requests } = place(options.session, options);
    return upload(new Gcs(requests, undefined, url));
  }
  const { url, requests } = place(options.url, options);
  return upload(new Gcs(requests, url, undefined));
}

/**
 * A file of a server that speaks tus 1.0.0, with its extension `creation`, in chunks of 16 MiB; an output of unknown size needs
 * `creation-defer-length`. At the end the server is asked whether it has all. An upload that fails is removed, where the
 * server has the extension `termination`.
 */
export function tusTarget(url: string | URL, options: TusOptions = {}): Target {
  check('tusTarget', options, TUS_OPTIONS);
  const { url: at, requests } = place(url, options);
  return upload(new Tus(requests, at, options.name));
}

/**
 * What is at `url` after one PUT, with `Content-Length` where the size is known, else chunked. It is made once: a connection
 * that breaks ends it. Browsers can do it over HTTP/2 and 3 only, and not all.
 */
export function putTarget(url: string | URL, options: UploadOptions = {}): Target {
  check('putTarget', options, UPLOAD_OPTIONS);
  const { url: at, requests } = place(url, options);
  return new SingleUseTarget(new Put(requests, at, options));
}

/**
 * A page blob of Azure, for a fixed VHD (`vpc`) or another output of known size. Holes are not sent. The last bytes, which
 * make a VHD of it, are written when all others are. A blob that is there already is left as it is, and the conversion
 * fails, unless an upload was making it when it was cut off. A blob that is not completed is removed, unless it is `existing`.
 */
export function azurePageBlobTarget(url: string | URL, options: AzurePageBlobOptions = {}): Target {
  check('azurePageBlobTarget', options, PAGE_BLOB_OPTIONS);
  const { url: at, requests } = place(url, options);
  return new SingleUseTarget(new PageBlob(new AzureBlob(requests, at), options.existing));
}

/**
 * A block blob of Azure: it appears when it is complete, and replaces what had its name then. 4 blocks of 8 MiB are on their
 * way at once; they are larger for more than 400 GB. The server checks each by its MD5 digest.
 */
export function azureBlockBlobTarget(url: string | URL, options: UploadOptions = {}): Target {
  check('azureBlockBlobTarget', options, UPLOAD_OPTIONS);
  const { url: at, requests } = place(url, options);
  return upload(new BlockBlob(new AzureBlob(requests, at)));
}
