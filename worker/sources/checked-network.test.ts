// The traffic that custom sources and targets state.

import { expect, test } from 'vitest';
import type { Network } from '../public/types.js';
import { checkedNetwork } from './checked-network.js';

const COUNTS = { received: 1, sent: 0, retries: 2 };
const WAITING = { host: 'host', attempt: 0 };

test.for([
  [undefined, undefined],
  [null, undefined],
  [COUNTS, COUNTS],
  [
    { ...COUNTS, silence: 0.5, other: 5 },
    { ...COUNTS, silence: 0.5 },
  ],
  [
    { ...COUNTS, waiting: { ...WAITING, status: 503, completing: true, offline: undefined } },
    { ...COUNTS, waiting: { ...WAITING, status: 503, completing: true } },
  ],
])('%o is copied', ([network, copy]) => {
  const made = checkedNetwork(network as Network);
  expect(made).toEqual(copy);
  if (made) expect(made).not.toBe(network);
});

const COUNT = 'must be a number from 0, not';
test.for([
  [5, "'network' must be an object"],
  ['text', "'network' must be an object"],
  [{}, `'network.received' ${COUNT} undefined`],
  [{ ...COUNTS, received: 1n }, `'network.received' ${COUNT} 1`],
  [{ ...COUNTS, sent: 'a' }, `'network.sent' ${COUNT} a`],
  [{ ...COUNTS, sent: -1 }, `'network.sent' ${COUNT} -1`],
  [{ ...COUNTS, retries: Number.NaN }, `'network.retries' ${COUNT} NaN`],
  [{ ...COUNTS, retries: null }, `'network.retries' ${COUNT} null`],
  [{ ...COUNTS, silence: Number.POSITIVE_INFINITY }, `'network.silence' ${COUNT} Infinity`],
  [{ ...COUNTS, waiting: {} }, "'network.waiting.host' must be a string"],
  [{ ...COUNTS, waiting: { host: 'host' } }, `'network.waiting.attempt' ${COUNT} undefined`],
  [{ ...COUNTS, waiting: { ...WAITING, status: 'a' } }, `'network.waiting.status' ${COUNT} a`],
] as const)('%o is refused', ([network, message]) => {
  expect(() => checkedNetwork(network as unknown as Network)).toThrow(message);
});

test.for(['received', 'silence', 'waiting', 'waiting.host'])('a getter of %s that throws is called now', (name) => {
  const throwing = (field: string, rest: object): object =>
    Object.defineProperty({ ...rest }, field, {
      get() {
        throw new Error('boom');
      },
    });
  const network = name === 'waiting.host' ? { ...COUNTS, waiting: throwing('host', WAITING) } : throwing(name, COUNTS);
  expect(() => checkedNetwork(network as Network)).toThrow('boom');
});
