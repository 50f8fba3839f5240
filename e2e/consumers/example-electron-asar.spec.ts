// The Electron example, packed as by its users, and run in Node from the files that Electron would have on the disk.

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test as base, expect } from '@playwright/test';
import { run } from '../support/command.js';
import { drive, electronWithTools } from '../support/consumers/electron.js';
import { project } from '../support/consumers/project.js';
import { expectSame, small } from '../support/images.js';

const test = base.extend<{ resources: string }>({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright wants a pattern
  resources: async ({}, use) => {
    const folder = mkdtempSync(join(tmpdir(), 'decant-resources-'));
    await use(folder);
    rmSync(folder, { recursive: true });
  },
});

test.describe.configure({ timeout: 600_000 });

/** A Node version that @electron/asar supports. */
const newNode = async (): Promise<string> =>
  join((await project('runtimes', ['node', 'runtimes'])).folder, 'node_modules/node24/bin/node');

/** Opens an image from a server, through a proxy that the environment names: with undici. */
const FROM_SERVER = `
  import { readFileSync } from 'node:fs';
  import { createServer } from 'node:http';
  import { open } from 'decant';
  const bytes = readFileSync(process.argv[1]);
  const server = createServer((_, response) => response.end(bytes));
  await new Promise((resolve) => server.listen(0, 'localhost', resolve));
  process.env.HTTP_PROXY = 'http://localhost:' + server.address().port;
  const image = await open(new URL('http://images.test/disk.qcow2'));
  console.log(image.info.format);
  await image.close();
  server.close();
  server.closeAllConnections();`;

test('packed: what works lies beside the archive, and converts', { tag: '@long' }, async ({ resources }) => {
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
  expect(unpacked.filter((line) => !/\/(work|node_modules\/(decant|undici))(\/|$)/.test(line))).toEqual([]);
  const dist = '/node_modules/decant/dist';
  for (const file of [`${dist}/worker.node.mjs`, `${dist}/decant.wasm`, '/node_modules/undici/index.js']) {
    expect(unpacked.some((line) => line.endsWith(file))).toBe(true);
  }

  // Electron shows the archive as a folder of its name. The unpacked files are left out here, so that they cannot be loaded
  // from it. No folder above has packages.
  const shown = join(resources, 'app.asar');
  asar('extract', archive, shown);
  for (const part of ['work', 'node_modules']) rmSync(join(shown, part), { recursive: true });
  await cp(`${archive}.unpacked`, `${shown}.unpacked`, { recursive: true });
  expect(readdirSync(resources)).toEqual(['app.asar', 'app.asar.unpacked']);

  const code = "import('./main/unpacked.js').then(({ PROCESS }) => console.log(PROCESS))";
  const { stdout } = run(process.execPath, ['-e', code], { cwd: shown });
  expect(stdout.trim()).toBe(join(`${shown}.unpacked`, 'work', 'process.mjs'));

  const unpackedWork = join(`${shown}.unpacked`, 'work');
  expect(
    run(process.execPath, ['--input-type=module', '-e', FROM_SERVER, small.zstd()], { cwd: unpackedWork }),
  ).toEqual({
    status: 0,
    stdout: 'qcow2\n',
    stderr: '',
  });

  const output = join(resources, 'disk.raw');
  for (const image of [small.zlib(), small.zstd()]) {
    const task = { calls: [['open-image', image], ['choose-output', 'raw'], ['convert']], files: { output } };
    const { replies } = drive(app, task, join(shown, 'main'), unpackedWork);
    expect(replies.map(({ error }) => error)).toEqual([undefined, undefined, undefined]);
    expectSame(output, small.raw());
  }
});
