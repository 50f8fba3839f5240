// Converts an image once its workers are warm, and prints the seconds, and the memory of the process in MiB: idle, and at
// its peak.
//
//     node own-convert.mjs PACKAGE SMALL IMAGE OUTPUT [source] [target]

import { readFileSync } from 'node:fs';
import { open as openFile } from 'node:fs/promises';

const [decant, small, path, output, ...own] = process.argv.slice(2);
const { open } = await import(decant);

async function fileSource(path) {
  const file = await openFile(path);
  const { size } = await file.stat();
  return {
    size,
    async read(offset, length) {
      const bytes = new Uint8Array(length);
      for (let at = 0; at < length; ) at += (await file.read(bytes, at, length - at, offset + at)).bytesRead;
      return bytes;
    },
    close: () => file.close(),
  };
}

async function fileTarget(path) {
  const file = await openFile(path, 'w');
  return {
    open: ({ outputSize }) => file.truncate(outputSize),
    async write(offset, bytes) {
      for (let at = 0; at < bytes.length; ) {
        at += (await file.write(bytes, at, bytes.length - at, offset + at)).bytesWritten;
      }
    },
    async hole() {},
    close: () => file.close(),
    abort: () => file.close(),
  };
}

async function convert(path) {
  const input = own.includes('source') ? await fileSource(path) : path;
  const image = await open(input);
  await image.convert(own.includes('target') ? await fileTarget(output) : output);
  await image.close();
  await input.close?.();
}

const peak = () => Number(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]) / 1024;

await convert(small);
const idle = peak();
const start = performance.now();
await convert(path);
console.log(JSON.stringify({ seconds: (performance.now() - start) / 1000, idle, peak: peak() }));
process.exit();
