// Computes the SHA-256 of a result, if it can be read again, and of the disk of an open image.

import { type Progress, sha256 } from 'decant';
import { html, nothing, type TemplateResult } from 'lit';
import { button, copyButton, spoken } from '../steps/common-views.js';
import type { Controls } from '../steps/controls.js';
import { asError, type Screen } from '../steps/screen.js';
import type { Digest, State, Step, Warning } from '../steps/state.js';
import type { AllTexts } from '../types.texts.js';

const FILE_DIGEST = 'SHA-256';

/** Whether the result can be read. */
const canDigest = ({ target, result, isCopyGone }: Step<'done'>): boolean =>
  target.kind === 'folder' || target.kind === 'dialog' || (result.copy !== undefined && !isCopyGone);

async function resultOf({ target, result }: Step<'done'>): Promise<Blob> {
  if (target.kind === 'folder') return (await target.folder.getFileHandle(target.name)).getFile();
  return target.kind === 'dialog' ? target.handle.getFile() : result.copy!;
}

type Compute = (signal: AbortSignal, report: (share: number) => void) => Promise<Digest>;

/** Computes the digest of the result that is shown, until the person cancels it or leaves the result. */
export async function digestResult(screen: Screen): Promise<void> {
  const { turn } = screen;
  const done = screen.at('done');
  if (!done || done.digest?.cancel) return;
  await showDigest(
    screen,
    (digest) => screen.update(turn, 'done', { digest }),
    async (signal, report) => ({
      value: await sha256(await resultOf(done), { signal, onProgress: listenerOf(report) }),
    }),
  );
}

/** Computes the digest of the disk of the image that is shown, until the person cancels it, converts the image or leaves it. */
export async function digestDisk(screen: Screen): Promise<void> {
  const { turn, texts } = screen;
  const ready = screen.at('ready');
  if (!ready || ready.digest?.cancel) return;
  await showDigest(
    screen,
    (digest) => screen.update(turn, 'ready', { digest }),
    async (signal, report) => {
      const { sha256, lostBytes, lostRanges } = await ready.image.digest({ signal, onProgress: listenerOf(report) });
      return { value: sha256, ...(lostBytes > 0 ? { note: texts.lost(lostBytes, lostRanges) } : {}) };
    },
  );
}

const listenerOf =
  (report: (share: number) => void) =>
  ({ fraction = 0 }: Progress) =>
    report(fraction);

/** Shows how far `compute` is, then its digest or its failure. */
async function showDigest(screen: Screen, show: (digest: Digest | undefined) => void, compute: Compute): Promise<void> {
  const cancelling = new AbortController();
  const cancel = () => cancelling.abort();
  const signal = AbortSignal.any([screen.turn, cancelling.signal]);
  let shown = 0;
  show({ share: 0, cancel });
  const report = (share: number) => {
    if (signal.aborted || share - shown < 0.01) return;
    shown = share;
    show({ share, cancel });
  };
  try {
    show(await compute(signal, report));
  } catch (thrown) {
    show(signal.aborted ? undefined : { problem: screen.texts.failure(asError(thrown)) });
  }
}

/** A digest that is known, to be announced. */
export function digestNews(state: State, texts: AllTexts): Warning[] {
  if (state.step !== 'done' && state.step !== 'ready') return [];
  const value = state.digest?.value;
  const title = state.step === 'done' ? FILE_DIGEST : texts.diskDigest;
  return value === undefined ? [] : [{ id: `digest ${value}`, text: `${title}: ${value}` }];
}

/** The digest of the file that is the result. */
export function digestView(state: Step<'done'>, controls: Controls): TemplateResult {
  const { compute } = controls.texts;
  const known = state.result.sha256 === undefined ? undefined : { value: state.result.sha256 };
  const digest = state.digest ?? known;
  return digestOf(
    { id: 'digest', title: FILE_DIGEST, compute, digest },
    () => controls.digest(),
    canDigest(state),
    controls,
  );
}

/** The digest of the disk, whatever its format. */
export function diskDigestView({ digest }: Step<'ready'>, controls: Controls): TemplateResult {
  const { diskDigest: title, computeDiskDigest: compute, diskDigestHint: hint } = controls.texts;
  return digestOf({ id: 'disk-digest', title, compute, hint, digest }, () => controls.digestDisk(), true, controls);
}

interface DigestTexts {
  id: string;
  title: string;
  /** The button that computes it. */
  compute: string;
  hint?: string;
  digest: Digest | undefined;
}

function digestOf(
  { id, title, compute, hint, digest = {} }: DigestTexts,
  start: () => void,
  isPossible: boolean,
  controls: Controls,
): TemplateResult {
  const { texts } = controls;
  const { value, note, share, cancel, problem } = digest;
  if (value !== undefined) {
    return html`
      <section class="next" aria-labelledby=${id}>
        <h3 id=${id}>${title}</h3>
        <pre part="command" tabindex="0" aria-labelledby=${id}>${value}</pre>
        ${note ? html`<p class="bad">${spoken(note)}</p>` : nothing}
        <div class="actions">${copyButton(value, controls, texts.copy, `${texts.copy} ${title}`)}</div>
      </section>
    `;
  }
  if (cancel) {
    return html`
      <section class="next">
        <progress part="progress" aria-label=${texts.computing} max="1" .value=${share ?? 0}></progress>
        <p class="numbers"><span>${texts.computing}</span><strong>${texts.share(share ?? 0)}</strong></p>
        <div class="actions">${button(texts.cancel, cancel)}</div>
      </section>
    `;
  }
  if (!isPossible) return html``;
  return html`
    ${problem ? html`<p class="bad" role="alert">${spoken(problem)}</p>` : nothing}
    <div class="actions">${button(compute, start, 'link')}</div>
    ${hint ? html`<p class="quiet">${hint}</p>` : nothing}
  `;
}
