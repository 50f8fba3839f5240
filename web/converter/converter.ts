// The component: a drop zone, a description, a conversion. Self-contained: its styles and its state
// are its own, its texts are in texts.ts.

import { html, LitElement, nothing, type TemplateResult } from 'lit';
import { filesOf } from './files.js';
import { Session, type State } from './session.js';
import { styles } from './styles.js';
import { texts } from './texts.js';
import { announcement, convertingView, doneView, failedView, openingView, readyView, whichView } from './views.js';
import { needsView, unlockingView } from './views-asking.js';

export class DecantConverter extends LitElement {
  static override styles = styles;
  static override properties = { sample: {}, dragging: { state: true } };

  /** The address of a sample image to offer; without one none is offered. */
  declare sample: string | undefined;
  private declare dragging: boolean;
  #session = new Session(() => this.requestUpdate());
  #shownStep: State['step'] = 'empty';

  constructor() {
    super();
    this.dragging = false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    document.addEventListener('paste', this.#paste);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    document.removeEventListener('paste', this.#paste);
    this.#session.reset();
  }

  /** A new step takes the focus, so that a keyboard or a screen reader goes on from there. */
  override updated(): void {
    const { step } = this.#session.state;
    if (step === this.#shownStep) return;
    this.#shownStep = step;
    this.renderRoot.querySelector<HTMLElement>('[data-focus]')?.focus();
  }

  override render(): TemplateResult {
    const { state } = this.#session;
    return html`
      <div class="frame" @dragover=${this.#dragOver} @dragleave=${this.#dragLeave} @drop=${this.#drop}>
        <header>
          <h1>${texts.title}</h1>
          <p>${texts.tagline}</p>
        </header>
        <section class="card" ?data-dragging=${this.dragging}>${this.#view(state)}</section>
        <p class="unseen" role="status" aria-live="polite">${announcement(state)}</p>
      </div>
    `;
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
      case 'which':
        return whichView(state, session);
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
        <h2 tabindex="-1" data-focus>${this.dragging ? texts.dropNow : texts.dropHere}</h2>
        <p>${texts.orPaste}</p>
        <label class="button primary">
          ${texts.choose}
          <input class="unseen" type="file" multiple @change=${this.#chosen} />
        </label>
        ${this.sample ? html`<button class="link" @click=${this.#takeSample}>${texts.trySample}</button>` : nothing}
        ${notice ? html`<p class="notice">${notice}</p>` : nothing}
      </div>
    `;
  }

  #chosen = (event: Event) => {
    const input = event.target as HTMLInputElement;
    this.#session.take([...(input.files ?? [])]);
    input.value = '';
  };

  #takeSample = () =>
    this.#session.takeFrom(texts.sampleName, async () => {
      const response = await fetch(new URL(this.sample!, document.baseURI));
      if (!response.ok) throw new Error(response.statusText);
      return [new File([await response.blob()], texts.sampleName)];
    });

  /** Whoever writes text in the page around pastes for themselves. */
  #paste = (event: ClipboardEvent) => {
    const [target] = event.composedPath();
    const writing = target instanceof HTMLElement && (target.isContentEditable || target.matches('input, textarea'));
    const files = [...(event.clipboardData?.files ?? [])];
    if (event.defaultPrevented || writing || files.length === 0) return;
    event.preventDefault();
    this.#session.take(files);
  };

  #dragOver = (event: DragEvent) => {
    if (!event.dataTransfer?.types.includes('Files') || this.#session.state.step === 'converting') return;
    event.preventDefault();
    this.dragging = true;
  };

  #dragLeave = (event: DragEvent) => {
    const frame = event.currentTarget as HTMLElement;
    if (!frame.contains(event.relatedTarget as Node | null)) this.dragging = false;
  };

  #drop = (event: DragEvent) => {
    if (!this.dragging || !event.dataTransfer) return;
    event.preventDefault();
    this.dragging = false;
    // Asked for at once: what was dropped is gone after the event.
    const files = filesOf(event.dataTransfer);
    void this.#session.takeFrom(texts.dropped, () => files);
  };
}
