import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { NoAnswer, Overloaded, TransientFailure } from './http-failures.js';
import { LONGEST_TIMER } from './http-options.js';
import type { PendingRequest } from './http-types.js';
import { Retries } from './retries.js';

const never = new AbortController().signal;
const nothing = () => false;
const ENDLESS = Number.POSITIVE_INFINITY;

beforeEach(() => {
  vi.useFakeTimers();
  vi.setTimerTickMode('nextTimerAsync');
  // The longest wait that the jitter makes.
  vi.spyOn(Math, 'random').mockReturnValue(1);
});
afterEach(() => {
  vi.useRealTimers();
});

/** An attempt that fails with `failures`, one after the other, then succeeds; when each was made, in milliseconds. */
function failing(...failures: unknown[]): { attempt: () => Promise<string>; times: number[] } {
  const times: number[] = [];
  const begin = performance.now();
  const attempt = async () => {
    const failure = failures[times.length];
    times.push(performance.now() - begin);
    if (failure !== undefined) throw failure;
    return 'done';
  };
  return { attempt, times };
}

const passing = (count: number, wait?: number) =>
  Array.from({ length: count }, () => new TransientFailure('busy', wait));

test('the wait doubles up to 15 seconds', async () => {
  const retries = new Retries(ENDLESS);
  const { attempt, times } = failing(...passing(9));
  expect(await retries.run(attempt, nothing, never)).toBe('done');
  const waits = times.slice(1).map((time, at) => time - times[at]!);
  expect(waits).toEqual([250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000]);
  expect(retries.count).toBe(9);
});

test('the jitter makes a wait shorter, by at most a half', async () => {
  vi.mocked(Math.random).mockReturnValueOnce(0).mockReturnValueOnce(0.5);
  const { attempt, times } = failing(...passing(2));
  await new Retries(ENDLESS).run(attempt, nothing, never);
  expect(times).toEqual([0, 125, 125 + 375]);
});

test.for([
  ['shorter than its own', 0, 250],
  ['longer than its own', 60, 60_000],
  ['longer than a timer can', 1e9, LONGEST_TIMER],
] as const)('Retry-After: %s', async ([, wait, waited]) => {
  const { attempt, times } = failing(...passing(1, wait));
  await new Retries(ENDLESS).run(attempt, nothing, never);
  expect(times).toEqual([0, waited]);
});

test('a permanent failure is thrown at once', async () => {
  const lasting = new Error('gone');
  const { attempt, times } = failing(new TransientFailure('busy'), lasting);
  await expect(new Retries(ENDLESS).run(attempt, nothing, never)).rejects.toBe(lasting);
  expect(times).toHaveLength(2);
});

test.for([
  // Waits of 250, 500 and 1000 milliseconds.
  [249, 1],
  [250, 2],
  [749, 2],
  [750, 3],
  [1749, 3],
  [1750, 4],
])('a patience of %d milliseconds ends after %d attempts', async ([patience, attempts]) => {
  const failures = passing(9);
  const { attempt, times } = failing(...failures);
  await expect(new Retries(patience!).run(attempt, nothing, never)).rejects.toBe(failures[attempts! - 1]);
  expect(times).toHaveLength(attempts!);
});

test('patience ends before a longer Retry-After', async () => {
  const { attempt, times } = failing(...passing(9, 11));
  await expect(new Retries(10_000).run(attempt, nothing, never)).rejects.toThrow('busy');
  expect(times).toEqual([0]);
});

test('patience and waits start over after progress', async () => {
  const { attempt, times } = failing(...passing(6));
  // Before the fourth failure.
  const progressed = vi.fn(nothing).mockReturnValueOnce(false).mockReturnValueOnce(false).mockReturnValueOnce(false);
  progressed.mockReturnValueOnce(true);
  await new Retries(1750).run(attempt, progressed, never);
  const waits = times.slice(1).map((time, at) => time - times[at]!);
  expect(waits).toEqual([250, 500, 1000, 250, 500, 1000]);
});

