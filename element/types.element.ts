// The public types of the element.

import type { AnyInfo, ConvertResult, DecantError, Output, OutputFormat, OutputFormatName, Progress } from 'decant';
import type { Texts } from './types.texts.js';

/** The disk that is to be converted. */
export interface DiskToSave {
  /** The description of the image; of several disks that become one file, that of the first. */
  readonly info: AnyInfo;
  /** The output format. Its `outputSize` is in bytes, if known. */
  readonly format: OutputFormat;
  /** A name for the output: the name of the image with the extension of the format. */
  readonly name: string;
}

/** A place of the page's own, where disks run. */
export interface OwnPlace {
  name: string;
  /** The name for people. */
  label: string;
  /** The name of an output format. */
  format: OutputFormatName;
  /** The options of the format; by default the recommended ones. */
  formatOptions?: Readonly<Record<string, string>> | undefined;
}

/** A download under way, whose bytes the page sends to the browser. */
export interface StreamedDownload {
  /**
   * Takes the bytes of the file in ascending order. A write resolves when the browser has room for more. If a size was
   * announced, exactly that many bytes must be written. After more or fewer bytes or an abort, the stream fails and the
   * browser shows a failed download. `close()` resolves when the browser has taken all bytes, which it may not have
   * written to the disk yet.
   */
  writable: WritableStream<Uint8Array>;
  /** Aborted when the person cancels the download in the browser's list, or when the browser ends it. */
  cancelled: AbortSignal;
  /** Returns the number of bytes that the browser has taken so far. */
  taken(): number;
}

/** How a page streams downloads, for example through a service worker. */
export interface StreamedDownloads {
  /** Resolves to the reason why downloads cannot be streamed now, or to `undefined`. The reason follows a colon: no full stop. */
  obstacle(): Promise<string | undefined>;
  /** Starts a download of `size` bytes, if known. Rejects if the download does not start or `signal` is aborted before. */
  open(name: string, size: number | undefined, signal: AbortSignal): Promise<StreamedDownload>;
}

/** The events of the element. All bubble and are composed. */
export interface DecantConverterEvents {
  /** An image was opened. */
  'decant-info': CustomEvent<AnyInfo>;
  /** The progress of a conversion, several times a second. */
  'decant-progress': CustomEvent<Progress>;
  /** A disk was converted. */
  'decant-done': CustomEvent<ConvertResult>;
  /** Opening or converting an image has failed; `kind` is `cancelled` after a cancel. */
  'decant-error': CustomEvent<DecantError>;
  /** The person has chosen a place where the disk will run: its name. */
  'decant-place': CustomEvent<string>;
  /** A title for the window: the current step, or the progress. `null` on the first screen. */
  'decant-title': CustomEvent<string | null>;
}

/** `<decant-converter>`. */
export interface DecantConverterElement extends HTMLElement {
  /** The URL of a sample image; without it, no sample is offered. Also the attribute `sample`. */
  sample: string | undefined;
  /**
   * Whether to show only what is made, the picture of the disk, the progress and what must be asked: no title, place, format,
   * options, facts or next step. Also the attribute `compact`.
   */
  compact: boolean;
  /**
   * Whether to take files and links that are dropped or pasted anywhere in the window. By default the element takes those that
   * are dropped on it, or pasted while it has the focus. Also the attribute `whole-window`.
   */
  wholeWindow: boolean;
  /**
   * Returns the output for a disk; then the person does not choose a place. Called once when a conversion starts. If it
   * throws, the conversion fails with the message of the error. Set it before the first image: the element converts nothing if it
   * is no function, is an attribute instead, or is set or removed while an image is open.
   */
  output: ((disk: DiskToSave) => Output | Promise<Output>) | undefined;
  /**
   * The places that are offered, in this order: names of `decant/places`, or places of the page's own. By default all of
   * `decant/places`, but none if `output` is set. With an empty list, the person chooses a format.
   */
  places: readonly (string | OwnPlace)[] | undefined;
  /** How the page streams downloads. Without it, downloads need room in the browser's storage. */
  streamedDownloads: StreamedDownloads | undefined;
  /** Texts that replace those of the element. */
  texts: Texts | undefined;
  addEventListener<K extends keyof DecantConverterEvents>(
    type: K,
    listener: (this: DecantConverterElement, event: DecantConverterEvents[K]) => unknown,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener<K extends keyof HTMLElementEventMap>(
    type: K,
    listener: (this: DecantConverterElement, event: HTMLElementEventMap[K]) => unknown,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject,
    options?: boolean | AddEventListenerOptions,
  ): void;
  removeEventListener<K extends keyof DecantConverterEvents>(
    type: K,
    listener: (this: DecantConverterElement, event: DecantConverterEvents[K]) => unknown,
    options?: boolean | EventListenerOptions,
  ): void;
  removeEventListener<K extends keyof HTMLElementEventMap>(
    type: K,
    listener: (this: DecantConverterElement, event: HTMLElementEventMap[K]) => unknown,
    options?: boolean | EventListenerOptions,
  ): void;
  removeEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject,
    options?: boolean | EventListenerOptions,
  ): void;
}

declare global {
  interface HTMLElementTagNameMap {
    'decant-converter': DecantConverterElement;
  }
}
