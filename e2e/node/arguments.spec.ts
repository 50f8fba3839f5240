// An argument after an option is its value, even if it looks like an option. worker/cli/arguments.test.ts has all kinds.

import { execFileSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { cli, run } from '../support/command.js';
import { hashFile, images, qemuImg } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';

/** `states`, whose snapshot `-h` equals `before`. */
function imageIn(folder: string): string {
  const image = join(folder, '-h');
  copyFileSync(images.states(), image);
  qemuImg('snapshot', '-a', 'before', image);
  qemuImg('snapshot', '-c', '-h', image);
  execFileSync('qemu-io', ['-c', 'write -q -P 2 0 1M', image]);
  return image;
}

const HELP = (start: string) => ({ status: 0, stdout: expect.stringMatching(`^usage: decant ${start} `), stderr: '' });
const USAGE = (message: string) => ({ status: 2, stdout: '', stderr: expect.stringContaining(message) });

/** Those that run in the short scope. */
const SHORT = ['convert --snapshot -h -- -h out.raw', 'map ./-h -h'];

for (const [args, expected] of [
  [['convert', '--snapshot', '-h', './-h', 'out.raw'], 1],
  [['convert', '--snapshot=-h', './-h', 'out.raw'], 1],
  [['convert', '--snapshot', '-h', '--', '-h', 'out.raw'], 1],
  [['convert', '--', '-h', 'out.raw'], 2],
  [['convert', '--sync', '-f', 'qcow2', '-m', '2', './-h', 'out.raw'], 2],
  [['convert', '--snapshot', '-h'], USAGE('The image is missing')],
  [['convert', '--snapshot', '-h', './-h'], USAGE('The output is missing')],
  [['convert', './-h', 'out.raw', '--snapshot'], USAGE("'--snapshot <value>' argument missing")],
  [['convert', '--snapshot', '--help', './-h', 'out.raw'], USAGE("no snapshot '--help'")],
  [['convert', '--snapshot', '--', './-h', 'out.raw'], USAGE("no snapshot '--'")],
  [['convert', '-f', '-h', './-h', 'out.raw'], USAGE("no input format '-h'")],
  [['convert', '--', '-h'], USAGE('The output is missing')],
  [['convert', '-h'], HELP('convert')],
  [['convert', '-pq', '--help', './-h'], HELP('convert')],
  [['convert', '-ph'], HELP('convert')],
  [['map', './-h', '-h'], HELP('map')],
  [['help'], HELP('COMMAND')],
  [['help', 'info'], HELP('info')],
] as const) {
  test(`decant ${args.join(' ')}`, SHORT.includes(args.join(' ')) ? {} : FULL, ({ folder }) => {
    imageIn(folder);
    const result = run(process.execPath, [cli, ...args], { cwd: folder });
    if (typeof expected !== 'number') expect(result).toMatchObject(expected);
    else {
      expect(result).toMatchObject({ status: 0, stdout: '', stderr: '' });
      expect(hashFile(join(folder, 'out.raw'))).toBe(hashFile(images.filled(expected)));
    }
  });
}
