import { expect, test } from 'vitest';
import { Host, RequestLimit } from './host.js';

const MOST = 6;
const never = new AbortController().signal;

/** A host with as many requests under way as it may have. */
function full(): Host {
  const host = new Host();
  for (let count = 0; count < MOST; count += 1) {
    expect(host.hasRoom(() => {})).toBe(true);
    host.begin();
  }
  return host;
}

const pending = (work: Promise<unknown>) =>
  Promise.race([work.then(() => false), new Promise<boolean>((resolve) => setImmediate(() => resolve(true)))]);

test('an origin is one host', () => {
  const limit = new RequestLimit();
  const host = Host.of(new URL('https://host/a'), limit);
  expect(Host.of(new URL('https://host:443/b?c'), limit)).toBe(host);
  for (const other of ['http://host/a', 'https://host:444/a', 'https://other/a']) {
    expect(Host.of(new URL(other), limit)).not.toBe(host);
  }
});

test('six requests at once, and the next ones in the order in which they came', async () => {
  const host = full();
  const begun: string[] = [];
  const start = (name: string) => () => {
    begun.push(name);
    host.begin();
  };
  expect(host.hasRoom(start('first'))).toBe(false);
  const entered = host.enter(never).then(() => begun.push('second'));
  expect(host.hasRoom(start('third'))).toBe(false);
  expect(await pending(entered)).toBe(true);
  host.end();
  expect(begun).toEqual(['first']);
  host.end();
  await entered;
  expect(begun).toEqual(['first', 'second']);
  host.end();
  expect(begun).toEqual(['first', 'second', 'third']);
});

test('whoever waits and does not begin leaves room to the next one', () => {
  const host = full();
  const begun: string[] = [];
  host.hasRoom(() => begun.push('idle'));
  host.hasRoom(() => {
    begun.push('next');
    host.begin();
  });
  host.hasRoom(() => begun.push('late'));
  host.end();
  expect(begun).toEqual(['idle', 'next']);
});

test('whoever waits twice is called once', () => {
  const host = full();
  let calls = 0;
  const start = () => {
    calls += 1;
  };
  host.hasRoom(start);
  host.hasRoom(start);
  host.end();
  host.end();
  expect(calls).toBe(1);
});

test('one who gives up while waiting takes no room', async () => {
  const host = full();
  const cancel = new AbortController();
  const entering = host.enter(cancel.signal);
  cancel.abort();
  await expect(entering).rejects.toMatchObject({ kind: 'cancelled' });
  host.end();
  expect(await pending(host.enter(never))).toBe(false);
});

test('one who has given up before takes no room', async () => {
  const host = full();
  host.end();
  await expect(host.enter(AbortSignal.abort())).rejects.toMatchObject({ kind: 'cancelled' });
  expect(host.hasRoom(() => {})).toBe(true);
});

test('a limit is its own, and may be another number', () => {
  const url = new URL('https://host/');
  const [one, two] = [new RequestLimit(2), new RequestLimit()];
  const host = Host.of(url, one);
  for (let count = 0; count < 2; count += 1) host.begin();
  expect(host.hasRoom(() => {})).toBe(false);
  expect(Host.of(url, two)).not.toBe(host);
  expect(Host.of(url, two).hasRoom(() => {})).toBe(true);
});

test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '6', null])('%s is not a limit', (most) => {
  expect(() => new RequestLimit(most as number)).toThrow(expect.objectContaining({ kind: 'usage' }));
});
