// The packed package outside of pages: in every Node, Bun, Deno, test runners, and TypeScript.

import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, test } from '@playwright/test';
import { type Ended, run } from '../support/command.js';
import { type Project, project } from '../support/consumers/project.js';
import { expectSame, PASSWORD, small } from '../support/images.js';
import { byScope } from '../support/scope.js';

const IMAGES = { zlib: small.zlib, zstd: small.zstd, luks: small.luks };

const MINUTE = 60_000;
test.describe.configure({ timeout: 10 * MINUTE });

const quiet = { NODE_NO_WARNINGS: '1', DENO_NO_UPDATE_CHECK: '1', NO_COLOR: '1', FORCE_COLOR: '0' };
const environment = { ...process.env, ...quiet };

const inProject = ({ folder }: Project, command: string, args: string[], env: NodeJS.ProcessEnv = {}): Ended =>
  run(resolve(folder, 'node_modules', command), args, { cwd: folder, env: { ...environment, ...env } });

/** The folder of outputs: below the project, since permissions may cover only that. */
function emptyOutput({ folder }: Project): string {
  const output = join(folder, 'output', 'disk.raw');
  rmSync(dirname(output), { recursive: true, force: true });
  mkdirSync(dirname(output));
  return output;
}

const NODES = {
  'Node 20.19': { program: 'node20/bin/node', permission: '--experimental-permission' },
  'Node 22': { program: 'node22/bin/node', permission: '--permission' },
  'Node 24': { program: 'node24/bin/node', permission: '--permission' },
};

interface Way {
  name: string;
  /** A path below `node_modules`. */
  program: string;
  args: string[];
}

const WAYS: Way[] = [
  ...Object.entries(NODES).flatMap(([name, { program }]) => [
    { name: `${name}, import`, program, args: ['convert.mjs'] },
    { name: `${name}, require`, program, args: ['convert.cjs'] },
    { name: `${name}, in a worker`, program, args: ['in-worker.mjs'] },
  ]),
  { name: 'Bun, import', program: '.bin/bun', args: ['convert.mjs'] },
  { name: 'Bun, require', program: '.bin/bun', args: ['convert.cjs'] },
  { name: 'Bun, in a worker', program: '.bin/bun', args: ['in-worker.mjs'] },
  { name: 'Deno, import', program: '.bin/deno', args: ['run', '--allow-all', 'convert.mjs'] },
  { name: 'Deno, in a worker', program: '.bin/deno', args: ['run', '--allow-all', 'in-worker.mjs'] },
];

/** The project for Node, with other runtimes than this Node. */
const runtimes = () => project('runtimes', ['node', 'runtimes']);

/** Converts every image, or the first `most` ones, by the program of the project that `args` name. */
function expectConverts(made: Project, program: string, args: string[], most?: number): void {
  for (const image of Object.values(IMAGES).slice(0, most)) {
    const output = emptyOutput(made);
    const ended = inProject(made, program, [...args, image(), output, PASSWORD]);
    expect(ended).toEqual({ status: 0, stdout: '', stderr: '' });
    expectSame(output, small.raw());
  }
}

for (const [program, most] of [
  ['convert.mjs', 3],
  ['convert.cjs', byScope({ short: 1, full: 3 })],
  ['in-worker.mjs', byScope({ short: 1, full: 3 })],
] as const) {
  test(`this Node, ${program}`, async () => {
    expectConverts(await project('node', ['node']), process.execPath, [program], most);
  });
}

for (const { name, program, args } of WAYS) {
  test(name, { tag: '@long' }, async () => {
    expectConverts(await runtimes(), program, args);
  });
}

test('Node 24, await using', { tag: '@long' }, async () => {
  const made = await runtimes();
  // The process ends by itself: the image is closed.
  const ended = inProject(made, NODES['Node 24'].program, ['using.mjs', small.zstd()]);
  expect(ended).toEqual({ status: 0, stdout: 'qcow2\n', stderr: '' });
});

/** The flags of the permission model, and Node's message about a missing one. Node 20 names none of them. */
const FLAGS = {
  worker: { flag: '--allow-worker', sentence: /^internal: [^\n]*(--allow-worker|restricted)[^\n]*\n$/ },
  read: { flag: '--allow-fs-read', sentence: /^source: [^\n]*(--allow-fs-read|restricted)[^\n]*\n$/ },
  write: { flag: '--allow-fs-write', sentence: /^target: [^\n]*(--allow-fs-write|restricted)[^\n]*\n$/ },
};

for (const [name, { program, permission }] of Object.entries(NODES)) {
  const convert = (made: Project, output: string, left: keyof typeof FLAGS | 'nothing') => {
    const { folder } = made;
    const allowed = {
      worker: FLAGS.worker.flag,
      read: `${FLAGS.read.flag}=${dirname(small.zstd())}/*`,
      write: `${FLAGS.write.flag}=${folder}/output/*`,
    };
    const flags = Object.entries(allowed).filter(([name]) => name !== left);
    // Node itself reads the program and the package.
    const own = `${FLAGS.read.flag}=${folder}/*`;
    const args = [permission, own, ...flags.map(([, flag]) => flag), 'convert.mjs', small.zstd(), output];
    return inProject(made, program, args);
  };

  test(`${name}, with permissions`, { tag: '@long' }, async () => {
    const made = await runtimes();
    const output = emptyOutput(made);
    // The second conversion replaces the output of the first.
    for (let times = 0; times < 2; times += 1) {
      expect(convert(made, output, 'nothing')).toEqual({ status: 0, stdout: '', stderr: '' });
      expectSame(output, small.raw());
    }
  });

  for (const left of ['worker', 'read', 'write'] as const) {
    test(`${name}, without ${FLAGS[left].flag}: one sentence`, { tag: '@long' }, async () => {
      const made = await runtimes();
      const output = emptyOutput(made);
      const { status, stderr } = convert(made, output, left);
      expect(stderr).toMatch(FLAGS[left].sentence);
      expect(status).toBe(1);
      expect(existsSync(output)).toBe(false);
    });
  }
}

