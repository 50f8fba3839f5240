// A conversion under way.

import { html, nothing, type TemplateResult } from 'lit';
import { pictureView } from '../picture/picture-view.js';
import { finishingHint, standstill, workTitle } from '../steps/announcement.js';
import { bottle, heading, noticeView, waitingView } from '../steps/common-views.js';
import type { Controls } from '../steps/controls.js';
import { methodOf, type Step } from '../steps/state.js';
import { canAskToNotify } from './notification.js';

export function convertingView(state: Step<'converting'>, controls: Controls): TemplateResult {
  const { texts } = controls;
  const { share, secondsLeft, speed, phase, target, picture, contents, cancelling } = state;
  const [stands] = standstill(state, texts) ?? [];
  const finishing = phase === 'finishing';
  const left = secondsLeft === undefined ? (finishing ? texts.leftUnknown : '') : texts.left(secondsLeft);
  return html`
    <div class="working">${bottle(share)}${heading(workTitle(state, texts))}</div>
    ${picture ? pictureView(picture, share, texts, contents) : nothing}
    <progress part="progress" aria-label=${workTitle(state, texts)} max="1" .value=${share}></progress>
    <p class="numbers">
      <strong>${texts.percent(share)}</strong>
      <span>${left}</span>
      <span>${speed === undefined ? '' : texts.speed(speed, methodOf(target))}</span>
    </p>
    ${waitingView(controls) ?? (stands ? noticeView(stands) : nothing)}
    <p class="hint quiet">${finishingHint(state, texts) ?? html`<span class="more">${texts.keepOpen}</span>`}</p>
    <div class="actions"><button part="button" aria-disabled=${cancelling ? 'true' : nothing} @click=${() => controls.cancel()}>${texts.cancel}</button>${canAskToNotify() ? notifyButton(controls) : nothing}</div>
  `;
}

const notifyButton = (controls: Controls) =>
  html`<button class="link more" part="button link" @click=${() => controls.askToNotify()}>${controls.texts.notify}</button>`;
