// The picture of a disk, with its legend.

import { html, nothing, type TemplateResult } from 'lit';
import type { AllTexts } from '../types.texts.js';
import type { DiskPicture } from './disk-picture.js';
import { CELL, COLOURED_LAYERS, COLUMNS } from './paint.js';

/** `share` is the converted share of the disk during a conversion, 0 to 1. The canvas is painted after it is rendered. */
export function pictureView(picture: DiskPicture, share: number | undefined, texts: AllTexts): TemplateResult {
  const { contents, layers } = picture.legend;
  const height = Math.ceil(picture.count / COLUMNS) * CELL;
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
      <canvas width=${COLUMNS * CELL} height=${height} role="img" aria-label=${texts.picture.label(share)}></canvas>
      <figcaption aria-hidden="true">
        ${names}
        ${contents.has('compressed') ? html`<span><i class="swatch compressed"></i>${texts.picture.compressed}</span>` : nothing}
        ${entry('empty', texts.picture.empty)}
        ${contents.has('lost') ? entry('lost', texts.picture.lost) : nothing}
      </figcaption>
    </figure>
  `;
}
