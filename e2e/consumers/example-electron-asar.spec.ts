// The Electron example, packed as by its users, and run in Node from the files that Electron would have on the disk.

import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@playwright/test';
import { run } from '../support/command.js';
import { drive, electronWithTools } from '../support/consumers/electron.js';
import { project } from '../support/consumers/project.js';
import { expectSame, small } from '../support/images.js';

test.describe.configure({ timeout: 600_000 });

/** A Node version that @electron/asar supports. */
const newNode = async (): Promise<string> =>
  join((await project('runtimes', ['node', 'runtimes'])).folder, 'node_modules/node24/bin/node');

test('packed: what works lies beside the archive, and converts', { tag: '@long' }, async () => {
  const app = await electronWithTools();
  const node = await newNode();
  const asar = (...args: string[]) => {
    const ended = run(node, [join(app.folder, 'node_modules/@electron/asar/bin/asar.mjs'), ...args]);
    expect(ended).toMatchObject({ status: 0, stderr: '' });
    return ended.stdout;
  };
  expect(run(node, ['pack.js'], { cwd: app.folder })).toEqual({ status: 0, stdout: '', stderr: '' });
  const archive = join(app.folder, 'out', 'app.asar');
  const listed = asar('list', '--is-pack', archive).split('\n');
  const unpacked = listed.filter((line) => line.startsWith('unpack'));
  expect(unpacked.filter((line) => !/\/(work|node_modules\/decant)(\/|$)/.test(line))).toEqual([]);
  for (const file of ['/node_modules/decant/dist/worker.node.mjs', '/node_modules/decant/dist/decant.wasm']) {
    expect(unpacked.some((line) => line.endsWith(file))).toBe(true);
  }

  // Electron shows the archive as a folder of its name. The unpacked files are left out here, so that they cannot be loaded
  // from it.
  const resources = join(app.folder, 'resources');
  rmSync(resources, { recursive: true, force: true });
  mkdirSync(resources);
  const shown = join(resources, 'app.asar');
  asar('extract', archive, shown);
  for (const part of ['work', 'node_modules']) rmSync(join(shown, part), { recursive: true });
  await cp(`${archive}.unpacked`, `${shown}.unpacked`, { recursive: true });
  expect(readdirSync(resources)).toEqual(['app.asar', 'app.asar.unpacked']);

  const code = "import('./main/unpacked.js').then(({ PROCESS }) => console.log(PROCESS))";
  const { stdout } = run(process.execPath, ['-e', code], { cwd: shown });
  expect(stdout.trim()).toBe(join(`${shown}.unpacked`, 'work', 'process.mjs'));

  const output = join(resources, 'disk.raw');
  for (const image of [small.zlib(), small.zstd()]) {
    const task = { calls: [['open-image', image], ['choose-output', 'raw'], ['convert']], files: { output } };
    const { replies } = drive(app, task, join(shown, 'main'), join(`${shown}.unpacked`, 'work'));
    expect(replies.map(({ error }) => error)).toEqual([undefined, undefined, undefined]);
    expectSame(output, small.raw());
  }
});
