// The public types of uploads to S3.

import type { UploadJournal, UploadOptions } from './types.js';

/** A request to S3 that needs a signature. */
export interface S3Request {
  /**
   * `head` asks for the finished object, where the answer to `complete` was lost. `list` asks which parts are there, where an
   * upload is gone on with.
   */
  action: 'create' | 'part' | 'complete' | 'abort' | 'head' | 'list';
  /** The method that is signed. */
  method: 'POST' | 'PUT' | 'DELETE' | 'HEAD' | 'GET';
  /**
   * The query that is signed besides: `uploads=`, or `uploadId=...`, or `partNumber=1&uploadId=...`, or
   * `part-number-marker=0&uploadId=...`, encoded.
   */
  query: string;
  /** The number of the part, from 1 on. */
  partNumber?: number;
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
   * before the new one begins.
   */
  journal?: UploadJournal;
} & (
    | {
        /**
         * Resolves to the presigned URL of a request: of the object, with the query of the request in it. It is called for
         * each attempt, so a URL need not be valid for long. No header is signed but `host`.
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
