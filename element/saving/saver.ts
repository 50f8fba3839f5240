// Saves the disk of an image: asks for the place, then converts.

import {
  copyLifetime,
  DecantError,
  type Kept,
  type Leftover,
  leftovers,
  type OutputFormat,
  type Progress,
  type Result,
} from 'decant';
import { asError } from '../errors.js';
import { leftBehind, type StoredRest } from '../failures/left-behind.js';
import { rememberUnfinished } from '../failures/unfinished.js';
import { diskSize } from '../files/image-info.js';
import { mayBeSame } from '../files/input-file.js';
import { nameForOutput, sourcesOf } from '../files/opening.js';
import type { Opener } from '../opening/opener.js';
import type { Stage } from '../steps/stage.js';
import { methodOf, type Place, type Step, type Warning } from '../steps/state.js';
import { hasGpt, type Way } from '../ways/choices.js';
import { type Destination, rememberPlace } from '../ways/destinations.js';
import { downloadName, freeNameIn, isTaken, nameProblem, plainName, problem, problemSoFar } from '../ways/names.js';
import { learn, predict } from '../ways/rates.js';
import { guardWork } from '../ways/work-guard.js';
import { keptDownload, outputAt } from './place.js';
import { ProgressMeter } from './progress-meter.js';

/** The interval at which progress is shown, in milliseconds. */
const TICK = 200;

/** With so many cores, one is left for the digest of an output that passes in order. */
const CORES_TO_DIGEST = 4;

const isNamed = (thrown: unknown, name: string): boolean => thrown instanceof DOMException && thrown.name === name;

/** The part of a conversion's state that does not change. */
type Shown = Pick<Step<'converting'>, 'step' | 'name' | 'place' | 'picture' | 'destination' | 'contents'>;

export class Saver {
  #cancel: AbortController | undefined;

  constructor(
    private readonly stage: Stage,
    private readonly opener: Opener,
    /** Called after a success, if the turn is not over. */
    private readonly done: (place: Place, result: Result) => void,
    /** Called after a failure, if the turn is not over. `left` resolves to a sentence about the remains, if they are known. */
    private readonly failed: (
      turn: AbortSignal,
      thrown: unknown,
      title: string,
      left: Promise<string | undefined>,
    ) => Promise<void>,
  ) {}

