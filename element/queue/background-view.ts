// The cards of conversions in the background: the browser checks their files while the element shows something else.

import { shownText } from 'decant';
import { html, nothing, type TemplateResult } from 'lit';
import { finishingHint, isTooLateToCancel, workTitle } from '../steps/announcement.js';
import { nameView, noticeView, spoken } from '../steps/common-views.js';
import type { Controls } from '../steps/controls.js';
import type { Warning } from '../steps/state.js';
import type { AllTexts } from '../types.texts.js';
import type { Background, Item, Queue } from './queue.js';
import { failedButtons, itemButton } from './queue-view.js';

/** `resultOf` shows the result of an item. */
export function backgroundView(
  queue: Queue,
  controls: Controls,
  resultOf: (item: Item) => TemplateResult | typeof nothing,
): TemplateResult | typeof nothing {
  const { texts } = controls;
  if (queue.inBackground.length === 0) return nothing;
  return html`
    <section class="queue background" aria-labelledby="background">
      <h2 id="background">${texts.background}</h2>
      <ul>
        ${queue.inBackground.map((item) => {
          const { id, status, outcome, background, notices = [] } = item;
          const { name } = background.state.target;
          return html`
            <li>
              ${nameView(name)}
              <span class=${status === 'failed' ? 'bad' : 'quiet'}>${spoken(outcome || progressText(background, texts))}</span>
              ${notices.map(noticeView)}
              ${resultOf(item)}
              <span class="item-actions">
                ${failedButtons(item, controls)}
                ${status === 'checking' ? cancelButton(item, controls) : itemButton(texts.dismiss, name, () => controls.dismiss(id), 'link')}
              </span>
            </li>
          `;
        })}
      </ul>
    </section>
  `;
}

/** How far a conversion in the background is, or what happens after a cancel. */
function progressText({ state }: Background, texts: AllTexts): string {
  const { phase, share, finishing = 0, secondsLeft, cancelling } = state;
  if (cancelling) return finishingHint(state, texts) ?? workTitle(state, texts);
  return phase === 'finishing' ? texts.checking(finishing, secondsLeft) : `${texts.phase[phase]} ${texts.share(share)}`;
}

function cancelButton({ id, background }: Item & { background: Background }, controls: Controls) {
  const { state } = background;
  // The file will be complete in any case.
  if (isTooLateToCancel(state)) return nothing;
  const { cancel } = controls.texts;
  return html`<button class="link" part="button link" aria-label=${`${cancel} ${shownText(state.target.name)}`} aria-disabled=${state.cancelling ? 'true' : nothing} @click=${() => controls.cancelInBackground(id)}>${cancel}</button>`;
}

/** Announces the conversions in the background, and their results. */
export const backgroundNews = ({ inBackground }: Queue, texts: AllTexts): Warning[] =>
  inBackground.map(({ id, status, outcome, notices = [], background }) => ({
    id: `background ${id} ${status}`,
    text: [
      `${shownText(background.state.target.name)}: ${outcome || progressText(background, texts)}`,
      ...notices,
    ].join('. '),
  }));
