// Loads what most conversions do not need: when it is needed, or before, when the browser is idle.

import { html, type TemplateResult } from 'lit';
import { asError } from './failures.js';
import { loadPart } from './load-part.js';
import { spoken } from './spoken.js';
import type { FirstTexts } from './texts/english.js';

type Views = typeof import('./asked.js');

export const loadAsked = (): Promise<Views> => loadPart('this step', () => import('./asked.js'));

export const loadContents = () => loadPart('partitions', () => import('decant/contents'));

export class Asked {
  #views: Views | undefined;
  #failure: unknown;
  /** Whether a step that is shown waits for its code. */
  isLoading = false;

  /** Calls `changed` after each visible change, and `loaded` when the code is there. */
  constructor(
    private readonly changed: () => void,
    private readonly loaded: (views: Views) => void,
  ) {}

  /** Loads the code before it is needed. A failure is ignored: it is loaded again when it is needed. */
  preload(): void {
    for (const load of [loadAsked().then((views) => this.#take(views)), loadContents()]) load.catch(() => {});
  }

  /** Renders what `render` shows, or that its code is being loaded, or why it cannot be. */
  view(texts: FirstTexts, render: (views: Views) => TemplateResult): TemplateResult {
    if (this.#views) return render(this.#views);
    if (!this.#failure) {
      if (!this.isLoading) this.#load();
      return html`<progress part="progress" aria-label=${texts.opening(texts.title)}></progress>`;
    }
    return html`
      <p class="bad" role="alert">${spoken(texts.failure(asError(this.#failure)))}</p>
      <div class="actions"><button part="button" @click=${() => this.#load()}>${texts.next.again}</button></div>
    `;
  }

  #take(views: Views): void {
    this.#views = views;
    this.isLoading = false;
    this.changed();
    this.loaded(views);
  }

  #load(): void {
    this.#failure = undefined;
    this.isLoading = true;
    loadAsked()
      .then((views) => this.#take(views))
      .catch((thrown) => {
        this.#failure = thrown;
        this.isLoading = false;
        this.changed();
      });
  }
}
