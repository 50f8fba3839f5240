// `sha256` in Node, beside Node's own.

import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as Decant from '../../dist/node.js';
import { program } from '../support/command.js';
import { hashFile, images, PASSWORD } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';

const { DecantError, sha256 } = (await import(
  fileURLToPath(new URL('../../dist/node.js', import.meta.url))
)) as typeof Decant;

const READ = 2 << 20;

for (const size of [0, 1, 64, READ - 1, READ, READ + 1, 3 * READ]) {
  test(`of ${size} bytes`, size < READ && size > 0 ? FULL : {}, async () => {
    const bytes = randomBytes(size);
    const shares: (number | undefined)[] = [];
    const hash = await sha256(new Blob([bytes]), { onProgress: ({ fraction }) => shares.push(fraction) });
    expect(hash).toBe(createHash('sha256').update(bytes).digest('hex'));
    expect(shares).toHaveLength(size > 0 ? Math.ceil(size / READ) + 1 : 0);
    expect(shares.at(-1)).toBe(size > 0 ? 1 : undefined);
  });
}

/** Converts the image with `sha256` to `output`, an expression. Returns the digest, and that of the bytes that have passed. */
const whileWriting = (image: string, output: string, options: object, path = '') =>
  program<{ sha256?: string; passed: string }>(
    `const { createHash } = await import('node:crypto');
     const [path, options, file] = args;
     const hash = createHash('sha256');
     const pieces = new Map();
     const write = async (offset, bytes) => void pieces.set(offset, bytes.slice());
     const target = { ascending: true, write, close: async () => {}, abort: async () => {} };
     const stream = () => new WritableStream({ write: (bytes) => void hash.update(bytes) });
     const image = await decant.open(path, { password: ${JSON.stringify(PASSWORD)}, workers: 2 });
     const { sha256 } = await image.convert(${output}, { sha256: true, ...JSON.parse(options) });
     await image.close();
     for (const [, bytes] of [...pieces].sort(([a], [b]) => a - b)) hash.update(bytes);
     console.log(JSON.stringify({ sha256, passed: hash.digest('hex') }));`,
    image,
    JSON.stringify(options),
    path,
  );

// (output, options)
for (const [output, options] of [
  ['stream()', {}],
  ['stream()', { format: 'vpc' }],
  ['stream()', { format: 'raw.gz' }],
  ['stream()', { format: 'qcow2', formatOptions: { compress: 'on' }, twoPass: true }],
  ['target', {}],
] as [string, { format?: string }][]) {
  const details = output === 'target' || options.format === 'raw.gz' ? {} : FULL;
  test(`while it is written to ${output}: ${JSON.stringify(options)}`, details, () => {
    const { sha256, passed } = whileWriting(images.zlib(), output, options);
    expect(sha256).toBe(passed);
    if (Object.keys(options).length === 0) expect(sha256).toBe(hashFile(images.raw()));
  });
}

// (case, output, options)
for (const [what, output, options] of [
  ['a file', 'file', {}],
  ['holes that are told', '{ ...target, hole: async () => {} }', {}],
  ['any order', '{ ...target, ascending: false }', {}],
  [
    'a start that comes last',
    '{ ...target, lateStart: 2 ** 40 }',
    { format: 'qcow2', formatOptions: { compress: 'on' } },
  ],
  [
    'a conversion that goes on',
    '{ ...target, resumes: true, open: async () => ({ offset: 4096, written: 4096 }) }',
    { resume: true },
  ],
] as [string, string, object][]) {
  test(`not computed while it is written: ${what}`, what === 'any order' ? {} : FULL, ({ folder }) => {
    expect(whileWriting(images.zlib(), output, options, join(folder, 'out.raw')).sha256).toBeUndefined();
  });
}

test('it can be cancelled, and says what cannot be read', async () => {
  const cancel = new AbortController();
  const onProgress = () => cancel.abort();
  const cancelled = sha256(new Blob([randomBytes(3 * READ)]), { signal: cancel.signal, onProgress });
  await expect(cancelled).rejects.toMatchObject({ kind: 'cancelled' });
  for (const size of [1, 3 * READ]) {
    const cause = new Error('no');
    const onProgress = () => {
      throw cause;
    };
    const failed = sha256(new Blob([randomBytes(size)]), { onProgress });
    await expect(failed).rejects.toMatchObject({ name: 'DecantError', kind: 'usage', cause });
  }
  const unreadable = new Blob(['content']);
  unreadable.slice = () => ({ arrayBuffer: () => Promise.reject(new Error('It is gone')) }) as unknown as Blob;
  const failure = await sha256(unreadable).catch((thrown: unknown) => thrown);
  expect(DecantError.is(failure)).toBe(true);
  expect(failure).toMatchObject({ kind: 'source', message: 'Could not read the file: It is gone' });
});
