// The steps of a conversion: its progress, then the result with its facts.

import { shownText } from 'decant';
import { html, nothing, type TemplateResult } from 'lit';
import { type Item, isOf, type Queue } from '../queue/queue.js';
import { overallHead, overallView } from '../queue/queue-view.js';
import {
  canLeaveToBrowser,
  finishingHint,
  numbersOf,
  savingText,
  standstill,
  verifiedText,
  workTitle,
} from '../steps/announcement.js';
import { button, facts, nameView, noticeView, waitingView } from '../steps/common-views.js';
import type { Controls } from '../steps/controls.js';
import { frame, type Head } from '../steps/frame.js';
import { methodOf, type Overall, type State, type Step, type Target } from '../steps/state.js';
import { resultWarnings } from '../steps/warnings.js';
import type { AllTexts } from '../types.texts.js';
import { canAskToNotify } from '../ways/busy-tab.js';
import { commandsView } from './commands-view.js';
import { lostView } from './details-view.js';
import { digestView } from './digest.js';

export function convertingView(state: Step<'converting'>, controls: Controls): TemplateResult {
  const { texts } = controls;
  const { target, cancelling } = state;
  const [stands] = standstill(state, texts) ?? [];
  const place = futurePlace(target, texts);
  const body = workBody(
    {
      made: html`<strong>${nameView(target.name)}</strong>${place && `, ${place}`}`,
      numbers: numbersOf(state, texts),
      notice: waitingView(controls) ?? (stands ? noticeView(stands) : nothing),
      hint: finishingHint(state, texts),
      buttons: html`<button part="button" aria-disabled=${cancelling ? 'true' : nothing} @click=${() => controls.cancel()}>${texts.cancel}</button>${canLeaveToBrowser(state) ? leaveButton(controls) : nothing}`,
    },
    controls,
  );
  return frame(state, texts, { text: workTitle(state, texts), name: state.name }, body);
}

/** The parts of the screen for work that ends in a file. */
interface Work {
  made: TemplateResult | string;
  numbers: [share: string, left: string, speed: string];
  notice: unknown;
  hint?: string | undefined;
  buttons: TemplateResult;
}

/** The lines below the picture during a conversion, and before it if it begins by itself: they are the same, so that nothing moves. */
export function workBody({ made, numbers: [share, left, speed], notice, hint, buttons }: Work, controls: Controls) {
  return html`
    <p class="made more">${made}</p>
    <p class="numbers">
      <strong>${share}</strong>
      <span>${left}</span>
      <span>${speed}</span>
    </p>
    ${notice}
    <p class="hint quiet">${hint ?? html`<span class="more">${controls.texts.keepOpen}</span>`}</p>
    <div class="actions">${buttons}${canAskToNotify() ? notifyButton(controls) : nothing}</div>
  `;
}

/** Where the file will be; empty if the page takes it. */
function futurePlace(target: Target, texts: AllTexts): string {
  if (target.kind === 'host') return '';
  if (target.kind === 'folder') return texts.toFolder(target.folder.name);
  return texts.toWay[target.kind === 'dialog' ? 'dialog' : 'download'];
}

/** The button that starts with another image while the browser completes the file. */
const leaveButton = (controls: Controls) =>
  button(
    controls.imagesWaiting > 0 ? controls.texts.next.next : controls.texts.convertAnother,
    () => controls.leaveToBrowser(),
    'primary',
  );

const notifyButton = (controls: Controls) =>
  html`<button class="link more" part="button link" @click=${() => controls.askToNotify()}>${controls.texts.notify}</button>`;

export function doneView(state: Step<'done'>, controls: Controls): TemplateResult {
  const { texts } = controls;
  const { result, target } = state;
  const waiting = controls.imagesWaiting > 0;
  const { overall } = controls;
  const saving = savingText(state, texts);
  const single = html`
    <p class="made" id="place"><strong>${texts.size(result.outputSize)}</strong> ${texts.madeIn(target)}</p>
    ${saving ? html`<p class="quiet" id="saving">${saving}</p>` : nothing}
    ${checksView(state, texts)}
    ${resultWarnings(state, texts).map(({ text }) => noticeView(text))}
    ${result.lostBytes > 0 ? lostView(result, texts) : nothing}
    ${commandsView(state, controls)}
    <div class="more">${digestView(state, controls)}</div>
    <details class="more"><summary>${texts.details}</summary>${factsView(state, texts)}</details>
  `;
  // The list has the results of a queue.
  const last = html`
    ${overallView(overall, texts)}
    ${saving ? html`<p class="quiet" id="saving">${saving}</p>` : nothing}
    ${state.tooLate ? noticeView(texts.wasTooLate) : nothing}
  `;
  const body = html`
    ${overall ? last : single}
    <div class="actions">
      ${waiting ? button(texts.next.next, () => controls.openNext(), 'primary') : nothing}
      ${button(texts.convertAnother, () => controls.reset(), waiting ? 'link' : 'primary')}
    </div>
  `;
  return frame(state, texts, overall ? { icon: tick, ...overallHead(overall, texts) } : doneHead(state, texts), body);
}

