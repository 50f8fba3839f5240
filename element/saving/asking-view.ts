// The questions before anything is written.

import type { OutputFormat } from 'decant';
import { html, nothing, type TemplateResult } from 'lit';
import type { Controls } from '../steps/controls.js';
import type { Asking, Step } from '../steps/state.js';
import { fileLength, imagesIn } from '../ways/choices.js';
import { quickFormat } from '../ways/destinations.js';

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
    case 'longCheck':
      return box(
        texts.longCheckTitle(asking.length),
        html`
          <p id="asking-text">${texts.longCheckHint(asking.length)}</p>
          <div class="actions">
            ${asking.quick ? useButton(asking.quick, controls) : nothing}
            <button part="button" @click=${() => controls.saveAnyway()}>${texts.saveAnyway}</button>
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

const useButton = (output: OutputFormat, { texts, chooser }: Controls) =>
  html`<button class="primary" part="button primary" @click=${() => chooser.selectOutput(output)}>${texts.useFormat(output)}</button>`;

/** A low estimate of the speed of a conversion, in bytes of data per second. */
const SLOW = 1e8;

/** Offers a format that takes far less time than the chosen one, unless something else is asked. */
export function offerView(state: Step<'ready'>, controls: Controls): TemplateResult | typeof nothing {
  const { texts } = controls;
  const { survey, choices, output, size } = state;
  const quick = quickFormat(state);
  if (!quick || state.asking) return nothing;
  // An image on a server comes as fast as the network.
  const isTimed = survey.complete && choices.some(({ seconds }) => seconds !== undefined);
  const data = survey.complete ? survey.data : undefined;
  return html`
    <section class="asking" aria-labelledby="offer">
      <h3 id="offer">${texts.quickFormat(quick, isTimed ? survey.data / SLOW : undefined)}</h3>
      <p>${texts.quickFormatHint(data, fileLength(imagesIn(state), output, size))}</p>
      <div class="actions">${useButton(quick, controls)}</div>
    </section>
  `;
}
