// What is noted of an upload to S3, so that a later conversion can go on with it: a line for the upload, and one for each
// part that the server has, once its answer was checked.

import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js';
import type { UploadJournal } from './types.js';

/** What the server calls a part, and the digest of one that it calls by its digest. */
export interface StoredPart {
  etag: string;
  digest: Uint8Array | undefined;
}

/** An upload that was begun. */
export interface S3Upload {
  /** The line that tells the conversion from others. */
  identity: string;
  /** The size of its parts, in bytes. */
  size: number;
  id: string;
}

/** An upload that was cut off. */
export interface LeftUpload extends S3Upload {
  /** Without a gap from the first one on; never the last one of the output. */
  parts: StoredPart[];
  /** How many bytes of the output were written up to the end of each part. */
  written: number[];
}

export class S3Journal {
  #hasAny = false;
  #isCut = false;
  #isEnded = false;
  /** One line is added at a time. A failure makes less certain, and no more. */
  #adding: Promise<boolean> = Promise.resolve(true);

  constructor(private readonly journal: UploadJournal) {}

  /** Whether a part is noted. */
  get hasAny(): boolean {
    return this.#hasAny;
  }

  /** What is noted; undefined where nothing is that could be read. */
  async read(): Promise<LeftUpload | undefined> {
    const text = (await this.journal.read()) ?? '';
    // A line without an end was being added when the system stopped: what is added next must not continue it.
    this.#isCut = text !== '' && !text.endsWith('\n');
    const [head = '', ...lines] = text.split('\n').slice(0, -1);
    const upload = uploadOf(head);
    if (!upload) {
      // What follows must not stand behind it.
      if (text !== '') await this.clear();
      return undefined;
    }
    const noted = lines.map(partOf);
    const left: LeftUpload = { ...upload, parts: [], written: [] };
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

  async add(number: number, { etag, digest }: StoredPart, written: number): Promise<void> {
    if (await this.#add(`${number} ${written} ${digest ? bytesToHex(digest) : '-'} ${etag}`)) this.#hasAny = true;
  }

  /** Nothing is added from now on. Resolves when nothing is being added any more. */
  async end(): Promise<void> {
    this.#isEnded = true;
    await this.#adding;
  }

  /** Removes what is noted. Where that fails, nothing is added: it would stand behind what is there. */
  async clear(): Promise<void> {
    await this.#adding;
    this.#hasAny = false;
    this.#isCut = false;
    try {
      await this.journal.clear();
    } catch {
      await this.end();
    }
  }

  /** Whether it could be added. */
  #add(line: string): Promise<boolean> {
    const append = async (isRight: boolean) => {
      if (!isRight || this.#isEnded) return false;
      await this.journal.append(`${this.#isCut ? '\n' : ''}${line}\n`);
      this.#isCut = false;
      return true;
    };
    this.#adding = this.#adding.then(append).catch(() => false);
    return this.#adding;
  }
}

function uploadOf(line: string): S3Upload | undefined {
  try {
    const { identity, size, id } = JSON.parse(line);
    const isUpload = typeof identity === 'string' && Number.isSafeInteger(size) && typeof id === 'string';
    return isUpload ? { identity, size, id } : undefined;
  } catch {
    return undefined;
  }
}

function partOf(line: string): { number: number; part: StoredPart; written: number } | undefined {
  const [, number, written, digest, etag] = /^(\d{1,5}) (\d{1,16}) (-|[0-9a-f]{32}) (\S+)$/.exec(line) ?? [];
  if (etag === undefined) return undefined;
  const part = { etag, digest: digest === '-' ? undefined : hexToBytes(digest!) };
  return { number: Number(number), part, written: Number(written) };
}
