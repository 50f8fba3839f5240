// The progress of calls: one fraction from 0 to 1 over all phases, which never falls, and is 1 only at the end.

import { createReadStream, openAsBlob, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import * as decant from '../../dist/node.js';
import { closing } from '../support/closing.js';
import { images, PASSWORD } from '../support/images.js';
import { expect, test } from '../support/node.js';

type Listener = (progress: decant.Progress) => void;
type Convert = decant.ConvertOptions;

/** Converts the image of `input` to `output`. */
const convert =
  (input: () => decant.Input, options: Convert, opening: decant.OpenOptions = {}, output: 'file' | 'stream' = 'file') =>
  async (onProgress: Listener, folder: string): Promise<void> => {
    const target = output === 'file' ? join(folder, 'out') : new WritableStream();
    await closing(await decant.open(input(), opening), (image) => image.convert(target, { ...options, onProgress }));
  };

const gzipped = () => new Blob([gzipSync(readFileSync(images.raw()))]);
const COMPRESSED: Convert = { format: 'qcow2', formatOptions: { compress: 'on' } };
const RAW: decant.OpenOptions = { inputFormat: 'raw' };
const UNLOCKED: decant.OpenOptions = { password: PASSWORD };

/** Uses an image with a listener. */
const using =
  (path: () => string, use: (image: decant.DiskImage, onProgress: Listener) => Promise<unknown>, options = {}) =>
  async (onProgress: Listener): Promise<void> => {
    await closing(await decant.open(path(), options), (image) => use(image, onProgress));
  };

// (call, what is called, the phases)
const CALLS: [call: string, begin: (onProgress: Listener, folder: string) => Promise<void>, phases: string[]][] = [
  ['raw', convert(images.raw, {}, RAW), ['preparing', 'converting', 'finalizing']],
  ['qcow2', convert(images.kinds, COMPRESSED), ['preparing', 'converting', 'finalizing']],
  ['LUKS', convert(images.luks, {}, UNLOCKED), ['preparing', 'unlocking', 'converting', 'finalizing']],
  [
    'two passes',
    convert(images.kinds, { ...COMPRESSED, twoPass: true }, {}, 'stream'),
    ['preparing', 'measuring', 'converting', 'finalizing'],
  ],
  [
    'a temporary file',
    convert(images.kinds, { ...COMPRESSED, spool: true }, {}, 'stream'),
    ['preparing', 'converting', 'sending', 'finalizing'],
  ],
  [
    'verifying',
    convert(images.kinds, { ...COMPRESSED, verify: true }),
    ['preparing', 'converting', 'verifying', 'finalizing'],
  ],
  ['a streamed image', convert(gzipped, {}), ['preparing', 'converting', 'finalizing']],
  [
    'a stream without a size',
    convert(() => createReadStream(images.raw()), {}, RAW),
    ['preparing', 'converting', 'finalizing'],
  ],
  [
    'a stream that is stored first',
    convert(
      () => createReadStream(images.raw()),
      { format: 'vpc', formatOptions: { subformat: 'dynamic' }, spool: true },
      RAW,
    ),
    ['preparing', 'measuring', 'finalizing', 'preparing', 'converting', 'finalizing'],
  ],
  [
    'digest',
    using(images.kinds, (image, onProgress) => image.digest({ onProgress })),
    ['preparing', 'digesting', 'finalizing'],
  ],
  ['check', using(images.plain, (image, onProgress) => image.check({ deep: true, onProgress })), ['checking']],
  ['compare', using(images.kinds, (image, onProgress) => image.compare(image, { onProgress })), ['comparing']],
  [
    'compare, locked',
    using(images.luks, (image, onProgress) => image.compare(image, { onProgress }), UNLOCKED),
    ['unlocking', 'comparing'],
  ],
  [
    'compare, stored first',
    using(
      images.raw,
      async (image, onProgress) =>
        closing(await decant.open(gzipped()), (packed) => image.compare(packed, { spool: true, onProgress })),
      RAW,
    ),
    ['preparing', 'unpacking', 'finalizing', 'comparing'],
  ],
  ['unlock', using(images.luks, (image, onProgress) => image.unlock({ onProgress }), UNLOCKED), ['unlocking']],
  [
    'sha256',
    async (onProgress) => void (await decant.sha256(await openAsBlob(images.raw()), { onProgress })),
    ['digesting'],
  ],
  [
    'open, unpacking',
    async (onProgress, folder) => {
      const packed = new Blob([gzipSync(readFileSync(images.plain()))]);
      await (await decant.open(packed, { spool: folder, onProgress })).close();
    },
    ['preparing', 'unpacking', 'finalizing'],
  ],
];

for (const [call, begin, phases] of CALLS) {
  test(`the fraction of a call never falls, and is 1 at its end: ${call}`, async ({ folder }) => {
    const reports: decant.Progress[] = [];
    let isEnded = false;
    await begin((progress) => {
      expect(isEnded).toBe(false);
      reports.push(progress);
    }, folder);
    isEnded = true;
    expect(reports.map(({ phase }) => phase).filter((phase, at, all) => phase !== all[at - 1])).toEqual(phases);
    const fractions = reports.flatMap(({ fraction }) => fraction ?? []);
    expect(fractions).toEqual(fractions.toSorted((a, b) => a - b));
    expect(fractions.filter((fraction) => fraction === 1)).toHaveLength(1);
    expect(fractions.at(-1)).toBe(1);
    expect(fractions[0]).toBeGreaterThanOrEqual(0);
    // Only a stream without a size has no total.
    if (!call.includes('stream ')) expect(fractions).toHaveLength(reports.length);
  });
}
