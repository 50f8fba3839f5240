// Turns: the late results of an earlier turn are ignored.

import { expect, test, vi } from 'vitest';
import { imageOf, inputNamed, screenIn } from '../element.test-support.js';
import { beginOpening } from '../files/opening.js';
import { Screen } from './screen.js';

const opening = (name: string) => beginOpening({ top: inputNamed(name), companions: [], called: [name] });

test('a new turn ends the previous one, closes its image and shows its first state', () => {
  const changed = vi.fn();
  const screen = new Screen(screenIn().screen.host, changed);
  const first = screen.turn;
  const close = vi.fn(async () => {});
  screen.hold(imageOf({}, { close }), opening('disk.qcow2'));
  const second = screen.begin('chosen', { name: 'disk.qcow2' });
  expect([first.aborted, second.aborted]).toEqual([true, false]);
  expect(close).toHaveBeenCalledTimes(1);
  expect(screen.state).toEqual({ step: 'opening', name: 'disk.qcow2' });
  expect(changed).toHaveBeenCalledTimes(1);
  screen.begin('left', {});
  expect(close).toHaveBeenCalledTimes(1);
});

test('the images of other disks for the same file stay open', () => {
  const { screen } = screenIn();
  const closed: string[] = [];
  const image = (name: string) => imageOf({ name }, { close: async () => void closed.push(name) });
  const [first, second] = [opening('a.qcow2'), opening('b.qcow2')];
  screen.begin('chosen', { name: 'a' }, first);
  screen.hold(image('a'), first);
  const both = { ...second, beside: [first] };
  screen.begin('chosen', { name: 'b' }, both);
  screen.hold(image('b'), both);
  expect([closed, screen.imageOf(first)?.info.name, screen.imageOf(both)?.info.name]).toEqual([[], 'a', 'b']);
  screen.begin('chosen', { name: 'b' }, { ...both });
  expect([closed, screen.imageOf(both)]).toEqual([['b'], undefined]);
  screen.begin('left', {});
  expect(closed).toEqual(['b', 'a']);
});

test('states from a turn that is over are ignored', () => {
  const changed = vi.fn();
  const screen = new Screen(screenIn().screen.host, changed);
  const first = screen.begin('chosen', { name: 'first' });
  const second = screen.begin('chosen', { name: 'second' });
  screen.send(first, 'reading', { name: 'late' });
  screen.update(first, 'opening', { isSlow: true });
  expect(screen.state).toEqual({ step: 'opening', name: 'second' });
  screen.send(second, 'reading', { name: 'disk' });
  expect(screen.state).toEqual({ step: 'opening', name: 'disk' });
  expect(changed).toHaveBeenCalledTimes(3);
});

test('changes of another step are ignored', () => {
  const { screen } = screenIn();
  const turn = screen.begin('chosen', { name: 'disk' });
  screen.update(turn, 'empty', { notice: 'late' });
  expect(screen.state).toEqual({ step: 'opening', name: 'disk' });
  screen.update(turn, 'opening', { isSlow: true });
  expect(screen.state).toEqual({ step: 'opening', name: 'disk', isSlow: true });
  expect([screen.at('opening')?.name, screen.at('empty'), screen.phase]).toEqual(['disk', undefined, 'opening']);
});

test('a waiting server is shown until the turn is over', () => {
  const { screen } = screenIn();
  const first = screen.begin('chosen', { name: 'disk' });
  screen.wait(first, { host: 'example.org', attempt: 2 });
  expect(screen.waiting).toEqual({ host: 'example.org', attempt: 2 });
  screen.begin('left', {});
  screen.wait(first, { host: 'example.org', attempt: 3 });
  expect(screen.waiting).toBeUndefined();
});

test('an image that cannot be closed causes no error', () => {
  const { screen } = screenIn();
  screen.hold(imageOf({}, { close: () => Promise.reject(new Error('the worker has died')) }), opening('disk.qcow2'));
  expect(() => screen.begin('left', {})).not.toThrow();
});

test('the same news is announced again', () => {
  const { screen } = screenIn();
  expect(screen.announcedNews).toEqual([]);
  const ids = ['Copied.', 'Copied.'].map((news) => {
    screen.announce(news);
    return screen.announcedNews[0]!.id;
  });
  expect(new Set(ids).size).toBe(2);
});

test('what was copied is known until there is other news', () => {
  const { screen } = screenIn();
  for (const next of [
    () => screen.announce('other'),
    () => screen.announce('Copied.'),
    () => {
      screen.news = '';
    },
  ]) {
    screen.announce('Copied.', 'a line');
    expect([screen.news, screen.copied]).toEqual(['Copied.', 'a line']);
    next();
    expect(screen.copied).toBeUndefined();
  }
});
