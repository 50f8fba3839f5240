// The step that describes an image and offers ways to save its disk.

import { type OutputFormat, shownText } from 'decant';
import { html, nothing, type TemplateResult } from 'lit';
import { advice } from './choices.js';
import { fits } from './destinations.js';
import { pictureView } from './picture/view.js';
import type { Session } from './session.js';
import { noticeView, spoken } from './spoken.js';
import type { Step } from './state.js';
import type { AllTexts } from './types.texts.js';
import { heading, waitingView } from './views.js';
import { placesView } from './views-places.js';
import { imageWarnings, nameWarnings, outputWarnings } from './warnings.js';
import type { Choice } from './ways.js';

export function readyView(state: Step<'ready'>, session: Session): TemplateResult {
  const { texts } = session;
  const { survey, destinations, placesProblem } = state;
  const warnings = [...outputWarnings(state, texts), ...imageWarnings(state, session)];
  return html`
    ${heading(`${nameOf(state, texts)} → ${shownText(state.name)}`)}
    ${destinations.length > 0 ? placesView(state, session) : nothing}
    ${placesProblem ? noticeView(placesProblem) : nothing}
    ${convertLine(state, session)}
    ${warnings.length > 0 ? html`<ul class="notice" part="notice">${warnings.map(({ text }) => html`<li>${spoken(text)}</li>`)}</ul>` : nothing}
    ${waitingView(session)}
    ${state.asking ? session.asked.view(texts, ({ askingView }) => askingView(state.asking!, session)) : nothing}
    ${survey.picture ? pictureView(survey.picture, undefined, texts, survey.contents) : nothing}
    ${changeView(state, session)}
    <details class="fold more">
      <summary>${texts.details}</summary>
      ${session.asked.view(texts, ({ detailsView }) => detailsView(state, session))}
    </details>
    <div class="actions">
      <button class="link" part="button link" aria-disabled=${state.placing ? 'true' : nothing} @click=${() => session.reset()}>${texts.next.another}</button>
    </div>
  `;
}

const nameOf = ({ image }: Step<'ready'>, texts: AllTexts): string => shownText(image.info.name ?? texts.image);

/** What will be made, and the button. */
function convertLine(state: Step<'ready'>, session: Session): TemplateResult {
  const { texts } = session;
  const { placing, picking, destination } = state;
  const waiting = session.queue.waiting.length;
  const canChoose = state.choices.some(({ obstacle }) => obstacle === undefined);
  const choose = state.lostWay || state.isSettled ? texts.chooseWay : texts.noWay;
  const why = picking ? texts.picking : !state.way && canChoose ? choose : undefined;
  const cannot = !state.way || placing;
  // If the question has a primary button, Convert is not primary: it would only ask again.
  const questionLeadsOn = state.asking !== undefined && state.asking.kind !== 'noFolder';
  const hasFit = destination && !session.opening?.snapshot && !session.isSalvage && fits(state.image, destination);
  return html`
    <div class="line">
      <p>
        ${lineOf(state, texts)}
        ${hasFit ? html`<br /><strong class="good">${texts.fits(nameOf(state, texts), texts.placeLabel(destination))}</strong>` : nothing}
        ${why ? html`<br /><span class="quiet" id="why">${why}</span>` : nothing}
      </p>
      <button class=${questionLeadsOn ? '' : 'primary'} part=${questionLeadsOn ? 'button' : 'button primary'} data-convert aria-disabled=${cannot ? 'true' : nothing} aria-describedby=${why ? 'why' : nothing} @pointerdown=${() => session.hold()} @focus=${() => session.hold()} @click=${() => session.convert()}>${texts.convert}</button>
      ${waiting > 0 && state.way !== 'dialog' ? html`<button part="button" aria-disabled=${cannot ? 'true' : nothing} @click=${() => session.convertAll()}>${texts.convertAll(waiting + 1)}</button>` : nothing}
    </div>
  `;
}

/** The format, the size, the time and the way to save, as far as they are known. */
function lineOf({ output, destination, choices, way }: Step<'ready'>, texts: AllTexts): string {
  const choice = choices.find((one) => one.way === way);
  const what = destination ? texts.forPlace(destination, texts.outputValue(output)) : texts.outputValue(output);
  const isKnown = choice !== undefined && output.size !== undefined;
  return [what, isKnown && texts.estimate(choice), way && way !== 'host' && texts.ways[way]]
    .filter(Boolean)
    .join(' · ');
}

/** What can be chosen instead of the proposals. Open if the person must choose. */
function changeView(state: Step<'ready'>, session: Session): TemplateResult {
  const { texts, asked } = session;
  const { snapshots } = state.image.info;
  const must = state.nameProblem !== undefined || (!state.way && (state.isSettled || state.lostWay !== undefined));
  const toggled = (event: Event) => {
    session.isChanging = (event.target as HTMLDetailsElement).open;
  };
  return html`
    <details class=${must ? 'fold' : 'fold more'} ?open=${session.isChanging || must} @toggle=${toggled}>
      <summary>${texts.change}</summary>
      ${snapshots.length > 0 ? asked.view(texts, ({ snapshotPicker }) => snapshotPicker(session)) : nothing}
      ${outputField(state, session)}
      ${state.way === 'host' ? nothing : placeFields(state, session)}
    </details>
  `;
}

