// The traffic that custom sources and targets state, for progress.

import { shownValue } from '../errors/argument-checks.js';
import { DecantError } from '../errors/errors.js';
import { isObject } from '../errors/values.js';
import type { Network } from '../public/types.js';

type Waiting = NonNullable<Network['waiting']>;

const invalid = (message: string) => new DecantError('usage', message);

/**
 * Returns a copy of `network`, which may have any type at run time, so that no getter of it is called later. Throws `usage` if it is
 * invalid.
 */
export function checkedNetwork(network: Network | null | undefined): Network | undefined {
  if (network === undefined || network === null) return undefined;
  if (!isObject(network)) throw invalid("'network' must be an object");
  const { silence, waiting } = network;
  return {
    received: checkedCount(network.received, 'received'),
    sent: checkedCount(network.sent, 'sent'),
    retries: checkedCount(network.retries, 'retries'),
    ...(silence !== undefined && { silence: checkedCount(silence, 'silence') }),
    ...(waiting && { waiting: checkedWaiting(waiting) }),
  };
}

function checkedWaiting({ host, status, attempt, completing, offline }: Waiting): Waiting {
  if (typeof host !== 'string') throw invalid("'network.waiting.host' must be a string");
  return {
    host,
    ...(status !== undefined && { status: checkedCount(status, 'waiting.status') }),
    attempt: checkedCount(attempt, 'waiting.attempt'),
    ...(completing && { completing: true }),
    ...(offline && { offline: true }),
  };
}

function checkedCount(count: number, name: string): number {
  if (Number.isFinite(count) && count >= 0) return count;
  throw invalid(`'network.${name}' must be a number from 0, not ${shownValue(count)}`);
}
