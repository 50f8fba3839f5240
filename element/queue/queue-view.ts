// The queue.

import { shownText } from 'decant';
import { html, nothing, type TemplateResult } from 'lit';
import { labelOf } from '../files/bundle.js';
import { overallNotes } from '../steps/announcement.js';
import { noticeView, spoken } from '../steps/common-views.js';
import type { Controls } from '../steps/controls.js';
import type { Head } from '../steps/frame.js';
import type { Overall, Remedy } from '../steps/state.js';
import type { AllTexts } from '../types.texts.js';
import { type Item, isOf, type Queue } from './queue.js';

/** `resultOf` shows the result of an item. */
export function queueView(
  queue: Queue,
  controls: Controls,
  resultOf: (item: Item) => TemplateResult | typeof nothing,
): TemplateResult {
  const { texts } = controls;
  const { items } = queue;
  const text = ({ status, outcome }: Item) =>
    status === 'waiting' || status === 'current' ? texts.queued[status] : outcome;
  return html`
    <section class="queue" aria-labelledby="queue">
      <h2 id="queue">${texts.queue}</h2>
      <ol>
        ${items.map((item) => {
          const { id, bundle, status, remedies = [] } = item;
          const name = shownText(labelOf(bundle));
          return html`
            <li aria-current=${status === 'current' ? 'true' : nothing}>
              <span class="name">${name}</span>
              <span class=${status === 'failed' ? 'bad' : 'quiet'}>${spoken(text(item))}</span>
              ${noticesInList(item, controls).map(noticeView)}
              ${isShownAbove(item, controls) ? nothing : resultOf(item)}
              ${status === 'waiting' ? waitingActions(id, name, controls) : nothing}
              ${status === 'failed' && canOpen(controls) ? failedActions(id, name, remedies, controls) : nothing}
            </li>
          `;
        })}
      </ol>
    </section>
  `;
}

/** Whether the result of an item is shown above the list, which is so until that of the last one. */
const isShownAbove = (item: Item, { opening, overall }: Pick<Controls, 'opening' | 'overall'>): boolean =>
  isOf(item, opening?.bundle) && !overall;

/** The notices of a result that the list shows. */
export const noticesInList = (item: Item, controls: Pick<Controls, 'opening' | 'overall'>): readonly string[] =>
  isShownAbove(item, controls) ? [] : (item.notices ?? []);

/** Whether the person can open an image that has failed. */
export const canOpen = ({ isBusy, isConvertingAll }: Controls): boolean => !isBusy && !isConvertingAll;

function failedActions(id: number, name: string, remedies: Remedy[], controls: Controls): TemplateResult {
  return html`<span class="item-actions">${failedButtons(id, name, remedies, controls)}</span>`;
}

/** The buttons that open an image again that has failed. */
export function failedButtons(id: number, name: string, remedies: Remedy[], controls: Controls): TemplateResult {
  const { queued } = controls.texts;
  return html`
      <button part="button" aria-label=${`${queued.open} ${name}`} @click=${() => controls.openNext(id)}>${queued.open}</button>
      ${remedies.includes('salvage') ? html`<button part="button" aria-label=${`${queued.salvage} ${name}`} @click=${() => controls.openNext(id, 'salvage')}>${queued.salvage}</button>` : nothing}
  `;
}

function waitingActions(id: number, name: string, controls: Controls): TemplateResult {
  const { texts } = controls;
  return html`
    <span class="item-actions">
      ${
        controls.isBusy
          ? nothing
          : html`<button part="button" aria-label=${`${texts.queued.open} ${name}`} @click=${() => controls.openNext(id)}>${texts.queued.open}</button>`
      }
      <button class="link" part="button link" aria-label=${`${texts.queued.remove} ${name}`} @click=${() => controls.remove(id)}>${texts.queued.remove}</button>
    </span>
  `;
}

/** The heading for the results of a queue: the number of converted images. */
export const overallHead = (overall: Overall, texts: AllTexts): Head => ({
  text: texts.allDone(overall.done, overall.all),
  by: overallNotes(overall, texts).length > 0 ? 'overall' : undefined,
});

/** The failed and the damaged images of a queue. */
export function overallView(overall: Overall | undefined, texts: AllTexts): TemplateResult | typeof nothing {
  const notes = overall ? overallNotes(overall, texts) : [];
  if (notes.length === 0) return nothing;
  return html`<div id="overall">${notes.map((text) => html`<p class="bad">${spoken(text)}</p>`)}</div>`;
}
