// Joins messages of the package and of the page to the element's texts.

import { html, type TemplateResult } from 'lit';

/** A part in English, between Unicode isolates. Names cannot contain isolates, since names are escaped. */
const ISOLATED = /\u2066([^\u2069]*)\u2069/;

/** Marks `text` as English inside a text in another language. */
export const inEnglish = (text: string): string => `\u2066${text}\u2069`;

/** Splits a text into parts. Every second part is marked as English. */
export const partsOf = (text: string): string[] => text.split(ISOLATED);

/** Adds a full stop to `message`, unless it ends with a mark. */
export const sentence = (message: string): string => (/[.!?]$/.test(message) ? message : `${message}.`);

/** Removes the full stop of `reason`, which follows a colon. */
export const clause = (reason: string): string => reason.replace(/\.$/, '');

export const spoken = (text: string): (string | TemplateResult)[] =>
  partsOf(text).map((part, at) => (at % 2 === 1 ? html`<bdi lang="en">${part}</bdi>` : part));

export const noticeView = (text: string): TemplateResult => html`<p class="notice" part="notice">${spoken(text)}</p>`;
