// Headings that are too long for their place.

import { expect, test } from 'vitest';
import { cutInMiddle, shorterTexts } from './heading.js';

test.each([
  ['disk.qcow2', 10, 'disk.qcow2'],
  ['a-long-name.qcow2', 12, 'a-long…qcow2'],
  ['a-long-name.qcow2', 11, 'a-lon…qcow2'],
  ['💾💾💾💾💾💾', 3, '💾…💾'],
])('%s in %i characters is %s', (name, most, expected) => expect(cutInMiddle(name, most)).toBe(expected));

const NAME = 'backup-of-the-web-server-2024-11-30.qcow2';

test.each([
  ['the name is cut', `Converting ${NAME}`, NAME, 'Converting backup…qcow2'],
  [
    'a name with spaces is cut as one',
    'Converting My long machine.vmdk',
    'My long machine.vmdk',
    'Converting My lon….vmdk',
  ],
  ['without the name, the longest word is', `Reading ${NAME} again`, 'disk', 'Reading backup…qcow2 again'],
])('%s', (_, text, name, last) => {
  const all = [...shorterTexts(text, name)];
  expect(all[0]).toBe(text);
  expect(all.at(-1)).toBe(last);
  expect(all.map(({ length }) => length)).toEqual(all.map(({ length }) => length).toSorted((a, b) => b - a));
});

test('a short heading stays', () => {
  expect([...shorterTexts('Queue', '')]).toEqual(['Queue']);
});
