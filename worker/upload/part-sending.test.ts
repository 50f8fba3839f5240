// Sending parts.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { TransientFailure } from '../http/http-failures.js';
import type { UploadPart } from './part-cutter.js';
import { appendPart, InFlight } from './part-sending.js';
import type { Body } from './request-body.js';
import { UploadRequests } from './upload-requests.js';
import { failure, held, runClock } from './uploads.test-support.js';

describe('several at once', () => {
  const turn = () => new Promise((done) => setImmediate(done));

  test('as many as allowed begin at once, and the next one when one of them ends', async () => {
    const flight = new InFlight(3);
    const all = Array.from({ length: 5 }, held);
    const begun: number[] = [];
    const beginning = (async () => {
      for (const [number, { work }] of all.entries()) {
        await flight.start(() => {
          begun.push(number);
          return work();
        });
      }
    })();
    await turn();
    expect(begun).toEqual([0, 1, 2]);
    all[1]!.succeed();
    await turn();
    expect(begun).toEqual([0, 1, 2, 3]);
    all[0]!.succeed();
    await beginning;
    expect(begun).toEqual([0, 1, 2, 3, 4]);
    for (const { succeed } of all) succeed();
    await flight.finish();
  });

  test('all() waits for the last one', async () => {
    const flight = new InFlight(2);
    const [first, second] = [held(), held()];
    await flight.start(first.work);
    await flight.start(second.work);
    let isOver = false;
    const over = flight.finish().then(() => {
      isOver = true;
    });
    first.succeed();
    await turn();
    expect(isOver).toBe(false);
    second.succeed();
    await over;
  });

  test('after a failure nothing begins, and all() fails with the first one', async () => {
    const flight = new InFlight(2);
    const [first, second] = [held(), held()];
    await flight.start(first.work);
    await flight.start(second.work);
    let hasBegun = false;
    const third = failure(
      flight.start(async () => {
        hasBegun = true;
      }),
    );
    first.fail('the first');
    second.fail('the second');
    expect(await third).toBe('the first');
    expect(hasBegun).toBe(false);
    expect(await failure(flight.finish())).toBe('the first');
  });

  test('a failure without a waiter is not an unhandled rejection', async () => {
    const flight = new InFlight(1);
    await flight.start(() => Promise.reject(new Error('unseen')));
    await turn();
    expect(await failure(flight.finish())).toBe('unseen');
  });
});

