// Printing to a standard output that is closed, or full.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cli, run } from '../support/command.js';
import { images } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';

// (arguments, the image, the exit codes of a failure and without a reader)
const COMMANDS = [
  ['info', images.kinds, 1, 0, {}],
  ['info --output=json', images.kinds, 1, 0, FULL],
  ['map', images.plain, 1, 0, FULL],
  ['map --output=json', images.tiny, 1, 0, FULL],
  ['--help', () => '', 1, 0, FULL],
  // Their exit code 0 says that the image is sound, or that the disks are the same.
  ['check', images.kinds, 1, 1, FULL],
  [`compare '${images.kinds()}'`, images.kinds, 2, 2, {}],
] as const;

const NO_SPACE = 'decant: Could not write to standard output: the disk is full\n';

/** Makes descriptor 4 a pipe whose reader has ended. */
const UNREAD = 'mkfifo pipe && exec 3<>pipe 4>pipe 3>&-; ';

for (const [command, image, failed, unread, details] of COMMANDS) {
  for (const [what, before, to, status, stderr] of [
    ['is full', '', '> /dev/full', failed, NO_SPACE],
    // As a program that SIGPIPE ends, since its output has no reader.
    ['has no reader', UNREAD, '>&4', unread, ''],
  ] as const) {
    test(`decant ${command.replace(/ '.*/, '')}: standard output ${what}`, details, ({ folder }) => {
      const script = `${before}"$1" "$2" ${command} $3 ${to}`;
      const ended = run('bash', ['-c', script, 'bash', process.execPath, cli, image()], { cwd: folder });
      expect(ended).toEqual({ status, stdout: '', stderr });
    });
  }
}

test('a conversion goes on without a reader of its digests', ({ folder }) => {
  for (const [at, name] of ['a.raw', 'b.raw'].entries()) {
    const disk = Buffer.alloc(4096, at + 1);
    // The signature of a boot sector.
    disk.fill(0, 0, 510).set([0x55, 0xaa], 510);
    writeFileSync(join(folder, name), disk);
  }
  const script = `${UNREAD}tar -cf disks.tar a.raw b.raw && mkdir out && "$1" "$2" convert -q --digest --disk all disks.tar out >&4`;
  const ended = run('bash', ['-c', script, 'bash', process.execPath, cli], { cwd: folder });
  expect(ended).toEqual({ status: 0, stdout: '', stderr: '' });
  const same = run('bash', ['-c', 'cmp a.raw out/disks-disk1.raw && cmp b.raw out/disks-disk2.raw'], { cwd: folder });
  expect(same.status).toBe(0);
});
