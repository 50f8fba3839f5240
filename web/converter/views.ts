// What each step of a session looks like.

import type { LostRange, Snapshot } from 'decant';
import { html, nothing, type TemplateResult } from 'lit';
import { ref } from 'lit/directives/ref.js';
import type { Choice } from './choices.js';
import type { Session, State, Step } from './session.js';
import { texts } from './texts.js';
import { size } from './units.js';

export const heading = (text: string) => html`<h2 tabindex="-1" data-focus>${text}</h2>`;

/** Rows of name and value; a row without a value is left out. */
const facts = (rows: [string, string | undefined][]) => html`
  <dl>${rows.map(([name, value]) => (value ? html`<div><dt>${name}</dt><dd>${value}</dd></div>` : nothing))}</dl>
`;

/** What a screen reader is told: the step, and a conversion's progress in tenths. */
export function announcement(state: State): string {
  switch (state.step) {
    case 'converting': {
      const { phase } = state.progress;
      if (phase !== 'converting') return texts.phase[phase];
      return texts.converted(Math.floor(state.share * 10) * 10);
    }
    case 'done':
      return texts.done;
    case 'failed':
      return state.cancelled ? texts.cancelled : state.message;
    case 'opening':
      return texts.opening(state.name);
    case 'unlocking':
      return texts.unlocking(state.name);
    case 'needs':
      return state.notice ?? texts.needs;
    case 'empty':
      return state.notice ?? '';
    default:
      return '';
  }
}

export function openingView({ name }: Step<'opening'>, session: Session): TemplateResult {
  return html`
    ${heading(texts.opening(name))}
    <progress aria-label=${texts.opening(name)}></progress>
    <div class="actions"><button @click=${() => session.reset()}>${texts.cancel}</button></div>
  `;
}

export function whichView({ files }: Step<'which'>, session: Session): TemplateResult {
  return html`
    ${heading(texts.whichFile)}
    <p>${texts.whichFileHint}</p>
    <ul class="files">
      ${files.map(
        (file) =>
          html`<li><button @click=${() =>
            session.openFile(
              file,
              files.filter((other) => other !== file),
            )}><span>${file.name}</span> <span class="quiet">${size(file.size)}</span></button></li>`,
      )}
    </ul>
    <button class="link" @click=${() => session.reset()}>${texts.another}</button>
  `;
}

export function readyView(state: Step<'ready'>, session: Session): TemplateResult {
  const { info } = state.image;
  const { survey } = state;
  const notices = [
    ...info.safety.map(({ message }) => `${message}.`),
    info.unusedCompanions.length > 0 ? texts.unused(info.unusedCompanions) : undefined,
    session.isSalvage ? texts.salvaging(survey.lost) : undefined,
    state.otherTab ? texts.otherTab : undefined,
  ].filter((notice) => notice !== undefined);
  return html`
    ${heading(info.name ?? texts.image)}
    ${facts([
      [texts.format, texts.formatValue(info)],
      [texts.virtualSize, size(info.virtualSize)],
      [texts.fileSize, size(info.fileSize)],
      [texts.data, survey.complete ? texts.dataValue(survey.data, survey.compressed) : texts.dataCounting(survey.data)],
      [texts.layers, info.layers.length > 1 ? info.layers.map(({ name }) => name).join(', ') : undefined],
      [texts.encryption, info.encryption ? texts.encryptionValue(info.encryption) : undefined],
    ])}
    ${info.snapshots.length > 0 ? snapshotPicker(info.snapshots, session) : nothing}
    ${notices.length > 0 ? html`<ul class="notice">${notices.map((notice) => html`<li>${notice}</li>`)}</ul>` : nothing}
    <fieldset>
      <legend>${texts.saveHow}</legend>
      ${state.choices.map((choice) => choiceView(choice, state, session))}
    </fieldset>
    <div class="actions">
      <button class="primary" ?disabled=${!state.way} @click=${() => session.convert()}>${texts.convert}</button>
      <button class="link" @click=${() => session.reset()}>${texts.another}</button>
    </div>
  `;
}

function snapshotPicker(snapshots: Snapshot[], session: Session): TemplateResult {
  const pick = (event: Event) => {
    const { value } = event.target as HTMLSelectElement;
    const at = value === '' ? undefined : snapshots[Number(value)]?.id;
    void session.pickSnapshot(at);
  };
  const chosen = session.snapshot;
  return html`
    <label class="field">
      <span>${texts.snapshot}</span>
      <select @change=${pick}>
        <option value="" ?selected=${chosen === undefined}>${texts.activeDisk}</option>
        ${snapshots.map((snapshot, at) => html`<option value=${at} ?selected=${chosen === snapshot.id}>${texts.snapshotValue(snapshot)}</option>`)}
      </select>
    </label>
  `;
}

