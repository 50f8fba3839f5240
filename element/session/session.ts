// The behaviour of the element, without its appearance: takes files, and opens and converts images one after another.

import { type DecantError, prepare, type Snapshot, type Waiting } from 'decant';
import { reopened } from '../failures/failure.js';
import { recall } from '../failures/interrupted.js';
import { labelOf } from '../files/bundle.js';
import { pickFiles } from '../files/dropped.js';
import { type InputFile, inputOf, plain } from '../files/input-file.js';
import { allOf, type Opening } from '../files/opening.js';
import { LinkEntry } from '../opening/link-entry.js';
import { Opener } from '../opening/opener.js';
import { Queue } from '../queue/queue.js';
import { Chooser } from '../saving/chooser.js';
import { digestDisk, digestResult } from '../saving/digest.js';
import { Saver } from '../saving/saver.js';
import type { Controls } from '../steps/controls.js';
import { asError, Screen } from '../steps/screen.js';
import {
  isPlaceBeingChosen,
  type Overall,
  type Remains,
  type Remedy,
  type State,
  type Warning,
} from '../steps/state.js';
import { replaced } from '../texts/replaced.js';
import type { AllTexts, MissingFile, Texts } from '../types.texts.js';
import { askToNotify } from '../ways/busy-tab.js';
import type { Way } from '../ways/choices.js';
import { type Host, ratesOfBrowser } from '../ways/environment.js';
import { isUsable, outputChanged } from '../ways/page-output.js';
import { Batch } from './batch.js';
import { Intake } from './intake.js';

const nothingToResume = (): { images: string[]; atOnce: boolean } => ({ images: [], atOnce: false });

export class Session implements Controls {
  readonly queue = new Queue();
  readonly links: LinkEntry;
  readonly chooser: Chooser;
  readonly #screen: Screen;
  readonly #opener: Opener;
  readonly #saver: Saver;
  readonly #intake: Intake;
  readonly #batch: Batch;
  values: Readonly<Record<string, string>> = {};
  isChoosingSnapshot = false;
  /**
   * The images of interrupted conversions that the first screen has listed: when one of them is open, asks whether to resume it. With
   * `atOnce`, any image is resumed without asking.
   */
  #resuming = nothingToResume();

