// S3's responses in XML.

import { expect, test } from 'vitest';
import { resultIn } from './responses.js';

const RESULT = '<CompleteMultipartUploadResult><ETag>&quot;a-2&quot;</ETag></CompleteMultipartUploadResult>';
const NAMED = '<s3:CompleteMultipartUploadResult xmlns:s3="a"><s3:ETag>b</s3:ETag></s3:CompleteMultipartUploadResult>';

test.for([
  ['a result', RESULT, { etag: '"a-2"' }],
  ['white space and a declaration', `  <?xml version="1.0"?>\n \n${RESULT}\n`, { etag: '"a-2"' }],
  ['a name space', NAMED, { etag: 'b' }],
  ['no ETag', RESULT.replaceAll(/<ETag>.*<\/ETag>/g, ''), { etag: undefined }],
  ['nothing', '', undefined],
  ['a result in a comment', `<!-- ${RESULT} --><Error><Code>AccessDenied</Code></Error>`, undefined],
  ['a result in a page', `<html>${RESULT}</html>`, undefined],
  ['an error after it', `${RESULT}<Error><Code>InternalError</Code></Error>`, undefined],
  ['a part of a result', RESULT.slice(0, -5), undefined],
] as const)('%s', ([, text, result]) => {
  expect(resultIn(text)).toEqual(result);
});
