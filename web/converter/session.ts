// What the page does, without how it looks: one image at a time, from a file to a saved disk.

import { DecantError, type Image, open, type Progress, type Result } from 'decant';
import { currentRates, learn, predict, type Rates, type Way } from './rates.js';
import { texts } from './texts.js';
import { guardWork } from './work-guard.js';

/** What of a disk is data, as far as the map was read. */
export interface Survey {
  data: number;
  compressed: number;
  complete: boolean;
}

export interface Choice {
  way: Way;
  /** Why it is not to be had, or undefined. */
  obstacle?: string;
  seconds?: number;
}

export type State =
  | { step: 'empty'; notice?: string }
  | { step: 'which'; files: File[] }
  | { step: 'opening'; name: string }
  | {
      step: 'ready';
      image: Image;
      survey: Survey;
      choices: Choice[];
      way: Way | undefined;
      otherTab: boolean;
      notice?: string;
    }
  | {
      step: 'converting';
      progress: Progress;
      way: Way;
      finishing: number | undefined;
      finishingSince: number;
      cancelling: boolean;
    }
  | { step: 'done'; result: Result; way: Way; name: string; seconds: number }
  | { step: 'failed'; message: string; file: File; offerRaw: boolean; cancelled: boolean };

type Step<S extends State['step']> = Extract<State, { step: S }>;

interface Picker {
  showSaveFilePicker?: (options: {
    suggestedName: string;
    types: { description: string; accept: Record<string, string[]> }[];
  }) => Promise<FileSystemFileHandle>;
}

/** `.img` would make the browser warn of a dangerous file on Windows and macOS. */
const EXTENSION = '.raw';
const BUSY = 'decant:busy';

export class Session {
  state: State = { step: 'empty' };
  #file: File | undefined;
  #format: string | undefined;
  #image: Image | undefined;
  #rates: Rates | undefined;
  #abort: AbortController | undefined;

  /** `changed` is called after every change of state. */
  constructor(private readonly changed: () => void) {}

