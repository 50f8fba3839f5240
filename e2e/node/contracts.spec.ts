// `decant/testing` as built, in Node. worker/testing/*.test.ts covers its findings.

import { program } from '../support/command.js';
import { expect, test } from '../support/node.js';

const testing = new URL('../../dist/testing.js', import.meta.url).href;
const own = new URL('../support/own.mjs', import.meta.url).href;

test('a source and a target that keep their contracts pass, and a fault is reported', () => {
  const seen = program<string[][]>(
    `const { checkSource, checkTarget } = await import('${testing}');
     const { fileSource } = await import('${own}');
     const source = await fileSource(process.execPath);
     class Memory {
       async open({ outputSize }) { this.disk = new Uint8Array(outputSize); }
       async write(offset, bytes) { this.disk.set(bytes, offset); }
       async close() { this.complete = this.disk; }
       async abort() {}
     }
     const target = await checkTarget(() => new Memory(), async ({ complete }) => complete);
     const found = [await checkSource(source), target];
     await source.close();
     found.push(await checkSource({ size: 10, read: async (offset, length) => new Uint8Array(length + 1) }));
     console.log(JSON.stringify(found));`,
  );
  expect(seen).toEqual([[], [], expect.arrayContaining(['read(0, 1) returns 2 bytes'])]);
});
