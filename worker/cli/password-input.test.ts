// Which password belongs to which layer.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Info, Layer, Need } from '../public/types.js';
import { passwordFile, readPasswords } from './password-input.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'decant-'));
  for (const [name, content] of [
    ['top', 'of the top'],
    ['base', 'of the base\n'],
    ['windows', 'of Windows\r\n'],
    ['lines', 'one\n\n'],
    ['return', 'one\r'],
    ['a=b', 'of a=b'],
    ['empty', ''],
  ] as const) {
    writeFileSync(join(folder, name), content);
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Returns `list` with the files in the folder: `top.qcow2=base`. */
const inFolder = (list: readonly string[]) =>
  list.map((option) => option.replace(/^(top\.qcow2=|base\.qcow2=|middle\.qcow2=|)(?!-)/, `$1${folder}/`));

const read = (list: readonly string[], input?: string) =>
  readPasswords(inFolder(list), input, new AbortController().signal);

const textOf = (bytes: Uint8Array | undefined) => bytes && new TextDecoder().decode(bytes);

const layer = (name: string, encryption?: 'luks'): Layer => {
  const common = { name, format: 'qcow2', guessed: false, virtualSize: 1 };
  return encryption ? { ...common, encryption } : common;
};

const TOP = layer('/vm/top.qcow2', 'luks');
const MIDDLE = layer('/vm/middle.qcow2');
const BASE = layer('base.qcow2', 'luks');

const info = (layers: Layer[], needs: Need[] = []) => ({ layers, needs }) as Info;

// (options, the password of the top, that of the base)
for (const [options, top, base] of [
  [[], undefined, undefined],
  [['top'], 'of the top', 'of the top'],
  [['top.qcow2=top', 'base.qcow2=base'], 'of the top', 'of the base'],
  [['base', 'top.qcow2=top'], 'of the top', 'of the base'],
  [['top.qcow2=top'], 'of the top', undefined],
  [['base.qcow2=base'], undefined, 'of the base'],
  [['top', 'base.qcow2=a=b'], 'of the top', 'of a=b'],
  [['windows'], 'of Windows', 'of Windows'],
  // One line end alone is not a part of it.
  [['lines', 'base.qcow2=return'], 'one\n', 'one\r'],
  [['empty'], '', ''],
] satisfies [string[], string | undefined, string | undefined][]) {
  test(`${options.join(' ') || 'none'}: ${JSON.stringify([top, base])}`, async () => {
    const passwords = await read(options);
    expect(textOf(passwords.of(TOP, undefined))).toBe(top);
    expect(textOf(passwords.of(BASE, undefined))).toBe(base);
    expect(passwords.isEmpty).toBe(options.length === 0);
    expect(() => passwords.check(info([TOP, MIDDLE, BASE]), [])).not.toThrow();
  });
}

test('the whole name of a layer comes before its last part', async () => {
  const list = [`/vm/top.qcow2=${folder}/top`, `top.qcow2=${folder}/base`];
  const passwords = await readPasswords(list, undefined, new AbortController().signal);
  expect(textOf(passwords.of(TOP, undefined))).toBe('of the top');
  expect(textOf(passwords.of(layer('/other/top.qcow2'), undefined))).toBe('of the base');
});

// (options, the passwords of the tops of two disks)
for (const [options, first, second] of [
  [['top'], 'of the top', 'of the top'],
  [['top', 'b.qcow2=base'], 'of the top', 'of the base'],
  [['a.qcow2=top', 'b.qcow2=base'], 'of the top', 'of the base'],
  [['disks/a.qcow2=top'], 'of the top', undefined],
  // The name of a layer comes first.
  [['vm.ova=top', 'b.qcow2=base'], 'of the top', 'of the top'],
] satisfies [string[], string | undefined, string | undefined][]) {
  test(`disks: ${options.join(' ')}`, async () => {
    const list = options.map((option) => option.replace(/(?<==|^)(?=\w+$)/, `${folder}/`));
    const passwords = await readPasswords(list, undefined, new AbortController().signal);
    const top = layer('vm.ova', 'luks');
    expect(textOf(passwords.of(top, 'disks/a.qcow2'))).toBe(first);
    expect(textOf(passwords.of(top, 'disks/b.qcow2'))).toBe(second);
  });
}

test('the names of a disk, of other disks and of their layers are taken', async () => {
  const passwords = await read(['base.qcow2=base']);
  const disks = [
    { name: 'a/base.qcow2', size: 1 },
    { name: 'b', size: 1 },
  ];
  const vm = layer('vm.ova', 'luks');
  expect(() => passwords.check(info([vm]), disks.slice(0, 1))).not.toThrow();
  expect(() => passwords.check(info([vm]), disks)).not.toThrow();
  expect(() => passwords.check(info([MIDDLE]), disks)).not.toThrow();
  for (const [layers, only] of [
    [[MIDDLE], disks.slice(0, 1)],
    [[vm], disks.slice(1)],
  ] as const)
    expect(() => passwords.check(info([...layers]), only)).toThrow(expect.objectContaining({ kind: 'usage' }));
});

describe('a layer that is not encrypted', () => {
  for (const [what, layers, message] of [
    ['beside others', [TOP, MIDDLE, BASE], "'middle.qcow2'; encrypted are '/vm/top.qcow2', 'base.qcow2'"],
    ['alone', [MIDDLE], "'middle.qcow2'; none is encrypted"],
    ['beside a hostile name', [layer('a\nb', 'luks')], "'middle.qcow2'; encrypted are 'a\\u000ab'"],
  ] satisfies [string, Layer[], string][]) {
    test(what, async () => {
      const passwords = await read(['top', 'middle.qcow2=base']);
      const error = expect.objectContaining({ kind: 'usage', message: `There is no encrypted layer ${message}` });
      expect(() => passwords.check(info(layers), [])).toThrow(error);
      // The missing file may be that layer.
      const missing: Need = { kind: 'missing-file', role: 'backing file', name: 'c', fileName: 'c', of: 'a' };
      expect(() => passwords.check(info(layers, [missing]), [])).not.toThrow();
    });
  }
});

describe('refused arguments', () => {
  for (const [options, input, kind, message] of [
    [['top', 'base'], undefined, 'usage', '--password-file is given twice for all layers'],
    [['top.qcow2=top', 'top.qcow2=base'], undefined, 'usage', "--password-file is given twice for 'top.qcow2'"],
    [['-', 'base.qcow2=-'], undefined, 'usage', 'Standard input can have only one password; put the others into files'],
    [['-'], 'the image', 'usage', 'Standard input is already the image; put the password into a file'],
    [['a=-'], 'the image', 'usage', 'Standard input is already the image; put the password into a file'],
    [['-'], 'the headers', 'usage', 'Standard input is already the headers; put the password into a file'],
    [['top', 'base.qcow2=none'], undefined, 'source', 'Could not read the password from'],
  ] satisfies [string[], string | undefined, string, string][]) {
    test(`${options.join(' ')}${input ? ` where standard input is ${input}` : ''}`, async () => {
      await expect(read(options, input)).rejects.toMatchObject({ kind, message: expect.stringContaining(message) });
    });
  }
});

test('standard input is a file of its name', () => {
  expect(passwordFile('-')).toEqual({ name: undefined, file: '-' });
  expect(passwordFile('top=-')).toEqual({ name: 'top', file: '-' });
});
