import { expect, test } from 'vitest';
import { corsMessage } from './cors-message.js';

const ORIGIN_RULE = 'send Access-Control-Allow-Origin';

test.each<[string, Record<string, string>, string]>([
  ['GET', {}, ORIGIN_RULE],
  ['HEAD', { Range: 'bytes=0-9', Accept: '*/*' }, ORIGIN_RULE],
  [
    'GET',
    { Range: 'bytes=0-9', 'X-A': '1' },
    `${ORIGIN_RULE}, allow the method GET (Access-Control-Allow-Methods) and allow the header x-a (Access-Control-Allow-Headers)`,
  ],
  ['DELETE', {}, `${ORIGIN_RULE} and allow the method DELETE (Access-Control-Allow-Methods)`],
  [
    'PUT',
    { 'X-B': 'secret', 'Content-MD5': '1' },
    `${ORIGIN_RULE}, allow the method PUT (Access-Control-Allow-Methods) and allow the headers content-md5, x-b (Access-Control-Allow-Headers)`,
  ],
])('%s with %o', (method, headers, must) => {
  expect(corsMessage('https://host', method, new Headers(headers))).toBe(
    `no answer came from https://host, or its CORS rules do not allow this page: then it must ${must}`,
  );
});
