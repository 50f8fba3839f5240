// The option names of uploads.

import { namesOf } from '../errors/option-names.js';
import type { S3Keys, S3Options } from './s3-types.js';
import type { AzurePageBlobOptions, GcsOptions, PutOptions, TusOptions, UploadOptions } from './upload-types.js';

const UPLOAD = { credentials: true, fetch: true, patience: true, timeout: true } as const;

export const UPLOAD_OPTIONS = namesOf<UploadOptions>({ ...UPLOAD, headers: true });
export const GCS_OPTIONS = namesOf<GcsOptions>({ ...UPLOAD, headers: true, session: true, url: true });
export const TUS_OPTIONS = namesOf<TusOptions>({ ...UPLOAD, headers: true, name: true });
export const PUT_OPTIONS = namesOf<PutOptions>({ ...UPLOAD, headers: true, confirm: true, method: true });
export const PAGE_BLOB_OPTIONS = namesOf<AzurePageBlobOptions>({ ...UPLOAD, headers: true, existing: true });
export const S3_OPTIONS = namesOf<S3Options>({ ...UPLOAD, journal: true, keys: true, sign: true, url: true });
export const S3_KEYS = namesOf<S3Keys>({ accessKeyId: true, region: true, secretAccessKey: true, sessionToken: true });
