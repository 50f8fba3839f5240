// The last step: facts of the result, and what to do with it.

import { html, nothing, type TemplateResult } from 'lit';
import { facts } from './facts.js';
import type { Session } from './session.js';
import { methodOf, type Step } from './state.js';
import { lostView } from './views-details.js';
import { digestView } from './views-digest.js';
import { nextView } from './views-next.js';

export function resultView(state: Step<'done'>, session: Session): TemplateResult {
  const { texts } = session;
  const { result, place, seconds, converting, speed } = state;
  const method = methodOf(place);
  return html`
    ${result.lostBytes > 0 ? lostView(result, texts) : nothing}
    ${state.destination ? nextView(state, session) : nothing}
    <div class="more">${digestView(state, session)}</div>
    <details class="more">
      <summary>${texts.details}</summary>
      ${facts([
        [texts.facts.disk, texts.size(result.virtualSize)],
        [texts.facts.written, texts.writtenValue(result, method)],
        [texts.facts.copy, method === 'stored' && !state.isCopyGone ? texts.copyKept(result.outputSize) : undefined],
        [texts.facts.time, texts.timeValue(seconds)],
        [texts.facts.converting, texts.convertingValue(converting, speed, method)],
        [texts.facts.method, texts.methodValue[method]],
        [texts.facts.engine, texts.engineValue(result)],
        [texts.facts.threads, crossOriginIsolated ? undefined : texts.notIsolated],
      ])}
    </details>
  `;
}
