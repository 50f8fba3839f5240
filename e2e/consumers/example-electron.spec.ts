// The Electron example's parts in Node, without Electron: the main process and the utility process handle a page's calls.
// Electron itself is not available here: see the example's README.

import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from '@playwright/test';
import { run } from '../support/command.js';
import { drive, electron, electronWithTools, type Opened, type Task } from '../support/consumers/electron.js';
import type { Project } from '../support/consumers/project.js';
import { expectSame, images, PASSWORD, small } from '../support/images.js';

test.describe.configure({ timeout: 600_000 });

/** A path in a folder that is empty. */
function emptyOutput({ folder }: Project): string {
  const output = join(folder, 'output', 'disk.raw');
  rmSync(dirname(output), { recursive: true, force: true });
  mkdirSync(dirname(output));
  return output;
}

const SAVE = [['choose-output', 'raw'], ['convert']];

const WAYS: { name: string; task: () => Task; raw: () => string }[] = [
  {
    name: 'zlib, chosen',
    task: () => ({ calls: [['choose-image'], ...SAVE], files: { image: small.zlib() } }),
    raw: small.raw,
  },
  {
    name: 'zstd, dropped',
    task: () => ({ calls: [['open-image', small.zstd()], ...SAVE], files: {} }),
    raw: small.raw,
  },
  {
    name: 'LUKS',
    task: () => ({ calls: [['open-image', small.luks()], ['give-password', PASSWORD], ...SAVE], files: {} }),
    raw: small.raw,
  },
  {
    name: 'backing files, chosen',
    task: () => {
      const { top, below } = images.chain();
      return { calls: [['open-image', top], ['choose-companions'], ...SAVE], files: { companions: below } };
    },
    raw: () => images.chain().raw,
  },
  {
    name: 'backing files, dropped one by one',
    task: () => {
      const { top, below } = images.chain();
      return { calls: [['open-image', top], ...below.map((path) => ['add-companions', [path]]), ...SAVE], files: {} };
    },
    raw: () => images.chain().raw,
  },
];

for (const { name, task, raw } of WAYS) {
  test(`in Node: ${name}`, { tag: name.startsWith('zstd') ? [] : '@long' }, async () => {
    const app = await electron();
    const output = emptyOutput(app);
    const { calls, files } = task();
    const driven = drive(app, { calls, files: { ...files, output } });
    expect(driven.replies.map(({ error }) => error)).toEqual(calls.map(() => undefined));
    expect(driven.replies.at(-2)).toEqual({ value: 'disk.raw' });
    expectSame(output, raw());
    expect(readdirSync(dirname(output))).toEqual(['disk.raw']);
    expect(driven.progress.map(({ phase }) => phase)).toEqual(expect.arrayContaining(['preparing', 'converting']));
    expect(driven.shares.at(-1)).toBe(1);
    expect(driven.done).toBe(1);
  });
}

test('in Node: names are escaped before they leave the process', { tag: '@long' }, async () => {
  const app = await electron();
  const odd = join(dirname(emptyOutput(app)), 'disk\u202e.qcow2');
  copyFileSync(small.zlib(), odd);
  const { replies } = drive(app, { calls: [['open-image', odd]], files: {} });
  expect((replies[0]!.value as Opened).name).toBe('disk\\u202e.qcow2');
});

test('in Node: an image says what it needs', { tag: '@long' }, async () => {
  const app = await electron();
  const { replies } = drive(app, {
    calls: [
      ['open-image', small.luks()],
      ['open-image', images.chain().top],
    ],
    files: {},
  });
  const [luks, chain] = replies.map(({ value }) => value as Opened);
  expect(luks).toMatchObject({ name: 'small.luks.qcow2', format: 'qcow2', needs: [{ kind: 'password' }] });
  expect(chain).toMatchObject({ needs: [{ kind: 'missing-file', role: 'backing file', name: 'middle.qcow2' }] });
});

