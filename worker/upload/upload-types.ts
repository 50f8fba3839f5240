// Public types of uploads.

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
      }
    | {
        /**
         * Where a session is started, by a POST with `headers`: the object's URL, or a URL of the JSON API with
         * `uploadType=resumable` in its query.
         */
        url: string | URL;
      }
  );

/** Options of `tusTarget`. */
export interface TusOptions extends UploadOptions {
  /** The name of the file, sent as the metadata `filename`. */
  name?: string;
}

/** Options of `putTarget`. */
export interface PutOptions extends UploadOptions {
  /** The method of the request, by default PUT. A POST names no object, so only a Location in the response can confirm one. */
  method?: 'PUT' | 'POST';
  /**
   * With `false`, the response to the request is accepted without a look at the object: then the result has `confirmed: false`.
   * By default, HEAD confirms the object.
   */
  confirm?: boolean;
}

/** Options of `azurePageBlobTarget`. */
export interface AzurePageBlobOptions extends UploadOptions {
  /**
   * Writes into an existing blob with the size of the output, such as one that Azure made for the upload of a managed disk. The
   * blob is neither created nor removed. Holes are cleared only if it has been written to before.
   */
  existing?: boolean;
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
