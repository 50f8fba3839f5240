import { beforeEach, expect, test, vi } from 'vitest';
import type { Waiting } from '../http/http-types.js';
import { WaitingLines } from './waiting-lines.js';

let printed: string[];
beforeEach(() => {
  printed = [];
  vi.useFakeTimers();
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => Boolean(printed.push(String(text))));
});

const BUSY = { host: 'host:8080', status: 502, attempt: 3 };
const line = (text: string) => `decant: waiting for the server: ${text}\n`;

test('one line for each server and status, and again after a minute', () => {
  const lines = new WaitingLines();
  const reported: [number, Waiting | undefined][] = [
    [0, BUSY],
    [1000, { ...BUSY, attempt: 4 }],
    [1000, undefined],
    [1000, { ...BUSY, attempt: 1 }],
    [1000, { host: 'host:8080', attempt: 5 }],
    [59_999, { host: 'host:8080', attempt: 6 }],
    [1, { host: 'host:8080', attempt: 7 }],
    [0, { host: 'other', attempt: 0 }],
    [30_000, { host: 'other', attempt: 1 }],
    [0, { host: 'other', attempt: 0, completing: true }],
    [1000, { host: 'other', attempt: 0, completing: true }],
  ];
  for (const [wait, waiting] of reported) {
    vi.advanceTimersByTime(wait);
    lines.report(waiting);
  }
  expect(printed).toEqual([
    line('502, attempt 3 (host:8080)'),
    line('no usable answer, attempt 5 (host:8080)'),
    line('no usable answer, attempt 7 (host:8080)'),
    line('no complete answer yet (other)'),
    line('it is completing the upload (other)'),
  ]);
});

test('no line while something else shows it', () => {
  const lines = new WaitingLines();
  lines.isSilenced = true;
  lines.report(BUSY);
  expect(printed).toEqual([]);
});
