// Custom sources: right bytes, or one clear error with its cause.

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { program } from '../support/command.js';
import { hashFile, images, PASSWORD } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';

const sample = fileURLToPath(new URL('../../web/sample.qcow2', import.meta.url));
const own = new URL('../support/own.mjs', import.meta.url).href;
const api = new URL('../../dist/node.js', import.meta.url).href;

/** Runs a program that has `fileSource` and `changed` besides the package. */
const run = <T>(code: string, ...args: string[]): T =>
  program<T>(`const { changed, fileSource } = await import('${own}'); ${code}`, ...args);

for (const [name, image, password, tagged] of [
  ['zlib', images.zlib, '', {}],
  ['uncompressed', images.plain, '', FULL],
  ['out of order', images.scattered, '', FULL],
  ['clusters of 512 bytes', images.tiny, '', FULL],
  ['zstd', images.zstd, '', FULL],
  ['encrypted', images.luks, PASSWORD, FULL],
] as const) {
  test(`${name}: two conversions at once of one source, and a third`, tagged, ({ folder }) => {
    const outputs = ['a', 'b', 'c'].map((output) => join(folder, output));
    const most = run<number>(
      `const [path, password, a, b, c] = args;
       const source = await fileSource(path);
       const image = await decant.open(source, { workers: 2, ...(password ? { password } : {}) });
       await image.unlock();
       // The first read of each conversion waits for one of the other.
       const { read } = source;
       let go;
       const both = new Promise((resolve) => { go = resolve; });
       let begun = 0;
       source.read = async (...range) => {
         begun += 1;
         if (begun === 2) go();
         await both;
         return read(...range);
       };
       await Promise.all([a, b].map((output) => image.convert(output)));
       await image.convert(c, { memory: 32 << 20 });
       await image.close();
       await source.close();
       console.log(JSON.stringify(source.most));`,
      image(),
      password,
      ...outputs,
    );
    for (const output of outputs) expect(hashFile(output)).toBe(hashFile(images.raw()));
    // Several at once, but no more than the limit of two conversions and the image.
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(3 * 8);
  });
}

// Each of the three files is a custom source or a path.
for (const which of ['ooo', 'opp', 'pop', 'ppo', 'poo']) {
  test(`a chain, own sources and paths: ${which}`, which === 'pop' ? {} : FULL, ({ folder }) => {
    const { top, below, raw } = images.chain();
    const output = join(folder, 'out.raw');
    run<null>(
      `const [which, output, ...paths] = args;
       const inputs = await Promise.all(paths.map((path, at) => (which[at] === 'o' ? fileSource(path) : path)));
       const [top, ...companions] = inputs;
       const image = await decant.open(top, { companions });
       await image.convert(output);
       await image.close();
       for (const input of inputs) await input.close?.();
       console.log('null');`,
      which,
      output,
      top,
      ...below,
    );
    expect(hashFile(output)).toBe(hashFile(raw));
  });
}

test('arrays that are a part of a buffer, or that cannot be moved, stay as they are', ({ folder }) => {
  const output = join(folder, 'out.raw');
  const kept = run<boolean[]>(
    `const { readFileSync } = await import('node:fs');
     const [path, output] = args;
     const content = readFileSync(path);
     const pages = Math.ceil(content.length / 65536);
     const memory = new Uint8Array(new WebAssembly.Memory({ initial: pages }).buffer);
     const shared = new Uint8Array(new SharedArrayBuffer(content.length));
     const kept = [];
     for (const whole of [new Uint8Array(content), memory, shared]) {
       whole.set(content);
       const source = { size: content.length, read: async (offset, length) => whole.subarray(offset, offset + length) };
       const image = await decant.open(source);
       await image.convert(output);
       await image.close();
       kept.push(Buffer.compare(whole.subarray(0, content.length), content) === 0);
     }
     // The memory of a wasm instance, which cannot be transferred.
     const raw = { size: memory.length, read: async (offset, length) => memory.subarray(offset, offset + length) };
     const image = await decant.open(raw, { inputFormat: 'raw' });
     await image.convert(output + '2');
     await image.close();
     kept.push(Buffer.compare(readFileSync(output + '2'), memory) === 0);
     console.log(JSON.stringify(kept));`,
    sample,
    output,
  );
  expect(kept).toEqual([true, true, true, true]);
  expect(hashFile(output)).toBe(hashFile(images.sample()));
});

