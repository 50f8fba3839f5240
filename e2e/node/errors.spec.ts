// Parts of an error: a cause with details, and the cancelled operation.

import { spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import * as decant from '../../dist/node.js';
import { putTarget } from '../../dist/upload.js';
import { closing } from '../support/closing.js';
import { images } from '../support/images.js';
import { expect, test } from '../support/node.js';
import { fileSource } from '../support/own.mjs';

const MIB = 1 << 20;

/** Opens an image and runs `work` with it. */
async function using(
  path: string,
  work: (image: decant.DiskImage) => Promise<unknown>,
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

/** Accepts connections, and calls `asked` for each; answers nothing. */
async function silentServer(asked: () => void): Promise<{ url: string; close(): void }> {
  const server = createServer(() => asked());
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/disk.raw`;
  return {
    url,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** What a call is begun with: an image whose source does not answer, that source, an address of a server that does not, and a signal. */
interface Held {
  image: decant.DiskImage;
  source: decant.Source;
  url: string;
  signal: AbortSignal;
  /** Called when the call waits for an answer. */
  asked: () => void;
}

async function upload({ url, signal }: Held): Promise<unknown> {
  return closing(await decant.open(new Uint8Array(MIB), { inputFormat: 'raw' }), (image) =>
    image.convert(putTarget({ url }), { signal }),
  );
}

const CALLS: [call: string, begin: (held: Held) => Promise<unknown>, what: string][] = [
  ['open', ({ source, signal }) => decant.open(source, { signal }), 'Opening the image'],
  ['open of a URL', ({ url, signal }) => decant.open(url, { signal }), 'Opening the image'],
  ['httpSource', ({ url, signal }) => decant.httpSource(url, { signal }), 'Opening the file'],
  ['unlock', ({ image, signal }) => image.unlock({ signal }), 'Unlocking the image'],
  ['map', ({ image, signal }) => image.map({ signal }).next(), 'Reading the map'],
  ['read', ({ image, signal }) => image.read(0, 512, { signal }), 'Reading the disk'],
  ['readable', ({ image, signal }) => image.readable({ signal }).getReader().read(), 'Reading the disk'],
  ['measure', ({ image, signal }) => image.measure({ format: 'qcow2', signal }), 'Measuring the output'],
  ['check', ({ image, signal }) => image.check({ deep: true, signal }), 'Checking the image'],
  ['compare', ({ image, signal }) => image.compare(image, { signal }), 'Comparing the disks'],
  ['digest', ({ image, signal }) => image.digest({ signal }), 'Computing the digest'],
  ['convert', ({ image, signal }) => image.convert(new WritableStream(), { signal }), 'The conversion'],
  ['an upload', upload, 'The conversion'],
  [
    'sha256',
    ({ signal, asked }) => decant.sha256(new Blob([new Uint8Array(4 * MIB)]), { signal, onProgress: asked }),
    'Computing the digest',
  ],
];

// (reason, name, code, end of the message)
const REASONS: [reason: unknown, name: string, code: string, end: string][] = [
  [undefined, 'AbortError', 'cancelled', 'was cancelled'],
  [new DOMException('It took too long', 'TimeoutError'), 'TimeoutError', 'timed-out', 'took longer than its time-out'],
  [new Error('mine'), 'DecantError', 'cancelled', 'was cancelled'],
];

// Before it begins, and while a source or server does not answer.
for (const [call, begin, what] of CALLS) {
  test(`a cancel says what was cancelled, and why: ${call}`, async () => {
    let asked = () => {};
    const file = await fileSource(call === 'unlock' ? images.luks() : images.plain());
    const server = await silentServer(() => asked());
    let hangs = false;
    const source: decant.Source = {
      size: file.size,
      read: (offset, length, options) => {
        if (!hangs) return file.read(offset, length, options);
        asked();
        return new Promise(() => {});
      },
    };
    for (const [reason, name, code, end] of REASONS) {
      for (const isLate of [false, true]) {
        hangs = false;
        const image = (await decant.open(source, { password: 'wrong' })) as decant.DiskImage;
        hangs = true;
        const abort = new AbortController();
        const waits = new Promise<void>((resolve) => {
          asked = resolve;
        });
        if (!isLate) abort.abort(reason);
        const held = { image, source, url: server.url, signal: abort.signal, asked: () => asked() };
        const ended = begin(held).catch((thrown: unknown) => thrown);
        if (isLate) await waits;
        abort.abort(reason);
        const error = (await ended) as decant.DecantError;
        expect(error).toMatchObject({ name, kind: 'cancelled', code, message: `${what} ${end}` });
        expect(error.cause).toBe(abort.signal.reason);
        expect([decant.DecantError.is(error), decant.DecantError.is(error.toJSON())]).toEqual([true, true]);
        await image.close();
      }
    }
    await file.close();
    server.close();
  });
}
