// Loaded before a program: on SIGUSR2 it prints how many bytes JavaScript's buffers hold to standard error.

import { setTimeout as later } from 'node:timers/promises';
import { isMainThread } from 'node:worker_threads';

async function report() {
  let least = Number.POSITIVE_INFINITY;
  for (let turn = 0; turn < 10; turn += 1) {
    globalThis.gc?.();
    await later(10);
    least = Math.min(least, process.memoryUsage().arrayBuffers);
  }
  process.stderr.write(`held: ${least}\n`);
}

if (isMainThread) process.on('SIGUSR2', () => void report());