  /** The state of the image that is shown; `undefined` while its place is being chosen. */
  get #ready(): Step<'ready'> | undefined {
    const { state } = this.stage;
    return state.step === 'ready' && !state.placing ? state : undefined;
  }

  /** Changes the state of the image of `turn`, unless the turn is over. */
  #change(turn: AbortSignal, change: Partial<Step<'ready'>>): void {
    const { state } = this.stage;
    if (state.step === 'ready') this.stage.show(turn, { ...state, ...change });
  }

  /** Shows why the disk cannot be saved under its name. */
  #refuseName(turn: AbortSignal, nameProblem: Warning): void {
    const { state } = this.stage;
    if (state.step === 'ready') this.#change(turn, { nameProblem, nameRefusals: state.nameRefusals + 1 });
  }

  select(way: Way): void {
    this.opener.way = way;
    // A question applies to one way only.
    const asking = this.#ready?.way === way ? {} : { asking: undefined };
    this.#change(this.stage.turn, { way, isChosen: true, lostWay: undefined, ...asking });
  }

  /** Stops proposals, because the person is about to convert. */
  hold(): void {
    if (this.#ready && !this.#ready.isHeld) this.#change(this.stage.turn, { isHeld: true });
  }

  selectDestination(destination: Destination): void {
    if (!this.#ready) return;
    this.opener.format = undefined;
    this.opener.place = destination.name;
    rememberPlace(destination.name);
    this.stage.host.emit('decant-place', destination.name);
    this.#useOutput(destination.output, destination);
  }

  selectOutput(output: OutputFormat): void {
    if (!this.#ready) return;
    this.opener.format = output.name;
    this.#useOutput(output, undefined);
  }

  #useOutput(output: OutputFormat, destination: Destination | undefined): void {
    const ready = this.#ready;
    if (!ready) return;
    const { turn } = this.stage;
    this.#change(turn, { output, destination, asking: undefined });
    // The suggested name and the ways to save depend on the output.
    this.opener.showImage(ready.image, turn, ready.survey);
    const { state } = this.stage;
    if (state.step === 'ready') this.#change(turn, { nameProblem: problemSoFar(state.name, this.stage.texts) });
  }

  rename(name: string): void {
    if (!this.#ready) return;
    if (this.opener.opening) this.opener.opening.outputName = name;
    const nameProblem = problemSoFar(name, this.stage.texts);
    this.#change(this.stage.turn, { name, nameProblem, asking: undefined });
  }

  /** Asks for another folder. */
  async otherFolder(): Promise<void> {
    const { turn } = this.stage;
    if (this.#ready) await this.#whilePlacing(turn, () => this.#pickFolder(turn));
  }

  /** Asks for the place if necessary, and converts. */
  async convert(way = this.#ready?.way): Promise<void> {
    const state = this.#ready;
    if (!state || !way) return;
    const { turn } = this.stage;
    const unusable = nameProblem(state.name, this.stage.texts) ?? this.#nameTaken(state.name, way);
    if (unusable) {
      this.#refuseName(turn, unusable);
      return;
    }
    // Workers start while a dialog is open. A failure is ignored here, because the conversion reports it.
    state.image.prepare().catch(() => {});
    const place = await this.#whilePlacing(turn, () => this.#askForPlace(turn, way, state));
    if (place && !turn.aborted) await this.#convertTo(place);
  }

  /** Says that the queue has made a file called `name`. Only a typed name can be that of another file. */
  #nameTaken(name: string, way: Way): Warning | undefined {
    if (way !== 'folder' && way !== 'download') return undefined;
    const file = way === 'download' ? downloadName(name) : name;
    return isTaken(file, this.opener.made()) ? problem(this.stage.texts.nameMade) : undefined;
  }

  /** Replaces the existing file that the person was asked about. */
  async replace(): Promise<void> {
    const asking = this.#ready?.asking;
    if (asking?.kind !== 'replace') return;
    const { folder, name, there } = asking;
    await this.#convertTo({ kind: 'folder', folder, name, replaces: there });
  }

  /** Saves under a free name instead of replacing the existing file. The name in the text field stays. */
  async useFreeName(): Promise<void> {
    const asking = this.#ready?.asking;
    if (asking?.kind !== 'replace' && asking?.kind !== 'source') return;
    const { folder, freeName: name } = asking;
    const { turn } = this.stage;
    // Another program may have created a file with this name by now.
    const isFree = await this.#whilePlacing(turn, () => this.#isFree(turn, folder, name));
    if (isFree && !turn.aborted) await this.#convertTo({ kind: 'folder', folder, name, replaces: undefined });
  }

  /** Resumes the interrupted download that the person was asked about, or starts over. */
  async download(resumes: boolean): Promise<void> {
    const state = this.#ready;
    if (state?.asking?.kind !== 'resume') return;
    const { turn } = this.stage;
    const { name, kept } = state.asking;
    const isThere = await this.#whilePlacing(turn, async () => {
      if (resumes) return ((await keptDownload(state.image, name, state.output))?.guestDone ?? 0) > 0;
      await kept.discard();
      return true;
    });
    if (turn.aborted) return;
    if (isThere) await this.#convertTo({ kind: 'stored', name, kept });
    else this.#change(turn, { asking: { kind: 'elsewhere', name, kept } });
  }

  /** Starts over a download that another tab has resumed, and leaves the part of that tab alone. */
  async downloadAgain(): Promise<void> {
    const asking = this.#ready?.asking;
    if (asking?.kind === 'elsewhere') await this.#convertTo({ kind: 'stored', name: asking.name, kept: asking.kept });
  }

  cancel(): void {
    const { state } = this.stage;
    if (state.step !== 'converting' || state.cancelling) return;
    this.stage.show(this.stage.turn, { ...state, cancelling: true });
    this.#cancel?.abort();
  }

  /** Runs `ask`, which asks for a place. Until it ends, the image and the name cannot be changed. */
  async #whilePlacing<T>(turn: AbortSignal, ask: () => Promise<T>): Promise<T> {
    this.#change(turn, { placing: true, asking: undefined });
    try {
      return await ask();
    } finally {
      this.#change(turn, { placing: false });
    }
  }

  /** Finds the place for `way` and the current name. Returns `undefined` if the person must answer a question first. */
  async #askForPlace(turn: AbortSignal, way: Way, state: Step<'ready'>): Promise<Place | undefined> {
    const { name } = state;
    if (way === 'dialog') {
      const handle = await this.#pickFile(turn, name, state.output);
      return handle && { kind: 'dialog', handle, name: handle.name };
    }
    if (way === 'folder') {
      const folder = state.folder ?? (await this.#pickFolder(turn));
      if (!folder || turn.aborted || !(await this.#isFree(turn, folder, name))) return undefined;
      return { kind: 'folder', folder, name, replaces: undefined };
    }
    if (way === 'host') return { kind: 'host', name };
    return this.#askForDownload(turn, way, state);
  }

  /** As {@link #askForPlace}, for a download. */
  async #askForDownload(turn: AbortSignal, way: Way, state: Step<'ready'>): Promise<Place | undefined> {
    const name = downloadName(state.name);
    const kept = await keptDownload(state.image, name, state.output);
    const { virtualSize = 0 } = state.image.info;
    // The person may have chosen another way in the meantime.
    if (this.stage.state.step === 'ready' && this.stage.state.way !== way) return undefined;
    if (kept && kept.guestDone > 0) {
      // The kept part already has its room in the storage. Even if little remains, the download is not complete: never 100%.
      const share = Math.min(kept.guestDone / virtualSize, 0.99);
      this.#change(turn, { asking: { kind: 'resume', name, share, kept } });
      return undefined;
    }
    const method = state.choices.find((choice) => choice.way === 'download')?.method;
    return method === 'streamed' ? { kind: 'streamed', name } : { kind: 'stored', name, kept };
  }

  /** Whether `folder` has no file called `name`. If there is one, asks the person what to do. */
  async #isFree(turn: AbortSignal, folder: FileSystemDirectoryHandle, name: string): Promise<boolean> {
    try {
      const handle = await folder.getFileHandle(name);
      const sources = sourcesOf(this.opener.opening!);
      const there = { file: await handle.getFile(), handle };
      const same = await Promise.all(sources.map((source) => mayBeSame(there, source)));
      const taken = [...sources.map(({ file }) => file.name), ...this.opener.made()];
      const freeName = await freeNameIn(folder, this.#unnumbered(name), taken);
      const asked = { folder, name, freeName };
      this.#change(turn, {
        asking: same.includes(true) ? { kind: 'source', ...asked } : { kind: 'replace', ...asked, there: there.file },
      });
    } catch (thrown) {
      if (isNamed(thrown, 'NotFoundError')) return true;
      if (isNamed(thrown, 'TypeMismatchError')) this.#refuseName(turn, problem(this.stage.texts.folderOfName));
      else if (thrown instanceof TypeError) this.#refuseName(turn, problem(this.stage.texts.nameRefused));
      else {
        // The permission or the folder itself is gone.
        this.opener.folder = undefined;
        this.#change(turn, { folder: undefined, asking: { kind: 'noFolder' } });
      }
    }
    return false;
  }

  /** The name to number instead of `name`: the typed one, or the suggested one without its number. */
  #unnumbered(name: string): string {
    const { opening } = this.opener;
    const { state } = this.stage;
    if (!opening || state.step !== 'ready') return name;
    return opening.outputName ?? plainName(nameForOutput(opening, state.image.info), state.output.extension);
  }

  /** Opens a dialog of the browser. Returns `undefined` if the dialog was closed or refused. */
  async #whilePicking<T>(
    turn: AbortSignal,
    way: 'folder' | 'dialog',
    dialog: () => Promise<T>,
  ): Promise<T | undefined> {
    this.#change(turn, { picking: true });
    try {
      const picked = await dialog();
      this.#change(turn, { picking: false });
      return picked;
    } catch (thrown) {
      const { state } = this.stage;
      const isChosen = state.step === 'ready' && state.way === way;
      this.#change(turn, { picking: false });
      if (!isNamed(thrown, 'AbortError')) this.#noDialog(turn, way);
      // No question if a folder was picked before, or if the person has chosen another way in the meantime.
      else if (isChosen && way === 'folder' && !this.opener.folder)
        this.#change(turn, { asking: { kind: 'noFolder' } });
      return undefined;
    }
  }

  /** Marks the way whose dialog the browser refuses as impossible. */
  #noDialog(turn: AbortSignal, way: 'folder' | 'dialog'): void {
    const { environment } = this.opener;
    const { state, texts } = this.stage;
    if (turn.aborted || !environment || state.step !== 'ready') return;
    this.opener.way = undefined;
    environment[`${way}Obstacle`] = texts.pickerFailed;
    if (way === 'folder') environment.dialogObstacle ??= texts.pickerFailed;
    this.opener.showImage(state.image, turn, state.survey);
  }

  async #pickFolder(turn: AbortSignal): Promise<FileSystemDirectoryHandle | undefined> {
    const pick = () => showDirectoryPicker({ id: 'decant', mode: 'readwrite' });
    const folder = await this.#whilePicking(turn, 'folder', pick);
    if (!folder) return undefined;
    // The picked folder is also proposed for the next image.
    this.opener.way = 'folder';
    this.opener.folder = folder;
    this.#change(turn, { folder });
    return folder;
  }

  async #pickFile(turn: AbortSignal, name: string, output: OutputFormat): Promise<FileSystemFileHandle | undefined> {
    const { label, extension } = output;
    const types = [{ description: label, accept: { 'application/octet-stream': [extension] } }];
    return this.#whilePicking(turn, 'dialog', () => showSaveFilePicker({ id: 'decant', suggestedName: name, types }));
  }

  /** Converts the image that is shown to `place`, and shows the progress and the result. */
  async #convertTo(place: Place): Promise<void> {
    const { state, turn, texts } = this.stage;
    if (state.step !== 'ready') return;
    const { image, survey, output: format, destination } = state;
    const isSized = image.info.virtualSize !== undefined;
    const name = image.info.name ?? texts.image;
    // Shown at once, because a download may start slowly: it must not be started twice, and can be cancelled.
    const nothing = { share: 0, secondsLeft: undefined, speed: undefined, silence: 0, stalled: 0, waiting: undefined };
    const { picture, contents } = survey;
    const shown = { step: 'converting', name, place, picture, destination, contents } as const;
    this.stage.show(turn, { ...shown, phase: 'converting', ...nothing, cancelling: false });
    const release = guardWork();
    const remembered = rememberUnfinished(place, name);
    // A page may have no database: then the next visit says nothing.
    remembered.catch(() => {});
    const cancel = new AbortController();
    this.#cancel = cancel;
    const start = performance.now();
    const { environment, opening } = this.opener;
    const { rates, isRemote = false } = environment ?? {};
    const data = survey.complete && isSized ? survey.data : undefined;
    let ticking: ReturnType<typeof setInterval> | undefined;
    /** Whether the place may have been written to. */
    let hasBegun = false;
    try {
      const ended = AbortSignal.any([turn, cancel.signal]);
      const { output, signal, taken } = await outputAt(
        place,
        { info: image.info, format, name: place.name },
        ended,
        this.stage,
      );
      hasBegun = true;
      const method = methodOf(place);
      // A compressed output has fewer bytes than the disk, so the bytes that the browser has taken do not measure progress.
      const counted = taken && isSized && !format.compressed ? { taken } : {};
      const { compressed } = format;
      const isMeasured = !isRemote && (environment?.measured.includes(method) ?? false);
      const work = { method, virtualSize: diskSize(image.info), data, rates, isMeasured, compressed };
      const meter = new ProgressMeter({ ...work, ...counted });
      const show = () => this.#showProgress(turn, shown, meter);
      show();
      ticking = setInterval(show, TICK);
      const onProgress = (progress: Progress) => {
        meter.update(progress);
        if (picture) picture.done = progress.cells;
        this.stage.host.emit('decant-progress', progress);
      };
      const resume = place.kind === 'stored' && place.kept !== undefined;
      const result = await image.convert(output, {
        format: format.name,
        formatOptions: format.recommended,
        signal,
        onProgress,
        resume,
        sha256: (method === 'streamed' || method === 'host') && navigator.hardwareConcurrency >= CORES_TO_DIGEST,
      });
      if (picture) picture.done = undefined;
      // Compression or the network may take most of the time, so these conversions do not measure the speed of writing.
      if (!compressed && !isRemote) learn(method, result, meter.dataDone);
      this.stage.host.emit('decant-done', result);
      if (turn.aborted) return;
      this.done(place, result);
      const copying = rates && predict(rates, method, result.outputSize, meter.dataDone).copying;
      const times = { seconds: (performance.now() - start) / 1000, copying };
      this.#showDone(turn, shown, result, meter, { ...times, hasGpt: hasGpt(survey) });
    } catch (thrown) {
      const isCancelled = cancel.signal.aborted || turn.aborted;
      const ending = isCancelled && !hasBegun ? new DecantError('cancelled', texts.cancelled) : thrown;
      // A place that has failed is not proposed again.
      const error = asError(ending);
      const { kind, code } = error;
      if (place.kind === 'folder' && kind === 'target') this.opener.folder = undefined;
      if (opening && place.kind === 'stored' && code === 'storage-full') opening.wasFull = true;
      const rest = await storedRest(place, error, isCancelled, name);
      // The element has left the page and shows nothing.
      if (turn.aborted) return this.stage.host.emit('decant-error', error);
      const left = hasBegun ? leftBehind(place, rest, texts) : Promise.resolve(texts.nothingLeft);
      await this.failed(turn, ending, texts.notConverted(name), left);
    } finally {
      clearInterval(ticking);
      release();
      remembered.then((forget) => forget()).catch(() => {});
    }
  }

  #showProgress(turn: AbortSignal, shown: Shown, meter: ProgressMeter): void {
    const { state } = this.stage;
    const cancelling = state.step === 'converting' && state.cancelling;
    const phase = meter.phase === 'finalizing' ? 'finishing' : 'converting';
    this.stage.show(turn, { ...shown, phase, ...meter.read(), cancelling });
  }

  /** Shows the result. `more` has the time that it took, and the time for which the browser copies the download. */
  #showDone(
    turn: AbortSignal,
    shown: Shown,
    result: Result,
    meter: ProgressMeter,
    more: Pick<Step<'done'>, 'seconds' | 'copying' | 'hasGpt'>,
  ): void {
    const { place, picture } = shown;
    const speed = meter.speed();
    const converting = result.time.converting / 1000;
    // The cancel came when the conversion could no longer be stopped.
    const tooLate = this.#cancel?.signal.aborted ?? false;
    for (const range of result.lost) picture?.lose(range);
    const done = { ...shown, step: 'done', result, converting, speed, tooLate, ...more } as const;
    this.stage.show(turn, { ...done, isCopyGone: false });
    if (place.kind !== 'stored') return;
    // The package has removed the copy by then.
    const gone = setTimeout(() => {
      const { state } = this.stage;
      if (state.step === 'done') this.stage.show(turn, { ...state, isCopyGone: true });
    }, copyLifetime(result.outputSize));
    turn.addEventListener('abort', () => clearTimeout(gone));
  }
}

/** What an unsuccessful conversion of the image `name` leaves in the browser's storage. After a cancel, it is discarded. */
async function storedRest(place: Place, error: DecantError, isCancelled: boolean, name: string): Promise<StoredRest> {
  const { kept, stored } = error.fields;
  if (place.kind !== 'stored') return 'nothing';
  if (typeof stored === 'number') return stored;
  if (isCancelled) return discarded(place.kept);
  if (kept || !place.kept) return kept ? 'kept' : 'nothing';
  // The conversion may have failed before it resumed an earlier part.
  const isOurs = ({ kind, image }: Leftover) => kind === 'download' && image === name;
  return leftovers().then(
    (found) => (found.some(isOurs) ? 'kept' : 'nothing'),
    () => 'unknown',
  );
}

/** Discards `kept`. Returns what remains. */
async function discarded(kept: Kept | undefined): Promise<StoredRest> {
  try {
    await kept?.discard();
    return 'nothing';
  } catch (thrown) {
    const { stored } = asError(thrown).fields;
    return typeof stored === 'number' ? stored : 'unknown';
  }
}
