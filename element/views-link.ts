// The form for a link.

import { html, nothing, type TemplateResult } from 'lit';
import type { Session } from './session.js';
import type { FileNeed } from './state.js';

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