  /** Calls `changed` after every visible change. */
  constructor(host: Host, changed: () => void) {
    this.#screen = new Screen(host, () => {
      this.chooser.openIfNecessary();
      changed();
    });
    this.chooser = new Chooser(this.#screen, this.queue);
    this.#opener = new Opener(this.#screen, this.queue, this.chooser);
    this.#saver = new Saver(this.#screen, this.queue, this.chooser);
    this.#batch = new Batch(this.#screen, this.queue, this.#opener, this.#saver);
    this.#intake = new Intake(this.#screen, this.queue, this.#opener, this.#batch);
    this.links = new LinkEntry(this.#screen, this);
  }

  get state(): State {
    return this.#batch.state(this.#resuming.atOnce);
  }

  get isContinuing(): boolean {
    return this.#batch.upcoming(this.#resuming.atOnce) !== undefined;
  }

  get texts(): AllTexts {
    return this.#screen.texts;
  }

  /** That something was copied is shown at its button instead. */
  get news(): string {
    return this.copied === undefined ? this.#screen.news : '';
  }

  get copied(): string | undefined {
    return this.#screen.copied;
  }

  get announcedNews(): Warning[] {
    return this.#screen.announcedNews;
  }

  /** Shows the texts of a language, with the page's replacements. */
  useTexts(texts: AllTexts, replacements: Texts | undefined): void {
    this.#screen.texts = replaced(texts, replacements);
    this.#screen.refresh();
  }

  get waiting(): Waiting | undefined {
    return this.#screen.at('converting')?.waiting ?? this.#screen.waiting;
  }

  get opening(): Opening | undefined {
    return this.#screen.opening;
  }

  get isBusy(): boolean {
    return this.#screen.isBusy;
  }

  get isConvertingAll(): boolean {
    return this.#batch.isRunning;
  }

  get imagesWaiting(): number {
    return this.queue.waiting.length;
  }

  get overall(): Overall | undefined {
    return this.#screen.phase === 'end' ? this.queue.overall : undefined;
  }

  /** Whether new files are for the image that is shown, because it needs some. */
  get asksForFile(): boolean {
    return this.#opener.asksForFile;
  }

  /** Whether an image is open or being opened. Until it ends, the page must not set or remove `output`. */
  get #isUnderWay(): boolean {
    const { phase } = this.#screen;
    return this.isConvertingAll || (phase !== 'start' && phase !== 'end');
  }

  /** Ends what is under way if the page has set or removed `output`: the person was offered something else. */
  changeOutput(before: unknown): void {
    if (!this.#isUnderWay) return;
    const { output, outputProblem } = this.#screen.host;
    if (outputProblem) this.#refuse(outputProblem);
    else if (isUsable(before) !== isUsable(output)) this.#refuse(outputChanged());
  }

  /** Shows a mistake of the page, to the person and to its developer. */
  #refuse(error: DecantError): void {
    this.#batch.end();
    reportError(error);
    this.#screen.crash(error);
  }

  /** Gets ready for an image, while the person drags a file over the element or looks for one. */
  prepare(): void {
    // Opening an image fails for the same reason, and reports it.
    prepare().catch(() => {});
    // Without rates, the element shows no times.
    if (!this.#screen.host.output && isSecureContext) ratesOfBrowser().catch(() => {});
  }

  take(files: InputFile[]): void {
    const [first, ...others] = files;
    this.takeFrom(first && others.length === 0 ? first.file.name : this.texts.chosen, async () => files);
  }

  /** Takes the files that `find` fetches or lists. Shows `name` until then. */
  takeFrom(name: string, find: () => Promise<InputFile[]>): void {
    const first = this.#screen.at('empty');
    if (first)
      this.#resuming.images = (first.remains ?? []).flatMap(({ resumable, image }) => (resumable ? image : []));
    this.#step(() => this.#intake.takeFrom(name, find));
  }

  takePlain(files: Iterable<File>): void {
    this.take(plain(files));
  }

  choose(fallback: () => void): void {
    this.#pick(fallback, () => {});
  }

  resume(fallback: () => void): void {
    this.#pick(fallback, () => {
      this.#resuming.atOnce = true;
    });
  }

  takeToResume(files: Iterable<File>): void {
    this.#resuming.atOnce = true;
    this.takePlain(files);
  }

  resumeLink(link: string): void {
    if (link === '') this.links.edit();
    else {
      this.#resuming.atOnce = true;
      this.links.take(link);
    }
  }

  /** Opens the browser's dialog for files, and takes them. Calls `picked` before, or `fallback` if there is no dialog. */
  #pick(fallback: () => void, picked: () => void): void {
    this.#screen.run(
      pickFiles(true).then((handles) => {
        if (!handles) fallback();
        if (!handles?.length) return;
        picked();
        this.takeFrom(this.texts.chosen, () => Promise.all(handles.map(inputOf)));
      }),
    );
  }

  chooseFor(need: MissingFile, fallback: () => void): void {
    this.#screen.run(this.#chooseFor(need, fallback));
  }

  async #chooseFor(need: MissingFile, fallback: () => void): Promise<void> {
    const { turn } = this.#screen;
    const handles = await pickFiles(false);
    if (turn.aborted) return;
    if (!handles) fallback();
    const [handle] = handles ?? [];
    if (!handle) return;
    const input = await inputOf(handle).catch(() => undefined);
    if (turn.aborted) return;
    if (input) await this.#opener.answer(need, input);
    else this.#screen.announce(this.texts.notFetched(handle.name));
  }

  reset(): void {
    const ready = this.#screen.at('ready');
    if (ready && isPlaceBeingChosen(ready)) return;
    this.#leave();
    this.recall();
  }

  /** Ends everything, because the element is being removed. */
  end(): void {
    for (const { end } of this.queue.checks) end();
    this.queue.clear();
    this.#leave();
  }

  #leave(): void {
    this.#batch.end();
    this.#resuming = nothingToResume();
    if (['choice', 'conversion'].includes(this.#screen.phase) || this.#screen.at('done')) this.links.forget();
    this.queue.begin();
    this.#screen.news = '';
    this.#screen.begin('left', {});
  }

  /** Lists the remains of interrupted conversions on the first screen. */
  recall(): void {
    this.#screen.run(recall(this.#screen));
  }

  removeRemains(remains: Remains): void {
    const { turn } = this.#screen;
    this.#step(async () => {
      const text = await remains.remove().catch((thrown) => this.texts.failure(asError(thrown)));
      if (turn.aborted) return;
      this.#screen.news = text;
      const others = this.#screen.at('empty')?.remains?.filter((one) => one !== remains);
      this.#screen.update(turn, 'empty', { remains: others });
      await recall(this.#screen);
    });
  }

  openNext(id?: number, remedy?: Remedy): void {
    this.#step(() => this.#opener.openNext(id, remedy));
  }

  remove(id: number): void {
    const removed = this.queue.remove(id);
    this.#screen.announce(removed ? this.texts.queued.removed(labelOf(removed.bundle)) : '');
  }

  takeRemedy(remedy: Remedy): void {
    const { opening } = this;
    if (remedy === 'next') this.openNext();
    else if (remedy === 'another' || !opening) this.reset();
    else if (remedy === 'editLink') {
      this.reset();
      this.links.edit();
    } else {
      this.queue.resume(opening.bundle);
      this.#step(() => this.#opener.open(reopened(remedy, opening)));
    }
  }

  chooseSnapshot(at: number): void {
    const { opening } = this;
    if (!opening || this.isBusy) return;
    const { snapshot: _before, ...rest } = opening;
    const id = this.snapshots[at]?.id;
    const chosen = { ...rest, missing: [], ...(id === undefined ? {} : { snapshot: id }) };
    this.#step(() => this.#opener.open(chosen));
    this.isChoosingSnapshot = true;
  }

  get snapshots(): readonly Snapshot[] {
    return this.#screen.at('disks')?.snapshots ?? this.#screen.at('ready')?.image.info.snapshots ?? [];
  }

  get snapshotIndex(): number {
    const { snapshot } = this.opening ?? {};
    return snapshot === undefined ? -1 : this.snapshots.findIndex(({ id }) => id === snapshot);
  }

  get isSalvage(): boolean {
    return this.opening !== undefined && allOf(this.opening).some(({ salvage }) => salvage);
  }

  chooseDisks(indexes: number[]): void {
    const { opening } = this;
    const asked = this.#screen.at('disks');
    if (!asked || !opening) return;
    if (indexes.length === 0) {
      this.#screen.update(this.#screen.turn, 'disks', { notice: this.texts.noDiskChosen });
      return;
    }
    const { bundle, companions, snapshot } = opening;
    const disks = indexes.map((at) => ({
      bundle: {
        ...bundle,
        companions,
        disk: { number: at + 1, name: asked.disks[at]!.name },
        ...(snapshot === undefined ? {} : { snapshot }),
      },
    }));
    this.openNext(this.queue.split(disks));
  }

  get joinable(): number {
    return this.#screen.at('ready') ? this.queue.joinable(this.opening) : 0;
  }

  get isTogether(): boolean {
    return this.opening !== undefined && this.opening.beside.length > 0;
  }

  joinDisks(): void {
    if (this.joinable === 0 || this.isBusy) return;
    this.#step(() => this.#opener.openTogether());
  }

  separateDisks(): void {
    if (!this.opening || this.isBusy) return;
    const { outputName: _, ...opening } = this.opening;
    this.queue.resume(opening.bundle);
    const disks = allOf(opening).map((disk) => ({ bundle: disk.bundle, opening: { ...disk, beside: [] } }));
    this.openNext(this.queue.split(disks));
  }

  useAsDisk(name: string): void {
    const offered = this.#screen.at('disks')?.offered;
    if (!offered) return;
    for (const { id, bundle } of this.queue.waiting) if (bundle.top === offered) this.queue.remove(id);
    this.#step(() => this.#opener.take([{ ...offered, as: name }]));
  }

  unpack(): void {
    this.#step(() => this.#opener.unpack());
  }

  allowMemory(): void {
    this.#step(() => this.#opener.allowMemory());
  }

  answer(need: MissingFile, input: InputFile, confirmed = false): void {
    this.#step(() => this.#opener.answer(need, input, confirmed));
  }

  takeBack(need: MissingFile): void {
    this.#step(() => this.#opener.takeBack(need));
  }

  unlock(name: string, password: string, assumePassword: boolean): void {
    const { opening } = this;
    if (!opening) return;
    opening.passwords.give(name, password);
    this.#step(() => this.#opener.open({ ...opening, assumePassword }));
  }

  convert(way?: Way): void {
    // The person did not wait to be asked whether to resume.
    this.#resuming = nothingToResume();
    this.#step(() => this.#saver.convert(way));
  }

  saveAnyway(): void {
    this.#step(() => this.#saver.saveAnyway());
  }

  convertAll(): void {
    const ready = this.#screen.at('ready');
    if (!ready?.way) return;
    this.#resuming = nothingToResume();
    this.#step(async () => this.#batch.begin(ready));
  }

  pickFolder(): void {
    this.#screen.run(this.#saver.pickFolder());
  }

  replace(): void {
    this.#step(() => this.#saver.replace());
  }

  useFreeName(): void {
    this.#step(() => this.#saver.useFreeName());
  }

  download(resumes: boolean): void {
    this.#step(() => this.#saver.download(resumes));
  }

  downloadAgain(): void {
    this.#step(() => this.#saver.downloadAgain());
  }

  cancel(): void {
    this.#batch.end();
    this.#step(async () => this.#saver.cancel());
  }

  leaveToBrowser(): void {
    if (!this.#saver.leaveToBrowser()) return;
    if (this.imagesWaiting > 0) this.openNext();
    else this.reset();
  }

  cancelInBackground(id: number): void {
    this.queue.inBackground.find((item) => item.id === id)?.background.cancel();
    this.#screen.refresh();
  }

  dismiss(id: number): void {
    this.queue.remove(id);
    this.#screen.refresh();
  }

  digest(): void {
    this.#screen.news = '';
    this.#screen.run(digestResult(this.#screen));
  }

  digestDisk(): void {
    this.#screen.news = '';
    this.#screen.run(digestDisk(this.#screen));
  }

  fillIn = (placeholder: string, value: string): void => {
    this.values = { ...this.values, [placeholder]: value };
    this.#screen.refresh();
  };

  copy(text: string): void {
    this.#screen.copy(text);
  }

  askToNotify(): void {
    this.#screen.run(
      askToNotify().then((isRefused) => {
        if (isRefused) this.#screen.news = this.texts.notifyRefused;
        this.#screen.refresh();
      }),
    );
  }

  /** Clears the latest news, and runs `work`, a step that the person has chosen. */
  #step(work: () => Promise<void>): void {
    this.#screen.news = '';
    this.isChoosingSnapshot = false;
    const { outputProblem } = this.#screen.host;
    if (outputProblem) {
      this.#refuse(outputProblem);
      return;
    }
    this.#screen.run(
      work()
        .then(() => this.#resume())
        .then(() => this.#batch.run()),
    );
  }

  /** Resumes the conversion of the image that is open, if it is one that was interrupted. */
  async #resume(): Promise<void> {
    const [{ images, atOnce }, { ready }] = [this.#resuming, this.chooser];
    if (!ready) return;
    if (!atOnce) this.#resuming = nothingToResume();
    try {
      const isListed = images.includes(ready.image.info.name ?? '');
      if (atOnce || isListed) await this.#saver.resume(atOnce, isListed);
    } finally {
      this.#resuming = nothingToResume();
      this.#screen.refresh();
    }
  }
}
