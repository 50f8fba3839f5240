// The coordinator of a session when operations fail, are cancelled, or ignore a cancel.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { DecantError } from '../errors/errors.js';
import { FakeWorkers } from './fake-workers.test-support.js';
import { ImageSession, type ImageSetup } from './image-session.js';
import { endAllWorkers } from './warm.js';

/** How long an operation may take to end after a cancel, and how much later its coordinator is ended, in milliseconds. */
const [STOP_TIME, MORE_TIME] = [600, 150];

/** The workers' answer to `open`. */
let open: () => unknown;
const workers = new FakeWorkers({
  startCoordinator: () => {},
  open: () => open(),
  cancel: (operation: number) => void workers.log.push(`cancel ${operation}`),
  close: (image: number) => void workers.log.push(`close ${image}`),
});
/** The events, in order. */
let log: string[];

const loan = {
  ports: [],
  image: {},
  cancel: () => void log.push('give up reads'),
  end: () => void log.push('return sources'),
  explain: (error: DecantError) => new DecantError(error.kind, `${error.message}, explained`),
};

const setup = () =>
  ({
    starter: workers.starter,
    sources: { lend: () => loan },
    settings: {},
    engine: 'workers',
    engineReason: '',
    workers: 1,
  }) as unknown as ImageSetup;

const opened = { image: 7, info: {}, formats: [], members: [], comesInOrder: false };
const never = () => new Promise<never>(() => {});
const failure = (work: Promise<unknown>) => work.catch((error: unknown) => error);

beforeEach(() => {
  vi.useFakeTimers();
  log = [];
  workers.log = log;
  open = () => opened;
});
afterEach(async () => {
  await endAllWorkers();
  vi.useRealTimers();
});

describe('opening', () => {
  test('holds the sources', async () => {
    const session = await ImageSession.open(setup());
    expect([session.image, session.usable, log]).toEqual([7, true, []]);
  });

  test('a failure returns the sources and keeps the coordinator', async () => {
    open = () => {
      throw new DecantError('corrupt', 'damaged');
    };
    expect(await failure(ImageSession.open(setup()))).toMatchObject({
      kind: 'corrupt',
      message: 'damaged, explained',
    });
    expect(log).toEqual(['return sources']);
  });

  test('a failure of the coordinator itself ends it', async () => {
    open = () => {
      throw new DecantError('internal', 'out of memory');
    };
    expect(await failure(ImageSession.open(setup()))).toMatchObject({ kind: 'internal' });
    expect(log).toEqual(['terminate workers', 'return sources']);
  });

  test.each([
    ['a choice', { choice: { kind: 'usage', code: 'several-images', message: 'two disks', fields: {} } }, 'usage'],
    ['the disk of a machine', { disk: { file: 0 } }, 'unsupported'],
  ])('%s is an answer, and an error where an image is wanted', async (_, answer, kind) => {
    open = () => answer;
    expect(await ImageSession.openFile(setup())).toEqual(answer);
    expect(await failure(ImageSession.open(setup()))).toMatchObject({ kind });
    expect(log).toEqual(['return sources', 'return sources']);
  });

  test('a cancel waits until all reads have ended', async () => {
    let answer = (_: unknown) => {};
    const answered = new Promise((resolve) => {
      answer = resolve;
    });
    open = () => answered;
    const abort = new AbortController();
    const ended = failure(ImageSession.open(setup(), abort.signal));
    await vi.advanceTimersByTimeAsync(0);
    abort.abort();
    await vi.advanceTimersByTimeAsync(STOP_TIME - 1);
    expect(log).toEqual(['give up reads']);
    answer(opened);
    expect(await ended).toMatchObject({ kind: 'cancelled' });
    expect(log).toEqual(['give up reads', 'close 7', 'return sources']);
  });

  test('a coordinator that ignores a cancel is ended', async () => {
    open = never;
    const abort = new AbortController();
    const ended = failure(ImageSession.open(setup(), abort.signal));
    await vi.advanceTimersByTimeAsync(0);
    abort.abort();
    await vi.advanceTimersByTimeAsync(STOP_TIME);
    expect(await ended).toMatchObject({ kind: 'cancelled' });
    expect(log).toEqual(['give up reads', 'terminate workers', 'return sources']);
  });
});

