import { expect, test } from 'vitest';
import type { Source } from '../public/types.js';
import { Expectations } from './expectations.js';

const range = (offset: number) => ({ offset, length: 10 });

function sourceAndCalls(): { source: Source; calls: number[][] } {
  const calls: number[][] = [];
  const source: Source = {
    size: 1000,
    read: async () => new Uint8Array(),
    expect: (ranges) => calls.push(ranges.map(({ offset }) => offset)),
  };
  return { source, calls };
}

test('a reader that has read everything cancels with an empty list at its end', () => {
  const { source, calls } = sourceAndCalls();
  const one = new Expectations(source);
  one.announce(1, [range(0), range(10)]);
  one.announce(1, [range(20)]);
  for (const offset of [10, 0, 20]) one.read(offset, 10);
  one.announce(1, []);
  expect(calls).toEqual([[0, 10], [20], []]);
});

test('a reader that ends does not cancel reads of others', () => {
  const { source, calls } = sourceAndCalls();
  const [one, other] = [new Expectations(source), new Expectations(source)];
  one.announce(1, [range(0), range(10)]);
  one.announce(2, [range(20), range(30)]);
  other.announce(1, [range(40)]);
  one.read(0, 10);
  one.read(10, 10);
  calls.length = 0;
  // It has read everything: nothing is cancelled.
  one.announce(1, []);
  expect(calls).toEqual([]);
  // With reads left, the announcements of others are repeated.
  one.read(20, 10);
  one.announce(2, []);
  expect(calls).toEqual([[], [40]]);
  other.read(40, 10);
  other.announce(1, []);
  expect(calls.slice(2)).toEqual([[]]);
});

test('a loan that ends cancels the reads of its readers, once', () => {
  const { source, calls } = sourceAndCalls();
  const [one, other] = [new Expectations(source), new Expectations(source)];
  one.announce(1, [range(0)]);
  other.announce(1, [range(0)]);
  other.announce(2, [range(10)]);
  calls.length = 0;
  one.end();
  expect(calls).toEqual([[], [0, 10]]);
  other.end();
  other.end();
  expect(calls.slice(2)).toEqual([[]]);
});

test('nothing is cancelled without an announcement', () => {
  const { source, calls } = sourceAndCalls();
  const one = new Expectations(source);
  one.read(0, 10);
  one.announce(1, []);
  one.end();
  expect(calls).toEqual([]);
});

test('a range that two readers need is read twice', () => {
  const { source, calls } = sourceAndCalls();
  const one = new Expectations(source);
  one.announce(1, [range(0)]);
  one.announce(2, [range(0)]);
  one.read(0, 10);
  one.announce(1, []);
  expect(calls).toEqual([[0], [0]]);
  one.read(0, 10);
  one.announce(2, []);
  expect(calls).toEqual([[0], [0], []]);
});
