import { expect, test } from 'vitest';
import { lastingQuery } from './lasting-query.js';

const S3 =
  'X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=1&X-Amz-Date=2&X-Amz-Expires=3&X-Amz-SignedHeaders=host&X-Amz-Signature=4';
const GOOGLE =
  'X-Goog-Algorithm=GOOG4-RSA-SHA256&X-Goog-Credential=1&X-Goog-Date=2&X-Goog-Expires=3&X-Goog-SignedHeaders=host&X-Goog-Signature=4';
const USER_DELEGATION = 'skoid=1&sktid=2&skt=3&ske=4&sks=b&skv=5&saoid=6&suoid=7&scid=8';

const lasting = (query: string) => new URLSearchParams(lastingQuery(new URL(`https://host/disk?${query}`))).toString();

test.for([
  ['S3', `id=7&${S3}`, 'id=7'],
  ['S3, temporary keys', `${S3}&X-Amz-Security-Token=5&versionId=6`, 'versionId=6'],
  ['S3, version 2', 'AWSAccessKeyId=1&Signature=2&Expires=3&versionId=6', 'versionId=6'],
  ['S3, version 2, temporary keys', 'AWSAccessKeyId=1&Signature=2&Expires=3&x-amz-security-token=4', ''],
  ['Alibaba', 'OSSAccessKeyId=1&Signature=2&Expires=3&security-token=4&id=7', 'id=7'],
  ['Huawei', 'AccessKeyId=1&Signature=2&Expires=3&x-obs-security-token=4&id=7', 'id=7'],
  ['CloudFront, custom', 'Policy=1&Signature=2&Key-Pair-Id=3&id=7', 'id=7'],
  ['CloudFront, canned', 'Expires=1&Signature=2&Key-Pair-Id=3&id=7', 'id=7'],
  ['Google', `generation=5&${GOOGLE}`, 'generation=5'],
  ['Google, version 2', 'GoogleAccessId=1&Expires=2&Signature=3&generation=5', 'generation=5'],
  ['Azure, a service', 'sv=1&st=2&se=3&sr=b&sp=r&sig=4&spr=https&sip=5&rscd=a&sdd=1&ses=1', ''],
  ['Azure, a user', `sv=1&se=3&sr=b&sp=r&sig=4&${USER_DELEGATION}`, ''],
  ['Azure, an account', 'sv=1&ss=b&srt=o&sp=r&se=3&sig=4&snapshot=1&versionid=3', 'snapshot=1&versionid=3'],
  ['names in other case', 'AWSACCESSKEYID=1&signature=2&expires=3', ''],
] as const)('%s: the signature is dropped', ([, query, expected]) => {
  expect(lasting(query)).toBe(expected);
});

test.for([
  'id=7&v=2',
  'policy=a',
  'policy=a&key-pair-id=2',
  'signature=a&expires=2',
  'policy=a&signature=b&expires=c',
  'key-pair-id=1&policy=2',
  'sig=a',
  'sv=1&sr=b&sp=r',
  'sv=1&sig=2',
  'sv=1&sig=2&ss=b',
  'ses=1',
  'X-Amz-Date=1&X-Amz-Credential=2',
  'X-Goog-Expires=2&GoogleAccessId=1',
  'awsaccesskeyid=1&expires=2',
  'security-token=1',
  'signatures=1&policy2=2&sx=3',
])('%s is not a signature', (query) => {
  expect(lasting(query)).toBe(query);
});

test.for([
  ['another signature of the file', S3, '&policy=a', 'policy=a'],
  ['another service', GOOGLE, '&sig=1&se=2&signature=3', 'sig=1&se=2&signature=3'],
] as const)('parameters that do not belong to the signature are kept: %s', ([, signature, own, expected]) => {
  expect(lasting(signature + own)).toBe(expected);
});
