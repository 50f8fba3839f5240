// What is shown, in which words, and whose turn it is. A turn ends when the person goes on to something else; what it still does is
// ignored.

import type { AnyImage, Waiting } from 'decant';
import type { Host } from './host.js';
import type { State } from './state.js';
import { english } from './texts/english.js';
import type { AllTexts } from './types.texts.js';

export class Stage {
  state: State = { step: 'empty' };
  texts: AllTexts = english;
  /** The server that this turn waits for. */
  waiting: Waiting | undefined;
  #turn = new AbortController();
  #image: AnyImage | undefined;

  /** `changed` is called after every change of state. */
  constructor(
    readonly host: Host,
    private readonly changed: () => void,
  ) {}

  /** Aborted when the person goes on to something else. */
  get turn(): AbortSignal {
    return this.#turn.signal;
  }

  /** Ends the turn and begins another one with `state`. */
  begin(state: State): AbortSignal {
    this.#turn.abort();
    this.#turn = new AbortController();
    // Closing ends a conversion, too. It fails only if a worker has died: then there is nothing to close.
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

  /** Shows which server is waited for, unless the turn is over. */
  wait(turn: AbortSignal, waiting: Waiting | undefined): void {
    if (turn.aborted) return;
    this.waiting = waiting;
    this.changed();
  }

  /** Announces a change outside of the state. */
  refresh(): void {
    this.changed();
  }
}
