// The bottle of the logo.

import { html, type TemplateResult } from 'lit';

/** Where the liquid has these places, in units of the drawing. */
const [BOTTOM, SHOULDER, NECK, TOP] = [37, 24, 14, 8];
/** How full it is on the first screen. */
const USUAL = 0.28;

/** The outline of the liquid in a bottle that is full to `share`: 0 to 1. */
export function liquid(share: number): string {
  const y = Math.round(BOTTOM - share * (BOTTOM - TOP));
  const x = y >= SHOULDER ? 12 : Math.min(12 + (SHOULDER - y) * 0.6, 18);
  const [right, left] = y < SHOULDER ? [`L36 ${SHOULDER}`, `V${SHOULDER}`] : ['', ''];
  const [rightNeck, leftNeck] = y < NECK ? [`V${NECK}`, `L18 ${NECK}`] : ['', ''];
  return `M${x} ${y}H${48 - x}${rightNeck}${right}V${BOTTOM}a3 3 0 0 1-3 3H15a3 3 0 0 1-3-3${left}${leftNeck}z`;
}

export const bottle = (share = USUAL): TemplateResult => html`
  <svg class="more" viewBox="0 0 48 48" aria-hidden="true">
    <path d="M16 6h16v8l6 9v14a5 5 0 0 1-5 5H15a5 5 0 0 1-5-5V23l6-9z" />
    <path class="fill" d=${liquid(share)} />
  </svg>
`;
