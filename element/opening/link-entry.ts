// Links to images and their files, which the person types, pastes or drops.

import { html, nothing, type TemplateResult } from 'lit';
import { addressIn, type Given, linked } from '../files/input-file.js';
import type { Session } from '../session/session.js';
import type { Stage } from '../steps/stage.js';
import type { AddressProblem, FileNeed } from '../steps/state.js';

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

/** A form for a link to an image, or to the file that `need` asks for. */
export function linkForm(session: Session, need?: FileNeed): TemplateResult {
  const { texts } = session;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.target as HTMLFormElement;
    const { value } = form.elements.namedItem('address') as HTMLInputElement;
    session.links.submit(value, need);
  };
  const { problem } = session.links;
  const isBad = problem !== undefined && problem.need === need?.name;
  return html`
    <form class="with-button link-form" novalidate @submit=${submit}>
      <label class="field">
        <span>${need ? texts.addressFor(need) : texts.address}</span>
        <input
          name="address"
          part="field"
          type="url"
          inputmode="url"
          autocomplete="off"
          spellcheck="false"
          placeholder="https://"
          ?data-focus=${isBad}
          aria-invalid=${isBad ? 'true' : nothing}
          aria-describedby=${isBad ? 'address-problem' : nothing}
          @input=${() => session.links.change()}
        />
      </label>
      <button part="button">${texts.openAddress}</button>
      ${isBad ? html`<p class="bad" id="address-problem">${texts.noAddress}</p>` : nothing}
    </form>
  `;
}
