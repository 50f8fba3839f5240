// The queue.

import { shownText } from 'decant';
import { html, nothing, type TemplateResult } from 'lit';
import { labelOf } from '../files/bundle.js';
import type { Session } from '../session/session.js';
import { overallNotes } from '../steps/announcement.js';
import { heading } from '../steps/common-views.js';
import type { Next } from '../steps/state.js';
import { spoken } from '../texts/sentences.js';
import type { AllTexts } from '../types.texts.js';
import type { Overall } from './queue.js';

export function queueView(session: Session): TemplateResult {
  const { texts } = session;
  const { items } = session.queue;
  const text = (status: (typeof items)[number]['status'], outcome: string) =>
    status === 'waiting' || status === 'current' ? texts.queued[status] : outcome;
  return html`
    <section class="queue" aria-labelledby="queue">
      <h2 id="queue">${texts.queue}</h2>
      <ol>
        ${items.map(({ id, bundle, status, outcome, next = [] }) => {
          const name = shownText(labelOf(bundle));
          return html`
            <li aria-current=${status === 'current' ? 'true' : nothing}>
              <span class="name">${name}</span>
              <span class=${status === 'failed' ? 'bad' : 'quiet'}>${spoken(text(status, outcome))}</span>
              ${status === 'waiting' ? waitingActions(id, name, session) : nothing}
              ${status === 'failed' && canOpen(session) ? failedActions(id, name, next, session) : nothing}
            </li>
          `;
        })}
      </ol>
    </section>
  `;
}

/** Whether the person can open an image that has failed. */
const canOpen = ({ isBusy, isConvertingAll }: Session): boolean => !isBusy && !isConvertingAll;

function failedActions(id: number, name: string, next: Next[], session: Session): TemplateResult {
  const { queued } = session.texts;
  return html`
    <span class="item-actions">
      <button part="button" aria-label=${`${queued.open} ${name}`} @click=${() => session.openNext(id)}>${queued.open}</button>
      ${next.includes('salvage') ? html`<button part="button" aria-label=${`${queued.salvage} ${name}`} @click=${() => session.openNext(id, 'salvage')}>${queued.salvage}</button>` : nothing}
    </span>
  `;
}

function waitingActions(id: number, name: string, session: Session): TemplateResult {
  const { texts } = session;
  return html`
    <span class="item-actions">
      ${
        session.isBusy
          ? nothing
          : html`<button part="button" aria-label=${`${texts.queued.open} ${name}`} @click=${() => session.openNext(id)}>${texts.queued.open}</button>`
      }
      <button class="link" part="button link" aria-label=${`${texts.queued.remove} ${name}`} @click=${() => session.remove(id)}>${texts.queued.remove}</button>
    </span>
  `;
}

/** The results of a queue: the heading, and what to know besides the number. */
export function overallView(overall: Overall, texts: AllTexts): TemplateResult {
  const notes = overallNotes(overall, texts);
  return html`
    ${heading(texts.allDone(overall.done, overall.all), notes.length > 0 ? 'overall' : undefined)}
    ${notes.length > 0 ? html`<div id="overall">${notes.map((text) => html`<p class="bad">${spoken(text)}</p>`)}</div>` : nothing}
  `;
}
