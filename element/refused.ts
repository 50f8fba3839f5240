// In place of the element where Lit cannot render: says what the page's policy lacks.

import type { DecantError } from 'decant';
import { adoptStyles } from 'lit';
import { styles } from './styles.js';
import { textsIn } from './texts/languages.js';
import { languageOf, replaced } from './texts/replaced.js';
import type { Texts } from './types.texts.js';

/** Makes the class of an element that shows `error`, and dispatches it. */
export const refusedElement = (error: Promise<DecantError>): CustomElementConstructor =>
  class extends HTMLElement {
    texts: Texts | undefined;

    connectedCallback(): void {
      if (!this.shadowRoot) this.#show().catch(reportError);
    }

    async #show(): Promise<void> {
      const root = this.attachShadow({ mode: 'open' });
      adoptStyles(root, [styles]);
      const [failure, texts] = await Promise.all([error, textsIn(languageOf(this))]);
      const text = document.createElement('p');
      text.className = 'notice';
      text.role = 'alert';
      text.part.add('notice');
      text.textContent = replaced(texts, this.texts).failure(failure);
      root.append(text);
      this.dispatchEvent(new CustomEvent('decant-error', { detail: failure, bubbles: true, composed: true }));
      reportError(failure);
    }
  };
