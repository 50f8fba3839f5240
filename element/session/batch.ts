// Converts the image that is shown and all that wait, the same way.

import type { Queue } from '../queue/queue.js';
import type { State, Step } from '../steps/state.js';

/** What it needs to know of the session. */
interface Shown {
  readonly queue: Queue;
  readonly state: State;
}

interface Steps {
  convert(): Promise<void>;
  openNext(): Promise<void>;
  /** Called when the work has ended, or waits for the person. */
  ended(): void;
}

/** The output and the place for each image. */
type Made = Pick<Step<'ready'>, 'output' | 'destination'>;

const isAlike = (one: Made, other: Made): boolean =>
  one.output.name === other.output.name && one.destination?.name === other.destination?.name;

export class Batch {
  /** The output for all images; `undefined` unless the person has asked to convert all. */
  #made: Made | undefined;
  /** Whether images are opened and converted without a step of the person. */
  isRunning = false;

  constructor(
    private readonly session: Shown,
    private readonly steps: Steps,
  ) {}

  begin(made: Made): void {
    this.#made = made;
  }

  end(): void {
    this.#made = undefined;
  }

  /** Goes on with the image that is shown, then with the others. Those that ask something come last. */
  async run(): Promise<void> {
    if (!this.#made || this.isRunning) return;
    this.isRunning = true;
    try {
      while (this.#made && (await this.#advance(this.#made)));
    } finally {
      this.isRunning = false;
      this.steps.ended();
    }
  }

  /** Takes the next step. Resolves to `false` if there is none, or only the person can take it. */
  async #advance(made: Made): Promise<boolean> {
    const { state } = this.session;
    switch (state.step) {
      case 'done':
      case 'failed':
        return this.#next();
      case 'ready':
        if (state.placing) return false;
        if (state.asking || !state.way || !isAlike(state, made)) return this.#postpone();
        await this.steps.convert();
        return this.#settle();
      case 'needs':
      case 'disks':
      case 'packed':
      case 'large':
        return this.#postpone();
      default:
        return false;
    }
  }

  async #next(): Promise<boolean> {
    if (this.session.queue.waiting.length === 0) {
      this.end();
      return false;
    }
    await this.steps.openNext();
    return true;
  }

  async #postpone(): Promise<boolean> {
    if (!this.session.queue.postpone()) return false;
    await this.steps.openNext();
    return true;
  }

  /** After an image was converted, or has failed, or asks something. If the person has closed a dialog, nothing follows. */
  async #settle(): Promise<boolean> {
    const { state } = this.session;
    if (state.step !== 'ready') return true;
    if (state.nameProblem || (state.asking && state.asking.kind !== 'noFolder')) return this.#postpone();
    this.end();
    return false;
  }
}
