// A conversion under way.

import { html, nothing, type TemplateResult } from 'lit';
import { bottle } from '../picture/bottle.js';
import { pictureView } from '../picture/view.js';
import type { Session } from '../session/session.js';
import { finishingHint, standstill, workTitle } from '../steps/announcement.js';
import { heading, waitingView } from '../steps/common-views.js';
import { methodOf, type Step } from '../steps/state.js';
import { noticeView } from '../texts/sentences.js';
import { canAskToNotify } from './notification.js';

export function convertingView(state: Step<'converting'>, session: Session): TemplateResult {
  const { texts } = session;
  const { share, secondsLeft, speed, phase, place, picture, contents, cancelling } = state;
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
      <span>${speed === undefined ? '' : texts.speed(speed, methodOf(place))}</span>
    </p>
    ${waitingView(session) ?? (stands ? noticeView(stands) : nothing)}
    <p class="hint quiet">${finishingHint(state, texts) ?? html`<span class="more">${texts.keepOpen}</span>`}</p>
    <div class="actions"><button part="button" aria-disabled=${cancelling ? 'true' : nothing} @click=${() => session.cancel()}>${texts.cancel}</button>${canAskToNotify() ? notifyButton(session) : nothing}</div>
  `;
}

const notifyButton = (session: Session) =>
  html`<button class="link more" part="button link" @click=${() => session.askToNotify()}>${session.texts.notify}</button>`;