test('in Node: the suggested name of the output has its extension', { tag: '@long' }, async () => {
  const app = await electron();
  const { suggested } = drive(app, {
    calls: [
      ['open-image', small.zlib()],
      ['choose-output', 'vpc'],
    ],
    files: {},
  });
  expect(suggested).toBe('small.zlib.vhd');
});

test('in Node: a dialog that is closed changes nothing', { tag: '@long' }, async () => {
  const app = await electron();
  const calls = [['choose-image'], ['open-image', small.zlib()], ['choose-companions'], ['choose-output', 'raw']];
  const { replies } = drive(app, { calls, files: {} });
  expect([replies[0], replies[2], replies[3]]).toEqual([{ value: null }, { value: null }, { value: null }]);
});

test('in Node: a cancel leaves nothing', { tag: '@long' }, async () => {
  const app = await electron();
  const output = emptyOutput(app);
  const task = { calls: [['open-image', images.heavy()], ...SAVE], files: { output }, cancels: true };
  const { replies, done } = drive(app, task);
  expect(replies.at(-1)).toMatchObject({ error: { name: 'AbortError', kind: 'cancelled' } });
  expect(done).toBe(1);
  expect(readdirSync(dirname(output))).toEqual([]);
});

test('in Node: errors arrive as plain data, with kind, code, fields and message', { tag: '@long' }, async () => {
  const app = await electron();
  const output = emptyOutput(app);
  const noImage = join(dirname(output), 'no-image.qcow2');
  writeFileSync(noImage, 'text');
  const calls = [
    ['open-image', noImage],
    ['open-image', join(dirname(output), 'none.qcow2')],
    ['open-image', small.luks()],
    ['give-password', 'wrong'],
    ['give-password', PASSWORD],
    ['convert'],
    ['choose-output', 'no-format'],
    ['open-image', images.corrupt()],
    ...SAVE,
  ];
  const { replies } = drive(app, { calls, files: { output } });
  const kinds = ['not-recognised', 'source', undefined, 'password', undefined, 'usage', 'usage', undefined, undefined];
  expect(replies.map(({ error }) => error?.kind)).toEqual([...kinds, 'corrupt']);
  for (const { error } of replies) {
    if (!error) continue;
    const { kind } = error;
    const [code, message] = [expect.stringMatching(/^[a-z-]+$/), expect.stringMatching(/\w/)];
    expect(error).toEqual({ name: 'DecantError', kind, code, fields: expect.any(Object), message });
  }
  expect(readdirSync(dirname(output))).toEqual(['no-image.qcow2']);
});

/** Runs a program that may import the application's parts. Returns the JSON that it prints. */
function inApp<T>({ folder }: Project, code: string): T {
  const ended = run(process.execPath, ['--input-type=module', '-e', code], { cwd: folder });
  expect(ended).toMatchObject({ status: 0, stderr: '' });
  return JSON.parse(ended.stdout) as T;
}

test('in Node: what a page may not ask for is refused', { tag: '@long' }, async () => {
  const refused = inApp<string[]>(
    await electron(),
    `import { answer } from './main/calls.js';
    const session = new Proxy({}, { get: () => () => 'done' });
    const own = { url: 'app://decant/' };
    const from = (senderFrame, mainFrame = senderFrame) => ({ senderFrame, sender: { mainFrame } });
    const tries = [
      ['open-image', from(own), ['relative.qcow2']],
      ['open-image', from(own), [42]],
      ['open-image', from(own), ['/a', '/b']],
      ['add-companions', from(own), [[]]],
      ['add-companions', from(own), [['/a', '']]],
      ['give-password', from(own), []],
      ['convert', from(own), ['/etc/passwd']],
      ['convert', from({ url: 'https://decant/' }), []],
      ['convert', from({ url: 'app://other/' }), []],
      ['convert', from(own, {}), []],
      ['convert', from(null, own), []],
      ['convert', from(own), []],
    ];
    const said = tries.map(([name, event, values]) => answer(name, session, event, values).catch(({ message }) => message));
    console.log(JSON.stringify(await Promise.all(said)));`,
  );
  expect(refused.slice(0, 7).every((message) => message.startsWith('Wrong arguments'))).toBe(true);
  expect(refused.slice(7, 11).every((message) => message.startsWith('Not from the page'))).toBe(true);
  expect(refused[11]).toBe('done');
});

