// The steps that open, unpack or unlock an image, and that ask whether to unpack it or to take much memory for it.

import { html, nothing, type TemplateResult } from 'lit';
import { heading, noticeView, waitingView } from '../steps/common-views.js';
import type { Controls } from '../steps/controls.js';
import type { Step } from '../steps/state.js';

export function openingView({ name, isSlow, share }: Step<'opening'>, controls: Controls): TemplateResult {
  const { texts } = controls;
  return html`
    ${heading(texts.opening(name))}
    <progress part="progress" aria-label=${texts.opening(name)} max="1" value=${share ?? nothing}></progress>
    ${waitingView(controls) ?? (isSlow ? noticeView(texts.slow) : nothing)}
    <div class="actions"><button part="button" @click=${() => controls.reset()}>${texts.cancel}</button></div>
  `;
}

export function unlockingView({ name, share }: Step<'unlocking'>, controls: Controls): TemplateResult {
  const { texts } = controls;
  return html`
    ${heading(texts.unlocking(name))}
    <progress part="progress" aria-label=${texts.unlocking(name)} max="1" .value=${share}></progress>
    <div class="actions"><button part="button" @click=${() => controls.reset()}>${texts.cancel}</button></div>
  `;
}

export function packedView({ name, format, size }: Step<'packed'>, controls: Controls): TemplateResult {
  const { texts } = controls;
  return html`
    ${heading(texts.packedTitle(name), 'packed')}
    <p id="packed">${texts.packed(format, size)}</p>
    <div class="actions">
      <button class="primary" part="button primary" @click=${() => controls.unpack()}>${texts.unpack}</button>
      <button class="link" part="button link" @click=${() => controls.reset()}>${texts.next.another}</button>
    </div>
  `;
}

export function largeView({ name, size }: Step<'large'>, controls: Controls): TemplateResult {
  const { texts } = controls;
  return html`
    ${heading(texts.largeTitle(name), 'large')}
    <p id="large">${texts.large(size)}</p>
    <div class="actions">
      <button class="primary" part="button primary" @click=${() => controls.allowMemory()}>${texts.openDisks}</button>
      <button class="link" part="button link" @click=${() => controls.reset()}>${texts.next.another}</button>
    </div>
  `;
}

export function unpackingView({ name, share }: Step<'unpacking'>, controls: Controls): TemplateResult {
  const { texts } = controls;
  return html`
    ${heading(texts.unpacking(name))}
    <progress part="progress" aria-label=${texts.unpacking(name)} max="1" value=${share ?? nothing}></progress>
    ${share === undefined ? nothing : html`<p class="numbers"><strong>${texts.percent(share)}</strong></p>`}
    ${waitingView(controls)}
    <div class="actions"><button part="button" @click=${() => controls.reset()}>${texts.cancel}</button></div>
  `;
}
