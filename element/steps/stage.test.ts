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
  const second = stage.begin({ step: 'opening', name: 'disk.qcow2' });
  expect([first.aborted, second.aborted]).toEqual([true, false]);
  expect(close).toHaveBeenCalledTimes(1);
  expect(stage.state).toEqual({ step: 'opening', name: 'disk.qcow2' });
  expect(changed).toHaveBeenCalledTimes(1);
  stage.begin({ step: 'empty' });
  expect(close).toHaveBeenCalledTimes(1);
});

test('states from a turn that is over are ignored', () => {
  const changed = vi.fn();
  const stage = new Stage(stageIn().stage.host, changed);
  const first = stage.begin({ step: 'empty' });
  const second = stage.begin({ step: 'empty' });
  stage.show(first, { step: 'opening', name: 'late' });
  expect(stage.state).toEqual({ step: 'empty' });
  stage.show(second, { step: 'opening', name: 'disk' });
  expect(stage.state).toEqual({ step: 'opening', name: 'disk' });
  expect(changed).toHaveBeenCalledTimes(3);
});

test('a waiting server is shown until the turn is over', () => {
  const { stage } = stageIn();
  const first = stage.begin({ step: 'opening', name: 'disk' });
  stage.wait(first, { host: 'example.org', attempt: 2 });
  expect(stage.waiting).toEqual({ host: 'example.org', attempt: 2 });
  stage.begin({ step: 'empty' });
  stage.wait(first, { host: 'example.org', attempt: 3 });
  expect(stage.waiting).toBeUndefined();
});

test('an image that cannot be closed causes no error', () => {
  const { stage } = stageIn();
  stage.hold(imageOf({}, { close: () => Promise.reject(new Error('the worker has died')) }));
  expect(() => stage.begin({ step: 'empty' })).not.toThrow();
});
