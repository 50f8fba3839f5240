// The order of images that wait, and what becomes of each.

import { beforeEach, expect, test } from 'vitest';
import { givenOf } from '../e2e/support/units/element.js';
import { Queue } from './queue.js';
import type { Bundle } from './sorting.js';

const bundle = (name: string): Bundle => ({ top: givenOf(name), companions: [], called: [name] });
const rows = (queue: Queue): string[] => queue.items.map(({ bundle, status }) => `${bundle.top.file.name} ${status}`);

let queue: Queue;
beforeEach(() => {
  queue = new Queue();
});

test('images wait in the order in which they were added', () => {
  queue.add([bundle('a'), bundle('b')]);
  queue.add([bundle('c')]);
  expect(rows(queue)).toEqual(['a waiting', 'b waiting', 'c waiting']);
  expect(new Set(queue.items.map(({ id }) => id)).size).toBe(3);
});

test('new images come before those that wait', () => {
  queue.add([bundle('a'), bundle('b')]);
  queue.take();
  queue.addFirst([bundle('c'), bundle('d')]);
  expect(rows(queue)).toEqual(['a current', 'c waiting', 'd waiting', 'b waiting']);
});

test('where none waits, new images begin a new queue', () => {
  queue.add([bundle('a')]);
  queue.take();
  queue.settle('done', 'saved');
  queue.addFirst([bundle('b')]);
  expect(rows(queue)).toEqual(['b waiting']);
});

test('the first that waits is taken, or the one that is asked for', () => {
  queue.add([bundle('a'), bundle('b'), bundle('c')]);
  expect(queue.take()?.bundle.top.file.name).toBe('a');
  expect(queue.take(queue.items[2]!.id)?.bundle.top.file.name).toBe('c');
  // An unfinished one waits again.
  expect(rows(queue)).toEqual(['a waiting', 'b waiting', 'c current']);
});

test('of an empty queue nothing is taken', () => {
  expect(queue.take()).toBeUndefined();
  queue.add([bundle('a')]);
  queue.take();
  queue.settle('failed', 'The image is truncated.');
  expect(queue.take()).toBeUndefined();
  expect(queue.items[0]).toMatchObject({ status: 'failed', outcome: 'The image is truncated.' });
});

test('what is not waiting cannot be taken by its ID', () => {
  queue.add([bundle('a'), bundle('b')]);
  const { id } = queue.take()!;
  queue.settle('done', 'saved');
  expect(queue.take(id)).toBeUndefined();
  expect(rows(queue)).toEqual(['a done', 'b waiting']);
});

test('only the current one gets a result', () => {
  queue.add([bundle('a'), bundle('b')]);
  queue.take();
  queue.settle('done', 'saved as a.raw');
  expect(queue.items.map(({ outcome }) => outcome)).toEqual(['saved as a.raw', '']);
  queue.settle('failed', 'later');
  expect(rows(queue)).toEqual(['a done', 'b waiting']);
});

test('an image that is tried again is the current one, without its result', () => {
  const again = bundle('a');
  queue.add([again, bundle('b')]);
  queue.take();
  queue.settle('failed', 'The network is gone.');
  queue.resume(again);
  expect(queue.items[0]).toMatchObject({ status: 'current', outcome: '' });
  queue.resume(bundle('a'));
  expect(rows(queue)).toEqual(['a current', 'b waiting']);
});

test('what an image needs is taken out of the queue, with what belongs to it', () => {
  const middle = { ...bundle('middle'), companions: [givenOf('base')], called: ['middle', '1234'] };
  queue.add([bundle('top'), middle, bundle('other')]);
  queue.take();
  expect(queue.claim(['top', 'elsewhere'])).toEqual([]);
  expect(queue.claim(['1234']).map(({ file }) => file.name)).toEqual(['middle', 'base']);
  expect(rows(queue)).toEqual(['top current', 'other waiting']);
});

test('what is removed, left and cleared is gone', () => {
  queue.add([bundle('a'), bundle('b'), bundle('c')]);
  queue.take();
  queue.remove(queue.items[1]!.id);
  expect(rows(queue)).toEqual(['a current', 'c waiting']);
  queue.leave();
  expect(rows(queue)).toEqual(['c waiting']);
  expect(queue.waiting).toHaveLength(1);
  queue.clear();
  expect(queue.items).toEqual([]);
});
