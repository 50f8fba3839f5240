// Converts the image that is shown and all that wait, the same way.

import { type Bundle, labelOf } from '../files/bundle.js';
import type { Opener } from '../opening/opener.js';
import type { Queue } from '../queue/queue.js';
import type { Saver } from '../saving/saver.js';
import type { Screen } from '../steps/screen.js';
import type { State, Step } from '../steps/state.js';

/** The output, the place and the way that the person has chosen for all images. */
type Chosen = Pick<Step<'ready'>, 'output' | 'destination' | 'way'>;

const isSameChoice = (one: Chosen, other: Chosen): boolean =>
  one.output.name === other.output.name && one.destination?.name === other.destination?.name && one.way === other.way;

/** Whether the person must answer a question before the image can be converted. Without a folder, converting asks for one. */
const asksFirst = ({ asking }: Step<'ready'>): boolean => asking !== undefined && asking.kind !== 'noFolder';

export class Batch {
  /** The output for all images; `undefined` unless the person has asked to convert all. */
  #chosen: Chosen | undefined;
  /** Whether images are opened and converted without a step of the person. */
  isRunning = false;
  /** The turn in which it has begun or stopped: its image is shown to the person. */
  #shown: AbortSignal | undefined;

  constructor(
    private readonly screen: Screen,
    private readonly queue: Queue,
    private readonly opener: Opener,
    private readonly saver: Saver,
  ) {}

  begin(chosen: Chosen): void {
    this.#chosen = chosen;
    this.#shown = this.screen.turn;
  }

  end(): void {
    this.#chosen = undefined;
  }

  /** Continues with the image that is shown, then with the others. Those that ask something come last. */
  async run(): Promise<void> {
    if (!this.#chosen || this.isRunning) return;
    this.isRunning = true;
    try {
      while (this.#chosen && (await this.#advance(this.#chosen)));
    } finally {
      this.isRunning = false;
      this.#shown = this.screen.turn;
      this.screen.refresh();
    }
  }

  /** The image that is opened to be converted without a step of the person, or the next one after a result. */
  upcoming(isResuming: boolean): Bundle | undefined {
    const { phase, opening, turn } = this.screen;
    if (phase === 'start' || phase === 'question') return undefined;
    if (phase === 'end') return this.#chosen && this.isRunning ? this.queue.waiting[0]?.bundle : undefined;
    return isResuming || (this.#chosen && turn !== this.#shown) ? opening?.bundle : undefined;
  }

  /** The step to show: `opening` from a result until the next conversion begins, if that needs no step of the person. */
  state(isResuming: boolean): State {
    const { state, phase } = this.screen;
    const isBetween = phase === 'end' || (phase === 'choice' && !this.screen.at('ready')?.picking);
    const next = isBetween ? this.upcoming(isResuming) : undefined;
    return next ? { step: 'opening', name: labelOf(next) } : state;
  }

  /** Takes the next step. Resolves to `false` if there is none, or only the person can take it. */
  async #advance(chosen: Chosen): Promise<boolean> {
    switch (this.screen.phase) {
      case 'end':
        return this.#next();
      case 'question':
        return this.#postpone();
      case 'choice':
        return this.#save(chosen);
      default:
        return false;
    }
  }

  /** Converts the image that is shown, unless it needs an answer, another output or another way. */
  async #save(chosen: Chosen): Promise<boolean> {
    const ready = this.screen.at('ready');
    if (!ready || ready.choosingTarget) return false;
    if (asksFirst(ready) || !ready.way || !isSameChoice(ready, chosen)) return this.#postpone();
    await this.saver.convert();
    return this.#settle();
  }

  async #next(): Promise<boolean> {
    if (this.queue.waiting.length === 0) {
      this.end();
      return false;
    }
    await this.opener.openNext();
    return true;
  }

  async #postpone(): Promise<boolean> {
    if (!this.queue.postpone()) return false;
    await this.opener.openNext();
    return true;
  }

  /**
   * After an attempt to convert the image: moves it to the end if it asks something. Ends the batch if the person has closed a dialog.
   * Resolves to whether there is a next step.
   */
  async #settle(): Promise<boolean> {
    const ready = this.screen.at('ready');
    if (!ready) return true;
    if (ready.nameProblem || asksFirst(ready)) return this.#postpone();
    this.end();
    return false;
  }
}
