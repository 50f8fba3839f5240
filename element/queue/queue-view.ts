// The queue.

import { shownText } from 'decant';
import { html, nothing, type TemplateResult } from 'lit';
import { labelOf } from '../files/bundle.js';
import { overallNotes } from '../steps/announcement.js';
import { button, nameView, noticeView, spoken } from '../steps/common-views.js';
import type { Controls } from '../steps/controls.js';
import type { Head } from '../steps/frame.js';
import type { Overall } from '../steps/state.js';
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
          const buttons = item.status === 'waiting' ? waitingButtons(item, controls) : failedButtons(item, controls);
          return html`
            <li aria-current=${item.status === 'current' ? 'true' : nothing}>
              ${nameView(labelOf(item.bundle))}
              <span class=${item.status === 'failed' ? 'bad' : 'quiet'}>${spoken(text(item))}</span>
              ${noticesInList(item, controls).map(noticeView)}
              ${isShownAbove(item, controls) ? nothing : resultOf(item)}
              ${buttons === nothing ? nothing : html`<span class="item-actions">${buttons}</span>`}
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

/** A button for the image that is called `name`. */
export const itemButton = (label: string, name: string, click: () => void, style: '' | 'link' = ''): TemplateResult =>
  button(label, click, style, `${label} ${shownText(name)}`);

/** The buttons that open an image again that has failed; `nothing` unless the person can open it now. */
export function failedButtons({ id, bundle, status, remedies = [] }: Item, controls: Controls) {
  if (status !== 'failed' || controls.isBusy || controls.isConvertingAll) return nothing;
  const { queued } = controls.texts;
  const name = labelOf(bundle);
  return html`
    ${itemButton(queued.open, name, () => controls.openNext(id))}
    ${remedies.includes('salvage') ? itemButton(queued.salvage, name, () => controls.openNext(id, 'salvage')) : nothing}
  `;
}

function waitingButtons({ id, bundle }: Item, controls: Controls): TemplateResult {
  const { queued } = controls.texts;
  const name = labelOf(bundle);
  return html`
    ${controls.isBusy ? nothing : itemButton(queued.open, name, () => controls.openNext(id))}
    ${itemButton(queued.remove, name, () => controls.remove(id), 'link')}
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
