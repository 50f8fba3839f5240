import { expect, test } from 'vitest';
import { LONGEST_TIMER, timeOf } from './seconds.js';

test.for([
  [0, 0],
  [0.5, 500],
  [30, 30_000],
  [LONGEST_TIMER, LONGEST_TIMER],
  [Number.POSITIVE_INFINITY, LONGEST_TIMER],
])('%d seconds are %d milliseconds', ([seconds, milliseconds]) => {
  expect(timeOf('timeout', seconds!)).toBe(milliseconds);
});

test.for([Number.NaN, -1, -0.001, 'soon' as unknown as number])('%s is no time', (seconds) => {
  expect(() => timeOf('patience', seconds)).toThrow(
    expect.objectContaining({
      kind: 'usage',
      message: `'patience' is a number of seconds from 0 on, not ${seconds}`,
    }),
  );
});
