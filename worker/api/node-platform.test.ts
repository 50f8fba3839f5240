// Paths and other images and outputs in Node, and files that change while they are read.

import {
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import { describe, expect } from 'vitest';
import type { Input, Output } from '../public/caller-types.js';
import { test } from '../targets/node/folder.test-support.js';
import { node } from './node-platform.js';

const open = (input: unknown) => node.openSource(input as Input, {});
const targetFor = (output: unknown) => node.target(output as Output, [], {});
const usage = (message: unknown) => expect.objectContaining({ kind: 'usage', message });

/** Opens a new file of 10 bytes. */
async function openNew(folder: string) {
  const path = join(folder, 'image');
  writeFileSync(path, '0123456789');
  utimesSync(path, 1, 1);
  return { path, source: await open(path) };
}

describe('a path that cannot name a file', () => {
  for (const [what, path, message] of [
    ['a lone surrogate', 'a\ud800', "'a\ufffd' is not a valid file name"],
    ['a NUL', 'a\0b', 'is not a valid file name'],
    ['a URL that is not UTF-8', new URL('file:///%E9'), 'is not a valid path here'],
    ['a URL of another machine', new URL('file://elsewhere/x'), 'is not a valid path here'],
    ['a URL of another kind', new URL('ftp://x/y'), "'ftp://x/y' is neither a path nor a supported URL"],
  ] as const) {
    test(`is refused: ${what}`, async () => {
      await expect(open(path)).rejects.toMatchObject({ name: 'DecantError', kind: 'usage' });
      await expect(targetFor(path)).rejects.toMatchObject({ name: 'DecantError', kind: 'usage' });
      if (!message.includes('\ufffd')) await expect(targetFor(path)).rejects.toThrow(message);
    });
  }
});

describe('an unsupported or malformed URL', () => {
  for (const [given, shown] of [
    ['ftp://user:SECRET@host/x?sig=SECRET', 'ftp://host/x'],
    ['http:/host/x?sig=SECRET', 'http:/host/x'],
    ['https:host/x?sig=SECRET', 'https:host/x'],
    ['s3://bucket/x?versionId=SECRET', 's3://bucket/x'],
    ["ftp://user:SEC' RET@host/x?SECRET' b", 'ftp://host/x'],
  ] as const) {
    test(`is refused, without user and query: ${shown}`, async () => {
      const begin = new RegExp(`^'${shown}' is neither a path nor a supported URL: `);
      const failures = await Promise.all([open(given), targetFor(given)].map((made) => made.catch((thrown) => thrown)));
      for (const failure of failures) {
        expect(failure).toMatchObject({ kind: 'usage', message: expect.stringMatching(begin) });
        expect(inspect(failure)).not.toContain('SECRET');
      }
    });
  }

  test('with ./ before it is a path', async ({ folder }) => {
    mkdirSync(join(folder, 'ftp:'));
    writeFileSync(join(folder, 'ftp:/x'), '0123456789');
    const source = await open(`${folder}/ftp://x`);
    expect(source.size).toBe(10);
    await source.close();
  });
});

describe('an image', () => {
  test('is a file, by its path or its URL', async ({ folder }) => {
    const { path, source } = await openNew(folder);
    const other = await open(pathToFileURL(path));
    expect(source).toMatchObject({ size: 10, name: path });
    expect(other.identity).toBe(source.identity);
    expect(other.state).toBe(source.state);
    await source.close();
    await other.close();
  });

  test('cannot be a folder, a device or a missing file', async ({ folder }) => {
    mkdirSync(join(folder, 'folder'));
    await expect(open(join(folder, 'folder'))).rejects.toThrow(usage(`'${folder}/folder' is a folder, not an image`));
    await expect(open('/dev/null')).rejects.toThrow(
      usage(expect.stringMatching(/^'\/dev\/null' is neither a file, a block device nor a pipe; .*: - as the image/)),
    );
    await expect(open(join(folder, 'missing'))).rejects.toMatchObject({
      kind: 'source',
      message: `Could not open '${folder}/missing': there is no such file or folder`,
    });
  });

  test('is a Blob or bytes', async () => {
    for (const input of [new Blob(['abc']), Uint8Array.of(1, 2, 3), Uint8Array.of(1, 2, 3).buffer]) {
      expect(await open(input)).toMatchObject({ size: 3, name: undefined });
    }
    expect(await open(new File(['abc'], 'name'))).toMatchObject({ size: 3, name: 'name' });
  });

  test.for([7, null, undefined, {}, []])('is not %j', async (input) => {
    await expect(open(input)).rejects.toThrow(usage(expect.stringContaining('In Node, an image must be a path')));
  });
});

describe('an open file', () => {
  for (const [what, change] of [
    ['cut', (path) => truncateSync(path, 5)],
    ['extended', (path) => truncateSync(path, 15)],
    ['written to', (path) => void writeSync(openSync(path, 'r+'), 'x')],
    ['touched', (path) => utimesSync(path, 2, 2)],
  ] as [string, (path: string) => void][]) {
    test(`fails verification once it was ${what}`, async ({ folder }) => {
      const { path, source } = await openNew(folder);
      await source.verify();
      change(path);
      const message = `'${path}' was changed while it was read; convert it while nothing writes to it`;
      await expect(source.verify()).rejects.toMatchObject({ kind: 'source', message });
      await source.close();
    });
  }

  for (const [what, change] of [
    ['removed', (path) => unlinkSync(path)],
    [
      'replaced',
      (path) => {
        writeFileSync(`${path}.other`, 'of another program');
        renameSync(`${path}.other`, path);
      },
    ],
    ['given another name', (path) => renameSync(path, `${path}.moved`)],
  ] as [string, (path: string) => void][]) {
    test(`passes verification after its name was ${what}`, async ({ folder }) => {
      const { path, source } = await openNew(folder);
      change(path);
      await source.verify();
      await source.close();
    });
  }

  test('has another state after a change, a move or a new file', async ({ folder }) => {
    const states = new Set<string | undefined>();
    const { path, source } = await openNew(folder);
    states.add(source.state);
    utimesSync(path, 2, 2);
    states.add((await open(path)).state);
    renameSync(path, `${path}.moved`);
    states.add((await open(`${path}.moved`)).state);
    rmSync(`${path}.moved`);
    states.add((await openNew(folder)).source.state);
    expect(states).toHaveLength(4);
  });
});

describe('an output', () => {
  test('is a path or a URL of a file', async () => {
    expect((await targetFor('/tmp/x')).resumes).toBe(true);
    expect((await targetFor(new URL('file:///tmp/x'))).resumes).toBe(true);
  });

  test('cannot be an http or https URL', async () => {
    await expect(targetFor('http://127.0.0.1/x')).rejects.toThrow(
      usage(expect.stringContaining('cannot be an http or https URL')),
    );
  });

  test.for([7, null, undefined, {}, new Blob([])])('is not %j', async (output) => {
    await expect(targetFor(output)).rejects.toThrow(
      usage(expect.stringContaining('In Node, an output must be a path')),
    );
  });
});
