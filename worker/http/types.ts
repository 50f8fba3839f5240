// The public types of what comes over HTTP.

/** Headers, as `fetch` takes them. */
export type HttpHeaders = Record<string, string> | Iterable<readonly [string, string]>;

/** The platform's own, whose types a program need not have. */
export type Fetch = typeof globalThis extends { fetch: infer F } ? F : unknown;

/** How to ask a server. */
export interface HttpOptions {
  /**
   * Headers of every request; a function is called for each one, for tokens that expire. They go to the origin of the
   * URL only: where a request is redirected to another one, they stay behind. A browser cannot leave any but
   * `Authorization` behind, and so follows no redirect of a request that has others.
   */
  headers?: HttpHeaders | (() => HttpHeaders | Promise<HttpHeaders>);
  /** Whether cookies travel, as for `fetch`. */
  credentials?: 'omit' | 'same-origin' | 'include';
  /** Asks the server, instead of `fetch`. */
  fetch?: Fetch;
  /** After how many seconds without a byte a request is given up and made again. By default 30. */
  timeout?: number;
  /**
   * For how many seconds requests are made again while nothing comes, before reading fails with `source`. By default 600.
   * The first request gives up after three attempts where no server answers.
   */
  patience?: number;
  /** Cancels what asks for the size. */
  signal?: AbortSignal;
}