function choiceView(choice: Choice, state: Step<'ready'>, session: Session): TemplateResult {
  const { way, obstacle, seconds } = choice;
  const cost = way === 'picked' ? texts.pickedCost(seconds) : texts.downloadCost(seconds, state.image.info.virtualSize);
  const others = state.choices.filter((other) => other !== choice && !other.obstacle);
  const better =
    seconds !== undefined && !obstacle && others.length > 0 && others.every((other) => seconds < (other.seconds ?? 0));
  return html`
    <label class="choice">
      <input
        type="radio"
        name="way"
        value=${way}
        .checked=${state.way === way}
        ?disabled=${obstacle !== undefined}
        @change=${() => session.select(way)}
      />
      <span>
        <strong>${texts[way]}</strong>${better ? html` <em>${texts.better}</em>` : nothing}<br />
        <span class="quiet">${obstacle ?? cost}</span>
      </span>
    </label>
  `;
}

/** A bar that only tells time stops short of its end. */
const ALMOST = 0.97;

export function convertingView(state: Step<'converting'>, session: Session): TemplateResult {
  const { progress, share, secondsLeft, finishing, cancelling } = state;
  const { phase, guestDone, guestTotal, bytesPerSecond } = progress;
  const title = cancelling ? texts.cancelling : texts.phase[phase];
  const details =
    phase === 'converting'
      ? [
          texts.ofDisk(guestDone, guestTotal),
          bytesPerSecond > 0 ? texts.speed(bytesPerSecond) : undefined,
          secondsLeft === undefined ? undefined : texts.left(secondsLeft),
        ]
      : [];
  return html`
    ${heading(title)}
    ${phase === 'finalizing' ? finishingBar(finishing, state.finishingSince, title) : html`<progress aria-label=${title} max="1" .value=${share}></progress>`}
    <p class="details">${details.filter(Boolean).map((detail) => html`<span>${detail}</span>`)}</p>
    ${phase === 'finalizing' && state.way === 'picked' ? html`<p>${texts.finishing(finishing)}</p>` : nothing}
    ${cancelling && phase === 'finalizing' ? html`<p class="notice">${texts.cancelWaits}</p>` : nothing}
    <p class="quiet">${texts.keepOpen}</p>
    <div class="actions"><button ?disabled=${cancelling} @click=${() => session.cancel()}>${texts.cancel}</button></div>
  `;
}

/** The browser tells nothing while it finishes, so the bar runs by the estimate, in CSS. */
function finishingBar(estimate: number | undefined, since: number, label: string): TemplateResult {
  if (!estimate) return html`<progress aria-label=${label}></progress>`;
  const elapsed = (performance.now() - since) / 1000;
  // Not by a style attribute, which a strict policy forbids.
  const run = (element: Element | undefined) => {
    const style = (element as HTMLElement | undefined)?.style;
    style?.setProperty('animation-duration', `${estimate}s`);
    style?.setProperty('animation-delay', `-${elapsed}s`);
    style?.setProperty('--end', `${ALMOST * 100}%`);
  };
  return html`<div class="bar" role="progressbar" aria-label=${label}><div ${ref(run)}></div></div>`;
}

export function doneView({ result, way, name, seconds }: Step<'done'>, session: Session): TemplateResult {
  return html`
    ${heading(result.lost.length > 0 ? texts.doneDamaged : texts.done)}
    <p class="good">${way === 'picked' ? texts.savedPicked(name) : texts.savedDownload(name)}</p>
    ${facts([
      [texts.facts.disk, size(result.virtualSize)],
      [texts.facts.written, texts.writtenValue(result, way === 'picked')],
      [texts.facts.time, texts.timeValue(seconds, result.bytesWritten)],
      [texts.facts.engine, texts.engineValue(result)],
    ])}
    ${result.lost.length > 0 ? lostView(result.lost) : nothing}
    ${crossOriginIsolated ? nothing : html`<p class="quiet">${texts.notIsolated}</p>`}
    <div class="actions"><button class="primary" @click=${() => session.reset()}>${texts.convertAnother}</button></div>
  `;
}

/** Every range that could not be read. */
function lostView(lost: LostRange[]): TemplateResult {
  const bytes = lost.reduce((sum, { length }) => sum + length, 0);
  return html`
    <p class="bad">${texts.lost(bytes, lost.length)}</p>
    <details>
      <summary>${texts.lostList}</summary>
      <pre tabindex="0">${lost.map(texts.lostRange).join('\n')}</pre>
    </details>
  `;
}

export function failedView(state: Step<'failed'>, session: Session): TemplateResult {
  return html`
    ${heading(state.cancelled ? texts.cancelled : texts.failed)}
    ${state.cancelled ? nothing : html`<p class="bad">${state.message}.</p>`}
    <div class="actions">
      ${state.offerRaw ? html`<button class="primary" @click=${() => session.retry({ format: 'raw' })}>${texts.readAsRaw}</button>` : nothing}
      ${state.offerSalvage ? html`<button @click=${() => session.retry({ salvage: true })}>${texts.salvage}</button>` : nothing}
      ${state.offerRaw ? nothing : html`<button class="primary" @click=${() => session.retry()}>${texts.again}</button>`}
      <button class="link" @click=${() => session.reset()}>${texts.another}</button>
    </div>
  `;
}
