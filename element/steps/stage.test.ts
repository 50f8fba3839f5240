// Turns: the late results of an earlier turn are ignored.

import { expect, test, vi } from 'vitest';
import { imageOf, stageIn } from '../element.test-support.js';
import { Stage } from './stage.js';

test('a new turn ends the previous one, closes its image and shows its first state', () => {
  const changed = vi.fn();
  const stage = new Stage(stageIn().stage.host, changed);
  const first = stage.turn;
  const close = vi.fn(async () => {});
  stage.hold(imageOf({}, { close }));
  const second = stage.begin('chosen', { name: 'disk.qcow2' });
  expect([first.aborted, second.aborted]).toEqual([true, false]);
  expect(close).toHaveBeenCalledTimes(1);
  expect(stage.state).toEqual({ step: 'opening', name: 'disk.qcow2' });
  expect(changed).toHaveBeenCalledTimes(1);
  stage.begin('left', {});
  expect(close).toHaveBeenCalledTimes(1);
});

test('states from a turn that is over are ignored', () => {
  const changed = vi.fn();
  const stage = new Stage(stageIn().stage.host, changed);
  const first = stage.begin('chosen', { name: 'first' });
  const second = stage.begin('chosen', { name: 'second' });
  stage.send(first, 'reading', { name: 'late' });
  stage.update(first, 'opening', { isSlow: true });
  expect(stage.state).toEqual({ step: 'opening', name: 'second' });
  stage.send(second, 'reading', { name: 'disk' });
  expect(stage.state).toEqual({ step: 'opening', name: 'disk' });
  expect(changed).toHaveBeenCalledTimes(3);
});

test('changes of another step are ignored', () => {
  const { stage } = stageIn();
  const turn = stage.begin('chosen', { name: 'disk' });
  stage.update(turn, 'empty', { notice: 'late' });
  expect(stage.state).toEqual({ step: 'opening', name: 'disk' });
  stage.update(turn, 'opening', { isSlow: true });
  expect(stage.state).toEqual({ step: 'opening', name: 'disk', isSlow: true });
  expect([stage.at('opening')?.name, stage.at('empty'), stage.phase]).toEqual(['disk', undefined, 'opening']);
});

test('a waiting server is shown until the turn is over', () => {
  const { stage } = stageIn();
  const first = stage.begin('chosen', { name: 'disk' });
  stage.wait(first, { host: 'example.org', attempt: 2 });
  expect(stage.waiting).toEqual({ host: 'example.org', attempt: 2 });
  stage.begin('left', {});
  stage.wait(first, { host: 'example.org', attempt: 3 });
  expect(stage.waiting).toBeUndefined();
});

test('an image that cannot be closed causes no error', () => {
  const { stage } = stageIn();
  stage.hold(imageOf({}, { close: () => Promise.reject(new Error('the worker has died')) }));
  expect(() => stage.begin('left', {})).not.toThrow();
});
