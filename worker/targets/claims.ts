// The outputs that conversions are writing: two conversions to one file would waste the work of one.

import { DecantError } from '../errors/errors.js';
import type { Target } from '../public/types.js';

const claimed = new Set<string>();
const claimedHandles = new Set<{ handle: FileSystemFileHandle }>();

/** The conversion that is writing to each custom target or stream. */
export const writers = new WeakMap<Target, object>();

/** The error for an output that another conversion is writing. `shown` is its name in the message. */
export const outputInUse = (shown: string): DecantError =>
  new DecantError(
    'usage',
    `Another conversion is writing to ${shown}; wait until it has ended, or choose another output`,
    {
      code: 'output-in-use',
    },
  );

/**
 * Claims the output that `keys` identify, each alone, until the returned function is called. Throws `usage` if another conversion
 * of this thread has claimed one of them.
 */
export function claimOutput(shown: string, keys: string[]): () => void {
  if (keys.some((key) => claimed.has(key))) throw outputInUse(shown);
  for (const key of keys) claimed.add(key);
  let isReleased = false;
  return () => {
    if (isReleased) return;
    isReleased = true;
    for (const key of keys) claimed.delete(key);
  };
}

/**
 * Claims the file of `handle` until the returned function is called. Fails with `usage` if another conversion of this page has
 * claimed it, also by another handle.
 */
export async function claimHandle(handle: FileSystemFileHandle): Promise<() => void> {
  // Added before the comparisons, which take time: of two claims, the earlier one succeeds.
  const earlier = [...claimedHandles];
  const claim = { handle };
  claimedHandles.add(claim);
  const release = () => {
    claimedHandles.delete(claim);
  };
  try {
    for (const other of earlier)
      if ((await other.handle.isSameEntry(handle)) && claimedHandles.has(other)) throw outputInUse(`'${handle.name}'`);
    return release;
  } catch (thrown) {
    release();
    throw thrown;
  }
}
