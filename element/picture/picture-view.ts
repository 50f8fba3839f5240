// The picture of a disk: its markup with a legend, and the painting of its canvas in cells of whole pixels of the screen.

import type { Contents } from 'decant/contents';
import { html, nothing, type TemplateResult } from 'lit';
import type { AllTexts } from '../types.texts.js';
import type { Content, DiskPicture } from './disk-picture.js';

/** The least part of the picture that has room for the name of a partition. */
const ROOM_FOR_NAME = 1 / 6;
/** The number of cells in a row that a wide picture comes close to. */
const COLUMNS = 128;
/** The least side of a cell in pixels, including the gap after it. A narrow picture has more rows instead. */
const LEAST_SIDE = 3;
/** The opacity of a cell that is not converted yet, during a conversion. */
const WAITING = 0.3;
/** The opacity of a cell that the map has not reached. */
const UNKNOWN = 0.35;

/** The number of colours for layers. Deeper layers share the last one. */
export const COLOURED_LAYERS = 3;

/** The partitions that are high enough in the picture for a name. */
const partsIn = (picture: DiskPicture, contents: Contents | undefined) =>
  contents?.parts.filter(({ size }) => picture.cellAt(size) >= picture.count * ROOM_FOR_NAME) ?? [];

/** `share` is the converted share of the disk during a conversion, 0 to 1. The canvas is painted after it is rendered. */
export function pictureView(
  picture: DiskPicture,
  share: number | undefined,
  texts: AllTexts,
  contents: Contents | undefined,
): TemplateResult {
  const { contents: kinds, layers } = picture.legend;
  const entry = (colour: string, text: string) =>
    html`<span><i class=${`swatch ${colour}`} data-colour=${colour}></i>${text}</span>`;
  const names = [...layers]
    .filter((layer) => layer < COLOURED_LAYERS)
    .sort((a, b) => a - b)
    .map((layer) => {
      const isOnly = picture.layerNames.length === 1;
      return entry(
        `layer-${layer}`,
        isOnly ? texts.picture.data : texts.picture.layer(picture.layerNames[layer] ?? ''),
      );
    });
  return html`
    <figure class="picture" part="picture">
      <div>
        <canvas role="img" aria-label=${texts.picture.label(share)}></canvas>
        ${partsIn(picture, contents).map((part) => html`<span class="part" aria-hidden="true" data-offset=${part.offset}>${texts.contents.part(part)}</span>`)}
      </div>
      <figcaption class="more" aria-hidden="true">
        ${names}
        ${kinds.has('compressed') ? html`<span><i class="swatch compressed"></i>${texts.picture.compressed}</span>` : nothing}
        ${entry('empty', texts.picture.empty)}
        ${kinds.has('lost') ? entry('lost', texts.picture.lost) : nothing}
      </figcaption>
    </figure>
  `;
}

/** The name of a cell's colour, which is that of a swatch in the legend. */
export function colourOf(content: Content, layer: number): string {
  if (content === 'lost') return 'lost';
  if (content === 'empty' || content === 'unknown') return 'empty';
  return `layer-${Math.min(layer, COLOURED_LAYERS - 1)}`;
}

/** The side of a cell and the number of cells in a row, where `width` pixels are free. */
export function gridOf(width: number): { side: number; columns: number } {
  const side = Math.max(LEAST_SIDE, Math.round(width / COLUMNS));
  return { side, columns: Math.max(1, Math.floor(width / side)) };
}

/** Draws `picture` as wide as `figure`, in the current colours of its legend. */
export function paint(figure: HTMLElement, picture: DiskPicture): void {
  const canvas = figure.querySelector('canvas');
  const context = canvas?.getContext('2d');
  if (!canvas || !context || figure.clientWidth === 0) return;
  const { side, columns } = gridOf(figure.clientWidth * devicePixelRatio);
  const gap = side > 6 ? 2 : 1;
  canvas.width = columns * side;
  canvas.height = Math.ceil(picture.count / columns) * side;
  canvas.style.width = `${canvas.width / devicePixelRatio}px`;
  const colours = new Map<string, string>();
  for (const swatch of figure.querySelectorAll<HTMLElement>('[data-colour]')) {
    colours.set(swatch.dataset.colour!, getComputedStyle(swatch).backgroundColor);
  }
  for (let cell = 0; cell < picture.count; cell += 1) {
    const content = picture.contentOf(cell);
    const [x, y] = [(cell % columns) * side, Math.floor(cell / columns) * side];
    context.globalAlpha = (picture.done?.[cell] ?? 1) === 1 ? 1 : WAITING;
    if (content === 'unknown') context.globalAlpha *= UNKNOWN;
    context.fillStyle = colours.get(colourOf(content, picture.layerOf(cell))) ?? 'gray';
    context.fillRect(x, y, side - gap, side - gap);
    // A hole in the middle, which is visible without colours too.
    if (content === 'compressed') context.clearRect(x + gap, y + gap, side - 3 * gap || 1, side - 3 * gap || 1);
  }
  // Not by markup, which a policy for styles may forbid.
  for (const part of figure.querySelectorAll<HTMLElement>('[data-offset]')) {
    const row = Math.floor(picture.cellAt(Number(part.dataset.offset)) / columns);
    part.style.top = `${(row * side * 100) / canvas.height}%`;
  }
}