  #set(state: State): void {
    this.state = state;
    this.changed();
  }

  /** Takes files that somebody dropped, pasted or chose. */
  async take(files: File[]): Promise<void> {
    if (this.state.step === 'converting') return;
    if (files.length === 0) this.#set({ step: 'empty', notice: texts.noFiles });
    else if (files.length === 1) await this.openFile(files[0]!);
    else this.#set({ step: 'which', files: files.toSorted((a, b) => a.name.localeCompare(b.name)) });
  }

  async openFile(file: File, format?: string): Promise<void> {
    await this.#forget();
    this.#file = file;
    this.#format = format;
    this.#set({ step: 'opening', name: file.name });
    try {
      const image = await open(file, format ? { format } : {});
      this.#image = image;
      await this.#describe(image);
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  /** Back to the start. */
  async reset(): Promise<void> {
    await this.#forget();
    this.#set({ step: 'empty' });
  }

  /** After a failure: the same file once more. */
  async retry(format = this.#format): Promise<void> {
    if (this.#file) await this.openFile(this.#file, format);
  }

  select(way: Way): void {
    if (this.state.step === 'ready') this.#set({ ...this.state, way });
  }

  cancel(): void {
    if (this.state.step !== 'converting') return;
    this.#set({ ...this.state, cancelling: true });
    this.#abort?.abort();
  }

  /** Asks where to save, where that is to be asked, and converts. */
  async convert(): Promise<void> {
    if (this.state.step !== 'ready' || !this.state.way) return;
    const { image, way } = this.state;
    const name = `${(image.info.name ?? 'disk').replace(/\.(qcow2?|img|raw)$/i, '')}${EXTENSION}`;
    let handle: FileSystemFileHandle | undefined;
    try {
      handle = way === 'picked' ? await pick(name) : undefined;
    } catch (thrown) {
      this.#fail(thrown);
      return;
    }
    if (way === 'picked' && !handle) return;
    const release = guardWork(BUSY);
    const abort = new AbortController();
    this.#abort = abort;
    const start = performance.now();
    const finishing = this.#rates && way === 'picked' ? image.info.virtualSize / this.#rates.finish : undefined;
    try {
      const result = await image.convert(handle ?? { download: name }, {
        signal: abort.signal,
        onProgress: (progress) => this.#progress(progress, way, finishing),
      });
      learn(way, result);
      this.#set({ step: 'done', result, way, name: handle?.name ?? name, seconds: (performance.now() - start) / 1000 });
    } catch (thrown) {
      this.#fail(thrown);
    } finally {
      release();
    }
  }

  #progress(progress: Progress, way: Way, finishing: number | undefined): void {
    const before = this.state.step === 'converting' ? this.state : undefined;
    const wasFinishing = before?.progress.phase === 'finalizing';
    const since = progress.phase === 'finalizing' && !wasFinishing ? performance.now() : (before?.finishingSince ?? 0);
    this.#set({
      step: 'converting',
      progress,
      way,
      finishing,
      finishingSince: since,
      cancelling: before?.cancelling ?? false,
    });
  }

  /** Shows what the headers say at once, then what the map says, as it is read. */
  async #describe(image: Image): Promise<void> {
    const survey: Survey = { data: 0, compressed: 0, complete: false };
    const ready: Step<'ready'> = {
      step: 'ready',
      image,
      survey,
      choices: [],
      way: undefined,
      otherTab: await othersBusy(),
    };
    this.#rates = isSecureContext ? await currentRates() : undefined;
    const room = isSecureContext ? await storageRoom() : 0;
    const show = () => {
      const chosen = this.state.step === 'ready' && this.state.image === image ? this.state.way : undefined;
      const choices = this.#choices(image, survey, room);
      const best = choices.filter((choice) => !choice.obstacle).sort((a, b) => (a.seconds ?? 0) - (b.seconds ?? 0))[0];
      this.#set({ ...ready, survey: { ...survey }, choices, way: chosen ?? (survey.complete ? best?.way : undefined) });
    };
    show();
    let shown = performance.now();
    for await (const extent of image.map()) {
      if (this.#image !== image || this.state.step !== 'ready') return;
      if (extent.kind !== 'data') continue;
      survey.data += extent.length;
      if (extent.compressed) survey.compressed += extent.length;
      if (performance.now() - shown < 100) continue;
      show();
      shown = performance.now();
    }
    if (this.#image !== image || this.state.step !== 'ready') return;
    survey.complete = true;
    show();
  }

  #choices(image: Image, survey: Survey, room: number): Choice[] {
    const disk = image.info.virtualSize;
    const choice = (way: Way, obstacle: string | undefined): Choice => ({
      way,
      ...(obstacle ? { obstacle } : {}),
      ...(this.#rates && survey.complete ? { seconds: predict(this.#rates, way, disk, survey.data) } : {}),
    });
    if (!isSecureContext) return [choice('picked', texts.insecure), choice('download', texts.insecure)];
    return [
      choice('picked', (globalThis as Picker).showSaveFilePicker ? undefined : texts.noPicker),
      choice('download', disk > room ? texts.noRoom(room) : undefined),
    ];
  }

  #fail(thrown: unknown): void {
    const { kind, message } = thrown instanceof DecantError ? thrown : { kind: 'internal', message: String(thrown) };
    const looksRaw = /\.(raw|img)$/i.test(this.#file!.name);
    this.#set({
      step: 'failed',
      message,
      file: this.#file!,
      offerRaw: kind === 'not-recognised' && looksRaw && this.#file!.size > 0,
      cancelled: kind === 'cancelled',
    });
  }

  async #forget(): Promise<void> {
    const image = this.#image;
    this.#image = undefined;
    await image?.close();
  }
}

/** Where to save; undefined where the person changed their mind. */
async function pick(name: string): Promise<FileSystemFileHandle | undefined> {
  try {
    return await (globalThis as Picker).showSaveFilePicker!({
      suggestedName: name,
      types: [{ description: 'Raw disk', accept: { 'application/octet-stream': [EXTENSION] } }],
    });
  } catch (thrown) {
    if (thrown instanceof DOMException && thrown.name === 'AbortError') return undefined;
    throw thrown;
  }
}

async function storageRoom(): Promise<number> {
  const { quota = Number.POSITIVE_INFINITY, usage = 0 } = await navigator.storage.estimate();
  return quota - usage;
}

async function othersBusy(): Promise<boolean> {
  if (!isSecureContext) return false;
  const { held = [] } = await navigator.locks.query();
  return held.some((lock) => lock.name === BUSY);
}
