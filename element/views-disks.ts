// The step that asks which disks of an archive to convert.

import { shownText } from 'decant';
import { html, nothing, type TemplateResult } from 'lit';
import type { Session } from './session.js';
import { spoken } from './spoken.js';
import type { Step } from './state.js';
import { heading } from './views.js';

export function disksView({ name, disks, notice }: Step<'disks'>, session: Session): TemplateResult {
  const { texts } = session;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const boxes = [...(event.target as HTMLFormElement).querySelectorAll<HTMLInputElement>('[name=disk]')];
    session.chooseDisks(boxes.flatMap((box, at) => (box.checked ? [at] : [])));
  };
  return html`
    ${heading(texts.disksTitle(name, disks.length), notice ? 'notice' : undefined)}
    ${notice ? html`<p class="bad" id="notice">${spoken(notice)}</p>` : nothing}
    <form @submit=${submit}>
      <fieldset>
        <legend>${texts.disksQuestion}</legend>
        ${disks.map(
          (disk) => html`
            <label class="choice" part="choice">
              <input type="checkbox" name="disk" checked />
              <span>
                <strong class="name">${shownText(disk.name)}</strong>
                <span class="quiet">${[texts.size(disk.size), disk.format].filter(Boolean).join(', ')}</span>
              </span>
            </label>
          `,
        )}
      </fieldset>
      <div class="actions">
        <button class="primary" part="button primary">${texts.openDisks}</button>
        <button class="link" part="button link" type="button" @click=${() => session.reset()}>${texts.next.another}</button>
      </div>
    </form>
  `;
}
