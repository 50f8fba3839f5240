// Parts of an error: a cause with details, and the cancelled operation.

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import * as decant from '../../dist/node.js';
import { closing } from '../support/closing.js';
import { images } from '../support/images.js';
import { expect, test } from '../support/node.js';
import { fileSource } from '../support/own.mjs';

/** Opens an image and runs `work` with it. */
async function using(
  path: string,
  work: (image: decant.Image) => Promise<unknown>,
  options?: decant.OpenOptions,
): Promise<unknown> {
  return closing(await decant.open(path, options), work);
}

for (const [what, failing, code] of [
  ['a damaged image', (output) => using(images.corrupt(), (image) => image.convert(output)), undefined],
  ['an image that is cut off', (output) => using(images.truncated(), (image) => image.convert(output)), undefined],
  ['what is no image', () => decant.open(new Blob(['no image'])), undefined],
  ['a password that is missing', (output) => using(images.luks(), (image) => image.convert(output)), undefined],
  ['a wrong password', () => using(images.luks(), (image) => image.unlock(), { password: 'wrong' }), undefined],
  ['a wrong option', () => decant.open(images.luks(), { workers: 0 }), undefined],
  ['a file that is not there', (output) => decant.open(output), 'ENOENT'],
] satisfies [string, (output: string) => Promise<unknown>, string | undefined][]) {
  test(`the cause of an error: ${what}`, async ({ folder }) => {
    const { name, cause } = (await failing(join(folder, 'out.raw')).catch((thrown: unknown) => thrown)) as Error;
    expect(name).toBe('DecantError');
    if (code === undefined) expect(cause).toBeUndefined();
    else expect(cause).toMatchObject({ code });
  });
}

// For an uncaught error, Node prints the line of code that throws it.
for (const [what, entry, work] of [
  ['of the calling side', 'node', 'open(file, { workers: 0 })'],
  ['of a worker', 'node', 'open(new Blob([file]))'],
  ['of an upload', 'upload', "putTarget({ url: '' })"],
  ['of contents', 'contents', 'contentsOf()'],
] as const) {
  test(`an uncaught error is short: ${what}`, () => {
    const module = new URL(`../../dist/${entry}.js`, import.meta.url).href;
    const code = `const file = process.argv[1]; await (await import('${module}')).${work}`;
    const args = ['--input-type=module', '-e', code, images.plain()];
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect(status).toBe(1);
    expect(stderr).toMatch(/^DecantError: .+\n {4}at \w+/m);
    expect(stderr.length).toBeLessThan(2000);
  });
}

for (const [entry, failing] of [
  ['upload', async () => (await import('../../dist/upload.js')).putTarget({ url: '' })],
  ['contents', async () => (await import('../../dist/contents.js')).contentsOf(async () => new Uint8Array(), -1)],
  ['places', async () => (await import('../../dist/places.js')).nextStep('nowhere', [])],
] satisfies [string, () => Promise<unknown>][]) {
  test(`an error of decant/${entry} is an instance of the DecantError of decant`, async () => {
    expect(await failing().catch((thrown: unknown) => thrown)).toBeInstanceOf(decant.DecantError);
  });
}

for (const [language, sentence] of [
  ['en', 'The disk is full.'],
  ['fr', 'The disk is full.'],
  ['de-AT', /^Das Ziel ist voll\. /],
] as const) {
  test(`decant/texts has a sentence for an error in ${language}`, async () => {
    const { textsIn } = await import('../../dist/texts.js');
    const error = new decant.DecantError('target', 'The disk is full', { code: 'disk-full' });
    expect((await textsIn(language)).failure(error)).toEqual(
      typeof sentence === 'string' ? sentence : expect.stringMatching(sentence),
    );
  });
}

// Before it begins, and while a source does not answer.
for (const [call, begun, sentence] of [
  ['open', (_image, source, signal) => decant.open(source, { signal }), 'Opening the image was cancelled'],
  ['unlock', (image, _source, signal) => image.unlock({ signal }), 'Unlocking the image was cancelled'],
  ['map', (image, _source, signal) => image.map({ signal }).next(), 'Reading the map was cancelled'],
  ['read', (image, _source, signal) => image.read(0, 512, { signal }), 'Reading the disk was cancelled'],
  [
    'readable',
    (image, _source, signal) => image.readable({ signal }).getReader().read(),
    'Reading the disk was cancelled',
  ],
  [
    'convert',
    (image, _source, signal) => image.convert(new WritableStream(), { signal }),
    'The conversion was cancelled',
  ],
] satisfies [string, (image: decant.Image, source: decant.Source, signal: AbortSignal) => Promise<unknown>, string][]) {
  test(`a cancel says what was cancelled: ${call}`, async () => {
    const file = await fileSource(call === 'unlock' ? images.luks() : images.plain());
    let hangs = false;
    let asked = () => {};
    const source: decant.Source = {
      size: file.size,
      read: (offset, length, options) => {
        if (!hangs) return file.read(offset, length, options);
        asked();
        return new Promise(() => {});
      },
    };
    const image = await decant.open(source, { password: 'wrong' });
    hangs = true;
    const seen: string[] = [];
    for (const abortAt of ['once', 'later']) {
      const abort = new AbortController();
      const waits = new Promise<void>((resolve) => {
        asked = resolve;
      });
      if (abortAt === 'once') abort.abort();
      const ended = begun(image as decant.Image, source, abort.signal).catch(
        ({ kind, message }: decant.DecantError) => {
          seen.push(`${kind}: ${message}`);
        },
      );
      if (abortAt === 'later') await waits;
      abort.abort();
      await ended;
    }
    await image.close();
    await file.close();
    expect(seen).toEqual(Array(2).fill(`cancelled: ${sentence}`));
  });
}
