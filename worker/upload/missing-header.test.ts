import { afterEach, expect, test, vi } from 'vitest';
import { lacksHeader, OTHER_SENDER } from './missing-header.js';
import { over } from './requests.test-support.js';
import { cloudOf, DISK, failure, runClock, TARGETS, upload } from './uploads.test-support.js';

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

test('only a page gets a hint about CORS rules', () => {
  expect(lacksHeader(200, 'ETag')).toBe(
    'its response (200) has no ETag; another kind of server, or the sign-in page of a network, may have answered',
  );
  vi.stubGlobal('document', {});
  expect(lacksHeader(200, 'ETag')).toBe(
    'its response (200) has no ETag, or the browser hides it: the CORS rules must expose ETag',
  );
});

test('an unexpected success is not described as one', async () => {
  const { requests } = over([() => new Response('<html>', { status: 200, statusText: 'OK' })]);
  const work = requests.send(() => ({ method: 'POST', url: 'https://cloud.test/disk' }), [201]);
  expect(await failure(work)).toContain(
    `the server answered 200 OK, which this request does not expect; ${OTHER_SENDER}`,
  );
});

test.each(['tus', 'page blob', 'block blob'] as const)('%s: a page instead of the first response', async (kind) => {
  vi.useFakeTimers();
  const cloud = cloudOf({ answer: ({ method }) => (method === 'HEAD' ? undefined : { status: 200, body: '<html>' }) });
  expect(await runClock(failure(upload(TARGETS[kind](cloud), DISK)))).toContain(OTHER_SENDER);
});
