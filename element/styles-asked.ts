// The styles of what loads on demand: the component adopts them with it.

import { css } from 'lit';

export const askedStyles = css`
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
  .next .actions { margin-top: calc(var(--decant-space) * 0.5); }
  .queue { margin-top: calc(var(--decant-space) * 1.5); }
  .queue h2 { margin: 0 0 calc(var(--decant-space) * 0.5); font-size: 1em; }
  .queue ol { margin: 0; padding: 0; list-style: none; border-top: 1px solid var(--decant-line); }
  .queue li { display: flex; flex-wrap: wrap; align-items: center; gap: calc(var(--decant-space) * 0.25) var(--decant-space); min-height: 3em; padding: calc(var(--decant-space) * 0.35) 0; border-bottom: 1px solid var(--decant-line); overflow-wrap: anywhere; }
  .queue li[aria-current] .name { font-weight: var(--decant-weight); }
  .queue .item-actions { display: flex; gap: calc(var(--decant-space) * 0.5); margin-inline-start: auto; }
  .queue li:has(> .bad) { display: grid; grid-template-columns: 1fr auto; }
  .queue .bad { grid-column: 1 / -1; }
  .queue .bad + .item-actions { grid-area: 1 / 2; }
  .check { display: flex; gap: calc(var(--decant-space) * 0.5); align-items: baseline; }
  pre { font-family: var(--decant-font-command); font-size: inherit; max-height: 14em; margin: calc(var(--decant-space) * 0.5) 0 0; padding: calc(var(--decant-space) * 0.75); overflow: auto; border: 1px solid var(--decant-line); border-radius: var(--decant-radius-control); white-space: pre-wrap; overflow-wrap: anywhere; }
  @container decant (max-width: 26em) {
    dl div { grid-template-columns: 1fr; gap: 0; }
    .queue li { display: grid; grid-template-columns: 1fr auto; }
    .queue .name + span { grid-row: 2; }
    .queue .quiet + .item-actions { grid-area: 1 / 2 / 3; }
    .queue button { padding-inline: calc(var(--decant-space) * 0.5); }
  }
`;
