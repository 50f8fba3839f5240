// docs/api.md has every export of the package and every kind of error, and the code in the documents compiles.

import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { qemuImg } from '../support/images.js';
import { expect, test } from '../support/node.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const api = read('docs/api.md');

/** The values that a declaration file exports. The types are in docs/api/. */
const exportsOf = (declarations: string): string[] =>
  [...declarations.matchAll(/^export declare (?:const|function|class) (\w+)/gm)].map(([, name]) => name!);

for (const [module, least] of [
  ['browser', 8],
  ['node', 8],
  ['contents', 1],
  ['places', 2],
  ['testing', 2],
  ['upload', 6],
] as const) {
  test(`every export of ${module}`, () => {
    const names = exportsOf(read(`dist/${module}.d.ts`));
    expect(names.length).toBeGreaterThanOrEqual(least);
    expect(names.filter((name) => !new RegExp(`\`${name}\\b`).test(api))).toEqual([]);
  });
}

test('every kind of error, and no other', () => {
  const [, kinds] = /type ErrorKind =([^;]*);/.exec(read('dist/shared.d.ts'))!;
  const rows = [...api.slice(api.indexOf('## Errors')).matchAll(/^\| `([\w-]+)` \|/gm)].map(([, name]) => name!);
  expect(rows.filter((name) => name !== 'kind')).toEqual([...kinds!.matchAll(/'([\w-]+)'/g)].map(([, kind]) => kind!));
});

/** The text of all sources in a folder. */
const sources = (folder: string, extension: string): string =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(extension) && !name.endsWith('.test.ts'))
    .map((name) => readFileSync(join(root, folder, name), 'utf8'))
    .join('\n');

test('every code of an error, a notice or a finding', () => {
  const documented = read('docs/errors.md');
  const text = sources('crate/src', '.rs') + sources('worker', '.ts');
  const codes = [...text.matchAll(/(?:\bcoded\(|\bNotice::new\(|\badd\(|\bcode: )\s*["']([a-z-]+)["']/g)].map(
    ([, code]) => code!,
  );
  expect(codes.length).toBeGreaterThan(20);
  expect(codes.filter((code) => !documented.includes(`\`${code}\``))).toEqual([]);
});

test('every code of a lost range, with its reason', () => {
  const [, table = ''] = read('docs/errors.md').split('## Codes of lost ranges');
  const documented = [...table.matchAll(/^\| `([\w-]+)` \| (.+) \|$/gm)].map(([, code, reason]) => [code, reason]);
  // In the macro `damages!`.
  const damage = /^ {4}[A-Z0-9_]+ = "([\w-]+)", "([^"]+)"/gm;
  const codes = [...sources('crate/src', '.rs').matchAll(damage)].map(([, code, reason]) => [code, reason]);
  expect(documented).toEqual(codes.toSorted(([a], [b]) => (a! < b! ? -1 : 1)));
});

/** The code in a document, by the line on which it begins. */
function codeIn(document: string): [line: number, code: string][] {
  const blocks = [...read(document).matchAll(/^```[tj]s\n([\s\S]*?)^```$/gm)];
  return blocks.map((block) => [block.input.slice(0, block.index).split('\n').length, block[1]!]);
}

test('the example of `await using` closes the image', ({ folder }) => {
  const [, code] = codeIn('docs/api.md').find(([, code]) => code.includes('await using'))!;
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(root, join(folder, 'node_modules', 'decant'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(folder, 'example.ts'), code);
  // Without the syntax, as for Node 20: by TypeScript's helper.
  const options = [
    '--target',
    'es2022',
    '--module',
    'nodenext',
    '--lib',
    'ES2022,DOM,ESNext.Disposable',
    '--types',
    '',
  ];
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  execFileSync(process.execPath, [tsc, ...options, 'example.ts'], {
    cwd: folder,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  qemuImg('create', '-q', '-f', 'qcow2', join(folder, 'disk.qcow2'), '1M');
  const program = "import { formatOf } from './example.js'; console.log(await formatOf('disk.qcow2'));";
  writeFileSync(join(folder, 'main.js'), program);
  // The process ends by itself: the image is closed.
  const printed = execFileSync(process.execPath, ['main.js'], { cwd: folder, encoding: 'utf8' });
  expect(printed).toBe('qcow2\n');
});

test('the code in the documents compiles', ({ folder }) => {
  const documents = [
    'README.md',
    ...readdirSync(join(root, 'docs')).flatMap((name) => (/md$/.exec(name) && `docs/${name}`) || []),
  ];
  const files = documents.flatMap((document) =>
    codeIn(document).map(([line, code]) => {
      const file = join(folder, `${document.replaceAll('/', '_')}.${line}.ts`);
      // A block without imports is a module all the same.
      writeFileSync(file, `${code}\nexport {};\n`);
      return file;
    }),
  );
  expect(files.length).toBeGreaterThan(8);
  const dist = (name: string) => [join(root, 'dist', `${name}.d.ts`)];
  const compilerOptions = {
    ...{ strict: true, noEmit: true, target: 'es2022', module: 'esnext', moduleResolution: 'bundler' },
    ...{ types: ['node'], typeRoots: [join(root, 'node_modules', '@types')] },
    paths: {
      decant: dist('browser'),
      'decant/node': dist('node'),
      'decant/element': dist('element'),
      'decant/threads': dist('threads'),
      'decant/contents': dist('contents'),
      'decant/places': dist('places'),
      'decant/testing': dist('testing'),
      'decant/upload': dist('upload'),
    },
  };
  files.push(join(root, 'e2e', 'support', 'documents.d.ts'));
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  execFileSync(process.execPath, [tsc, '-p', folder], { stdio: ['ignore', 'inherit', 'inherit'] });
});
