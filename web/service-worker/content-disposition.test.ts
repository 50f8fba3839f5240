/// <reference lib="es2024.string" />
// The file name of a streamed download, for any name of an image.

import { expect, test } from 'vitest';
import { contentDisposition } from './content-disposition.js';

/** Decodes the name from the header, as a browser does. Fails if the header has another form. */
function savedName(name: string): string {
  const header = contentDisposition(name);
  // Only characters that RFC 8187 allows unencoded, so that no name can start another parameter or header.
  const [, encoded] = /^attachment; filename\*=UTF-8''((?:[A-Za-z0-9!#$&+.^_`|~-]|%[0-9A-F]{2})+)$/.exec(header) ?? [];
  expect(encoded, header).toBeDefined();
  return decodeURIComponent(encoded!);
}

for (const [name, saved] of [
  ['disk.raw', 'disk.raw'],
  ['Gerät "1" (naïve)\'s; x=1 %41*.raw', "Gerät _1_ (naïve)'s; x=1 %41_.raw"],
  ['日本語 🐧.raw', '日本語 🐧.raw'],
  ['../../etc/passwd', '.._.._etc_passwd'],
  ['C:\\Windows\\disk.raw', 'C__Windows_disk.raw'],
  ['a\r\nSet-Cookie: b=1\u0000\u001b[2J.raw', 'a__Set-Cookie_ b=1__[2J.raw'],
  ['a\u0085\u2028\u2029b', 'a___b'],
  ['\u202ewar.exe', '_war.exe'],
  ['\u200e\u061c\u2066.raw', '___.raw'],
  ['\ud800.raw', '\ufffd.raw'],
  ['.', 'disk'],
  ['..', 'disk'],
  [' . ', 'disk'],
  ['', 'disk'],
  ['<>|?', '____'],
  ['.raw', '.raw'],
] as const) {
  test(`${JSON.stringify(name)} is saved as ${JSON.stringify(saved)}`, () => {
    expect(savedName(name)).toBe(saved);
  });
}

// (letter, its bytes in UTF-8)
for (const [letter, bytes] of [
  ['a', 1],
  ['ü', 2],
  ['語', 3],
  ['🐧', 4],
] as const) {
  test(`a name of more than 200 bytes is cut in the middle, between letters of ${bytes} bytes`, () => {
    const ending = '.raw';
    const most = Math.floor((200 - ending.length) / bytes);
    const longest = letter.repeat(most) + ending;
    expect(savedName(longest)).toBe(longest);
    for (const more of [1, 2, 3000]) expect(savedName(letter.repeat(most + more) + ending)).toBe(longest);
  });
}

test('a long name keeps its beginning and its end', () => {
  const saved = savedName(`begin${'x'.repeat(500)}end.tar.gz`);
  expect(saved).toMatch(/^beginx+end\.tar\.gz$/);
  expect(saved).toHaveLength(200);
});
