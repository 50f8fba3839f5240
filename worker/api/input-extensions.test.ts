// Extensions for file dialogs.

import { expect, test } from 'vitest';
import { inputExtensions } from './input-extensions.js';

test('what is read is listed once, and what is refused is not', () => {
  const listed = inputExtensions();
  expect(listed).toEqual(
    expect.arrayContaining(['.qcow2', '.vhd', '.vhdx', '.raw', '.luks', '.vmx', '.ova', '.zip', '.xz']),
  );
  expect(listed.filter((extension) => ['.iso', '.dmg', '.7z', '.xva', '.e01'].includes(extension))).toEqual([]);
  expect(new Set(listed).size).toBe(listed.length);
  expect(listed.filter((extension) => !/^\.[a-z0-9]+$/.test(extension))).toEqual([]);
});
