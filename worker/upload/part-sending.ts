// Sends parts: several at once, or in order from the server's offset on.

import { TransientFailure } from '../http/http-failures.js';
import type { UploadPart } from './part-cutter.js';
import { after, type Body } from './request-body.js';
import type { UploadRequests } from './upload-requests.js';

/** Limits the number of requests in flight. */
export class InFlight {
  readonly #underWay = new Set<Promise<void>>();
  #failure: { thrown: unknown } | undefined;

  constructor(public most: number) {}

  /** Starts `work` when fewer than `most` are in flight. Fails, without starting it, once earlier work has failed. */
  async start(work: () => Promise<void>): Promise<void> {
    while (this.#underWay.size >= this.most) await Promise.race(this.#underWay);
    this.#check();
    const running = work()
      .catch((thrown) => {
        this.#failure ??= { thrown };
      })
      .finally(() => this.#underWay.delete(running));
    this.#underWay.add(running);
  }

  /** Resolves when all work has succeeded. */
  async finish(): Promise<void> {
    await Promise.all(this.#underWay);
    this.#check();
  }

  #check(): void {
    if (this.#failure) throw this.#failure.thrown;
  }
}

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
