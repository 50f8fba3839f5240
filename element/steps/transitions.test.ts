// Every event in every step: the step that follows, or that the event is ignored.

import { expect, test } from 'vitest';
import { stageIn } from '../element.test-support.js';
import { BEGINNINGS, type Beginning, EVENTS, type Event, nextStep, PHASES, type StepName } from './transitions.js';

const STEPS = Object.keys(PHASES) as StepName[];
const OPENING = 'opening unpacking unlocking';

/** By event: the steps in which it changes something, and the step that follows. */
const EXPECTED: Record<Event, [from: string, to: StepName]> = {
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

test.each(Object.entries(EXPECTED) as [Event, [string, StepName]][])('%s', (event, [from, to]) => {
  for (const step of STEPS)
    expect([step, nextStep(step, event)]).toEqual([step, from.split(' ').includes(step) ? to : undefined]);
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
    for (const event of Object.keys(EVENTS) as Event[]) reached.add(nextStep(step, event) ?? step);
  }
  expect([...reached].toSorted()).toEqual(STEPS.toSorted());
});

test('late events of an image do not replace a question or a result', () => {
  const { stage } = stageIn();
  const turn = stage.begin('chosen', { name: 'disk' });
  stage.send(turn, 'memoryNeeded', { name: 'disk', size: 1e9 });
  stage.send(turn, 'unpacking', { name: 'disk', share: 1 });
  expect(stage.state).toEqual({ step: 'large', name: 'disk', size: 1e9 });
});
