// Requests for an Azure blob. Azure Blob Storage REST API.

import { confirm, type ExpectedObject } from './confirmation.js';
import { toBase64 } from './md5.js';
import type { Body } from './request-body.js';
import type { MakeCall, UploadRequests } from './upload-requests.js';

/** The API version. */
const VERSION = '2021-12-02';
/** The metadata that identifies an upload. */
export const UPLOAD_MARK = 'x-ms-meta-decant';

export class AzureBlob {
  constructor(
    readonly requests: UploadRequests,
    /** May have a signature in its query. */
    private readonly url: URL,
  ) {}

  /** Makes a request; adds `query` to the query of the URL. */
  call(method: string, query: Record<string, string>, own: Record<string, string>, body?: Body | string): MakeCall {
    const url = new URL(this.url);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    return async () => ({
      method,
      url,
      headers: await this.requests.headers({ 'x-ms-version': VERSION, ...own }),
      ...(body === undefined ? {} : { body }),
    });
  }

  /** See `confirm`. */
  confirm(expected: ExpectedObject): Promise<string | undefined> {
    return confirm(this.requests, this.call('HEAD', {}, {}), expected);
  }

  /** Makes a PUT of `body`, whose MD5 digest the server checks. */
  callWithDigest(body: Body, md5: Uint8Array, query: Record<string, string>, own: Record<string, string>): MakeCall {
    return this.call('PUT', query, { ...own, 'Content-MD5': toBase64(md5) }, body);
  }
}
