import { expect, test } from 'vitest';
import { RequestLimit, RequestSlots } from './request-limit.js';

const MOST = 6;
const never = new AbortController().signal;

/** A host with as many requests under way as it may have. */
function full(): RequestSlots {
  const host = new RequestSlots();
  for (let count = 0; count < MOST; count += 1) {
    expect(host.isFree(() => {})).toBe(true);
    host.take();
  }
  return host;
}

const pending = (work: Promise<unknown>) =>
  Promise.race([work.then(() => false), new Promise<boolean>((resolve) => setImmediate(() => resolve(true)))]);

test('an origin has its own slots', () => {
  const limit = new RequestLimit();
  const host = RequestSlots.forOrigin(new URL('https://host/a'), limit);
  expect(RequestSlots.forOrigin(new URL('https://host:443/b?c'), limit)).toBe(host);
  for (const other of ['http://host/a', 'https://host:444/a', 'https://other/a']) {
    expect(RequestSlots.forOrigin(new URL(other), limit)).not.toBe(host);
  }
});

test('six requests at once, and the next ones in order of arrival', async () => {
  const host = full();
  const begun: string[] = [];
  const start = (name: string) => () => {
    begun.push(name);
    host.take();
  };
  expect(host.isFree(start('first'))).toBe(false);
  const entered = host.acquire(never).then(() => begun.push('second'));
  expect(host.isFree(start('third'))).toBe(false);
  expect(await pending(entered)).toBe(true);
  host.release();
  expect(begun).toEqual(['first']);
  host.release();
  await entered;
  expect(begun).toEqual(['first', 'second']);
  host.release();
  expect(begun).toEqual(['first', 'second', 'third']);
});

test('a waiter that does not start leaves its slot to the next one', () => {
  const host = full();
  const begun: string[] = [];
  host.isFree(() => begun.push('idle'));
  host.isFree(() => {
    begun.push('next');
    host.take();
  });
  host.isFree(() => begun.push('late'));
  host.release();
  expect(begun).toEqual(['idle', 'next']);
});

test('a callback that waits twice is called once', () => {
  const host = full();
  let calls = 0;
  const start = () => {
    calls += 1;
  };
  host.isFree(start);
  host.isFree(start);
  host.release();
  host.release();
  expect(calls).toBe(1);
});

test('a waiter that is cancelled takes no slot', async () => {
  const host = full();
  const cancel = new AbortController();
  const entering = host.acquire(cancel.signal);
  cancel.abort();
  await expect(entering).rejects.toMatchObject({ kind: 'cancelled' });
  host.release();
  expect(await pending(host.acquire(never))).toBe(false);
});

test('a request that is already cancelled takes no slot', async () => {
  const host = full();
  host.release();
  await expect(host.acquire(AbortSignal.abort())).rejects.toMatchObject({ kind: 'cancelled' });
  expect(host.isFree(() => {})).toBe(true);
});

test('limits are independent, and can differ', () => {
  const url = new URL('https://host/');
  const [one, two] = [new RequestLimit(2), new RequestLimit()];
  const host = RequestSlots.forOrigin(url, one);
  for (let count = 0; count < 2; count += 1) host.take();
  expect(host.isFree(() => {})).toBe(false);
  expect(RequestSlots.forOrigin(url, two)).not.toBe(host);
  expect(RequestSlots.forOrigin(url, two).isFree(() => {})).toBe(true);
});

test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '6', null])('%s is not a limit', (most) => {
  expect(() => new RequestLimit(most as number)).toThrow(expect.objectContaining({ kind: 'usage' }));
});
