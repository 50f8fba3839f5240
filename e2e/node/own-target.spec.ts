// Custom targets: they are called as documented, and receive the whole disk or are aborted.

import { join } from 'node:path';
import { program } from '../support/command.js';
import { hashFile, images, PASSWORD } from '../support/images.js';
import { expect, test } from '../support/node.js';

const own = new URL('../support/own.mjs', import.meta.url).href;

/** Runs a program that has what `own.mjs` exports besides the package. */
const run = <T>(code: string, ...args: string[]): T =>
  program<T>(`const { fileSource, changed, fileTarget } = await import('${own}'); ${code}`, ...args);

interface Seen {
  most: number;
  holes: number;
  written: number;
  longest: number;
  ascending: boolean;
}

const MIB = 1 << 20;

for (const [name, image, options, most, tag = '@full'] of [
  ['zlib, holes told', images.zlib, { hole: true }, 4, []],
  ['zlib, holes told, slow', images.zlib, { hole: true, slow: true, concurrency: 7 }, 7],
  ['zlib, holes told in order', images.zlib, { hole: true, ascending: true }, 1],
  ['zlib, in order', images.zlib, { ascending: true }, 1, []],
  ['zlib, in order, several at once', images.zlib, { ascending: true, concurrency: 3, slow: true }, 3],
  ['uncompressed', images.plain, {}, 4],
  ['out of order', images.scattered, { hole: true, concurrency: 1 }, 1],
  ['clusters of 512 bytes', images.tiny, { hole: true, ascending: true }, 1],
  ['zstd', images.zstd, { hole: true }, 4],
  ['encrypted', images.luks, { hole: true }, 4],
] as [string, () => string, object, number, []?][]) {
  test(`the whole disk: ${name}`, { tag }, ({ folder }) => {
    const output = join(folder, 'out.raw');
    const { seen, result } = run<{ seen: Seen; result: { bytesWritten: number; virtualSize: number } }>(
      `const [path, output, options, password] = args;
       const target = await fileTarget(output, JSON.parse(options));
       const image = await decant.open(path, { password, workers: 2 });
       const result = await image.convert(target);
       await image.close();
       console.log(JSON.stringify({ seen: target.seen, result }));`,
      image(),
      output,
      JSON.stringify(options),
      PASSWORD,
    );
    expect(hashFile(output)).toBe(hashFile(images.raw()));
    // How many it comes to: worker/targets/custom-target.test.ts.
    expect(seen.most).toBeLessThanOrEqual(most);
    expect(seen.longest).toBeLessThanOrEqual(MIB);
    expect(seen.ascending).toBe('ascending' in options);
    expect(seen.written).toBe('hole' in options ? result.bytesWritten : result.virtualSize);
    expect(seen.holes > 0).toBe('hole' in options);
  });
}

test('two conversions at once between own sources and targets', { tag: '@full' }, ({ folder }) => {
  const outputs = ['a', 'b'].map((name) => join(folder, name));
  run<null>(
    `const [path, ...outputs] = args;
     const source = await fileSource(path);
     const image = await decant.open(source, { workers: 2 });
     const targets = await Promise.all(outputs.map((output) => fileTarget(output, { hole: true })));
     await Promise.all(targets.map((target) => image.convert(target)));
     await image.close();
     await source.close();
     console.log('null');`,
    images.zlib(),
    ...outputs,
  );
  for (const output of outputs) expect(hashFile(output)).toBe(hashFile(images.raw()));
});

test(
  'empty space costs few calls where holes are told, and bounded pieces of zeros elsewhere',
  { tag: '@full' },
  () => {
    const [huge, large] = run<{ calls: number; bytes: number }[]>(
      `const seen = [];
     for (const [at, path] of args.entries()) {
       let calls = 0, bytes = 0;
       const count = (length) => { calls += 1; bytes += length; };
       const target = { write: async (_, { length }) => count(length), close: async () => {}, abort: async () => {} };
       if (at === 0) target.hole = async (_, length) => count(length);
       const image = await decant.open(path);
       await image.convert(target);
       await image.close();
       seen.push({ calls, bytes });
     }
     console.log(JSON.stringify(seen));`,
      images.huge(),
      images.large(),
    );
    expect(huge!.bytes).toBe(2 ** 43);
    expect(huge!.calls).toBeLessThan(1100);
    expect(large!.bytes).toBe(2 ** 30);
    expect(large!.calls).toBeLessThan(1100);
  },
);

/** A failing method, as an expression; its error. */
const FAILURES: [name: string, code: string, message: string, cause: boolean][] = [
  ['throws', '() => { throw cause; }', 'Could not write the output: no room', true],
  ['rejects', '() => Promise.reject(cause)', 'Could not write the output: no room', true],
  [
    'fails with an error of another kind',
    '() => Promise.reject(cause = new decant.DecantError("corrupt", "no room"))',
    'Could not write the output: no room',
    true,
  ],
];

