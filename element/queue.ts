// The images that the person has given, each with its result.

import type { Bundle } from './bundle.js';
import type { Given } from './given.js';
import type { Opening } from './opening.js';

interface Item {
  id: number;
  bundle: Bundle;
  status: 'waiting' | 'current' | 'done' | 'failed';
  /** The result in words; empty until there is one. */
  outcome: string;
  /** The person's answers, if it was opened before. */
  opening?: Opening;
  /** Whether it comes after those that need no answer. */
  isPostponed?: boolean;
}

export class Queue {
  #items: Item[] = [];
  #nextId = 0;

  get items(): readonly Item[] {
    return this.#items;
  }

  /** Whether it contains more than the image that is shown. */
  get isShown(): boolean {
    return this.#items.length > 1 || this.waiting.length > 0;
  }

  get waiting(): Item[] {
    return this.#items.filter(({ status }) => status === 'waiting');
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
    this.#items = this.#items.filter(({ status }) => status === 'current');
    this.add(bundles);
    this.#items.push(...waiting);
  }

  /**
   * Makes the item `id`, or the first waiting one, the current item. An unfinished current item waits again, and keeps its
   * `opening`.
   */
  take(id?: number, opening?: Opening): Item | undefined {
    const item = this.waiting.find((item) => id === undefined || item.id === id);
    for (const current of this.#items) {
      if (current.status !== 'current') continue;
      current.status = 'waiting';
      if (opening?.bundle === current.bundle) current.opening = opening;
    }
    if (item) item.status = 'current';
    return item;
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
    const count = (wanted: Item['status']) => this.#items.filter(({ status }) => status === wanted).length;
    return { done: count('done'), all: count('done') + count('failed') };
  }

  /** Removes the item `id`, and returns it. */
  remove(id: number): Item | undefined {
    const removed = this.#items.find((item) => item.id === id);
    this.#items = this.#items.filter((item) => item !== removed);
    return removed;
  }

  /** Removes waiting images that have one of `names`, and returns their files. */
  claim(names: string[]): Given[] {
    const claimed = this.waiting.filter(({ bundle }) => bundle.called.some((name) => names.includes(name)));
    this.#items = this.#items.filter((item) => !claimed.includes(item));
    return claimed.flatMap(({ bundle }) => [bundle.top, ...bundle.companions]);
  }

  /** Replaces the current item by waiting ones at its place. Returns the ID of the first. */
  split(bundles: Bundle[]): number {
    const first = this.#nextId;
    const items = bundles.map((bundle): Item => ({ id: this.#nextId++, bundle, status: 'waiting', outcome: '' }));
    this.#items = this.#items.flatMap((item) => (item.status === 'current' ? items : [item]));
    return first;
  }

  /** Records the result of the current item. */
  settle(status: 'done' | 'failed', outcome: string): void {
    for (const item of this.#items) if (item.status === 'current') Object.assign(item, { status, outcome });
  }

  /** Makes the item of `bundle` the current item again. */
  resume(bundle: Bundle): void {
    const item = this.#items.find((item) => item.bundle === bundle);
    if (item) Object.assign(item, { status: 'current', outcome: '' });
  }

  /** Removes the current item and the results: only waiting images stay. */
  leave(): void {
    this.#items = this.waiting;
  }

  clear(): void {
    this.#items = [];
  }
}
