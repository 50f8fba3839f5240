// What an error is made of: its cause says more than its sentence, and a cancel says what was cancelled.

import { join } from 'node:path';
import { program } from '../support/command.js';
import { images } from '../support/images.js';
import { expect, test } from '../support/node.js';

for (const [what, failing, cause] of [
  ['a damaged image', 'open(corrupt).then((image) => image.convert(output))', null],
  ['an image that is cut off', 'open(truncated).then((image) => image.convert(output))', null],
  ['what is no image', 'open(new Blob(["no image"]))', null],
  ['a password that is missing', 'open(luks).then((image) => image.convert(output))', null],
  ['a wrong password', 'open(luks, { password: "wrong" }).then((image) => image.unlock())', null],
  ['a wrong option', 'open(luks, { workers: 0 })', null],
  ['a file that is not there', 'open(output)', 'ENOENT'],
] as const) {
  test(`the cause of an error: ${what}`, ({ folder }) => {
    const seen = program<{ name: string; cause: string | null }>(
      `const [corrupt, truncated, luks, output] = args;
       const { open, dispose } = decant;
       const { name, cause } = await ${failing}.catch((error) => error);
       await dispose();
       console.log(JSON.stringify({ name, cause: cause === undefined ? null : cause.code }));`,
      ...[images.corrupt(), images.truncated(), images.luks(), join(folder, 'out.raw')],
    );
    expect(seen).toEqual({ name: 'DecantError', cause });
  });
}

// Before it begins, and while a source does not answer.
for (const [call, begun, sentence] of [
  ['open', 'decant.open(source, { signal })', 'Opening the image was cancelled'],
  ['unlock', 'image.unlock({ signal })', 'Unlocking the image was cancelled'],
  ['map', 'image.map({ signal }).next()', 'Reading the map was cancelled'],
  ['read', 'image.read(0, 512, { signal })', 'Reading the disk was cancelled'],
  ['readable', 'image.readable({ signal }).getReader().read()', 'Reading the disk was cancelled'],
  ['convert', 'image.convert(output, { signal })', 'The conversion was cancelled'],
] as const) {
  test(`a cancel says what was cancelled: ${call}`, ({ folder }) => {
    const seen = program<string[]>(
      `const { open } = await import('node:fs/promises');
       const [path, output] = args;
       const file = await open(path);
       const { size } = await file.stat();
       let hangs = false;
       let asked = () => {};
       const read = async (offset, length) => {
         if (hangs) {
           asked();
           return new Promise(() => {});
         }
         const bytes = new Uint8Array(length);
         await file.read(bytes, 0, length, offset);
         return bytes;
       };
       const source = { size, read };
       const image = await decant.open(source, { password: 'wrong' });
       hangs = true;
       const seen = [];
       for (const abortAt of ['once', 'later']) {
         const abort = new AbortController();
         const { signal } = abort;
         const waits = new Promise((resolve) => { asked = resolve; });
         if (abortAt === 'once') abort.abort();
         const ended = ${begun}.catch(({ kind, message }) => seen.push(kind + ': ' + message));
         if (abortAt === 'later') await waits;
         abort.abort();
         await ended;
       }
       await image.close();
       await file.close();
       console.log(JSON.stringify(seen));`,
      call === 'unlock' ? images.luks() : images.plain(),
      join(folder, 'out.raw'),
    );
    expect(seen).toEqual(Array(2).fill(`cancelled: ${sentence}`));
  });
}
