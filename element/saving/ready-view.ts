// The step that describes an image and offers ways to save its disk.

import { shownText } from 'decant';
import { html, nothing, type TemplateResult } from 'lit';
import { nameView, noticeView, openedInSight, separateButton, spoken, waitingView } from '../steps/common-views.js';
import type { Controls } from '../steps/controls.js';
import { frame } from '../steps/frame.js';
import { isPlaceBeingChosen, type Step } from '../steps/state.js';
import { imageWarnings, outputWarnings } from '../steps/warnings.js';
import type { AllTexts } from '../types.texts.js';
import { fits, placeTakesSeveral, quickFormat, takesSeveral } from '../ways/destinations.js';
import { askingView, offerView } from './asking-view.js';
import { changeFields } from './change-view.js';
import { isWaiting, mustChange } from './chooser.js';
import { placesView } from './destinations-view.js';
import { detailsView } from './details-view.js';

export function readyView(state: Step<'ready'>, controls: Controls): TemplateResult {
  const { texts } = controls;
  const { destinations, placesProblem } = state;
  const warnings = [...outputWarnings(state, texts), ...imageWarnings(state, controls)];
  const body = html`
    ${destinations.length > 0 ? placesView(state, controls) : nothing}
    ${placesProblem ? noticeView(placesProblem) : nothing}
    ${offerView(state, controls)}
    ${warnings.length > 0 ? html`<ul class="notice" part="notice">${warnings.map(({ text }) => html`<li>${spoken(text)}</li>`)}</ul>` : nothing}
    ${convertLine(state, controls)}
    ${waitingView(controls)}
    ${state.asking ? askingView(state.asking, controls) : nothing}
    <details class="fold more">
      <summary>${texts.details}</summary>
      ${detailsView(state, controls)}
    </details>
    <div class="actions">
      ${separateButton(controls)}
      <button class="link" part="button link" aria-disabled=${isPlaceBeingChosen(state) ? 'true' : nothing} @click=${() => controls.reset()}>${texts.next.another}</button>
    </div>
  `;
  return frame(state, texts, { text: shownText(state.label), name: state.label }, body);
}

/** Two lines about the result of the conversion, and the buttons. */
function convertLine(state: Step<'ready'>, controls: Controls): TemplateResult {
  const { texts } = controls;
  const { destination } = state;
  const why = obstacleOf(state, texts);
  return html`
    <div class="made">
      <p><strong>${nameView(state.name)}</strong>${costOf(state, texts)}</p>
      ${changeView(state, controls)}
      ${destination && hasFit(state, controls) ? html`<p class="good">${texts.fits(shownText(state.label), texts.placeLabel(destination))}</p>` : nothing}
      ${state.reason ? html`<p class="quiet">${spoken(state.reason)}</p>` : nothing}
      ${why ? html`<p class="quiet" id="why">${why}</p>` : nothing}
    </div>
    <div class="line">${convertButtons(state, why, controls)}</div>
  `;
}

/** Whether the image itself can be used in the place. */
const hasFit = ({ image, destination }: Step<'ready'>, { opening, isSalvage }: Controls): boolean =>
  destination !== undefined && !opening?.snapshot && !isSalvage && fits(image, destination);

/** The steps that the person must take before converting. */
function obstacleOf(state: Step<'ready'>, texts: AllTexts): string | undefined {
  if (state.picking) return texts.picking;
  if (state.way || isWaiting(state) || !state.choices.some(({ obstacle }) => obstacle === undefined)) return undefined;
  return texts.chooseWay;
}

