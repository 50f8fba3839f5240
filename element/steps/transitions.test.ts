// Every event in every step: the step that follows, or that the event is ignored.

import { expect, test } from 'vitest';
import { screenIn } from '../element.test-support.js';
import { BEGINNINGS, type Beginning, EVENTS, PHASES, type StepEvent, type StepName, stepAfter } from './transitions.js';

const STEPS = Object.keys(PHASES) as StepName[];
const OPENING = 'opening unpacking unlocking';

/** By event: the steps in which it changes something, and the step that follows. */
const EXPECTED: Record<StepEvent, [from: string, to: StepName]> = {
  nothingFound: ['opening', 'empty'],
  reading: [OPENING, 'opening'],
  unpacking: [OPENING, 'unpacking'],
  unlocking: [OPENING, 'unlocking'],
  answerNeeded: [OPENING, 'needs'],
  disksListed: [OPENING, 'disks'],
  unpackingNeeded: [OPENING, 'packed'],
  memoryNeeded: [OPENING, 'large'],
  described: [`${OPENING} ready`, 'ready'],
  conversionStarted: ['ready', 'converting'],
  progressed: ['converting', 'converting'],
  converted: ['converting', 'done'],
  failed: [`${OPENING} ready converting`, 'failed'],
};

test.each(Object.entries(EXPECTED) as [StepEvent, [string, StepName]][])('%s', (event, [from, to]) => {
  for (const step of STEPS)
    expect([step, stepAfter(step, event)]).toEqual([step, from.split(' ').includes(step) ? to : undefined]);
});

test.each([
  ['left', 'empty'],
  ['chosen', 'opening'],
  ['crashed', 'failed'],
] as [Beginning, StepName][])('%s begins a turn in any step', (event, to) => {
  expect(BEGINNINGS[event]).toEqual({ from: STEPS, to });
});

test('each step is reached, from the first one', () => {
  const reached = new Set<StepName>(['empty']);
  for (const step of reached) {
    for (const { to } of Object.values(BEGINNINGS)) reached.add(to);
    for (const event of Object.keys(EVENTS) as StepEvent[]) reached.add(stepAfter(step, event) ?? step);
  }
  expect([...reached].toSorted()).toEqual(STEPS.toSorted());
});

test('late events of an image do not replace a question or a result', () => {
  const { screen } = screenIn();
  const turn = screen.begin('chosen', { name: 'disk' });
  screen.send(turn, 'memoryNeeded', { name: 'disk', size: 1e9 });
  screen.send(turn, 'unpacking', { name: 'disk', share: 1 });
  expect(screen.state).toEqual({ step: 'large', name: 'disk', size: 1e9 });
});
