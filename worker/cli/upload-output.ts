// Outputs on servers.

import { DecantError } from '../errors/errors.js';
import type { Target } from '../public/types.js';
import { readHeaders } from './header-file.js';
import { uploadJournal } from './upload-journal.js';

/** Values of `--upload`; without it, the output is one PUT. */
export const UPLOAD_PROTOCOLS = ['s3', 'gcs', 'tus', 'azure'] as const;
export type UploadProtocolName = (typeof UPLOAD_PROTOCOLS)[number];

/** Values of `--method`. */
export const UPLOAD_METHODS = ['PUT', 'POST'] as const;
export type UploadMethod = (typeof UPLOAD_METHODS)[number];

export interface UploadOutput {
  url: string;
  upload: UploadProtocolName | undefined;
  /** A file with headers for the server. */
  headerFile: string | undefined;
  format: string;
  formatOptions: Record<string, string>;
  /** Writes in place into an existing page blob. */
  existing: boolean;
  /** The method of an upload by one request. */
  method: UploadMethod;
  /** Whether an upload by one request is confirmed. */
  confirm: boolean;
}

/** Whether an upload goes to a page blob: Azure imports a fixed VHD from one, and no other format. */
export const isPageBlob = (
  upload: UploadProtocolName | undefined,
  format: string,
  { subformat }: Record<string, string>,
): boolean => upload === 'azure' && format === 'vpc' && subformat !== 'dynamic';

/** Makes the target of an output. Keys come from the environment, by the variables of each cloud's own tools. */
export async function uploadTarget(output: UploadOutput, signal: AbortSignal): Promise<Target> {
  const { url, upload, headerFile, format, formatOptions, existing, method, confirm } = output;
  // Loaded only for uploads.
  const targets = await import('../upload/index.js');
  const { environmentFetch } = await import('../http/node-fetch.js');
  const headers = await readHeaders(headerFile, signal);
  const proxied = await environmentFetch();
  // Without a proxy, a PUT does not use `fetch`: see `streamFetch`.
  const requests = proxied === fetch ? {} : { fetch: proxied };
  switch (upload) {
    case undefined:
      return targets.putTarget(url, { headers, ...requests, method, confirm });
    case 's3':
      if (headerFile !== undefined) throw new DecantError('usage', 'An upload to S3 takes keys, not headers');
      return targets.s3Target({ url, keys: s3Keys(), ...requests, journal: uploadJournal(url) });
    case 'gcs':
      return targets.gcsTarget({ url, headers, ...requests });
    case 'tus':
      return targets.tusTarget(url, { headers, ...requests });
    case 'azure': {
      const blob = withSignature(url);
      return isPageBlob(upload, format, formatOptions)
        ? targets.azurePageBlobTarget(blob, { headers, ...requests, existing })
        : targets.azureBlockBlobTarget(blob, { headers, ...requests });
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

/** Returns the blob's URL, with the signature in the environment if it has none. */
function withSignature(url: string): URL {
  const address = new URL(url);
  const { AZURE_STORAGE_SAS_TOKEN } = process.env;
  if (AZURE_STORAGE_SAS_TOKEN && address.search === '') address.search = AZURE_STORAGE_SAS_TOKEN;
  return address;
}