/** The buttons, the one for most images first. */
function convertButtons(state: Step<'ready'>, why: string | undefined, controls: Controls): TemplateResult[] {
  const { texts } = controls;
  const cannot = !state.way || state.choosingTarget ? 'true' : nothing;
  const joinable = canJoin(state) ? controls.joinable : 0;
  const joins = joinable > 0 && takesSeveral(state.output);
  // With this format, the disks of a machine are meant for one file.
  const waiting = joins && controls.imagesWaiting < joinable ? 0 : controls.imagesWaiting;
  const convertsAll = waiting > 0 && state.way !== 'dialog';
  // If the question has a primary button, Convert is not primary: it would only ask again.
  const questionLeadsOn = state.asking !== undefined && state.asking.kind !== 'noFolder';
  const isMain = !questionLeadsOn && !quickFormat(state) && !hasFit(state, controls);
  const style = (isFirst: boolean) => (isFirst && isMain ? 'primary' : '');
  const [all, one] = [style(!joins), style(!joins && !convertsAll)];
  // Beside a button for all disks of the machine, this one says that it makes one of them.
  const isOneOfDisks = convertsAll && controls.joinable > waiting;
  const name = joins ? texts.diskInOva : isOneOfDisks ? texts.convertDisk : texts.convert;
  return [
    ...(joins ? [joinButton(joinable, state, controls)] : []),
    ...(convertsAll
      ? [
          html`<button class=${all} part=${`button ${all}`} aria-disabled=${cannot} @click=${() => controls.convertAll()}>${isOneOfDisks ? texts.convertDisks(waiting + 1) : texts.convertAll(waiting + 1)}</button>`,
        ]
      : []),
    html`<button class=${one} part=${`button ${one}`} data-convert aria-disabled=${cannot} aria-describedby=${why || isWaiting(state) ? 'why' : nothing} @pointerdown=${() => controls.chooser.hold()} @focus=${() => controls.chooser.hold()} @click=${() => controls.convert()}>${name}</button>`,
    ...(joinable > 0 && !joins ? [joinButton(joinable, state, controls)] : []),
  ];
}

/** The button that opens all disks of the machine; the primary one if the chosen format takes several disks. */
function joinButton(disks: number, { output, choosingTarget }: Step<'ready'>, controls: Controls): TemplateResult {
  const style = takesSeveral(output) ? 'primary' : '';
  return html`<button class=${style} part=${`button ${style}`} aria-disabled=${choosingTarget ? 'true' : nothing} @click=${() => controls.joinDisks()}>${controls.texts.joinDisks(disks)}</button>`;
}

/** Whether the format, or the place, takes several disks in one file. */
const canJoin = ({ output, destination }: Step<'ready'>): boolean =>
  takesSeveral(output) || (destination !== undefined && placeTakesSeveral(destination.name));

/** The size of the file, or of its data, if it is known. */
function costOf({ output, choices, way }: Step<'ready'>, texts: AllTexts): string {
  const choice = choices.find((one) => one.way === way);
  const size = choice && output.outputSize !== undefined ? texts.space(choice) : '';
  return size && `, ${size}`;
}

/** Where the file is saved. */
function placeOf({ way, folder }: Step<'ready'>, texts: AllTexts): string | undefined {
  if (!way || way === 'host') return undefined;
  return way === 'folder' && folder ? texts.toFolder(folder.name) : texts.toWay[way];
}

/** The number of disks, the format, the time and the way to save, as far as they are known. */
function lineOf(state: Step<'ready'>, texts: AllTexts): string {
  const { others, output, destination, choices, way } = state;
  const choice = choices.find((one) => one.way === way);
  const what = destination ? texts.forPlace(destination, texts.outputValue(output)) : texts.outputValue(output);
  const disks = others.length > 0 && texts.joined(others.length + 1);
  const time = choice !== undefined && output.outputSize !== undefined && texts.about(choice);
  return [disks, what, time, placeOf(state, texts)].filter(Boolean).join(', ');
}

/** How the file is made, and the choices that replace the proposals. */
function changeView(state: Step<'ready'>, controls: Controls): TemplateResult {
  const { texts, chooser } = controls;
  const { isChanging } = chooser;
  const style = mustChange(state) ? '' : 'more';
  // Otherwise, the second click of a double click would close the section again.
  const clicked = ({ detail }: MouseEvent) => detail < 2 && chooser.openChange(!isChanging);
  const toggle = html`<span class=${style}>\u00a0·\u00a0<button class="link" part="button link" aria-expanded=${isChanging ? 'true' : 'false'} @click=${clicked}>${texts.change}</button></span>`;
  // In the place of the way that will be proposed, so that nothing moves.
  const waiting = isWaiting(state) && !state.picking ? html`, <span id="why">${texts.noWay}</span>` : nothing;
  return html`
    <p class="quiet">${lineOf(state, texts)}${waiting}${toggle}</p>
    ${isChanging ? html`<div class=${`opened ${style}`} ${style === '' ? nothing : openedInSight}>${changeFields(state, controls)}</div>` : nothing}
  `;
}
