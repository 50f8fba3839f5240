// Draws curves side by side, as an SVG. The axes begin at 0, so that a cost that grows evenly is a straight line.

const WIDTH = 260;
const HEIGHT = 210;
const COLUMNS = 3;
const LEFT = 48;
const BOTTOM = 40;
const TOP = 30;
const RIGHT = 16;

/** The marks of an axis from 0 to a round number that no value exceeds. */
function marks(values) {
  const most = Math.max(...values);
  const unit = 10 ** Math.floor(Math.log10(most));
  const end = [1, 2, 4, 10].map((factor) => factor * unit).find((each) => each >= most);
  return [0, end / 2, end];
}

/** Maps the values of `axis` to positions from `start` to `end`. */
const scale = (axis, start, end) => (value) => (start + (value / axis.at(-1)) * (end - start)).toFixed(1);

const short = (value) => String(Number(value.toPrecision(3)));

function panel({ title, x, y, points }, number) {
  const [left, top] = [(number % COLUMNS) * WIDTH, Math.floor(number / COLUMNS) * HEIGHT];
  const [across, up] = [marks(points.map(([value]) => value)), marks(points.map(([, cost]) => cost))];
  const toX = scale(across, LEFT, WIDTH - RIGHT);
  const toY = scale(up, HEIGHT - BOTTOM, TOP);
  const positions = points.map(([value, cost]) => [toX(value), toY(cost), value, cost]);
  const rows = up.map(
    (value) =>
      `<path class="grid" d="M${LEFT} ${toY(value)}H${WIDTH - RIGHT}"/><text class="y" x="${LEFT - 6}" y="${toY(value)}">${short(value)}</text>`,
  );
  const columns = across.map(
    (value) => `<text class="x" x="${toX(value)}" y="${HEIGHT - BOTTOM + 14}">${short(value)}</text>`,
  );
  const dots = positions.map(
    ([px, py, value, cost]) =>
      `<circle cx="${px}" cy="${py}" r="3"><title>${short(value)} ${x}: ${short(cost)} ${y}</title></circle>`,
  );
  return `<g transform="translate(${left} ${top})">
<text class="title" x="${LEFT}" y="16">${title}</text>
${rows.join('\n')}
${columns.join('\n')}
<text class="x" x="${(LEFT + WIDTH - RIGHT) / 2}" y="${HEIGHT - BOTTOM + 30}">${x}</text>
<text class="name" x="${LEFT - 6}" y="${TOP - 8}">${y}</text>
<path class="curve" d="M${positions.map(([px, py]) => `${px} ${py}`).join('L')}"/>
${dots.join('\n')}
</g>`;
}

/** Returns the text of an SVG with a panel for each of `curves`: `{ title, x, y, points: [x, y][] }`. */
export function growthPicture(curves) {
  const [width, height] = [COLUMNS * WIDTH, Math.ceil(curves.length / COLUMNS) * HEIGHT];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="Cost of a conversion">
<style>
svg { background: #fff; font: 11px system-ui, sans-serif; fill: #333; }
.title { font-weight: 600; }
.x { text-anchor: middle; }
.y { text-anchor: end; dominant-baseline: middle; }
.name { text-anchor: end; }
.grid { stroke: #ddd; }
.curve { fill: none; stroke: #0b6b63; stroke-width: 2; }
circle { fill: #0b6b63; }
</style>
${curves.map(panel).join('\n')}
</svg>
`;
}
