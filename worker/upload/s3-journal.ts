// What is noted of an upload to S3, so that a later conversion can go on with it: a line for the upload, and one for each
// part that the server has, once its answer was checked.

import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js';
import { DecantError } from '../errors/errors.js';
import { LONGEST_TIMER } from '../http/time-outs.js';
import type { UploadJournal } from './upload-types.js';

/** A line for the object, by its ETag: the digest of all parts, and their number. */
const END = /^end ([0-9a-f]{32}-\d{1,5})$/;

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
  /** What the object is called by its ETag, where all parts had been sent. */
  etag?: string | undefined;
}

export class S3Journal {
  #hasAny = false;
  #isCut = false;
  #isEnded = false;
  /** One line is added at a time. A failure makes less certain, and no more. */
  #adding: Promise<boolean> = Promise.resolve(true);

  /** `timeout` is the time for each call of `journal`, in milliseconds. */
  constructor(
    private readonly journal: UploadJournal,
    private readonly timeout: number,
  ) {}

  /** Whether a part is noted. */
  get hasAny(): boolean {
    return this.#hasAny;
  }

  /** What is noted; undefined where nothing is that could be read. Fails with `journal` where the caller's journal does. */
  async read(): Promise<LeftUpload | undefined> {
    const text = (await this.#asked('read', () => this.journal.read())) ?? '';
    if (typeof text !== 'string') throw failed(`its 'read' has returned a ${typeof text} and no text`);
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
    const etag = lines.map((line) => END.exec(line)?.[1]).findLast((etag) => etag !== undefined);
    const left: LeftUpload = { ...upload, parts: [], written: [], etag };
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

  /** Notes the ETag of the object that the server is asked to make of all parts. */
  async addEnd(etag: string): Promise<void> {
    await this.#add(`end ${etag}`);
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
      await this.#asked('clear', () => this.journal.clear());
    } catch {
      await this.end();
    }
  }

  /** Whether it could be added. */
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

  /** What `ask` resolves to. Fails with `journal` where it takes longer than the time-out. */
  async #asked<T>(name: string, ask: () => T | Promise<T>): Promise<T> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      const sentence = `its '${name}' has not ended within ${this.timeout / 1000} seconds`;
      timer = setTimeout(() => reject(failed(sentence)), Math.min(LONGEST_TIMER, this.timeout));
    });
    try {
      return await Promise.race([(async () => ask())(), late]);
    } finally {
      clearTimeout(timer);
    }
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

function partOf(line: string): { number: number; part: StoredPart; written: number } | undefined {
  const [, number, written, digest, etag] = /^(\d{1,5}) (\d{1,16}) (-|[0-9a-f]{32}) (\S+)$/.exec(line) ?? [];
  if (etag === undefined) return undefined;
  const part = { etag, digest: digest === '-' ? undefined : hexToBytes(digest!) };
  return { number: Number(number), part, written: Number(written) };
}