test('patience counts from the first failure, however long an attempt takes before it', async () => {
  let attempts = 0;
  const slow = async () => {
    attempts += 1;
    await new Promise((resolve) => setTimeout(resolve, 60_000));
    if (attempts < 3) throw new TransientFailure('busy');
    return 'done';
  };
  await expect(new Retries(60_749).run(slow, nothing, never)).rejects.toThrow('busy');
  expect(attempts).toBe(2);
  attempts = 0;
  expect(await new Retries(60_750).run(slow, nothing, never)).toBe('done');
});

test('a server that has never answered gets three attempts', async () => {
  const { attempt, times } = failing(...Array.from({ length: 9 }, () => new NoAnswer('nobody')));
  await expect(new Retries(ENDLESS).run(attempt, nothing, never)).rejects.toThrow('nobody');
  expect(times).toHaveLength(3);
});

test('one that has answered with any status is retried until patience ends', async () => {
  const unanswered = Array.from({ length: 9 }, () => new NoAnswer('nobody'));
  const answered = new Retries(ENDLESS);
  answered.markReachable('host');
  expect(await answered.run(failing(...unanswered).attempt, nothing, never)).toBe('done');
  // It was busy twice, so that the third attempt is the third failure.
  const busy = new Retries(ENDLESS);
  const attempts = failing(new Overloaded('busy'), new Overloaded('busy'), ...unanswered);
  await expect(busy.run(attempts.attempt, nothing, never)).rejects.toThrow('nobody');
});

test('a cancel ends a wait', async () => {
  const cancel = new AbortController();
  const { attempt, times } = failing(...passing(9, 1000));
  setTimeout(() => cancel.abort(), 500);
  await expect(new Retries(ENDLESS).run(attempt, nothing, cancel.signal)).rejects.toMatchObject({ kind: 'cancelled' });
  expect(times).toHaveLength(1);
  expect(performance.now()).toBeLessThan(1000);
});

test('a failure by a cancel is not retried', async () => {
  const cancel = new AbortController();
  const attempt = vi.fn(async () => {
    cancel.abort(new Error('enough'));
    throw new TransientFailure('broken');
  });
  await expect(new Retries(ENDLESS).run(attempt, nothing, cancel.signal)).rejects.toThrow('enough');
  expect(attempt).toHaveBeenCalledOnce();
});

test('going online ends a wait', async () => {
  const page = new EventTarget();
  vi.stubGlobal('addEventListener', page.addEventListener.bind(page));
  vi.stubGlobal('removeEventListener', page.removeEventListener.bind(page));
  const { attempt, times } = failing(...passing(1, 1000));
  setTimeout(() => page.dispatchEvent(new Event('online')), 70);
  await new Retries(ENDLESS).run(attempt, nothing, never);
  expect(times).toEqual([0, 70]);
});

test('attempts at an unknown server do not count while the network is down', async () => {
  const network = { onLine: false };
  vi.stubGlobal('navigator', network);
  onTestFinished(() => {
    vi.unstubAllGlobals();
  });
  let attempts = 0;
  const attempt = async () => {
    attempts += 1;
    if (attempts === 6) network.onLine = true;
    throw new NoAnswer('no answer', undefined, { host: 'host' });
  };
  await expect(new Retries(ENDLESS).run(attempt, nothing, never)).rejects.toThrow('no answer');
  expect(attempts).toBe(8);
});

test('the report says whether the device is offline, except about a server that has answered', async () => {
  const network = { onLine: false };
  vi.stubGlobal('navigator', network);
  onTestFinished(() => {
    vi.unstubAllGlobals();
  });
  const reported = vi.fn();
  const retries = new Retries(ENDLESS, reported);
  const failures = [
    new NoAnswer('no answer', 8, { host: 'host' }),
    new Overloaded('busy', 8, { status: 503, host: 'host' }),
  ];
  setTimeout(() => {
    network.onLine = true;
  }, 6500);
  setTimeout(() => {
    network.onLine = false;
  }, 7500);
  await retries.run(failing(...failures).attempt, nothing, never);
  expect(reported.mock.calls.map(([waiting]) => waiting)).toEqual([
    { host: 'host', attempt: 1, offline: true },
    { host: 'host', attempt: 1 },
    { host: 'host', attempt: 1, offline: true },
    { host: 'host', attempt: 2, status: 503 },
    undefined,
  ]);
  const pending = new Retries(ENDLESS);
  pending.watch(awaited('host'));
  await new Promise((resolve) => setTimeout(resolve, 5000));
  expect(pending.waiting).toEqual({ host: 'host', attempt: 0, offline: true });
});

