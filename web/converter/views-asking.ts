// Asking for what an image needs: another file, or a password.

import type { Need } from 'decant';
import { html, nothing, type TemplateResult } from 'lit';
import type { Session, Step } from './session.js';
import { texts } from './texts.js';
import { heading } from './views.js';

export function needsView(state: Step<'needs'>, session: Session): TemplateResult {
  const { image, needs, notice, canAssume } = state;
  return html`
    ${heading(image.info.name ?? texts.image)}
    ${notice ? html`<p class="bad">${notice}</p>` : nothing}
    ${needs.map((need) => (need.kind === 'password' ? passwordForm(need, canAssume, session) : fileNeed(need, session)))}
    <button class="link" @click=${() => session.reset()}>${texts.another}</button>
  `;
}

function fileNeed(need: Extract<Need, { kind: 'missing-file' }>, session: Session): TemplateResult {
  const chosen = (event: Event) => {
    const input = event.target as HTMLInputElement;
    const file = input.files?.[0];
    input.value = '';
    if (file) void session.answer(need, file);
  };
  return html`
    <p>${texts.needsFile(need)}</p>
    <p><strong class="name">${need.name}</strong></p>
    <div class="actions">
      <label class="button primary">
        ${texts.chooseFor(need)}
        <input class="unseen" type="file" @change=${chosen} />
      </label>
    </div>
    <p class="quiet">${texts.needsFileHint}</p>
  `;
}

function passwordForm(need: Need, canAssume: boolean, session: Session): TemplateResult {
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.target as HTMLFormElement;
    const password = form.elements.namedItem('password') as HTMLInputElement;
    const assume = form.elements.namedItem('assume') as HTMLInputElement | null;
    const { value } = password;
    password.value = '';
    void session.answer(need, value, assume?.checked ?? false);
  };
  return html`
    <form @submit=${submit}>
      <label class="field">
        <span>${texts.passwordOf(need.of)}</span>
        <input name="password" type="password" autocomplete="off" required />
      </label>
      ${canAssume ? html`<label class="check"><input name="assume" type="checkbox" /> ${texts.assume}</label>` : nothing}
      <div class="actions"><button class="primary">${texts.unlock}</button></div>
      <p class="quiet">${texts.passwordHint}</p>
    </form>
  `;
}

export function unlockingView({ name, share }: Step<'unlocking'>, session: Session): TemplateResult {
  return html`
    ${heading(texts.unlocking(name))}
    <progress aria-label=${texts.unlocking(name)} max="1" .value=${share}></progress>
    <div class="actions"><button @click=${() => session.reset()}>${texts.cancel}</button></div>
  `;
}
