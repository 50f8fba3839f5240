// Calls between workers.

import { describe, expect, test, vi } from 'vitest';
import { DecantError } from '../errors/errors.js';
import { type Methods, Moved, type Port, RpcClient, serve, type WorkerPort } from './rpc.js';

/** A worker in this thread that serves `methods`: its port, and a record of its calls. */
function worker(methods: Methods) {
  const seen = { posted: [] as unknown[], transfers: [] as unknown[][], alive: undefined as unknown, terminated: 0 };
  let [toWorker, toCaller, died]: ((data: never) => void)[] = [];
  const port: WorkerPort = {
    post: (message, transfer = []) => {
      seen.transfers.push(transfer);
      seen.posted.push(message);
      toWorker!(message as never);
    },
    listen: (message) => {
      toCaller = message;
    },
    onDeath: (listener) => {
      died = listener as never;
    },
    terminate: async () => {
      seen.terminated += 1;
    },
    keepAlive: (alive) => {
      seen.alive = alive;
    },
  };
  const inside: Port = {
    post: (message, transfer = []) => {
      seen.transfers.push(transfer);
      toCaller!(message as never);
    },
    listen: (message) => {
      toWorker = message;
    },
  };
  const report = serve(inside, methods);
  const client = new RpcClient<Record<string, (...args: never[]) => unknown>>(port);
  return { client, port, seen, report, die: (sentence: string) => died!(sentence as never) };
}

const failure = (work: Promise<unknown>) => work.catch((error: unknown) => error);

describe('a call', () => {
  test('is answered, in any order', async () => {
    const open: ((value: string) => void)[] = [];
    const { client } = worker({ ask: () => new Promise((resolve) => open.push(resolve)), add: (a, b) => a + b });
    const [one, two] = [client.call('ask'), client.call('ask')];
    expect(await client.call('add', ...([1, 2] as never[]))).toBe(3);
    open[1]!('second');
    expect(await two).toBe('second');
    open[0]!('first');
    expect(await one).toBe('first');
  });

  for (const [what, thrown, error] of [
    ['an error of the wasm', { kind: 'corrupt', message: 'a' }, { kind: 'corrupt', message: 'a' }],
    ['an error of the package', new DecantError('limit', 'a'), { kind: 'limit', message: 'a' }],
    ['another error', new TypeError('a'), { kind: 'internal', message: 'a' }],
    ['nothing', undefined, { kind: 'internal', message: 'no reason was given' }],
  ] as const) {
    test(`fails with ${what}`, async () => {
      const fail = () => {
        throw thrown;
      };
      const { client } = worker({ fail, reject: async () => fail() });
      for (const method of ['fail', 'reject']) {
        const seen = await failure(client.call(method));
        expect(seen).toBeInstanceOf(DecantError);
        expect(seen).toMatchObject(error);
      }
    });
  }

  test('of an unknown method fails', async () => {
    expect(await failure(worker({}).client.call('none'))).toMatchObject({ kind: 'internal' });
  });

  test('transfers its listed objects, and those of the result', async () => {
    const [given, got] = [new ArrayBuffer(1), new ArrayBuffer(2)];
    const { client, seen } = worker({ swap: () => new Moved(got, [got]) });
    expect(await client.callMoving([given], 'swap')).toBe(got);
    expect(seen.transfers).toEqual([[given], [got]]);
  });

  test('that cannot be posted fails alone', async () => {
    const { client, port } = worker({ add: (a, b) => a + b });
    const { post } = port;
    port.post = () => {
      throw new DOMException('no copy', 'DataCloneError');
    };
    expect(await failure(client.call('add'))).toMatchObject({ name: 'DataCloneError' });
    port.post = post;
    expect(await client.call('add', ...([1, 2] as never[]))).toBe(3);
  });
});

test('events reach their listener until it is removed', () => {
  const { client, report } = worker({});
  const seen: unknown[] = [];
  report('progress', 0);
  client.on('progress', (detail) => seen.push(detail));
  report('progress', 1);
  report('other', 2);
  client.off('progress');
  report('progress', 3);
  expect(seen).toEqual([1]);
});

describe('a worker that has died', () => {
  const open = () => {
    const deaths: string[] = [];
    const made = worker({ wait: () => new Promise(() => {}) });
    made.client.onDeath((sentence) => deaths.push(sentence));
    return { ...made, deaths, call: failure(made.client.call('wait')) };
  };

  for (const [what, end, sentence, terminated] of [
    ['by itself', ({ die }) => die('out of memory'), 'out of memory', 1],
    ['by its owner', ({ client }) => void client.terminate('disposed'), 'disposed', 1],
    [
      'by its owner, without a word',
      ({ client }) => void client.terminate(),
      'A worker ended unexpectedly (it was stopped); try again, perhaps with fewer workers',
      1,
    ],
    ['for its caller alone', ({ client }) => client.abandon('given up'), 'given up', 0],
  ] satisfies [string, (made: ReturnType<typeof open>) => void, string, number][]) {
    test(what, async () => {
      const made = open();
      expect(made.client.alive).toBe(true);
      end(made);
      expect(made.client.alive).toBe(false);
      expect(await made.call).toMatchObject({ kind: 'internal', message: sentence });
      expect(await failure(made.client.call('wait'))).toMatchObject({ kind: 'internal', message: sentence });
      expect(made.seen.posted).toHaveLength(1);
      // Only the first reason has an effect.
      made.die('once more');
      expect(made.deaths).toEqual([sentence]);
      expect(made.seen.terminated).toBe(what === 'for its caller alone' ? 1 : terminated + 1);
    });
  }
});

test('keepAlive is passed on to the worker', () => {
  const { client, seen } = worker({});
  client.keepAlive(false);
  expect(seen.alive).toBe(false);
});

test('a trap ends the worker instead of being answered: its memory may be corrupt', async () => {
  const later: (() => void)[] = [];
  vi.stubGlobal('setTimeout', (work: () => void) => later.push(work));
  const fail = () => {
    throw new WebAssembly.RuntimeError('unreachable');
  };
  const call = worker({ fail }).client.call('fail');
  await new Promise(setImmediate);
  expect(later).toHaveLength(1);
  expect(later[0]).toThrow('unreachable');
  expect(await Promise.race([call, 'no answer'])).toBe('no answer');
});
