// The public types of uploads.

import type { HttpOptions } from '../http/http-types.js';

/**
 * How to ask a server that takes an upload. `timeout` is the time for an answer, in seconds; a body has as long again for each
 * 2 MiB. Redirects are not followed.
 */
export interface UploadOptions extends Omit<HttpOptions, 'signal' | 'onWaiting' | 'allowUrl' | 'limit'> {}

/** Where an object of Google Cloud Storage goes. */
export type GcsOptions = UploadOptions &
  (
    | {
        /** The address of a session that was begun: it needs no headers. A page gets it from a server of its own. */
        session: string | URL;
      }
    | {
        /**
         * Where a session is begun, by a POST with `headers`: the object's own address, or that of the interface for JSON, with
         * `uploadType=resumable` in its query.
         */
        url: string | URL;
      }
  );

/** How to upload by tus. */
export interface TusOptions extends UploadOptions {
  /** The name of the file, which the server gets as `filename`. */
  name?: string;
}

/** How to upload to a page blob. */
export interface AzurePageBlobOptions extends UploadOptions {
  /**
   * The blob is there already, with the size of the output, and is written to: as Azure makes one for the upload of a managed
   * disk. It is neither created nor removed. Holes are sent only where something was written to it before.
   */
  existing?: boolean;
}

/**
 * Where an upload notes what the server has, as text, so that a later conversion with `resume` goes on with it: a place of the
 * caller's own, one for each object. It holds no secret.
 */
export interface UploadJournal {
  /** Resolves to all that was added, in order; to nothing where there is nothing. */
  read(): string | undefined | Promise<string | undefined>;
  /** Adds `text`: less than 4 KiB. Resolves when it is kept. */
  append(text: string): void | Promise<void>;
  /** Removes all that was added. */
  clear(): void | Promise<void>;
}
