// Outputs on servers, as the arguments name them.

import { DecantError } from '../errors/errors.js';
import { environmentFetch } from '../http/proxy-fetch.js';
import type { Target } from '../public/types.js';
import { readHeaders } from './header-file.js';
import { uploadJournal } from './upload-journal.js';

/** What a server of an output speaks. Without a word of it the output is one PUT. */
export const UPLOAD_PROTOCOLS = ['s3', 'gcs', 'tus', 'azure'] as const;
export type UploadProtocolName = (typeof UPLOAD_PROTOCOLS)[number];

export interface UploadOutput {
  url: string;
  upload: UploadProtocolName | undefined;
  /** Holds headers for the server. */
  headerFile: string | undefined;
  /** The output's format. */
  format: string;
  /** Whether it is there, and is only written to. */
  existing: boolean;
}

/** Whether an output of `format` becomes a page blob. */
export const isPageBlob = (upload: UploadProtocolName | undefined, format: string): boolean =>
  upload === 'azure' && format === 'vpc';

/** The target for `destination`. Keys come from the environment, by the names that the clouds' own programs have for them. */
export async function uploadTarget(destination: UploadOutput, signal: AbortSignal): Promise<Target> {
  const { url, upload, headerFile, format, existing } = destination;
  // Loaded by those who need it.
  const targets = await import('../upload/index.js');
  const headers = await readHeaders(headerFile, signal);
  const fetch = await environmentFetch();
  switch (upload) {
    case undefined:
      return targets.putTarget(url, { headers, fetch });
    case 's3':
      if (headerFile !== undefined) throw new DecantError('usage', 'An upload to S3 takes keys, and no headers');
      return targets.s3Target({ url, keys: s3Keys(), fetch, journal: uploadJournal(url) });
    case 'gcs':
      return targets.gcsTarget({ url, headers, fetch });
    case 'tus':
      return targets.tusTarget(url, { headers, fetch });
    case 'azure': {
      const blob = withSignature(url);
      return isPageBlob(upload, format)
        ? targets.azurePageBlobTarget(blob, { headers, fetch, existing })
        : targets.azureBlockBlobTarget(blob, { headers, fetch });
    }
  }
}

function s3Keys() {
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, AWS_DEFAULT_REGION } = process.env;
  if (!AWS_ACCESS_KEY_ID || !AWS_SECRET_ACCESS_KEY) {
    const names = 'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY';
    throw new DecantError('usage', `An upload to S3 takes keys from the environment: set ${names}`);
  }
  const region = AWS_REGION || AWS_DEFAULT_REGION;
  return {
    accessKeyId: AWS_ACCESS_KEY_ID,
    secretAccessKey: AWS_SECRET_ACCESS_KEY,
    ...(AWS_SESSION_TOKEN ? { sessionToken: AWS_SESSION_TOKEN } : {}),
    ...(region ? { region } : {}),
  };
}

/** The address of a blob, with a signature of the environment where it has none. */
function withSignature(url: string): URL {
  const address = new URL(url);
  const { AZURE_STORAGE_SAS_TOKEN } = process.env;
  if (AZURE_STORAGE_SAS_TOKEN && address.search === '') address.search = AZURE_STORAGE_SAS_TOKEN;
  return address;
}
