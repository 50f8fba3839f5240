// How full the bottle is drawn, and long names.

import { expect, test } from 'vitest';
import { liquid, nameView } from './common-views.js';

test.each([
  [0, 'M12 37H36V37a3 3 0 0 1-3 3H15a3 3 0 0 1-3-3z'],
  [0.28, 'M12 29H36V37a3 3 0 0 1-3 3H15a3 3 0 0 1-3-3z'],
  [0.6, 'M14.4 20H33.6L36 24V37a3 3 0 0 1-3 3H15a3 3 0 0 1-3-3V24z'],
  [1, 'M18 8H30V14L36 24V37a3 3 0 0 1-3 3H15a3 3 0 0 1-3-3V24L18 14z'],
])('%d', (share, outline) => {
  expect(liquid(share)).toBe(outline);
});

test.each([
  ['short.qcow2', 'short.qcow2', false],
  [`${'a'.repeat(40)}${'b'.repeat(40)}.qcow2`, `${'a'.repeat(30)}…${'b'.repeat(23)}.qcow2`, true],
])('the name %s is shown as %s', (name, shown, isCut) => {
  // The whole name is in a tip, and for screen readers.
  expect(nameView(name).values).toEqual(isCut ? [name, shown, name] : [name]);
});
