// Computes the SHA-256 of a result, if it can be read again.

import { sha256 } from 'decant';
import { asError } from './failures.js';
import type { Stage } from './stage.js';
import type { Step } from './state.js';

/** Whether the result can be read. */
export const canDigest = ({ place, result, isCopyGone }: Step<'done'>): boolean =>
  place.kind === 'folder' || place.kind === 'dialog' || (result.copy !== undefined && !isCopyGone);

async function resultOf({ place, result }: Step<'done'>): Promise<Blob> {
  if (place.kind === 'folder') return (await place.folder.getFileHandle(place.name)).getFile();
  return place.kind === 'dialog' ? place.handle.getFile() : result.copy!;
}

/** Computes the digest of the result that is shown, until the person cancels it or leaves the result. */
export async function digestResult(stage: Stage): Promise<void> {
  const { state, turn } = stage;
  if (state.step !== 'done' || state.digest?.cancel) return;
  const show = (digest: Step<'done'>['digest']) => {
    if (stage.state.step === 'done') stage.show(turn, { ...stage.state, digest });
  };
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
    show({ value: await sha256(await resultOf(state), { signal, onProgress }) });
  } catch (thrown) {
    show(signal.aborted ? undefined : { problem: stage.texts.failure(asError(thrown)) });
  }
}
