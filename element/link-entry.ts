// Links to images and their files, which the person types, pastes or drops.

import { type Given, linked } from './given.js';
import { addressIn } from './links.js';
import type { Stage } from './stage.js';
import type { AddressProblem, FileNeed } from './state.js';

/** What entering links needs of the session. */
interface Steps {
  news: string;
  take(files: Given[]): void;
  answer(need: FileNeed, given: Given): void;
}

export class LinkEntry {
  #problem: AddressProblem | undefined;

  /** Calls `report` with a problem that no field shows: `turn` is that of the first screen. */
  constructor(
    private readonly session: Steps,
    private readonly stage: Stage,
    private readonly report: (turn: AbortSignal | undefined, notice: string) => void,
  ) {}

  /** The problem with a text in a field for links, until the text changes or the step ends. */
  get problem(): AddressProblem | undefined {
    return this.#problem?.turn === this.stage.turn ? this.#problem : undefined;
  }

  /** Takes `text` from the field for links of `need`, or of the first screen. */
  submit(text: string, need?: FileNeed): void {
    if (addressIn(text)) {
      this.take(text, need);
      return;
    }
    const { turn } = this.stage;
    this.session.news = '';
    this.#problem = { turn, need: need?.name, refusals: (this.problem?.refusals ?? 0) + 1 };
    this.stage.refresh();
  }

  /** Forgets the problem, because the text in the field has changed. */
  change(): void {
    this.#problem = undefined;
    this.stage.refresh();
  }

  /** Takes `text` as a link: for `need`, or to an image. */
  take(text: string, need?: FileNeed): void {
    const { state, turn, texts } = this.stage;
    const url = addressIn(text);
    if (!url) this.report(state.step === 'empty' ? turn : undefined, texts.noAddress);
    else if (need) this.session.answer(need, linked(url));
    else this.session.take([linked(url)]);
  }
}
