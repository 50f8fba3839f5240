// What the page does, without how it looks: one image at a time, from a file to a saved disk.

import { DecantError, type Image, open, type Progress, type Result } from 'decant';
import { type Choice, type Environment, findEnvironment, listChoices, type Survey } from './choices.js';
import { learn, type Way } from './rates.js';
import { texts } from './texts.js';
import { guardWork } from './work-guard.js';

export type State =
  | { step: 'empty'; notice?: string }
  | { step: 'which'; files: File[] }
  | { step: 'opening'; name: string }
  | { step: 'ready'; image: Image; survey: Survey; choices: Choice[]; way: Way | undefined; otherTab: boolean }
  | {
      step: 'converting';
      progress: Progress;
      way: Way;
      /** Seconds that the browser will take to finish the file, and since when it does. */
      finishing: number | undefined;
      finishingSince: number;
      cancelling: boolean;
    }
  | { step: 'done'; result: Result; way: Way; name: string; seconds: number }
  | { step: 'failed'; message: string; offerRaw: boolean; cancelled: boolean };

export type Step<S extends State['step']> = Extract<State, { step: S }>;

/** `.img` would make the browser warn of a dangerous file on Windows and macOS. */
const EXTENSION = '.raw';

export class Session {
  state: State = { step: 'empty' };
  /** Aborted when the person goes on to something else: what was under way is of no account then. */
  #turn = new AbortController();
  #file: File | undefined;
  #format: string | undefined;
  #image: Image | undefined;
  #environment: Environment | undefined;
  #cancel: AbortController | undefined;
  #picking = false;

  /** `changed` is called after every change of state. */
  constructor(private readonly changed: () => void) {}

  /** Takes files that somebody dropped, pasted or chose. */
  take(files: File[]): void {
    if (this.state.step === 'converting') return;
    if (files.length === 1) void this.openFile(files[0]!);
    else if (files.length > 1)
      this.#go({ step: 'which', files: files.toSorted((a, b) => a.name.localeCompare(b.name)) });
    else if (this.state.step === 'empty') this.#go({ step: 'empty', notice: texts.noFiles });
  }

  /** Takes files that are still to be fetched or listed. */
  async takeFrom(name: string, find: () => Promise<File[]>): Promise<void> {
    if (this.state.step === 'converting') return;
    const turn = this.#go({ step: 'opening', name });
    try {
      const files = await find();
      if (turn.aborted) return;
      this.#set(turn, { step: 'empty' });
      this.take(files);
    } catch {
      this.#set(turn, { step: 'empty', notice: texts.notFetched(name) });
    }
  }

  async openFile(file: File, format?: string): Promise<void> {
    const turn = this.#go({ step: 'opening', name: file.name });
    this.#file = file;
    this.#format = format;
    try {
      const image = await open(file, { signal: turn, ...(format ? { format } : {}) });
      if (turn.aborted) {
        await image.close();
        return;
      }
      this.#image = image;
      await this.#describe(image, turn);
    } catch (thrown) {
      this.#fail(turn, thrown);
    }
  }

  /** Back to the start, whatever is under way. */
  reset(): void {
    this.#go({ step: 'empty' });
  }

  /** After a failure: the same file once more. */
  async retry(format = this.#format): Promise<void> {
    if (this.#file) await this.openFile(this.#file, format);
  }

  select(way: Way): void {
    if (this.state.step === 'ready') this.#set(this.#turn.signal, { ...this.state, way });
  }

  cancel(): void {
    if (this.state.step !== 'converting') return;
    this.#set(this.#turn.signal, { ...this.state, cancelling: true });
    this.#cancel?.abort();
  }

  /** Asks where to save, where that is to be asked, and converts. */
  async convert(): Promise<void> {
    if (this.state.step !== 'ready' || !this.state.way || this.#picking) return;
    const { image, way } = this.state;
    const name = `${(image.info.name ?? 'disk').replace(/\.(qcow2?|img|raw)$/i, '')}${EXTENSION}`;
    const turn = this.#turn.signal;
    const handle = way === 'picked' ? await this.#pick(name) : undefined;
    if (way === 'picked' && !handle) return;
    const release = guardWork();
    this.#cancel = new AbortController();
    const start = performance.now();
    const rate = this.#environment?.rates?.finish;
    const finishing = way === 'picked' && rate ? image.info.virtualSize / rate : undefined;
    try {
      const result = await image.convert(handle ?? { download: name }, {
        signal: this.#cancel.signal,
        onProgress: (progress) => this.#progress(turn, progress, way, finishing),
      });
      learn(way, result);
      const seconds = (performance.now() - start) / 1000;
      this.#set(turn, { step: 'done', result, way, name: handle?.name ?? name, seconds });
    } catch (thrown) {
      this.#fail(turn, thrown);
    } finally {
      release();
    }
  }

  /** Ends what was under way, and begins something else. */
  #go(state: State): AbortSignal {
    this.#turn.abort();
    this.#turn = new AbortController();
    // Closing ends a conversion too.
    void this.#image?.close();
    this.#image = undefined;
    this.#set(this.#turn.signal, state);
    return this.#turn.signal;
  }

  /** Changes the state, unless the person has gone on to something else. */
  #set(turn: AbortSignal, state: State): void {
    if (turn.aborted) return;
    this.state = state;
    this.changed();
  }

