// Lists on the first screen the remains of interrupted conversions, in the browser's storage and in picked folders.

import { type Leftover, leftovers, shownText } from 'decant';
import { html, type TemplateResult } from 'lit';
import { spoken } from '../steps/common-views.js';
import type { Controls } from '../steps/controls.js';
import type { Screen } from '../steps/screen.js';
import type { Remains } from '../steps/state.js';
import type { AllTexts } from '../types.texts.js';
import { remainsAtTargets } from './unfinished.js';

/** Lists on the first screen what interrupted conversions have left. A page that saves disks itself has its own storage. */
export async function recall(screen: Screen): Promise<void> {
  const { turn, host } = screen;
  if (host.output) return;
  const texts = screen.texts;
  const stored = leftovers().then((found) => found.filter(({ kind }) => kind === 'download'));
  const lists = await Promise.allSettled([
    stored.then((found) => found.map((leftover) => storedLeftover(leftover, texts))),
    // Without a database, nothing was remembered.
    remainsAtTargets(texts),
  ]);
  const remains = lists.flatMap((list) => (list.status === 'fulfilled' ? list.value : []));
  screen.update(turn, 'empty', { remains: remains.length > 0 ? remains : undefined });
}

function storedLeftover({ image: name, size, discard }: Leftover, texts: AllTexts): Remains {
  const image = name || texts.image;
  return {
    image,
    text: texts.interrupted(image, size),
    action: texts.freeStorage(size),
    remove: async () => {
      await discard();
      return texts.storageFreed(size);
    },
  };
}

/** The list, with a button to remove each of the remains. */
export const remainsView = (remains: Remains[], controls: Controls): TemplateResult => html`
  <ul class="left">
    ${remains.map(
      (one) => html`
        <li class="notice" part="notice"><span>${spoken(one.text)}</span>
          <button part="button" aria-label=${`${one.action}: ${shownText(one.image)}`} @click=${() => controls.removeRemains(one)}>${one.action}</button>
        </li>
      `,
    )}
  </ul>
`;
