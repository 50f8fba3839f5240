// The behaviour of the element, without its appearance: takes files, and opens and converts images one after another.

import type { OutputFormat, Snapshot, Waiting } from 'decant';
import { asError } from '../errors.js';
import { recall } from '../failures/interrupted.js';
import { nextSteps } from '../failures/next-steps.js';
import { labelOf } from '../files/bundle.js';
import { pickFiles } from '../files/dropped.js';
import { type Given, givenBy, plain } from '../files/input-file.js';
import { beginOpening, type Opening, openingAfter } from '../files/opening.js';
import type { Host } from '../host.js';
import { LinkEntry } from '../opening/link-entry.js';
import { Opener } from '../opening/opener.js';
import { type Overall, Queue } from '../queue/queue.js';
import { digestResult } from '../saving/digest.js';
import { askToNotify } from '../saving/notification.js';
import { Saver } from '../saving/saver.js';
import { Stage } from '../steps/stage.js';
import type { FileNeed, Left, Next, State } from '../steps/state.js';
import { replaced } from '../texts/languages.js';
import type { AllTexts, Texts } from '../types.texts.js';
import type { Way } from '../ways/choices.js';
import type { Destination } from '../ways/destinations.js';
import { Batch } from './batch.js';
import { Intake } from './intake.js';

export class Session {
  readonly queue = new Queue();
  readonly links: LinkEntry;
  readonly #stage: Stage;
  readonly #opener: Opener;
  readonly #saver: Saver;
  readonly #intake: Intake;
  /** Made when the person asks for all images. */
  #batch: Batch | undefined;
  /** The latest news about files and the queue. Empty after the person's next step, and at the end of a conversion. */
  news = '';
  /** Whether the person looks at what can be changed. */
  isChanging = false;
  /** The text by which the person looks for a place. */
  placeSearch = '';
  /** Whether a snapshot was chosen in the last step: the focus stays on the list. */
  isChoosingSnapshot = false;

