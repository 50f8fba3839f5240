// The text of digests, compared with sha256sum.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { digestLine, digestObject, reportLosses, reportTime } from './digest-text.js';

const folder = mkdtempSync(join(tmpdir(), 'decant-digest-'));
afterAll(() => rmSync(folder, { recursive: true }));

test.each(['a', 'a b', ' a', 'ä', 'a\\b', 'a\nb', 'a\rb', '\\\\n\n', 'a\tb', '*a'])('the line of %j', (name) => {
  writeFileSync(join(folder, name), 'text');
  const expected = execFileSync('sha256sum', ['--', name], { cwd: folder, encoding: 'utf8' });
  expect(`${digestLine(createHash('sha256').update('text').digest('hex'), name)}\n`).toBe(expected);
});

const NOTHING_LOST = { lost: [], lostRanges: 0, lostBytes: 0 };
const LOST = {
  lost: [{ offset: 512, length: 1024, code: 'c', message: 'it is gone' }],
  lostRanges: 2,
  lostBytes: 2048,
};

test.each([
  [
    { sha256: 'ab', size: 7, ...NOTHING_LOST, notices: [] },
    { image: 'a', size: 7, sha256: 'ab' },
  ],
  [
    { fsverity: 'sha256:ab', size: 7, ...NOTHING_LOST },
    { image: 'a', size: 7, fsverity: 'sha256:ab' },
  ],
  [
    { sha256: 'ab', size: 7, ...LOST },
    { image: 'a', size: 7, sha256: 'ab', ...LOST },
  ],
])('%j for programs', (digest, expected) => {
  expect(digestObject(digest, 'a')).toEqual(expected);
});

describe('reports', () => {
  let lines: string[];
  beforeEach(() => {
    lines = [];
    const write = (text: unknown) => lines.push(String(text)) > 0;
    vi.spyOn(process.stderr, 'write').mockImplementation(write as never);
    return () => vi.restoreAllMocks();
  });

  const notice = (code: string) => ({ code, fields: {}, message: code });

  test.each([
    [{ size: 7, ...NOTHING_LOST }, true, []],
    [{ size: 7, ...NOTHING_LOST, notices: [notice('trailer')] }, true, []],
    [{ size: 7, ...NOTHING_LOST, notices: [notice('checksum-mismatch')] }, false, []],
    [
      { size: 4096, ...LOST },
      false,
      [
        'decant: lost: 1024 bytes at 512: it is gone\n',
        'decant: lost: 1 more range, not listed\n',
        "decant: 'a' is damaged: 2048 bytes of the disk were lost or may be wrong, so the digest is of another disk\n",
      ],
    ],
  ])('losses of %j', (digest, isWhole, expected) => {
    expect(reportLosses(digest, "'a'")).toBe(isWhole);
    expect(lines).toEqual(expected);
  });

  const GIB = 2 ** 30;
  test.each([
    [undefined, undefined],
    [64 * GIB - 512, undefined],
    [64 * GIB, /^decant: note: SHA-256 hashes all 64 GiB of the disk, empty parts too: \d+ minutes? or more\n$/],
    [256 * GIB, /^decant: note: SHA-256 hashes all 256 GiB of the disk, empty parts too: \d+ minutes? or more\n$/],
    [8192 * GIB, /^decant: note: SHA-256 .* 8 TiB .*; 'decant digest --tree' needs no time for empty parts\n$/],
  ])('the time for %j bytes', (size, expected) => {
    reportTime(size);
    expect(lines).toEqual(expected ? [expect.stringMatching(expected)] : []);
  });
});
