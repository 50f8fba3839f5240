// What the page does, without how it looks: one image at a time, from a file to a saved disk.

import { type Companion, DecantError, type Image, type Need, open, type Progress, prepare, type Result } from 'decant';
import { type Choice, type Environment, findEnvironment, listChoices, type Survey } from './choices.js';
import { Forecast } from './forecast.js';
import { convertingRate, learn, type Way } from './rates.js';
import { texts } from './texts.js';
import { findTop } from './top.js';
import { guardWork } from './work-guard.js';

export type State =
  | { step: 'empty'; notice?: string }
  | { step: 'which'; files: File[] }
  | { step: 'opening'; name: string }
  | { step: 'needs'; image: Image; needs: Need[]; notice: string | undefined; canAssume: boolean }
  | { step: 'unlocking'; name: string; share: number }
  | { step: 'ready'; image: Image; survey: Survey; choices: Choice[]; way: Way | undefined; otherTab: boolean }
  | {
      step: 'converting';
      progress: Progress;
      /** How much is done, 0 to 1. */
      share: number;
      /** Until the file is complete. */
      secondsLeft: number | undefined;
      way: Way;
      /** Seconds that the browser will take to finish the file, and since when it does. */
      finishing: number | undefined;
      finishingSince: number;
      cancelling: boolean;
    }
  | { step: 'done'; result: Result; way: Way; name: string; seconds: number }
  | { step: 'failed'; message: string; offerRaw: boolean; offerSalvage: boolean; cancelled: boolean };

export type Step<S extends State['step']> = Extract<State, { step: S }>;

/** How the image is opened: grows with every answer that the person gives. */
interface Opening {
  file: File;
  companions: Companion[];
  format?: string;
  snapshot?: string;
  password?: string;
  assumePassword?: boolean;
  salvage?: boolean;
}

/** `.img` would make the browser warn of a dangerous file on Windows and macOS. */
const EXTENSION = '.raw';

export class Session {
  state: State = { step: 'empty' };
  /** Aborted when the person goes on to something else: what was under way is of no account then. */
  #turn = new AbortController();
  #opening: Opening | undefined;
  /** The names of the files that were asked for last. */
  #asked: string[] = [];
  #image: Image | undefined;
  #environment: Environment | undefined;
  #cancel: AbortController | undefined;
  #picking = false;

  /** `changed` is called after every change of state. */
  constructor(private readonly changed: () => void) {}

  /** Takes files that somebody dropped, pasted or chose. */
  take(files: File[]): void {
    if (this.state.step === 'converting') return;
    if (this.state.step === 'needs' && files.length > 0) void this.#take({ companions: files });
    else if (files.length === 1) void this.openFile(files[0]!);
    else if (files.length > 1) void this.#takeSeveral(files);
    else if (this.state.step === 'empty') this.#go({ step: 'empty', notice: texts.noFiles });
  }

  /** Takes files that are still to be fetched or listed. */
  async takeFrom(name: string, find: () => Promise<File[]>): Promise<void> {
    if (this.state.step === 'converting') return;
    // Files for an image that waits for them do not put it aside.
    const before = this.state.step === 'needs' ? this.state : undefined;
    const turn = before ? this.#turn.signal : this.#go({ step: 'opening', name });
    try {
      const files = await find();
      if (turn.aborted) return;
      this.#set(turn, before ?? { step: 'empty' });
      this.take(files);
    } catch {
      this.#set(turn, { step: 'empty', notice: texts.notFetched(name) });
    }
  }

  /** Opens `file`; the others are there in case that it refers to them. */
  async openFile(file: File, others: File[] = []): Promise<void> {
    await this.#open({ file, companions: others });
  }

  /** Back to the start, whatever is under way. */
  reset(): void {
    this.#opening = undefined;
    this.#go({ step: 'empty' });
  }

  /** After a failure: the same once more, or with something changed. */
  async retry(change: Partial<Opening> = {}): Promise<void> {
    if (this.#opening) await this.#open({ ...this.#opening, ...change });
  }

  /** Converts an internal snapshot, or with `undefined` the active disk. */
  async pickSnapshot(id: string | undefined): Promise<void> {
    if (!this.#opening) return;
    const { snapshot: _before, ...opening } = this.#opening;
    await this.#open({ ...opening, ...(id === undefined ? {} : { snapshot: id }) });
  }

  get snapshot(): string | undefined {
    return this.#opening?.snapshot;
  }

  get isSalvage(): boolean {
    return this.#opening?.salvage ?? false;
  }

  /** Answers what an image needs: the file for a name, or a password. */
  async answer(need: Need, given: File | string, assumePassword = false): Promise<void> {
    if (need.kind === 'password') await this.#take({ password: given as string, assumePassword });
    else await this.#take({ companions: [{ name: need.name, source: given as File }] });
  }

  /** Opens the image again with more. */
  async #take(more: Partial<Opening>): Promise<void> {
    const before = this.#opening;
    if (before)
      await this.#open({ ...before, ...more, companions: [...before.companions, ...(more.companions ?? [])] });
  }

  async #takeSeveral(files: File[]): Promise<void> {
    const turn = this.#go({ step: 'opening', name: texts.dropped });
    const top = await findTop(files, turn);
    if (turn.aborted) return;
    if (top)
      await this.openFile(
        top,
        files.filter((file) => file !== top),
      );
    else this.#set(turn, { step: 'which', files: files.toSorted((a, b) => a.name.localeCompare(b.name)) });
  }

