// The text of a step for screen readers, and for the title of the window.

import { shownText, type Waiting } from 'decant';
import { sentence } from '../texts/wording.js';
import type { AllTexts } from '../types.texts.js';
import { LONG_FINISH, methodOf, type Overall, SILENT, STALLED, type State, type Step } from './state.js';

export const doneTitle = ({ result, target, isCopyGone }: Step<'done'>, texts: AllTexts): string => {
  if (result.lostBytes > 0) return texts.doneDamaged;
  return (target.kind === 'stored' && !isCopyGone) || target.kind === 'streamed' ? texts.doneSaving : texts.done;
};

export const donePlace = ({ target, copying, isCopyGone }: Step<'done'>, texts: AllTexts): string =>
  isCopyGone ? texts.copied(target.name) : texts.place(target, copying);

/** The notice that the browser may still be saving the file. */
export const savingText = (state: Step<'done'>, texts: AllTexts): string | undefined =>
  ['stored', 'streamed'].includes(state.target.kind) ? donePlace(state, texts) : undefined;

/** How the result was compared with the disk, if it was. */
export const verifiedText = ({ result: { verified } }: Step<'done'>, texts: AllTexts): string | undefined =>
  verified && texts.verified[verified.method];

/** Whether the network has been silent long enough for a notice. */
const isSilent = ({ silence }: Step<'converting'>): boolean => silence >= SILENT;

/** A notice about a conversion that makes no progress, and the same for screen readers. */
export function standstill(state: Step<'converting'>, texts: AllTexts): [text: string, short: string] | undefined {
  if (isSilent(state)) return [texts.silent(state.silence), texts.silentShort];
  if (state.stalled >= STALLED) return [texts.stalled(state.stalled), texts.stalledShort];
  return undefined;
}

/**
 * The share that is done: 0 to 1. `undefined` where nobody knows it: after a cancel, while the browser checks a file, and while a file is
 * completed that waits for a server.
 */
export function knownShare(state: Step<'converting'>): number | undefined {
  const { phase, target, share, cancelling, waiting } = state;
  const isUnknown = methodOf(target) === 'picked' || waiting !== undefined || isSilent(state);
  return cancelling || (phase === 'finishing' && isUnknown) ? undefined : share;
}

/** The numbers of a conversion, each empty if it is not known: the share that is done, the time left, the speed. */
export function numbersOf(state: Step<'converting'>, texts: AllTexts): [share: string, left: string, speed: string] {
  const { phase, target, secondsLeft, speed } = state;
  const share = knownShare(state);
  if (share === undefined) return ['', '', ''];
  const left = secondsLeft === undefined ? (phase === 'finishing' ? texts.leftUnknown : '') : texts.left(secondsLeft);
  return [share > 0 ? texts.share(share) : '', left, speed === undefined ? '' : texts.speed(speed, methodOf(target))];
}

export const workTitle = ({ phase, name, cancelling }: Step<'converting'>, texts: AllTexts): string =>
  texts.working(cancelling ? texts.cancelling : texts.phase[phase], name);

/** How much is done, in steps of 10 percent. */
function doneSoFar({ phase, share }: Step<'converting'>, texts: AllTexts): string {
  const tenths = Math.floor(share * 10) / 10;
  return phase === 'verifying' ? texts.compared(tenths) : texts.converted(tenths);
}

/** A hint while the browser completes a file, which it does without progress and cannot stop. */
export function finishingHint(state: Step<'converting'>, texts: AllTexts): string | undefined {
  const { phase, target, cancelling, takesHours } = state;
  if (phase !== 'finishing' || methodOf(target) !== 'picked') return undefined;
  const toStop = texts.quitToStop(target.name, target.kind === 'folder' && target.replaces !== undefined);
  const asked = isTooLateToCancel(state) ? texts.cancelTooLate : texts.cancelWaits;
  const hint = cancelling ? asked : texts.finishing;
  if (!takesHours) return hint;
  return [hint, ...(cancelling ? [] : [texts.mayClose(target.name)]), toStop].join(' ');
}

