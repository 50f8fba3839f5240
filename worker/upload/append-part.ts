// Sequential uploads: after a failure, the server states its offset, and the upload continues there.

import { TransientFailure } from '../http/http-failures.js';
import type { UploadPart } from './part-cutter.js';
import { after, type Body } from './request-body.js';
import type { UploadRequests } from './upload-requests.js';

interface OffsetProtocol {
  /** Sends `body` at `offset`, where the server's data ends. Resolves to the new end. */
  append(offset: number, body: Body): Promise<number>;
  /** Resolves to the end of the server's data. */
  end(): Promise<number>;
}

/** An append that adds less than this share of the part is not progress: otherwise, requests without a pause might never end. */
const MIN_SHARE = 64;

/** Sends `part`, from the server's offset on after a failure. */
export async function appendPart(
  requests: UploadRequests,
  part: UploadPart,
  { append, end }: OffsetProtocol,
): Promise<void> {
  const last = part.offset + part.size;
  let at = part.offset;
  /** The highest offset that the server has stated. */
  let furthest = at;
  let isSure = true;
  await requests.retrying(async () => {
    if (!isSure) {
      at = checked(await end(), part);
      furthest = Math.max(furthest, at);
      if (at === last) return;
    }
    isSure = false;
    do {
      at = checked(await append(at, after(part.body, at - part.offset)), part);
      const added = at - furthest;
      furthest = Math.max(furthest, at);
      if (at < last && (added <= 0 || added * MIN_SHARE < part.size)) {
        const share = added > 0 ? 'hardly any' : 'none';
        throw new TransientFailure(`the server stored ${share} of the bytes that were sent`);
      }
    } while (at < last);
  });
}

/** Fails if the server's offset is outside `part`: bytes of other parts are no longer available. */
function checked(end: number, { offset, size }: UploadPart): number {
  if (end >= offset && end <= offset + size) return end;
  throw new Error(`the server has ${end} bytes, but ${offset} to ${offset + size} were sent`);
}
