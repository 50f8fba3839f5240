// The identity of a conversion: whatever changes the output's bytes changes it.

import { describe, expect, test } from 'vitest';
import type { Info } from '../types.js';
import type { Opening } from '../workers/session.js';
import { identityOf } from './identity.js';

interface Given {
  states?: (string | undefined)[];
  companions?: object[];
  settings?: object;
  layers?: object[];
  comesInOrder?: boolean;
  format?: string;
  compressed?: boolean;
  formatOptions?: Record<string, string>;
}

function identify(given: Given = {}): ReturnType<typeof identityOf> {
  const { states = ['one'], companions = [], settings = {}, layers = [], comesInOrder = false } = given;
  const { format = 'raw', compressed = false, formatOptions } = given;
  const sources = { all: states.map((state) => ({ state })), companions };
  const opening = { sources, settings: { salvage: false, ...settings } } as unknown as Opening;
  const opened = { info: { layers } as unknown as Info, comesInOrder };
  return identityOf(opening, opened, format, compressed, formatOptions ? { formatOptions } : {});
}

test('is the same for the same conversion, and reveals nothing', async () => {
  const secret = 'https://example.net/disk?token=secret';
  const identity = await identify({ states: [secret] });
  expect(identity).toMatch(/^[0-9a-f]{64}$/);
  expect(await identify({ states: [secret] })).toBe(identity);
});

describe('is another one with', () => {
  test.each<[string, Given]>([
    ['another state of the image', { states: ['two'] }],
    ['a companion', { states: ['one', 'two'], companions: [{ name: 'base' }] }],
    ['another output format', { format: 'vpc' }],
    ['options of the output format', { formatOptions: { force_size: 'on' } }],
    ['a format that was stated', { settings: { format: 'qcow2' } }],
    ['a snapshot', { settings: { snapshot: 'before' } }],
  ])('%s', async (_, given) => {
    expect(await identify(given)).not.toEqual(await identify());
  });

  test('another name of a companion, or another order', async () => {
    const of = (...names: string[]) =>
      identify({ states: ['one', 'two'], companions: names.map((name) => ({ name })) });
    expect(new Set(await Promise.all([of('a', 'b'), of('b', 'a'), of('a', 'c')]))).toHaveLength(3);
  });
});

describe('cannot be had', () => {
  test.each<[string, Given, string]>([
    ['a compressed output', { format: 'raw.gz', compressed: true }, 'an output in raw.gz is made in one go'],
    ['a salvage', { settings: { salvage: true } }, 'what is lost is found in one go'],
    ['a disk that comes in order', { comesInOrder: true }, 'a disk that is packed in is read in one go'],
    ['the old encryption', { layers: [{}, { encryption: 'aes' }] }, 'the image is encrypted by the old AES method'],
    ['no state', { states: [undefined] }, 'nothing tells later whether the image is still the same'],
    [
      'a companion without a state',
      { states: ['a', undefined] },
      'nothing tells later whether the image is still the same',
    ],
  ])('for %s', async (_, given, reason) => {
    expect(await identify(given)).toEqual({ reason });
  });

  test('but for LUKS', async () => {
    expect(await identify({ layers: [{ encryption: 'luks' }] })).toMatch(/^[0-9a-f]{64}$/);
  });
});
