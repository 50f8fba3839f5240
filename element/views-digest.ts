// The SHA-256 of a result.

import { html, nothing, type TemplateResult } from 'lit';
import { canDigest } from './digests.js';
import type { Session } from './session.js';
import { spoken } from './spoken.js';
import type { Step } from './state.js';

export function digestView(state: Step<'done'>, session: Session): TemplateResult {
  const { texts } = session;
  const { value = state.result.sha256, share, cancel, problem } = state.digest ?? {};
  if (value !== undefined) {
    return html`
      <section class="next" aria-labelledby="digest">
        <h3 id="digest">SHA-256</h3>
        <pre part="command" tabindex="0" aria-labelledby="digest">${value}</pre>
        <div class="actions"><button part="button" aria-label=${`${texts.copy} SHA-256`} @click=${() => session.copy(value)}>${texts.copy}</button></div>
      </section>
    `;
  }
  if (cancel) {
    return html`
      <section class="next">
        <progress part="progress" aria-label=${texts.computing} max="1" .value=${share ?? 0}></progress>
        <p class="numbers"><span>${texts.computing}</span><strong>${texts.percent(share ?? 0)}</strong></p>
        <div class="actions"><button part="button" @click=${cancel}>${texts.cancel}</button></div>
      </section>
    `;
  }
  if (!canDigest(state)) return html``;
  return html`
    ${problem ? html`<p class="bad" role="alert">${spoken(problem)}</p>` : nothing}
    <div class="actions"><button class="link" part="button link" @click=${() => session.digest()}>${texts.compute}</button></div>
  `;
}