describe('in order', () => {
  beforeEach(() => {
    vi.useFakeTimers();
    vi.spyOn(Math, 'random').mockReturnValue(1);
  });
  afterEach(() => void vi.useRealTimers());

  const BYTES = Uint8Array.from({ length: 10 }, (_, at) => at);
  const digest = async () => new Uint8Array(16);
  const PART: UploadPart = { number: 2, offset: 20, size: 10, body: BYTES, isLast: false, written: 30, digest };

  /** The next response of a server: the offset that it states, or its failure. */
  type Step = ['append' | 'end', number | Error];
  const passing = new TransientFailure('the connection broke');

  /** Appends the part to a server that takes `steps`; resolves to the failure and the requests. */
  async function append(steps: Step[], part = PART) {
    const asked: string[] = [];
    const next = (what: string): Promise<number> => {
      asked.push(what);
      const [expected, outcome] = steps[asked.length - 1] ?? ['nothing', new Error(`nobody expected ${what}`)];
      if (!what.startsWith(expected)) return Promise.reject(new Error(`${what} instead of ${expected}`));
      return outcome instanceof Error ? Promise.reject(outcome) : Promise.resolve(outcome);
    };
    const appending = {
      append: (offset: number, body: Body) => next(`append ${offset}: ${(body as Uint8Array).join('')}`),
      end: () => next('end'),
    };
    const requests = new UploadRequests(undefined, { patience: 4 });
    return { failed: await runClock(failure(appendPart(requests, part, appending))), asked, requests };
  }

  test.each<[string, Step[], string[], string?]>([
    ['all at once', [['append', 30]], ['append 20: 0123456789']],
    [
      'in pieces, as the server takes them',
      [
        ['append', 23],
        ['append', 29],
        ['append', 30],
      ],
      ['append 20: 0123456789', 'append 23: 3456789', 'append 29: 9'],
    ],
    [
      'after a failure, from where the server has come',
      [
        ['append', passing],
        ['end', 24],
        ['append', 30],
      ],
      ['append 20: 0123456789', 'end', 'append 24: 456789'],
    ],
    [
      'after a failure that lost only the answer, nothing more',
      [
        ['append', passing],
        ['end', 30],
      ],
      ['append 20: 0123456789', 'end'],
    ],
    [
      'after a failure that lost all, all of it',
      [
        ['append', passing],
        ['end', 20],
        ['append', 30],
      ],
      ['append 20: 0123456789', 'end', 'append 20: 0123456789'],
    ],
    [
      'after a failure of the question, the question again',
      [
        ['append', passing],
        ['end', passing],
        ['end', 22],
        ['append', 30],
      ],
      ['append 20: 0123456789', 'end', 'end', 'append 22: 23456789'],
    ],
    [
      'after a piece and a failure, from where the server has come',
      [
        ['append', 25],
        ['append', passing],
        ['end', 27],
        ['append', 30],
      ],
      ['append 20: 0123456789', 'append 25: 56789', 'end', 'append 27: 789'],
    ],
    [
      'not at all where the server has less than was there before',
      [['append', 19]],
      ['append 20: 0123456789'],
      'Could not upload: the server has 19 bytes, but 20 to 30 were sent',
    ],
    [
      'not at all where the server has more than was sent',
      [['append', 31]],
      ['append 20: 0123456789'],
      'Could not upload: the server has 31 bytes, but 20 to 30 were sent',
    ],
    [
      'not at all where the server forgets, after a failure',
      [
        ['append', passing],
        ['end', 0],
      ],
      ['append 20: 0123456789', 'end'],
      'Could not upload: the server has 0 bytes, but 20 to 30 were sent',
    ],
    [
      'not at all where the server states no number',
      [['append', Number.NaN]],
      ['append 20: 0123456789'],
      'Could not upload: the server has NaN bytes, but 20 to 30 were sent',
    ],
  ])('a part arrives %s', async (_, steps, expected, failed = 'nothing failed') => {
    const appended = await append(steps);
    expect(appended.failed).toBe(failed);
    expect(appended.asked).toEqual(expected);
  });

  test('a server that stores nothing is retried with growing waits, until patience ends', async () => {
    const steps = Array.from({ length: 20 }, (_, at): Step => [at % 2 === 0 ? 'append' : 'end', 20]);
    const { failed, asked, requests } = await append(steps);
    expect(failed).toBe('Could not upload: the server stored none of the bytes that were sent');
    // After 0.25, 0.5, 1 and 2 seconds; 4 more were too late.
    expect(asked.filter((what) => what !== 'end')).toHaveLength(5);
    expect(requests.network.retries).toBe(4);
  });

  test('an offset that moves back and forth is retried with growing waits, until patience ends', async () => {
    const ends = [25, 21];
    const steps = Array.from(
      { length: 20 },
      (_, at): Step => [at % 2 === 1 ? 'append' : 'end', ends[at % 4 === 1 ? 0 : 1]!],
    );
    const { failed, asked, requests } = await append([['append', 25], ['append', 21], ...steps]);
    expect(failed).toBe('Could not upload: the server stored none of the bytes that were sent');
    expect(asked.filter((what) => what !== 'end')).toHaveLength(6);
    expect(requests.network.retries).toBe(4);
  });

  test('a server that stores a byte of each request is retried with growing waits, until patience ends', async () => {
    const part = { ...PART, size: 1000, body: new Uint8Array(1000) };
    const steps = Array.from({ length: 20 }, (_, at): Step => [at % 2 === 0 ? 'append' : 'end', 21 + (at >> 1)]);
    const { failed, asked } = await append(steps, part);
    expect(failed).toBe('Could not upload: the server stored hardly any of the bytes that were sent');
    expect(asked.filter((what) => what !== 'end')).toHaveLength(5);
  });

  test('an offset that moves back once costs a wait', async () => {
    const { failed, requests } = await append([
      ['append', 25],
      ['append', 21],
      ['end', 21],
      ['append', 30],
    ]);
    expect(failed).toBe('nothing failed');
    expect(requests.network.retries).toBe(1);
  });

  test('an empty last part is sent once', async () => {
    const part = { ...PART, size: 0, body: new Uint8Array(), isLast: true };
    expect(await append([['append', 20]], part)).toMatchObject({ failed: 'nothing failed', asked: ['append 20: '] });
  });
});
