// The step that describes an image and offers ways to save its disk.

import { shownText } from 'decant';
import { html, nothing, type TemplateResult } from 'lit';
import { pictureView } from '../picture/picture-view.js';
import { heading, noticeView, separateButton, spoken, waitingView } from '../steps/common-views.js';
import type { Controls } from '../steps/controls.js';
import type { Step } from '../steps/state.js';
import { imageWarnings, outputWarnings } from '../steps/warnings.js';
import type { AllTexts } from '../types.texts.js';
import { isTooSmall } from '../ways/choices.js';
import { fits, placeTakesSeveral, takesSeveral } from '../ways/destinations.js';
import { askingView } from './asking-view.js';
import { changeFields } from './change-view.js';
import { placesView } from './destinations-view.js';
import { detailsView } from './details-view.js';

export function readyView(state: Step<'ready'>, controls: Controls): TemplateResult {
  const { texts } = controls;
  const { survey, destinations, placesProblem } = state;
  const warnings = [...outputWarnings(state, texts), ...imageWarnings(state, controls)];
  return html`
    ${heading(`${shownText(state.label)} → ${shownText(state.name)}`)}
    ${destinations.length > 0 ? placesView(state, controls) : nothing}
    ${placesProblem ? noticeView(placesProblem) : nothing}
    ${convertLine(state, controls)}
    ${warnings.length > 0 ? html`<ul class="notice" part="notice">${warnings.map(({ text }) => html`<li>${spoken(text)}</li>`)}</ul>` : nothing}
    ${waitingView(controls)}
    ${state.asking ? askingView(state.asking, controls) : nothing}
    ${survey.picture ? pictureView(survey.picture, undefined, texts, survey.contents) : nothing}
    ${changeView(state, controls)}
    <details class="fold more">
      <summary>${texts.details}</summary>
      ${detailsView(state, controls)}
    </details>
    <div class="actions">
      ${separateButton(controls)}
      <button class="link" part="button link" aria-disabled=${state.choosingTarget ? 'true' : nothing} @click=${() => controls.reset()}>${texts.next.another}</button>
    </div>
  `;
}

/** What will be made, and the buttons. */
function convertLine(state: Step<'ready'>, controls: Controls): TemplateResult {
  const { texts } = controls;
  const { choosingTarget, picking, destination } = state;
  const canChoose = state.choices.some(({ obstacle }) => obstacle === undefined);
  const choose = state.lostWay || state.isSettled ? texts.chooseWay : texts.noWay;
  const why = picking ? texts.picking : !state.way && canChoose ? choose : undefined;
  const cannot = !state.way || choosingTarget;
  // If the question has a primary button, Convert is not primary: it would only ask again.
  const questionLeadsOn = state.asking !== undefined && state.asking.kind !== 'noFolder';
  const joinable = canJoin(state) ? controls.joinable : 0;
  const joins = joinable > 0 && takesSeveral(state.output);
  const isPrimary = !questionLeadsOn && !joins;
  // With this format, the disks of a machine are meant for one file.
  const waiting = joins && controls.imagesWaiting < joinable ? 0 : controls.imagesWaiting;
  const hasFit = destination && !controls.opening?.snapshot && !controls.isSalvage && fits(state.image, destination);
  return html`
    <div class="line">
      <p>
        ${lineOf(state, texts)}
        ${hasFit ? html`<br /><strong class="good">${texts.fits(shownText(state.label), texts.placeLabel(destination))}</strong>` : nothing}
        ${why ? html`<br /><span class="quiet" id="why">${why}</span>` : nothing}
      </p>
      ${joins ? joinButton(joinable, state, controls) : nothing}
      <button class=${isPrimary ? 'primary' : ''} part=${isPrimary ? 'button primary' : 'button'} data-convert aria-disabled=${cannot ? 'true' : nothing} aria-describedby=${why ? 'why' : nothing} @pointerdown=${() => controls.chooser.hold()} @focus=${() => controls.chooser.hold()} @click=${() => controls.convert()}>${joins ? texts.convertDisk : texts.convert}</button>
      ${waiting > 0 && state.way !== 'dialog' ? html`<button part="button" aria-disabled=${cannot ? 'true' : nothing} @click=${() => controls.convertAll()}>${texts.convertAll(waiting + 1)}</button>` : nothing}
      ${joinable > 0 && !joins ? joinButton(joinable, state, controls) : nothing}
    </div>
  `;
}

/** The button that opens all disks of the machine; the primary one if the chosen format takes several disks. */
function joinButton(disks: number, { output, choosingTarget }: Step<'ready'>, controls: Controls): TemplateResult {
  const style = takesSeveral(output) ? 'primary' : '';
  return html`<button class=${style} part=${`button ${style}`} aria-disabled=${choosingTarget ? 'true' : nothing} @click=${() => controls.joinDisks()}>${controls.texts.joinDisks(disks)}</button>`;
}

/** Whether the format, or the place, takes several disks in one file. */
const canJoin = ({ output, destination }: Step<'ready'>): boolean =>
  takesSeveral(output) || (destination !== undefined && placeTakesSeveral(destination.name));

/** The format, the size, the time and the way to save, as far as they are known. */
function lineOf({ others, output, destination, choices, way }: Step<'ready'>, texts: AllTexts): string {
  const choice = choices.find((one) => one.way === way);
  const what = destination ? texts.forPlace(destination, texts.outputValue(output)) : texts.outputValue(output);
  const isKnown = choice !== undefined && output.size !== undefined;
  const disks = others.length > 0 && texts.joined(others.length + 1);
  return [disks, what, isKnown && texts.estimate(choice), way && way !== 'host' && texts.ways[way]]
    .filter(Boolean)
    .join(' · ');
}

/** The choices that replace the proposals. Open if the person must choose. */
function changeView(state: Step<'ready'>, controls: Controls): TemplateResult {
  const { texts } = controls;
  const isWrong = state.nameProblem !== undefined || isTooSmall(state);
  const must = isWrong || (!state.way && (state.isSettled || state.lostWay !== undefined));
  const toggled = (event: Event) => {
    controls.isChanging = (event.target as HTMLDetailsElement).open;
  };
  return html`
    <details class=${must ? 'fold' : 'fold more'} ?open=${controls.isChanging || must} @toggle=${toggled}>
      <summary>${texts.change}</summary>
      ${changeFields(state, controls)}
    </details>
  `;
}
