// Lists on the first screen the remains of interrupted conversions, in the browser's storage and in picked folders.

import { type Leftover, leftovers, shownText } from 'decant';
import { html, nothing, type TemplateResult } from 'lit';
import { button, fileButton, spoken } from '../steps/common-views.js';
import type { Controls } from '../steps/controls.js';
import type { Screen } from '../steps/screen.js';
import type { Remains } from '../steps/state.js';
import type { AllTexts } from '../types.texts.js';
import { forgetLink, linkOf } from './image-links.js';
import { remainsAtTargets } from './unfinished.js';

/** How much of a disk is done after `done` of `total` bytes: never all of it, since its file is not complete. */
export const shareDone = (done: number, total: number): number => Math.min(done / total, 0.99);

/** Lists on the first screen what interrupted conversions have left. A page that saves disks itself has its own storage. */
export async function recall(screen: Screen): Promise<void> {
  const { turn, host } = screen;
  // A lost download is listed only once: that must be where the person sees it.
  if (host.output || !screen.at('empty')) return;
  const texts = screen.texts;
  const stored = leftovers().then((found) => found.filter(({ kind }) => kind === 'download'));
  const lists = await Promise.allSettled([
    stored.then((found) => found.map((leftover) => storedLeftover(leftover, texts))),
    // Without a database, nothing was remembered.
    remainsAtTargets(texts),
  ]);
  const listed = screen.at('empty')?.remains?.filter(({ isListedOnce }) => isListedOnce) ?? [];
  const remains = [...listed, ...lists.flatMap((list) => (list.status === 'fulfilled' ? list.value : []))];
  screen.update(turn, 'empty', { remains: remains.length > 0 ? remains : undefined });
}

function storedLeftover({ image: name, size, guestDone, guestTotal, discard }: Leftover, texts: AllTexts): Remains {
  const image = name || texts.image;
  const share = guestTotal ? shareDone(guestDone, guestTotal) : undefined;
  const link = name && linkOf(name);
  return {
    image,
    text: texts.interrupted(image, size, share, link),
    resumable: { share, link },
    action: texts.discard,
    remove: async () => {
      await discard();
      forgetLink(image);
      return texts.storageFreed(size);
    },
  };
}

/** A card for each of the remains, with buttons to resume and to remove it. */
export const remainsView = (remains: Remains[], controls: Controls): TemplateResult => html`
  <ul class="left">${remains.map((one) => remainsCard(one, controls))}</ul>
`;

function remainsCard(remains: Remains, controls: Controls): TemplateResult {
  const { texts } = controls;
  const { text, image, resumable, action } = remains;
  const label = (button: string) => `${button}: ${shownText(image)}`;
  const pick = (fallback: () => void) => controls.resume(fallback);
  const resume = ({ link }: NonNullable<Remains['resumable']>) =>
    link === undefined
      ? fileButton(texts.goOn, 'primary', false, pick, (files) => controls.takeToResume(files), label(texts.goOn))
      : button(texts.goOn, () => controls.resumeLink(link), 'primary', label(texts.goOn));
  const bar = ({ share }: NonNullable<Remains['resumable']>) =>
    share === undefined
      ? nothing
      : html`<progress part="progress" aria-hidden="true" max="1" .value=${share}></progress>`;
  return html`
    <li class="notice left-card" part="notice">
      <p>${spoken(text)}</p>
      ${resumable ? bar(resumable) : nothing}
      <div class="actions">
        ${resumable ? resume(resumable) : nothing}
        ${button(action, () => controls.removeRemains(remains), '', label(action))}
      </div>
    </li>
  `;
}
