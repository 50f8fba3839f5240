// Interrupts, and whether a hang-up was ignored, by the environment and by the parent process.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ignoresHangUp, interrupts } from './interrupts.js';

describe('interrupts', () => {
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

  test.for([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('%s aborts, and the exit code is %i', ([name, code]) => {
    const { signal, exitCode } = interrupts(false);
    expect(signal.aborted).toBe(false);
    process.emit(name);
    expect(signal.aborted).toBe(true);
    // The first interrupt counts.
    for (const other of SIGNALS) process.emit(other);
    expect(exitCode()).toBe(code);
    expect(kill).not.toHaveBeenCalled();
  });

  test('one Ctrl-C that arrives twice counts once', () => {
    interrupts(false);
    process.emit('SIGINT');
    vi.advanceTimersByTime(199);
    process.emit('SIGINT');
    expect(kill).not.toHaveBeenCalled();
  });

  test.for(['SIGINT', 'SIGTERM'] as const)('a second %s ends the process by itself', (signal) => {
    interrupts(false);
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
    interrupts(false);
    process.emit('SIGINT');
    vi.advanceTimersByTime(1000);
    process.emit('SIGHUP');
    expect(kill).not.toHaveBeenCalled();
  });

  test('a hang-up that was ignored at the start is still ignored', () => {
    const { signal, exitCode } = interrupts(true);
    process.emit('SIGHUP');
    expect(signal.aborted).toBe(false);
    // It does not count as the first of two interrupts, either.
    vi.advanceTimersByTime(1000);
    process.emit('SIGINT');
    expect(signal.aborted).toBe(true);
    expect(exitCode()).toBe(130);
    expect(kill).not.toHaveBeenCalled();
  });
});

describe('hang-ups', () => {
  const status = (mask: string) =>
    `Name:\tsh\nSigBlk:\t0000000000000001\nSigIgn:\t${mask}\nSigCgt:\t0000000000000001\n`;
  const NONE = status('0000000000001000');
  const HANG_UP = status('0000000000001001');

  for (const [what, program, parent, expected] of [
    ['nohup', '/usr/bin/nohup', NONE, true],
    ['nohup without a folder', 'nohup', NONE, true],
    ['nohup on a system without /proc', '/usr/bin/nohup', undefined, true],
    ['a parent that ignores hang-ups', '/usr/bin/node', HANG_UP, true],
    ['another program', '/opt/mynohup', NONE, false],
    ['a shell that does not tell the program', undefined, NONE, false],
    ['a system without /proc', '/usr/bin/node', undefined, false],
  ] as const) {
    test(what, () => {
      expect(ignoresHangUp(program ?? '', parent ?? '')).toBe(expected);
    });
  }
});
