// Request bodies, built piece by piece. In a browser they are Blobs, since `fetch` copies a typed array slowly, on the page's
// thread. Each step there handles at most 1 MiB.

const STEP = 1 << 20;

export type Body = Blob | Uint8Array<ArrayBuffer>;

export const sizeOf = (body: Body): number => (body instanceof Blob ? body.size : body.length);

/** Returns the length of the body of a request, 0 for a stream. */
export function lengthOf(body: Body | string | ReadableStream | undefined): number {
  if (body === undefined || body instanceof ReadableStream) return 0;
  return typeof body === 'string' ? body.length : sizeOf(body);
}

/** Returns `body` without its first `start` bytes. */
export const after = (body: Body, start: number): Body =>
  body instanceof Blob ? body.slice(start) : body.subarray(start);

/** Reads `body` in pieces of at most 1 MiB. */
export async function* piecesOf(body: Body): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  for (let at = 0; at < sizeOf(body); at += STEP) {
    yield body instanceof Blob
      ? new Uint8Array(await body.slice(at, at + STEP).arrayBuffer())
      : body.subarray(at, at + STEP);
  }
}

/** Builds a body of at most `most` bytes. */
export class BodyBuilder {
  length = 0;
  readonly #blobs: Blob[] = [];
  /** Bytes that are not in a Blob yet; in Node all. */
  #bytes: Uint8Array<ArrayBuffer> | undefined;
  #filled = 0;
  readonly #room: number;

  constructor(most: number) {
    this.#room = isNode() ? most : Math.min(STEP, most);
  }

  add(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      const piece = bytes.subarray(at, at + this.#room - this.#filled);
      this.#bytes ??= new Uint8Array(this.#room);
      this.#bytes.set(piece, this.#filled);
      at += piece.length;
      this.#grow(piece.length);
    }
  }

  addZeros(length: number): void {
    if (this.#filled + length > this.#room) {
      // Never in Node, where `#room` is the maximum.
      this.#flush();
      this.#blobs.push(...blobsOfZeros(length));
      this.length += length;
      return;
    }
    // The array is reused.
    this.#bytes?.fill(0, this.#filled, this.#filled + length);
    this.#grow(length);
  }

  /** Returns the body. Call it last. */
  end(): Body {
    const bytes = (this.#bytes ?? new Uint8Array(this.#filled)).subarray(0, this.#filled);
    if (isNode()) return bytes;
    this.#flush();
    return new Blob(this.#blobs);
  }

  #grow(length: number): void {
    this.#filled += length;
    this.length += length;
    if (this.#filled === this.#room && !isNode()) this.#flush();
  }

  /** Copies the bytes into a Blob, and reuses the memory. */
  #flush(): void {
    if (this.#filled === 0) return;
    this.#bytes ??= new Uint8Array(this.#room);
    this.#blobs.push(new Blob([this.#bytes.subarray(0, this.#filled)]));
    this.#filled = 0;
  }
}

export const zeros = (length: number): Body => (isNode() ? new Uint8Array(length) : new Blob(blobsOfZeros(length)));

let zeroBlob: Blob | undefined;

/** Returns Blobs with `length` zeros together. They share one Blob's memory. */
function blobsOfZeros(length: number): Blob[] {
  zeroBlob ??= new Blob([new Uint8Array(STEP)]);
  const blobs = Array<Blob>(Math.floor(length / STEP)).fill(zeroBlob);
  return length % STEP === 0 ? blobs : [...blobs, zeroBlob.slice(0, length % STEP)];
}

/** Whether `fetch` is Node's: a browser's hides redirects, and copies typed arrays on the page's thread. */
export const isNode = (): boolean =>
  globalThis.process?.versions?.node !== undefined && typeof document === 'undefined';
