// The state that is shown, the texts, and the current turn. A turn ends when the person starts something else; its later results
// are ignored.

import type { AnyImage, Waiting } from 'decant';
import type { Host } from '../host.js';
import { english } from '../texts/english.js';
import type { AllTexts } from '../types.texts.js';
import type { State } from './state.js';

export class Stage {
  state: State = { step: 'empty' };
  texts: AllTexts = english;
  /** The server that keeps this turn waiting. */
  waiting: Waiting | undefined;
  #turn = new AbortController();
  #image: AnyImage | undefined;

  /** Calls `changed` after every change of state. */
  constructor(
    readonly host: Host,
    private readonly changed: () => void,
  ) {}

  /** Aborted when the person starts something else. */
  get turn(): AbortSignal {
    return this.#turn.signal;
  }

  /** Ends the current turn and begins the next one with `state`. */
  begin(state: State): AbortSignal {
    this.#turn.abort();
    this.#turn = new AbortController();
    // Closing also ends a conversion. It fails only if a worker has died, and then nothing is left to close.
    this.#image?.close().catch(() => {});
    this.#image = undefined;
    this.waiting = undefined;
    this.show(this.turn, state);
    return this.turn;
  }

  /** Closes `image` when this turn ends. */
  hold(image: AnyImage): void {
    this.#image = image;
  }

  /** Changes the state, unless the turn is over. */
  show(turn: AbortSignal, state: State): void {
    if (turn.aborted) return;
    this.state = state;
    this.changed();
  }

  /** Shows the server that keeps the turn waiting, unless the turn is over. */
  wait(turn: AbortSignal, waiting: Waiting | undefined): void {
    if (turn.aborted) return;
    this.waiting = waiting;
    this.changed();
  }

  /** Reports a change outside of the state. */
  refresh(): void {
    this.changed();
  }
}
