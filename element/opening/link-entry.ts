// Links to images and their files, which the person types, pastes or drops.

import { html, nothing, type TemplateResult } from 'lit';
import { addressIn, type InputFile, linked, typedAddress } from '../files/input-file.js';
import type { Controls, LinkFields } from '../steps/controls.js';
import type { Screen } from '../steps/screen.js';
import type { AddressProblem } from '../steps/state.js';
import type { MissingFile } from '../types.texts.js';

/** Takes a link to an image, or to the file that `need` asks for. */
interface LinkTaker {
  take(files: InputFile[]): void;
  answer(need: MissingFile, input: InputFile): void;
}

export class LinkEntry implements LinkFields {
  #problem: AddressProblem | undefined;
  /** The texts that were given last, by the names of needs; `undefined` is the name for an image. */
  readonly #given = new Map<string | undefined, string>();
  /** The turn in which the person edits the link to an image. */
  #edits: AbortSignal | undefined;

  constructor(
    private readonly screen: Screen,
    private readonly taker: LinkTaker,
  ) {}

  get problem(): AddressProblem | undefined {
    return this.#problem?.turn === this.screen.turn ? this.#problem : undefined;
  }

  given(need?: MissingFile): string {
    return this.#given.get(need?.name) ?? '';
  }

  get isEdited(): boolean {
    return this.#edits === this.screen.turn;
  }

  /** Lets the person edit the link to an image, on the first screen. */
  edit(): void {
    this.#edits = this.screen.turn;
    this.screen.refresh();
  }

  /** Forgets the links that were given, because the image is open. */
  forget(): void {
    this.#given.clear();
  }

  /** Takes `text` from the field for links of `need`, or of the first screen. */
  submit(text: string, need?: MissingFile): void {
    const address = typedAddress(text);
    if (address) {
      this.take(address.href, need);
      this.#given.set(need?.name, text);
      return;
    }
    const { turn } = this.screen;
    this.#problem = { turn, need: need?.name, refusals: (this.problem?.refusals ?? 0) + 1 };
    this.screen.announce('');
  }

  /** Forgets the problem, because the text in the field has changed. */
  change(): void {
    this.#problem = undefined;
    this.screen.refresh();
  }

  /** Takes `text` as a link: for `need`, or to an image. */
  take(text: string, need?: MissingFile): void {
    const { phase, turn, texts } = this.screen;
    const url = addressIn(text);
    if (url) this.#given.set(need?.name, text);
    if (url && need) this.taker.answer(need, linked(url));
    else if (url) this.taker.take([linked(url)]);
    else if (phase === 'start') this.screen.update(turn, 'empty', { notice: texts.noAddress });
    else this.screen.announce(texts.noAddress);
  }
}

/** A form for a link to an image, or to the file that `need` asks for. */
export function linkForm(controls: Controls, need?: MissingFile): TemplateResult {
  const { texts } = controls;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.target as HTMLFormElement;
    const { value } = form.elements.namedItem('address') as HTMLInputElement;
    controls.links.submit(value, need);
  };
  const { problem } = controls.links;
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
          .value=${controls.links.given(need)}
          ?data-focus=${isBad || (!need && controls.links.isEdited)}
          aria-invalid=${isBad ? 'true' : nothing}
          aria-describedby=${isBad ? 'address-problem' : nothing}
          @input=${() => controls.links.change()}
        />
      </label>
      <button part="button">${texts.openAddress}</button>
      ${isBad ? html`<p class="bad" id="address-problem">${texts.noAddress}</p>` : nothing}
    </form>
  `;
}
