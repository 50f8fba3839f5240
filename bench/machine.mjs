// The machine's own speed: a fixed piece of work on every core, which shows whether two results can be compared.

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';

/** A core hashes so many bytes, so many times: some tenths of a second. */
const [BYTES, TIMES] = [4 << 20, 64];

function hash() {
  const bytes = Buffer.alloc(BYTES, 1);
  for (let time = 0; time < TIMES; time += 1) createHash('sha256').update(bytes).digest();
}

if (!isMainThread) {
  parentPort.on('message', () => {
    hash();
    parentPort.postMessage(undefined);
  });
}

/** One thread for each core, which wait between two pieces of work. */
let threads;

/** Resolves to the seconds that the work takes. */
export async function ownSpeed() {
  threads ??= Array.from({ length: availableParallelism() }, () => new Worker(fileURLToPath(import.meta.url)));
  const begin = performance.now();
  await Promise.all(
    threads.map(async (thread) => {
      const done = once(thread, 'message');
      thread.ref();
      thread.postMessage(undefined);
      await done;
      thread.unref();
    }),
  );
  return (performance.now() - begin) / 1000;
}
