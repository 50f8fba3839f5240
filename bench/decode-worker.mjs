// Decodes an image that is in memory, by the wasm that ships; what comes out is dropped.

import { parentPort, workerData } from 'node:worker_threads';
import { CancelHandle, initSync, OpenImage, Runner } from '../dist/wasm/plain/index.js';

const { module, bytes } = workerData;
initSync({ module });

const source = {
  size: bytes.length,
  read: (offset, into) => void into.set(bytes.subarray(offset, offset + into.length)),
};
const sink = { object: { write() {}, async truncate() {}, async close() {}, async abort() {} } };

parentPort.on('message', async () => {
  const image = await OpenImage.open({ source, companions: [], salvage: false });
  const runner = new Runner([source], undefined, sink);
  const start = performance.now();
  await image.convert(
    (job) => runner.run(job),
    1,
    32 << 20,
    sink,
    () => {},
    new CancelHandle(),
  );
  parentPort.postMessage(performance.now() - start);
});
parentPort.postMessage('ready');