/** Whether the browser takes long to complete a file: the person can start with another image. */
export const canLeaveToBrowser = ({ phase, target, finishing = 0 }: Step<'converting'>): boolean =>
  phase === 'finishing' && methodOf(target) === 'picked' && finishing >= LONG_FINISH;

/** Whether the browser completes a file that replaces another one: it cannot be stopped, and the file stays. */
export const isTooLateToCancel = ({ phase, target }: Step<'converting'>): boolean =>
  phase === 'finishing' && methodOf(target) === 'picked' && (target.kind !== 'folder' || target.replaces !== undefined);

/** Notices about the results of a queue. */
export const overallNotes = ({ failed, damaged }: Overall, texts: AllTexts): string[] => [
  ...(failed.length > 0 ? [texts.notAll(failed)] : []),
  ...(damaged.length > 0 ? [texts.someDamaged(damaged)] : []),
];

/**
 * The text for screen readers: the step, and the progress of a conversion in steps of 10 percent. `waiting` is the server that
 * keeps the session waiting. The text has no number of attempts, so that each wait is announced once. `overall`: the results of
 * the queue that has ended.
 */
export function announcement(state: State, texts: AllTexts, waiting?: Waiting, overall?: Overall): string {
  if (overall) {
    const last = state.step === 'done' ? donePlace(state, texts) : announcement(state, texts);
    return [sentence(texts.allDone(overall.done, overall.all)), ...overallNotes(overall, texts), last].join(' ');
  }
  switch (state.step) {
    case 'converting':
      if (state.cancelling) return [workTitle(state, texts), finishingHint(state, texts)].filter(Boolean).join('. ');
      if (state.phase === 'finishing') return workTitle(state, texts);
      if (state.waiting) return texts.waitingShort(state.waiting);
      return standstill(state, texts)?.[1] ?? doneSoFar(state, texts);
    case 'done':
      return [`${doneTitle(state, texts)}.`, donePlace(state, texts), verifiedText(state, texts)]
        .filter(Boolean)
        .join(' ');
    case 'failed':
      return [sentence(state.title), state.message, state.remains].filter(Boolean).join(' ');
    case 'opening':
      if (waiting) return texts.waitingShort(waiting);
      return state.isSlow ? texts.slow : texts.opening(state.name);
    case 'unlocking':
      return texts.unlocking(state.name);
    case 'unpacking':
      return texts.unpacking(state.name);
    case 'packed':
    case 'large':
      return '';
    case 'needs':
    case 'disks':
      return state.notice ?? '';
    case 'empty':
      return [state.notice, ...(state.remains ?? []).map(({ text }) => text)].filter(Boolean).join(' ');
    case 'ready':
      if (state.picking) return texts.picking;
      return waiting ? texts.waitingShort(waiting) : '';
  }
}

/** The title for the window; `undefined` for the title of the page. `overall`: the results of the queue that has ended. */
export function windowTitle(state: State, texts: AllTexts, overall?: Overall): string | undefined {
  if (overall) return texts.allDone(overall.done, overall.all);
  switch (state.step) {
    case 'converting': {
      const share = knownShare(state);
      return share === undefined ? workTitle(state, texts) : `${texts.share(share)} ${shownText(state.name)}`;
    }
    case 'done':
      return `${doneTitle(state, texts)}: ${shownText(state.target.name)}`;
    case 'failed':
      return state.title;
    case 'opening':
    case 'unlocking':
      return texts.opening(state.name);
    case 'unpacking':
      return texts.unpacking(state.name);
    case 'packed':
    case 'large':
    case 'disks':
      return shownText(state.name);
    case 'needs':
      return shownText(state.image.info.name ?? texts.image);
    case 'ready':
      return shownText(state.label);
    case 'empty':
      return undefined;
  }
}
