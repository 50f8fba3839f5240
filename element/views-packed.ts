// The steps that ask whether to unpack an image, or to take much memory for it, and unpack it.

import { html, nothing, type TemplateResult } from 'lit';
import type { Session } from './session.js';
import type { Step } from './state.js';
import { heading, waitingView } from './views.js';

export function packedView({ name, format, size }: Step<'packed'>, session: Session): TemplateResult {
  const { texts } = session;
  return html`
    ${heading(texts.packedTitle(name), 'packed')}
    <p id="packed">${texts.packed(format, size)}</p>
    <div class="actions">
      <button class="primary" part="button primary" @click=${() => session.unpack()}>${texts.unpack}</button>
      <button class="link" part="button link" @click=${() => session.reset()}>${texts.next.another}</button>
    </div>
  `;
}

export function largeView({ name, size }: Step<'large'>, session: Session): TemplateResult {
  const { texts } = session;
  return html`
    ${heading(texts.largeTitle(name), 'large')}
    <p id="large">${texts.large(size)}</p>
    <div class="actions">
      <button class="primary" part="button primary" @click=${() => session.allowMemory()}>${texts.openDisks}</button>
      <button class="link" part="button link" @click=${() => session.reset()}>${texts.next.another}</button>
    </div>
  `;
}

export function unpackingView({ name, share }: Step<'unpacking'>, session: Session): TemplateResult {
  const { texts } = session;
  return html`
    ${heading(texts.unpacking(name))}
    <progress part="progress" aria-label=${texts.unpacking(name)} max="1" value=${share ?? nothing}></progress>
    ${share === undefined ? nothing : html`<p class="numbers"><strong>${texts.percent(share)}</strong></p>`}
    ${waitingView(session)}
    <div class="actions"><button part="button" @click=${() => session.reset()}>${texts.cancel}</button></div>
  `;
}
