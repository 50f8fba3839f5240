// Paints the picture of a disk on its canvas: cells of whole pixels, which fade in when they change.

import type { Content, DiskPicture } from './disk-picture.js';

/** The least width of a picture with large cells, in CSS pixels. */
const WIDE = 560;
/** The least sides of a cell in a wide and a narrow picture, the gap between cells, and the radius of their corners, in CSS pixels. */
const SIDES = { wide: 8, narrow: 6 };
const GAP = 2;
const RADIUS = 2;
/** How long a change of a cell takes to show, in milliseconds. */
const FADE = 300;

/**
 * The side of a cell that is not converted yet, during a conversion, as a share of the whole side: a fainter colour would have too little
 * contrast.
 */
const WAITING = 0.7;
/** The opacity of a cell whose content is not known. */
const UNKNOWN = 0.5;
/** The factor for the opacity of cells outside of the range that is looked at. */
const ASIDE = 0.3;
/** The opacity of compressed data: a lighter tint, with a contrast of 3 to empty cells in each layer's colour. */
export const COMPRESSED = 0.85;

/** The number of colours for layers. Deeper layers share the last one. */
export const COLOURED_LAYERS = 3;

/** The cells of a picture, in pixels of the screen. */
export interface Grid {
  columns: number;
  rows: number;
  /** The distance from one row to the next. */
  pitch: number;
  gap: number;
  width: number;
  height: number;
}

/** The cells for a space of `width` and `height` CSS pixels, where one has `ratio` pixels of the screen. They fill the whole width. */
export function gridOf(width: number, height: number, ratio: number): Grid {
  const side = Math.round((width >= WIDE ? SIDES.wide : SIDES.narrow) * ratio);
  const gap = Math.max(1, Math.round(GAP * ratio));
  const pitch = side + gap;
  const columns = Math.max(1, Math.floor((Math.round(width * ratio) + gap) / pitch));
  const rows = Math.max(1, Math.floor((Math.round(height * ratio) + gap) / pitch));
  return { columns, rows, pitch, gap, width: Math.max(1, Math.round(width * ratio)), height: rows * pitch - gap };
}

/** The left edge of a column; that of the column after the last one is a gap behind the picture. */
const leftOf = (column: number, { columns, width, gap }: Grid): number =>
  Math.round((column * (width + gap)) / columns);

/** The bytes of the disk that the cell `at` of `count` shows. */
export const rangeOf = (at: number, count: number, size: number): [start: number, end: number] => [
  Math.floor((at / count) * size),
  Math.floor(((at + 1) / count) * size),
];

/** The name of a cell's colour, which is that of a swatch in the legend. */
export function colourOf(content: Content, layer: number): string {
  if (content === 'lost') return 'lost';
  if (content === 'empty' || content === 'unknown') return 'empty';
  return `layer-${Math.min(layer, COLOURED_LAYERS - 1)}`;
}

const opacityOf = (content: Content): number =>
  content === 'unknown' ? UNKNOWN : content === 'compressed' ? COMPRESSED : 1;

/** How a cell looks: its opacity, and its side as a share of the whole side. */
interface Look {
  opacity: number;
  side: number;
}

const between = (from: Look, to: Look, share: number): Look => ({
  opacity: from.opacity + (to.opacity - from.opacity) * share,
  side: from.side + (to.side - from.side) * share,
});

/** The state of a cell on the screen now, and at the end of the animation. */
interface Cell {
  colour: string;
  /** Whether the cell has a hole, which distinguishes it for people who cannot see its colour. */
  isHollow: boolean;
  shown: Look;
  /** The look at the start of its change. */
  from: Look;
  to: Look;
  /** When its change began; `undefined` while nothing changes. */
  since: number | undefined;
}

export class Painter {
  #picture: DiskPicture | undefined;
  #grid: Grid | undefined;
  /** The grid and the colours. If they change, everything is painted again. */
  #look = '';
  #cells: Cell[] = [];
  #frame = 0;
  /** The range of the disk that the person points at, until another picture is painted. All other cells are faint. */
  lookedAt: [start: number, end: number] | undefined;