/** An invalid read, as an expression; its error, and the cause. */
const FAILURES: [name: string, read: string, message: string, cause: string | null][] = [
  [
    'too few bytes',
    '(offset, length) => new Uint8Array(length - 1)',
    'its source returned N bytes instead of N at byte N',
    null,
  ],
  [
    'too many bytes',
    '(offset, length) => new Uint8Array(length + 1)',
    'its source returned N bytes instead of N at byte N',
    null,
  ],
  [
    'no bytes',
    '() => new Uint8Array(0)',
    'its source returned N bytes instead of N at byte N; it must return a copy of an array that it keeps',
    null,
  ],
  [
    'a buffer',
    '(offset, length) => new ArrayBuffer(length)',
    'its source did not return a UintNArray for N bytes at byte N',
    null,
  ],
  [
    'another array',
    '(offset, length) => new Uint8ClampedArray(length)',
    'its source did not return a UintNArray for N bytes at byte N',
    null,
  ],
  ['text', '() => "bytes"', 'its source did not return a UintNArray for N bytes at byte N', null],
  ['nothing', '() => {}', 'its source did not return a UintNArray for N bytes at byte N', null],
  ['an error', '() => { throw new Error("the far side is gone"); }', 'the far side is gone', 'Error'],
  ['a rejection', 'async () => { throw new TypeError("fetch failed"); }', 'fetch failed', 'TypeError'],
  ['no reason', '() => Promise.reject()', 'no reason was given', null],
  ['a word', '() => Promise.reject("no")', 'no', 'String'],
  ['an error of another kind', '() => { throw new decant.DecantError("corrupt", "No"); }', 'No', 'Error'],
];

for (const [name, read, message, cause] of FAILURES) {
  // The first read, one of tables, and one of data.
  test(`a source that answers with ${name}`, name === 'too few bytes' ? {} : FULL, ({ folder }) => {
    const ends = run<{ kind: string; message: string; cause: string | null; again: string; left: string[] }[]>(
      `const [path, folder] = args;
       const { readdirSync } = await import('node:fs');
       const whole = await fileSource(path);
       const ends = [];
       for (const first of [0, 1, 12]) {
         const image = decant.open(changed(whole, first, ${read}), { salvage: first === 12 });
         const error = await image.then((image) => image.convert(folder + '/out.raw')).catch((error) => error);
         await image.then((image) => image.close(), () => {});
         // The same object can be used again.
         const again = await decant.open(whole);
         await again.close();
         ends.push({
           kind: error.kind,
           message: error.message.replace(/[0-9]+/g, 'N'),
           cause: error.cause === undefined ? null : Object.prototype.toString.call(error.cause).slice(8, -1),
           again: again.info.format,
           left: readdirSync(folder),
         });
       }
       await whole.close();
       console.log(JSON.stringify(ends));`,
      // With many reads, regardless of the disk size of other tests.
      images.halves(),
      folder,
    );
    const told = cause === 'TypeError' ? 'Error' : cause;
    const end = {
      kind: 'source',
      message: `Could not read the image: ${message}`,
      cause: told,
      again: 'qcow2',
      left: [],
    };
    expect(ends).toEqual([end, end, end]);
  });
}

test('a source of no bytes is never read, nor is more than a source has', () => {
  const seen = run<(string | number)[]>(
    `const none = { size: 0, read: () => { throw new Error('read'); } };
     const seen = [await decant.open(none).catch(({ kind }) => kind)];
     const bytes = new Uint8Array(1000);
     const read = async (offset, length) => {
       if (length < 1 || offset + length > bytes.length) throw new Error('past the end');
       return bytes.slice(offset, offset + length);
     };
     for (const source of [none, { size: bytes.length, read }]) {
       const image = await decant.open(source, { inputFormat: 'raw' });
       seen.push((await image.read(0, image.info.virtualSize)).length);
       await image.close();
     }
     console.log(JSON.stringify(seen));`,
  );
  // The last sector of a raw disk is padded with zeros.
  expect(seen).toEqual(['not-recognised', 0, 1024]);
});

test('a companion that cannot be read is named', () => {
  const { top, below } = images.chain();
  const error = run<{ kind: string; message: string; cause: boolean }>(
    `const [top, middle, base] = args;
     const cause = new Error('the far side is gone');
     const companion = { size: 1e6, name: 'middle.qcow2', read: () => Promise.reject(cause) };
     const error = await decant.open(top, { companions: [companion, base] }).catch((error) => error);
     console.log(JSON.stringify({ kind: error.kind, message: error.message, cause: error.cause === cause }));`,
    top,
    ...below,
  );
  const message = "In 'middle.qcow2': Could not read the image: the far side is gone";
  expect(error).toEqual({ kind: 'source', message, cause: true });
});

