// Converts an image by the shipped wasm, in this process, and prints counts as JSON.
//
//     node count.mjs IMAGE

import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { allocations, CancelHandle, Conversion, initSync, OpenImage, Runner } from '../../target/wasm/workers/index.js';

const wasm = new URL('../../dist/decant.wasm', import.meta.url);
initSync({ module: new WebAssembly.Module(readFileSync(wasm)) });

const fd = openSync(/** @type {string} */ (process.argv[2]), 'r');
/** @type {[number, number][]} */
const reads = [];
/** @type {[number, number][]} */
const writes = [];
const source = {
  size: fstatSync(fd).size,
  read(/** @type {number} */ offset, /** @type {Uint8Array} */ bytes) {
    reads.push([offset, bytes.length]);
    readSync(fd, bytes, 0, bytes.length, offset);
  },
};
const object = {
  write: (/** @type {number} */ offset, /** @type {Uint8Array} */ bytes) => void writes.push([offset, bytes.length]),
  async open() {},
  async close() {},
  async abort() {},
};

// Nothing is read in place, so no worker decodes for the opening.
const image = await OpenImage.open(
  { source, companions: [], salvage: false },
  () => {},
  0,
  () => {},
);
const runner = new Runner([source], undefined, { object });
/** The allocations of each job. */
/** @type {number[]} */
const ofJobs = [];
const before = allocations();
// One job at a time, so that counts belong to one job.
let last = Promise.resolve();
const dispatch = (/** @type {Uint8Array} */ job) => {
  const result = last.then(async () => {
    const start = allocations();
    const reply = await runner.run(job);
    ofJobs.push(allocations() - start);
    return reply;
  });
  // The conversion reports a failure.
  last = result.catch(() => {});
  return result;
};
const output = { format: 'raw', formatOptions: {}, twoPass: false, seconds: 0, random: new Uint8Array(16) };
const conversion = new Conversion();
conversion.add(image, dispatch, 0);
const { progress } = await conversion.run(1, 32 << 20, output, { object }, undefined, () => {}, new CancelHandle());
const all = allocations() - before;
closeSync(fd);

/** How many bytes `ranges` have together, and how many of them are different ones. */
function measure(/** @type {[number, number][]} */ ranges) {
  let [total, union, end] = [0, 0, 0];
  for (const [start, length] of ranges.toSorted(([a], [b]) => a - b)) {
    total += length;
    union += Math.max(0, start + length - Math.max(start, end));
    end = Math.max(end, start + length);
  }
  return { calls: ranges.length, total, union };
}

console.log(JSON.stringify({ ofJobs, all, reads: measure(reads), writes: measure(writes), progress }));
