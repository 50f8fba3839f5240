// Counts the messages between a Node process and its threads: loaded by `--import`, it writes the number to the file that
// COUNT_MESSAGES names. Messages between threads are not counted.

import { writeFileSync } from 'node:fs';
import { isMainThread, MessagePort, Worker } from 'node:worker_threads';

let messages = 0;

function count(prototype, method, isMessage) {
  const before = prototype[method];
  prototype[method] = function (...args) {
    if (isMessage(...args)) messages += 1;
    return before.apply(this, args);
  };
}

if (isMainThread) {
  for (const { prototype } of [Worker, MessagePort]) count(prototype, 'postMessage', () => true);
  count(Worker.prototype, 'emit', (type) => type === 'message');
  process.on('exit', () => writeFileSync(process.env.COUNT_MESSAGES, String(messages)));
}
