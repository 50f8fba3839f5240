// The section "Change" before a conversion: the state of the disk, the format, the way to save and the name.

import type { OutputFormat } from 'decant';
import { html, nothing, type TemplateResult } from 'lit';
import { live } from 'lit/directives/live.js';
import { ref } from 'lit/directives/ref.js';
import { button, noticeView, spoken } from '../steps/common-views.js';
import type { Controls } from '../steps/controls.js';
import type { Step } from '../steps/state.js';
import { nameWarnings } from '../steps/warnings.js';
import type { AllTexts } from '../types.texts.js';
import { type Choice, imagesIn, isTooSmall, isVerified, knownSize } from '../ways/choices.js';
import { canReadBack } from '../ways/verifying.js';
import { snapshotPicker } from './details-view.js';

export const changeFields = (state: Step<'ready'>, controls: Controls): TemplateResult => html`
  ${state.way === 'host' ? nothing : placeFields(state, controls)}
  ${state.others.length > 0 ? nothing : diskFields(state, controls)}
  ${verifyBox(state, controls)}
`;

/** The choices for a single disk. */
const diskFields = (state: Step<'ready'>, controls: Controls) => html`
  ${state.image.info.snapshots.length > 0 ? snapshotPicker(controls) : nothing}
  ${outputField(state, controls)}
  ${sizeField(state, controls)}
`;

function outputField(state: Step<'ready'>, controls: Controls): TemplateResult {
  const { texts } = controls;
  const { image, output, choosingTarget } = state;
  const { formats } = image;
  const choose = (event: Event) => {
    const name = (event.target as HTMLSelectElement).value;
    controls.chooser.selectOutput(formats.find((one) => one.name === name)!);
  };
  // The closed list shows the name only, which fits into a narrow window.
  const option = (one: OutputFormat) =>
    html`<option value=${one.name} ?selected=${one.name === output.name} ?disabled=${one.refusal !== undefined}>${texts.outputValue(one)}</option>`;
  return html`
    <label class="field">
      <span>${texts.output}</span>
      <select name="output" part="field" ?disabled=${choosingTarget} .value=${output.name} aria-describedby=${output.hint ? 'output-hint' : nothing} @change=${choose}>
        ${formats.map((one) => (one.hint ? html`<optgroup label=${texts.outputHint(one)}>${option(one)}</optgroup>` : option(one)))}
      </select>
    </label>
    ${output.hint ? html`<p class="quiet" id="output-hint">${texts.outputHint(output)}</p>` : nothing}
    ${formats.map((one) => (one.refusal ? html`<p class="quiet">${spoken(texts.outputRefusal(one, one.refusal))}</p>` : nothing))}
  `;
}

const GB = 1e9;

/** The size of the disk. Left empty, it is that of the image. */
function sizeField(state: Step<'ready'>, { texts, chooser }: Controls): TemplateResult {
  const { virtualSize } = state.image.info;
  const sizeIn = ({ target }: Event): number | undefined => {
    const size = (target as HTMLInputElement).valueAsNumber;
    return Number.isFinite(size) ? Math.round(size * GB) : undefined;
  };
  // Counts each possible size while the person types, so that nothing moves while the button below is pressed.
  const resizeEarly = (event: Event) => {
    const size = sizeIn(event);
    if (!isTooSmall({ ...state, size })) chooser.resize(size);
  };
  const resize = (event: Event) => {
    const size = sizeIn(event);
    // Text that is not a number would stay in the field, but not count.
    if (size === undefined) (event.target as HTMLInputElement).value = '';
    chooser.resize(size);
  };
  const show = (field: Element | undefined) => {
    if (field instanceof HTMLInputElement && !field.matches(':focus'))
      field.value = state.size === undefined ? '' : String(state.size / GB);
  };
  const isWrong = isTooSmall(state);
  return html`
    <label class="field">
      <span>${texts.diskSizeField}</span>
      <input
        name="size"
        part="field"
        type="number"
        step="any"
        min=${virtualSize === undefined ? 0 : virtualSize / GB}
        placeholder=${virtualSize === undefined ? nothing : texts.diskSizeValue(virtualSize)}
        ${ref(show)}
        ?readonly=${state.choosingTarget}
        aria-invalid=${isWrong ? 'true' : nothing}
        aria-describedby="size-hint"
        @input=${resizeEarly}
        @change=${resize}
      />
    </label>
    ${
      // Always there: else the button below would move while it is pressed, as the field loses the focus.
      isWrong
        ? html`<p class="bad" id="size-hint" role="alert">${texts.smallerDisk}</p>`
        : html`<p class="quiet" id="size-hint">${texts.smallerDisk}</p>`
    }
  `;
}

