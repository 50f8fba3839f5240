// The password that is tried for each layer.

import type { Layer } from 'decant';
import { expect, test } from 'vitest';
import { Passwords } from './opening.js';

const layer = (name: string, encryption: 'luks' | 'aes') => ({ name, encryption }) as Layer;

// (passwords by layer, in the order in which they were entered; layer; the tried password)
for (const [input, asked, tried] of [
  [[], layer('top', 'luks'), undefined],
  [[['top', 'one']], layer('top', 'luks'), 'one'],
  [[['top', 'one']], layer('top', 'aes'), 'one'],
  // LUKS detects a wrong password, the old AES method does not.
  [[['top', 'one']], layer('base', 'luks'), 'one'],
  [[['top', 'one']], layer('base', 'aes'), undefined],
  [
    [
      ['top', 'one'],
      ['base', 'two'],
    ],
    layer('top', 'luks'),
    'one',
  ],
  [
    [
      ['top', 'one'],
      ['base', 'two'],
    ],
    layer('middle', 'luks'),
    'two',
  ],
  [
    [
      ['top', 'one'],
      ['top', 'two'],
    ],
    layer('top', 'aes'),
    'two',
  ],
] as [[string, string][], Layer, string | undefined][]) {
  const list = input.map(([name, password]) => `${name} ${password}`).join(', ') || 'none';
  test(`entered ${list}: for ${asked.name} (${asked.encryption}) ${tried ?? 'nothing'} is tried`, () => {
    const passwords = new Passwords();
    for (const [name, password] of input) passwords.give(name, password);
    expect(passwords.isEmpty).toBe(input.length === 0);
    expect(passwords.of(asked)).toBe(tried);
    expect(passwords.lastAsked).toBe(asked);
    expect(passwords.has(asked.name)).toBe(input.some(([name]) => name === asked.name));
  });
}
