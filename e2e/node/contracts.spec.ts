// `decant/testing`: what keeps a contract passes, and each way to break it is told.

import { join } from 'node:path';
import { program } from '../support/command.js';
import { expect, test } from '../support/node.js';

const testing = new URL('../../dist/testing.js', import.meta.url).href;
const own = new URL('../support/own.mjs', import.meta.url).href;

const run = (code: string, ...args: string[]): string[] =>
  program<string[]>(
    `const { checkSource, checkTarget } = await import('${testing}');
     const { fileSource } = await import('${own}');
     ${code}`,
    ...args,
  );

/** Bytes that have no pattern, `size` of them. */
const BYTES = `Uint8Array.from({ length: size }, (_, at) => (at * 2654435761) >>> 24)`;

/** A source, as an expression over `bytes` and `good`, which is one; and what is told. */
const SOURCES: [name: string, source: string, told: string[]][] = [
  ['one that is good', 'good', []],
  ['parts of what it keeps', '{ ...good, read: async (o, l) => bytes.subarray(o, o + l) }', []],
  ['one byte too few', '{ ...good, read: async (o, l) => bytes.slice(o, o + l - 1) }', ['read(0, 1) gives 0 bytes']],
  ['a buffer', '{ ...good, read: async (o, l) => bytes.slice(o, o + l).buffer }', ['gives no Uint8Array']],
  ['short at the end', '{ ...good, size: size + 1 }', ['size is']],
  ['no size', '{ ...good, size: undefined }', ['size is undefined']],
  ['a name that is none', '{ ...good, name: 7 }', ['name is no string']],
  ['no read', '{ size }', ['read is no function']],
  ['wrong bytes', '{ ...good, read: (o, l) => good.read(Math.max(o - 1, 0), l) }', ['gives a wrong byte at']],
  ['an error', '{ ...good, read: async () => { throw new Error("gone"); } }', ['has failed: gone']],
  [
    'an array that it keeps',
    '(() => { const kept = {}; return { ...good, read: async (o, l) => (kept[[o, l]] ??= bytes.slice(o, o + l)) }; })()',
    ['asked a second time after its array was given away, gives 0 bytes'],
  ],
  [
    'one buffer for all',
    '(() => { const buffer = new Uint8Array(size); return { ...good, read: async (o, l) => { buffer.set(bytes.subarray(o, o + l)); await 0; await new Promise(setImmediate); return buffer.subarray(0, l); } }; })()',
    ['one of 8 at once, gives'],
  ],
  [
    'spoilt by an abort',
    '(() => { let spoilt; return { ...good, read: async (o, l, { signal }) => { if (spoilt || signal.aborted) { spoilt = true; throw new Error("spoilt"); } return good.read(o, l); } }; })()',
    ['after an aborted one, has failed: spoilt'],
  ],
];

for (const [name, source, told] of SOURCES) {
  for (const size of [10_000_000, 3]) {
    if (size === 3 && name !== 'one that is good') continue;
    test(`a source: ${name}, ${size} bytes`, () => {
      const sentences = run(
        `const size = ${size}, bytes = ${BYTES};
         const good = { size, name: 'good', read: async (offset, length) => bytes.slice(offset, offset + length) };
         console.log(JSON.stringify(await checkSource(${source}, bytes)));`,
      );
      if (told.length === 0) expect(sentences).toEqual([]);
      for (const sentence of told) expect(sentences.join('\n')).toContain(sentence);
    });
  }
}

test('a source that gives away all that it keeps', () => {
  const sentences = run(
    `const bytes = new Uint8Array(70_000);
     const source = { size: bytes.length, read: async (o, l) => bytes.subarray(o, o + l) };
     console.log(JSON.stringify(await checkSource(source)));`,
  );
  expect(sentences.join('\n')).toContain('asked a second time after its array was given away, has failed');
});

