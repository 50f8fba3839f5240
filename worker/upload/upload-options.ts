// Public types of uploads, and the names of their options.

import { namesOf } from '../errors/argument-checks.js';
import type { HttpOptions } from '../http/http-types.js';

/**
 * Options for requests of an upload. `timeout` limits the time until a response, in seconds; a body gets the same time again for
 * each 2 MiB. Redirects are not followed.
 */
export interface UploadOptions extends Omit<HttpOptions, 'signal' | 'onWaiting' | 'allowUrl' | 'limit'> {}

/** Options of `gcsTarget`: either `session` or `url`. */
export type GcsOptions = UploadOptions &
  (
    | {
        /** The URL of a started session, which needs no headers. A page gets it from its server. */
        session: string | URL;
        url?: undefined;
      }
    | {
        /**
         * Where a session is started, by a POST with `headers`: the object's URL, or a URL of the JSON API with
         * `uploadType=resumable` in its query.
         */
        url: string | URL;
        session?: undefined;
      }
  );

/** Options of `tusTarget`. */
export interface TusOptions extends UploadOptions {
  /** Where files are created. */
  url: string | URL;
  /** The name of the file, sent as the metadata `filename`. */
  name?: string | undefined;
}

/** Options of `putTarget`. */
export interface PutOptions extends UploadOptions {
  /** The URL of the request. */
  url: string | URL;
  /** The method of the request, by default PUT. A POST names no object, so only a Location in the response can confirm one. */
  method?: 'PUT' | 'POST' | undefined;
  /**
   * With `false`, the response to the request is accepted without checking the object: then the result has `confirmed: false`.
   * By default, HEAD confirms the object.
   */
  confirm?: boolean | undefined;
}

/** Options of `azureBlockBlobTarget`. */
export interface AzureBlockBlobOptions extends UploadOptions {
  /** The URL of the blob, with a signature (SAS) in its query, unless `headers` authorize. */
  url: string | URL;
}

/** Options of `azurePageBlobTarget`. */
export interface AzurePageBlobOptions extends AzureBlockBlobOptions {
  /**
   * Writes into an existing blob with the size of the output, such as one that Azure made for the upload of a managed disk. The
   * blob is neither created nor removed. Holes are cleared only if it has been written to before.
   */
  existing?: boolean | undefined;
}

/**
 * Custom storage for the progress of an upload, as text without secrets, one for each object. A later conversion with `resume`
 * continues from it. A call that takes longer than `timeout` counts as failed.
 */
export interface UploadJournal {
  /** Resolves to all appended text, in order, or to `undefined` if empty. If it fails, a conversion with `resume` fails. */
  read(): string | undefined | Promise<string | undefined>;
  /** Appends `text`, less than 4 KiB. Resolves when it is stored. If it fails, the upload continues, but is not resumable. */
  append(text: string): void | Promise<void>;
  /** Removes all text. */
  clear(): void | Promise<void>;
}

/**
 * A request to S3 that needs a signature. It states an action, not a method, query or object: the signer derives these, so that
 * it cannot be made to sign anything else.
 */
export type S3Request =
  /** `create` begins an upload, `head` checks the completed object. */
  | { readonly action: 'create' | 'head' }
  /** `complete` makes the object from the parts, `abort` removes the parts. */
  | { readonly action: 'complete' | 'abort'; readonly uploadId: string }
  /** `part` sends the part with this number, from 1. */
  | { readonly action: 'part'; readonly uploadId: string; readonly partNumber: number }
  /** `list` lists the stored parts after this number, from 0, for resuming. */
  | { readonly action: 'list'; readonly uploadId: string; readonly partNumberMarker: number };

/** AWS access keys. */
export interface S3Keys {
  /** The access key ID. */
  accessKeyId: string;
  /** The secret access key. */
  secretAccessKey: string;
  /** The session token of temporary keys. */
  sessionToken?: string | undefined;
  /** The region of the bucket; by default `us-east-1`. */
  region?: string | undefined;
}

/** Options of `s3Target`: either `sign`, or `url` and `keys`. */
export type S3Options = Omit<UploadOptions, 'headers'> & {
  /**
   * Makes the upload resumable (`resume` of `DiskImage.convert`). Without `resume`, an upload in the journal is aborted when the new
   * one has begun.
   */
  journal?: UploadJournal | undefined;
} & (
    | {
        /**
         * Resolves to the presigned URL of a request, absolute or relative to the page. Only the header `host` may be signed.
         * Called for each attempt, so a URL may expire soon. Called again if it rejects with a `TypeError`, as `fetch` does, or
         * does not settle within `timeout`; any other rejection fails the conversion.
         */
        sign: (request: S3Request) => string | URL | Promise<string | URL>;
        url?: undefined;
        keys?: undefined;
      }
    | {
        /** The URL of the object. */
        url: string | URL;
        /** In Node only: anyone can read the keys of a page. */
        keys: S3Keys;
        sign?: undefined;
      }
  );

const UPLOAD = { credentials: true, fetch: true, patience: true, timeout: true, url: true } as const;

export const GCS_OPTIONS = namesOf<GcsOptions>({ ...UPLOAD, headers: true, session: true });
export const TUS_OPTIONS = namesOf<TusOptions>({ ...UPLOAD, headers: true, name: true });
export const PUT_OPTIONS = namesOf<PutOptions>({ ...UPLOAD, headers: true, confirm: true, method: true });
export const BLOCK_BLOB_OPTIONS = namesOf<AzureBlockBlobOptions>({ ...UPLOAD, headers: true });
export const PAGE_BLOB_OPTIONS = namesOf<AzurePageBlobOptions>({ ...UPLOAD, headers: true, existing: true });
export const S3_OPTIONS = namesOf<S3Options>({ ...UPLOAD, journal: true, keys: true, sign: true });
export const S3_KEYS = namesOf<S3Keys>({ accessKeyId: true, region: true, secretAccessKey: true, sessionToken: true });
