// Signs the requests of an upload to a bucket. The page states an action; this code makes object, method and query, so that
// nothing else can be signed: no other object, no `?acl`, no DELETE of the object.

import { AwsClient } from 'aws4fetch';
import { Refusal } from './refusal.js';

/** The lifetime of a signed URL, in seconds: the page requests one for each attempt. */
const SECONDS = 900;
/** Amazon S3 User Guide, "Multipart upload limits". */
const MOST_PARTS = 10_000;

/** Method and query of each action. */
const ACTIONS = {
  create: () => ['POST', { uploads: '' }],
  part: ({ uploadId, partNumber }) => ['PUT', { uploadId: text(uploadId), partNumber: number(partNumber, 1) }],
  complete: ({ uploadId }) => ['POST', { uploadId: text(uploadId) }],
  abort: ({ uploadId }) => ['DELETE', { uploadId: text(uploadId) }],
  // Checks the completed object.
  head: () => ['HEAD', {}],
  // For resuming.
  list: ({ uploadId, partNumberMarker }) => {
    return ['GET', { uploadId: text(uploadId), 'part-number-marker': number(partNumberMarker, 0) }];
  },
};

export class Presigner {
  #client;

  /** `keys` are `accessKeyId`, `secretAccessKey` and `region`, and `sessionToken` for temporary keys. */
  constructor(keys) {
    this.#client = new AwsClient({ ...keys, service: 's3' });
  }

  /** Returns the signed URL of the page's `request` for the object at `object`. */
  async sign(object, request) {
    if (!Object.hasOwn(ACTIONS, request.action)) throw new Refusal(400, 'There is no such action');
    const [method, query] = ACTIONS[request.action](request);
    const url = new URL(object);
    url.search = new URLSearchParams({ ...query, 'X-Amz-Expires': SECONDS });
    return (await this.#client.sign(url, { method, aws: { signQuery: true } })).url;
  }
}

/** Without an ID, a request would be one for the object itself. */
function text(uploadId) {
  if (typeof uploadId === 'string' && /^[\x21-\x7e]{1,1024}$/.test(uploadId)) return uploadId;
  throw new Refusal(400, 'That is not the ID of an upload');
}

function number(value, least) {
  if (Number.isInteger(value) && value >= least && value <= MOST_PARTS) return value;
  throw new Refusal(400, 'That is not the number of a part');
}
