// One conversion of the image that is shown: from its start until its result or its failure is shown. While the browser checks the
// file, the conversion can move to the background: then it has its own images, and no longer depends on the turn.

import { type AnyImage, type ConvertResult, DecantError, type Output, type Progress, shownText } from 'decant';
import { fail, remediesAfter } from '../failures/failure.js';
import { forgetLink, rememberLink } from '../failures/image-links.js';
import { describeRemains, storedRemains } from '../failures/remains.js';
import { rememberUnfinished } from '../failures/unfinished.js';
import type { Opening } from '../files/opening.js';
import type { Item, Queue } from '../queue/queue.js';
import { canLeaveToBrowser, isTooLateToCancel } from '../steps/announcement.js';
import { asError, type Screen } from '../steps/screen.js';
import { methodOf, type Step, type Target } from '../steps/state.js';
import { noticesOf } from '../steps/warnings.js';
import { sentence } from '../texts/wording.js';
import type { SaveMethod } from '../types.texts-results.js';
import { guardWork, notify } from '../ways/busy-tab.js';
import { diskChange, fileLength, imagesIn, isVerified, knownSize, takesHours, totalSize } from '../ways/choices.js';
import type { Environment } from '../ways/environment.js';
import { predict, recordRates } from '../ways/rates.js';
import type { Chooser } from './chooser.js';
import { ProgressMeter } from './progress-meter.js';
import { outputAt } from './target.js';

/** The interval at which progress is shown, in milliseconds. */
const PROGRESS_INTERVAL = 200;

/** With at least this many cores, one is free to compute the digest of an output that is written in order. */
const CORES_TO_DIGEST = 4;

/** The progress before the first report. */
const NO_PROGRESS = {
  share: 0,
  secondsLeft: undefined,
  speed: undefined,
  silence: 0,
  stalled: 0,
  finishing: undefined,
  waiting: undefined,
};

/** Which phase is shown as which; all others are shown as converting. */
const SHOWN_PHASES: Partial<Record<Progress['phase'], Step<'converting'>['phase']>> = {
  finalizing: 'finishing',
  verifying: 'verifying',
};

/** The fields of the step that stay the same during a conversion. */
type Shown = Pick<Step<'converting'>, 'name' | 'target' | 'picture' | 'destination' | 'contents' | 'takesHours'>;

