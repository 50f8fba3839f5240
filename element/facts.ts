// Rows of a name and a value.

import { html, nothing } from 'lit';

/** A row without a value is left out. */
export const facts = (rows: [string, string | undefined][]) => html`
  <dl class="more">${rows.map(([name, value]) => (value ? html`<div><dt>${name}</dt><dd>${value}</dd></div>` : nothing))}</dl>
`;
