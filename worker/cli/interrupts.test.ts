import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { interrupted } from './interrupts.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

let kill: ReturnType<typeof vi.spyOn>;
let write: ReturnType<typeof vi.spyOn>;
beforeEach(() => {
  write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  vi.useFakeTimers();
  kill = vi.spyOn(process, 'kill').mockReturnValue(true);
});
afterEach(() => {
  vi.restoreAllMocks();
  for (const signal of SIGNALS) process.removeAllListeners(signal);
});

test.for(SIGNALS)('%s aborts', (signal) => {
  const interrupt = interrupted(false);
  expect(interrupt.aborted).toBe(false);
  process.emit(signal);
  expect(interrupt.aborted).toBe(true);
  expect(kill).not.toHaveBeenCalled();
});

test('one Ctrl-C that arrives twice counts once', () => {
  interrupted(false);
  process.emit('SIGINT');
  vi.advanceTimersByTime(199);
  process.emit('SIGINT');
  expect(kill).not.toHaveBeenCalled();
});

test.for(['SIGINT', 'SIGTERM'] as const)('a second %s ends the process by itself', (signal) => {
  interrupted(false);
  process.emit('SIGINT');
  vi.advanceTimersByTime(200);
  process.emit(signal);
  // The process is gone before anything else can be said.
  expect(write).toHaveBeenCalledExactlyOnceWith('decant: interrupted again before the clean-up ended\n');
  expect(write.mock.invocationCallOrder[0]).toBeLessThan(kill.mock.invocationCallOrder[0]!);
  expect(kill).toHaveBeenCalledWith(process.pid, signal);
  // It is not caught any more.
  expect(process.listenerCount(signal)).toBe(0);
});

test('a terminal that closes lets the command clean up', () => {
  interrupted(false);
  process.emit('SIGINT');
  vi.advanceTimersByTime(1000);
  process.emit('SIGHUP');
  expect(kill).not.toHaveBeenCalled();
});

test('a hang-up that was ignored at the start is still ignored', () => {
  const interrupt = interrupted(true);
  process.emit('SIGHUP');
  expect(interrupt.aborted).toBe(false);
  // Neither does it count as the first of two.
  vi.advanceTimersByTime(1000);
  process.emit('SIGINT');
  expect(interrupt.aborted).toBe(true);
  expect(kill).not.toHaveBeenCalled();
});
