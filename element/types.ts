// What a page sees of the element.

import type { AnyInfo, DecantError, Output, OutputFormat, Progress, Result } from 'decant';
import type { Texts } from './types.texts.js';

/** The disk that is about to be converted. */
export interface DiskToSave {
  /** What the image's headers say. */
  info: AnyInfo;
  /** What it is converted to; `size` has the bytes of the output where they are known. */
  format: OutputFormat;
  /** A name for the output: the image's, with the extension of the format. */
  name: string;
}

/** A download under way that the browser is sent bit by bit. */
export interface StreamedDownload {
  /**
   * Takes the bytes of the file in ascending order. A write waits while the browser has enough. If a size was
   * announced, exactly so many bytes must come. After more, after fewer and after an abort, the stream fails, and the
   * browser shows a failed download. Closing resolves when the browser has taken all bytes. It may still be writing
   * them.
   */
  writable: WritableStream<Uint8Array>;
  /** Aborted when the person cancels the download in the browser's list, or when the browser gives it up. */
  cancelled: AbortSignal;
  /** How many bytes the browser has taken so far. */
  taken(): number;
}

/** How a page streams downloads, by a service worker for instance. */
export interface StreamedDownloads {
  /** Why it cannot now, to follow a colon: without a full stop; `undefined` if it can. */
  obstacle(): Promise<string | undefined>;
  /** Begins a download of `size` bytes, or of as many as come. Rejects if it does not begin, or if `signal` is aborted. */
  open(name: string, size: number | undefined, signal: AbortSignal): Promise<StreamedDownload>;
}

/** The events of the element. They bubble, and leave shadow trees. */
export interface DecantConverterEvents {
  /** An image is open, and shown. */
  'decant-info': CustomEvent<AnyInfo>;
  /** A conversion goes on: several times a second. */
  'decant-progress': CustomEvent<Progress>;
  /** A disk is converted. */
  'decant-done': CustomEvent<Result>;
  /** An image was not opened or converted; `kind` is `cancelled` where the person has cancelled. */
  'decant-error': CustomEvent<DecantError>;
  /** What a window's title may show: a step, a share of the work. `undefined` at the start. */
  'decant-title': CustomEvent<string | undefined>;
}

/** `<decant-converter>`. */
export interface DecantConverterElement extends HTMLElement {
  /** The URL of an image to try, also the attribute `sample`. Without one, none is offered. */
  sample: string | undefined;
  /**
   * Whether files that are dropped or pasted anywhere in the window are taken, also the attribute `whole-window`.
   * By default only those that are dropped on the element, or pasted while the focus is in it.
   */
  wholeWindow: boolean;
  /**
   * Where disks go, instead of to a place that the person chooses. It is called once for each conversion, when the person
   * begins it. What it throws ends the conversion, with the sentence of the error.
   */
  output: ((disk: DiskToSave) => Output | Promise<Output>) | undefined;
  /** How the page streams downloads. Without it, a disk that is downloaded has to fit into the browser's storage. */
  streamedDownloads: StreamedDownloads | undefined;
  /** Texts to show instead of the element's own. */
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
