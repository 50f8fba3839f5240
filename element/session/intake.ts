// Takes files: opens the first image among them, gives them to the image that needs them, or adds them to the queue.

import type { DiskMember } from 'decant';
import { isSameName, type Sorted } from '../files/bundle.js';
import { type InputFile, mayBeSame } from '../files/input-file.js';
import { MOST_FILES, passOver } from '../files/many-files.js';
import { sort, sortMore } from '../files/sorting.js';
import type { Opener } from '../opening/opener.js';
import { enqueue, newsOf, type Queue } from '../queue/queue.js';
import type { Screen } from '../steps/screen.js';
import { disksToAdd } from '../steps/state.js';
import type { Batch } from './batch.js';

/** A turn whose files are being found and sorted. */
interface Taking {
  turn: AbortSignal;
  /** Whether other files have begun the next turn. */
  isOvertaken: boolean;
}

/** Files that may be images or belong to one, and all others. */
interface Found {
  likely: InputFile[];
  passed: InputFile[];
}

/** Passes over unlikely files only if there are more than `MOST_FILES`: up to that number, all are opened and sorted. */
const foundAmong = async (files: InputFile[]): Promise<Found> =>
  files.length > MOST_FILES ? passOver(files) : { likely: files, passed: [] };

const withPassed = (sorted: Sorted, { passed }: Found): Sorted => ({
  ...sorted,
  skipped: [...sorted.skipped, ...passed],
});

export class Intake {
  #taking: Taking | undefined;

  constructor(
    private readonly screen: Screen,
    private readonly queue: Queue,
    private readonly opener: Opener,
    private readonly batch: Batch,
  ) {}

  /** Whether an image is open, or being opened, that can give way to a new one. */
  get #isOpen(): boolean {
    const { phase, opening, isBusy } = this.screen;
    if (this.screen.at('opening')) return opening !== undefined && !this.opener.asksForFile;
    return phase === 'opening' || (phase === 'choice' && !isBusy);
  }

  /** Whether new images wait, because one is converted, all are, or the person is asked about one. */
  get #mustWait(): boolean {
    const { isBusy, phase } = this.screen;
    return isBusy || this.batch.isRunning || phase === 'question' || this.opener.asksForFile;
  }

  /** Takes the files that `find` fetches or lists. Shows `name` until then. */
  async takeFrom(name: string, find: () => Promise<InputFile[]>): Promise<void> {
    const { screen, opener } = this;
    const asking = opener.asksForFile ? screen.opening?.bundle : undefined;
    // Any other screen stays until there are files.
    const first = screen.phase === 'start' ? this.#beginTaking(name) : undefined;
    let files: InputFile[];
    try {
      files = await find();
    } catch {
      this.#report(first, screen.texts.notFetched(name));
      return;
    }
    const found = await foundAmong(files);
    const { likely } = found;
    if (files.length === 0) this.#report(first, screen.texts.noFiles);
    else if (likely.length === 0) this.#report(first, this.#noImages(found.passed));
    else if (likely.length > MOST_FILES) this.#report(first, screen.texts.tooMany(MOST_FILES));
    else if (first?.isOvertaken) await this.#sortToQueue(found);
    else if (first) await this.#openSorted(found, first);
    else if (asking && opener.asksForFile && screen.opening?.bundle === asking) await opener.take(likely);
    else if (this.#hasMissingDisk(likely)) await opener.take(likely);
    else if (this.#mustWait) await this.#offer(found);
    else if (this.#isOpen) await this.#takeMore(found, screen.turn);
    else await this.#openSorted(found, this.#beginTaking(name));
  }

  /** Reports a problem with new files: on the first screen if their turn is the latest, otherwise as news. */
  #report(taking: Taking | undefined, notice: string): void {
    if (taking && !taking.isOvertaken) this.screen.send(taking.turn, 'nothingFound', { notice });
    else this.screen.announce(notice);
  }

  #noImages(files: InputFile[]): string {
    return this.screen.texts.noImages(files.map(({ file }) => file.name));
  }

  /** Adds files to the queue; a single one may also be a missing disk of the machine that is shown. */
  async #offer(found: Found): Promise<void> {
    const [offered, ...others] = found.likely;
    if (this.#missingDisks.length > 0 && offered && others.length === 0)
      this.screen.update(this.screen.turn, 'disks', { offered });
    await this.#sortToQueue(found);
  }

  /** The disks that the machine that is shown lacks. */
  get #missingDisks(): DiskMember[] {
    const asked = this.screen.at('disks');
    return asked ? disksToAdd(asked) : [];
  }

  /** Whether one of `files` is a missing disk of the machine that is shown. */
  #hasMissingDisk(files: InputFile[]): boolean {
    return this.#missingDisks.some(({ name }) => files.some(({ file }) => isSameName(file.name, name)));
  }

  /** Begins a turn for files that are not sorted yet. Those of an unfinished turn will be queued. */
  #beginTaking(name: string): Taking {
    if (this.#taking && !this.#taking.turn.aborted) this.#taking.isOvertaken = true;
    this.queue.begin();
    this.screen.news = '';
    this.#taking = { turn: this.screen.begin('chosen', { name }), isOvertaken: false };
    return this.#taking;
  }

  /** Opens the first image among the files, unless the turn is over. */
  async #openSorted(found: Found, taking: Taking): Promise<void> {
    const { turn } = taking;
    if (turn.aborted) return;
    const sorted = withPassed(await sort(found.likely, turn), found);
    if (taking.isOvertaken) await this.#sortToQueue(found);
    else if (sorted.bundles.length === 0) this.#report(taking, this.#noImages(sorted.skipped));
    else if (!turn.aborted) await this.#openFirst(sorted);
  }

  /** Adds the images among the files to the end of the queue. */
  async #sortToQueue(found: Found): Promise<void> {
    const sorted = withPassed(await sortMore(found.likely, new AbortController().signal), found);
    enqueue(sorted, this.queue, this.screen);
  }

  /** Opens the first image among the files. The image that is open in `turn` waits, unless it is given again. */
  async #takeMore(found: Found, turn: AbortSignal): Promise<void> {
    const { opening } = this.screen;
    const sorted = withPassed(await sortMore(found.likely, new AbortController().signal), found);
    const again = await Promise.all(sorted.bundles.map(({ top }) => opening && mayBeSame(top, opening.top)));
    if (turn.aborted || !this.#isOpen || sorted.bundles.length === 0) {
      enqueue(sorted, this.queue, this.screen);
      return;
    }
    if (again.includes(true)) this.queue.leave();
    await this.#openFirst(sorted);
  }

  /** Adds images before those in the queue, and opens the first one. */
  async #openFirst(sorted: Sorted): Promise<void> {
    this.screen.news = newsOf(sorted, this.screen.texts);
    this.queue.addFirst(sorted.bundles);
    await this.opener.openNext();
  }
}