test('silence counts from the last progress, while a request fails', async () => {
  const retries = new Retries(ENDLESS);
  const reported: number[] = [];
  let attempts = 0;
  const attempt = async () => {
    reported.push(retries.silence);
    attempts += 1;
    if (attempts <= 3) throw new TransientFailure('busy', 10);
  };
  await new Promise((resolve) => setTimeout(resolve, 5000));
  expect(retries.silence).toBe(0);
  retries.received();
  await retries.run(attempt, nothing, never);
  expect(reported).toEqual([0, 10, 20, 30]);
  expect(retries.silence).toBe(0);
});

test('before the first success patience is one minute, unless given', async () => {
  const busy = () => failing(...passing(99));
  const begin = performance.now();
  await expect(new Retries().run(busy().attempt, nothing, never)).rejects.toThrow('busy');
  expect(performance.now() - begin).toBeGreaterThan(45_000);
  expect(performance.now() - begin).toBeLessThanOrEqual(60_000);
  expect(await new Retries(ENDLESS).run(busy().attempt, nothing, never)).toBe('done');
});

test('after a success patience is ten minutes', async () => {
  const retries = new Retries();
  await retries.run(async () => 'done', nothing, never);
  const begin = performance.now();
  await expect(retries.run(failing(...passing(99)).attempt, nothing, never)).rejects.toThrow('busy');
  expect(performance.now() - begin).toBeGreaterThan(585_000);
  expect(performance.now() - begin).toBeLessThanOrEqual(600_000);
});

test('patience with a silent server counts from the start before any response', async () => {
  const silent = async () => {
    await new Promise((resolve) => setTimeout(resolve, 30_000));
    throw new NoAnswer('silent');
  };
  const begin = performance.now();
  await expect(new Retries().run(silent, nothing, never)).rejects.toThrow('silent');
  expect(performance.now() - begin).toBe(60_250);
});

test('a response of another server does not extend the attempts', async () => {
  const retries = new Retries(ENDLESS);
  retries.markReachable('one');
  const elsewhere = Array.from({ length: 9 }, () => new NoAnswer('nobody', undefined, { host: 'other' }));
  const { attempt, times } = failing(...elsewhere);
  await expect(retries.run(attempt, nothing, never)).rejects.toThrow('nobody');
  expect(times).toHaveLength(3);
  retries.markReachable('other');
  expect(await retries.run(failing(...elsewhere).attempt, nothing, never)).toBe('done');
});

test('fewer than 1024 bytes are not progress', async () => {
  const retries = new Retries(ENDLESS);
  const silences: number[] = [];
  let attempts = 0;
  const attempt = async () => {
    attempts += 1;
    if (attempts === 2) retries.received(1023);
    if (attempts === 3) retries.received(1);
    silences.push(retries.silence);
    if (attempts < 4) throw new TransientFailure('busy', 10);
  };
  await retries.run(attempt, nothing, never);
  expect(silences).toEqual([0, 10, 0, 10]);
});

test('the server is reported after five seconds, with each attempt, and at the end', async () => {
  const reported: [number, unknown][] = [];
  const begin = performance.now();
  const retries = new Retries(ENDLESS, (waiting) => reported.push([performance.now() - begin, waiting]));
  const failures = [
    new TransientFailure('busy', 0, { status: 502, host: 'host' }),
    new TransientFailure('busy', 7, { status: 503, host: 'host' }),
    new NoAnswer('nobody', 3, { host: 'other' }),
  ];
  retries.markReachable('other');
  await retries.run(failing(...failures).attempt, nothing, never);
  expect(reported).toEqual([
    [5000, { host: 'host', status: 503, attempt: 2 }],
    [expect.any(Number), { host: 'other', attempt: 3 }],
    [10_250, undefined],
  ]);
  expect(retries.waiting).toBeUndefined();
});

