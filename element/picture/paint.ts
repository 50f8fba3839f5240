// Draws the picture of a disk on its canvas.

import type { Content, DiskPicture } from './disk-picture.js';

export const COLUMNS = 128;
/** The side of a cell in pixels of the canvas, including the gap after it. */
export const CELL = 8;
const GAP = 2;
/** The opacity of a cell that is not converted yet, during a conversion. */
const WAITING = 0.3;
/** The opacity of a cell that the map has not reached. */
const UNKNOWN = 0.35;

/** The number of colours for layers. Deeper layers share the last one. */
export const COLOURED_LAYERS = 3;

/** The name of a cell's colour, which is that of a swatch in the legend. */
export function colourOf(content: Content, layer: number): string {
  if (content === 'lost') return 'lost';
  if (content === 'empty' || content === 'unknown') return 'empty';
  return `layer-${Math.min(layer, COLOURED_LAYERS - 1)}`;
}

/** Draws `picture` in the current colours of the legend in `figure`. */
export function paint(figure: HTMLElement, picture: DiskPicture): void {
  const canvas = figure.querySelector('canvas');
  const context = canvas?.getContext('2d');
  if (!canvas || !context) return;
  const colours = new Map<string, string>();
  for (const swatch of figure.querySelectorAll<HTMLElement>('[data-colour]')) {
    colours.set(swatch.dataset.colour!, getComputedStyle(swatch).backgroundColor);
  }
  context.clearRect(0, 0, canvas.width, canvas.height);
  for (let cell = 0; cell < picture.count; cell += 1) {
    const content = picture.contentOf(cell);
    const [x, y] = [(cell % COLUMNS) * CELL, Math.floor(cell / COLUMNS) * CELL];
    context.globalAlpha = (picture.done?.[cell] ?? 1) === 1 ? 1 : WAITING;
    if (content === 'unknown') context.globalAlpha *= UNKNOWN;
    context.fillStyle = colours.get(colourOf(content, picture.layerOf(cell))) ?? 'gray';
    context.fillRect(x, y, CELL - GAP, CELL - GAP);
    // A hole in the middle, which is visible without colours too.
    if (content === 'compressed') context.clearRect(x + GAP, y + GAP, GAP, GAP);
  }
  context.globalAlpha = 1;
  // Not by markup, which a policy for styles may forbid.
  for (const part of figure.querySelectorAll<HTMLElement>('[data-offset]')) {
    const row = Math.floor(picture.cellAt(Number(part.dataset.offset)) / COLUMNS);
    part.style.top = `${(row * CELL * 100) / canvas.height}%`;
  }
}
