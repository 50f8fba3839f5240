// The questions before anything is written.

import type { OutputFormat } from 'decant';
import { html, nothing, type TemplateResult } from 'lit';
import { button } from '../steps/common-views.js';
import type { Controls } from '../steps/controls.js';
import type { Asking, Step } from '../steps/state.js';
import { fileLength, imagesIn } from '../ways/choices.js';
import { quickFormat } from '../ways/destinations.js';

/** A question that the person must answer before anything is written. */
export function askingView(asking: Asking, controls: Controls): TemplateResult {
  const { texts } = controls;
  const box = (
    title: string,
    text: string,
    buttons: TemplateResult,
    more: TemplateResult | typeof nothing = nothing,
  ) => html`
    <section class="asking" aria-labelledby="asking">
      <h3 id="asking" tabindex="-1" data-focus aria-describedby="asking-text">${title}</h3>
      <p id="asking-text">${text}</p>
      ${more}
      <div class="actions">${buttons}</div>
    </section>
  `;
  switch (asking.kind) {
    case 'replace':
      return box(
        texts.replaceTitle(asking.name, asking.folder.name),
        texts.replaceQuestion(asking.there.size, new Date(asking.there.lastModified)),
        html`
          ${button(texts.saveAs(asking.freeName), () => controls.useFreeName(), 'primary')}
          ${button(texts.replace, () => controls.replace())}
        `,
      );
    case 'source':
      return box(
        texts.sourceTitle(asking.name),
        texts.sourceHint,
        button(texts.saveAs(asking.freeName), () => controls.useFreeName(), 'primary'),
      );
    case 'resume':
      return box(
        texts.goOnTitle(asking.share),
        texts.goOnQuestion,
        html`
          ${button(texts.goOn, () => controls.download(true), 'primary')}
          ${button(texts.beginAnew, () => controls.download(false))}
        `,
      );
    case 'elsewhere':
      return box(
        texts.elsewhereTitle,
        texts.elsewhereHint,
        button(texts.beginAnew, () => controls.downloadAgain()),
      );
    case 'longCheck':
      return box(
        texts.longCheckTitle(asking.length),
        texts.longCheckHint(asking.length),
        html`
          ${asking.quick ? useButton(asking.quick, controls) : nothing}
          ${button(texts.saveAnyway, () => controls.saveAnyway())}
        `,
      );
    case 'noFolder':
      return box(
        texts.noFolderTitle,
        texts.noFolderHint,
        button(texts.useDialog, () => controls.convert('dialog')),
        html`<p>${texts.dialogHint} ${texts.dialogWarning}</p>`,
      );
  }
}

const useButton = (output: OutputFormat, { texts, chooser }: Controls) =>
  button(texts.useFormat(output), () => chooser.selectOutput(output), 'primary');

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
