// `sha256` in Node, beside Node's own.

import { createHash, randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type * as Decant from '../../dist/node.js';
import { expect, test } from '../support/node.js';

const { DecantError, sha256 } = (await import(
  fileURLToPath(new URL('../../dist/node.js', import.meta.url))
)) as typeof Decant;

const READ = 2 << 20;

for (const size of [0, 1, 64, READ - 1, READ, READ + 1, 3 * READ]) {
  test(`of ${size} bytes`, async () => {
    const bytes = randomBytes(size);
    const shares: number[] = [];
    const hash = await sha256(new Blob([bytes]), { onProgress: (share) => shares.push(share) });
    expect(hash).toBe(createHash('sha256').update(bytes).digest('hex'));
    expect(shares).toHaveLength(Math.ceil(size / READ));
    expect(shares.at(-1)).toBe(size > 0 ? 1 : undefined);
  });
}

test('it can be cancelled, and says what cannot be read', async () => {
  const cancel = new AbortController();
  const onProgress = () => cancel.abort();
  const cancelled = sha256(new Blob([randomBytes(3 * READ)]), { signal: cancel.signal, onProgress });
  await expect(cancelled).rejects.toMatchObject({ kind: 'cancelled' });
  const unreadable = new Blob(['content']);
  unreadable.slice = () => ({ arrayBuffer: () => Promise.reject(new Error('It is gone')) }) as unknown as Blob;
  const failure = await sha256(unreadable).catch((thrown: unknown) => thrown);
  expect(DecantError.is(failure)).toBe(true);
  expect(failure).toMatchObject({ kind: 'source', message: 'Could not read the file: It is gone' });
});
