// The journal of an upload to S3, for resuming it: a line for the upload, and one for each part after its response was checked.

import { hexToBytes } from '@noble/hashes/utils.js';
import { DecantError } from '../errors/errors.js';
import { within } from '../errors/signals.js';
import { hexOf } from '../errors/values.js';
import { LONGEST_TIMER } from '../http/http-options.js';
import { bareEtag } from './responses.js';
import type { UploadJournal } from './upload-options.js';

/** The line with the object's expected ETag: the digest of all parts, and their number. */
const END = /^end ([0-9a-f]{32}-\d{1,5})$/;

/** In place of a digest: the server has checked the part otherwise, or not at all. */
const CHECKED = '-';
const UNCHECKED = '?';

/** A part's ETag, and its MD5 digest if that is the ETag. */
export interface StoredPart {
  etag: string;
  digest: Uint8Array | undefined;
  /** Whether the stored bytes could not be compared with the sent ones. */
  isUnchecked?: true;
}

interface S3Upload {
  /** Identifies the conversion; see `TargetPlan`. */
  identity: string;
  /** The part size, in bytes. */
  size: number;
  id: string;
}

/** An interrupted upload. */
export interface InterruptedUpload extends S3Upload {
  /** Contiguous from the first one; never the last one of the output. */
  parts: StoredPart[];
  /** Bytes of the output, without holes, up to the end of each part. */
  written: number[];
  /** The object's expected ETag, if all parts had been sent. */
  etag?: string | undefined;
}

export class S3Journal {
  #hasAny = false;
  #isCut = false;
  #isEnded = false;
  /** Lines are added one after the other. A failure only makes less of the upload resumable. */
  #adding: Promise<boolean> = Promise.resolve(true);

  /** `timeout` limits each call of `journal`, in milliseconds. */
  constructor(
    private readonly journal: UploadJournal,
    private readonly timeout: number,
  ) {}

  /** Whether the journal has a part. */
  get hasAny(): boolean {
    return this.#hasAny;
  }

  /** Reads the journal. Resolves to `undefined` if it is empty or unreadable. Fails with `journal` if `read` does. */
  async read(): Promise<InterruptedUpload | undefined> {
    const text = (await this.#asked('read', () => this.journal.read())) ?? '';
    if (typeof text !== 'string')
      throw failed(`its 'read' returned a value of type ${typeof text} instead of a string`);
    // An incomplete last line, after a crash: the next line must not continue it.
    this.#isCut = text !== '' && !text.endsWith('\n');
    const [head = '', ...lines] = text.split('\n').slice(0, -1);
    const upload = uploadOf(head);
    if (!upload) {
      // New lines must not follow the old ones.
      if (text !== '') await this.clear();
      return undefined;
    }
    const noted = lines.map(partOf);
    const etag = lines.map((line) => END.exec(line)?.[1]).findLast((etag) => etag !== undefined);
    const left: InterruptedUpload = { ...upload, parts: [], written: [], etag };
    for (;;) {
      const next = noted.findLast((part) => part?.number === left.parts.length);
      if (!next) break;
      left.parts.push(next.part);
      left.written.push(next.written);
    }
    this.#hasAny = left.parts.length > 0;
    return left;
  }

  async begin({ identity, size, id }: S3Upload): Promise<void> {
    await this.#add(JSON.stringify({ identity, size, id }));
  }

  async add(number: number, { etag, digest, isUnchecked }: StoredPart, written: number): Promise<void> {
    const proof = digest ? hexOf(digest) : isUnchecked ? UNCHECKED : CHECKED;
    if (await this.#add(`${number} ${written} ${proof} ${etag}`)) this.#hasAny = true;
  }

  /** Adds the expected ETag of the object. */
  async addEnd(etag: string): Promise<void> {
    await this.#add(`end ${etag}`);
  }

  /** Stops adding lines. Resolves when the pending one has been added. */
  async end(): Promise<void> {
    this.#isEnded = true;
    await this.#adding;
  }

  /** Clears the journal. If that fails, stops adding lines, which would follow the old ones. */
  async clear(): Promise<void> {
    await this.#adding;
    this.#hasAny = false;
    this.#isCut = false;
    try {
      await this.#asked('clear', () => this.journal.clear());
    } catch {
      await this.end();
    }
  }

  /** Adds a line. Resolves to whether it was added. */
  #add(line: string): Promise<boolean> {
    const append = async (isRight: boolean) => {
      if (!isRight || this.#isEnded) return false;
      const text = `${this.#isCut ? '\n' : ''}${line}\n`;
      await this.#asked('append', () => this.journal.append(text));
      this.#isCut = false;
      return true;
    };
    this.#adding = this.#adding.then(append).catch(() => false);
    return this.#adding;
  }

  /** Runs `ask`. Fails with `journal` after the time-out. */
  #asked<T>(name: string, ask: () => T | Promise<T>): Promise<T> {
    return within(Math.min(LONGEST_TIMER, this.timeout), (async () => ask())(), () => {
      throw failed(`its '${name}' did not settle within ${this.timeout / 1000} seconds`);
    });
  }
}

const failed = (reason: string): DecantError =>
  new DecantError('target', `The journal of the upload cannot be used: ${reason}`, { code: 'journal' });

function uploadOf(line: string): S3Upload | undefined {
  try {
    const { identity, size, id } = JSON.parse(line);
    const isUpload = typeof identity === 'string' && Number.isSafeInteger(size) && typeof id === 'string';
    return isUpload ? { identity, size, id } : undefined;
  } catch {
    return undefined;
  }
}

/** Parses the line of a part. Returns `undefined` if it is damaged: a digest is only written for a part whose ETag equals it. */
function partOf(line: string): { number: number; part: StoredPart; written: number } | undefined {
  const [, number, written, proof, etag] = /^(\d{1,5}) (\d{1,16}) ([-?]|[0-9a-f]{32}) (\S+)$/.exec(line) ?? [];
  if (etag === undefined) return undefined;
  const hasDigest = proof !== CHECKED && proof !== UNCHECKED;
  if (hasDigest && bareEtag(etag).toLowerCase() !== proof) return undefined;
  const part: StoredPart = {
    etag,
    digest: hasDigest ? hexToBytes(proof!) : undefined,
    ...(proof === UNCHECKED ? { isUnchecked: true } : {}),
  };
  return { number: Number(number), part, written: Number(written) };
}
