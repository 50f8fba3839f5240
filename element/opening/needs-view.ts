// The step that asks for a file or a password that an image needs.

import type { Need } from 'decant';
import { html, nothing, type TemplateResult } from 'lit';
import { isById } from '../files/opening.js';
import { button, fileButton, separateButton, spoken } from '../steps/common-views.js';
import type { Controls } from '../steps/controls.js';
import { frame } from '../steps/frame.js';
import type { Doubt, Step } from '../steps/state.js';
import type { AllTexts, MissingFile } from '../types.texts.js';
import { linkForm } from './link-entry.js';

export function needsView(state: Step<'needs'>, controls: Controls): TemplateResult {
  const { texts } = controls;
  const { needs, notice, canAssume, doubt, offered } = state;
  if (doubt) return doubtView(state, doubt, controls);
  const first = needs[0]!;
  const text = titleOf(first, texts);
  const body = html`
    ${notice ? html`<p class="bad" id="notice">${spoken(notice)}</p>` : nothing}
    ${needs.map((need) => {
      if (need.kind === 'password') return passwordForm(need, notice !== undefined, canAssume, controls);
      return fileNeed(need, controls, offered && { input: offered, only: needs.length === 1 });
    })}
    <div class="actions">${separateButton(controls)}${button(texts.next.another, () => controls.reset(), 'link')}</div>
  `;
  return frame(
    state,
    texts,
    { text, name: first.kind === 'password' || isById(first) ? first.of : first.fileName },
    body,
  );
}

function titleOf(need: Need, texts: AllTexts): string {
  if (need.kind === 'password') return texts.needsPassword(need.of);
  return isById(need) ? texts.needsDiskTitle(need) : texts.needsTitle(need);
}

type Offer = { input: NonNullable<Step<'needs'>['offered']>; only: boolean };

function fileNeed(need: MissingFile, controls: Controls, offer: Offer | undefined): TemplateResult {
  const { texts } = controls;
  const choose = (fallback: () => void) => controls.chooseFor(need, fallback);
  const take = ([file]: File[]) => file && controls.answer(need, { file });
  const useOffered = () => controls.answer(need, offer!.input, true);
  return html`
    ${
      isById(need)
        ? html`<p>${texts.needsDisk(need)}</p><p class="quiet name">${texts.diskId(need.name)}</p>`
        : html`<p>${texts.needsFile(need)}</p>`
    }
    <div class="actions">
      ${fileButton(texts.chooseFor(need), 'primary', false, choose, take)}
      ${offer?.only ? button(texts.useAllTheSame(offer.input.file.name, need.role), useOffered) : nothing}
    </div>
    ${linkForm(controls, need)}
    <p class="quiet more">${texts.needsFileHint}</p>
  `;
}

function doubtView(state: Step<'needs'>, { need, input, reasons }: Doubt, controls: Controls): TemplateResult {
  const { texts } = controls;
  const body = html`
    <ul class="notice" part="notice" id="reasons">${reasons.map((reason) => html`<li>${reason}</li>`)}</ul>
    <p>${texts.doubtHint}</p>
    <div class="actions">
      ${button(texts.chooseOther(need), () => controls.takeBack(need), 'primary')}
      ${button(texts.useIt, () => controls.answer(need, input, true))}
    </div>
  `;
  return frame(
    state,
    texts,
    { text: texts.doubt(input.file.name, need.role), name: input.file.name, by: 'reasons' },
    body,
  );
}

function passwordForm(need: Need, wrong: boolean, canAssume: boolean, controls: Controls): TemplateResult {
  const { texts } = controls;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.target as HTMLFormElement;
    const password = form.elements.namedItem('password') as HTMLInputElement;
    const assume = form.elements.namedItem('assume') as HTMLInputElement | null;
    const { value } = password;
    password.value = '';
    controls.unlock(need.of, value, assume?.checked ?? false);
  };
  return html`
    <form @submit=${submit}>
      <label class="field">
        <span>${texts.passwordOf(need.of)}</span>
        <input
          name="password"
          part="field"
          type="password"
          autocomplete="off"
          required
          data-focus
          aria-invalid=${wrong ? 'true' : nothing}
          aria-describedby=${wrong ? 'notice' : nothing}
        />
      </label>
      ${canAssume ? html`<label class="check"><input name="assume" type="checkbox" /> ${texts.assume}</label>` : nothing}
      <p class="quiet">${texts.passwordHint}</p>
      <div class="actions"><button class="primary" part="button primary">${texts.unlock}</button></div>
    </form>
  `;
}
