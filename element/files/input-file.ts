// A file or link that the person has given.

import { DecantError, httpSource, type Input, type Waiting } from 'decant';

/** A file or link that the person has given. With handles, two files can be compared. */
export interface InputFile {
  file: File;
  handle?: FileSystemFileHandle;
  /** The link, if it is one. Then `file` is empty and has only the name. */
  link?: Link;
  /** The name of the machine's missing disk for which the person uses this file. */
  as?: string;
  /** The dropped folder that contains the file: one object for all files of a folder. */
  folder?: object;
}

/** The input for `open`. Asks the server of a link, and fails as `httpSource` does. */
export const sourceOf = async ({ file, handle, link }: InputFile, signal: AbortSignal): Promise<Input> =>
  link ? link.source(signal) : (handle ?? file);

/** Whether both are certainly the same file or link: by handle, by URL, or as one object. */
export async function isSame(a: InputFile, b: InputFile): Promise<boolean> {
  if (a.handle && b.handle) return a.handle.isSameEntry(b.handle);
  if (a.link || b.link) return a.link?.url.href === b.link?.url.href;
  return a.file === b.file;
}

/** Whether both may be the same. Without two handles, names, sizes and times decide. */
export async function mayBeSame(a: InputFile, b: InputFile): Promise<boolean> {
  return (a.handle && b.handle) || a.link || b.link ? isSame(a, b) : isAlike(a.file, b.file);
}

/** Returns `files` without those that are among `others` according to `isOne`. */
export async function without(files: InputFile[], others: InputFile[], isOne: typeof isSame): Promise<InputFile[]> {
  const found = await Promise.all(files.map((file) => Promise.all(others.map((other) => isOne(file, other)))));
  return files.filter((_, at) => !found[at]!.includes(true));
}

/** Whether two `File` objects may be the same file. */
export const isAlike = (a: File, b: File): boolean =>
  a.name === b.name && a.size === b.size && a.lastModified === b.lastModified;

export async function inputOf(handle: FileSystemFileHandle): Promise<InputFile> {
  return { file: await handle.getFile(), handle };
}

export const plain = (files: Iterable<File>): InputFile[] => [...files].map((file) => ({ file }));

/** The image at `url`, with an empty file that has its name. */
export function linked(url: URL): InputFile {
  const last = url.pathname.split('/').findLast((part) => part !== '') ?? url.host;
  return { file: new File([], decoded(last)), link: new Link(url) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const ADDRESS = /^https?:\/\/\S+$/i;

/** Parses `text` as a URL of http or https; `undefined` if it is not one. */
export function addressIn(text: string): URL | undefined {
  const trimmed = text.trim();
  return ADDRESS.test(trimmed) && URL.canParse(trimmed) ? new URL(trimmed) : undefined;
}

/** A host with a domain, and a path. */
const WITHOUT_SCHEME = /^[\w-]+(\.[\w-]+)+(:\d+)?\/\S+$/;

/** As `addressIn`, for a text that was typed: people leave out https://. */
export const typedAddress = (text: string): URL | undefined =>
  addressIn(text) ?? (WITHOUT_SCHEME.test(text.trim()) ? addressIn(`https://${text.trim()}`) : undefined);

export class Link {
  #source: Promise<Input> | undefined;
  /** Called when its server keeps the reader waiting, and with `undefined` when the server has answered. */
  onWaiting: ((waiting: Waiting | undefined) => void) | undefined;

  constructor(readonly url: URL) {}

  /** The input for `open`. Asks the server once. Fails as `httpSource` does. */
  source(signal: AbortSignal): Promise<Input> {
    this.#source ??= this.#ask(signal);
    return this.#source;
  }

  /** Makes the next call of `source` ask the server again. */
  renew(): void {
    this.#source = undefined;
  }

  async #ask(signal: AbortSignal): Promise<Input> {
    try {
      // The person decides how long to wait for a network that is down.
      return await httpSource(this.url, {
        signal,
        patience: Number.POSITIVE_INFINITY,
        onWaiting: (waiting) => this.onWaiting?.(waiting),
      });
    } catch (thrown) {
      // Without range support, a large file is streamed.
      if (DecantError.is(thrown) && thrown.kind === 'unsupported') return this.url;
      this.renew();
      throw thrown;
    }
  }
}

/** Whether the browser has thrown `thrown` with this name, such as `NotFoundError` for a missing file. */
export const isNamed = (thrown: unknown, name: string): boolean =>
  thrown instanceof DOMException && thrown.name === name;
