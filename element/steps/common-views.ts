// What several steps show.

import { html, nothing, type TemplateResult } from 'lit';
import { partsOf } from '../texts/sentences.js';
import type { Controls } from './controls.js';

/** Text with its English parts marked, so that a screen reader changes its voice. */
export const spoken = (text: string): (string | TemplateResult)[] =>
  partsOf(text).map((part, at) => (at % 2 === 1 ? html`<bdi lang="en">${part}</bdi>` : part));

export const noticeView = (text: string): TemplateResult => html`<p class="notice" part="notice">${spoken(text)}</p>`;

/** The heading of a step, which takes the focus. `by` is the ID of its description. */
export const heading = (text: string, by?: string) =>
  html`<h2 tabindex="-1" data-focus aria-describedby=${by ?? nothing}>${text}</h2>`;

/** A notice about the server that keeps the session waiting, if any. */
export const waitingView = ({ waiting, texts }: Controls) => waiting && noticeView(texts.waiting(waiting));

/** A row without a value is left out. */
export const facts = (rows: [string, string | undefined][]) => html`
  <dl class="more">${rows.map(([name, value]) => (value ? html`<div><dt>${name}</dt><dd>${value}</dd></div>` : nothing))}</dl>
`;
