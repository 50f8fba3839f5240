// Cancelling what a coordinator does: it has less than a second to obey.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { WorkerPort } from '../rpc.js';
import { type Opening, Session } from './session.js';
import { endAllWorkers } from './warm.js';

/** A coordinator that opens images. It converts until it is cancelled, or forever. */
class FakeCoordinator implements WorkerPort {
  readonly asked: string[] = [];
  isTerminated = false;
  #converting: number | undefined;
  #answer: (data: unknown) => void = () => {};

  constructor(private readonly obeys: boolean) {}

  post(message: unknown): void {
    const { id, method } = message as { id: number; method: string };
    this.asked.push(method);
    if (method === 'convert') this.#converting = id;
    else this.#answer({ id, result: method === 'open' ? { image: 1 } : undefined });
    if (method === 'cancel' && this.obeys) {
      this.#answer({ id: this.#converting, error: { kind: 'cancelled', message: 'The conversion was cancelled' } });
    }
  }

  listen(answer: (data: unknown) => void): void {
    this.#answer = (data) => queueMicrotask(() => answer(data));
  }

  onDeath(): void {}

  async terminate(): Promise<void> {
    this.isTerminated = true;
  }

  keepAlive(): void {}
}

async function open(obeys: boolean) {
  const coordinator = new FakeCoordinator(obeys);
  const opening = {
    starter: {
      spawn: () => coordinator,
      builds: () => ({ small: 'plain', full: 'extras' }),
      module: async () => ({}),
    },
    sources: { lend: () => ({ ports: [], image: {}, explain: (error: Error) => error, cancel() {}, end() {} }) },
    engine: 'workers',
  };
  const session = await Session.open(opening as unknown as Opening, false);
  session.hold();
  return { session, coordinator, abort: new AbortController() };
}

/** Converts with `session`; `ended` says how, once it has ended. */
function convert(session: Session, signal: AbortSignal, others?: { overdue: () => boolean }) {
  const run: { ended?: string } = {};
  session
    .run(signal, () => session.client.call('convert', {} as never), others)
    .then(
      () => {
        run.ended = 'done';
      },
      ({ kind }) => {
        run.ended = kind;
      },
    );
  return run;
}

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(async () => {
  await endAllWorkers();
  vi.useRealTimers();
});

test('a coordinator that obeys stays, and has ended at once', async () => {
  const { session, coordinator, abort } = await open(true);
  const run = convert(session, abort.signal);
  abort.abort();
  await vi.advanceTimersByTimeAsync(0);
  expect(run.ended).toBe('cancelled');
  await vi.advanceTimersByTimeAsync(2000);
  expect(coordinator.isTerminated).toBe(false);
  expect(session.usable).toBe(true);
});

test('one that does not obey: workers are overdue after 600 ms, and it is ended 150 ms later', async () => {
  const { session, coordinator, abort } = await open(false);
  const overdue = vi.fn(() => true);
  const run = convert(session, abort.signal, { overdue });
  abort.abort();
  await vi.advanceTimersByTimeAsync(599);
  expect(overdue).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(overdue).toHaveBeenCalledOnce();
  await vi.advanceTimersByTimeAsync(149);
  expect([coordinator.isTerminated, run.ended]).toEqual([false, undefined]);
  await vi.advanceTimersByTimeAsync(1);
  expect([coordinator.isTerminated, run.ended]).toEqual([true, 'cancelled']);
  expect(session.usable).toBe(false);
});

test('one that completes the file is not ended', async () => {
  const { session, coordinator, abort } = await open(false);
  const run = convert(session, abort.signal, { overdue: () => false });
  abort.abort();
  await vi.advanceTimersByTimeAsync(60_000);
  expect([coordinator.isTerminated, run.ended]).toEqual([false, undefined]);
});

test('one that somebody else still uses is ended when only the cancelled one is left', async () => {
  const { session, coordinator, abort } = await open(false);
  let finish!: () => void;
  const other = session.run(new AbortController().signal, () => new Promise<void>((done) => (finish = done)));
  const run = convert(session, abort.signal);
  abort.abort();
  await vi.advanceTimersByTimeAsync(60_000);
  expect([coordinator.isTerminated, run.ended]).toEqual([false, undefined]);
  finish();
  await other;
  await vi.advanceTimersByTimeAsync(0);
  expect([coordinator.isTerminated, run.ended]).toEqual([true, 'cancelled']);
});

test('what was cancelled before does not begin', async () => {
  const { session, coordinator } = await open(true);
  const run = convert(session, AbortSignal.abort());
  await vi.advanceTimersByTimeAsync(0);
  expect(run.ended).toBe('cancelled');
  expect(coordinator.asked).toEqual(['startCoordinator', 'open']);
});
