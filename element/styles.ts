// The component's styles: light and dark, wide and narrow.

import { css } from 'lit';

export const styles = css`
  :host {
    --decant-ink: light-dark(#1c2423, #e6ebe9);
    --decant-quiet: light-dark(#55615f, #a3b0ad);
    --decant-card: light-dark(#ffffff, #1d2326);
    --decant-line: light-dark(#d5dbd8, #37423f);
    --decant-edge: light-dark(#76827f, #80908c);
    --decant-accent: light-dark(#0b6b63, #6fd6c6);
    --decant-on-accent: light-dark(#ffffff, #06302c);
    --decant-soft: light-dark(#e6f2f0, #17332f);
    --decant-bad: light-dark(#a3231c, #ff9d94);
    --decant-warning: light-dark(#fff4dc, #3a2f14);
    --decant-layer-2: light-dark(#3f6fb0, #8db8f0);
    --decant-layer-3: light-dark(#8a5aa8, #cfa6ea);
    --decant-shadow: 0 1px 3px rgb(0 0 0 / 8%);
    --decant-radius: 1rem;
    --decant-radius-box: calc(var(--decant-radius) * 0.75);
    --decant-radius-control: calc(var(--decant-radius) * 0.6);
    --decant-radius-mark: calc(var(--decant-radius) * 0.2);
    --decant-space: 1rem;
    --decant-padding: clamp(0.75rem, 5cqi, 2rem);
    --decant-control: 2.75rem;
    --decant-font: system-ui, 'DejaVu Sans', sans-serif;
    --decant-font-command: monospace;
    --decant-size: 1rem;
    --decant-size-title: 1.75em;
    --decant-size-heading: 1.25em;
    --decant-size-small: 0.85em;
    --decant-line-height: 1.5;
    --decant-weight: 600;
    display: block;
    position: relative;
    color: var(--decant-ink);
    font: var(--decant-size)/var(--decant-line-height) var(--decant-font);
  }
  :host([hidden]) { display: none; }
  * { box-sizing: border-box; }
  /* Styles depend on the width of the element, not of the window. */
  .element { container: decant / inline-size; }
  /* The width in a box that has none: as wide as two words far apart, which may wrap. */
  :host::before { content: '. .'; display: block; height: 0; overflow: hidden; visibility: hidden; word-spacing: 36em; }
  header { margin-bottom: calc(var(--decant-space) * 1.5); }
  h1 { margin: 0; font-size: var(--decant-size-title); letter-spacing: -0.02em; color: var(--decant-accent); }
  header p { margin: calc(var(--decant-space) * 0.25) 0 0; color: var(--decant-quiet); }
  h2 { margin: 0 0 calc(var(--decant-space) * 0.75); font-size: var(--decant-size-heading); overflow-wrap: anywhere; outline: none; }
  p { margin: calc(var(--decant-space) * 0.5) 0; overflow-wrap: anywhere; }
  .card {
    background: var(--decant-card);
    border: 1px solid var(--decant-line);
    border-radius: var(--decant-radius);
    padding: var(--decant-padding);
    box-shadow: var(--decant-shadow);
  }
  .drop {
    display: flex;
    flex-direction: column;
    align-items: center;
    gap: calc(var(--decant-space) * 0.5);
    padding: clamp(calc(var(--decant-space) * 0.5), 3cqi, calc(var(--decant-space) * 1.5)) calc(var(--decant-space) * 0.5);
    border: 2px dashed var(--decant-edge);
    border-radius: var(--decant-radius-box);
    text-align: center;
  }
  .drop h2, .drop p { margin: 0; }
  .drop > p { color: var(--decant-quiet); font-size: var(--decant-size-small); }
  svg { width: 4em; fill: none; stroke: var(--decant-accent); stroke-width: 2.5; stroke-linejoin: round; }
  .working { display: flex; align-items: center; gap: calc(var(--decant-space) * 0.75); margin-bottom: calc(var(--decant-space) * 0.75); }
  .working h2 { margin: 0; }
  .working svg { flex: none; width: 2.5em; }
  svg .fill { fill: var(--decant-accent); stroke: none; opacity: 0.35; }
  button {
    display: inline-block;
    min-height: var(--decant-control);
    padding: calc(var(--decant-space) * 0.5) calc(var(--decant-space) * 1.25);
    border: 1px solid var(--decant-edge);
    border-radius: var(--decant-radius-control);
    background: transparent;
    color: inherit;
    font: inherit;
    cursor: pointer;
  }
  button:hover { border-color: var(--decant-accent); }
  .primary { background: var(--decant-accent); border-color: var(--decant-accent); color: var(--decant-on-accent); font-weight: var(--decant-weight); }
  button:disabled, button[aria-disabled='true'] { opacity: 0.5; cursor: default; }
  .link { border-color: transparent; color: var(--decant-accent); text-decoration: underline; text-underline-offset: 0.2em; }
  :focus-visible { outline: 3px solid var(--decant-accent); outline-offset: 2px; }
  h2:focus-visible, h3:focus-visible { outline: none; }
  .actions { display: flex; flex-wrap: wrap; gap: calc(var(--decant-space) * 0.5); margin-top: calc(var(--decant-space) * 1.25); }
  /* Where colours are forced, a link has a border. */
  @media not (forced-colors: active) {
    .actions .link:only-child { padding-inline: 0; }
    /* The browsers' own bars differ: in Firefox, the rest of a dark one is white. */
    progress[value] { appearance: none; border: 0; border-radius: var(--decant-radius-mark); overflow: hidden; background: var(--decant-line); }
    ::-webkit-progress-bar { background: none; }
    ::-webkit-progress-value { background: var(--decant-accent); }
    progress[value]::-moz-progress-bar { background: var(--decant-accent); }
  }
  dt, .quiet { color: var(--decant-quiet); }
  a { color: var(--decant-accent); }
  fieldset { margin: 0; padding: 0; border: 0; display: grid; gap: calc(var(--decant-space) * 0.5); }
  legend { padding: 0 0 calc(var(--decant-space) * 0.5); font-weight: var(--decant-weight); }
  .tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(8em, 1fr)); gap: calc(var(--decant-space) * 0.5); }
  .tile { position: relative; display: grid; align-items: center; min-height: var(--decant-control); padding: calc(var(--decant-space) * 0.4) calc(var(--decant-space) * 0.75); border: 1px solid var(--decant-edge); border-radius: var(--decant-radius-control); background: var(--decant-card); color: inherit; font: inherit; cursor: pointer; }
  .tile input { position: absolute; inset: 0; width: 100%; height: 100%; margin: 0; opacity: 0; cursor: inherit; }
  .tile:has(:checked) { border-color: var(--decant-accent); background: var(--decant-soft); box-shadow: inset 0 0 0 1px var(--decant-accent); font-weight: var(--decant-weight); }
  .tile:has(:disabled) { opacity: 0.5; cursor: default; }
  .tile:has(:focus-visible) { outline: 3px solid var(--decant-accent); outline-offset: 2px; }
  @media (forced-colors: active) {
    .tile:has(:checked) { border-width: 3px; }
    /* Visible also where it is not converted yet. */
    .swatch.empty { background: color-mix(in srgb, CanvasText 50%, Canvas); }
  }
  input.tile { width: 100%; min-width: 0; padding-inline-end: 0; cursor: text; }
  .line { display: flex; flex-wrap: wrap; align-items: center; justify-content: flex-end; gap: calc(var(--decant-space) * 0.5) var(--decant-space); margin: var(--decant-space) 0; }
  .line p { flex: 1 1 12em; min-height: 3em; margin: 0; align-content: center; }
  .line button { flex: none; }
  progress { width: 100%; height: 0.75em; accent-color: var(--decant-accent); }
  .numbers { display: flex; flex-wrap: wrap; gap: calc(var(--decant-space) * 0.25) calc(var(--decant-space) * 1.5); min-height: 1.5em; font-variant-numeric: tabular-nums; }
  .numbers strong { min-width: 4ch; }
  .drop details { width: 100%; max-width: 30em; margin: 0; }
  .drop summary { color: var(--decant-accent); text-align: center; }
  .help { margin: calc(var(--decant-space) * 0.75) 0 0; font-size: var(--decant-size-small); }
  .picture { margin: var(--decant-space) 0; }
  .picture canvas { display: block; }
  .picture div { position: relative; }
  .picture .part { position: absolute; inset-inline-end: 0; max-width: 100%; padding: 0 calc(var(--decant-space) * 0.4); border-radius: var(--decant-radius-mark); overflow: hidden; white-space: nowrap; text-overflow: ellipsis; background: color-mix(in srgb, var(--decant-card) 85%, transparent); font-size: var(--decant-size-small); line-height: 1.2; }
  .picture figcaption { display: flex; flex-wrap: wrap; gap: calc(var(--decant-space) * 0.15) var(--decant-space); margin-top: calc(var(--decant-space) * 0.35); font-size: var(--decant-size-small); color: var(--decant-quiet); }
  figcaption span { display: inline-flex; align-items: center; gap: calc(var(--decant-space) * 0.4); overflow-wrap: anywhere; }
  .swatch { flex: none; width: 0.75em; height: 0.75em; border-radius: var(--decant-radius-mark); forced-color-adjust: none; }
  .layer-0 { background: var(--decant-accent); }
  .layer-1 { background: var(--decant-layer-2); }
  .layer-2 { background: var(--decant-layer-3); }
  .compressed { border: calc(var(--decant-space) * 0.25) solid var(--decant-quiet); }
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
  summary { padding: calc(var(--decant-space) * 0.5) 0; cursor: pointer; }
  .field { display: grid; gap: calc(var(--decant-space) * 0.25); margin: calc(var(--decant-space) * 0.75) 0; }
  .field + .quiet { margin: calc(var(--decant-space) * -0.5) 0 calc(var(--decant-space) * 0.75); }
  .field > span { color: var(--decant-quiet); }
  .field input, select {
    min-height: var(--decant-control);
    width: 100%;
    padding: calc(var(--decant-space) * 0.5) calc(var(--decant-space) * 0.75);
    border: 1px solid var(--decant-edge);
    border-radius: var(--decant-radius-control);
    background: var(--decant-card);
    color: inherit;
    font: inherit;
  }
  select { text-overflow: ellipsis; }
  ::placeholder { color: var(--decant-quiet); opacity: 1; }
  input[aria-invalid] { border: 2px solid var(--decant-bad); }
  .name { overflow-wrap: anywhere; }
  ul.notice { margin: calc(var(--decant-space) * 0.75) 0; padding-inline-start: calc(var(--decant-space) * 2); }
  /* The border shows where colours are forced, and backgrounds are not. */
  .notice { padding: calc(var(--decant-space) * 0.6) calc(var(--decant-space) * 0.9); border: 1px solid transparent; border-radius: var(--decant-radius-control); background: var(--decant-warning); }
  .good { color: var(--decant-accent); font-weight: var(--decant-weight); }
  .bad { color: var(--decant-bad); }
  dl { margin: 0 0 var(--decant-space); }
  dl div { display: grid; grid-template-columns: minmax(6em, 9em) 1fr; gap: calc(var(--decant-space) * 0.25) var(--decant-space); padding: calc(var(--decant-space) * 0.35) 0; border-bottom: 1px solid var(--decant-line); }
  dl div:last-child { border-bottom: 0; }
  dd { margin: 0; overflow-wrap: anywhere; }
  .choice { display: flex; align-items: start; gap: calc(var(--decant-space) * 0.75); padding: calc(var(--decant-space) * 0.75) var(--decant-space); border: 1px solid var(--decant-edge); border-radius: var(--decant-radius-box); cursor: pointer; }
  .choice:has(:checked) { border-color: var(--decant-accent); background: var(--decant-soft); }
  .choice:has(:disabled) { cursor: default; }
  .choice input { flex: none; margin: calc(var(--decant-space) * 0.3) 0 0; accent-color: var(--decant-accent); }
  .choice em { font-style: normal; font-size: var(--decant-size-small); color: var(--decant-accent); }
  .folder { display: flex; flex-wrap: wrap; align-items: center; gap: 0 calc(var(--decant-space) * 0.5); margin: 0 0 0 var(--decant-space); }
  .left { display: grid; gap: calc(var(--decant-space) * 0.5); width: 100%; margin: var(--decant-space) 0 0; padding: 0; list-style: none; text-align: start; }
  .left li { display: flex; flex-wrap: wrap; align-items: center; justify-content: end; gap: calc(var(--decant-space) * 0.5); overflow-wrap: anywhere; }
  .left span { flex: 1 1 calc(var(--decant-space) * 14); }
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
  .next { margin: var(--decant-space) 0; padding: calc(var(--decant-space) * 0.75) var(--decant-space) var(--decant-space); border: 1px solid var(--decant-accent); border-radius: var(--decant-radius-box); }
  .next h3 { margin: 0; font-size: 1em; }
  .next legend { color: var(--decant-quiet); font-weight: inherit; }
  .next .field { margin: 0 0 calc(var(--decant-space) * 0.5); }
  .values { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 14em), 1fr)); gap: 0 calc(var(--decant-space) * 0.75); }
  .next .actions { margin-top: calc(var(--decant-space) * 0.5); }
  .queue { margin-top: calc(var(--decant-space) * 1.5); }
  .queue h2 { margin: 0 0 calc(var(--decant-space) * 0.5); font-size: 1em; }
  .queue ol { margin: 0; padding: 0; list-style: none; border-top: 1px solid var(--decant-line); }
  .queue li { display: flex; flex-wrap: wrap; align-items: center; gap: calc(var(--decant-space) * 0.25) var(--decant-space); min-height: 3em; padding: calc(var(--decant-space) * 0.35) 0; border-bottom: 1px solid var(--decant-line); overflow-wrap: anywhere; }
  .queue li[aria-current] .name { font-weight: var(--decant-weight); }
  .queue .item-actions { display: flex; gap: calc(var(--decant-space) * 0.5); margin-inline-start: auto; }
  .queue li:has(> .bad) { display: grid; grid-template-columns: 1fr auto; }
  .queue :is(.bad, .notice) { grid-column: 1 / -1; }
  .queue .notice { flex-basis: 100%; margin: 0; }
  .queue .bad + .item-actions { grid-area: 1 / 2; }
  .check { display: flex; gap: calc(var(--decant-space) * 0.5); align-items: baseline; }
  pre { font-family: var(--decant-font-command); font-size: inherit; max-height: 14em; margin: calc(var(--decant-space) * 0.5) 0 0; padding: calc(var(--decant-space) * 0.75); overflow: auto; border: 1px solid var(--decant-line); border-radius: var(--decant-radius-control); white-space: pre-wrap; overflow-wrap: anywhere; }
  .unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
  :host([compact]) .more { display: none; }
  /* The page around it has a frame. */
  :host([compact]) .card { padding: 0; border: 0; background: none; box-shadow: none; }
  :host([compact]) h2 { margin-bottom: calc(var(--decant-space) * 0.25); font-size: 1em; }
  :host([compact]) .drop { flex-flow: row wrap; justify-content: space-between; padding: calc(var(--decant-space) * 0.5); }
  :host([compact]) :is(.line, .picture, .actions) { margin: calc(var(--decant-space) * 0.5) 0 0; }
  :host([compact]) .actions { margin-top: calc(var(--decant-space) * 0.25); }
  :host([compact]) .hint { min-height: 0; }
  @container decant (max-width: 26em) {
    .actions button, .line button { width: 100%; }
    .line p { flex-basis: 100%; }
    dl div { grid-template-columns: 1fr; gap: 0; }
    .queue li { display: grid; grid-template-columns: 1fr auto; }
    .queue .name + span { grid-row: 2; }
    .queue .quiet + .item-actions { grid-area: 1 / 2 / 3; }
    .queue button { padding-inline: calc(var(--decant-space) * 0.5); }
  }
`;
