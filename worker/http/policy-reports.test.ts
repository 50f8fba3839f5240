// Reports of a page's policy, before and after the failure that they explain.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { PolicyReports, underPolicy } from './policy-reports.js';

let page: EventTarget;
beforeEach(() => {
  vi.useFakeTimers();
  page = new EventTarget();
  vi.stubGlobal('addEventListener', page.addEventListener.bind(page));
  vi.stubGlobal('removeEventListener', page.removeEventListener.bind(page));
  vi.stubGlobal('location', { origin: 'https://host.test', protocol: 'https:' });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const report = (effectiveDirective: string, blockedURI: string, others = {}) => {
  const violation = { effectiveDirective, blockedURI, disposition: 'enforce', originalPolicy: '', ...others };
  page.dispatchEvent(Object.assign(new Event('securitypolicyviolation'), violation));
};

const WASM = 'https://host.test/decant.wasm';
const SENTENCE = "The page's Content Security Policy forbids";

test.each([
  [
    'worker-src',
    'https://host.test/worker.js',
    `${SENTENCE} https://host.test/worker.js: add 'self' to its worker-src`,
  ],
  [
    'worker-src',
    'https://cdn.test/worker.js',
    `${SENTENCE} https://cdn.test/worker.js: add https://cdn.test to its worker-src`,
  ],
  ['worker-src', 'blob', `${SENTENCE} blob: add blob: to its worker-src`],
  ['worker-src', 'data:text/javascript,1', `${SENTENCE} data:text/javascript,1: add data: to its worker-src`],
])('a worker: %s, %s', async (directive, blocked, message) => {
  const reports = new PolicyReports();
  report('img-src', 'https://host.test/picture.png');
  report(directive, blocked);
  expect(await reports.forWorker()).toMatchObject({ kind: 'internal', code: 'policy', message, fields: { directive } });
});

test.each([
  ['connect-src', WASM, `${SENTENCE} ${WASM}: add 'self' to its connect-src`],
  ['script-src', 'wasm-eval', `${SENTENCE} WebAssembly: add 'wasm-unsafe-eval' to its script-src`],
  ['default-src', 'wasm-eval', `${SENTENCE} WebAssembly: add 'wasm-unsafe-eval' to its default-src`],
])('wasm: %s, %s', async (directive, blocked, message) => {
  const reports = new PolicyReports();
  report('connect-src', 'https://host.test/other');
  report(directive, blocked);
  expect(await reports.forWasm(WASM)).toMatchObject({ code: 'policy', message });
});

test('a report may follow the failure', async () => {
  const reports = new PolicyReports();
  const found = reports.forWorker();
  report('connect-src', WASM);
  await vi.advanceTimersByTimeAsync(1500);
  report('worker-src', 'blob');
  expect(await found).toMatchObject({ fields: { directive: 'worker-src', source: 'blob:' } });
});

test('without a report, the policy is not the reason', async () => {
  const reports = new PolicyReports();
  const found = [reports.forWorker(), new PolicyReports().forWasm(WASM)];
  await vi.advanceTimersByTimeAsync(2500);
  expect(await Promise.all(found)).toEqual([undefined, undefined]);
});

test('reports after the end are ignored', async () => {
  const reports = new PolicyReports();
  reports.end();
  report('worker-src', 'blob');
  const found = reports.forWorker();
  await vi.advanceTimersByTimeAsync(2500);
  expect(await found).toBeUndefined();
});

test('a policy that only reports is not the reason', async () => {
  const reports = new PolicyReports();
  report('worker-src', 'blob', { disposition: 'report' });
  const found = reports.forWorker();
  await vi.advanceTimersByTimeAsync(2500);
  expect(await found).toBeUndefined();
});

describe('requests', () => {
  const BUCKET = 'https://bucket.test';
  const REJECTION = new TypeError('Failed to fetch');

  const asked = async (thrown: unknown, ...violation: Parameters<typeof report>) => {
    vi.stubGlobal('SecurityPolicyViolationEvent', class {});
    const asking = underPolicy(BUCKET, async () => {
      report(...violation);
      throw thrown;
    }).catch((thrown: unknown) => thrown);
    await vi.advanceTimersByTimeAsync(1000);
    return asking;
  };

  test.each([
    [
      'of another origin',
      'https://bucket.test/disk',
      "default-src 'none'; connect-src 'self'",
      { directive: 'connect-src', source: BUCKET },
      `requests to ${BUCKET}: add ${BUCKET} to its connect-src`,
    ],
    [
      'of an origin that redirects',
      'https://bucket.test/disk',
      `default-src 'none'; connect-src 'self' ${BUCKET}`,
      { directive: 'connect-src' },
      `where ${BUCKET} redirects: add the origin of that address to its connect-src`,
    ],
  ])('%s', async (_, blocked, originalPolicy, fields, words) => {
    const failure = await asked(REJECTION, 'connect-src', blocked, { originalPolicy });
    const message = `the page's Content Security Policy forbids ${words}`;
    expect(failure).toMatchObject({ code: 'policy', fields, message });
  });

  test.each([
    ['*', true],
    ['https:', true],
    ['http:', true],
    ['HTTPS:', true],
    ['wss:', false],
    ['bucket.test', true],
    ['bucket.test:443', true],
    ['bucket.test:*', true],
    ['bucket.test:8443', false],
    ['https://bucket.test/some/path', true],
    ['http://bucket.test', true],
    ['*.test', true],
    ['*.bucket.test', false],
    ["'self'", false],
    ["'none'", false],
    ['other.test https://*.test:*', true],
  ])('the policy allows %s: it forbids a redirect: %s', async (sources, isRedirect) => {
    for (const originalPolicy of [`img-src a; connect-src ${sources}`, `default-src ${sources}`]) {
      const failure = await asked(REJECTION, 'connect-src', `${BUCKET}/disk`, { originalPolicy });
      expect(failure).toMatchObject({ code: 'policy', isSent: isRedirect });
    }
  });

  test.each([
    ['a report of another origin', REJECTION, 'connect-src', 'https://other.test/disk'],
    ['a report of another directive', REJECTION, 'img-src', 'https://bucket.test/disk'],
    ['a report of something without an origin', REJECTION, 'connect-src', 'inline'],
    ['a failure that is none of the network', new Error('a'), 'connect-src', 'https://bucket.test/disk'],
  ] as const)('%s is not the reason', async (_, thrown, directive, blocked) => {
    expect(await asked(thrown, directive, blocked)).toBe(thrown);
  });
});