  /** Draws `picture` in `figure`, in the current colours of its legend. Without a picture, nothing is known of any cell. */
  paint(figure: HTMLElement, picture: DiskPicture | undefined): void {
    const canvas = figure.querySelector('canvas');
    const context = canvas?.getContext('2d');
    const space = canvas?.parentElement;
    if (!canvas || !context || !space || space.clientWidth === 0) return;
    const grid = gridOf(space.clientWidth, space.clientHeight, devicePixelRatio);
    const colours = coloursOf(figure);
    const look = JSON.stringify([grid, [...colours]]);
    const isNew = look !== this.#look || picture !== this.#picture || canvas.width !== grid.width;
    if (isNew) {
      this.#look = look;
      this.#cells = [];
      canvas.width = grid.width;
      canvas.height = grid.height;
      canvas.style.height = `${grid.height / devicePixelRatio}px`;
    }
    if (picture !== this.#picture) this.lookedAt = undefined;
    this.#picture = picture;
    this.#grid = grid;
    this.#change(colours, isNew || matchMedia('(prefers-reduced-motion: reduce)').matches);
    this.#draw(context);
  }

  /** The bytes that the cell at `x` and `y` shows, in CSS pixels from the corner of the picture; `undefined` between cells. */
  rangeAt(x: number, y: number): [start: number, end: number] | undefined {
    const grid = this.#grid;
    if (!grid || !this.#picture) return undefined;
    const { columns, rows, pitch, gap, width } = grid;
    const column = Math.floor((x * devicePixelRatio * columns) / (width + gap));
    const row = Math.floor((y * devicePixelRatio) / pitch);
    if (column < 0 || column >= columns || row < 0 || row >= rows) return undefined;
    return rangeOf(row * columns + column, columns * rows, this.#picture.size);
  }

  /** Sets what each cell will be; at once if `isSudden`. */
  #change(colours: Map<string, string>, isSudden: boolean): void {
    const { columns, rows } = this.#grid!;
    const count = columns * rows;
    const now = performance.now();
    for (let at = 0; at < count; at += 1) {
      const { content, layer, done } = this.#picture?.summary(...rangeOf(at, count, this.#picture.size)) ?? NOTHING;
      const colour = colours.get(colourOf(content, layer)) ?? 'gray';
      const to = {
        opacity: opacityOf(content) * (this.#isAside(at, count) ? ASIDE : 1),
        side: WAITING + (1 - WAITING) * done,
      };
      const cell = this.#cells[at];
      const isHollow = content === 'lost';
      if (!cell) this.#cells[at] = { colour, isHollow, shown: to, from: to, to, since: 0 };
      else if (cell.to.opacity !== to.opacity || cell.to.side !== to.side || cell.colour !== colour)
        this.#cells[at] = {
          colour,
          isHollow,
          shown: cell.shown,
          from: isSudden ? to : cell.shown,
          to,
          since: isSudden ? 0 : now,
        };
    }
  }

  #isAside(at: number, count: number): boolean {
    if (!this.lookedAt || !this.#picture) return false;
    const [start, end] = rangeOf(at, count, this.#picture.size);
    return end <= this.lookedAt[0] || start >= this.lookedAt[1];
  }

  /** Draws the cells that change, until none changes any more. */
  #draw(context: CanvasRenderingContext2D): void {
    cancelAnimationFrame(this.#frame);
    const grid = this.#grid!;
    const { columns, pitch, gap } = grid;
    const radius = Math.round(RADIUS * devicePixelRatio);
    const now = performance.now();
    let isMoving = false;
    for (const [at, cell] of this.#cells.entries()) {
      if (cell.since === undefined) continue;
      const share = Math.min(1, (now - cell.since) / FADE);
      cell.shown = between(cell.from, cell.to, share);
      if (share === 1) cell.since = undefined;
      else isMoving = true;
      const column = at % columns;
      const [x, y] = [leftOf(column, grid), Math.floor(at / columns) * pitch];
      const [width, height] = [leftOf(column + 1, grid) - gap - x, pitch - gap];
      context.clearRect(x, y, width, height);
      const [left, top] = [width, height].map((side) => Math.round((side * (1 - cell.shown.side)) / 2)) as [
        number,
        number,
      ];
      context.globalAlpha = cell.shown.opacity;
      context.fillStyle = cell.colour;
      context.beginPath();
      context.roundRect(x + left, y + top, width - 2 * left, height - 2 * top, radius);
      context.fill();
      if (cell.isHollow) context.clearRect(x + width / 3, y + height / 3, width / 3, height / 3);
    }
    if (isMoving) this.#frame = requestAnimationFrame(() => this.#draw(context));
  }
}

const NOTHING = { content: 'unknown', layer: 0, done: 1 } as const;

/** The colours of the legend. */
function coloursOf(figure: HTMLElement): Map<string, string> {
  const swatches = [...figure.querySelectorAll<HTMLElement>('[data-colour]')];
  return new Map(swatches.map((swatch) => [swatch.dataset.colour!, getComputedStyle(swatch).backgroundColor]));
}
