// Outputs on servers: which target the arguments and the environment make.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Cloud } from '../../e2e/support/cloud.js';
import { DISK, failure, upload } from '../upload/uploads.test-support.js';
import { type UploadOutput, uploadTarget } from './upload-output.js';

const KEYS = { AWS_ACCESS_KEY_ID: 'public', AWS_SECRET_ACCESS_KEY: 'hidden' };
const NAMES = [
  ...Object.keys(KEYS),
  'AWS_SESSION_TOKEN',
  'AWS_REGION',
  'AWS_DEFAULT_REGION',
  'AZURE_STORAGE_SAS_TOKEN',
];

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'decant-'));
  vi.stubEnv('XDG_STATE_HOME', folder);
  for (const name of NAMES) vi.stubEnv(name, undefined);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

const { signal } = new AbortController();
const cloud = new Cloud();
vi.mock('../http/node-fetch.js', () => ({
  environmentFetch: async () => cloud.fetch,
  environmentFetchUndecoded: undefined,
}));

/** The requests of an upload to `url`. */
async function askedBy(destination: Partial<UploadOutput>, env: Record<string, string> = {}) {
  cloud.objects.clear();
  cloud.asked.length = 0;
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  const given: UploadOutput = {
    upload: undefined,
    headerFile: undefined,
    format: 'raw',
    formatOptions: {},
    existing: false,
    method: 'PUT',
    confirm: true,
    url: 'https://cloud.test/put/disk',
  };
  const target = await uploadTarget({ ...given, ...destination }, signal);
  await upload(target, DISK);
  return cloud.asked.map(({ method, url, headers }) => ({ line: `${method} ${url}`, headers }));
}

/** A header file with a token. */
function headerFile(): string {
  const path = join(folder, 'headers');
  writeFileSync(path, 'X-Token: secret\n');
  return path;
}

test.each<[string, Partial<UploadOutput>, RegExp]>([
  ['nothing: one PUT', { url: 'https://cloud.test/put/disk' }, /^PUT \/put\/disk$/],
  ['gcs', { upload: 'gcs', url: 'https://cloud.test/gcs/disk' }, /^PUT \/gcs\/disk\?upload_id=/],
  ['tus', { upload: 'tus', url: 'https://cloud.test/tus/files' }, /^PATCH \/tus\/files\//],
  [
    'azure and vpc: a page blob',
    { upload: 'azure', url: 'https://cloud.test/azure/disk', format: 'vpc' },
    /comp=page$/,
  ],
  [
    'azure and a dynamic VHD: a block blob',
    {
      upload: 'azure',
      url: 'https://cloud.test/azure/disk',
      format: 'vpc',
      formatOptions: { subformat: 'dynamic' },
    },
    /comp=block&/,
  ],
  ['azure: a block blob', { upload: 'azure', url: 'https://cloud.test/azure/disk' }, /comp=block&/],
])('%s, with the headers of a file', async (_, destination, line) => {
  const asked = await askedBy({ ...destination, headerFile: headerFile() });
  expect(asked.some((request) => line.test(request.line))).toBe(true);
  expect(asked[0]!.headers['x-token']).toBe('secret');
});

test.each<[string, Partial<UploadOutput>]>([
  ['one PUT', { url: 'https://me:pass@cloud.test/put/disk' }],
  ['gcs', { upload: 'gcs', url: 'https://me:pass@cloud.test/gcs/disk' }],
  ['tus', { upload: 'tus', url: 'https://me:pass@cloud.test/tus/files' }],
  ['azure', { upload: 'azure', url: 'https://me:pass@cloud.test/azure/disk' }],
])('%s: user and password of the address travel, with and without a file of headers', async (_, destination) => {
  for (const file of [undefined, headerFile()]) {
    const asked = await askedBy({ ...destination, headerFile: file });
    const basic = `Basic ${btoa('me:pass')}`;
    expect(new Set(asked.map(({ headers }) => headers.authorization))).toEqual(new Set([basic]));
  }
});

test.each<[string, Record<string, string>, RegExp]>([
  ['keys', KEYS, /X-Amz-Credential=public%2F\d+%2Fus-east-1%2Fs3%2F/],
  ['a region', { ...KEYS, AWS_REGION: 'eu-north-1', AWS_DEFAULT_REGION: 'x' }, /%2Feu-north-1%2Fs3/],
  ['a default region', { ...KEYS, AWS_DEFAULT_REGION: 'eu-west-1' }, /%2Feu-west-1%2Fs3/],
  ['a session', { ...KEYS, AWS_SESSION_TOKEN: 'token' }, /X-Amz-Security-Token=token/],
])('s3, by %s of the environment', async (_, env, query) => {
  const asked = await askedBy({ upload: 's3', url: 'https://cloud.test/s3/disk' }, env);
  for (const { line } of asked) expect(line).toMatch(query);
});

test('one POST, without confirmation', async () => {
  const asked = await askedBy({ url: 'https://cloud.test/post/disk', method: 'POST', confirm: false });
  expect(asked.map(({ line }) => line)).toEqual(['POST /post/disk']);
});

test('s3 can be resumed', async () => {
  for (const [name, value] of Object.entries(KEYS)) vi.stubEnv(name, value);
  const destination = {
    upload: 's3',
    url: 'https://cloud.test/s3/disk',
    headerFile: undefined,
    format: 'raw',
    formatOptions: {},
    existing: false,
    method: 'PUT',
    confirm: true,
  } as const;
  expect((await uploadTarget(destination, signal)).resumes).toBe(true);
});

test.each([
  ['without keys', {}, undefined, /: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY$/],
  [
    'with half of the keys',
    { AWS_ACCESS_KEY_ID: 'public' },
    undefined,
    /: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY$/,
  ],
  ['with headers', KEYS, headerFile, /^An upload to S3 takes keys, not headers$/],
])('s3 %s is refused', async (_, env, file, sentence) => {
  const work = askedBy({ upload: 's3', headerFile: file?.() }, env as Record<string, string>);
  expect(await failure(work)).toMatch(sentence);
});

test.each([
  ['https://cloud.test/azure/disk', '?sv=1&sig=secret'],
  ['https://cloud.test/azure/disk?sig=own', '?sig=own'],
])('azure: %s is asked by %s', async (url, query) => {
  const [asked] = await askedBy({ upload: 'azure', url }, { AZURE_STORAGE_SAS_TOKEN: 'sv=1&sig=secret' });
  expect(asked!.line).toContain(`/azure/disk${query}&comp=`);
});

test.each([
  ['is made', false, 1],
  ['that is there is written to', true, 0],
])('azure: a page blob %s', async (_, existing, creations) => {
  vi.stubEnv('AZURE_STORAGE_SAS_TOKEN', 'sv=1&sig=secret');
  cloud.objects.clear();
  cloud.asked.length = 0;
  const url = 'https://cloud.test/azure/managed';
  if (existing) cloud.objects.set('/azure/managed', Buffer.alloc(DISK.length));
  const destination = {
    upload: 'azure',
    url,
    format: 'vpc',
    formatOptions: {},
    headerFile: undefined,
    existing,
    method: 'PUT',
    confirm: true,
  } as const;
  await upload(await uploadTarget(destination, signal), DISK);
  expect(cloud.objects.get('/azure/managed')?.equals(DISK)).toBe(true);
  expect(cloud.asked.filter(({ headers }) => headers['x-ms-blob-type'])).toHaveLength(creations);
});
