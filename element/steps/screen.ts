// The state that is shown, the texts, and the current turn. A turn ends when the person starts something else; its later results
// are ignored.

import { type AnyImage, DecantError, type Waiting } from 'decant';
import type { DiskOpening, Opening } from '../files/opening.js';
import { english } from '../texts/english/index.js';
import type { AllTexts } from '../types.texts.js';
import type { Host } from '../ways/environment.js';
import type { State, Step, Warning } from './state.js';
import {
  BEGINNINGS,
  type Beginning,
  type EVENTS,
  PHASES,
  type Phase,
  type StepEvent,
  type StepName,
  stepAfter,
} from './transitions.js';

/** A `DecantError` for anything that was thrown. */
export const asError = (thrown: unknown): DecantError =>
  thrown instanceof DecantError ? thrown : new DecantError('internal', String(thrown));

/** The fields of a step. */
type Fields<S extends StepName> = Omit<Step<S>, 'step'>;

export class Screen {
  state: State = { step: 'empty' };
  texts: AllTexts = english;
  /** The image of this turn, with the person's answers; `undefined` until the chosen files are sorted. */
  opening: Opening | undefined;
  #news = '';
  #copied: string | undefined;
  #announcements = 0;
  /** The server that keeps this turn waiting. */
  waiting: Waiting | undefined;
  #turn = new AbortController();
  /** The open images of the turn. */
  readonly #images = new Map<DiskOpening, AnyImage>();

  /** `refresh` is called after every change of what is shown. */
  constructor(
    readonly host: Host,
    readonly refresh: () => void,
  ) {}

  /** Aborted when the person starts something else. */
  get turn(): AbortSignal {
    return this.#turn.signal;
  }

  get phase(): Phase {
    return PHASES[this.state.step];
  }

  /** Whether new images have to wait, because a disk is being written or its target is being chosen. */
  get isBusy(): boolean {
    return this.phase === 'conversion' || (this.at('ready')?.choosingTarget ?? false);
  }

  /** The state, if it is `step`. */
  at<S extends StepName>(step: S): Step<S> | undefined {
    return this.state.step === step ? (this.state as Step<S>) : undefined;
  }

  /** Ends the current turn and begins the next one, for the image of `opening` if it is known. */
  begin<B extends Beginning>(event: B, fields: Fields<(typeof BEGINNINGS)[B]['to']>, opening?: Opening): AbortSignal {
    this.#turn.abort();
    this.#turn = new AbortController();
    this.#closeAllBut(opening?.beside ?? []);
    this.waiting = undefined;
    this.opening = opening;
    this.#show({ ...fields, step: BEGINNINGS[event].to } as State);
    return this.turn;
  }

  /** Keeps `image`, that of the turn, open until a turn that does not need it. */
  hold(image: AnyImage, opening: DiskOpening): void {
    this.#images.set(opening, image);
  }

  /** The image of `opening`, if it is open. */
  imageOf(opening: DiskOpening): AnyImage | undefined {
    return this.#images.get(opening);
  }

  /** Hands over the open images of the turn, which stay open after it. */
  handOver(): AnyImage[] {
    const images = [...this.#images.values()];
    this.#images.clear();
    return images;
  }

  #closeAllBut(kept: readonly DiskOpening[]): void {
    for (const [opening, image] of this.#images) {
      if (kept.includes(opening)) continue;
      this.#images.delete(opening);
      // Closing also ends a conversion. It fails only if a worker has died, and then nothing is left to close.
      image.close().catch(() => {});
    }
  }

  /** Shows the step that follows `event`. Ignored if the turn is over, or if the event does not belong to the step. */
  send<E extends StepEvent>(turn: AbortSignal, event: E, fields: Fields<(typeof EVENTS)[E]['to']>): void {
    const step = stepAfter(this.state.step, event);
    if (step && !turn.aborted) this.#show({ ...fields, step } as State);
  }

  /** Changes fields of `step`. Ignored if the turn is over, or if another step is shown. */
  update<S extends StepName>(turn: AbortSignal, step: S, change: Partial<Fields<S>>): void {
    if (this.state.step === step && !turn.aborted) this.#show({ ...this.state, ...change } as State);
  }

  #show(state: State): void {
    this.state = state;
    this.refresh();
  }

  /** Shows the server that keeps the turn waiting, unless the turn is over. */
  wait(turn: AbortSignal, waiting: Waiting | undefined): void {
    if (turn.aborted) return;
    this.waiting = waiting;
    this.refresh();
  }

  /** The latest news about files and the queue. Empty after the person's next step, and at the end of a conversion. */
  get news(): string {
    return this.#news;
  }

  set news(news: string) {
    this.#news = news;
    this.#copied = undefined;
  }

  /** The text that was copied, while the news says so. */
  get copied(): string | undefined {
    return this.#copied;
  }

  /** The news, to be announced to screen readers: again if `announce` was called again with the same text. */
  get announcedNews(): Warning[] {
    return this.news ? [{ id: `news ${this.#announcements} ${this.news}`, text: this.news }] : [];
  }

  /** Shows `news`, in any step. `copied`: the text that was copied, if that is the news. */
  announce(news: string, copied?: string): void {
    this.news = news;
    this.#copied = copied;
    this.#announcements += 1;
    this.refresh();
  }

  /** Copies `text`. Announces that it was copied, or that it could not be. */
  copy(text: string): void {
    this.run(
      navigator.clipboard.writeText(text).then(
        () => this.announce(this.texts.copyDone, text),
        () => this.announce(this.texts.copyFailed),
      ),
    );
  }

  /** Runs `work`. Shows an unexpected failure, without ending a conversion that is under way. */
  run(work: Promise<void>): void {
    work.catch((thrown) => {
      const error = asError(thrown);
      if (this.isBusy) this.announce(this.texts.failure(error));
      else this.crash(error);
    });
  }

  /** Ends the turn, shows `error` without a remedy, and emits it for the page. */
  crash(error: DecantError): void {
    this.host.emit('decant-error', error);
    const { texts, opening } = this;
    const message = texts.failure(error);
    this.begin('crashed', { title: texts.failed, message, remains: undefined, remedies: [] }, opening);
  }
}
