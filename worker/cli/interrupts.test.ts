import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { interrupted } from './interrupts.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

let kill: ReturnType<typeof vi.spyOn>;
beforeEach(() => {
  vi.useFakeTimers();
  kill = vi.spyOn(process, 'kill').mockReturnValue(true);
});
afterEach(() => {
  for (const signal of SIGNALS) process.removeAllListeners(signal);
});

test.for(SIGNALS)('%s aborts', (signal) => {
  const interrupt = interrupted();
  expect(interrupt.aborted).toBe(false);
  process.emit(signal);
  expect(interrupt.aborted).toBe(true);
  expect(kill).not.toHaveBeenCalled();
});

test('one press that arrives twice is one', () => {
  interrupted();
  process.emit('SIGINT');
  vi.advanceTimersByTime(199);
  process.emit('SIGINT');
  expect(kill).not.toHaveBeenCalled();
});

test.for(['SIGINT', 'SIGTERM'] as const)('a second %s ends the process by itself', (signal) => {
  interrupted();
  process.emit('SIGINT');
  vi.advanceTimersByTime(200);
  process.emit(signal);
  expect(kill).toHaveBeenCalledWith(process.pid, signal);
  // Nobody catches it any more.
  expect(process.listenerCount(signal)).toBe(0);
});

test('a terminal that goes away meanwhile lets the command clean up', () => {
  interrupted();
  process.emit('SIGINT');
  vi.advanceTimersByTime(1000);
  process.emit('SIGHUP');
  expect(kill).not.toHaveBeenCalled();
});
