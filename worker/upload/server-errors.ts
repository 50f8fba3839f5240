// Errors in the body of an answer: in XML, as S3 and Azure send them, or in JSON, as Google does.

/** How much of a server's own words is shown, in characters. */
const MAX_WORDS = 200;

/** Codes of S3 after which the same request may succeed, whatever the status. Amazon S3 API Reference, "Error responses". */
const TRANSIENT_CODES = ['InternalError', 'OperationAborted', 'RequestTimeout', 'ServiceUnavailable', 'SlowDown'];

export interface ServerError {
  code?: string;
  /** The code and the message; empty where there is neither. */
  words: string;
}

export function serverError(text: string): ServerError {
  const code = /<Code>([^<]*)</.exec(text)?.[1];
  const message = /<Message>([^<]*)</.exec(text)?.[1] ?? /"message":\s*"([^"]*)"/.exec(text)?.[1];
  const words = [code, message?.split('\n')[0]].filter(Boolean).join(': ').slice(0, MAX_WORDS);
  return { ...(code ? { code } : {}), words };
}

/** Whether another attempt may succeed. */
export const isTransient = (code: string | undefined): boolean => code !== undefined && TRANSIENT_CODES.includes(code);
