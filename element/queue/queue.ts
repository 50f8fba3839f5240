// The images that the person has given, each with its result, and the news about those that are added or taken out.

import type { MadeDisk } from 'decant/places';
import { type Bundle, byNumber, labelOf, type Sorted } from '../files/bundle.js';
import type { InputFile } from '../files/input-file.js';
import { beginOpening, type Opening } from '../files/opening.js';
import { sortImages } from '../files/sorting.js';
import type { Screen } from '../steps/screen.js';
import type { Overall, Remedy, Step } from '../steps/state.js';
import type { AllTexts } from '../types.texts.js';
import type { Way } from '../ways/choices.js';

/** The parts of a result that the list shows. */
export type Finished = Omit<Step<'done'>, 'step' | 'made' | 'picture' | 'digest' | 'isCopyGone'>;

/** A disk that was made, and its result. */
export interface Made {
  disk: MadeDisk;
  result: Finished;
}

/** A conversion whose file the browser checks while the element shows something else. */
export interface Background {
  /** The step that the element would show for it. */
  state: Step<'converting'>;
  /** The size of the disk. */
  virtualSize: number;
  /** Cancels it for the person. */
  cancel(): void;
  /** Ends it because the element is being removed. */
  end(): void;
}

const placeOf = ({ result }: Made): string | undefined => result.destination?.name;

export interface Item {
  id: number;
  bundle: Bundle;
  status: 'waiting' | 'current' | 'checking' | 'done' | 'failed';
  /** The result in words; empty until there is one. */
  outcome: string;
  /** The person's answers, if it was opened before. */
  opening?: Opening;
  /** The steps that were offered after its failure. */
  remedies?: Remedy[];
  /** The disk that was made of it. */
  made?: Made;
  /** Notices about the result, as sentences. */
  notices?: string[];
  /** Whether parts of its disk were lost. */
  isDamaged?: boolean;
  /** Whether it was moved to the end, because it needs an answer. */
  isPostponed?: boolean;
  /** Its conversion, if it was left to the browser. The item is a card of its own then, also with its result. */
  background?: Background;
}

type BackgroundItem = Item & Required<Pick<Item, 'background'>>;

const isInBackground = (item: Item): item is BackgroundItem => item.background !== undefined;

/** Whether an item is that of `bundle`, or of several disks with it. */
export const isOf = ({ bundle: whole }: Pick<Item, 'bundle'>, bundle: Bundle | undefined): boolean =>
  bundle !== undefined && (whole === bundle || (whole.disks ?? []).includes(bundle));

export class Queue {
  #items: Item[] = [];
  #made: MadeDisk[] = [];
  /** The way to save that all images follow, and the bundle of the image that it was proposed or chosen for. */
  #way: { way: Way; of: Bundle } | undefined;
  #nextId = 0;

  /** The images of the list: not those in the background. */
  get items(): readonly Item[] {
    return this.#items.filter((item) => !isInBackground(item));
  }

  /** The images whose files the browser checks in the background, until the person dismisses their results. */
  get inBackground(): readonly BackgroundItem[] {
    return this.#items.filter(isInBackground);
  }

  /** The conversions in the background that have not ended. */
  get checks(): Background[] {
    return this.inBackground.flatMap(({ status, background }) => (status === 'checking' ? background : []));
  }

  /** Whether it contains more than the image that is shown. */
  get isShown(): boolean {
    return this.items.length > 1 || this.waiting.length > 0;
  }

  get waiting(): Item[] {
    return this.#items.filter(({ status }) => status === 'waiting');
  }

