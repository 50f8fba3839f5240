// Decodes an image in memory, by the shipped wasm, and discards the output.

import { parentPort, workerData } from 'node:worker_threads';
import { CancelHandle, Conversion, initSync, OpenImage, Runner } from '../target/wasm/workers/index.js';

const { module, bytes } = workerData;
initSync({ module });

const source = {
  size: bytes.length,
  read: (offset, into) => void into.set(bytes.subarray(offset, offset + into.length)),
};
const target = { object: { write() {}, async open() {}, async close() {}, async abort() {} } };
const output = { format: 'raw', formatOptions: {}, twoPass: false, seconds: 0, random: new Uint8Array(16) };

async function decode() {
  // Nothing is read in place, so no worker decodes for the opening.
  const image = await OpenImage.open(
    { source, companions: [], salvage: false },
    () => {},
    0,
    () => {},
  );
  const runner = new Runner([source], undefined, target);
  const start = performance.now();
  const conversion = new Conversion();
  conversion.add(image, (job) => runner.run(job), 0);
  await conversion.run(1, 32 << 20, output, target, undefined, () => {}, new CancelHandle());
  return performance.now() - start;
}

parentPort.on('message', () => {
  decode().then(
    (time) => parentPort.postMessage(time),
    (error) =>
      setImmediate(() => {
        throw error;
      }),
  );
});
parentPort.postMessage('ready');