test('a source of a file, without what is expected, and one of nothing', () => {
  const sentences = run(
    `const source = await fileSource(args[0]);
     const sentences = await checkSource(source);
     await source.close();
     sentences.push(...(await checkSource({ size: 0, read: async () => { throw new Error('never'); } })));
     console.log(JSON.stringify(sentences));`,
    process.execPath,
  );
  expect(sentences).toEqual([]);
});

/** What makes a target, as the members of a class that has `disk`, an array, once it is open; and what is told. */
const TARGETS: [name: string, members: string, told: string[]][] = [
  ['one that is good', '', []],
  [
    'ascending',
    'ordered = true; async write(o, b) { if (o !== this.end) throw new Error("order"); this.end += b.length; await super.write(o, b); }',
    [],
  ],
  ['holes told', 'async hole(o, l) { this.disk.fill(0, o, o + l); }', []],
  [
    'nothing done about holes',
    'async open(plan) { await super.open(plan); this.disk.fill(9); } async hole() {}',
    ['a disk has a wrong byte at'],
  ],
  [
    'only ascending, without saying so',
    'async write(o, b) { if (o !== this.end) throw new Error("order"); this.end += b.length; await super.write(o, b); }',
    ['has failed: order'],
  ],
  [
    'one at a time, without saying so',
    'async write(o, b) { if (this.busy) throw new Error("busy"); this.busy = true; await new Promise(setImmediate); this.busy = false; await super.write(o, b); }',
    ['has failed: busy'],
  ],
  [
    'one at a time',
    'concurrency = 1; async write(o, b) { if (this.busy) throw new Error("busy"); this.busy = true; await new Promise(setImmediate); this.busy = false; await super.write(o, b); }',
    [],
  ],
  ['no offsets', 'async write(o, b) { await super.write(this.end, b); this.end += b.length; }', ['a wrong byte at']],
  ['closed too early', 'write(o, b) { setTimeout(() => super.write(o, b), 300); }', ['a wrong byte at']],
  [
    'complete when it is aborted',
    'async abort() { await this.close(); }',
    ['a whole disk is there after abort after open'],
  ],
  ['no abort', 'abort = undefined', ['abort is no function']],
  [
    'no abort before open',
    'async abort() { if (!this.disk) throw new Error("not open"); }',
    ['abort before open has failed: not open'],
  ],
  [
    'an abort that waits',
    'async abort() { await new Promise((r) => setTimeout(r, 2000)); }',
    ['abort after open has not settled within 0.2 seconds'],
  ],
  ['a concurrency that is none', 'concurrency = 0', ['concurrency is 0']],
];

for (const [name, members, told] of TARGETS) {
  test(`a target: ${name}`, () => {
    const sentences = run(
      `class Good {
         end = 0;
         async open({ outputSize }) { this.disk = new Uint8Array(outputSize); }
         async write(offset, bytes) { this.disk.set(bytes, offset); }
         async close() { this.complete = this.disk; }
         async abort() {}
       }
       class Mine extends Good { ${members} }
       console.log(JSON.stringify(await checkTarget(() => new Mine(), async (target) => target.complete)));`,
    );
    if (told.length === 0) expect(sentences).toEqual([]);
    for (const sentence of told) expect(sentences.join('\n')).toContain(sentence);
  });
}

test('a target of a file', ({ folder }) => {
  const sentences = run(
    `const { open, readFile, rename, unlink } = await import('node:fs/promises');
     const [path] = args;
     let number = 0;
     const make = () => {
       const name = path + number++;
       let file;
       return {
         name,
         async open({ outputSize }) { file = await open(name + '.partial', 'w'); await file.truncate(outputSize); },
         async write(offset, bytes) { await file.write(bytes, 0, bytes.length, offset); },
         async hole() {},
         async close() { await file.close(); await rename(name + '.partial', name); },
         async abort() { await file?.close(); await unlink(name + '.partial').catch(() => {}); },
       };
     };
     const readBack = ({ name }) => readFile(name).catch(() => undefined);
     console.log(JSON.stringify(await checkTarget(make, readBack)));`,
    join(folder, 'disk'),
  );
  expect(sentences).toEqual([]);
});
