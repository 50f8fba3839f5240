// The steps opening, unlocking, converting, done and failed.

import { shownText, type Waiting } from 'decant';
import { html, nothing, type TemplateResult } from 'lit';
import { bottle } from './bottle.js';
import { canAskToNotify } from './notification.js';
import { pictureView } from './picture/view.js';
import { SILENT, STALLED } from './progress-meter.js';
import type { Overall } from './queue.js';
import type { Session } from './session.js';
import { noticeView, spoken } from './spoken.js';
import { methodOf, type Next, type State, type Step } from './state.js';
import { sentence } from './texts/sentences.js';
import type { AllTexts } from './types.texts.js';
import { resultView } from './views-result.js';
import { resultWarnings } from './warnings.js';

/** The heading of a step, which takes the focus. `by` is the ID of its description. */
export const heading = (text: string, by?: string) =>
  html`<h2 tabindex="-1" data-focus aria-describedby=${by ?? nothing}>${text}</h2>`;

const doneTitle = ({ result, place, isCopyGone }: Step<'done'>, texts: AllTexts): string => {
  if (result.lostBytes > 0) return texts.doneDamaged;
  return (place.kind === 'stored' && !isCopyGone) || place.kind === 'streamed' ? texts.doneSaving : texts.done;
};

const donePlace = ({ place, copying, isCopyGone }: Step<'done'>, texts: AllTexts): string =>
  isCopyGone ? texts.copied(place.name) : texts.place(place, copying);

/** Whether the network has been silent long enough for a notice. */
const isSilent = ({ silence }: Step<'converting'>): boolean => silence >= SILENT;

/** A notice about a conversion that makes no progress, and the same for screen readers. */
function standstill(state: Step<'converting'>, texts: AllTexts): [text: string, short: string] | undefined {
  if (isSilent(state)) return [texts.silent(state.silence), texts.silentShort];
  if (state.stalled >= STALLED) return [texts.stalled(state.stalled), texts.stalledShort];
  return undefined;
}

const workTitle = ({ phase, name, cancelling }: Step<'converting'>, texts: AllTexts): string =>
  texts.working(cancelling ? texts.cancelling : texts.phase[phase], name);

/** A hint while the browser completes a file, which it does without progress and cannot stop. */
function finishingHint({ phase, place, cancelling }: Step<'converting'>, texts: AllTexts): string | undefined {
  if (phase !== 'finishing' || methodOf(place) !== 'picked') return undefined;
  if (!cancelling) return texts.finishing;
  return place.kind === 'folder' && !place.replaces ? texts.cancelWaits : texts.cancelTooLate;
}

/** What to know about the results of a queue besides their number. */
const overallNotes = ({ failed, damaged }: Overall, texts: AllTexts): string[] => [
  ...(failed.length > 0 ? [texts.notAll(failed)] : []),
  ...(damaged.length > 0 ? [texts.someDamaged(damaged)] : []),
];

/**
 * The text for screen readers: the step, and the progress of a conversion in steps of 10 percent. `waiting` is the server that
 * keeps the session waiting. The text has no number of attempts, so that each wait is announced once. `overall`: the results of
 * the queue that has ended.
 */
export function announcement(state: State, texts: AllTexts, waiting?: Waiting, overall?: Overall): string {
  if (overall) {
    const last = state.step === 'done' ? donePlace(state, texts) : announcement(state, texts);
    return [sentence(texts.allDone(overall.done, overall.all)), ...overallNotes(overall, texts), last].join(' ');
  }
  switch (state.step) {
    case 'converting':
      if (state.cancelling) return [workTitle(state, texts), finishingHint(state, texts)].filter(Boolean).join('. ');
      if (state.phase === 'finishing') return workTitle(state, texts);
      if (state.waiting) return texts.waitingShort(state.waiting);
      return standstill(state, texts)?.[1] ?? texts.converted(Math.floor(state.share * 10) * 10);
    case 'done':
      return `${doneTitle(state, texts)}. ${donePlace(state, texts)}`;
    case 'failed':
      return [sentence(state.title), state.message, state.left].filter(Boolean).join(' ');
    case 'opening':
      if (waiting) return texts.waitingShort(waiting);
      return state.isSlow ? texts.slow : texts.opening(state.name);
    case 'unlocking':
      return texts.unlocking(state.name);
    case 'unpacking':
      return texts.unpacking(state.name);
    case 'packed':
    case 'large':
      return '';
    case 'needs':
    case 'disks':
      return state.notice ?? '';
    case 'empty':
      return [state.notice, ...(state.left ?? []).map(({ text }) => text)].filter(Boolean).join(' ');
    case 'ready':
      if (state.picking) return texts.picking;
      return waiting ? texts.waitingShort(waiting) : '';
  }
}