  get #current(): Item | undefined {
    return this.#items.find(({ status }) => status === 'current');
  }

  /** The files that it has made, and those in the background: the files of the next disks get other names. */
  get taken(): readonly Pick<MadeDisk, 'file' | 'virtualSize'>[] {
    const checked = this.checks.map(({ state, virtualSize }) => ({ file: state.target.name, virtualSize }));
    return [...this.#made, ...checked];
  }

  get madeFiles(): string[] {
    return this.#made.map(({ file }) => file);
  }

  /** The way for the image of `bundle`, if another one has determined it: all images are saved the same way. */
  wayBeside(bundle: Bundle): Way | undefined {
    return this.#way && this.#way.of !== bundle ? this.#way.way : undefined;
  }

  /** Makes `way`, that of the image of `bundle`, the way for all images, if it is the first one or the person has chosen it. */
  lead(way: Way, bundle: Bundle, isChosen = false): void {
    if (isChosen || !this.#way || this.#way.of === bundle) this.#way = { way, of: bundle };
  }

  /** Lets the next image determine the way for all. */
  forgetWay(): void {
    this.#way = undefined;
  }

  /** Adds images at the end. */
  add(bundles: Bundle[]): void {
    for (const bundle of bundles) {
      this.#items.push({ id: this.#nextId++, bundle, status: 'waiting', outcome: '' });
    }
  }

  /** Adds images before the waiting ones. Removes earlier results. */
  addFirst(bundles: Bundle[]): void {
    const { waiting } = this;
    this.#items = this.#items.filter((item) => item.status === 'current' || isInBackground(item));
    this.add(bundles);
    this.#items.push(...waiting);
  }

  /**
   * Makes the item `id`, which waits or has failed, or the first waiting one, the current item. An unfinished current item waits
   * again, and keeps its `opening`.
   */
  take(id?: number, opening?: Opening): Item | undefined {
    const canOpen = ({ status }: Item) => status === 'waiting' || status === 'failed';
    const item = id === undefined ? this.waiting[0] : this.#items.find((item) => item.id === id && canOpen(item));
    for (const current of this.#items) {
      if (current.status !== 'current') continue;
      current.status = 'waiting';
      if (opening && isOf(current, opening.bundle)) current.opening = opening;
    }
    if (!item) return undefined;
    delete item.background;
    return Object.assign(item, { status: 'current' as const, outcome: '' });
  }

  /** Moves the current item to the end, if others wait that were not moved. Returns whether there are any. */
  postpone(): boolean {
    if (this.waiting.every(({ isPostponed }) => isPostponed)) return false;
    const isCurrent = ({ status }: Item) => status === 'current';
    const current = this.#items.filter(isCurrent).map((item) => ({ ...item, isPostponed: true }));
    this.#items = [...this.#items.filter((item) => !isCurrent(item)), ...current];
    return true;
  }

  /** How many images were converted, and how many have a result. */
  get results(): { done: number; all: number } {
    const count = (wanted: Item['status']) => this.items.filter(({ status }) => status === wanted).length;
    return { done: count('done'), all: count('done') + count('failed') };
  }

  /** The results, if several images have one and no other image is left. */
  get overall(): Overall | undefined {
    const { done, all } = this.results;
    if (all < 2 || all < this.items.length) return undefined;
    const named = (isNamed: (item: Item) => boolean) => this.items.filter(isNamed).map(({ bundle }) => labelOf(bundle));
    const failed = named(({ status }) => status === 'failed');
    return { done, all, failed, damaged: named(({ isDamaged }) => isDamaged ?? false) };
  }

  /** Removes the item `id`, and returns it. */
  remove(id: number): Item | undefined {
    const removed = this.#items.find((item) => item.id === id);
    this.#items = this.#items.filter((item) => item !== removed);
    return removed;
  }

  /** Removes waiting images that have one of `names`, and returns their files. */
  claim(names: string[]): InputFile[] {
    const claimed = this.waiting.filter(({ bundle }) => bundle.called.some((name) => names.includes(name)));
    this.#items = this.#items.filter((item) => !claimed.includes(item));
    return claimed.flatMap(({ bundle }) => [bundle.top, ...bundle.companions]);
  }

  /** Replaces the current item by waiting ones at its place. Returns the ID of the first. */
  split(disks: Pick<Item, 'bundle' | 'opening'>[]): number {
    const first = this.#nextId;
    const items = disks.map((disk): Item => ({ ...disk, id: this.#nextId++, status: 'waiting', outcome: '' }));
    this.#items = this.#items.flatMap((item) => (item.status === 'current' ? items : [item]));
    return first;
  }

  /** The current item and the other disks of its archive or machine, in the order of the archive or machine. */
  get #disks(): Item[] {
    const top = this.#current?.bundle.top;
    const disks = this.items.filter(({ bundle }) => bundle.top === top && bundle.disk);
    return disks.toSorted((one, other) => byNumber(one.bundle, other.bundle));
  }

  /**
   * How many disks of the archive or machine `join` makes one item of; 0 unless the current item, which has `current`, is one of several,
   * or if another state of a single disk was chosen.
   */
  joinable(current: Opening | undefined): number {
    const disks = this.#disks;
    const isChanged = ({ status, bundle, opening }: Item) => {
      const opened = status === 'current' ? current : opening;
      return opened !== undefined && opened.snapshot !== bundle.snapshot;
    };
    return disks.length > 1 && !disks.some(isChanged) ? disks.length : 0;
  }

  /** Makes the disks of the archive or machine one item, the current one. Returns the openings of the other disks. */
  join(): Opening[] {
    const disks = this.#disks;
    const [first] = disks;
    if (!first) return [];
    const bundle: Bundle = { ...first.bundle, disks: disks.map((disk) => disk.bundle) };
    delete bundle.disk;
    const joined: Item = { id: this.#nextId++, bundle, status: 'current', outcome: '' };
    this.#items = this.#items.flatMap((item) => (item === first ? [joined] : disks.includes(item) ? [] : [item]));
    return disks
      .filter(({ status }) => status !== 'current')
      .map(({ bundle, opening = beginOpening(bundle) }) => opening);
  }

  /** Moves the current item to the background, where `background` ends its conversion. Returns the item. */
  leaveToBrowser(background: Background): Item | undefined {
    const current = this.#current;
    return current && Object.assign(current, { status: 'checking' as const, background });
  }

  /**
   * Records that `made` was made of `item`, by default the current one. Returns the disks of `madeWith`. `notices` are sentences
   * about the result.
   */
  finish(
    outcome: string,
    made: Made,
    isDamaged: boolean,
    notices: string[] = [],
    item: Item | undefined = this.#current,
  ): MadeDisk[] {
    this.#made.push(made.disk);
    if (!item) return [];
    Object.assign(item, { status: 'done', outcome, made, isDamaged, notices });
    return this.madeWith(item);
  }

  /**
   * The disk that was made of an item, with those of the same archive or machine that were made for the same place, in the order of the
   * archive or machine.
   */
  madeWith({ bundle: { top }, made }: Pick<Item, 'bundle' | 'made'>): MadeDisk[] {
    return this.#items
      .filter(({ bundle }) => bundle.top === top)
      .toSorted((one, other) => byNumber(one.bundle, other.bundle))
      .flatMap(({ made: other }) => (made && other && placeOf(other) === placeOf(made) ? [other.disk] : []));
  }

  /** Records that `item`, by default the current one, has failed. `opening` opens it again. */
  fail(outcome: string, opening: Opening, remedies: Remedy[], item: Item | undefined = this.#current): void {
    if (item) Object.assign(item, { status: 'failed', outcome, opening, remedies });
  }

  /** Makes the item of `bundle`, or the one with its disk, the current item again. */
  resume(bundle: Bundle): void {
    const item = this.items.find((item) => isOf(item, bundle));
    if (item) Object.assign(item, { status: 'current', outcome: '' });
  }

  /** Removes the current item and the results: only images that wait or are in the background stay. */
  leave(): void {
    this.#items = this.#items.filter((item) => item.status === 'waiting' || isInBackground(item));
  }

  /** Does what `leave` does. If nothing waits, the next images are another queue, which may use all names again. */
  begin(): void {
    this.leave();
    if (this.items.length === 0) this.#forget();
  }

  clear(): void {
    this.#items = [];
    this.#forget();
  }

  #forget(): void {
    this.#made = [];
    this.#way = undefined;
  }
}

/** The news about skipped files, and images that are not opened; empty if there are none. */
export function newsOf({ skipped, held }: Sorted, texts: AllTexts): string {
  const about = (files: InputFile[], text: (names: string[]) => string) =>
    files.length > 0 ? text(files.map(({ file }) => file.name)) : '';
  return [about(skipped, texts.aside), about(held, texts.held)].filter(Boolean).join(' ');
}

/** Adds images to the end of the queue, and reports it. */
export function enqueue(sorted: Sorted, queue: Queue, screen: Screen): void {
  const { bundles } = sorted;
  queue.add(bundles);
  const added = bundles.length > 0 ? screen.texts.queued.added(bundles.map(({ top }) => top.file.name)) : '';
  screen.announce([added, newsOf(sorted, screen.texts)].filter(Boolean).join(' '));
}

/** Adds the images among `files` to the end of the queue. */
export async function enqueueImages(files: InputFile[], queue: Queue, screen: Screen): Promise<void> {
  enqueue(await sortImages(files, new AbortController().signal), queue, screen);
}

/** Takes files out of the queue that the image needs, and reports it. */
export function claim(names: string[], queue: Queue, screen: Screen): InputFile[] {
  const claimed = queue.claim(names);
  if (claimed.length > 0) screen.news = screen.texts.queued.claimed(claimed.map(({ file }) => file.name));
  return claimed;
}