function outputField(state: Step<'ready'>, session: Session): TemplateResult {
  const { texts } = session;
  const { image, output, placing } = state;
  const { formats } = image;
  const choose = (event: Event) => {
    const name = (event.target as HTMLSelectElement).value;
    session.selectOutput(formats.find((one) => one.name === name)!);
  };
  // The closed list shows the name only, which fits into a narrow window.
  const option = (one: OutputFormat) =>
    html`<option value=${one.name} ?selected=${one.name === output.name} ?disabled=${one.refusal !== undefined}>${texts.outputValue(one)}</option>`;
  return html`
    <label class="field">
      <span>${texts.output}</span>
      <select name="output" part="field" ?disabled=${placing} .value=${output.name} aria-describedby=${output.hint ? 'output-hint' : nothing} @change=${choose}>
        ${formats.map((one) => (one.hint ? html`<optgroup label=${texts.outputHint(one)}>${option(one)}</optgroup>` : option(one)))}
      </select>
    </label>
    ${output.hint ? html`<p class="quiet" id="output-hint">${texts.outputHint(output)}</p>` : nothing}
    ${formats.map((one) => (one.refusal ? html`<p class="quiet">${spoken(texts.outputRefusal(one, one.refusal))}</p>` : nothing))}
  `;
}

/** The ways to save, and the name. */
const placeFields = (state: Step<'ready'>, session: Session) => html`
  <fieldset>
    <legend>${session.texts.saveHow}</legend>
    ${state.choices.map((choice) => choiceView(choice, state, session))}
  </fieldset>
  ${nameField(state, session)}
`;

/** The text about the cost of `choice`. */
function costOf(choice: Choice, { image, output }: Step<'ready'>, texts: AllTexts): string {
  const { virtualSize } = image.info;
  if (output.compressed) return texts.compressedCost;
  if (virtualSize === undefined || output.size === undefined) return texts.unknownCost;
  return choice.method === 'picked' ? texts.pickedCost(choice) : texts.downloadCost(choice, virtualSize);
}

/** Whether an interrupted download can be resumed: only if it is in the storage, resumable and of known size. */
const resumes = ({ method }: Choice, { output, image }: Step<'ready'>): boolean =>
  method === 'stored' && output.resumable && image.info.virtualSize !== undefined;

function choiceView(choice: Choice, state: Step<'ready'>, session: Session): TemplateResult {
  const { texts } = session;
  const { way, obstacle, note } = choice;
  const cost = costOf(choice, state, texts);
  const best = state.output.size === undefined ? undefined : advice(state.choices, texts);
  const chosen = state.way === way;
  const restart = way === 'download' && !resumes(choice, state) ? texts.beginsAnew : undefined;
  return html`
    <label class="choice" part="choice">
      <input
        type="radio"
        name="way"
        value=${way}
        aria-labelledby=${`way-${way}`}
        aria-describedby=${`best-${way} cost-${way}`}
        .checked=${chosen}
        ?disabled=${obstacle !== undefined}
        @click=${() => session.select(way)}
      />
      <span>
        <strong id=${`way-${way}`}>${texts.ways[way]}</strong>${best?.way === way ? html` <em id=${`best-${way}`}>${best.reason}<span class="unseen">.</span></em>` : nothing}<br />
        <span class="quiet" id=${`cost-${way}`}>${obstacle ?? [note, cost, restart].filter(Boolean).join(' ')}</span>
        ${way === 'dialog' ? html`<br /><span>${texts.dialogWarning}</span>` : nothing}
      </span>
    </label>
    ${way === 'folder' && chosen && state.folder ? folderLine(state.folder, session) : nothing}
  `;
}

const folderLine = (folder: FileSystemDirectoryHandle, session: Session) => html`
  <p class="folder">
    <span class="name">${session.texts.folderChosen(folder.name)}</span>
    <button class="link" part="button link" @click=${() => session.otherFolder()}>${session.texts.otherFolder}</button>
  </p>
`;

function nameField(state: Step<'ready'>, session: Session): TemplateResult {
  const { texts } = session;
  const { name, nameProblem, placing } = state;
  const rename = (event: Event) => session.rename((event.target as HTMLInputElement).value);
  const convertOnEnter = ({ key, isComposing }: KeyboardEvent) => {
    if (key === 'Enter' && !isComposing) session.convert();
  };
  const warnings = nameWarnings(state, texts);
  const describedBy = [nameProblem && 'name-problem', warnings.length > 0 && 'name-warnings'].filter(Boolean).join(' ');
  return html`
    <label class="field">
      <span>${texts.fileName}</span>
      <input
        name="name"
        part="field"
        type="text"
        autocomplete="off"
        spellcheck="false"
        .value=${name}
        ?readonly=${placing}
        ?data-focus=${nameProblem !== undefined}
        aria-invalid=${nameProblem ? 'true' : nothing}
        aria-describedby=${describedBy || nothing}
        @input=${rename}
        @keydown=${convertOnEnter}
      />
    </label>
    ${nameProblem ? html`<p class="bad" id="name-problem">${nameProblem.text}</p>` : nothing}
    ${warnings.length > 0 ? html`<div id="name-warnings">${warnings.map(({ text }) => noticeView(text))}</div>` : nothing}
  `;
}
