// Views that several steps share.

import { shownText } from 'decant';
import { html, nothing, type TemplateResult } from 'lit';
import { ref } from 'lit/directives/ref.js';
import { partsOf } from '../texts/wording.js';
import type { Controls } from './controls.js';
import { cutInMiddle } from './heading.js';

/** The most characters of the name of a file that are shown: at most two lines in a narrow window. */
const MOST_OF_NAME = 60;

/** The name of a file: a long one is cut in its middle, and whole in a tip. */
export function nameView(name: string): TemplateResult {
  const whole = shownText(name);
  const cut = cutInMiddle(whole, MOST_OF_NAME);
  if (cut === whole) return html`<span class="name">${whole}</span>`;
  return html`<span class="name" title=${whole}><span aria-hidden="true">${cut}</span><span class="unseen">${whole}</span></span>`;
}

/** Text with its English parts marked, so that a screen reader changes its voice. */
export const spoken = (text: string): (string | TemplateResult)[] =>
  partsOf(text).map((part, at) => (at % 2 === 1 ? html`<bdi lang="en">${part}</bdi>` : part));

export const noticeView = (text: string): TemplateResult => html`<p class="notice" part="notice">${spoken(text)}</p>`;

/** A link to a page of documentation, if there is one. */
export const pageLink = (page: unknown): TemplateResult | typeof nothing =>
  typeof page === 'string' ? html`<a href=${page} target="_blank" rel="noreferrer">${new URL(page).host}</a>` : nothing;

/** A notice about the server that keeps the session waiting, if any. */
export const waitingView = ({ waiting, texts }: Controls) => waiting && noticeView(texts.waiting(waiting));

/** A button; `label` is for screen readers. */
export const button = (
  text: string,
  click: (event: Event) => void,
  style: '' | 'primary' | 'link' = '',
  label = text,
): TemplateResult =>
  html`<button class=${style} part=${`button ${style}`} type="button" aria-label=${label === text ? nothing : label} @click=${click}>${text}</button>`;

/** A button that copies `text`, and then says so. `label` is for screen readers. */
export function copyButton(text: string, controls: Controls, name: string, label = name): TemplateResult {
  const { copied, texts } = controls;
  const copy = () => controls.copy(text);
  return copied === text ? button(texts.copyDone, copy) : button(name, copy, '', label);
}

/** Scrolls what the person has opened into sight, once it is rendered. */
export const openedInSight = ref((element) => {
  requestAnimationFrame(() => element?.scrollIntoView({ block: 'nearest' }));
});

/** The button that leads from all disks of a machine back to the single ones. */
export const separateButton = (controls: Controls) =>
  controls.isTogether
    ? html`<button part="button" type="button" aria-disabled=${controls.isBusy ? 'true' : nothing} @click=${() => controls.separateDisks()}>${controls.texts.separateDisks}</button>`
    : nothing;

/** A row without a value is left out. */
export const facts = (rows: [string, string | undefined][]) => html`
  <dl class="more">${rows.map(([name, value]) => (value ? html`<div><dt>${name}</dt><dd>${value}</dd></div>` : nothing))}</dl>
`;

/**
 * A button that chooses files by `choose`, which calls its `fallback` in a browser without a dialog for files: then a hidden `<input>`
 * passes them to `take`. `label` is for screen readers.
 */
export function fileButton(
  text: string,
  style: '' | 'primary',
  isMultiple: boolean,
  choose: (fallback: () => void) => void,
  take: (files: File[]) => void,
  label = text,
): TemplateResult {
  const clicked = (event: Event) => {
    const input = (event.currentTarget as HTMLElement).nextElementSibling as HTMLInputElement;
    choose(() => input.click());
  };
  const chosen = (event: Event) => {
    const input = event.target as HTMLInputElement;
    take([...(input.files ?? [])]);
    input.value = '';
  };
  return html`
    ${button(text, clicked, style, label)}
    <input hidden type="file" ?multiple=${isMultiple} aria-label=${label} @change=${chosen} />
  `;
}

/** Heights in the bottle of the logo, in units of its drawing. */
const [BOTTOM, SHOULDER, NECK, TOP] = [37, 24, 14, 8];
/** How full the bottle is on the first screen: more while files are dragged over it. */
export const LEVELS = { usual: 0.28, dragging: 0.85 };

/** The outline of the liquid in a bottle that is full to `share`: 0 to 1. */
export function liquid(share: number): string {
  const y = Math.round(BOTTOM - share * (BOTTOM - TOP));
  const x = y >= SHOULDER ? 12 : Math.min(12 + (SHOULDER - y) * 0.6, 18);
  const [right, left] = y < SHOULDER ? [`L36 ${SHOULDER}`, `V${SHOULDER}`] : ['', ''];
  const [rightNeck, leftNeck] = y < NECK ? [`V${NECK}`, `L18 ${NECK}`] : ['', ''];
  return `M${x} ${y}H${48 - x}${rightNeck}${right}V${BOTTOM}a3 3 0 0 1-3 3H15a3 3 0 0 1-3-3${left}${leftNeck}z`;
}

/** The bottle of the logo, full to `share`. */
export const bottle = (share: number): TemplateResult => html`
  <svg class="bottle more" viewBox="0 0 48 48" aria-hidden="true">
    <path d="M16 6h16v8l6 9v14a5 5 0 0 1-5 5H15a5 5 0 0 1-5-5V23l6-9z" />
    <path class="fill" d=${liquid(share)} />
  </svg>
`;
