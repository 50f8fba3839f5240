// The steps that open, unpack or unlock an image, and that ask whether to unpack it, to take much memory for it, or which disks of an
// archive or a machine to convert.

import { type Member, shownText } from 'decant';
import { html, nothing, type TemplateResult } from 'lit';
import type { InputFile } from '../files/input-file.js';
import { snapshotPicker } from '../saving/details-view.js';
import { fileButton, heading, noticeView, separateButton, spoken, waitingView } from '../steps/common-views.js';
import type { Controls } from '../steps/controls.js';
import type { Step } from '../steps/state.js';

export function openingView({ name, isSlow, share }: Step<'opening'>, controls: Controls): TemplateResult {
  const { texts } = controls;
  return html`
    ${heading(texts.opening(name))}
    <progress part="progress" aria-label=${texts.opening(name)} max="1" value=${share ?? nothing}></progress>
    ${waitingView(controls) ?? (isSlow ? noticeView(texts.slow) : nothing)}
    <div class="actions"><button part="button" @click=${() => controls.reset()}>${texts.cancel}</button></div>
  `;
}

export function unlockingView({ name, share }: Step<'unlocking'>, controls: Controls): TemplateResult {
  const { texts } = controls;
  return html`
    ${heading(texts.unlocking(name))}
    <progress part="progress" aria-label=${texts.unlocking(name)} max="1" .value=${share}></progress>
    <div class="actions"><button part="button" @click=${() => controls.reset()}>${texts.cancel}</button></div>
  `;
}

export function packedView({ name, format, size }: Step<'packed'>, controls: Controls): TemplateResult {
  const { texts } = controls;
  return html`
    ${heading(texts.packedTitle(name), 'packed')}
    <p id="packed">${texts.packed(format, size)}</p>
    <div class="actions">
      <button class="primary" part="button primary" @click=${() => controls.unpack()}>${texts.unpack}</button>
      ${separateButton(controls)}
      <button class="link" part="button link" @click=${() => controls.reset()}>${texts.next.another}</button>
    </div>
  `;
}

export function largeView({ name, size }: Step<'large'>, controls: Controls): TemplateResult {
  const { texts } = controls;
  return html`
    ${heading(texts.largeTitle(name), 'large')}
    <p id="large">${texts.large(size)}</p>
    <div class="actions">
      <button class="primary" part="button primary" @click=${() => controls.allowMemory()}>${texts.openDisks}</button>
      ${separateButton(controls)}
      <button class="link" part="button link" @click=${() => controls.reset()}>${texts.next.another}</button>
    </div>
  `;
}

export function unpackingView({ name, share }: Step<'unpacking'>, controls: Controls): TemplateResult {
  const { texts } = controls;
  return html`
    ${heading(texts.unpacking(name))}
    <progress part="progress" aria-label=${texts.unpacking(name)} max="1" value=${share ?? nothing}></progress>
    ${share === undefined ? nothing : html`<p class="numbers"><strong>${texts.percent(share)}</strong></p>`}
    ${waitingView(controls)}
    <div class="actions"><button part="button" @click=${() => controls.reset()}>${texts.cancel}</button></div>
  `;
}

export function disksView(
  { name, disks, isUnknown = false, notice, offered }: Step<'disks'>,
  controls: Controls,
): TemplateResult {
  const { texts } = controls;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const boxes = [...(event.target as HTMLFormElement).querySelectorAll<HTMLInputElement>('[name=disk]')];
    controls.chooseDisks(boxes.flatMap((box, at) => (box.checked ? [at] : [])));
  };
  const missing = disks.filter((disk) => disk.missing);
  return html`
    ${heading(isUnknown ? texts.noDiskTitle(name) : texts.disksTitle(name, disks.length), notice ? 'notice' : undefined)}
    ${notice ? html`<p class="bad" id="notice">${spoken(notice)}</p>` : nothing}
    ${controls.snapshots.length > 0 ? snapshotPicker(controls) : nothing}
    <form @submit=${submit}>
      <fieldset>
        <legend>${isUnknown ? texts.noDiskQuestion : texts.disksQuestion}</legend>
        ${disks.map(
          (disk) => html`
            <label class="choice" part="choice">
              <input type="checkbox" name="disk" ?checked=${!disk.missing && !isUnknown} ?disabled=${disk.missing} />
              <span>
                <strong class="name">${shownText(disk.name)}</strong>
                <span class="quiet">${disk.missing ? texts.diskMissing : [texts.size(disk.size), disk.format].filter(Boolean).join(', ')}</span>
              </span>
            </label>
          `,
        )}
      </fieldset>
      ${missing.length > 0 ? missingFiles(missing, offered, controls) : nothing}
      <div class="actions">
        ${missing.length < disks.length ? html`<button class="primary" part="button primary">${texts.openDisks}</button>` : nothing}
        <button class="link" part="button link" type="button" @click=${() => controls.reset()}>${texts.next.another}</button>
      </div>
    </form>
  `;
}

function missingFiles(missing: Member[], offered: InputFile | undefined, controls: Controls): TemplateResult {
  const { texts } = controls;
  const choose = (fallback: () => void) => controls.choose(fallback);
  const take = (files: File[]) => controls.takePlain(files);
  return html`
    <p>${texts.disksMissing(missing.length)}</p>
    <div class="actions">
      ${fileButton(texts.choose, '', true, choose, take)}
      ${offered ? missing.map(({ name }) => html`<button part="button" type="button" @click=${() => controls.useAsDisk(name)}>${texts.useAsDisk(offered.file.name, name)}</button>`) : nothing}
    </div>
  `;
}
