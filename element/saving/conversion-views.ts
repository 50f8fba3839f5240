// The steps of a conversion: its progress, then the result with its facts and the commands that come next.

import { nextStep } from 'decant/places';
import { html, nothing, type TemplateResult } from 'lit';
import { pictureView } from '../picture/picture-view.js';
import { overallView } from '../queue/queue-view.js';
import { donePlace, doneTitle, finishingHint, standstill, verifiedText, workTitle } from '../steps/announcement.js';
import { bottle, facts, heading, noticeView, pageLink, spoken, waitingView } from '../steps/common-views.js';
import type { Controls } from '../steps/controls.js';
import { methodOf, type Step } from '../steps/state.js';
import { resultWarnings } from '../steps/warnings.js';
import { canAskToNotify } from '../ways/busy-tab.js';
import { lostView } from './details-view.js';
import { digestView } from './digest.js';

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

export function doneView(state: Step<'done'>, controls: Controls): TemplateResult {
  const { texts } = controls;
  const { picture, contents } = state;
  const waiting = controls.imagesWaiting > 0;
  const { overall } = controls;
  const verified = verifiedText(state, texts);
  return html`
    ${overall ? overallView(overall, texts) : heading(doneTitle(state, texts), 'place')}
    <p class="good" id="place">${donePlace(state, texts)}</p>
    ${verified ? html`<p class="good">${verified}</p>` : nothing}
    ${resultWarnings(state, texts).map(({ text }) => noticeView(text))}
    ${resultView(state, controls)}
    ${picture ? pictureView(picture, 1, texts, contents) : nothing}
    <div class="actions">
      ${waiting ? html`<button class="primary" part="button primary" @click=${() => controls.openNext()}>${texts.next.next}</button>` : nothing}
      <button class=${waiting ? 'link' : 'primary'} part=${`button ${waiting ? 'link' : 'primary'}`} @click=${() => controls.reset()}>${texts.convertAnother}</button>
    </div>
  `;
}

function resultView(state: Step<'done'>, controls: Controls): TemplateResult {
  const { texts } = controls;
  const { result, target, seconds, converting, speed } = state;
  const method = methodOf(target);
  return html`
    ${result.lostBytes > 0 ? lostView(result, texts) : nothing}
    ${nextView(state, controls)}
    <div class="more">${digestView(state, controls)}</div>
    <details class="more">
      <summary>${texts.details}</summary>
      ${facts([
        [texts.facts.disk, texts.size(result.virtualSize)],
        [texts.facts.written, texts.writtenValue(result, method)],
        [texts.facts.copy, method === 'stored' && !state.isCopyGone ? texts.copyKept(result.outputSize) : undefined],
        [texts.facts.time, texts.timeValue(seconds)],
        [texts.facts.converting, texts.convertingValue(converting, speed, method)],
        [texts.facts.method, texts.methodValue[method]],
        [texts.facts.engine, texts.engineValue(result)],
        [texts.facts.threads, crossOriginIsolated ? undefined : texts.notIsolated],
      ])}
    </details>
  `;
}

function nextView({ destination, made, contents }: Step<'done'>, controls: Controls): TemplateResult | typeof nothing {
  const { texts, values } = controls;
  const step = destination && nextStep(destination.name, made, values);
  if (!step) return nothing;
  const commands = step.commands.map(({ line }) => line).join('\n');
  const placeholders = new Set(step.commands.flatMap(({ placeholders }) => placeholders));
  return html`
    <section class="next more" aria-labelledby="next">
      <h3 id="next">${texts.nextStep(texts.placeLabel(destination), step.shell)}</h3>
      ${placeholders.size > 0 ? valuesView([...placeholders], controls) : nothing}
      ${commands ? html`<pre part="command" tabindex="0" aria-labelledby="next">${commands}</pre>` : nothing}
      ${contents?.firmware ? html`<p>${texts.contents.firmware(contents.firmware)}</p>` : nothing}
      ${step.notices.map((notice) => html`<p>${spoken(texts.notice(notice))} ${pageLink(notice.fields.source)}</p>`)}
      ${commands ? html`<div class="actions"><button part="button" @click=${() => controls.copy(commands)}>${texts.copy}</button></div>` : nothing}
    </section>
  `;
}

/** The fields for what only the person knows of the commands. */
const valuesView = (placeholders: string[], { texts, values, fillIn }: Controls) => html`
  <fieldset>
    <legend>${texts.ownValues}</legend>
    <div class="values">
      ${placeholders.map(
        (placeholder) => html`
          <label class="field">
            <span>${placeholder}</span>
            <input name=${`value-${placeholder}`} part="field" autocomplete="off" autocapitalize="off" spellcheck="false" .value=${values[placeholder] ?? ''} @input=${(event: Event) => fillIn(placeholder, (event.target as HTMLInputElement).value)} />
          </label>
        `,
      )}
    </div>
  </fieldset>
`;