for (const [how, code, message, cause] of FAILURES) {
  for (const method of ['open', 'write', 'hole', 'close']) {
    const tag = how === 'throws' && method === 'write' ? [] : '@full';
    test(`a target whose ${method} ${how}`, { tag }, () => {
      const seen = run<{ kind: string; message: string; cause: boolean; calls: string[]; reason: boolean }>(
        `const [path, method] = args;
         let cause = new Error('no room'), reason;
         const calls = [];
         const called = (name) => async () => { if (!calls.includes(name)) calls.push(name); };
         const target = { open: called('open'), write: called('write'), hole: called('hole'), close: called('close') };
         target.abort = async (given) => { calls.push('abort'); reason = given; };
         const fail = ${code};
         target[method] = (...given) => { calls.push('failed'); return fail(...given); };
         target.concurrency = 1;
         const image = await decant.open(path);
         const error = await image.convert(target).catch((error) => error);
         await image.close();
         await new Promise((resolve) => setTimeout(resolve, 50));
         const { kind, message } = error;
         console.log(JSON.stringify({ kind, message, cause: error.cause === cause, calls, reason: reason === error }));`,
        images.kinds(),
        method,
      );
      expect(seen).toMatchObject({ kind: 'target', message, cause, reason: true });
      // Whatever came before: one failure may follow another that was under way, and then it is given up, once.
      expect(seen.calls.filter((name) => name === 'abort')).toEqual(['abort']);
      expect(seen.calls.at(-1)).toBe('abort');
      expect(seen.calls.includes('close')).toBe(false);
    });
  }
}

for (const method of ['open', 'write', 'hole', 'close', 'abort']) {
  const tag = method === 'write' ? [] : '@full';
  test(`a target whose ${method} never settles is given up by a cancel`, { tag }, () => {
    const seen = run<{ kind: string; aborts: number }>(
      `const [path, method] = args;
       const target = { ascending: true };
       let begun, aborts = 0;
       const hangs = new Promise((resolve) => { begun = resolve; });
       for (const name of ['open', 'write', 'hole', 'close']) target[name] = async () => {};
       target.abort = async () => { aborts += 1; };
       const before = target[method];
       target[method] = async () => { await before(); begun(); await new Promise(() => {}); };
       // What hangs when it is aborted is a target that is aborted in the middle.
       if (method === 'abort') target.write = async () => { begun(); };
       const image = await decant.open(path);
       const abort = new AbortController();
       const ended = image.convert(target, { signal: abort.signal }).catch(({ kind }) => kind);
       await hangs;
       abort.abort();
       const kind = await ended;
       await image.close();
       console.log(JSON.stringify({ kind, aborts }));`,
      images.zlib(),
      method,
    );
    expect(seen).toEqual({ kind: 'cancelled', aborts: 1 });
  });
}

test('a target is given up where the image fails, before and after it was opened', () => {
  const reasons = run<string[][]>(
    `const [corrupt, truncated, chain] = args;
     const reasons = [];
     const target = () => {
       const seen = [];
       reasons.push(seen);
       const called = (name) => async (reason) => { if (seen.at(-1) !== name) seen.push(name + (reason?.kind ?? '')); };
       return { open: async () => seen.push('open'), write: async () => {}, close: called('close'), abort: called('abort ') };
     };
     for (const path of [corrupt, chain]) {
       const image = await decant.open(path);
       await image.convert(target()).catch(() => {});
       await image.close();
       // After a close, it does not begin.
       await image.convert(target()).catch(() => {});
     }
     const image = await decant.open(corrupt);
     await image.convert(target(), { memory: 0 }).catch(() => {});
     await image.convert(target(), { signal: AbortSignal.abort() }).catch(() => {});
     await image.close();
     console.log(JSON.stringify(reasons));`,
    images.corrupt(),
    images.truncated(),
    images.chain().top,
  );
  expect(reasons).toEqual([
    ['open', 'abort corrupt'],
    ['abort usage'],
    ['open', 'abort missing-file'],
    ['abort usage'],
    ['abort usage'],
    ['abort cancelled'],
  ]);
});

for (const [field, tag = '@full'] of [['write', []], ['close'], ['concurrency'], ['ascending'], ['hole']] as [
  string,
  []?,
][]) {
  test(`a target whose ${field} cannot be read is aborted once`, { tag }, () => {
    const seen = run<{ error: string; aborts: number; reason: boolean }>(
      `const [path, field] = args;
       let aborts = 0, reason;
       const target = { async write() {}, async close() {}, async abort(given) { aborts += 1; reason = given; } };
       Object.defineProperty(target, field, { get() { throw new Error('no such thing'); } });
       const image = await decant.open(path);
       const error = await image.convert(target).catch((error) => error);
       await image.close();
       const { name, kind, message } = error;
       console.log(JSON.stringify({ error: \`\${name} \${kind}: \${message}\`, aborts, reason: reason === error }));`,
      images.kinds(),
      field,
    );
    const error = 'DecantError target: Could not write the output: no such thing';
    expect(seen).toEqual({ error, aborts: 1, reason: true });
  });
}

test('an invalid target is refused', { tag: '@full' }, () => {
  const methods = 'write, close, abort';
  const values = [
    '{}',
    '{ write, close }',
    '{ write, abort }',
    '{ close, abort }',
    '{ write: 7, close, abort }',
    `{ ${methods}, concurrency: 0 }`,
    `{ ${methods}, concurrency: 1.5 }`,
    `{ ${methods}, concurrency: 65 }`,
    `{ ${methods}, concurrency: '2' }`,
    'null',
    '7',
  ];
  const kinds = run<string[]>(
    `const [path] = args;
     const write = async () => {}, close = write, abort = write;
     const kinds = [];
     const image = await decant.open(path);
     for (const value of [${values}]) await image.convert(value).catch(({ kind }) => kinds.push(kind));
     await image.close();
     console.log(JSON.stringify(kinds));`,
    images.kinds(),
  );
  expect(kinds).toEqual(values.map(() => 'usage'));
});
