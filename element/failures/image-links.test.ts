// The links that are remembered for interrupted downloads.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { forgetLink, linkOf, rememberLink } from './image-links.js';

let stored: Map<string, string>;

beforeEach(() => {
  stored = new Map();
  vi.stubGlobal('localStorage', {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => void stored.set(key, value),
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test.each([
  ['https://a.org/disk.qcow2', 'https://a.org/disk.qcow2'],
  ['http://a.org:8080/a%20b.qcow2', 'http://a.org:8080/a%20b.qcow2'],
  ['https://a.org/disk.qcow2?token=secret', ''],
  ['https://a.org/disk.qcow2#secret', ''],
  ['https://user:secret@a.org/disk.qcow2', ''],
  ['https://secret@a.org/disk.qcow2', ''],
])('%s is stored as "%s"', (link, expected) => {
  rememberLink('disk.qcow2', new URL(link));
  expect(linkOf('disk.qcow2')).toBe(expected);
  expect([...stored.values()].join()).not.toContain('secret');
});

test('each image has its latest link, until it is forgotten', () => {
  rememberLink('a', new URL('https://a.org/1'));
  rememberLink('b', new URL('https://b.org/'));
  rememberLink('a', new URL('https://a.org/2'));
  expect(['a', 'b', 'c'].map(linkOf)).toEqual(['https://a.org/2', 'https://b.org/', undefined]);
  forgetLink('a');
  expect(['a', 'b'].map(linkOf)).toEqual([undefined, 'https://b.org/']);
});

test('a link is forgotten after a week, as the download is', () => {
  vi.useFakeTimers();
  rememberLink('a', new URL('https://a.org/'));
  vi.advanceTimersByTime(6 * 86_400_000);
  expect(linkOf('a')).toBe('https://a.org/');
  vi.advanceTimersByTime(86_400_000);
  expect(linkOf('a')).toBe(undefined);
  rememberLink('b', new URL('https://b.org/'));
  expect([...stored.values()].join()).not.toContain('a.org');
});

test('unreadable and forbidden storage has no links', () => {
  stored.set('decant.links', '{');
  expect(linkOf('a')).toBe(undefined);
  vi.unstubAllGlobals();
  rememberLink('a', new URL('https://a.org/'));
  forgetLink('a');
  expect(linkOf('a')).toBe(undefined);
});
