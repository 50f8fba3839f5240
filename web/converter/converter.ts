// The component: a drop zone, a description, a conversion. It is self-contained, except that it takes drops anywhere in
// the window.

import { html, LitElement, nothing, type TemplateResult } from 'lit';
import { filesOf } from './given.js';
import { Session } from './session.js';
import type { State } from './state.js';
import { styles } from './styles.js';
import { texts } from './texts.js';
import {
  announcement,
  convertingView,
  doneView,
  failedView,
  openingView,
  queueView,
  unlockingView,
  windowTitle,
} from './views.js';
import { needsView } from './views-needs.js';
import { readyView } from './views-ready.js';

/** The step, and the question within it. When this changes, the focus moves. */
function focusKey(state: State): string {
  if (state.step === 'ready') return [state.step, state.asking?.kind ?? state.nameProblem].filter(Boolean).join(' ');
  if (state.step === 'needs') return [state.step, state.doubt ? 'doubt' : state.notice].filter(Boolean).join(' ');
  return state.step;
}

export class DecantConverter extends LitElement {
  static override styles = styles;
  static override properties = { sample: {}, dragging: { state: true } };

  /** The URL of a sample image. Without one, none is offered. */
  declare sample: string | undefined;
  private declare dragging: boolean;
  #session = new Session(() => this.requestUpdate());
  #focused = 'empty';
  #title: string | undefined;

  constructor() {
    super();
    this.dragging = false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    document.addEventListener('paste', this.#paste);
    for (const [type, listener] of this.#dragListeners) addEventListener(type, listener as EventListener);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    document.removeEventListener('paste', this.#paste);
    for (const [type, listener] of this.#dragListeners) removeEventListener(type, listener as EventListener);
    this.#session.end();
  }

  override updated(): void {
    this.#moveFocus();
    this.#tellTitle();
  }

  /** Moves the focus to a new step or question, so that a keyboard or a screen reader goes on from there. */
  #moveFocus(): void {
    const key = focusKey(this.#session.state);
    const before = this.#focused;
    this.#focused = key;
    if (key === before) return;
    if (before.startsWith(key)) {
      // A question was answered. If the focus was in it, the focus goes to the button that asked.
      if (!this.shadowRoot?.activeElement) this.renderRoot.querySelector<HTMLElement>('[data-convert]')?.focus();
      return;
    }
    [...this.renderRoot.querySelectorAll<HTMLElement>('[data-focus]')].at(-1)?.focus();
  }

  /** Tells the page around a new title, which it may show as its own. */
  #tellTitle(): void {
    const title = windowTitle(this.#session.state);
    if (title === this.#title) return;
    this.#title = title;
    this.dispatchEvent(new CustomEvent('decant-title', { detail: title }));
  }

  override render(): TemplateResult {
    const session = this.#session;
    const { state, news } = session;
    return html`
      <div class="frame">
        <header>
          <h1>${texts.title}</h1>
          <p>${texts.tagline}</p>
        </header>
        <section class="card">${this.#view(state)}</section>
        ${news ? html`<p class="news">${news}</p>` : nothing}
        ${queueView(session)}
        <p class="unseen" role="status" aria-live="polite">${announcement(state)}</p>
        <p class="unseen" aria-live="polite">${news}</p>
      </div>
      ${this.dragging ? html`<div class="over" aria-hidden="true"><p>${this.#dropText(state)}</p></div>` : nothing}
    `;
  }

  #dropText(state: State): string {
    if (this.#session.isBusy) return texts.dropToQueue;
    if (state.step !== 'needs') return texts.dropToOpen;
    return this.#session.asksForFile ? texts.dropToAnswer(state.image.info.name ?? texts.image) : texts.dropToQueue;
  }

  #view(state: State): TemplateResult {
    const session = this.#session;
    switch (state.step) {
      case 'empty':
        return this.#dropZone(state.notice);
      case 'opening':
        return openingView(state, session);
      case 'unlocking':
        return unlockingView(state, session);
      case 'needs':
        return needsView(state, session);
      case 'ready':
        return readyView(state, session);
      case 'converting':
        return convertingView(state, session);
      case 'done':
        return doneView(state, session);
      case 'failed':
        return failedView(state, session);
    }
  }

  #dropZone(notice: string | undefined): TemplateResult {
    return html`
      <div class="drop">
        <svg viewBox="0 0 48 48" aria-hidden="true">
          <path d="M16 6h16v8l6 9v14a5 5 0 0 1-5 5H15a5 5 0 0 1-5-5V23l6-9z" />
          <path class="fill" d="M12 29h24v8a3 3 0 0 1-3 3H15a3 3 0 0 1-3-3z" />
        </svg>
        <h2 tabindex="-1" data-focus>${texts.dropHere}</h2>
        <p>${texts.orPaste}</p>
        <button class="primary" @click=${this.#choose}>${texts.choose}</button>
        <input hidden type="file" multiple aria-label=${texts.choose} @change=${this.#chosen} />
        ${this.sample ? html`<button class="link" @click=${this.#takeSample}>${texts.trySample}</button>` : nothing}
        ${notice ? html`<p class="notice">${notice}</p>` : nothing}
      </div>
    `;
  }

  #choose = () =>
    this.#session.choose(() => this.renderRoot.querySelector<HTMLInputElement>('.drop input[type=file]')?.click());

  #chosen = (event: Event) => {
    const input = event.target as HTMLInputElement;
    this.#session.takePlain(input.files ?? []);
    input.value = '';
  };

  #takeSample = () =>
    this.#session.takeFrom(texts.sampleName, async () => {
      const response = await fetch(new URL(this.sample!, document.baseURI));
      if (!response.ok) throw new Error(response.statusText);
      return [{ file: new File([await response.blob()], texts.sampleName) }];
    });

  /** Takes pasted files, but not those that are pasted into a text. */
  #paste = (event: ClipboardEvent) => {
    const [target] = event.composedPath();
    const writing = target instanceof HTMLElement && (target.isContentEditable || target.matches('input, textarea'));
    const files = [...(event.clipboardData?.files ?? [])];
    if (event.defaultPrevented || writing || files.length === 0) return;
    event.preventDefault();
    this.#session.takePlain(files);
  };

  #dragOver = (event: DragEvent) => {
    if (!event.dataTransfer?.types.includes('Files')) return;
    event.preventDefault();
    this.dragging = true;
  };

  /** Without a related target, the pointer has left the window. */
  #dragLeave = (event: DragEvent) => {
    if (event.relatedTarget === null) this.dragging = false;
  };

  #drop = (event: DragEvent) => {
    if (!event.dataTransfer?.types.includes('Files')) return;
    event.preventDefault();
    this.dragging = false;
    // Asked for now: the dropped items are gone after the event.
    const files = filesOf(event.dataTransfer);
    // Whoever awaits `files` reports the failure. Until then it counts as handled.
    files.catch(() => {});
    this.#session.takeFrom(texts.dropped, () => files);
  };

  readonly #dragListeners = [
    ['dragover', this.#dragOver],
    ['dragleave', this.#dragLeave],
    ['drop', this.#drop],
  ] as const;
}