test('no server is reported without failures, or after a short one', async () => {
  const reported = vi.fn();
  const retries = new Retries(ENDLESS, reported);
  await retries.run(failing(new TransientFailure('busy', 4)).attempt, nothing, never);
  expect(reported).not.toHaveBeenCalled();
  expect(vi.getTimerCount()).toBe(0);
});

/** A request for which `host` is waited from now on. */
function awaited(host: string, completing?: true): PendingRequest {
  const begin = performance.now();
  return {
    host,
    get waited() {
      return performance.now() - begin;
    },
    completing,
  };
}

test('a pending request is reported after five seconds, until bytes arrive', async () => {
  const reported: [number, unknown][] = [];
  const retries = new Retries(ENDLESS, (waiting) => reported.push([performance.now(), waiting]));
  const begin = performance.now();
  const request = awaited('host');
  retries.watch(request);
  await new Promise((resolve) => setTimeout(resolve, 4999));
  expect([retries.silence, retries.waiting]).toEqual([0, undefined]);
  await new Promise((resolve) => setTimeout(resolve, 3001));
  expect([retries.silence, retries.waiting]).toEqual([8, { host: 'host', attempt: 0 }]);
  retries.received(1);
  expect(retries.waiting).toBeDefined();
  retries.received();
  expect([retries.silence, retries.waiting]).toEqual([0, undefined]);
  retries.unwatch(request);
  expect(reported).toEqual([
    [begin + 5000, { host: 'host', attempt: 0 }],
    [begin + 8000, undefined],
  ]);
  expect(vi.getTimerCount()).toBe(0);
});

test('a pending request is not reported while others receive bytes', async () => {
  const reported = vi.fn();
  const retries = new Retries(ENDLESS, reported);
  const request = awaited('host');
  retries.watch(request);
  for (let second = 0; second < 60; second += 1) {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    retries.received();
  }
  retries.unwatch(request);
  expect(reported).not.toHaveBeenCalled();
});

test('the longest pending request is reported, also as completing', async () => {
  const retries = new Retries(ENDLESS);
  retries.watch(awaited('first', true));
  await new Promise((resolve) => setTimeout(resolve, 1000));
  retries.watch(awaited('second'));
  await new Promise((resolve) => setTimeout(resolve, 5000));
  expect(retries.waiting).toEqual({ host: 'first', attempt: 0, completing: true });
});

test('a failure is reported before a pending request', async () => {
  const retries = new Retries(ENDLESS);
  retries.watch(awaited('silent'));
  const work = retries.run(
    failing(new TransientFailure('busy', 20, { status: 503, host: 'busy' })).attempt,
    nothing,
    never,
  );
  await new Promise((resolve) => setTimeout(resolve, 10_000));
  expect(retries.waiting).toEqual({ host: 'busy', status: 503, attempt: 1 });
  await work;
});

const listenerFailure = { kind: 'usage', message: 'Could not report a wait: no', cause: new Error('no') };
const throwing = () => {
  throw new Error('no');
};
const rejecting = (() => Promise.reject(new Error('no'))) as () => void;
test.for([throwing, rejecting])('a listener that fails while a request is pending: %o', async (onWaiting) => {
  const retries = new Retries(ENDLESS, onWaiting);
  let aborted: AbortSignal | undefined;
  const attempt = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => {
      aborted = signal;
      signal.addEventListener('abort', () => reject(signal.reason));
      const begin = performance.now();
      retries.watch({
        host: 'silent',
        get waited() {
          return performance.now() - begin;
        },
      });
    });
  await expect(retries.run(attempt, nothing, never)).rejects.toMatchObject(listenerFailure);
  expect(aborted?.aborted).toBe(true);
  await expect(retries.run(async () => 'done', nothing, never)).rejects.toMatchObject(listenerFailure);
});

test.for([throwing, rejecting])('a listener that fails during a wait: %o', async (onWaiting) => {
  const retries = new Retries(ENDLESS, onWaiting);
  const { attempt } = failing(...passing(1, 60));
  await expect(retries.run(attempt, nothing, never)).rejects.toMatchObject(listenerFailure);
});
