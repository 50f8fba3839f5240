// Texts with their English parts marked, so that a screen reader changes its voice.

import { html, type TemplateResult } from 'lit';
import { partsOf } from './texts/sentences.js';

export const spoken = (text: string): (string | TemplateResult)[] =>
  partsOf(text).map((part, at) => (at % 2 === 1 ? html`<bdi lang="en">${part}</bdi>` : part));

export const noticeView = (text: string): TemplateResult => html`<p class="notice" part="notice">${spoken(text)}</p>`;
