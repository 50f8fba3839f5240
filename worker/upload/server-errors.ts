// Errors in response bodies: in XML (S3, Azure) or JSON (Google).

import { withoutValues } from '../errors/secrets.js';
import { unescapeXml } from './xml-text.js';

/** The maximum length of a server's error message, in characters. */
const MAX_WORDS = 200;

/** S3's codes of transient errors, with any status. Amazon S3 API Reference, "Error responses". */
const TRANSIENT_CODES = ['InternalError', 'OperationAborted', 'RequestTimeout', 'ServiceUnavailable', 'SlowDown'];

export interface ServerError {
  code?: string;
  /** Code and message, without values of parameters; empty if there is neither. */
  words: string;
}

/** Finds the error in a body. `secrets` are those of the request, which the server may repeat. */
export function serverError(text: string, secrets?: readonly string[]): ServerError {
  const code = /<Code>([^<]*)</.exec(text)?.[1];
  const inXml = /<Message>([^<]*)</.exec(text)?.[1];
  const message = inXml !== undefined ? unescapeXml(inXml) : /"message":\s*"([^"]*)"/.exec(text)?.[1];
  // They may repeat the query of the request, with its signature.
  const words = withoutValues([code, message?.split('\n')[0]].filter(Boolean).join(': '), secrets).slice(0, MAX_WORDS);
  return { ...(code ? { code } : {}), words };
}

/** Whether a retry may succeed. */
export const isTransient = (code: string | undefined): boolean => code !== undefined && TRANSIENT_CODES.includes(code);
