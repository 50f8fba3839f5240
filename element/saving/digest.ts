// Computes the SHA-256 of a result, if it can be read again.

import { sha256 } from 'decant';
import { html, nothing, type TemplateResult } from 'lit';
import { spoken } from '../steps/common-views.js';
import type { Controls } from '../steps/controls.js';
import { asError, type Screen } from '../steps/screen.js';
import type { Step } from '../steps/state.js';

/** Whether the result can be read. */
const canDigest = ({ target, result, isCopyGone }: Step<'done'>): boolean =>
  target.kind === 'folder' || target.kind === 'dialog' || (result.copy !== undefined && !isCopyGone);

async function resultOf({ target, result }: Step<'done'>): Promise<Blob> {
  if (target.kind === 'folder') return (await target.folder.getFileHandle(target.name)).getFile();
  return target.kind === 'dialog' ? target.handle.getFile() : result.copy!;
}

/** Computes the digest of the result that is shown, until the person cancels it or leaves the result. */
export async function digestResult(screen: Screen): Promise<void> {
  const { turn } = screen;
  const done = screen.at('done');
  if (!done || done.digest?.cancel) return;
  const show = (digest: Step<'done'>['digest']) => screen.update(turn, 'done', { digest });
  const cancelling = new AbortController();
  const cancel = () => cancelling.abort();
  const signal = AbortSignal.any([turn, cancelling.signal]);
  let shown = 0;
  show({ share: 0, cancel });
  const onProgress = (share: number) => {
    if (share - shown < 0.01) return;
    shown = share;
    show({ share, cancel });
  };
  try {
    show({ value: await sha256(await resultOf(done), { signal, onProgress }) });
  } catch (thrown) {
    show(signal.aborted ? undefined : { problem: screen.texts.failure(asError(thrown)) });
  }
}

export function digestView(state: Step<'done'>, controls: Controls): TemplateResult {
  const { texts } = controls;
  const { value = state.result.sha256, share, cancel, problem } = state.digest ?? {};
  if (value !== undefined) {
    return html`
      <section class="next" aria-labelledby="digest">
        <h3 id="digest">SHA-256</h3>
        <pre part="command" tabindex="0" aria-labelledby="digest">${value}</pre>
        <div class="actions"><button part="button" aria-label=${`${texts.copy} SHA-256`} @click=${() => controls.copy(value)}>${texts.copy}</button></div>
      </section>
    `;
  }
  if (cancel) {
    return html`
      <section class="next">
        <progress part="progress" aria-label=${texts.computing} max="1" .value=${share ?? 0}></progress>
        <p class="numbers"><span>${texts.computing}</span><strong>${texts.percent(share ?? 0)}</strong></p>
        <div class="actions"><button part="button" @click=${cancel}>${texts.cancel}</button></div>
      </section>
    `;
  }
  if (!canDigest(state)) return html``;
  return html`
    ${problem ? html`<p class="bad" role="alert">${spoken(problem)}</p>` : nothing}
    <div class="actions"><button class="link" part="button link" @click=${() => controls.digest()}>${texts.compute}</button></div>
  `;
}
