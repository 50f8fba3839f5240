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
    --decant-radius: 1rem;
    --decant-padding: clamp(1rem, 4vw, 2rem);
    --decant-warning: light-dark(#fff4dc, #3a2f14);
    display: block;
    position: relative;
    color: var(--decant-ink);
    font: 1rem/1.5 system-ui, 'DejaVu Sans', sans-serif;
  }
  :host([hidden]) { display: none; }
  * { box-sizing: border-box; }
  header { margin-bottom: 1.5rem; }
  h1 { margin: 0; font-size: 1.75rem; letter-spacing: -0.02em; color: var(--decant-accent); }
  header p { margin: 0.25rem 0 0; color: var(--decant-quiet); }
  h2 { margin: 0 0 0.75rem; font-size: 1.25rem; overflow-wrap: anywhere; outline: none; }
  p { margin: 0.5rem 0; overflow-wrap: anywhere; }
  .card {
    background: var(--decant-card);
    border: 1px solid var(--decant-line);
    border-radius: var(--decant-radius);
    padding: var(--decant-padding);
    box-shadow: 0 1px 3px rgb(0 0 0 / 8%);
  }
  .drop {
    display: flex;
    flex-direction: column;
    align-items: center;
    gap: 0.75rem;
    padding: clamp(1rem, 6vw, 3rem) 0.5rem;
    border: 2px dashed var(--decant-edge);
    border-radius: calc(var(--decant-radius) * 0.75);
    text-align: center;
  }
  .drop h2, .drop p { margin: 0; }
  .drop > p { color: var(--decant-quiet); }
  svg { width: 4rem; fill: none; stroke: var(--decant-accent); stroke-width: 2.5; stroke-linejoin: round; }
  svg .fill { fill: var(--decant-accent); stroke: none; opacity: 0.35; }
  button {
    display: inline-block;
    min-height: 2.75rem;
    padding: 0.5rem 1.25rem;
    border: 1px solid var(--decant-edge);
    border-radius: calc(var(--decant-radius) * 0.6);
    background: transparent;
    color: inherit;
    font: inherit;
    cursor: pointer;
  }
  button:hover { border-color: var(--decant-accent); }
  .primary { background: var(--decant-accent); border-color: var(--decant-accent); color: var(--decant-on-accent); font-weight: 600; }
  button:disabled, button[aria-disabled='true'] { opacity: 0.5; cursor: default; }
  .link { border-color: transparent; color: var(--decant-accent); text-decoration: underline; text-underline-offset: 0.2em; }
  :focus-visible { outline: 3px solid var(--decant-accent); outline-offset: 2px; }
  h2:focus-visible, h3:focus-visible { outline: none; }
  .actions { display: flex; flex-wrap: wrap; gap: 0.5rem; margin-top: 1.25rem; }
  /* Where colours are forced, a link has a border. */
  @media not (forced-colors: active) {
    .actions .link:only-child { padding-inline: 0; }
  }
  dl { margin: 0 0 1rem; }
  dl div { display: grid; grid-template-columns: minmax(6rem, 9rem) 1fr; gap: 0.25rem 1rem; padding: 0.35rem 0; border-bottom: 1px solid var(--decant-line); }
  dl div:last-child { border-bottom: 0; }
  dt, .quiet { color: var(--decant-quiet); }
  dd { margin: 0; overflow-wrap: anywhere; }
  fieldset { margin: 0; padding: 0; border: 0; display: grid; gap: 0.5rem; }
  legend { padding: 0 0 0.5rem; font-weight: 600; }
  .choice { display: flex; align-items: start; gap: 0.75rem; padding: 0.75rem 1rem; border: 1px solid var(--decant-edge); border-radius: calc(var(--decant-radius) * 0.75); cursor: pointer; }
  .choice:has(:checked) { border-color: var(--decant-accent); background: var(--decant-soft); }
  .choice:has(:disabled) { cursor: default; }
  .choice input { flex: none; margin: 0.3rem 0 0; accent-color: var(--decant-accent); }
  .choice em { font-style: normal; font-size: 0.85rem; color: var(--decant-accent); }
  .tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(8.5rem, 1fr)); gap: 0.5rem; }
  .tile { position: relative; display: grid; align-items: center; min-height: 2.75rem; padding: 0.4rem 0.75rem; border: 1px solid var(--decant-edge); border-radius: calc(var(--decant-radius) * 0.6); background: var(--decant-card); color: inherit; font: inherit; cursor: pointer; }
  .tile input { position: absolute; inset: 0; width: 100%; height: 100%; margin: 0; opacity: 0; cursor: inherit; }
  .tile:has(:checked) { border-color: var(--decant-accent); background: var(--decant-soft); box-shadow: inset 0 0 0 1px var(--decant-accent); font-weight: 600; }
  .tile:has(:disabled) { opacity: 0.5; cursor: default; }
  .tile:has(:focus-visible) { outline: 3px solid var(--decant-accent); outline-offset: 2px; }
  @media (forced-colors: active) { .tile:has(:checked) { border-width: 3px; } }
  input.tile { width: 100%; min-width: 0; padding-inline-end: 0; cursor: text; }
  .line { display: flex; align-items: center; gap: 0.5rem 1rem; margin: 1rem 0; }
  .line p { flex: 1; min-height: 3rem; margin: 0; align-content: center; }
  .line button { flex: none; }
  .folder { display: flex; flex-wrap: wrap; align-items: center; gap: 0 0.5rem; margin: 0 0 0 1rem; }
  progress { width: 100%; height: 0.75rem; accent-color: var(--decant-accent); }
  .numbers { display: flex; flex-wrap: wrap; gap: 0.25rem 1.5rem; min-height: 1.5rem; font-variant-numeric: tabular-nums; }
  .numbers strong { min-width: 4ch; }
  .link-form { width: 100%; max-width: 30rem; margin: 0.5rem 0 0; text-align: start; }
  .drop .link-form .field { margin: 0; }
  .drop details { width: 100%; max-width: 30rem; margin: 0; }
  .drop summary { color: var(--decant-accent); text-align: center; }
  .help { margin: 0.75rem 0 0; font-size: 0.9rem; }
  .contents h3 { margin: 0.5rem 0; font-size: 1rem; }
  .contents ul { margin: 0; padding-inline-start: 1.25rem; }
  .contents li { overflow-wrap: anywhere; }
  .picture { margin: 1rem 0; }
  .picture canvas { display: block; }
  .picture div { position: relative; }
  .picture .part { position: absolute; inset-inline-end: 0; max-width: 100%; padding: 0 0.4rem; border-radius: 0.25rem; overflow: hidden; white-space: nowrap; text-overflow: ellipsis; background: color-mix(in srgb, var(--decant-card) 85%, transparent); font-size: 0.8rem; line-height: 1.2; }
  .picture figcaption { display: flex; flex-wrap: wrap; gap: 0.15rem 1rem; margin-top: 0.35rem; font-size: 0.85rem; color: var(--decant-quiet); }
  figcaption span { display: inline-flex; align-items: center; gap: 0.4rem; overflow-wrap: anywhere; }
  .swatch { flex: none; width: 0.75rem; height: 0.75rem; border-radius: 2px; forced-color-adjust: none; }
  .layer-0 { background: var(--decant-accent); }
  .layer-1 { background: light-dark(#3f6fb0, #8db8f0); }
  .layer-2 { background: light-dark(#8a5aa8, #cfa6ea); }
  .compressed { border: 0.25rem solid var(--decant-quiet); }
  .empty { background: var(--decant-line); }
  .lost { background: var(--decant-bad); }
  .hint { min-height: 3rem; }
  .with-button { display: flex; flex-wrap: wrap; align-items: end; gap: 0.5rem; margin-bottom: 0.75rem; }
  .with-button p { flex-basis: 100%; margin: 0; }
  .with-button .field { flex: 1 1 14rem; min-width: 0; margin: 0.75rem 0 0; }
  .asking { margin: 1rem 0 0; padding: 0.75rem 1rem 1rem; border: 2px solid var(--decant-accent); border-radius: calc(var(--decant-radius) * 0.75); }
  .asking h3 { margin: 0; font-size: 1rem; overflow-wrap: anywhere; outline: none; }
  .asking .actions { margin-top: 0.75rem; }
  .next { margin: 1rem 0; padding: 0.75rem 1rem 1rem; border: 1px solid var(--decant-accent); border-radius: calc(var(--decant-radius) * 0.75); }
  .next h3 { margin: 0; font-size: 1rem; }
  .next .actions { margin-top: 0.5rem; }
  .news { padding: 0.6rem 0.9rem; border: 1px solid var(--decant-line); border-radius: calc(var(--decant-radius) * 0.6); overflow-wrap: anywhere; }
  .queue { margin-top: 1.5rem; }
  .queue h2 { margin: 0 0 0.5rem; font-size: 1rem; }
  .queue ol { margin: 0; padding: 0; list-style: none; border-top: 1px solid var(--decant-line); }
  .queue li { display: flex; flex-wrap: wrap; align-items: center; gap: 0.25rem 1rem; min-height: 3rem; padding: 0.35rem 0; border-bottom: 1px solid var(--decant-line); overflow-wrap: anywhere; }
  .queue li[aria-current] .name { font-weight: 600; }
  .queue .item-actions { display: flex; gap: 0.5rem; margin-inline-start: auto; }
  :host([whole-window]) .over { position: fixed; }
  .over {
    position: absolute;
    inset: 0.5rem;
    display: grid;
    place-items: center;
    padding: 1rem;
    border: 3px dashed var(--decant-accent);
    border-radius: var(--decant-radius);
    background: color-mix(in srgb, var(--decant-soft) 92%, transparent);
    text-align: center;
    pointer-events: none;
  }
  .over p { font-size: 1.25rem; font-weight: 600; }
  details { margin: 0.5rem 0; }
  summary { padding: 0.5rem 0; cursor: pointer; }
  .field { display: grid; gap: 0.25rem; margin: 0.75rem 0; }
  .field + .quiet { margin: -0.5rem 0 0.75rem; }
  .field > span { color: var(--decant-quiet); }
  .field input, select {
    min-height: 2.75rem;
    width: 100%;
    padding: 0.5rem 0.75rem;
    border: 1px solid var(--decant-edge);
    border-radius: calc(var(--decant-radius) * 0.6);
    background: var(--decant-card);
    color: inherit;
    font: inherit;
  }
  select { text-overflow: ellipsis; }
  ::placeholder { color: var(--decant-quiet); opacity: 1; }
  input[aria-invalid] { border: 2px solid var(--decant-bad); }
  .check { display: flex; gap: 0.5rem; align-items: baseline; }
  .name { overflow-wrap: anywhere; }
  pre { max-height: 14rem; margin: 0.5rem 0 0; padding: 0.75rem; overflow: auto; border: 1px solid var(--decant-line); border-radius: calc(var(--decant-radius) * 0.6); white-space: pre-wrap; }
  ul.notice { margin: 0.75rem 0; padding-inline-start: 2rem; }
  /* The border shows where colours are forced, and backgrounds are not. */
  .notice { padding: 0.6rem 0.9rem; border: 1px solid transparent; border-radius: calc(var(--decant-radius) * 0.6); background: var(--decant-warning); }
  .good { color: var(--decant-accent); font-weight: 600; }
  .bad { color: var(--decant-bad); }
  .unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
  @media (max-width: 26rem) {
    dl div { grid-template-columns: 1fr; gap: 0; }
    .actions button, .line button { width: 100%; }
    .line { flex-wrap: wrap; }
    .line p { flex-basis: 100%; }
  }
`;
