// The limit on requests to one server at once.

import { DecantError } from '../errors/errors.js';

/** The limit of browsers for HTTP/1.1. */
export const DEFAULT_LIMIT = 6;

/**
 * Limits the requests to one server at once, over all sources that share the object: `open(url, { limit })`,
 * `httpSource(url, { limit })`.
 */
export class RequestLimit {
  /** Fails with `usage` unless `most` is a whole number, 1 or more. */
  constructor(
    /** The limit for each server; 6 by default. */
    readonly most: number = DEFAULT_LIMIT,
  ) {
    if (!Number.isSafeInteger(most) || most < 1) {
      throw new DecantError('usage', 'A RequestLimit takes a whole number, 1 or more');
    }
  }
}

/** Fails with `usage` unless `limit` is a `RequestLimit` or undefined. */
export function checkLimit(limit: unknown): void {
  if (limit !== undefined && !(limit instanceof RequestLimit))
    throw new DecantError('usage', "'limit' must be a RequestLimit");
}
