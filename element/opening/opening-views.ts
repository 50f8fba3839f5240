// The steps that open, unpack or unlock an image, and that ask whether to unpack it, to take much memory for it, or which disks of an
// archive or a machine to convert.

import type { DiskMember } from 'decant';
import { html, nothing, type TemplateResult } from 'lit';
import type { InputFile } from '../files/input-file.js';
import { workBody } from '../saving/conversion-views.js';
import { snapshotPicker } from '../saving/details-view.js';
import {
  button,
  fileButton,
  nameView,
  noticeView,
  separateButton,
  spoken,
  waitingView,
} from '../steps/common-views.js';
import type { Controls } from '../steps/controls.js';
import { frame } from '../steps/frame.js';
import { disksToAdd, type Step } from '../steps/state.js';
import type { AllTexts } from '../types.texts.js';

/** Work before the image is open, of which `share` is done if that is known. */
function work(
  state: Step<'opening' | 'unlocking' | 'unpacking'>,
  text: string,
  controls: Controls,
  share?: number | undefined,
): TemplateResult {
  const { texts, isContinuing } = controls;
  const done = share === undefined ? '' : texts.share(share);
  const isSlow = state.step === 'opening' && state.isSlow;
  const notice = waitingView(controls) ?? (isSlow ? noticeView(texts.slow) : nothing);
  const cancel = button(texts.cancel, () => controls.reset());
  const body = isContinuing
    ? workBody({ made: '\u00a0', numbers: [done, '', ''], notice, buttons: cancel }, controls)
    : html`
        ${done ? html`<p class="numbers"><strong>${done}</strong></p>` : nothing}
        ${notice}
        <div class="actions">${cancel}</div>
      `;
  return frame(state, texts, { text, name: state.name }, body);
}

export const openingView = (state: Step<'opening'>, controls: Controls): TemplateResult =>
  work(state, controls.texts.opening(state.name), controls);

export const unlockingView = (state: Step<'unlocking'>, controls: Controls): TemplateResult =>
  work(state, controls.texts.unlocking(state.name), controls);

export const unpackingView = (state: Step<'unpacking'>, controls: Controls): TemplateResult =>
  work(state, controls.texts.unpacking(state.name), controls, state.share);

/** Asks whether to unpack an image, or to take much memory for it. */
export function costView(state: Step<'packed'> | Step<'large'>, controls: Controls): TemplateResult {
  const { texts } = controls;
  const { name } = state;
  const [title, cost, label, accept] =
    state.step === 'packed'
      ? [texts.packedTitle(name), texts.packed(state.format, state.size), texts.unpack, () => controls.unpack()]
      : [texts.largeTitle(name), texts.large(state.size), texts.openDisks, () => controls.allowMemory()];
  const body = html`
    <p id="cost">${cost}</p>
    <div class="actions">
      ${button(label, accept, 'primary')}
      ${separateButton(controls)}
      ${button(texts.next.another, () => controls.reset(), 'link')}
    </div>
  `;
  return frame(state, texts, { text: title, name, by: 'cost' }, body);
}

export function disksView(state: Step<'disks'>, controls: Controls): TemplateResult {
  const { texts } = controls;
  const { name, disks, isUnknown = false, notice, offered } = state;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const boxes = [...(event.target as HTMLFormElement).querySelectorAll<HTMLInputElement>('[name=disk]')];
    controls.chooseDisks(boxes.flatMap((box, at) => (box.checked ? [at] : [])));
  };
  const toAdd = disksToAdd(state);
  const text = isUnknown ? texts.noDiskTitle(name) : texts.disksTitle(name, disks.length);
  const body = html`
    ${notice ? html`<p class="bad" id="notice">${spoken(notice)}</p>` : nothing}
    ${controls.snapshots.length > 0 ? snapshotPicker(controls) : nothing}
    <form @submit=${submit}>
      <fieldset>
        <legend>${isUnknown ? texts.noDiskQuestion : texts.disksQuestion}</legend>
        <div class="list">
          ${disks.map(
            (disk) => html`
              <label class="choice" part="choice">
                <input type="checkbox" name="disk" ?checked=${!disk.missing && !isUnknown} ?disabled=${disk.missing} />
                <span>
                  <strong>${nameView(disk.name)}</strong>
                  <span class="quiet">${detailsOf(disk, texts).join(', ')}</span>
                </span>
              </label>
            `,
          )}
        </div>
      </fieldset>
      ${toAdd.length > 0 ? missingFiles(toAdd, offered, controls) : nothing}
      <div class="actions">
        ${disks.some(({ missing }) => !missing) ? html`<button class="primary" part="button primary">${texts.openDisks}</button>` : nothing}
        ${button(texts.next.another, () => controls.reset(), 'link')}
      </div>
    </form>
  `;
  return frame(state, texts, { text, name, by: notice ? 'notice' : undefined }, body);
}

/** The details of a disk in the list from which one is chosen. */
function detailsOf({ size, format, virtualSize, missing }: DiskMember, texts: AllTexts): string[] {
  const disk = virtualSize === undefined ? [] : [texts.diskSize(virtualSize)];
  if (missing) return [...disk, texts.diskMissing];
  return [texts.size(size), ...(format === undefined ? [] : [format]), ...disk];
}

function missingFiles(missing: DiskMember[], offered: InputFile | undefined, controls: Controls): TemplateResult {
  const { texts } = controls;
  const choose = (fallback: () => void) => controls.choose(fallback);
  const take = (files: File[]) => controls.takePlain(files);
  return html`
    <p>${texts.disksMissing(missing.length)}</p>
    <div class="actions">
      ${fileButton(texts.choose, '', true, choose, take)}
      ${offered ? missing.map(({ name }) => button(texts.useAsDisk(offered.file.name, name), () => controls.useAsDisk(name))) : nothing}
    </div>
  `;
}
