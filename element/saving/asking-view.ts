// The questions before anything is written.

import { html, type TemplateResult } from 'lit';
import type { Controls } from '../steps/controls.js';
import type { Asking } from '../steps/state.js';

/** A question that the person must answer before anything is written. */
export function askingView(asking: Asking, controls: Controls): TemplateResult {
  const { texts } = controls;
  const box = (title: string, content: TemplateResult) => html`
    <section class="asking" aria-labelledby="asking">
      <h3 id="asking" tabindex="-1" data-focus aria-describedby="asking-text">${title}</h3>
      ${content}
    </section>
  `;
  switch (asking.kind) {
    case 'replace':
      return box(
        texts.replaceTitle(asking.name, asking.folder.name),
        html`
          <p id="asking-text">${texts.replaceQuestion(asking.there.size, new Date(asking.there.lastModified))}</p>
          <div class="actions">
            <button class="primary" part="button primary" @click=${() => controls.useFreeName()}>${texts.saveAs(asking.freeName)}</button>
            <button part="button" @click=${() => controls.replace()}>${texts.replace}</button>
          </div>
        `,
      );
    case 'source':
      return box(
        texts.sourceTitle(asking.name),
        html`
          <p id="asking-text">${texts.sourceHint}</p>
          <div class="actions">
            <button class="primary" part="button primary" @click=${() => controls.useFreeName()}>${texts.saveAs(asking.freeName)}</button>
          </div>
        `,
      );
    case 'resume':
      return box(
        texts.goOnTitle(asking.share),
        html`
          <p id="asking-text">${texts.goOnQuestion}</p>
          <div class="actions">
            <button class="primary" part="button primary" @click=${() => controls.download(true)}>${texts.goOn}</button>
            <button part="button" @click=${() => controls.download(false)}>${texts.beginAnew}</button>
          </div>
        `,
      );
    case 'elsewhere':
      return box(
        texts.elsewhereTitle,
        html`
          <p id="asking-text">${texts.elsewhereHint}</p>
          <div class="actions">
            <button part="button" @click=${() => controls.downloadAgain()}>${texts.beginAnew}</button>
          </div>
        `,
      );
    case 'noFolder':
      return box(
        texts.noFolderTitle,
        html`
          <p id="asking-text">${texts.noFolderHint}</p>
          <p>${texts.dialogHint} ${texts.dialogWarning}</p>
          <div class="actions">
            <button part="button" @click=${() => controls.convert('dialog')}>${texts.useDialog}</button>
          </div>
        `,
      );
  }
}
