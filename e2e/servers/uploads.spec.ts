// Uploads to servers that others have written.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as Decant from '../../dist/node.js';
import type * as Upload from '../../dist/upload.js';
import { startProgram } from '../support/command.js';
import { expect, test } from '../support/node.js';
import { azureServer, gcsServer, hasGcs, KEYS, s3Server, tusServer } from '../support/real-servers.mjs';
import { isDisk, qcow2Of, rawDisk } from '../support/upload-disks.js';

const dist = (name: string) => fileURLToPath(new URL(`../../dist/${name}.js`, import.meta.url));
const decant = (await import(dist('node'))) as typeof Decant;
const upload = (await import(dist('upload'))) as typeof Upload;
test.afterAll(() => decant.dispose());

const MIB = 1 << 20;
/** Eight parts of S3, four chunks of Google and tus. */
const RAW = rawDisk(64 * MIB);

/** A `fetch` that sends `count` bodies of data; what has more data is held for ever, and what has none is sent. */
function holdAfter(count: number): { fetch: typeof globalThis.fetch; held: unknown[] } {
  let sent = 0;
  const held: unknown[] = [];
  const fetch: typeof globalThis.fetch = (url, init) => {
    const hasData = init?.body instanceof Uint8Array && init.body.length >= MIB;
    if (hasData) sent += 1;
    if (!hasData || sent <= count) return globalThis.fetch(url, init);
    held.push(url);
    return new Promise(() => {});
  };
  return { fetch, held };
}

interface Row {
  name: string;
  start: typeof s3Server;
  target: (url: string, options?: Upload.UploadOptions) => Decant.Target;
  format: 'raw' | 'vpc' | 'raw.gz';
  /** How the command is told. */
  args: string[];
  /** What the command says of the name of the object. */
  note?: string;
}

const ROWS: Row[] = [
  {
    name: 's3s-fs, S3 multipart',
    start: s3Server,
    target: (url, options) => upload.s3Target({ url, keys: KEYS, ...options }),
    format: 'raw',
    args: ['--upload', 's3'],
  },
  {
    name: 'Azurite, page blob',
    start: azureServer,
    target: (url, options) => upload.azurePageBlobTarget({ url, ...options }),
    format: 'vpc',
    args: ['--upload', 'azure'],
  },
  {
    name: 'Azurite, block blob',
    start: azureServer,
    target: (url, options) => upload.azureBlockBlobTarget({ url, ...options }),
    format: 'raw',
    args: ['--upload', 'azure'],
    note: 'decant: note: the output is raw, as -O says, although its name ends in .vhd\n',
  },
  {
    name: '@tus/server',
    start: tusServer,
    target: (url, options) => upload.tusTarget({ url, ...options }),
    format: 'raw',
    args: ['--upload', 'tus'],
  },
  ...(hasGcs
    ? [
        {
          name: 'fake-gcs-server, resumable',
          start: gcsServer,
          target: (url: string, options?: Upload.UploadOptions) => upload.gcsTarget({ url, ...options }),
          format: 'raw' as const,
          args: ['--upload', 'gcs'],
        },
      ]
    : []),
];

for (const { name, start, target, format, args, note = '' } of ROWS) {
  for (const by of ['the package', 'the command']) {
    test(`${name}, by ${by}: the object is the disk`, async ({ folder }) => {
      const stored = join(folder, 'stored');
      mkdirSync(stored);
      const server = await start(stored);
      try {
        if (by === 'the package') {
          const image = await decant.open(qcow2Of(RAW, folder));
          const verify = name !== '@tus/server';
          const { verified } = await image.convert(target(server.url), { format, verify });
          expect(verified?.method).toBe(verify ? 'checksums' : undefined);
          await image.close();
        } else {
          const headers = join(folder, 'headers');
          writeFileSync(headers, '');
          const keys = { AWS_ACCESS_KEY_ID: KEYS.accessKeyId, AWS_SECRET_ACCESS_KEY: KEYS.secretAccessKey };
          const program = [dist('cli'), 'convert', ...args, '-O', format, qcow2Of(RAW, folder), server.url];
          expect(await startProgram(process.execPath, program, keys).ended).toMatchObject({ status: 0, stderr: note });
        }
        expect(isDisk(await server.object(), RAW, format)).toBe(true);
      } finally {
        await server.stop();
      }
    });
  }

  test(`${name}: a cancel leaves no object that looks complete`, async ({ folder }) => {
    const stored = join(folder, 'stored');
    mkdirSync(stored);
    const server = await start(stored);
    try {
      const image = await decant.open(qcow2Of(RAW, folder));
      const ending = new AbortController();
      const { fetch, held } = holdAfter(2);
      const work = image.convert(target(server.url, { fetch }), { format, signal: ending.signal });
      await expect.poll(() => held.length, { timeout: 60_000 }).toBeGreaterThan(0);
      ending.abort();
      await expect(work).rejects.toMatchObject({ kind: 'cancelled' });
      await image.close();
      const object = await server.object().catch(() => undefined);
      expect(object?.length ?? 0).toBeLessThan(RAW.length);
    } finally {
      await server.stop();
    }
  });
}

test('s3s-fs: an interrupted upload resumes, and its object is the disk', async ({ folder }) => {
  const stored = join(folder, 'stored');
  mkdirSync(stored);
  const server = await s3Server(stored);
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
    const image = await decant.open(qcow2Of(RAW, folder));
    const ending = new AbortController();
    const target = (fetch: typeof globalThis.fetch) => upload.s3Target({ url: server.url, keys: KEYS, journal, fetch });
    const cutOff = image.convert(target(holdAfter(3).fetch), { resume: true, signal: ending.signal });
    // The upload, and three parts.
    await expect.poll(() => text.split('\n').length - 1, { timeout: 60_000 }).toBe(4);
    ending.abort();
    await expect(cutOff).rejects.toThrow(/progress was saved/);
    const begun: number[] = [];
    const onProgress = ({ phase, guestDone = 0 }: Decant.Progress) => {
      if (phase === 'converting') begun.push(guestDone);
    };
    await image.convert(target(globalThis.fetch), { resume: true, onProgress });
    await image.close();
    expect(begun[0]).toBeGreaterThanOrEqual(3 * 8 * MIB);
    expect(isDisk(await server.object(), RAW)).toBe(true);
    expect(text).toBe('');
  } finally {
    await server.stop();
  }
});
