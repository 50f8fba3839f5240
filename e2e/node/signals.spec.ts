// Signals to the command: SIGUSR1 prints its progress, and the others interrupt it.

import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cli, listening, run, start, startFed } from '../support/command.js';
import { heldDisk, serveDisk } from '../support/held.js';
import { images, PASSWORD } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';

/** What a child has written to standard error so far. */
function errorsOf({ stderr }: ChildProcess): () => string {
  let text = '';
  stderr!.on('data', (data: string) => {
    text += data;
  });
  return () => text;
}

const NOTHING_DONE = '    (0.00/100%)\n';

test('SIGUSR1 before the image is open prints progress, and opens no debugger', async () => {
  const { child, ended } = startFed('info', '--password-file', '-', images.luks());
  const errors = errorsOf(child);
  await listening(child);
  for (const times of [1, 2]) {
    child.kill('SIGUSR1');
    await expect.poll(errors).toBe(NOTHING_DONE.repeat(times));
  }
  child.stdin!.end(PASSWORD);
  expect(await ended).toMatchObject({ status: 0, stderr: NOTHING_DONE.repeat(2) });
});

test('SIGUSR1 is listened to before anything else is done', () => {
  const first = `process.once('newListener', (name) => {
    process.stderr.write(name + '\\n');
    process.nextTick(() => process.kill(process.pid, 'SIGUSR1'));
  })`;
  const preloaded = ['--import', `data:text/javascript,${encodeURIComponent(first)}`];
  const { status, stderr } = run(process.execPath, [...preloaded, cli, '--version']);
  expect(status).toBe(0);
  // The command may be loaded when the signal arrives.
  expect(['SIGUSR1\n', `SIGUSR1\n${NOTHING_DONE}`]).toContain(stderr);
});

for (const [what, options, details] of [
  ['a quiet conversion', ['-q'], {}],
  ['one that shows its progress', ['-p'], FULL],
] as const) {
  test(`SIGUSR1 prints the progress of ${what}, which continues`, details, async ({ folder }) => {
    const remote = await serveDisk();
    try {
      remote.allow(heldDisk.length / 2);
      const output = join(folder, 'out.raw');
      const { child, ended } = start('convert', ...options, '-f', 'raw', remote.url, output);
      const errors = errorsOf(child);
      await listening(child);
      // Asks until a part of the disk is converted.
      const asked = () => {
        child.kill('SIGUSR1');
        return errors();
      };
      await expect.poll(asked).toMatch(/^ {4}\((?!0\.00)\d+\.\d\d\/100%\)[^\r]*\n/m);
      remote.allowAll();
      const { status, stdout, stderr } = await ended;
      expect([status, stdout]).toEqual([0, '']);
      for (const line of stderr.split(/[\r\n]+/)) expect(line).toMatch(/^( {4}.*)?$/);
      expect(readFileSync(output).equals(heldDisk)).toBe(true);
    } finally {
      await remote.close();
    }
  });
}
