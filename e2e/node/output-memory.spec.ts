// Memory of a disk while it is sent: the bytes of JavaScript's buffers at a moment when the receiver has all sent bytes. It
// must not grow with the disk.

import { spawn } from 'node:child_process';
import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cli, startProgram } from '../support/command.js';
import { expect, test } from '../support/node.js';
import { takeUploads } from '../support/uploads.js';

const MIB = 1 << 20;
const script = fileURLToPath(new URL('../support/upload-memory.mjs', import.meta.url));
const report = new URL('../support/report-memory.mjs', import.meta.url).href;

/** Buffers of the program itself, and held-back bytes. */
const MOST = 24 * MIB;
/** What the amounts below differ by would show. */
const MOST_GROWTH = 8 * MIB;

for (const [kind, heldBack, isShort] of [
  // How many MiB at most wait for what follows.
  ['put', 1, true],
  ['s3', 8, false],
  ['gcs', 16, false],
  ['tus', 16, false],
  ['page blob', 4, false],
  ['block blob', 8, false],
] as const) {
  test(`${kind}: what was sent is not kept`, isShort ? {} : { tag: '@full' }, async () => {
    const server = await takeUploads();
    try {
      const args = ['--expose-gc', script, kind, server.origin, String(heldBack), '32', '96'];
      const child = startProgram(process.execPath, args);
      const ended = await child.ended;
      expect(ended).toMatchObject({ status: 0, stderr: '' });
      const [few, many] = JSON.parse(ended.stdout) as [number, number];
      expect([...server.objects.values()].map(({ length }) => length)).toEqual([96 * MIB]);
      expect(few).toBeLessThan(MOST);
      expect(many - few).toBeLessThan(MOST_GROWTH);
    } finally {
      await server.close();
    }
  });
}

test('standard output: what was read is not kept', async ({ folder }) => {
  const path = join(folder, 'disk.raw');
  writeFileSync(path, Buffer.alloc(MIB, 1));
  truncateSync(path, 128 * MIB);
  const child = spawn(process.execPath, ['--expose-gc', '--import', report, cli, 'convert', '-f', 'raw', path, '-']);
  const ended = new Promise((resolve) => child.on('close', resolve));
  const { stdout } = child;
  let errors = '';
  child.stderr.on('data', (text: Buffer) => {
    errors += text.toString();
  });
  const held: number[] = [];
  let count = 0;
  for (const amount of [16, 96]) {
    while (count < amount * MIB) {
      const piece = stdout.read() as Buffer | null;
      if (piece === null) await new Promise((resolve) => stdout.once('readable', resolve));
      else count += piece.length;
    }
    child.kill('SIGUSR2');
    await expect.poll(() => errors.match(/held: \d+/g)?.length).toBe(held.length + 1);
    held.push(Number(errors.match(/\d+/g)!.at(-1)));
  }
  stdout.resume();
  expect(await ended, errors).toBe(0);
  expect(held[0]).toBeLessThan(MOST);
  expect(held[1]! - held[0]!).toBeLessThan(MOST_GROWTH);
});