for (const [name, image] of Object.entries(IMAGES)) {
  for (const runner of ['jest', 'vitest']) {
    test(`${runner}, ${name}`, { tag: '@long' }, async () => {
      const made = await project(runner, ['runner', runner]);
      const env = { IMAGE: image(), OUTPUT: emptyOutput(made), PASSWORD, RAW: small.raw() };
      const { status, stdout, stderr } = run('npm', ['test'], { cwd: made.folder, env: { ...environment, ...env } });
      expect(`${stdout}${stderr}`).toMatch(/Tests\D+2 passed/);
      expect(status).toBe(0);
    });
  }
}

const BUNDLER = ['--module', 'esnext', '--moduleResolution', 'bundler'];
const NODENEXT = ['--module', 'nodenext'];
/** Without the types of Node, which a compiler finds by itself. */
const PAGE = ['--lib', 'ES2022,DOM', '--typeRoots', 'no-types'];
const NODE = ['--lib', 'ES2022', '--types', 'node'];
const OLD_PAGE = ['--lib', 'ES2021,DOM', '--typeRoots', 'no-types'];

for (const compiler of ['typescript', 'typescript5']) {
  for (const { name, file, options } of [
    { name: 'a page, for a bundler', file: 'browser.ts', options: [...BUNDLER, ...PAGE] },
    {
      name: 'a page, by the rules of Node',
      file: 'browser.ts',
      options: [...NODENEXT, '--customConditions', 'browser', ...PAGE],
    },
    { name: 'a page, libraries of 2021', file: 'browser.ts', options: [...BUNDLER, ...OLD_PAGE] },
    { name: 'Node, by its own rules', file: 'node.ts', options: [...NODENEXT, ...NODE] },
    { name: 'Node, for a bundler', file: 'node.ts', options: [...BUNDLER, '--customConditions', 'node', ...NODE] },
  ]) {
    test(`${compiler}: ${name}`, { tag: '@long' }, async () => {
      const made = await project('typescript', ['typescript']);
      const flags = ['--strict', '--exactOptionalPropertyTypes', '--target', 'ES2022', '--noEmit'];
      const ended = inProject(made, `${compiler}/bin/tsc`, [...flags, ...options, file]);
      expect(ended).toEqual({ status: 0, stdout: '', stderr: '' });
    });
  }
}

/** The `module` settings, and the CommonJS programs that compile with them. Node runs both. */
const COMMON_JS = [
  ['node16', 'dynamic'],
  ['node20', 'required'],
  ['nodenext', 'required'],
] as const;

for (const compiler of ['typescript', 'typescript5']) {
  for (const [module, program] of COMMON_JS) {
    test(`${compiler}: CommonJS, ${module}, ${program}.cts`, { tag: '@full' }, async () => {
      const made = await project('typescript', ['typescript']);
      const flags = ['--strict', '--target', 'ES2022', ...NODE, '--module', module, '--outDir', `made-${module}`];
      const compiled = inProject(made, `${compiler}/bin/tsc`, [...flags, `${program}.cts`]);
      expect(compiled).toEqual({ status: 0, stdout: '', stderr: '' });
      expectConverts(made, process.execPath, [`made-${module}/${program}.cjs`], 1);
    });
  }
}

const BY_TSC = ['.bin/tsc', '-p'];

/** By framework: the file of the program that has the element in its templates, and what compiles it by a configuration. */
const TEMPLATES: Record<string, [file: string, compiler: string[]]> = {
  react: ['react.tsx', BY_TSC],
  preact: ['preact.tsx', BY_TSC],
  'solid-js': ['solid.tsx', BY_TSC],
  svelte: ['Converter.svelte', ['.bin/svelte-check', '--fail-on-warnings', '--output', 'machine', '--tsconfig']],
  vue: ['Converter.vue', ['.bin/vue-tsc', '-p']],
};

for (const [framework, [file, [compiler, ...flags]]] of Object.entries(TEMPLATES)) {
  test(`typescript: the element and its events in templates of ${framework}`, { tag: '@full' }, async () => {
    const made = await project('jsx', ['jsx']);
    const compilerOptions = {
      ...{ strict: true, exactOptionalPropertyTypes: true, noEmit: true, types: [] },
      ...{ target: 'ES2022', lib: ['ES2022', 'DOM'], module: 'esnext', moduleResolution: 'bundler' },
      ...{ jsx: 'preserve', jsxImportSource: framework },
    };
    const config = join(made.folder, `tsconfig.${framework}.json`);
    const vueCompilerOptions = { strictTemplates: true };
    writeFileSync(config, JSON.stringify({ compilerOptions, vueCompilerOptions, files: [file] }));
    const ended = inProject(made, compiler!, [...flags, config]);
    expect(ended).toMatchObject({ status: 0, stderr: '' });
  });
}
