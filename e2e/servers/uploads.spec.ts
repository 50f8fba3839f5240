// Uploads to servers that others have written.

import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as Decant from '../../dist/node.js';
import type * as Upload from '../../dist/upload.js';
import { startProgram } from '../support/command.js';
import { images } from '../support/images.js';
import { expect, test } from '../support/node.js';
import { azureServer, gcsServer, hasGcs, KEYS, s3Server, tusServer } from '../support/real-servers.mjs';

const dist = (name: string) => fileURLToPath(new URL(`../../dist/${name}.js`, import.meta.url));
const decant = (await import(dist('node'))) as typeof Decant;
const upload = (await import(dist('upload'))) as typeof Upload;
test.afterAll(() => decant.dispose());

const hash = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

interface Row {
  name: string;
  start: typeof s3Server;
  target: (url: string) => Decant.Target;
  format: 'raw' | 'vpc' | 'raw.gz';
  /** How the command is told. */
  args: string[];
}

const ROWS: Row[] = [
  {
    name: 's3s-fs, S3 multipart',
    start: s3Server,
    target: (url) => upload.s3Target({ url, keys: KEYS }),
    format: 'raw',
    args: ['--upload', 's3'],
  },
  {
    name: 'Azurite, page blob',
    start: azureServer,
    target: (url) => upload.azurePageBlobTarget(url),
    format: 'vpc',
    args: ['--upload', 'azure'],
  },
  {
    name: 'Azurite, block blob',
    start: azureServer,
    target: (url) => upload.azureBlockBlobTarget(url),
    format: 'raw',
    args: ['--upload', 'azure'],
  },
  {
    name: '@tus/server',
    start: tusServer,
    target: (url) => upload.tusTarget(url),
    format: 'raw',
    args: ['--upload', 'tus'],
  },
  ...(hasGcs
    ? [
        {
          name: 'fake-gcs-server, resumable',
          start: gcsServer,
          target: (url: string) => upload.gcsTarget({ url }),
          format: 'raw' as const,
          args: ['--upload', 'gcs'],
        },
      ]
    : []),
];

/** The footer of a VHD has a time and an identifier of its own. */
const comparable = (bytes: Buffer, format: string) => (format === 'vpc' ? bytes.subarray(0, -512) : bytes);

for (const { name, start, target, format, args } of ROWS) {
  for (const by of ['the package', 'the command']) {
    test(`${name}, by ${by}: the object is the disk`, async ({ folder }) => {
      const stored = join(folder, 'stored');
      mkdirSync(stored);
      const server = await start(stored);
      try {
        if (by === 'the package') {
          const image = await decant.open(images.zlib());
          await image.convert(target(server.url), { format });
          await image.close();
        } else {
          const headers = join(folder, 'headers');
          writeFileSync(headers, '');
          const keys = { AWS_ACCESS_KEY_ID: KEYS.accessKeyId, AWS_SECRET_ACCESS_KEY: KEYS.secretAccessKey };
          const program = [dist('cli'), 'convert', ...args, '-O', format, images.zlib(), server.url];
          expect(await startProgram(process.execPath, program, keys).ended).toMatchObject({ status: 0, stderr: '' });
        }
        const object = (await server.object())!;
        const expected = readFileSync(images.raw());
        expect(object.length - (format === 'vpc' ? 512 : 0)).toBe(expected.length);
        expect(hash(comparable(object, format))).toBe(hash(expected));
      } finally {
        await server.stop();
      }
    });
  }

  test(`${name}: a cancel leaves no object that looks complete`, async ({ folder }) => {
    const server = await start(folder);
    try {
      const image = await decant.open(images.zlib());
      const ending = new AbortController();
      const onProgress = ({ network }: Decant.Progress) => {
        if ((network?.sent ?? 0) > 20 << 20) ending.abort();
      };
      const work = image.convert(target(server.url), { format, signal: ending.signal, onProgress });
      await expect(work).rejects.toMatchObject({ kind: 'cancelled' });
      await image.close();
      const object = await server.object().catch(() => undefined);
      expect(object?.length ?? 0).toBeLessThan(readFileSync(images.raw()).length);
    } finally {
      await server.stop();
    }
  });
}

test('s3s-fs: an upload that was cut off goes on, and its object is the disk', async ({ folder }) => {
  const server = await s3Server(folder);
  try {
    let text = '';
    const journal: Upload.UploadJournal = {
      read: () => text,
      append: (more) => {
        text += more;
      },
      clear: () => {
        text = '';
      },
    };
    const image = await decant.open(images.zlib());
    const begun: number[] = [];
    const convert = (most: number) => {
      const ending = new AbortController();
      let first: number | undefined;
      const onProgress = ({ phase, guestDone, network }: Decant.Progress) => {
        if (phase !== 'converting') return;
        if (first === undefined) begun.push(guestDone);
        first ??= guestDone;
        if ((network?.sent ?? 0) > most) ending.abort();
      };
      const target = upload.s3Target({ url: server.url, keys: KEYS, journal });
      return image.convert(target, { resume: true, signal: ending.signal, onProgress });
    };
    await expect(convert(40 << 20)).rejects.toThrow(/what is done is kept/);
    await convert(Number.POSITIVE_INFINITY);
    await image.close();
    expect(begun[1]).toBeGreaterThan(8 << 20);
    expect(hash((await server.object())!)).toBe(hash(readFileSync(images.raw())));
    expect(text).toBe('');
  } finally {
    await server.stop();
  }
});
