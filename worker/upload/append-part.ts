// Uploads in one order, where the server knows how far it has come: after a failure it is asked.

import { TransientFailure } from '../http/http-failures.js';
import type { UploadPart } from './part-cutter.js';
import { after, type Body } from './request-body.js';
import type { UploadRequests } from './upload-requests.js';

export interface OffsetProtocol {
  /** Sends `body` at `offset`, the end of what the server has. Resolves to its new end. */
  append(offset: number, body: Body): Promise<number>;
  /** Where what the server has ends. */
  end(): Promise<number>;
}

/** Sends `part`, from wherever the server has come. */
export async function appendPart(
  requests: UploadRequests,
  part: UploadPart,
  { append, end }: OffsetProtocol,
): Promise<void> {
  const last = part.offset + part.size;
  let at = part.offset;
  let isSure = true;
  await requests.retrying(async () => {
    if (!isSure) {
      at = checked(await end(), part);
      if (at === last) return;
    }
    isSure = false;
    do {
      const before = at;
      at = checked(await append(at, after(part.body, at - part.offset)), part);
      if (at === before && at < last) throw new TransientFailure('the server has taken nothing of what was sent');
    } while (at < last);
  });
}

/** Fails where the server has come to a place that is not in `part`: what is missing is gone here. */
function checked(end: number, { offset, size }: UploadPart): number {
  if (end >= offset && end <= offset + size) return end;
  throw new Error(`the server has ${end} bytes, where ${offset} to ${offset + size} were sent`);
}