/** The box that decides whether the result is read back and compared. */
function verifyBox(state: Step<'ready'>, { texts, chooser }: Controls): TemplateResult {
  const isPossible = state.choices.every(({ way, method }) => way !== state.way || canReadBack(method));
  return html`
    <label class="choice" part="choice">
      <input
        type="checkbox"
        name="verify"
        aria-labelledby="verify"
        aria-describedby="verify-hint"
        .checked=${live(isVerified(state))}
        ?disabled=${!isPossible || state.choosingTarget}
        @change=${(event: Event) => chooser.verify((event.target as HTMLInputElement).checked)}
      />
      <span>
        <strong id="verify">${texts.verify}</strong><br />
        <span class="quiet" id="verify-hint">${isPossible ? texts.verifyHint : texts.verifyNot}</span>
      </span>
    </label>
  `;
}

/** The ways to save, and the name. */
const placeFields = (state: Step<'ready'>, controls: Controls) => html`
  <fieldset>
    <legend>${controls.texts.saveHow}</legend>
    ${state.choices.map((choice) => choiceView(choice, state, controls))}
  </fieldset>
  ${nameField(state, controls)}
`;

/** The text about the cost of `choice`. */
function costOf(choice: Choice, { output, size, ...images }: Step<'ready'>, texts: AllTexts): string {
  const virtualSize = size ?? knownSize(imagesIn(images));
  if (output.compressed) return texts.compressedCost;
  if (virtualSize === undefined || output.outputSize === undefined) return texts.unknownCost;
  return choice.method === 'picked' ? texts.pickedCost(choice, virtualSize) : texts.downloadCost(choice, virtualSize);
}

/** Whether an interrupted download can be resumed: only if it is in the storage, resumable and of known size. */
const resumes = ({ method }: Choice, { output, image }: Step<'ready'>): boolean =>
  method === 'stored' && output.resumable && image.info.virtualSize !== undefined;

function choiceView(choice: Choice, state: Step<'ready'>, controls: Controls): TemplateResult {
  const { texts } = controls;
  const { way, obstacle, note } = choice;
  const cost = costOf(choice, state, texts);
  const chosen = state.way === way;
  const restart = way === 'download' && !resumes(choice, state) ? texts.beginsAnew : undefined;
  const select = (event: Event) => {
    if (way !== 'folder' || state.folder) return controls.chooser.select(way);
    // The button stays as it is unless a folder is picked.
    event.preventDefault();
    controls.pickFolder();
  };
  return html`
    <label class="choice" part="choice">
      <input
        type="radio"
        name="way"
        value=${way}
        aria-labelledby=${`way-${way}`}
        aria-describedby=${`cost-${way}`}
        .checked=${chosen}
        ?disabled=${obstacle !== undefined}
        @click=${select}
      />
      <span>
        <strong id=${`way-${way}`}>${texts.ways[way]}</strong><br />
        <span class="quiet" id=${`cost-${way}`}>${obstacle ?? [note, cost, restart].filter(Boolean).join(' ')}</span>
        ${way === 'dialog' ? html`<br /><span>${texts.dialogWarning}</span>` : nothing}
      </span>
    </label>
    ${way === 'folder' && chosen && state.folder ? folderLine(state.folder, controls) : nothing}
  `;
}

const folderLine = (folder: FileSystemDirectoryHandle, controls: Controls) => html`
  <p class="folder">
    <span class="name">${controls.texts.folderChosen(folder.name)}</span>
    ${button(controls.texts.otherFolder, () => controls.pickFolder(), 'link')}
  </p>
`;

function nameField(state: Step<'ready'>, controls: Controls): TemplateResult {
  const { texts } = controls;
  const { name, nameProblem, choosingTarget } = state;
  const rename = (event: Event) => controls.chooser.rename((event.target as HTMLInputElement).value);
  const convertOnEnter = ({ key, isComposing }: KeyboardEvent) => {
    if (key === 'Enter' && !isComposing) controls.convert();
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
        ?readonly=${choosingTarget}
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
