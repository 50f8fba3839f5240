// A Node stream as an output.

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { DISK_SIZE, hashFile, images } from '../support/images.js';
import { expect, test } from '../support/node.js';

/** Runs a module with `open` and `IMAGE` in a separate process. Returns the JSON that it prints. */
function run(folder: string, image: string, body: string): unknown {
  const api = new URL('../../dist/node.js', import.meta.url).href;
  const script = `import { open } from ${JSON.stringify(api)}; const IMAGE = ${JSON.stringify(image)};\n${body}`;
  const args = ['--input-type=module', '--unhandled-rejections=strict', '-e', script];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8', cwd: folder }));
}

test('a stream gets the whole disk', async ({ folder }) => {
  const seen = run(
    folder,
    images.zlib(),
    `import { createWriteStream } from 'node:fs';
     import { Writable } from 'node:stream';
     const image = await open(IMAGE);
     const { virtualSize } = await image.convert(Writable.toWeb(createWriteStream('out.raw')));
     await image.close();
     console.log(JSON.stringify(virtualSize));`,
  );
  expect(seen).toBe(DISK_SIZE);
  expect(hashFile(join(folder, 'out.raw'))).toBe(hashFile(images.raw()));
});

test('a stream is aborted also where the conversion does not begin', { tag: '@full' }, async ({ folder }) => {
  const seen = run(
    folder,
    images.kinds(),
    `const image = await open(IMAGE);
     await image.close();
     const seen = [];
     const stream = new WritableStream({ abort: (reason) => void seen.push(reason.kind) });
     await image.convert(stream).catch((error) => seen.push(error.message));
     console.log(JSON.stringify(seen));`,
  );
  expect(seen).toEqual(['usage', 'The image was closed']);
});

test('a stream that fails ends the conversion, and the process with it', async ({ folder }) => {
  const seen = run(
    folder,
    images.zlib(),
    `const image = await open(IMAGE);
     const cause = new Error('the far side is gone');
     const stream = new WritableStream({ write() { throw cause; } });
     const error = await image.convert(stream).catch((error) => error);
     await image.close();
     console.log(JSON.stringify([error.kind, error.message, error.cause === cause]));`,
  );
  expect(seen).toEqual(['target', 'Could not write the output: the far side is gone', true]);
});
