// Takes files: opens the first image among them, gives them to the image that needs them, or adds them to the queue.

import { isSameName, type Sorted } from '../files/bundle.js';
import { type Given, mayBeSame } from '../files/input-file.js';
import { MOST, passOver } from '../files/many-files.js';
import type { Opening } from '../files/opening.js';
import { sort, sortImages, sortMore } from '../files/sorting.js';
import type { Opener } from '../opening/opener.js';
import { newsOf } from '../queue/arrivals.js';
import type { Queue } from '../queue/queue.js';
import type { Stage } from '../steps/stage.js';
import type { State } from '../steps/state.js';
import type { AllTexts } from '../types.texts.js';

/** A turn whose files are being found and sorted. */
interface Taking {
  turn: AbortSignal;
  /** Whether other files have begun the next turn. */
  isOvertaken: boolean;
}

/** What taking files needs to know of the session, and changes. */
interface Shown {
  news: string;
  readonly queue: Queue;
  readonly state: State;
  readonly texts: AllTexts;
  readonly opening: Opening | undefined;
  readonly isBusy: boolean;
  readonly asksForFile: boolean;
}

/** Steps of the session. */
interface Steps {
  begin(state: State): AbortSignal;
  openNext(): Promise<void>;
  report(turn: AbortSignal | undefined, notice: string): void;
}

/** Files that may be images or belong to one, and those that were passed over because they cannot. */
interface Found {
  likely: Given[];
  passed: Given[];
}

/** Up to `MOST` files are all looked at later, when they are sorted. */
const foundAmong = async (files: Given[]): Promise<Found> =>
  files.length > MOST ? passOver(files) : { likely: files, passed: [] };

const withPassed = (sorted: Sorted, { passed }: Found): Sorted => ({
  ...sorted,
  skipped: [...sorted.skipped, ...passed],
});

export class Intake {
  #taking: Taking | undefined;

  constructor(
    private readonly session: Shown,
    private readonly stage: Stage,
    private readonly opener: Opener,
    private readonly steps: Steps,
  ) {}

  /** Whether an image is open, or being opened, that can give way to a new one. */
  get #isOpen(): boolean {
    const { step } = this.session.state;
    if (step === 'opening') return this.session.opening !== undefined && !this.session.asksForFile;
    return step === 'unlocking' || step === 'unpacking' || (step === 'ready' && !this.session.isBusy);
  }

  /** Whether a question of the image that is shown must be answered first. */
  get #asks(): boolean {
    return ['needs', 'disks', 'packed', 'large'].includes(this.session.state.step);
  }

  async takeFrom(name: string, find: () => Promise<Given[]>): Promise<void> {
    const asking = this.session.asksForFile ? this.session.opening?.bundle : undefined;
    // Any other screen stays until there are files.
    const first = this.session.state.step === 'empty' ? this.#beginTaking(name) : undefined;
    let files: Given[];
    try {
      files = await find();
    } catch {
      this.steps.report(first?.turn, this.session.texts.notFetched(name));
      return;
    }
    if (files.length === 0) {
      this.steps.report(first?.turn, this.session.texts.noFiles);
      return;
    }
    const found = await foundAmong(files);
    const { likely } = found;
    if (likely.length === 0 || likely.length > MOST) this.steps.report(first?.turn, this.session.texts.tooMany(MOST));
    else if (first?.isOvertaken) await this.#sortToQueue(found);
    else if (first) await this.#openSorted(found, first);
    else if (asking && this.session.asksForFile && this.session.opening?.bundle === asking)
      await this.opener.take(likely);
    else if (this.#hasMissingDisk(likely)) await this.opener.take(likely);
    else if (this.session.isBusy || this.#asks || this.session.asksForFile) await this.#offer(found);
    else if (this.#isOpen) await this.#takeMore(found, this.stage.turn);
    else await this.#openSorted(found, this.#beginTaking(name));
  }

  /** Adds files to the queue; a single one may also be a missing disk of the machine that is shown. */
  async #offer(found: Found): Promise<void> {
    const { state } = this.session;
    const [offered, ...others] = found.likely;
    if (state.step === 'disks' && state.disks.some((disk) => disk.missing) && offered && others.length === 0)
      this.stage.show(this.stage.turn, { ...state, offered });
    await this.#sortToQueue(found);
  }

  /** Whether one of `files` is a missing disk of the machine that is shown. */
  #hasMissingDisk(files: Given[]): boolean {
    const { state } = this.session;
    const missing = state.step === 'disks' ? state.disks.filter((disk) => disk.missing) : [];
    return missing.some(({ name }) => files.some(({ file }) => isSameName(file.name, name)));
  }

  /** Begins a turn for files that are not sorted yet. Those of an unfinished turn will be queued. */
  #beginTaking(name: string): Taking {
    if (this.#taking && !this.#taking.turn.aborted) this.#taking.isOvertaken = true;
    this.#taking = { turn: this.steps.begin({ step: 'opening', name }), isOvertaken: false };
    return this.#taking;
  }

  /** Opens the first image among the files, unless the turn is over. */
  async #openSorted(found: Found, taking: Taking): Promise<void> {
    const { turn } = taking;
    if (turn.aborted) return;
    const sorted = withPassed(await sort(found.likely, turn), found);
    if (taking.isOvertaken) await this.#sortToQueue(found);
    else if (!turn.aborted) await this.#openFirst(sorted);
  }

  /** Adds the images among the files to the end of the queue. */
  async #sortToQueue(found: Found): Promise<void> {
    this.#enqueue(withPassed(await sortMore(found.likely, new AbortController().signal), found));
  }

  /** Opens the first image among the files. The image that is open in `turn` waits, unless it is given again. */
  async #takeMore(found: Found, turn: AbortSignal): Promise<void> {
    const { opening } = this.session;
    const sorted = withPassed(await sortMore(found.likely, new AbortController().signal), found);
    const again = await Promise.all(sorted.bundles.map(({ top }) => opening && mayBeSame(top, opening.top)));
    if (turn.aborted || !this.#isOpen || sorted.bundles.length === 0) {
      this.#enqueue(sorted);
      return;
    }
    if (again.includes(true)) this.session.queue.leave();
    await this.#openFirst(sorted);
  }

  /** Adds images before those in the queue, and opens the first one. */
  async #openFirst(sorted: Sorted): Promise<void> {
    this.session.news = newsOf(sorted, this.session.texts);
    this.session.queue.addFirst(sorted.bundles);
    await this.steps.openNext();
  }

  /** Adds images to the end of the queue, and reports it. */
  #enqueue(sorted: Sorted): void {
    const { bundles } = sorted;
    this.session.queue.add(bundles);
    const added = bundles.length > 0 ? this.session.texts.queued.added(bundles.map(({ top }) => top.file.name)) : '';
    this.session.news = [added, newsOf(sorted, this.session.texts)].filter(Boolean).join(' ');
    this.stage.refresh();
  }

  /** Adds those of `files` that are images to the end of the queue. */
  async enqueueImages(files: Given[]): Promise<void> {
    this.#enqueue(await sortImages(files, new AbortController().signal));
  }

  /** Takes files out of the queue that the image needs, and reports it. */
  claim(names: string[]): Given[] {
    const claimed = this.session.queue.claim(names);
    if (claimed.length > 0) this.session.news = this.session.texts.queued.claimed(claimed.map(({ file }) => file.name));
    return claimed;
  }
}
