// The details of an image, its snapshots, and the ranges that a result has lost.

import { type AnyImage, type ConvertResult, shownText } from 'decant';
import type { Contents } from 'decant/contents';
import { html, nothing, type TemplateResult } from 'lit';
import { imageFiles } from '../files/opening.js';
import { facts, noticeView } from '../steps/common-views.js';
import type { Controls } from '../steps/controls.js';
import type { Step } from '../steps/state.js';
import type { AllTexts } from '../types.texts.js';
import { imagesIn, knownSize } from '../ways/choices.js';
import { diskDigestView } from './digest.js';

/** The list of the states of the disk. A choice opens the state. */
export function snapshotPicker(controls: Controls): TemplateResult {
  const { snapshots, snapshotIndex: open } = controls;
  const { texts } = controls;
  // The closed list may be too narrow for the chosen state.
  const chosen = snapshots[open];
  const choose = (event: Event) => controls.chooseSnapshot(Number((event.target as HTMLSelectElement).value));
  return html`
    <label class="field">
      <span>${texts.snapshot}</span>
      <select part="field" ?disabled=${controls.isBusy} ?data-focus=${controls.isChoosingSnapshot} @change=${choose} .value=${String(open)}>
        <option value="-1" ?selected=${open === -1}>${texts.activeDisk}</option>
        ${snapshots.map((snapshot, at) => html`<option value=${at} ?selected=${open === at}>${texts.snapshotValue(snapshot)}</option>`)}
      </select>
    </label>
    ${chosen ? html`<p class="quiet" aria-hidden="true">${texts.snapshotValue(chosen)}</p>` : nothing}
  `;
}

export const detailsView = (state: Step<'ready'>, controls: Controls): TemplateResult =>
  state.others.length > 0 ? disksDetails(state, controls) : imageDetails(state, controls);

/** The data of the disks that was found so far, if their size is known. */
function dataOf({ survey, ...images }: Step<'ready'>, texts: AllTexts): string | undefined {
  if (knownSize(imagesIn(images)) === undefined) return undefined;
  return survey.complete ? texts.dataValue(survey.data, survey.compressed) : texts.dataCounting(survey.data);
}

const sizeOf = (bytes: number | undefined, texts: AllTexts): string =>
  bytes === undefined ? texts.unknownSize : texts.size(bytes);

const machineOf = ({ info }: AnyImage): string | undefined =>
  info.machine === undefined ? undefined : shownText(info.machine);

/** The machine, and the format and size of each disk. */
function disksDetails(state: Step<'ready'>, { texts }: Controls): TemplateResult {
  const images = imagesIn(state);
  const diskFact = ({ info }: AnyImage, at: number): [string, string] => [
    shownText(state.survey.picture?.layerNames[at] ?? info.name ?? texts.image),
    [sizeOf(info.virtualSize, texts), texts.formatValue(info)].join(', '),
  ];
  return facts([[texts.machine, machineOf(state.image)], ...images.map(diskFact), [texts.data, dataOf(state, texts)]]);
}

/** The image's format, sizes, layers and partitions. */
function imageDetails(state: Step<'ready'>, controls: Controls): TemplateResult {
  const { texts } = controls;
  const { image, survey } = state;
  const { info } = image;
  return html`
    ${facts([
      [texts.format, texts.formatValue(info)],
      [texts.machine, machineOf(image)],
      [texts.virtualSize, sizeOf(info.virtualSize, texts)],
      [
        texts.fileSize,
        info.fileSize === undefined ? undefined : texts.fileSizeValue(...imageFiles(info, controls.opening)),
      ],
      [texts.data, dataOf(state, texts)],
      [texts.layers, info.layers.length > 1 ? info.layers.map(({ name }) => shownText(name)).join(', ') : undefined],
      [texts.encryption, info.encryption ? texts.encryptionValue(info.encryption) : undefined],
    ])}
    ${survey.contents ? contentsView(survey.contents, texts) : nothing}
    ${diskDigestView(state, controls)}
  `;
}

/** The ranges that could not be read. The result lists only the first ones. */
export function lostView({ lost, lostRanges, lostBytes }: ConvertResult, texts: AllTexts): TemplateResult {
  const more = lostRanges - lost.length;
  const lines = [...lost.map(texts.lostRange), ...(more > 0 ? [texts.lostMore(more)] : [])];
  return html`
    <p class="bad">${texts.lost(lostBytes, lostRanges)}</p>
    <details>
      <summary>${texts.lostList}</summary>
      <pre tabindex="0">${lines.join('\n')}</pre>
    </details>
  `;
}

/** The most partitions that are listed. Further ones are only counted. */
const MOST_SHOWN = 16;

function contentsView(
  { table, partitions: parts, firmware }: Contents,
  texts: AllTexts,
): TemplateResult | typeof nothing {
  if (!table && parts.length === 0) return nothing;
  const more = parts.length - MOST_SHOWN;
  return html`
    <section class="contents">
      <h3>${texts.contents.title(table, parts.length)}</h3>
      <ul>
        ${parts.slice(0, MOST_SHOWN).map((part) => html`<li>${texts.contents.part(part)}</li>`)}
        ${more > 0 ? html`<li>${texts.contents.more(more)}</li>` : nothing}
      </ul>
      ${firmware ? html`<p>${texts.contents.firmware(firmware)}</p>` : nothing}
      ${table?.damaged ? noticeView(texts.contents.damaged) : nothing}
    </section>
  `;
}