describe('an operation', () => {
  let session: ImageSession;
  let abort: AbortController;
  beforeEach(async () => {
    session = await ImageSession.open(setup());
    abort = new AbortController();
  });

  test('is done', async () => {
    expect(await session.run(abort.signal, async () => 7)).toBe(7);
    abort.abort();
    await vi.advanceTimersByTimeAsync(STOP_TIME + MORE_TIME);
    expect([log, session.usable]).toEqual([[], true]);
  });

  test('does not start after a cancel', async () => {
    const work = vi.fn(never);
    expect(await failure(session.run(AbortSignal.abort(), work))).toMatchObject({ kind: 'cancelled' });
    expect(work).not.toHaveBeenCalled();
  });

  for (const [kind, isElsewhere, usable] of [
    ['corrupt', false, true],
    ['internal', true, true],
    ['internal', false, false],
  ] as const) {
    test(`fails with ${kind}${isElsewhere ? ' outside of the coordinator' : ''}: the session ${usable ? 'stays' : 'is spent'}`, async () => {
      const work = () => Promise.reject(new DecantError(kind, 'broken'));
      const error = await failure(session.run(abort.signal, work, { isElsewhere: () => isElsewhere }));
      expect(error).toMatchObject({ kind, message: 'broken, explained' });
      expect(session.usable).toBe(usable);
    });
  }

  test('ends in time after a cancel: the session stays', async () => {
    let stop = () => {};
    let number = -1;
    const ended = failure(
      session.run(abort.signal, (operation) => {
        number = operation;
        return new Promise((_, reject) => {
          stop = () => reject(new DecantError('cancelled', 'stopped'));
        });
      }),
    );
    abort.abort();
    await vi.advanceTimersByTimeAsync(STOP_TIME + MORE_TIME - 1);
    expect(log).toEqual([`cancel ${number}`]);
    stop();
    expect(await ended).toMatchObject({ kind: 'cancelled', message: 'The operation was cancelled' });
    await vi.advanceTimersByTimeAsync(STOP_TIME + MORE_TIME);
    expect([log.length, session.usable]).toEqual([1, true]);
  });

  /** An operation that ignores cancels; it fails when its coordinator is ended. */
  const stuck = () => session.client.call('open', {} as never, 1);

  test('ignores a cancel: its coordinator is ended', async () => {
    open = never;
    const ended = failure(session.run(abort.signal, stuck));
    abort.abort();
    await vi.advanceTimersByTimeAsync(STOP_TIME + MORE_TIME - 1);
    expect([log.length, session.usable]).toEqual([1, true]);
    await vi.advanceTimersByTimeAsync(1);
    expect(await ended).toMatchObject({ kind: 'cancelled' });
    expect([log.at(-1), session.usable]).toEqual(['terminate workers', false]);
  });

  test('ignores a cancel because of the pool: the coordinator stays', async () => {
    open = never;
    const overdue = vi.fn(() => false);
    // It fails when the test ends all workers.
    session.run(abort.signal, stuck, { overdue }).catch(() => {});
    abort.abort();
    await vi.advanceTimersByTimeAsync(10 * (STOP_TIME + MORE_TIME));
    expect(overdue).toHaveBeenCalledOnce();
    expect([log.length, session.usable]).toEqual([1, true]);
  });

  test('ignores a cancel while others run: the coordinator ends with the last of them', async () => {
    open = never;
    let done = (_: number) => {};
    const other = session.run(new AbortController().signal, () => {
      return new Promise<number>((resolve) => {
        done = resolve;
      });
    });
    const ended = failure(session.run(abort.signal, stuck));
    abort.abort();
    await vi.advanceTimersByTimeAsync(10 * (STOP_TIME + MORE_TIME));
    expect([log.length, session.usable]).toEqual([1, false]);
    done(7);
    expect(await other).toBe(7);
    expect(await ended).toMatchObject({ kind: 'cancelled' });
    expect(log.at(-1)).toBe('terminate workers');
  });
});

test('an operation that ends late after a cancel does not end the others', async () => {
  const session = await ImageSession.open(setup());
  const [abort, stops]: [AbortController, (() => void)[]] = [new AbortController(), []];
  const work = () => new Promise<void>((resolve) => stops.push(resolve));
  const late = session.run(abort.signal, work);
  const other = session.run(new AbortController().signal, work);
  abort.abort();
  await vi.advanceTimersByTimeAsync(STOP_TIME + MORE_TIME);
  stops[0]!();
  await late;
  expect([log.length, session.usable]).toEqual([1, false]);
  stops[1]!();
  await other;
  expect(log).toHaveLength(1);
});

describe('an end', () => {
  test('closes the image and returns the sources, once', async () => {
    const session = await ImageSession.open(setup());
    const ended = vi.fn();
    session.onEnd = ended;
    await Promise.all([session.end(), session.end()]);
    expect(log).toEqual(['give up reads', 'close 7', 'return sources']);
    expect([ended.mock.calls.length, session.usable]).toEqual([1, false]);
  });

  test('comes with the last user of a session that was given up, and ends the coordinator', async () => {
    const session = await ImageSession.open(setup());
    session.hold();
    session.hold();
    await session.giveUp();
    await session.release();
    expect([log, session.usable]).toEqual([[], false]);
    await session.release();
    expect(log).toEqual(['give up reads', 'close 7', 'terminate workers', 'return sources']);
  });

  test('does not come with the last user alone', async () => {
    const session = await ImageSession.open(setup());
    session.hold();
    await session.release();
    expect([log, session.usable]).toEqual([[], true]);
  });
});
