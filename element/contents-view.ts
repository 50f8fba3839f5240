// The partitions and file systems of a disk, as a list.

import type { Contents } from 'decant/contents';
import { html, nothing, type TemplateResult } from 'lit';
import { noticeView } from './spoken.js';
import type { AllTexts } from './types.texts.js';

/** The most partitions that are listed. Further ones are only counted. */
const MOST_SHOWN = 16;

export function contentsView({ table, parts, firmware }: Contents, texts: AllTexts): TemplateResult | typeof nothing {
  if (!table && parts.length === 0) return nothing;
  const more = parts.length - MOST_SHOWN;
  return html`
    <section class="contents">
      <h3>${texts.contents.title(table, parts.length)}</h3>
      <ul>
        ${parts.slice(0, MOST_SHOWN).map((part) => html`<li>${texts.contents.part(part)}</li>`)}
        ${more > 0 ? html`<li>${texts.contents.more(more)}</li>` : nothing}
      </ul>
      ${firmware ? html`<p>${texts.contents.firmware(firmware)}</p>` : nothing}
      ${table?.isDamaged ? noticeView(texts.contents.damaged) : nothing}
    </section>
  `;
}
