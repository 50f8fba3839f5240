// The component's styles: light and dark, wide and narrow.

import { css } from 'lit';

export const styles = css`
  :host {
    --decant-ink: light-dark(#1c2423, #e6ebe9);
    --decant-quiet: light-dark(#55615f, #a3b0ad);
    --decant-card: light-dark(#ffffff, #20282b);
    --decant-line: light-dark(#dbe1de, #364144);
    --decant-edge: light-dark(#76827f, #80908c);
    --decant-accent: light-dark(#0b6b63, #6fd6c6);
    --decant-on-accent: light-dark(#ffffff, #06302c);
    --decant-soft: light-dark(#e6f2f0, #17332f);
    --decant-bad: light-dark(#a3231c, #ff9d94);
    --decant-warning: light-dark(#fff4dc, #3a2f14);
    --decant-data: color-mix(in srgb, var(--decant-accent) 80%, light-dark(#000000, #ffffff));
    --decant-layer-2: light-dark(#2f66b8, #7fb0f5);
    --decant-layer-3: light-dark(#8a48a6, #c893ea);
    --decant-shadow: 0 1px 3px rgb(0 0 0 / 8%);
    --decant-radius: 1rem;
    --decant-radius-box: calc(var(--decant-radius) * 0.75);
    --decant-radius-control: calc(var(--decant-radius) * 0.6);
    --decant-radius-mark: calc(var(--decant-radius) * 0.2);
    --decant-space: 1rem;
    --decant-padding: clamp(0.75rem, 7cqi - 1.25rem, 2rem);
    --decant-control: 2.5rem;
    --decant-drop: clamp(16rem, 40vh, 32rem);
    --decant-font: ui-sans-serif, system-ui, 'DejaVu Sans', sans-serif;
    --decant-font-command: ui-monospace, monospace;
    --decant-size: 0.9375rem;
    --decant-size-title: clamp(1.6em, 8cqi, 2.4em);
    --decant-size-heading: 1.4667em;
    --decant-size-small: 0.8667em;
    --decant-line-height: 1.6;
    --decant-line-height-heading: 1.3;
    --decant-weight: 650;
    --decant-weight-button: 500;
    display: flex;
    flex-direction: column;
    position: relative;
    color: var(--decant-ink);
    font: var(--decant-size)/var(--decant-line-height) var(--decant-font);
    text-wrap: pretty;
  }
  :host([hidden]) { display: none; }
  * { box-sizing: border-box; }
  /* Styles depend on the width of the element, not of the window. */
  .element { container: decant / inline-size; flex: 1; display: flex; flex-direction: column; }
  /* The drop area takes the height that the page gives the element. */
  .first { flex: 1 0 auto; }
  .first .drop { flex: 1; }
  .first { display: flex; }
  /* The width in a box that has none: as wide as two words far apart, which may wrap. */
  :host::before { content: '. .'; display: block; height: 0; overflow: hidden; visibility: hidden; word-spacing: 36em; }
  header { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 calc(var(--decant-space) * 0.75); margin-bottom: var(--decant-space); }
  h1 { margin: 0; font-size: var(--decant-size-heading); font-weight: var(--decant-weight); letter-spacing: -0.02em; color: var(--decant-accent); }
  header p { margin: 0; color: var(--decant-quiet); }
  h2 { margin: 0; font-size: var(--decant-size-heading); font-weight: var(--decant-weight); line-height: var(--decant-line-height-heading); overflow-wrap: anywhere; outline: none; }
  h3 { font-weight: var(--decant-weight); }
  .head { display: flex; align-items: center; min-height: calc(var(--decant-control) * 0.9); margin-bottom: calc(var(--decant-space) * 0.5); }
  .head h2 { display: flex; align-items: center; gap: calc(var(--decant-space) * 0.5); }
  .head .long { font-size: 1em; }
  p { margin: calc(var(--decant-space) * 0.5) 0; overflow-wrap: anywhere; }
  h2, h3, legend, button, .tile, .drop > p, .help { text-wrap: balance; }
  .card {
    background: var(--decant-card);
    border: 1px solid var(--decant-line);
    border-radius: var(--decant-radius);
    padding: var(--decant-padding);
    box-shadow: var(--decant-shadow);
  }
  .first { padding: 0; border: 0; background: none; box-shadow: none; }
  .drop {
    display: flex;
    flex-direction: column;
    align-items: center;
    justify-content: center;
    gap: calc(var(--decant-space) * 0.75);
    width: 100%;
    min-height: var(--decant-drop);
    padding: var(--decant-padding);
    border: 2px dashed var(--decant-edge);
    border-radius: var(--decant-radius);
    background: var(--decant-card);
    text-align: center;
  }
  .dragging { border-color: var(--decant-accent); background: var(--decant-soft); }
  .drop h2 { font-size: var(--decant-size-title); line-height: 1.2; letter-spacing: -0.02em; hyphens: auto; }
  .drop > p { margin: 0; color: var(--decant-quiet); }
  svg { flex: none; fill: none; stroke: currentcolor; stroke-linecap: round; stroke-linejoin: round; }
  .bottle { width: 96px; stroke: var(--decant-accent); stroke-width: 1.75; }
  .bottle .fill { fill: var(--decant-accent); stroke: none; opacity: 0.35; }
  @media (prefers-reduced-motion: no-preference) {
    .bottle .fill { transition: d 300ms ease-out; }
  }
  .tick { width: 1.5em; stroke: var(--decant-accent); stroke-width: 2; }
  .icon { width: 1.5em; stroke-width: 1.5; }
  .links { display: flex; flex-wrap: wrap; justify-content: center; gap: 0 calc(var(--decant-space) * 1.5); }
  button {
    display: inline-block;
    min-height: var(--decant-control);
    padding: calc(var(--decant-space) * 0.5) calc(var(--decant-space) * 1.25);
    border: 1px solid var(--decant-edge);
    border-radius: var(--decant-radius-control);
    background: transparent;
    color: inherit;
    font: inherit;
    font-weight: var(--decant-weight-button);
    cursor: pointer;
  }
  button:hover { border-color: var(--decant-accent); }
  .primary { background: var(--decant-accent); border-color: var(--decant-accent); color: var(--decant-on-accent); font-weight: var(--decant-weight); }
  .first .primary { padding-inline: calc(var(--decant-space) * 2); }
  button:disabled, button[aria-disabled='true'] { opacity: 0.7; cursor: default; }
  .primary:hover { background: color-mix(in srgb, var(--decant-accent) 88%, var(--decant-ink)); }
  :is(.tile, .choice):not(:has(:disabled)):hover { border-color: var(--decant-accent); }
  summary:hover { color: var(--decant-accent); }
  .link { color: var(--decant-accent); text-decoration: underline; text-underline-offset: 0.2em; }
  button.link { border-color: transparent; }
  :focus-visible { outline: 3px solid var(--decant-accent); outline-offset: 2px; }
  h2:focus-visible, h3:focus-visible { outline: none; }
  .actions { display: flex; flex-wrap: wrap; gap: calc(var(--decant-space) * 0.5); margin-top: calc(var(--decant-space) * 1.25); }
  /* Where colours are forced, a link has a border. */
  @media not (forced-colors: active) {
    button.link { border-inline-width: 0; }
    .actions .link:only-child, .more > .link { padding-inline: 0; }
  }
  dt, .quiet { color: var(--decant-quiet); }
  a { color: var(--decant-accent); }
  fieldset { margin: calc(var(--decant-space) * 0.5) 0 0; padding: 0; border: 0; display: grid; gap: calc(var(--decant-space) * 0.5); }
  .list { display: grid; gap: calc(var(--decant-space) * 0.5); }
  legend { padding: 0 0 calc(var(--decant-space) * 0.5); font-weight: var(--decant-weight); }
  .tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(8em, 1fr)); grid-auto-rows: 1fr; gap: calc(var(--decant-space) * 0.5); }
  .tile { position: relative; display: grid; grid-template-columns: auto 1fr; align-items: center; gap: 0 calc(var(--decant-space) * 0.5); min-height: calc(var(--decant-control) * 1.3); padding: calc(var(--decant-space) * 0.4) calc(var(--decant-space) * 0.6); border: 1px solid var(--decant-edge); border-radius: var(--decant-radius-control); background: var(--decant-card); color: inherit; font: inherit; text-align: start; line-height: var(--decant-line-height-heading); align-content: center; overflow-wrap: anywhere; cursor: pointer; }
  .tile .icon { grid-row: span 2; color: var(--decant-quiet); }
  .tile:has(:checked) .icon { color: var(--decant-accent); }
  .tile .quiet { font-size: var(--decant-size-small); }
  .tile:not(:has(.icon)) { grid-template-columns: 1fr; }
  button.tile { grid-template-columns: 1fr; text-align: center; }
  button.tile[aria-expanded='true'] { background: var(--decant-soft); }
  .tile input { position: absolute; inset: 0; width: 100%; height: 100%; margin: 0; opacity: 0; cursor: inherit; }
  .tile:has(:checked) { border-color: var(--decant-accent); background: var(--decant-soft); box-shadow: inset 0 0 0 1px var(--decant-accent); }
  .tile:has(:checked) .icon + span { font-weight: var(--decant-weight); }
  .tile:has(:disabled) { border-style: dashed; background: none; color: var(--decant-quiet); cursor: default; }
  .tile:has(:focus-visible) { outline: 3px solid var(--decant-accent); outline-offset: 2px; }
  .made { margin: var(--decant-space) 0 0; }
  .made p { margin: 0; }
  .made strong { font-weight: var(--decant-weight); }
  .made button { min-height: 0; margin-block: calc(var(--decant-space) * -0.25); padding: calc(var(--decant-space) * 0.25) 0; border: 0; }
  /* The main button stays in sight while the choices above it are long. */
  .line { position: sticky; bottom: 0; display: flex; flex-wrap: wrap; gap: calc(var(--decant-space) * 0.5); margin: calc(var(--decant-space) * 0.5) 0; padding: calc(var(--decant-space) * 0.25) 0; background: var(--decant-card); }
  .line button { flex: 1 1 0; }
  .line::before { content: ''; position: absolute; inset: auto 0 100%; height: 1em; background: linear-gradient(transparent, var(--decant-card)); pointer-events: none; }
  /* A question has its own button. */
  .asking ~ .line { position: static; }
  .asking ~ .line::before { content: none; }
  /* The browsers' own bars differ: in Firefox, the rest of a dark one is white. */
  progress { display: block; width: 100%; accent-color: var(--decant-accent); }
  progress { appearance: none; border: 0; overflow: hidden; forced-color-adjust: none; }
  ::-webkit-progress-bar { background: none; }
  ::-webkit-progress-value { background: var(--decant-accent); }
  progress[value]::-moz-progress-bar { background: var(--decant-accent); }
  /* The progress is unknown. */
  progress:not([value])::-moz-progress-bar { background: none; }
  progress.edge:not([value]) { background: linear-gradient(var(--decant-accent) 0 0) 50% 0 / 30% 100% no-repeat var(--decant-line); }
  @media (prefers-reduced-motion: no-preference) {
    progress.edge:not([value]) { animation: under-way 1.2s ease-in-out infinite alternate; }
  }
  @keyframes under-way {
    from { background-position-x: 0; }
    to { background-position-x: 100%; }
  }
  .numbers { display: flex; flex-wrap: wrap; gap: calc(var(--decant-space) * 0.25) calc(var(--decant-space) * 1.5); min-height: calc(var(--decant-line-height) * 1em); font-variant-numeric: tabular-nums; }
  .numbers strong { min-width: 3ch; }
  .drop details { max-width: 44em; margin: 0; color: var(--decant-quiet); font-size: var(--decant-size-small); }
  .drop summary { min-height: 2em; text-align: center; }
  .help { margin: calc(var(--decant-space) * 0.75) 0 0; text-align: center; font-size: var(--decant-size-small); }
  .badge { margin: 0 0 var(--decant-space); }
  .badge span { white-space: nowrap; }
  .badge i { margin-inline: calc(var(--decant-space) * 0.4); font-style: normal; }
  .badge[open] summary { margin-bottom: calc(var(--decant-space) * 0.5); }
  .badge summary { display: inline-block; min-height: 0; padding: calc(var(--decant-space) * 0.25) var(--decant-space); line-height: var(--decant-line-height-heading); border: 1px solid var(--decant-line); border-radius: var(--decant-radius); background: var(--decant-card); }
  .picture { margin: 0; }
  .below { padding-top: var(--decant-space); }
  .below > :first-child { margin-top: 0; }
  /* The button that stays in sight does not cover what has the focus. */
  .below :is(input, select, summary, button) { scroll-margin-bottom: calc(var(--decant-space) * 5); }
  .below .choice input { scroll-margin-bottom: calc(var(--decant-space) * 10); }
  .opened { scroll-margin-bottom: calc(var(--decant-space) * 5); }
  .tiles + .opened { display: grid; gap: calc(var(--decant-space) * 0.5); }
  .lane { position: relative; height: 1.75em; margin-bottom: calc(var(--decant-space) * 0.5); font-size: var(--decant-size-small); }
  .part { position: absolute; height: 100%; overflow: hidden; border-inline-end: 2px solid var(--decant-card); }
  .part:last-child { border-inline-end: 0; }
  .part span { display: block; height: 100%; padding-inline: calc(var(--decant-space) * 0.4); border-bottom: 2px solid var(--decant-edge); border-radius: var(--decant-radius-mark); background: var(--decant-soft); overflow: hidden; white-space: nowrap; text-overflow: ellipsis; align-content: center; }
  .cells { position: relative; height: 174px; }
  .picture canvas { display: block; width: 100%; }
  .tip { position: absolute; z-index: 1; max-width: 100%; padding: calc(var(--decant-space) * 0.25) calc(var(--decant-space) * 0.5); border-radius: var(--decant-radius-mark); background: var(--decant-ink); color: var(--decant-card); font-size: var(--decant-size-small); pointer-events: none; }
  .edge { height: 6px; margin-top: calc(var(--decant-space) * 0.125); border-radius: var(--decant-radius-mark); background: var(--decant-line); }
  .edge.full { background: var(--decant-accent); }
  .picture figcaption { display: flex; flex-wrap: wrap; gap: calc(var(--decant-space) * 0.15) var(--decant-space); margin-top: calc(var(--decant-space) * 0.35); font-size: var(--decant-size-small); color: var(--decant-quiet); }
  figcaption.unknown { visibility: hidden; }
  figcaption span { display: inline-flex; align-items: center; gap: calc(var(--decant-space) * 0.4); overflow-wrap: anywhere; }
  .swatch { flex: none; width: 0.75em; height: 0.75em; border-radius: var(--decant-radius-mark); forced-color-adjust: none; }
  .layer-0 { background: var(--decant-data); }
  .layer-1 { background: var(--decant-layer-2); }
  .layer-2 { background: var(--decant-layer-3); }
  .compressed { background: color-mix(in srgb, var(--decant-data) 85%, var(--decant-card)); }
  .empty { background: var(--decant-line); }
  .lost { background: var(--decant-bad); }
  .hint { min-height: 3em; }
  .news { padding: calc(var(--decant-space) * 0.6) calc(var(--decant-space) * 0.9); border: 1px solid var(--decant-line); border-radius: var(--decant-radius-control); overflow-wrap: anywhere; }
  :host([whole-window]) .over { position: fixed; }
  .over {
    position: absolute;
    inset: calc(var(--decant-space) * 0.5);
    display: grid;
    place-items: center;
    padding: var(--decant-space);
    border: 3px dashed var(--decant-accent);
    border-radius: var(--decant-radius);
    background: color-mix(in srgb, var(--decant-soft) 92%, transparent);
    text-align: center;
    pointer-events: none;
  }
  .over p { font-size: var(--decant-size-heading); font-weight: var(--decant-weight); }
  details { margin: calc(var(--decant-space) * 0.5) 0; }
  summary { width: fit-content; min-height: var(--decant-control); align-content: center; border-radius: var(--decant-radius-mark); cursor: pointer; }
  .field { display: grid; gap: calc(var(--decant-space) * 0.25); margin: calc(var(--decant-space) * 0.75) 0; }
  .field + :is(.quiet, .bad) { margin: calc(var(--decant-space) * -0.5) 0 calc(var(--decant-space) * 0.75); }
  .field > span { color: var(--decant-quiet); }
  .field input, [type='search'], select {
    min-height: var(--decant-control);
    width: 100%;
    padding: calc(var(--decant-space) * 0.5) calc(var(--decant-space) * 0.75);
    border: 1px solid var(--decant-edge);
    border-radius: var(--decant-radius-control);
    background: var(--decant-card);
    color: inherit;
    font: inherit;
  }
  select { padding-inline: calc(var(--decant-space) * 0.5) calc(var(--decant-space) * 0.75); text-overflow: ellipsis; }
  ::placeholder { color: var(--decant-quiet); opacity: 1; }
  input[aria-invalid] { border: 2px solid var(--decant-bad); }
  .name { overflow-wrap: anywhere; }
  ul.notice { margin: calc(var(--decant-space) * 0.75) 0; padding-inline-start: calc(var(--decant-space) * 2); }
  ul.notice:has(> :only-child) { padding-inline-start: calc(var(--decant-space) * 0.9); list-style: none; }
  /* The border shows where colours are forced, and backgrounds are not. */
  .notice { padding: calc(var(--decant-space) * 0.6) calc(var(--decant-space) * 0.9); border: 1px solid transparent; border-radius: var(--decant-radius-control); background: var(--decant-warning); }
  .good { color: var(--decant-accent); font-weight: var(--decant-weight); }
  .bad { color: var(--decant-bad); }
  dl { margin: 0 0 var(--decant-space); }
  dl div { display: grid; grid-template-columns: minmax(6em, 10.5em) 1fr; gap: calc(var(--decant-space) * 0.25) var(--decant-space); padding: calc(var(--decant-space) * 0.35) 0; border-bottom: 1px solid var(--decant-line); }
  dl div:last-child { border-bottom: 0; }
  dd { margin: 0; overflow-wrap: anywhere; }
  .choice { display: flex; align-items: start; gap: calc(var(--decant-space) * 0.75); padding: calc(var(--decant-space) * 0.75) var(--decant-space); border: 1px solid var(--decant-edge); border-radius: var(--decant-radius-box); cursor: pointer; }
  .choice:has(:checked) { border-color: var(--decant-accent); background: var(--decant-soft); }
  .choice:has(:disabled) { cursor: default; }
  .choice input { flex: none; margin: calc(var(--decant-space) * 0.3) 0 0; accent-color: var(--decant-accent); }
  .choice em { font-style: normal; font-size: var(--decant-size-small); color: var(--decant-accent); }
  .folder { display: flex; flex-wrap: wrap; align-items: center; gap: 0 calc(var(--decant-space) * 0.5); margin: 0 0 0 var(--decant-space); }
  .left { display: grid; gap: calc(var(--decant-space) * 0.5); width: 100%; margin: var(--decant-space) 0 0; padding: 0; list-style: none; text-align: start; }
  .left-card progress { height: 6px; margin: calc(var(--decant-space) * 0.5) 0 0; border-radius: var(--decant-radius-mark); background: var(--decant-line); }
  .left-card .actions { margin-top: calc(var(--decant-space) * 0.5); }
  .link-form { width: 100%; max-width: 30em; margin: calc(var(--decant-space) * 0.5) 0 0; text-align: start; }
  .drop .link-form .field { margin: 0; }
  .contents h3 { margin: calc(var(--decant-space) * 0.5) 0; font-size: 1em; }
  .contents ul { margin: 0; padding-inline-start: calc(var(--decant-space) * 1.25); }
  .contents li { overflow-wrap: anywhere; }
  .with-button { display: flex; flex-wrap: wrap; align-items: end; gap: calc(var(--decant-space) * 0.5); margin-bottom: calc(var(--decant-space) * 0.75); }
  .with-button p { flex-basis: 100%; margin: 0; }
  .with-button .field { flex: 1 1 calc(var(--decant-space) * 14); min-width: 0; margin: calc(var(--decant-space) * 0.75) 0 0; }
  .asking { margin: var(--decant-space) 0 0; padding: calc(var(--decant-space) * 0.75) var(--decant-space) var(--decant-space); border: 2px solid var(--decant-accent); border-radius: var(--decant-radius-box); }
  .asking h3 { margin: 0; font-size: 1em; overflow-wrap: anywhere; outline: none; }
  .asking .actions { margin-top: calc(var(--decant-space) * 0.75); }
  .next { margin: var(--decant-space) 0; }
  .next h3 { margin: 0 0 calc(var(--decant-space) * 0.5); font-size: 1em; }
  .next ol { display: grid; gap: calc(var(--decant-space) * 0.5); margin: 0; padding: 0; list-style: none; counter-reset: command; }
  .next li:not(.comment) { display: grid; grid-template-columns: auto 1fr auto; align-items: start; gap: calc(var(--decant-space) * 0.5); padding: calc(var(--decant-space) * 0.25) calc(var(--decant-space) * 0.25) calc(var(--decant-space) * 0.25) calc(var(--decant-space) * 0.75); border: 1px solid var(--decant-line); border-radius: var(--decant-radius-control); counter-increment: command; }
  .next li:not(.comment)::before { content: counter(command); color: var(--decant-quiet); line-height: var(--decant-control); font-variant-numeric: tabular-nums; }
  .next button { min-width: 6.5em; padding-inline: calc(var(--decant-space) * 0.75); }
  .origin { grid-column: 2 / -1; font-size: var(--decant-size-small); }
  /* A word that is too long is scrolled to. */
  .word { white-space: nowrap; }
  code { min-width: 0; padding-block: calc(var(--decant-space) * 0.5); overflow-x: auto; font-family: var(--decant-font-command); font-size: var(--decant-size-small); }
  .value { max-width: 100%; padding: 0 calc(var(--decant-space) * 0.25); border: 1px solid var(--decant-accent); border-radius: var(--decant-radius-mark); background: var(--decant-soft); color: inherit; font: inherit; min-height: 24px; field-sizing: content; }
  .value::placeholder { color: var(--decant-accent); }
  .next .actions { margin-block: calc(var(--decant-space) * 0.5); }
  .narrow span { color: transparent; }
  .queue { margin-top: calc(var(--decant-space) * 1.5); }
  /* The card becomes higher with the choices: if they come soon, what it would move is not seen until then. */
  :host([whole-window]) .opening ~ :is(.queue, .news) { visibility: hidden; }
  details + .actions { margin-top: 0; }
  .queue .link { padding-inline: 0; }
  .queue h2 { margin: 0 0 calc(var(--decant-space) * 0.5); font-size: 1em; }
  .queue :is(ol, ul) { margin: 0; padding: 0; list-style: none; border-top: 1px solid var(--decant-line); }
  /* An image and its state have a line each, so that a row stays as high as it is when the state becomes longer. */
  .queue li { display: grid; grid-template-columns: 1fr auto auto; align-content: center; align-items: center; row-gap: calc(var(--decant-space) * 0.15); min-height: calc(var(--decant-control) * 1.35); padding: calc(var(--decant-space) * 0.35) 0; border-bottom: 1px solid var(--decant-line); overflow-wrap: anywhere; }
  .queue li > span { line-height: var(--decant-line-height-heading); }
  .queue .name + span { grid-row: 2; }
  .queue li[aria-current] .name { font-weight: var(--decant-weight); }
  .queue .item-actions { display: flex; gap: calc(var(--decant-space) * 0.5); grid-area: 1 / 3 / 3; margin-inline-start: var(--decant-space); }
  .queue .bad ~ .item-actions { grid-row: 1; }
  .result { grid-area: 1 / 2 / 3; margin: 0 0 0 var(--decant-space); }
  .result[open] { grid-row: auto; margin-inline-start: 0; }
  .queue :is(.bad, .notice, .result[open]) { grid-column: 1 / -1; }
  .queue .notice { margin: 0; }
  .background ul { display: grid; gap: calc(var(--decant-space) * 0.5); border: 0; }
  .background li { padding-inline: calc(var(--decant-space) * 0.75); border: 1px solid var(--decant-line); border-radius: var(--decant-radius-control); background: var(--decant-card); }
  .check { display: flex; gap: calc(var(--decant-space) * 0.5); align-items: baseline; }
  pre { font-family: var(--decant-font-command); font-size: inherit; max-height: 14em; margin: calc(var(--decant-space) * 0.5) 0 0; padding: calc(var(--decant-space) * 0.75); overflow: auto; border: 1px solid var(--decant-line); border-radius: var(--decant-radius-control); white-space: pre-wrap; overflow-wrap: anywhere; }
  .unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
  :host([compact]) .more { display: none; }
  /* The page around it has a frame. */
  :host([compact]) .card { padding: 0; border: 0; background: none; box-shadow: none; }
  :host([compact]) h2 { font-size: 1em; }
  :host([compact]) .head { min-height: 0; margin-bottom: calc(var(--decant-space) * 0.25); }
  :host([compact]) .drop { flex-flow: row wrap; justify-content: space-between; min-height: 0; padding: calc(var(--decant-space) * 0.5); }
  :host([compact]) .lane { display: none; }
  :host([compact]) .cells { height: 46px; }
  :host([compact]) :is(.line, .made) { position: static; margin: calc(var(--decant-space) * 0.25) 0 0; background: none; }
  :host([compact]) .line::before { content: none; }
  :host([compact]) .blank { display: none; }
  :host([compact]) .actions { margin-top: calc(var(--decant-space) * 0.25); }
  :host([compact]) .hint { min-height: 0; }
  :host([compact]) .below { padding-top: calc(var(--decant-space) * 0.25); }
  :host([compact]) .line { padding: 0; }
  :host([compact]) :is(.with-button, .with-button .field) { margin-block: calc(var(--decant-space) * 0.25) 0; }
  :host([compact]) .choice .quiet { font-size: var(--decant-size-small); }
  :host([compact]) .actions .link { min-height: 24px; padding-block: 0; }
  :host([compact]) .choice { padding: calc(var(--decant-space) * 0.25) calc(var(--decant-space) * 0.75); }
  :host([compact]) .choice br { display: none; }
  /* Lists scroll by themselves: the buttons stay. */
  :host([compact]) :is(.list, .queue ol) { max-height: 7em; overflow-y: auto; }
  :host([compact]) .queue ol { max-height: 3.6em; }
  :host([compact]) .queue { margin-top: calc(var(--decant-space) * 0.25); }
  :host([compact]) .queue h2 { display: none; }
  :host([compact]) .queue li { min-height: 0; padding-block: 0; }
  :host([compact]) .queue .item-actions { margin-inline-start: auto; }
  :host([compact]) .queue button { min-height: 24px; padding-block: 0; }
  :host([compact]) .card:has(~ .queue) .cells { height: 22px; }
  :host([compact]) .card:has(~ .queue) .good { display: none; }
  @container decant (min-width: 40em) {
    .cells { height: 178px; }
    .tile { grid-template-columns: 1fr; }
    label.tile { align-content: start; }
    .tile .icon { grid-row: auto; margin-bottom: calc(var(--decant-space) * 0.25); margin-inline-start: calc(var(--decant-space) * -0.2); }
  }
  @container decant (min-width: 26em) {
    :host([compact]) .queue li:not(:has(> .bad)) { display: flex; flex-wrap: wrap; column-gap: var(--decant-space); }
  }
  /* The badge is in the row of the title. */
  @container decant (min-width: 50em) {
    .top:has(header):has(.badge) { display: grid; }
    .top:has(.badge) header, .top:has(header) .badge { grid-area: 1 / 1; }
    header { justify-self: start; }
    .badge { margin-top: calc(var(--decant-space) * 0.25); text-align: end; }
  }
  @media (forced-colors: active) {
    /* A wider border would move its text. */
    .tile:has(:checked):not(:has(:focus-visible)) { outline: 3px solid; outline-offset: -3px; }
    .edge { height: 8px; border: 1px solid CanvasText; background: Canvas; forced-color-adjust: none; }
    .edge.full, ::-webkit-progress-value { background: Highlight; }
    progress[value]::-moz-progress-bar { background: Highlight; }
    /* Visible also where it is not converted yet, and far from compressed data. */
    .swatch.empty { background: color-mix(in srgb, CanvasText 13%, Canvas); }
  }
  @container decant (max-width: 26em) {
    /* Names of places fit in one line, also of the chosen one. */
    .tile { column-gap: calc(var(--decant-space) * 0.35); padding-inline: calc(var(--decant-space) * 0.45); }
    .actions button { width: 100%; }
    .line:has(:nth-child(3)) .primary { flex-basis: 100%; }
    .head { min-height: calc(var(--decant-size) * 1.4667 * 2.6); }
    .numbers { min-height: calc(var(--decant-line-height) * 2em + var(--decant-space) * 0.25); }
    .numbers span:last-child { flex-basis: 100%; }
    p.made:not([id]), .made p:has(button) { min-height: calc(var(--decant-line-height) * 2em); }
    .with-button button { flex: 1 0 auto; }
    .badge i { display: none; }
    .badge summary { display: flex; flex-wrap: wrap; justify-content: center; gap: 0 var(--decant-space); margin-inline: auto; }
    @media not (forced-colors: active) {
      .actions .link { padding-inline: 0; text-align: start; }
    }
    dl div { grid-template-columns: 1fr; gap: 0; }
    .next li:not(.comment) { grid-template-columns: auto 1fr; }
    .next li:not(.comment) { padding-inline: calc(var(--decant-space) * 0.5); }
    .next li button { grid-column: 2; justify-self: end; }
    .origin { order: 1; }
    .next li:has(.origin) button { order: 2; }
    .queue .name + span:has(~ .result) { grid-column: 1 / -1; }
    .result { grid-area: auto / 1; margin-inline-start: 0; }
    .result ~ .item-actions { grid-row: auto; }
    .queue button { padding-inline: calc(var(--decant-space) * 0.5); }
  }
`;
