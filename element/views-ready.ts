// The step that describes an image and offers ways to save its disk.

import { type OutputFormat, type Snapshot, shownText } from 'decant';
import { html, nothing, type TemplateResult } from 'lit';
import { advice } from './choices.js';
import { contentsView } from './contents-view.js';
import { imageFiles } from './opening.js';
import { pictureView } from './picture/view.js';
import type { Session } from './session.js';
import { noticeView, spoken } from './spoken.js';
import type { Step } from './state.js';
import type { AllTexts } from './types.texts.js';
import { facts, heading, waitingView } from './views.js';
import { imageWarnings, nameWarnings, outputWarnings } from './warnings.js';
import type { Choice } from './ways.js';

export function readyView(state: Step<'ready'>, session: Session): TemplateResult {
  const { texts } = session;
  const { info } = state.image;
  const { survey, placing, picking } = state;
  const warnings = imageWarnings(state, session);
  const cannot = !state.way || placing || session.isOtherSnapshot;
  const canChoose = state.choices.some(({ obstacle }) => obstacle === undefined);
  const choose = state.lostWay ? texts.chooseWay : texts.noWay;
  const why = picking ? texts.picking : !state.way && canChoose ? choose : undefined;
  // If the question has a primary button, Convert is not primary: it would only ask again.
  const questionLeadsOn = state.asking !== undefined && state.asking.kind !== 'noFolder';
  return html`
    ${heading(shownText(info.name ?? texts.image))}
    ${facts([
      [texts.format, texts.formatValue(info)],
      [texts.virtualSize, info.virtualSize === undefined ? texts.unknownSize : texts.size(info.virtualSize)],
      [
        texts.fileSize,
        info.fileSize === undefined ? undefined : texts.fileSizeValue(...imageFiles(info, session.opening)),
      ],
      [
        texts.data,
        info.virtualSize === undefined
          ? undefined
          : survey.complete
            ? texts.dataValue(survey.data, survey.compressed)
            : texts.dataCounting(survey.data),
      ],
      [texts.layers, info.layers.length > 1 ? info.layers.map(({ name }) => shownText(name)).join(', ') : undefined],
      [texts.encryption, info.encryption ? texts.encryptionValue(info.encryption) : undefined],
    ])}
    ${survey.contents ? contentsView(survey.contents, texts) : nothing}
    ${survey.picture ? pictureView(survey.picture, undefined, texts) : nothing}
    ${info.snapshots.length > 0 ? snapshotPicker(info.snapshots, state, session) : nothing}
    ${warnings.length > 0 ? html`<ul class="notice" part="notice">${warnings.map(({ text }) => html`<li>${spoken(text)}</li>`)}</ul>` : nothing}
    ${waitingView(session)}
    ${outputField(state, session)}
    ${state.way === 'host' ? nothing : placeFields(state, session)}
    ${state.asking ? session.asked.view(session.texts, ({ askingView }) => askingView(state.asking!, session)) : nothing}
    <div class="actions">
      <button class=${questionLeadsOn ? '' : 'primary'} part=${questionLeadsOn ? 'button' : 'button primary'} data-convert aria-disabled=${cannot ? 'true' : nothing} aria-describedby=${why ? 'why' : nothing} @click=${() => session.convert()}>${texts.convert}</button>
      <button class="link" part="button link" aria-disabled=${placing ? 'true' : nothing} @click=${() => session.reset()}>${texts.next.another}</button>
    </div>
    ${why ? html`<p class="quiet" id="why">${why}</p>` : nothing}
  `;
}

/** A list and a button, because arrow keys in a list must not open each snapshot that they pass. */
function snapshotPicker(snapshots: Snapshot[], state: Step<'ready'>, session: Session): TemplateResult {
  const { texts } = session;
  const { chosenSnapshot } = state;
  // The closed list may have no room for it.
  const chosen = snapshots[chosenSnapshot];
  const choose = (event: Event) => session.chooseSnapshot(Number((event.target as HTMLSelectElement).value));
  return html`
    <div class="with-button">
      <label class="field">
        <span>${texts.snapshot}</span>
        <select part="field" @change=${choose} .value=${String(chosenSnapshot)}>
          <option value="-1" ?selected=${chosenSnapshot === -1}>${texts.activeDisk}</option>
          ${snapshots.map((snapshot, at) => html`<option value=${at} ?selected=${chosenSnapshot === at}>${texts.snapshotValue(snapshot)}</option>`)}
        </select>
      </label>
      <button part="button" ?disabled=${!session.isOtherSnapshot} @click=${() => session.openSnapshot()}>${texts.openSnapshot}</button>
    </div>
    ${chosen ? html`<p class="quiet" aria-hidden="true">${texts.snapshotValue(chosen)}</p>` : nothing}
    ${session.isOtherSnapshot ? noticeView(texts.otherSnapshot) : nothing}
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
    html`<option value=${one.name} ?selected=${one === output} ?disabled=${one.refusal !== undefined}>${texts.outputValue(one)}</option>`;
  return html`
    <label class="field">
      <span>${texts.output}</span>
      <select name="output" part="field" ?disabled=${placing} .value=${output.name} aria-describedby=${output.hint ? 'output-hint' : nothing} @change=${choose}>
        ${formats.map((one) => (one.hint ? html`<optgroup label=${texts.outputHint(one)}>${option(one)}</optgroup>` : option(one)))}
      </select>
    </label>
    ${output.hint ? html`<p class="quiet" id="output-hint">${texts.outputHint(output)}</p>` : nothing}
    ${outputWarnings(state, texts).map(({ text }) => noticeView(text))}
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

/** The text about the cost of `choice`, for a disk of `virtualSize` bytes. */
function costOf(choice: Choice, virtualSize: number | undefined, texts: AllTexts): string {
  if (virtualSize === undefined) return texts.unknownCost;
  return choice.method === 'picked' ? texts.pickedCost(choice) : texts.downloadCost(choice, virtualSize);
}

/** Whether an interrupted download can be resumed: only if it is in the storage, resumable and of known size. */
const resumes = ({ method }: Choice, { output, image }: Step<'ready'>): boolean =>
  method === 'stored' && output.resumable && image.info.virtualSize !== undefined;

function choiceView(choice: Choice, state: Step<'ready'>, session: Session): TemplateResult {
  const { texts } = session;
  const { way, obstacle, note } = choice;
  const cost = costOf(choice, state.image.info.virtualSize, texts);
  const { compressed } = state.output;
  const best = compressed ? undefined : advice(state.choices, texts);
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
        @change=${() => session.select(way)}
      />
      <span>
        <strong id=${`way-${way}`}>${texts.ways[way]}</strong>${best?.way === way ? html` <em id=${`best-${way}`}>${best.reason}<span class="unseen">.</span></em>` : nothing}<br />
        <span class="quiet" id=${`cost-${way}`}>${obstacle ?? [note, compressed ? texts.compressedCost : cost, restart].filter(Boolean).join(' ')}</span>
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
