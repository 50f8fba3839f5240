// Secrets from files, and from named pipes, which may never receive data.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readHeaders } from './header-file.js';
import { readSecret } from './secret-file.js';

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
});
