// Public types of requests over HTTP.

import type { RequestLimit } from './request-limit.js';

/** Headers: an object or pairs, as for `fetch`. */
export type HttpHeaders = Record<string, string> | Iterable<readonly [string, string]>;

/** The type of the global `fetch`; `unknown` in a program without its types. */
export type Fetch = typeof globalThis extends { fetch: infer F } ? F : unknown;

/** A server that requests are waiting for. */
export interface Waiting {
  /** The host, with the port unless it is the default. */
  readonly host: string;
  /** The status of its last response; missing if there was none. */
  readonly status?: number;
  /** The number of failed attempts: 0 while the first one is pending. */
  readonly attempt: number;
  /** Whether the server has received all of an upload and is completing the object. */
  readonly completing?: true;
  /** Whether the browser reports that the device is offline, and the last attempt got no response. */
  readonly offline?: true;
}

/** A request whose response is pending. */
export interface PendingRequest {
  readonly host: string;
  /** How long nothing, or too little, has come, in milliseconds. */
  readonly waited: number;
  readonly completing?: true | undefined;
}

/** Options for every URL of an image and its companions. */
export interface AddressOptions {
  /**
   * Called with the server after 5 seconds without data or with failing requests, and with each further attempt; called with
   * `undefined` when data arrives. If it throws or rejects, requests fail with `usage`, also later ones.
   */
  onWaiting?: ((waiting: Waiting | undefined) => void) | undefined;
  /**
   * Called before each request and each redirect. The request is made only if it returns or resolves to `true`; otherwise
   * reading fails with the code `address-not-allowed`. In Node, `addresses` are the IP addresses of the host, and the
   * connection goes to one of them, without a proxy; a custom `fetch` must ensure that itself. In a browser, `addresses` is
   * empty, and the function is called for the URL and, after a redirect, for `response.url`: do not rely on it for protection.
   */
  allowUrl?: ((url: URL, where: { readonly addresses: readonly string[] }) => boolean | Promise<boolean>) | undefined;
  /** Makes the requests, instead of the global `fetch`. */
  fetch?: Fetch | undefined;
  /**
   * Limits the requests to one server at once, over all sources that share the object. By default 6: for the URLs of one
   * `open` together, and for each `httpSource`.
   */
  limit?: RequestLimit | undefined;
  /** Cancels opening, not later reads. */
  signal?: AbortSignal | undefined;
}

/** Options for requests to a server. */
export interface HttpOptions extends AddressOptions {
  /**
   * Headers of every request; a function is called for each request, for tokens that expire. They are sent to the origin of
   * the URL only, not to another origin after a redirect. A browser can drop only `Authorization` on a redirect: with other
   * headers, it follows none.
   */
  headers?: HttpHeaders | (() => HttpHeaders | Promise<HttpHeaders>) | undefined;
  /** Whether cookies are sent, as for `fetch`. */
  credentials?: 'omit' | 'same-origin' | 'include' | undefined;
  /** Seconds without a byte until a request is aborted and retried. By default 30. */
  timeout?: number | undefined;
  /**
   * Seconds of retries without progress until reading fails with `source`. By default 600, and 60 before the first success; by
   * default, three attempts at a server that has never answered.
   */
  patience?: number | undefined;
}