  async #open(opening: Opening): Promise<void> {
    const turn = this.#go({ step: 'opening', name: opening.file.name });
    const asked = this.#opening?.file === opening.file ? this.#asked : [];
    this.#opening = opening;
    const { file, ...options } = opening;
    try {
      const image = await open(file, { signal: turn, ...options });
      if (turn.aborted) {
        await image.close();
        return;
      }
      this.#image = image;
      const { needs } = image.info;
      const missing = needs.filter((need) => need.kind === 'missing-file');
      // Asked for before: what was handed over meanwhile is called otherwise.
      const again = missing.some(({ name }) => asked.includes(name));
      if (missing.length > 0) this.#ask(turn, image, again ? texts.notTheFile : undefined);
      else if (needs.length > 0 && opening.password === undefined) this.#ask(turn, image, undefined);
      else await this.#readAll(image, turn);
    } catch (thrown) {
      this.#fail(turn, thrown);
    }
  }

  async #readAll(image: Image, turn: AbortSignal): Promise<void> {
    try {
      await image.unlock({
        signal: turn,
        onProgress: (share) => this.#set(turn, { step: 'unlocking', name: image.info.name ?? texts.image, share }),
      });
    } catch (thrown) {
      if (!(thrown instanceof DecantError && thrown.kind === 'password')) throw thrown;
      this.#ask(turn, image, `${thrown.message}.`);
      return;
    }
    await this.#describe(image, turn);
  }

  #ask(turn: AbortSignal, image: Image, notice: string | undefined): void {
    const { needs } = image.info;
    // First the files: only they tell whether there is more to unlock.
    const missing = needs.filter((need) => need.kind === 'missing-file');
    this.#asked = missing.map(({ name }) => name);
    const asked = missing.length > 0 ? missing : needs.slice(0, 1);
    // Only the old method has no check of its own.
    const canAssume = notice !== undefined && image.info.layers.some(({ encryption }) => encryption === 'aes');
    this.#set(turn, { step: 'needs', image, needs: asked, notice, canAssume });
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
    const { image, way, survey } = this.state;
    const name = `${(image.info.name ?? 'disk').replace(/\.(qcow2?|img|raw)$/i, '')}${EXTENSION}`;
    const turn = this.#turn.signal;
    // While the dialog is open, or the download's file is made. What is wrong is told by the conversion.
    prepare().catch(() => {});
    const handle = way === 'picked' ? await this.#pick(name) : undefined;
    if (way === 'picked' && !handle) return;
    const release = guardWork();
    this.#cancel = new AbortController();
    const start = performance.now();
    const rates = this.#environment?.rates;
    const finishing = way === 'picked' && rates ? image.info.virtualSize / rates.finish : undefined;
    const data = survey.complete ? survey.data : undefined;
    const forecast = new Forecast(data, rates && convertingRate(rates, way), finishing);
    try {
      const result = await image.convert(handle ?? { download: name }, {
        signal: this.#cancel.signal,
        onProgress: (progress) => this.#progress(turn, progress, way, forecast),
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

  #progress(turn: AbortSignal, progress: Progress, way: Way, forecast: Forecast): void {
    const before = this.state.step === 'converting' ? this.state : undefined;
    const begins = progress.phase === 'finalizing' && before?.progress.phase !== 'finalizing';
    this.#set(turn, {
      step: 'converting',
      progress,
      share: forecast.share(progress),
      secondsLeft: forecast.secondsLeft(progress),
      way,
      finishing: forecast.finishing,
      finishingSince: begins ? performance.now() : (before?.finishingSince ?? 0),
      cancelling: before?.cancelling ?? false,
    });
  }

  /** Shows what the headers say at once, then what the map says, as it is read. */
  async #describe(image: Image, turn: AbortSignal): Promise<void> {
    const survey: Survey = { data: 0, compressed: 0, lost: 0, complete: false };
    const show = () => this.#showImage(image, turn, { ...survey });
    show();
    this.#environment = await findEnvironment();
    show();
    let shown = performance.now();
    try {
      for await (const extent of image.map()) {
        if (turn.aborted) return;
        if (extent.kind === 'lost') survey.lost += extent.length;
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
    if (!before && this.state.step !== 'opening' && this.state.step !== 'unlocking') return;
    const choices = this.#environment ? listChoices(image.info, survey, this.#environment) : [];
    const open = choices.filter((choice) => !choice.obstacle);
    const best = open.toSorted((a, b) => (a.seconds ?? 0) - (b.seconds ?? 0))[0];
    const way = open.find((choice) => choice.way === before?.way)?.way ?? (survey.complete ? best?.way : undefined);
    this.#set(turn, { step: 'ready', image, survey, choices, way, otherTab: this.#environment?.otherTab ?? false });
  }

  #fail(turn: AbortSignal, thrown: unknown): void {
    const { kind, message } = thrown instanceof DecantError ? thrown : { kind: 'internal', message: String(thrown) };
    const { file, salvage } = this.#opening!;
    this.#set(turn, {
      step: 'failed',
      message,
      offerRaw: kind === 'not-recognised' && /\.(raw|img)$/i.test(file.name) && file.size > 0,
      offerSalvage: kind === 'corrupt' && !salvage,
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
