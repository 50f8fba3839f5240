// Uploads pieces of 1 MiB, and prints how many bytes JavaScript's buffers hold once the server has all that is sent so far,
// after each of several amounts: JSON.
//
//     node --expose-gc upload-memory.mjs KIND ORIGIN HELD-BACK MIB...

import { setTimeout as later } from 'node:timers/promises';
import * as upload from '../../dist/upload.js';

const MIB = 1 << 20;
const [kind = '', origin, heldBack, ...amounts] = process.argv.slice(2);
const keys = { accessKeyId: 'public', secretAccessKey: 'secret' };
/** @type {Record<string, () => import('../../dist/upload.js').Target>} */
const targets = {
  s3: () => upload.s3Target({ url: `${origin}/s3/disk`, keys }),
  gcs: () => upload.gcsTarget({ url: `${origin}/gcs/disk` }),
  tus: () => upload.tusTarget({ url: `${origin}/tus/files` }),
  put: () => upload.putTarget({ url: `${origin}/put/disk` }),
  'page blob': () => upload.azurePageBlobTarget({ url: `${origin}/azure/disk` }),
  'block blob': () => upload.azureBlockBlobTarget({ url: `${origin}/azure/disk` }),
};

async function held() {
  let least = Number.POSITIVE_INFINITY;
  // Work that has just ended frees its buffers a few turns of the event loop later.
  for (let turn = 0; turn < 10; turn += 1) {
    globalThis.gc?.();
    await later(10);
    least = Math.min(least, process.memoryUsage().arrayBuffers);
  }
  return least;
}

const target = /** @type {() => import('../../dist/upload.js').Target} */ (targets[kind])();
const size = Math.max(...amounts.map(Number)) * MIB;
await target.open?.({ virtualSize: size, outputSize: size, ascending: true });
/** @type {number[]} */
const result = [];
let at = 0;
for (const amount of amounts.map(Number)) {
  for (; at < amount * MIB; at += MIB) await target.write(at, new Uint8Array(MIB).fill(1));
  while ((target.network?.sent ?? 0) < at - Number(heldBack) * MIB) await later(5);
  result.push(await held());
}
await target.close();
console.log(JSON.stringify(result));
