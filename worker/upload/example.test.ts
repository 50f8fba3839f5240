// The console example wraps a target of this package.

import { expect, test } from 'vitest';
import type { Target } from '../public/types.js';
import { s3Target } from './index.js';

/** All that a conversion looks at before it calls anything. */
const SAYS = ['abortTimeout', 'concurrency', 'network', 'ascending', 'resumes'] as const satisfies (keyof Target)[];

test('the upload of the console example passes on the properties of its target', async () => {
  const example = new URL('../../examples/console/src/bucket.js', import.meta.url).href;
  const { BucketUpload } = (await import(/* @vite-ignore */ example)) as {
    BucketUpload: new (name: string, onSent: () => void) => Target;
  };
  const upload = new BucketUpload('disk.raw', () => {});
  const target = s3Target({ sign: async () => 'https://bucket.test/disk.raw' });
  // Without a journal it does not resume.
  for (const member of SAYS) expect(upload[member] || undefined, member).toEqual(target[member] || undefined);
});
