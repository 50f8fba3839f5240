// The public types of what comes over HTTP.

import type { RequestLimit } from './request-limit.js';

/** Headers, as `fetch` takes them. */
export type HttpHeaders = Record<string, string> | Iterable<readonly [string, string]>;

/** The platform's own, whose types a program need not have. */
export type Fetch = typeof globalThis extends { fetch: infer F } ? F : unknown;

/** A server that is waited for. */
export interface Waiting {
  /** Its host, with the port where it is none of the usual ones. */
  readonly host: string;
  /** The status of its last answer; missing where it does not answer. */
  readonly status?: number;
  /** How many attempts have failed: 0 while the answer to the first one is awaited. */
  readonly attempt: number;
  /** Whether it has all of an upload, and is completing the object. */
  readonly completing?: true;
}

/** A request whose answer is awaited. */
export interface PendingRequest {
  readonly host: string;
  /** For how long nothing of it has come, or too little, in milliseconds. */
  readonly waited: number;
  readonly completing?: true | undefined;
}

/** What counts for each address of an image and its companions. */
export interface AddressOptions {
  /**
   * Called with the server that is waited for when it has sent nothing, or requests have failed, for 5 seconds, with each
   * further attempt, and with `undefined` when something has come.
   */
  onWaiting?: (waiting: Waiting | undefined) => void;
  /**
   * Decides whether an address may be asked: only where it returns `true`. It is called before each request and each
   * redirect. In Node `addresses` are those that the name leads to, and the connection goes to one of these only, through no
   * proxy; with a `fetch` of the caller's that is left to it. A browser tells no addresses, and follows redirects by itself:
   * there it is called for the address and for `response.url`, which protects nothing.
   */
  allowUrl?: (url: URL, where: { addresses: string[] }) => boolean | Promise<boolean>;
  /** Asks the server, instead of `fetch`. */
  fetch?: Fetch;
  /**
   * How many requests go to one server at once. By default 6: for an image and its companions together where `open` is given
   * addresses, and for each `httpSource`. Sources that are given one object share it.
   */
  limit?: RequestLimit;
  /** Cancels what asks for the size. */
  signal?: AbortSignal;
}

/** How to ask a server. */
export interface HttpOptions extends AddressOptions {
  /**
   * Headers of every request; a function is called for each one, for tokens that expire. They go to the origin of the
   * URL only: where a request is redirected to another one, they stay behind. A browser cannot leave any but
   * `Authorization` behind, and so follows no redirect of a request that has others.
   */
  headers?: HttpHeaders | (() => HttpHeaders | Promise<HttpHeaders>);
  /** Whether cookies travel, as for `fetch`. */
  credentials?: 'omit' | 'same-origin' | 'include';
  /** After how many seconds without a byte a request is given up and made again. By default 30. */
  timeout?: number;
  /**
   * For how many seconds requests are made again while nothing comes, before reading fails with `source`. By default 600, and
   * 60 before one has succeeded. A server that has never answered is given up after three attempts.
   */
  patience?: number;
}
