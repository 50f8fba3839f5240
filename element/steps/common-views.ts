// What several steps show.

import { html, nothing } from 'lit';
import { noticeView } from '../texts/sentences.js';
import type { Controls } from './controls.js';

/** The heading of a step, which takes the focus. `by` is the ID of its description. */
export const heading = (text: string, by?: string) =>
  html`<h2 tabindex="-1" data-focus aria-describedby=${by ?? nothing}>${text}</h2>`;

/** A notice about the server that keeps the session waiting, if any. */
export const waitingView = ({ waiting, texts }: Controls) => waiting && noticeView(texts.waiting(waiting));

/** A row without a value is left out. */
export const facts = (rows: [string, string | undefined][]) => html`
  <dl class="more">${rows.map(([name, value]) => (value ? html`<div><dt>${name}</dt><dd>${value}</dd></div>` : nothing))}</dl>
`;