  /** Calls `changed` after every visible change. */
  constructor(host: Host, changed: () => void) {
    this.#stage = new Stage(host, changed);
    this.#opener = new Opener(
      this.#stage,
      (turn, thrown, title) => this.#failed(turn, thrown, title),
      (files) => this.#run(this.#intake.enqueueImages(files)),
      (names) => this.#intake.claim(names),
      () => this.queue.made,
    );
    this.#intake = new Intake(this, this.#stage, this.#opener, {
      begin: (state) => this.#begin(state),
      openNext: () => this.#openNext(),
      report: (turn, notice) => this.#report(turn, notice),
    });
    this.links = new LinkEntry(this, this.#stage, (turn, notice) => this.#report(turn, notice));
    this.#saver = new Saver(
      this.#stage,
      this.#opener,
      (place, { lostBytes, lostRanges }) => {
        this.news = '';
        const lost = lostBytes > 0 ? [this.texts.lost(lostBytes, lostRanges)] : [];
        this.queue.finish([this.texts.queued.saved(place), ...lost].join('. '), place.name, lostBytes > 0);
      },
      (turn, thrown, title, left) => {
        if (!turn.aborted) this.news = '';
        return this.#failed(turn, thrown, title, left);
      },
    );
  }

  get state(): State {
    return this.#stage.state;
  }

  get texts(): AllTexts {
    return this.#stage.texts;
  }

  /** Shows the texts of a language, with the page's replacements. */
  useTexts(texts: AllTexts, replacements: Texts | undefined): void {
    this.#stage.texts = replaced(texts, replacements);
    this.#stage.refresh();
  }

  /** The server that keeps the session waiting. */
  get waiting(): Waiting | undefined {
    const { state } = this;
    return (state.step === 'converting' && state.waiting) || this.#stage.waiting;
  }

  get opening(): Opening | undefined {
    return this.#opener.opening;
  }

  /** Whether new images have to wait, because a disk is being written or its place is being chosen. */
  get isBusy(): boolean {
    const { state } = this;
    return state.step === 'converting' || (state.step === 'ready' && state.placing);
  }

  /** Whether the images are converted one after the other, without a step of the person. */
  get isConvertingAll(): boolean {
    return this.#batch?.isRunning ?? false;
  }

  /** Whether new files are for the image that is shown, because it needs some. */
  get asksForFile(): boolean {
    return this.#opener.missing.length > 0;
  }

  take(files: Given[]): void {
    const [first, ...others] = files;
    this.takeFrom(first && others.length === 0 ? first.file.name : this.texts.chosen, async () => files);
  }

  /** Takes the files that `find` fetches or lists. Shows `name` until then. */
  takeFrom(name: string, find: () => Promise<Given[]>): void {
    this.#step(() => this.#intake.takeFrom(name, find));
  }

  /** Opens the browser's dialog for files. Calls `fallback` if there is none. */
  choose(fallback: () => void): void {
    this.#run(
      pickFiles(true).then((handles) => {
        if (!handles) fallback();
        else if (handles.length > 0) this.takeFrom(this.texts.chosen, () => Promise.all(handles.map(givenBy)));
      }),
    );
  }

  /** Opens the browser's dialog for the file that `need` asks for. Calls `fallback` if there is none. */
  chooseFor(need: FileNeed, fallback: () => void): void {
    const { turn } = this.#stage;
    this.#run(
      (async () => {
        const handles = await pickFiles(false);
        if (turn.aborted) return;
        if (!handles) fallback();
        const [handle] = handles ?? [];
        if (!handle) return;
        const given = await givenBy(handle).catch(() => undefined);
        if (turn.aborted) return;
        if (given) await this.#opener.answer(need, given);
        else this.#report(undefined, this.texts.notFetched(handle.name));
      })(),
    );
  }

  /** Takes the files of an `<input>` or a paste, which have no handles. */
  takePlain(files: Iterable<File>): void {
    this.take(plain(files));
  }

  /** Ends the current turn and returns to the start. Images in the queue stay there. */
  reset(): void {
    // A dialog for this image is open, which must be answered first.
    if (this.state.step === 'ready' && this.state.placing) return;
    this.#begin({ step: 'empty' });
    this.recall();
  }

  /** Removes what an interrupted conversion has left, and reports it. */
  removeLeft(left: Left): void {
    const { turn } = this.#stage;
    this.#step(async () => {
      const text = await left.remove().catch((thrown) => this.texts.failure(asError(thrown)));
      if (turn.aborted) return;
      this.news = text;
      await recall(this.#stage);
    });
  }

  /** Lists on the first screen what interrupted conversions have left. */
  recall(): void {
    this.#run(recall(this.#stage));
  }

  /** Ends everything, because the element is being removed. */
  end(): void {
    this.queue.clear();
    this.#begin({ step: 'empty' });
  }

  /** Opens the image `id` of the queue, or the next one; with `next`, as this step after its failure says. */
  openNext(id?: number, next?: Next): void {
    this.#step(() => this.#openNext(id, next));
  }

  /** The results of the queue, if the result that is shown is the last of several. */
  get overall(): Overall | undefined {
    const { step } = this.state;
    return step === 'done' || step === 'failed' ? this.queue.overall : undefined;
  }

  remove(id: number): void {
    const removed = this.queue.remove(id);
    this.news = removed ? this.texts.queued.removed(labelOf(removed.bundle)) : '';
    this.#stage.refresh();
  }

  /** Takes a step that was offered after a failure. */
  takeStep(next: Next): void {
    const { opening } = this;
    if (next === 'next') this.openNext();
    else if (next === 'another' || !opening) this.reset();
    else {
      this.queue.resume(opening.bundle);
      this.#step(() => this.#opener.open(openingAfter(next, opening)));
    }
  }

  /** Opens the snapshot at an index in the list; -1 is the active disk. */
  chooseSnapshot(at: number): void {
    const { opening } = this;
    if (!opening || this.isBusy) return;
    const { snapshot: _before, ...rest } = opening;
    const id = this.snapshots[at]?.id;
    const chosen = { ...rest, missing: [], ...(id === undefined ? {} : { snapshot: id }) };
    this.#step(() => this.#opener.open(chosen));
    this.isChoosingSnapshot = true;
  }

  /** The snapshots of the image or the machine that is shown. */
  get snapshots(): readonly Snapshot[] {
    const { state } = this;
    if (state.step === 'disks') return state.snapshots;
    return state.step === 'ready' ? state.image.info.snapshots : [];
  }

  /** The index of the open snapshot in the list; -1 is the active disk. */
  get snapshotIndex(): number {
    const { snapshot } = this.opening ?? {};
    return snapshot === undefined ? -1 : this.snapshots.findIndex(({ id }) => id === snapshot);
  }

  get isSalvage(): boolean {
    return this.opening?.salvage ?? false;
  }

  /** Queues the disks at these places of the list in place of their archive, and opens the first. */
  chooseDisks(places: number[]): void {
    const { state, opening } = this;
    if (state.step !== 'disks' || !opening) return;
    if (places.length === 0) {
      this.#stage.show(this.#stage.turn, { ...state, notice: this.texts.noDiskChosen });
      return;
    }
    const { bundle, companions, snapshot } = opening;
    const disks = places.map((at) => ({
      ...bundle,
      companions,
      disk: { number: at + 1, name: state.disks[at]!.name },
      ...(snapshot === undefined ? {} : { snapshot }),
    }));
    this.openNext(this.queue.split(disks));
  }

  /** Uses the file that is offered as the missing disk `name` of the machine. */
  useAsDisk(name: string): void {
    const { state } = this;
    const offered = state.step === 'disks' ? state.offered : undefined;
    if (!offered) return;
    for (const { id, bundle } of this.queue.waiting) if (bundle.top === offered) this.queue.remove(id);
    this.news = '';
    this.#step(() => this.#opener.take([{ ...offered, as: name }]));
  }

  /** Unpacks the image that is packed. */
  unpack(): void {
    this.#step(() => this.#opener.unpack());
  }

  /** Decodes the image, which takes much memory. */
  allowMemory(): void {
    this.#step(() => this.#opener.allowMemory());
  }

  /** Uses `given` for `need`. If `confirmed`, doubts about the file are ignored. */
  answer(need: FileNeed, given: Given, confirmed = false): void {
    this.#step(() => this.#opener.answer(need, given, confirmed));
  }

  /** Removes the file that was given for `need`. */
  takeBack(need: FileNeed): void {
    this.#step(() => this.#opener.takeBack(need));
  }

  /** Tries `password` for the layer `name`. */
  unlock(name: string, password: string, assumePassword: boolean): void {
    const { opening } = this;
    if (!opening) return;
    opening.passwords.give(name, password);
    this.#step(() => this.#opener.open({ ...opening, assumePassword }));
  }

  select(way: Way): void {
    this.#saver.select(way);
  }

  selectDestination(destination: Destination): void {
    this.#saver.selectDestination(destination);
  }

  /** Shows the places whose names contain `text`. */
  searchPlace(text: string): void {
    this.placeSearch = text;
    this.#stage.refresh();
  }

  /** Stops proposals, because the person is about to convert. */
  hold(): void {
    this.#saver.hold();
  }

  selectOutput(output: OutputFormat): void {
    this.#saver.selectOutput(output);
  }

  rename(name: string): void {
    this.#saver.rename(name);
  }

  convert(way?: Way): void {
    this.#step(() => this.#saver.convert(way));
  }

  /** Converts the image that is shown, and then all that wait the same way. */
  convertAll(): void {
    const { state } = this;
    if (state.step !== 'ready' || !state.way) return;
    this.#saver.select(state.way);
    this.#step(async () => {
      this.#batch ??= new Batch(this, {
        convert: () => this.#saver.convert(),
        openNext: () => this.#openNext(),
        ended: () => this.#stage.refresh(),
      });
      this.#batch.begin(state);
    });
  }

  otherFolder(): void {
    this.#run(this.#saver.otherFolder());
  }

  replace(): void {
    this.#step(() => this.#saver.replace());
  }

  useFreeName(): void {
    this.#step(() => this.#saver.useFreeName());
  }

  /** Resumes an interrupted download, or starts it over. */
  download(resumes: boolean): void {
    this.#step(() => this.#saver.download(resumes));
  }

  downloadAgain(): void {
    this.#step(() => this.#saver.downloadAgain());
  }

  /** Computes the SHA-256 of the result. */
  digest(): void {
    this.news = '';
    this.#run(digestResult(this.#stage));
  }

  /** Copies a text, such as commands, for the person. */
  copy(text: string): void {
    this.#run(
      navigator.clipboard.writeText(text).then(
        () => this.#report(undefined, this.texts.copyDone),
        () => this.#report(undefined, this.texts.copyFailed),
      ),
    );
  }

  /** Asks for the permission to notify the person at the end. */
  askToNotify(): void {
    this.#run(
      askToNotify().then((isRefused) => {
        if (isRefused) this.news = this.texts.notifyRefused;
        this.#stage.refresh();
      }),
    );
  }

  cancel(): void {
    this.#batch?.end();
    this.#step(async () => this.#saver.cancel());
  }

  #begin(state: State): AbortSignal {
    if (state.step === 'empty') this.#batch?.end();
    this.#opener.opening = undefined;
    this.queue.begin();
    this.news = '';
    return this.#stage.begin(state);
  }

  async #openNext(id?: number, next?: Next): Promise<void> {
    this.placeSearch = '';
    const item = this.queue.take(id, this.opening);
    if (!item) return;
    const opening = { ...(item.opening ?? beginOpening(item.bundle)), missing: [] };
    await this.#opener.open(next ? openingAfter(next, opening) : opening);
  }

  /** Reports a problem with new files: on the first screen if they have begun `turn`, otherwise as news. */
  #report(turn: AbortSignal | undefined, notice: string): void {
    if (turn) this.#stage.show(turn, { step: 'empty', notice });
    else {
      this.news = notice;
      this.#stage.refresh();
    }
  }

  async #failed(
    turn: AbortSignal,
    thrown: unknown,
    title: string,
    whatIsLeft?: Promise<string | undefined>,
  ): Promise<void> {
    const { opening } = this;
    if (turn.aborted || !opening) return;
    const error = asError(thrown);
    this.#stage.host.emit('decant-error', error);
    const [left, next] = await Promise.all([whatIsLeft, nextSteps(error, opening, turn)]);
    if (turn.aborted) return;
    const cancelled = error.kind === 'cancelled';
    const message = this.texts.failure(error);
    this.queue.fail(cancelled ? this.texts.queued.cancelled : message, opening, next);
    const asks = error.code === 'state-format' && next[0] === 'raw';
    const said = asks ? this.texts.isRaw(labelOf(opening.bundle)) : title;
    this.#stage.show(turn, {
      step: 'failed',
      asks,
      title: cancelled ? this.texts.cancelled : said,
      message: cancelled ? undefined : message,
      left,
      next,
    });
  }

  /** Runs `work`, a step of the person, which ends the latest news. */
  #step(work: () => Promise<void>): void {
    this.news = '';
    this.isChoosingSnapshot = false;
    this.#run(work().then(() => this.#batch?.run()));
  }

  /** Runs `work`. Shows an unexpected failure, without ending a conversion that is under way. */
  #run(work: Promise<void>): void {
    work.catch((thrown) => {
      const message = this.texts.failure(asError(thrown));
      if (this.isBusy) {
        this.news = message;
        this.#stage.refresh();
        return;
      }
      this.#stage.begin({ step: 'failed', title: this.texts.failed, message, left: undefined, next: [] });
    });
  }
}
