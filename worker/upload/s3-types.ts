// Public types of uploads to S3.

import type { UploadJournal, UploadOptions } from './upload-types.js';

/**
 * A request to S3 that needs a signature. It states an action, not a method, query or object: the signer derives these, so that
 * it cannot be made to sign anything else.
 */
export interface S3Request {
  /**
   * `create` begins an upload, `part` sends a part, `complete` makes the object from the parts, `abort` removes the parts. `head`
   * checks the completed object, `list` lists the stored parts for resuming.
   */
  action: 'create' | 'part' | 'complete' | 'abort' | 'head' | 'list';
  /** The upload ID; missing for `create` and `head`. */
  uploadId?: string;
  /** For `part`: its number, from 1. */
  partNumber?: number;
  /** For `list`: parts after this number are listed, from 0. */
  partNumberMarker?: number;
}

/** AWS access keys. */
export interface S3Keys {
  /** The access key ID. */
  accessKeyId: string;
  /** The secret access key. */
  secretAccessKey: string;
  /** The session token of temporary keys. */
  sessionToken?: string;
  /** The region of the bucket; by default `us-east-1`. */
  region?: string;
}

/** Options of `s3Target`: either `sign`, or `url` and `keys`. */
export type S3Options = Omit<UploadOptions, 'headers'> & {
  /**
   * Makes the upload resumable (`resume` of `Image.convert`). Without `resume`, an upload in the journal is aborted when the new
   * one has begun.
   */
  journal?: UploadJournal;
} & (
    | {
        /**
         * Resolves to the presigned URL of a request, absolute or relative to the page. Only the header `host` may be signed.
         * Called for each attempt, so a URL may expire soon. Called again if it rejects with a `TypeError`, as `fetch` does, or
         * does not settle within `timeout`; any other rejection fails the conversion.
         */
        sign: (request: S3Request) => string | URL | Promise<string | URL>;
      }
    | {
        /** The URL of the object. */
        url: string | URL;
        /** In Node only: anyone can read the keys of a page. */
        keys: S3Keys;
      }
  );
