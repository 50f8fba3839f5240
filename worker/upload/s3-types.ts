// The public types of uploads to S3.

import type { UploadJournal, UploadOptions } from './upload-types.js';

/**
 * A request to S3 that needs a signature, by what it is for. It names neither a method nor a query, nor the object: whoever
 * signs makes them by the action, so that nothing else can be signed.
 */
export interface S3Request {
  /**
   * `create` begins an upload, `part` sends a part of it, `complete` makes the object of the parts, and `abort` has the server
   * remove them. `head` asks for the finished object, `list` which parts are there, to resume an upload.
   */
  action: 'create' | 'part' | 'complete' | 'abort' | 'head' | 'list';
  /** The ID of the upload, but for `create` and `head`. */
  uploadId?: string;
  /** The number of the part of `part`, from 1. */
  partNumber?: number;
  /** `list` asks for the parts after this number, from 0. */
  partNumberMarker?: number;
}

/** Keys of an account. */
export interface S3Keys {
  /** The public one. */
  accessKeyId: string;
  /** The secret one. */
  secretAccessKey: string;
  /** For keys that expire. */
  sessionToken?: string;
  /** The region of the bucket; by default `us-east-1`. */
  region?: string;
}

/** Where an object goes, and who signs. */
export type S3Options = Omit<UploadOptions, 'headers'> & {
  /**
   * With it an upload can be resumed (`resume` of `Image.convert`). Without `resume`, an upload that it tells of is aborted
   * when the new one has begun.
   */
  journal?: UploadJournal;
} & (
    | {
        /**
         * Resolves to the presigned URL of a request, absolute or relative to the page. It is called for each attempt, so a URL
         * need not be valid for long. No header is signed but `host`. Where it rejects with a `TypeError`, as `fetch` does, or
         * does not settle within `timeout`, it is called again.
         */
        sign: (request: S3Request) => string | URL | Promise<string | URL>;
      }
    | {
        /** The URL of the object. */
        url: string | URL;
        /** In Node only: nobody should hold keys in a page. */
        keys: S3Keys;
      }
  );
