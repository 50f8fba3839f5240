// The views of failures: the step after a failure, and the list of interrupted conversions on the first screen.

import { shownText } from 'decant';
import { html, nothing, type TemplateResult } from 'lit';
import { overallView } from '../queue/queue-view.js';
import { heading, spoken } from '../steps/common-views.js';
import type { Controls } from '../steps/controls.js';
import type { Left, Remedy, Step } from '../steps/state.js';
import { sentence } from '../texts/sentences.js';

/** A failure with possible steps, the most likely to work first. */
export function failedView(
  { asks, title, message, left, remedies }: Step<'failed'>,
  controls: Controls,
): TemplateResult {
  const { texts } = controls;
  const waiting = controls.imagesWaiting > 0;
  const offered: Remedy[] = [...remedies, ...(waiting ? (['next'] as const) : []), 'another'];
  const { overall } = controls;
  const titled = message || !left ? title : `${sentence(title)} ${left}`;
  return html`
    ${overall ? html`${overallView(overall, texts)}<h3>${titled}</h3>` : heading(titled)}
    ${message ? html`<p class=${asks ? '' : 'bad'}>${spoken(message)}</p>` : nothing}
    ${message && left ? html`<p>${left}</p>` : nothing}
    <div class="actions">
      ${offered.map(
        (remedy, at) =>
          html`<button class=${at === 0 ? 'primary' : remedy === 'another' ? 'link' : ''} part=${`button ${at === 0 ? 'primary' : remedy === 'another' ? 'link' : ''}`} @click=${() => controls.takeRemedy(remedy)}>${texts.next[remedy]}</button>`,
      )}
    </div>
  `;
}

export const leftView = (left: Left[], controls: Controls): TemplateResult => html`
  <ul class="left">
    ${left.map(
      (one) => html`
        <li class="notice" part="notice"><span>${spoken(one.text)}</span>
          <button part="button" aria-label=${`${one.action}: ${shownText(one.image)}`} @click=${() => controls.removeLeft(one)}>${one.action}</button>
        </li>
      `,
    )}
  </ul>
`;
