// The headers that a caller gives.

import type { HttpOptions } from './types.js';

export async function headersOf(headers: HttpOptions['headers']): Promise<Headers> {
  const given = typeof headers === 'function' ? await headers() : (headers ?? {});
  return new Headers(Symbol.iterator in given ? ([...given] as [string, string][]) : given);
}
