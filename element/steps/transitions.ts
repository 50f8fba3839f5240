// The steps of the element, and the events that lead from one to another.

import type { State } from './state.js';

export type StepName = State['step'];

/** The phase of the work to which a step belongs. Code that treats several steps alike compares phases. */
export type Phase = 'start' | 'opening' | 'question' | 'choice' | 'conversion' | 'end';

export const PHASES: Record<StepName, Phase> = {
  empty: 'start',
  opening: 'opening',
  unpacking: 'opening',
  unlocking: 'opening',
  needs: 'question',
  disks: 'question',
  packed: 'question',
  large: 'question',
  ready: 'choice',
  converting: 'conversion',
  done: 'end',
  failed: 'end',
};

const ANY = Object.keys(PHASES) as StepName[];
const OPENING = ANY.filter((step) => PHASES[step] === 'opening');

interface Transition {
  /** The steps in which the event changes something. In all others it is ignored. */
  from: readonly StepName[];
  to: StepName;
}

/** The events that begin a turn: the work of the previous turn ends. */
export const BEGINNINGS = {
  /** The person returns to the first screen. */
  left: { from: ANY, to: 'empty' },
  /** The person has chosen files, or the image that comes next. */
  chosen: { from: ANY, to: 'opening' },
  /** An unexpected failure. */
  crashed: { from: ANY, to: 'failed' },
} as const satisfies Record<string, Transition>;

/** The events within a turn. */
export const EVENTS = {
  /** There is nothing to open among the chosen files. */
  nothingFound: { from: ['opening'], to: 'empty' },
  reading: { from: OPENING, to: 'opening' },
  unpacking: { from: OPENING, to: 'unpacking' },
  unlocking: { from: OPENING, to: 'unlocking' },
  /** A file or a password is missing, or a file may be the wrong one. */
  answerNeeded: { from: OPENING, to: 'needs' },
  /** An archive or a machine has several disks, or lacks the file of one. */
  disksListed: { from: OPENING, to: 'disks' },
  unpackingNeeded: { from: OPENING, to: 'packed' },
  memoryNeeded: { from: OPENING, to: 'large' },
  /** More is known of the open image. */
  described: { from: [...OPENING, 'ready'], to: 'ready' },
  conversionStarted: { from: ['ready'], to: 'converting' },
  progressed: { from: ['converting'], to: 'converting' },
  converted: { from: ['converting'], to: 'done' },
  failed: { from: [...OPENING, 'ready', 'converting'], to: 'failed' },
} as const satisfies Record<string, Transition>;

export type Beginning = keyof typeof BEGINNINGS;
export type StepEvent = keyof typeof EVENTS;

/** The step after `event` in `step`; `undefined` if the event is ignored there. */
export function stepAfter(step: StepName, event: StepEvent): StepName | undefined {
  const { from, to }: Transition = EVENTS[event];
  return from.includes(step) ? to : undefined;
}