  #progress(turn: AbortSignal, progress: Progress, way: Way, finishing: number | undefined): void {
    const before = this.state.step === 'converting' ? this.state : undefined;
    const begins = progress.phase === 'finalizing' && before?.progress.phase !== 'finalizing';
    this.#set(turn, {
      step: 'converting',
      progress,
      way,
      finishing,
      finishingSince: begins ? performance.now() : (before?.finishingSince ?? 0),
      cancelling: before?.cancelling ?? false,
    });
  }

  /** Shows what the headers say at once, then what the map says, as it is read. */
  async #describe(image: Image, turn: AbortSignal): Promise<void> {
    const survey: Survey = { data: 0, compressed: 0, complete: false };
    const show = () => this.#showImage(image, turn, { ...survey });
    show();
    this.#environment = await findEnvironment();
    show();
    let shown = performance.now();
    try {
      for await (const extent of image.map()) {
        if (turn.aborted) return;
        if (extent.kind !== 'data') continue;
        survey.data += extent.length;
        if (extent.compressed) survey.compressed += extent.length;
        if (performance.now() - shown < 100) continue;
        show();
        shown = performance.now();
      }
    } catch (thrown) {
      // A conversion that was begun meanwhile tells the same by itself.
      if (this.state.step === 'ready') throw thrown;
    }
    survey.complete = true;
    show();
  }

  #showImage(image: Image, turn: AbortSignal, survey: Survey): void {
    const before = this.state.step === 'ready' ? this.state : undefined;
    if (!before && this.state.step !== 'opening') return;
    const choices = this.#environment ? listChoices(image.info, survey, this.#environment) : [];
    const open = choices.filter((choice) => !choice.obstacle);
    const best = open.toSorted((a, b) => (a.seconds ?? 0) - (b.seconds ?? 0))[0];
    const way = open.find((choice) => choice.way === before?.way)?.way ?? (survey.complete ? best?.way : undefined);
    this.#set(turn, { step: 'ready', image, survey, choices, way, otherTab: this.#environment?.otherTab ?? false });
  }

  #fail(turn: AbortSignal, thrown: unknown): void {
    const { kind, message } = thrown instanceof DecantError ? thrown : { kind: 'internal', message: String(thrown) };
    const file = this.#file!;
    this.#set(turn, {
      step: 'failed',
      message,
      offerRaw: kind === 'not-recognised' && /\.(raw|img)$/i.test(file.name) && file.size > 0,
      cancelled: kind === 'cancelled',
    });
  }

  /** Where to save; undefined where the person changed their mind, or where no dialog can be had. */
  async #pick(name: string): Promise<FileSystemFileHandle | undefined> {
    this.#picking = true;
    try {
      return await showSaveFilePicker({
        suggestedName: name,
        types: [{ description: 'Raw disk', accept: { 'application/octet-stream': [EXTENSION] } }],
      });
    } catch (thrown) {
      const changedMind = thrown instanceof DOMException && thrown.name === 'AbortError';
      if (!changedMind && this.state.step === 'ready' && this.#environment) {
        this.#environment.pickerObstacle = texts.pickerFailed;
        this.#showImage(this.state.image, this.#turn.signal, this.state.survey);
      }
      return undefined;
    } finally {
      this.#picking = false;
    }
  }
}