export class Conversion {
  readonly #turn: AbortSignal;
  /** Aborted by the person. */
  readonly #cancel = new AbortController();
  /** Aborted if the turn ends, unless the conversion is in the background; and if the element is being removed. */
  readonly #end = new AbortController();
  /** The item of a conversion in the background. */
  #item: Item | undefined;
  /** The images of a conversion in the background. */
  #images: AnyImage[] = [];
  #moveToBackground = () => {};
  readonly #inBackground = new Promise<void>((resolve) => {
    this.#moveToBackground = resolve;
  });
  /** Whether the person has cancelled when the file could no longer be stopped. */
  #isTooLate = false;
  readonly #start = performance.now();
  readonly #method: SaveMethod;
  readonly #shown: Shown;
  readonly #opening: Opening | undefined;
  readonly #environment: Environment | undefined;
  /** Whether the target may have been written to. */
  #hasBegun = false;
  #hasEnded = false;
  /** Deletes the record of the file that this conversion would leave empty if the tab were closed. */
  #forget = () => {};
  #ticking: ReturnType<typeof setInterval> | undefined;

  constructor(
    private readonly screen: Screen,
    private readonly queue: Queue,
    private readonly chooser: Chooser,
    private readonly ready: Step<'ready'>,
    private readonly target: Target,
  ) {
    const { label, survey, destination } = ready;
    const { picture, contents } = survey;
    if (picture) picture.done = new Uint8Array();
    this.#turn = screen.turn;
    this.#turn.addEventListener('abort', () => {
      if (!this.#item) this.#end.abort();
    });
    this.#opening = screen.opening;
    this.#environment = chooser.environment;
    this.#method = methodOf(target);
    const isLong = this.#method === 'picked' && takesHours(ready, ready.way);
    this.#shown = { name: label, target, picture, destination, contents, takesHours: isLong };
  }

  /** The name of the image, by which its remains are known. */
  get #imageName(): string {
    return this.ready.image.info.name ?? this.#shown.name;
  }

  /** The state that is shown, or would be if the conversion were not in the background. */
  get #state(): Step<'converting'> | undefined {
    return this.#item ? this.#item.background?.state : this.screen.at('converting');
  }

  cancel(): void {
    const state = this.#state;
    if (!state || state.cancelling) return;
    if (this.#item?.background) this.#item.background.state = { ...state, cancelling: true };
    else this.screen.update(this.#turn, 'converting', { cancelling: true });
    // The file will be complete: if it is verified, that is done to the end.
    if (isTooLateToCancel(state)) this.#isTooLate = true;
    else this.#cancel.abort();
  }

  /** Moves to the background if the browser takes long to complete the file. Returns whether it does. */
  leaveToBrowser(): boolean {
    const state = this.#state;
    if (!state || this.#item || this.#hasEnded || !canLeaveToBrowser(state)) return false;
    this.#item = this.queue.leaveToBrowser({
      state,
      virtualSize: totalSize(imagesIn(this.ready)),
      cancel: () => this.cancel(),
      end: () => this.#leave(),
    });
    if (!this.#item) return false;
    this.#images = this.screen.handOver();
    this.#moveToBackground();
    return true;
  }

  /** Ends a conversion in the background, as the end of its turn would. */
  #leave(): void {
    this.#end.abort();
    this.#closeImages();
  }

  #closeImages(): void {
    // It fails only if a worker has died, and then nothing is left to close.
    for (const image of this.#images) image.close().catch(() => {});
    this.#images = [];
  }

  /** Converts, and shows the progress and the result. Resolves at the end, or when the conversion moves to the background. */
  run(): Promise<void> {
    return Promise.race([this.#run(), this.#inBackground]);
  }

  async #run(): Promise<void> {
    // Shown at once, because a download may start slowly: it must not be started twice, and can be cancelled.
    const start = { ...this.#shown, phase: 'converting', ...NO_PROGRESS, cancelling: false } as const;
    this.ready.digest?.cancel?.();
    this.screen.send(this.#turn, 'conversionStarted', start);
    const release = guardWork();
    this.#rememberLink();
    const remembered = rememberUnfinished(this.target, this.#imageName);
    // A page may be denied its database. Then the next visit does not mention the file.
    remembered.catch(() => {});
    // If this fails, the next visit checks whether the file is empty.
    this.#forget = () => void remembered.then((forget) => forget()).catch(() => {});
    try {
      await this.#convert();
    } catch (thrown) {
      this.#hasEnded = true;
      await this.#fail(thrown);
    } finally {
      clearInterval(this.#ticking);
      release();
      this.#forgetFile();
      this.#closeImages();
    }
  }

  /** Remembers the link of the image, because only a download can be resumed later. */
  #rememberLink(): void {
    if (this.target.kind !== 'stored') return;
    const link = this.#opening?.top.link;
    if (link) rememberLink(this.#imageName, link.url);
    else forgetLink(this.#imageName);
  }

  async #convert(): Promise<void> {
    const { image, output: format } = this.ready;
    const ended = AbortSignal.any([this.#end.signal, this.#cancel.signal]);
    const disk = { info: image.info, format, name: this.target.name };
    const { output, signal, taken } = await outputAt(this.target, disk, ended, this.screen);
    this.#hasBegun = true;
    const meter = this.#meter(taken);
    const show = () => this.#showProgress(meter);
    show();
    this.#ticking = setInterval(show, PROGRESS_INTERVAL);
    const result = await this.#write(output, signal, meter);
    if (this.target.kind === 'stored') forgetLink(this.#imageName);
    // Compression or the network may take most of the time, so these conversions do not measure the speed of writing.
    if (!format.compressed && !this.#environment?.isRemote) recordRates(this.#method, result, meter.dataDone);
    this.screen.host.emit('decant-done', result);
    if (!this.#end.signal.aborted) this.#finish(result, meter);
  }

  /** Measures the progress. `taken` counts the bytes of a stream that the browser has taken. */
  #meter(taken: (() => number) | undefined): ProgressMeter {
    const { survey, output, size } = this.ready;
    const images = imagesIn(this.ready);
    const { rates, isRemote = false, measured = [] } = this.#environment ?? {};
    const isSized = knownSize(images) !== undefined;
    return new ProgressMeter({
      method: this.#method,
      virtualSize: totalSize(images),
      data: survey.complete && isSized ? survey.data : undefined,
      fileSize: output.outputSize === undefined ? undefined : fileLength(images, output, size),
      rates,
      isMeasured: !isRemote && measured.includes(this.#method),
      compressed: output.compressed,
      verified: isVerified(this.ready),
      // A compressed output has fewer bytes than the disk, so the bytes that the browser has taken do not measure progress.
      ...(taken && isSized && !output.compressed ? { taken } : {}),
    });
  }

  async #write(output: Output, signal: AbortSignal, meter: ProgressMeter): Promise<ConvertResult> {
    const { image, others, output: format } = this.ready;
    const { picture } = this.#shown;
    const onProgress = (progress: Progress) => {
      meter.update(progress);
      if (picture) picture.done = progress.cells;
      // A page takes progress as that of the image that is shown.
      if (!this.#item) this.screen.host.emit('decant-progress', progress);
    };
    const passesInOrder = this.#method === 'streamed' || this.#method === 'host';
    const result = await image.convert(output, {
      format: format.name,
      formatOptions: format.recommended,
      ...(others.length > 0 ? { disks: others } : diskChange(this.ready)),
      signal,
      onProgress,
      verify: isVerified(this.ready),
      resume: this.target.kind === 'stored' && this.target.kept !== undefined,
      sha256: passesInOrder && navigator.hardwareConcurrency >= CORES_TO_DIGEST,
    });
    if (picture) picture.done = undefined;
    return result;
  }

  #forgetFile(): void {
    this.#forget();
    this.#forget = () => {};
  }

  #showProgress(meter: ProgressMeter): void {
    const cancelling = this.#state?.cancelling ?? false;
    const phase = SHOWN_PHASES[meter.phase] ?? 'converting';
    // The browser completes the file even without this tab, and the person may close it.
    if (phase === 'finishing' && this.#shown.takesHours) this.#forgetFile();
    const fields = { ...this.#shown, phase, ...meter.read(), cancelling };
    if (this.#item?.background) {
      this.#item.background.state = { step: 'converting', ...fields };
      this.screen.refresh();
    } else this.screen.send(this.#turn, 'progressed', fields);
  }

  /** Records the result in the queue, and shows it. */
  #finish(result: ConvertResult, meter: ProgressMeter): void {
    const { texts } = this.screen;
    const { lostBytes, lostRanges, time, outputSize, virtualSize } = result;
    const { image, output } = this.ready;
    const { machine, hardware } = image.info;
    const { contents } = this.#shown;
    const file = this.target.name;
    const disk = { file, format: output.name, outputSize, virtualSize, machine, hardware, contents };
    const lost = lostBytes > 0 ? [texts.lost(lostBytes, lostRanges)] : [];
    const outcome = [texts.queued.saved(this.target, outputSize), ...lost].join('. ');
    const notices = noticesOf(result, texts);
    const { rates } = this.#environment ?? {};
    const { picture, ...shown } = this.#shown;
    const finished = {
      ...shown,
      result,
      converting: time.converting,
      speed: meter.speed(),
      // The cancel came when the conversion could no longer be stopped.
      tooLate: this.#isTooLate || this.#cancel.signal.aborted,
      seconds: (performance.now() - this.#start) / 1000,
      copying: rates && predict(rates, this.#method, outputSize, meter.dataDone).copying,
    };
    if (this.#item) {
      const late = finished.tooLate ? [texts.wasTooLate] : [];
      this.queue.finish(outcome, { disk, result: finished }, lostBytes > 0, [...late, ...notices], this.#item);
      this.#tellEnd(`${texts.done}: ${shownText(file)}`, outcome);
      return;
    }
    this.screen.news = '';
    const made = this.queue.finish(outcome, { disk, result: finished }, lostBytes > 0, notices);
    const startOf = (number: number) => totalSize(imagesIn(this.ready).slice(0, number - 1));
    for (const range of result.lost) picture?.lose({ ...range, offset: startOf(range.disk ?? 1) + range.offset });
    this.screen.send(this.#turn, 'converted', { ...finished, picture, made, isCopyGone: false });
    const { copyExpires } = result;
    if (!copyExpires) return;
    const gone = () => this.screen.update(this.#turn, 'done', { isCopyGone: true });
    const timer = setTimeout(gone, copyExpires.getTime() - Date.now());
    this.#turn.addEventListener('abort', () => clearTimeout(timer));
  }

  /** Shows the end of a conversion in the background, and notifies the person. */
  #tellEnd(title: string, text: string): void {
    this.screen.refresh();
    notify(title, text, (performance.now() - this.#start) / 1000);
  }

  async #fail(thrown: unknown): Promise<void> {
    const { screen, target } = this;
    const { texts } = screen;
    const { name } = this.#shown;
    const isCancelled = this.#cancel.signal.aborted || this.#end.signal.aborted;
    const error = isCancelled && !this.#hasBegun ? new DecantError('cancelled', texts.cancelled) : asError(thrown);
    // A folder that has failed is not proposed again.
    if (target.kind === 'folder' && error.kind === 'target') this.chooser.folder = undefined;
    if (this.#opening && target.kind === 'stored' && error.code === 'storage-full') this.#opening.wasFull = true;
    const rest = await storedRemains(target, error, isCancelled, this.#imageName);
    if (target.kind === 'stored' && rest === 'nothing') forgetLink(this.#imageName);
    if (this.#end.signal.aborted) {
      // The element has left the page and shows nothing.
      screen.host.emit('decant-error', error);
      return;
    }
    const remains =
      this.#hasBegun || target.kind === 'host'
        ? describeRemains(target, rest, texts)
        : Promise.resolve(texts.nothingLeft);
    if (this.#item) {
      await this.#failInBackground(error, remains, this.#item);
      return;
    }
    screen.news = '';
    await fail(screen, this.queue, this.#turn, error, texts.notConverted(name), remains);
  }

  /** Shows in the card of `item` why the conversion has failed. `describing` resolves to a sentence about the remains of the output. */
  async #failInBackground(error: DecantError, describing: Promise<string | undefined>, item: Item): Promise<void> {
    const { screen } = this;
    const { texts } = screen;
    const opening = this.#opening!;
    screen.host.emit('decant-error', error);
    const [remains, remedies] = await Promise.all([describing, remediesAfter(error, opening, this.#end.signal)]);
    const isCancelled = error.kind === 'cancelled';
    const outcome = [isCancelled ? sentence(texts.cancelled) : texts.failure(error), remains].filter(Boolean).join(' ');
    this.queue.fail(outcome, opening, remedies, item);
    this.#tellEnd(isCancelled ? texts.cancelled : texts.notConverted(this.#shown.name), outcome);
  }
}
