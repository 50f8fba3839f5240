// The step that asks which disks of an archive or a machine to convert.

import { type Member, shownText } from 'decant';
import { html, nothing, type TemplateResult } from 'lit';
import type { Given } from '../files/input-file.js';
import { snapshotPicker } from '../saving/details-view.js';
import type { Session } from '../session/session.js';
import { heading } from '../steps/common-views.js';
import type { Step } from '../steps/state.js';
import { spoken } from '../texts/sentences.js';

export function disksView(
  { name, disks, isUnknown = false, notice, offered }: Step<'disks'>,
  session: Session,
): TemplateResult {
  const { texts } = session;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const boxes = [...(event.target as HTMLFormElement).querySelectorAll<HTMLInputElement>('[name=disk]')];
    session.chooseDisks(boxes.flatMap((box, at) => (box.checked ? [at] : [])));
  };
  const missing = disks.filter((disk) => disk.missing);
  return html`
    ${heading(isUnknown ? texts.noDiskTitle(name) : texts.disksTitle(name, disks.length), notice ? 'notice' : undefined)}
    ${notice ? html`<p class="bad" id="notice">${spoken(notice)}</p>` : nothing}
    ${session.snapshots.length > 0 ? snapshotPicker(session) : nothing}
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
      ${missing.length > 0 ? missingFiles(missing, offered, session) : nothing}
      <div class="actions">
        ${missing.length < disks.length ? html`<button class="primary" part="button primary">${texts.openDisks}</button>` : nothing}
        <button class="link" part="button link" type="button" @click=${() => session.reset()}>${texts.next.another}</button>
      </div>
    </form>
  `;
}

function missingFiles(missing: Member[], offered: Given | undefined, session: Session): TemplateResult {
  const { texts } = session;
  const choose = (event: Event) => {
    const input = (event.currentTarget as HTMLElement).nextElementSibling as HTMLInputElement;
    session.choose(() => input.click());
  };
  const chosen = (event: Event) => {
    const input = event.target as HTMLInputElement;
    session.takePlain(input.files ?? []);
    input.value = '';
  };
  return html`
    <p>${texts.disksMissing(missing.length)}</p>
    <div class="actions">
      <button part="button" type="button" @click=${choose}>${texts.choose}</button>
      <input hidden type="file" multiple aria-label=${texts.choose} @change=${chosen} />
      ${offered ? missing.map(({ name }) => html`<button part="button" type="button" @click=${() => session.useAsDisk(name)}>${texts.useAsDisk(offered.file.name, name)}</button>`) : nothing}
    </div>
  `;
}
