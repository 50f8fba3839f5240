// Sizes and times as the page shows them.

import { expect, test } from 'vitest';
import { checkTime, unitsOf } from './wording.js';

const { exactSize, duration, size } = unitsOf({ language: 'en', bytes: 'bytes', days: 'days' });
const german = unitsOf({ language: 'de', bytes: 'Bytes', days: 'Tage' });

for (const [seconds, text] of [
  [0, '1\u00a0s'],
  [59.4, '59\u00a0s'],
  [59.6, '1\u00a0min'],
  [62, '1\u00a0min'],
  [80, '1\u00a0min 20\u00a0s'],
  [9 * 60 + 58, '10\u00a0min'],
  [3599, '59\u00a0min'],
  [3600, '1\u00a0h 0\u00a0min'],
  [48 * 3600 - 1, '47\u00a0h 59\u00a0min'],
  [48 * 3600, '2\u00a0days'],
  [43_156 * 3600, '1798\u00a0days'],
] as const) {
  test(`a time of ${seconds} s is '${text}'`, () => expect(duration(seconds)).toBe(text));
}

for (const [bytes, rounded, exact] of [
  [512, '512\u00a0bytes', '512\u00a0bytes'],
  [65_536, '65.5\u00a0KB', '65,536\u00a0bytes'],
  [2 ** 21, '2.1\u00a0MB', '2,097,152\u00a0bytes'],
  [2 ** 30, '1.1\u00a0GB', '1,073,741,824\u00a0bytes'],
  [2 ** 53, '9\u00a0PB', '9,007,199,254,740,992\u00a0bytes'],
] as const) {
  test(`a size of ${bytes} bytes is '${rounded}'`, () => {
    expect(size(bytes)).toBe(rounded);
    expect(exactSize(bytes)).toBe(exact);
  });
}

test.each([
  // (bytes, from, to, unit)
  [1e6, 1, 1, 'minutes'],
  [140e9, 7, 32, 'minutes'],
  [8 * 2 ** 40, 7, 33, 'hours'],
  [1e14, 3, 16, 'days'],
  [99_999_999e9, 9, 43, 'years'],
])('the browser checks %s bytes in %s to %s %s', (bytes, from, to, unit) => {
  expect(checkTime(bytes)).toEqual({ from, to, unit });
});

test.each([
  [2 ** 28, '0,27'],
  [1e9, '1'],
  [2 ** 30, '1,1'],
  [10 * 2 ** 30, '10,8'],
  [2 ** 40, '1100'],
])('%s bytes are at most %s GB', (bytes, gigabytes) => expect(german.gigabytes(bytes)).toBe(gigabytes));