test('in Node: the scheme serves the page, and nothing else', { tag: '@long' }, async () => {
  const urls = [
    'app://decant/',
    'app://decant/renderer.js',
    'app://decant/../package.json',
    'app://decant/main/main.js',
  ];
  const more = ['app://decant/%2e%2e/package.json', 'app://decant/constructor', 'app://other/'];
  const answered = inApp<{ status: number; policy: string | null; type: string | null }[]>(
    await electron(),
    `import { respond } from './main/pages.js';
    const said = ${JSON.stringify([...urls, ...more])}.map(async (url) => {
      const { status, headers } = await respond(url);
      return { status, policy: headers.get('content-security-policy'), type: headers.get('content-type') };
    });
    console.log(JSON.stringify(await Promise.all(said)));`,
  );
  expect(answered.map(({ status }) => status)).toEqual([200, 200, 404, 404, 404, 404, 404]);
  expect(answered[0]!.policy).toMatch(/^default-src 'none'; script-src 'self';/);
  expect(answered[1]!.type).toMatch(/^text\/javascript/);
});

test(
  'in Node: a process that dies fails what was asked of it, and the next call starts another',
  { tag: '@long' },
  async () => {
    const said = inApp<unknown[]>(
      await electron(),
      `import { EventEmitter } from 'node:events';
    import { WorkClient } from './main/work-client.js';
    const children = [];
    const start = () => {
      const child = Object.assign(new EventEmitter(), { postMessage() {} });
      children.push(child);
      return child;
    };
    const client = new WorkClient(start, () => {});
    const first = client.request('open', {});
    children[0].emit('exit', 9);
    const failed = await first;
    const second = client.request('open', {});
    children[1].emit('message', { id: 2, value: 'opened' });
    console.log(JSON.stringify([failed.error.kind, await second, children.length, client.busy]));`,
    );
    expect(said).toEqual(['internal', { value: 'opened' }, 2, false]);
  },
);

/** By name: the files of a part, with those that they import, and the modules and types that it has. */
const PARTS = {
  'the main process and the preload script': [
    ['main/main.js', 'preload/preload.cjs'],
    ['--module', 'nodenext', '--types', 'node'],
  ],
  'the utility process and what packs the application': [
    ['work/process.mjs', 'pack.js'],
    ['--module', 'nodenext', '--types', 'node,electron'],
  ],
  'the page': [['renderer/renderer.js'], ['--module', 'esnext', '--lib', 'ES2022,DOM,DOM.Iterable', '--types', '']],
} as const;

test('the files are right by the types of the package, of Node and of Electron', async () => {
  const { folder } = await electronWithTools();
  const { version } = JSON.parse(readFileSync(join(folder, 'node_modules/electron/package.json'), 'utf8'));
  const { devDependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  expect(version).toBe(devDependencies.electron);
  const tsc = join(import.meta.dirname, '../../node_modules/.bin/tsc');
  const flags = ['--allowJs', '--checkJs', '--noEmit', '--skipLibCheck', '--strict', '--noImplicitAny', 'false'];
  for (const [part, [files, options]] of Object.entries(PARTS)) {
    const ended = run(tsc, [...flags, '--target', 'es2022', '--ignoreConfig', ...options, ...files], { cwd: folder });
    expect(ended, part).toEqual({ status: 0, stdout: '', stderr: '' });
  }
});

test('in Node: the dialog offers what the package reads', async () => {
  const filters = inApp<{ extensions: string[] }[]>(
    await electron(),
    "import { filters } from './main/filters.js'; console.log(JSON.stringify(filters));",
  );
  const [images, all] = filters.map(({ extensions }) => extensions);
  expect(images).toEqual(expect.arrayContaining(['qcow2', 'vhd', 'vhdx', 'luks', 'ova', 'vmx', 'xz']));
  expect(images).not.toContain('iso');
  expect(all).toEqual(['*']);
});