const tick = html`<svg class="tick" viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="12" r="10.5" /><path d="M7.2 12.4l3.3 3.3 6.3-6.9" /></svg>`;

/** The name of the file with a tick, or what is wrong with the disk. */
function doneHead({ result, target }: Step<'done'>, texts: AllTexts): Head {
  if (result.lostBytes > 0) return { text: texts.doneDamaged, by: 'place' };
  return {
    icon: tick,
    before: `${texts.done}: `,
    text: shownText(target.name),
    name: target.name,
    by: 'place',
  };
}

/** Says what was changed on the disk, and how the file was verified. */
function checksView(state: Step<'done'>, texts: AllTexts): TemplateResult {
  const verified = verifiedText(state, texts);
  return html`
    ${state.result.rewritten.length > 0 ? html`<p class="quiet">${texts.tableMoved}</p>` : nothing}
    ${verified ? html`<p class="good">${verified}</p>` : nothing}
  `;
}

function factsView(state: Step<'done'>, texts: AllTexts): TemplateResult {
  const { result, target, seconds, converting, speed } = state;
  const { copyExpires } = result;
  const secondsLeft = copyExpires && (copyExpires.getTime() - Date.now()) / 1000;
  const method = methodOf(target);
  return facts([
    [texts.facts.disk, texts.size(result.virtualSize)],
    [texts.facts.written, texts.writtenValue(result, method)],
    [texts.facts.copy, secondsLeft && !state.isCopyGone ? texts.copyKept(result.outputSize, secondsLeft) : undefined],
    [texts.facts.time, texts.timeValue(seconds)],
    [texts.facts.converting, texts.convertingValue(converting, speed, method)],
    [texts.facts.method, texts.methodValue[method]],
    [texts.facts.engine, texts.engineValue(result)],
    [texts.facts.threads, crossOriginIsolated ? undefined : texts.notIsolated],
  ]);
}

/** Whether the commands of `state` are shown outside of the list: those of the last result of a queue only if they are for all results. */
const hasScript = ({ made }: Step<'done'>, overall: Overall | undefined): boolean =>
  !overall || made.length === overall.done;

/** The commands for all results of a queue: below its list, which they do not move. */
export const queueCommands = (state: State, controls: Controls) =>
  state.step === 'done' && controls.overall && hasScript(state, controls.overall)
    ? commandsView(state, controls)
    : nothing;

/** The result of an item in the list of the queue, folded. `shown` is the step that is shown, which may have the SHA-256 of the file. */
export function itemResultView(
  item: Item,
  queue: Queue,
  shown: State,
  controls: Controls,
): TemplateResult | typeof nothing {
  const { texts } = controls;
  const { made } = item;
  if (!made) return nothing;
  const isLast = shown.step === 'done' && isOf(item, controls.opening?.bundle);
  const kept: Step<'done'> = {
    ...made.result,
    step: 'done',
    made: queue.madeWith(item),
    picture: undefined,
    isCopyGone: true,
  };
  const state = isLast ? shown : kept;
  const isOutside = shown.step === 'done' && hasScript(shown, controls.overall) && shown.made.includes(made.disk);
  const commands = isOutside ? nothing : commandsView(state, controls);
  const summary = commands === nothing ? texts.details : texts.queued.commands;
  return html`
    <details class="result more">
      <summary aria-label=${`${summary}: ${shownText(made.result.target.name)}`}>${summary}</summary>
      ${checksView(state, texts)}
      ${state.result.lostBytes > 0 ? lostView(state.result, texts) : nothing}
      ${commands}
      ${isLast ? digestView(state, controls) : nothing}
      ${factsView(state, texts)}
    </details>
  `;
}
