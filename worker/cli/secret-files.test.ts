// Passwords and headers in files.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Info, Layer, Need } from '../public/types.js';
import { headersFor, imageHeaders, passwordFile, readHeaders, readPasswords, readSecret } from './secret-files.js';

describe('files', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'decant-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  /** A new file of `content`. */
  function file(content: string | Uint8Array): string {
    const path = join(folder, 'secret');
    writeFileSync(path, content);
    return path;
  }

  const never = new AbortController().signal;
  const read = (path: string, signal = never) => readSecret(path, 'the password', signal);

  test('a file is read whole', async () => {
    const bytes = Uint8Array.from({ length: 100_000 }, (_, at) => at);
    expect((await read(file(bytes))).equals(bytes)).toBe(true);
    expect(await read('/dev/null')).toHaveLength(0);
  });

  test('at most 1 MiB is read', async () => {
    const path = file(Buffer.alloc(1 << 20));
    expect(await read(path)).toHaveLength(1 << 20);
    file(Buffer.alloc((1 << 20) + 1));
    for (const large of [path, '/dev/zero']) {
      const message = `'${large}' is too large for the password: more than 1048576 bytes`;
      await expect(read(large)).rejects.toMatchObject({ kind: 'usage', message });
    }
    const message = `'${path}' is too large for the headers: more than 1048576 bytes`;
    await expect(readHeaders(path, never)).rejects.toMatchObject({ kind: 'usage', message });
  });

  for (const [what, path, reason] of [
    ['is missing', () => join(folder, 'missing'), 'there is no such file or folder'],
    ['is a folder', () => folder, 'it is a folder'],
    ['has a file for a folder', () => join(file(''), 'secret'), 'a part of the path is not a folder'],
  ] as const) {
    test(`a file that ${what}`, async () => {
      const message = `Could not read the password from '${path()}': ${reason}`;
      await expect(read(path())).rejects.toMatchObject({ kind: 'source', message });
    });
  }

  describe('a named pipe', () => {
    let number = 0;
    function pipe(): string {
      number += 1;
      const path = join(folder, `pipe-${number}`);
      execFileSync('mkfifo', [path]);
      return path;
    }

    /** Opens the end that is written to: by then, the other one is open. */
    const writer = (path: string): Promise<FileHandle> => open(path, 'w');

    test('in parts', async () => {
      const path = pipe();
      const content = read(path);
      const end = await writer(path);
      for (const part of ['a', 'bc', '', 'd\n']) await end.write(part);
      await end.close();
      expect((await content).toString()).toBe('abcd\n');
    });

    for (const [what, write] of [
      ['without a writer', undefined],
      ['whose writer writes nothing', async () => {}],
      ['whose writer does not end', async (end: FileHandle) => void (await end.write('secret'))],
    ] as const) {
      test(`${what} is given up on a cancel`, async () => {
        const path = pipe();
        const abort = new AbortController();
        const content = read(path, abort.signal).catch((error: unknown) => error);
        const end = write && (await writer(path));
        if (end) await write(end);
        abort.abort();
        expect(await content).toMatchObject({ kind: 'cancelled' });
        await end?.close();
      });
    }
  });

  test('a cancel before it begins', async () => {
    await expect(read(file('secret'), AbortSignal.abort())).rejects.toMatchObject({ kind: 'cancelled' });
  });

  describe('headers', () => {
    test('without a file there are no headers', async () => {
      expect(await readHeaders(undefined, never)).toEqual([]);
    });

    test('a line for each, of any system, with comments and empty lines', async () => {
      const path = file("# tokens\r\nAuthorization: Bearer a:b \n\n  \nX-!#$%&'*+.^_`|~-0:\nCookie:c=d");
      expect(await readHeaders(path, never)).toEqual([
        ['Authorization', 'Bearer a:b'],
        ["X-!#$%&'*+.^_`|~-0", ''],
        ['Cookie', 'c=d'],
      ]);
    });

    for (const line of ['secret', ': secret', ' a: secret', 'a b: secret', 'é: secret']) {
      test(`'${line}' is refused, without being repeated`, async () => {
        const path = file(`Cookie: c\n${line}\n`);
        const message = `Line 2 of '${path}' is not NAME: VALUE`;
        await expect(readHeaders(path, never)).rejects.toMatchObject({ kind: 'usage', message });
      });
    }

    test('are for the server of the first URL, and are read once', async () => {
      const given = { file: file('a: b'), url: 'https://host/c' };
      const headers = [['a', 'b']];
      expect(await headersFor('https://other/c', given, never)).toEqual([]);
      expect(await headersFor('https://HOST:443/d', given, never)).toEqual(headers);
      rmSync(given.file);
      expect(await imageHeaders(given, never)).toEqual(headers);
      expect(await headersFor('https://host/c', { ...given, url: undefined }, never)).toEqual([]);
      expect(await headersFor('https://host/c', undefined, never)).toEqual([]);
    });
  });
});

describe('passwords', () => {
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

  const read = (list: readonly string[]) => readPasswords(inFolder(list), new AbortController().signal);

  const textOf = (bytes: Uint8Array | undefined) => bytes && new TextDecoder().decode(bytes);

  const layer = (name: string, encryption?: 'luks'): Layer => {
    const common = { name, format: 'qcow2', guessed: false, virtualSize: 1 };
    return encryption ? { ...common, encryption } : common;
  };

  const TOP = layer('/vm/top.qcow2', 'luks');
  const MIDDLE = layer('/vm/middle.qcow2');
  const BASE = layer('base.qcow2', 'luks');

  const info = (layers: Layer[], needs: Need[] = []) => ({ layers, needs }) as unknown as Info;

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
    // Exactly one line end is removed.
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
    const passwords = await readPasswords(list, new AbortController().signal);
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
      const passwords = await readPasswords(list, new AbortController().signal);
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
    for (const [options, kind, message] of [
      [['top', 'base'], 'usage', '--password-file is given twice for all layers'],
      [['top.qcow2=top', 'top.qcow2=base'], 'usage', "--password-file is given twice for 'top.qcow2'"],
      [['top', 'base.qcow2=none'], 'source', 'Could not read the password from'],
    ] satisfies [string[], string, string][]) {
      test(options.join(' '), async () => {
        await expect(read(options)).rejects.toMatchObject({ kind, message: expect.stringContaining(message) });
      });
    }
  });

  test('standard input is a file of its name', () => {
    expect(passwordFile('-')).toEqual({ name: undefined, file: '-' });
    expect(passwordFile('top=-')).toEqual({ name: 'top', file: '-' });
  });
});