/** The title for the window; `undefined` for the title of the page. `overall`: the results of the queue that has ended. */
export function windowTitle(state: State, texts: AllTexts, overall?: Overall): string | undefined {
  if (overall) return texts.allDone(overall.done, overall.all);
  switch (state.step) {
    case 'converting':
      return `${texts.percent(state.share)} ${shownText(state.name)}`;
    case 'done':
      return `${doneTitle(state, texts)}: ${shownText(state.place.name)}`;
    case 'failed':
      return state.title;
    case 'opening':
    case 'unlocking':
      return texts.opening(state.name);
    case 'unpacking':
      return texts.unpacking(state.name);
    case 'packed':
    case 'large':
    case 'disks':
      return shownText(state.name);
    case 'needs':
    case 'ready':
      return shownText(state.image.info.name ?? texts.image);
    case 'empty':
      return undefined;
  }
}

/** A notice about the server that keeps the session waiting, if any. */
export const waitingView = ({ waiting, texts }: Session) => waiting && noticeView(texts.waiting(waiting));

export function openingView({ name, isSlow, share }: Step<'opening'>, session: Session): TemplateResult {
  const { texts } = session;
  return html`
    ${heading(texts.opening(name))}
    <progress part="progress" aria-label=${texts.opening(name)} max="1" value=${share ?? nothing}></progress>
    ${waitingView(session) ?? (isSlow ? noticeView(texts.slow) : nothing)}
    <div class="actions"><button part="button" @click=${() => session.reset()}>${texts.cancel}</button></div>
  `;
}

export function unlockingView({ name, share }: Step<'unlocking'>, session: Session): TemplateResult {
  const { texts } = session;
  return html`
    ${heading(texts.unlocking(name))}
    <progress part="progress" aria-label=${texts.unlocking(name)} max="1" .value=${share}></progress>
    <div class="actions"><button part="button" @click=${() => session.reset()}>${texts.cancel}</button></div>
  `;
}

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

/** The results of a queue: the heading, and what to know besides the number. */
function overallView(overall: Overall, texts: AllTexts): TemplateResult {
  const notes = overallNotes(overall, texts);
  return html`
    ${heading(texts.allDone(overall.done, overall.all), notes.length > 0 ? 'overall' : undefined)}
    ${notes.length > 0 ? html`<div id="overall">${notes.map((text) => html`<p class="bad">${spoken(text)}</p>`)}</div>` : nothing}
  `;
}

export function doneView(state: Step<'done'>, session: Session): TemplateResult {
  const { texts } = session;
  const { picture, contents } = state;
  const waiting = session.queue.waiting[0];
  const { overall } = session;
  return html`
    ${overall ? overallView(overall, texts) : heading(doneTitle(state, texts), 'place')}
    <p class="good" id="place">${donePlace(state, texts)}</p>
    ${resultWarnings(state, texts).map(({ text }) => noticeView(text))}
    ${resultView(state, session)}
    ${picture ? pictureView(picture, 1, texts, contents) : nothing}
    <div class="actions">
      ${waiting ? html`<button class="primary" part="button primary" @click=${() => session.openNext()}>${texts.next.next}</button>` : nothing}
      <button class=${waiting ? 'link' : 'primary'} part=${`button ${waiting ? 'link' : 'primary'}`} @click=${() => session.reset()}>${texts.convertAnother}</button>
    </div>
  `;
}

/** A failure with possible steps, the most likely to work first. */
export function failedView({ asks, title, message, left, next }: Step<'failed'>, session: Session): TemplateResult {
  const { texts } = session;
  const waiting = session.queue.waiting.length > 0;
  const steps: Next[] = [...next, ...(waiting ? (['next'] as const) : []), 'another'];
  const { overall } = session;
  const titled = message || !left ? title : `${sentence(title)} ${left}`;
  return html`
    ${overall ? html`${overallView(overall, texts)}<h3>${titled}</h3>` : heading(titled)}
    ${message ? html`<p class=${asks ? '' : 'bad'}>${spoken(message)}</p>` : nothing}
    ${message && left ? html`<p>${left}</p>` : nothing}
    <div class="actions">
      ${steps.map(
        (step, at) =>
          html`<button class=${at === 0 ? 'primary' : step === 'another' ? 'link' : ''} part=${`button ${at === 0 ? 'primary' : step === 'another' ? 'link' : ''}`} @click=${() => session.takeStep(step)}>${texts.next[step]}</button>`,
      )}
    </div>
  `;
}
