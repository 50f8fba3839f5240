// The picture of a disk: its partitions, its cells, the bar of the work under way as its lower edge, and a legend; a table for
// screen readers.

import type { Contents, Partition } from 'decant/contents';
import { html, nothing, type TemplateResult } from 'lit';
import type { AllTexts } from '../types.texts.js';
import type { DiskPicture } from './disk-picture.js';
import { COLOURED_LAYERS } from './painter.js';

/** The content of the picture. */
export interface Scene {
  /** Missing if the size of the disk is not known. */
  picture?: DiskPicture | undefined;
  contents?: Contents | undefined;
  /** The work under way, by the name of its bar. */
  work?: string | undefined;
  /** The completed share of the work, 0 to 1; `undefined` if it is not known. */
  share?: number | undefined;
}

/** The least width of a partition in the lane that has room for a name, in CSS pixels. */
const ROOM_FOR_NAME = 56;
/** The most partitions in the table. */
const MOST_ROWS = 16;

/** The canvas and the lane are painted after they are rendered. */
export const pictureView = (scene: Scene, texts: AllTexts): TemplateResult => html`
  <figure class=${scene.picture || scene.work !== undefined ? 'picture' : 'picture blank'} part="picture">
    <div class="lane" aria-hidden="true">${partsOf(scene).map((part) => laneView(part, texts))}</div>
    <div class="cells">
      <canvas role="img" aria-label=${texts.picture.label(scene.share)}></canvas>
      <span class="tip" aria-hidden="true" hidden></span>
    </div>
    ${edgeView(scene)}
    <figcaption class=${scene.picture ? 'more' : 'more unknown'} aria-hidden="true">${legendView(scene.picture, texts)}</figcaption>
    ${scene.picture ? tableView(scene.picture, partsOf(scene), texts) : nothing}
  </figure>
`;

const edgeView = ({ work, share }: Scene) =>
  work === undefined
    ? html`<div class=${share === 1 ? 'edge full' : 'edge'}></div>`
    : html`<progress class="edge" part="progress" aria-label=${work} max="1" value=${share ?? nothing}></progress>`;

/** A part of the disk in the lane; the whole disk, if it has no partitions. */
interface LanePart {
  offset: number;
  length: number;
  part?: Partition;
}

function partsOf({ picture, contents }: Scene): LanePart[] {
  if (!picture) return [];
  const parts = contents?.partitions ?? [];
  return parts.length > 0
    ? parts.map((part) => ({ offset: part.offset, length: part.length, part }))
    : [{ offset: 0, length: picture.size }];
}

const nameOf = ({ part, length }: LanePart, texts: AllTexts): string =>
  part ? texts.contents.part(part) : texts.size(length);

const laneView = (one: LanePart, texts: AllTexts) =>
  html`<span class="part" data-offset=${one.offset} data-length=${one.length}><span>${nameOf(one, texts)}</span></span>`;

function legendView(picture: DiskPicture | undefined, texts: AllTexts): TemplateResult {
  const { contents, layers } = picture?.legend ?? { contents: new Set(), layers: new Set([0]) };
  const entry = (colour: string, text: string) =>
    html`<span><i class=${`swatch ${colour}`} data-colour=${colour}></i>${text}</span>`;
  const names = [...(layers as Set<number>)].filter((layer) => layer < COLOURED_LAYERS).sort((a, b) => a - b);
  const isOnly = (picture?.layerNames.length ?? 1) === 1;
  return html`
    ${names.map((layer) => entry(`layer-${layer}`, isOnly ? texts.picture.data : texts.picture.layer(picture!.layerNames[layer] ?? '')))}
    ${contents.has('compressed') ? html`<span><i class="swatch compressed"></i>${texts.picture.compressed}</span>` : nothing}
    ${entry('empty', texts.picture.empty)}
    ${contents.has('lost') ? entry('lost', texts.picture.lost) : nothing}
  `;
}

const tableView = (picture: DiskPicture, parts: LanePart[], texts: AllTexts) => html`
  <div class="unseen"><table>
    <caption>${texts.picture.table.caption}</caption>
    <tr>${[texts.picture.table.part, texts.picture.table.start, texts.picture.table.data].map((name) => html`<th scope="col">${name}</th>`)}</tr>
    ${parts.slice(0, MOST_ROWS).map(
      (one) => html`
        <tr>
          <td>${nameOf(one, texts)}</td>
          <td>${texts.size(one.offset)}</td>
          <td>${texts.share(picture.shareOfData(one.offset, one.offset + one.length))}</td>
        </tr>
      `,
    )}
  </table></div>
`;

/** Places the partitions of the lane, which stands above the cells. Not by markup, which a policy for styles may forbid. */
export function placeLane(figure: HTMLElement, picture: DiskPicture | undefined): void {
  // A resize between the change of a step and its rendering finds the markup of the step before.
  if (!picture) return;
  for (const part of figure.querySelectorAll<HTMLElement>('[data-offset]')) {
    const share = (bytes: string | undefined) => `${(Number(bytes) / picture.size) * 100}%`;
    part.style.insetInlineStart = share(part.dataset.offset);
    part.style.width = share(part.dataset.length);
  }
  for (const part of figure.querySelectorAll<HTMLElement>('[data-offset]'))
    part.classList.toggle('narrow', part.clientWidth < ROOM_FOR_NAME);
}

/** Shows what is at the bytes `range` of the disk in a tip beside the pointer, or hides the tip if there is no range. */
export function showTip(
  figure: HTMLElement,
  { picture, contents }: Scene,
  range: [start: number, end: number] | undefined,
  x: number,
  y: number,
  texts: AllTexts,
): void {
  const tip = figure.querySelector<HTMLElement>('.tip')!;
  tip.hidden = !range || !picture;
  if (!range || !picture) return;
  const [start, end] = range;
  const { content, layer } = picture.summary(start, end);
  const part = contents?.partitions.find(({ offset, length }) => offset < end && start < offset + length);
  const name = picture.layerNames.length > 1 ? picture.layerNames[layer] : undefined;
  tip.textContent = texts.picture.cell(start, content, part, name);
  const most = figure.clientWidth - tip.offsetWidth;
  tip.style.left = `${Math.max(0, Math.min(x - tip.offsetWidth / 2, most))}px`;
  // Below the pointer in the first rows: above them are the names of partitions.
  tip.style.top = `${y < 2 * tip.offsetHeight ? y + 16 : y - tip.offsetHeight - 12}px`;
}