test('an invalid source is refused', FULL, () => {
  const values = [
    '{ size: -1, read }',
    '{ size: 1.5, read }',
    '{ size: NaN, read }',
    '{ size: 2 ** 53, read }',
    "{ size: '7', read }",
    '{ size: 7n, read }',
    '{ read }',
    '{ size: 7, name: 7, read }',
    '{ size: 7 }',
    '{ size: 7, read: 7 }',
    'null',
    '7',
  ];
  const kinds = run<string[]>(
    `const read = async () => new Uint8Array();
     const kinds = [];
     for (const value of [${values}]) await decant.open(value).catch(({ kind }) => kinds.push(kind));
     console.log(JSON.stringify(kinds));`,
  );
  expect(kinds).toEqual(values.map(() => 'usage'));
});

for (const [name, first] of [
  ['opened', 0],
  ['converted', 12],
] as const) {
  test(`a source that never answers is given up when it is ${name}`, ({ folder }) => {
    const seen = run<{ kind: string; open: number; aborted: number }>(
      `const [path, output, first] = args;
       const whole = await fileSource(path);
       const abort = new AbortController();
       let open = 0, aborted = 0, begun;
       const hangs = new Promise((resolve) => { begun = resolve; });
       const read = (offset, length, { signal }) => {
         open += 1;
         signal.addEventListener('abort', () => { aborted += 1; });
         begun();
         return new Promise(() => {});
       };
       const { signal } = abort;
       const opening = decant.open(changed(whole, Number(first), read), { signal });
       const work = opening.then((image) => image.convert(output, { signal }));
       const ended = work.catch(({ kind }) => kind);
       await hangs;
       abort.abort();
       const kind = await ended;
       await opening.then((image) => image.close(), () => {});
       await whole.close();
       console.log(JSON.stringify({ kind, open, aborted }));`,
      images.halves(),
      join(folder, 'out.raw'),
      String(first),
    );
    // It never answers: what ends is what was given up.
    expect(seen).toMatchObject({ kind: 'cancelled', aborted: seen.open });
    expect(seen.open).toBeGreaterThan(0);
  });
}

for (const [name, first] of [
  ['a table', 0],
  ['data', 8],
] as const) {
  test(`a worker dies while a read of ${name} is never answered: the conversion fails for that`, ({ folder }) => {
    const seen = run<{ kind: string; message: string; left: string[] }>(
      `const { readdirSync } = await import('node:fs');
       const { Worker } = await import('node:worker_threads');
       const [path, folder, first] = args;
       const workers = [];
       decant.configure({
         worker: () => {
           const worker = new Worker(new URL('./worker.node.mjs', '${api}'), { execArgv: [] });
           workers.push(worker);
           return worker;
         },
       });
       const whole = await fileSource(path);
       let begun;
       const hangs = new Promise((resolve) => { begun = resolve; });
       let answered = Infinity;
       const read = (...range) => {
         answered -= 1;
         if (answered >= 0) return whole.read(...range);
         begun();
         return new Promise(() => {});
       };
       const image = await decant.open({ size: whole.size, read }, { workers: 2 });
       await image.prepare();
       answered = Number(first);
       const ended = image.convert(folder + '/out.raw').catch((error) => error);
       await hangs;
       await workers.at(-1).terminate();
       const { kind, message } = await ended;
       await image.close();
       await whole.close();
       console.log(JSON.stringify({ kind, message, left: readdirSync(folder) }));`,
      images.halves(),
      folder,
      String(first),
    );
    const message = 'A worker ended unexpectedly (exit code 1); try again, perhaps with fewer workers';
    expect(seen).toEqual({ kind: 'internal', message, left: [] });
  });
}

test('an image is closed, and unlocking cancelled, while a source never answers', () => {
  const kinds = run<string[]>(
    `const kinds = [];
     for (const [path, password] of [[args[0], ''], [args[1], 'wrong']]) {
       const whole = await fileSource(path);
       let begun;
       const hangs = new Promise((resolve) => { begun = resolve; });
       let isOpen = false;
       const read = (offset, length) => {
         if (!isOpen) return whole.read(offset, length);
         begun();
         return new Promise(() => {});
       };
       const image = await decant.open({ size: whole.size, read }, password ? { password } : {});
       isOpen = true;
       const abort = new AbortController();
       const pass = async () => { for await (const extent of image.map({ signal: abort.signal })); };
       const ended = (password ? image.unlock({ signal: abort.signal }) : pass()).catch(({ kind }) => kind);
       await Promise.race([hangs, ended]);
       if (password) abort.abort();
       await image.close();
       kinds.push(await ended);
       await whole.close();
     }
     console.log(JSON.stringify(kinds));`,
    images.zlib(),
    images.luks(),
  );
  expect(kinds).toEqual(['cancelled', 'cancelled']);
});
