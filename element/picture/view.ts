// The picture of a disk, with its legend.

import type { Contents } from 'decant/contents';
import { html, nothing, type TemplateResult } from 'lit';
import type { AllTexts } from '../types.texts.js';
import type { DiskPicture } from './disk-picture.js';
import { COLOURED_LAYERS } from './paint.js';

/** The least part of the picture that has room for the name of a partition. */
const NAMED = 1 / 6;

/** The partitions that are high enough in the picture for a name. */
const partsIn = (picture: DiskPicture, contents: Contents | undefined) =>
  contents?.parts.filter(({ size }) => picture.cellAt(size) >= picture.count * NAMED) ?? [];

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
