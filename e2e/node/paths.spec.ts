// The written file is the one to which the system resolves the path.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cli, decant, program, run } from '../support/command.js';
import { images } from '../support/images.js';
import { inside, makeLinks, tree } from '../support/links.js';
import { expect, test } from '../support/node.js';

const CHOICES = [
  ...['out.raw', './out.raw', 'folder//new', 'folder/../file', '-', 'a\nb', ' ', 'new'],
  ...['link/../out.raw', 'link/../file', 'link/deep/../../out.raw', 'link/new', 'link/aside', 'link/deep/aside'],
  ...['to-file', 'to-link', 'to-nothing', 'to-parent', 'to-absolute', 'folder/up', 'to-itself'],
  ...[
    'file/',
    'file/.',
    'file/..',
    'file/x',
    'link/',
    'folder',
    'folder/',
    'folder/.',
    'folder/..',
    '.',
    '..',
    '/',
    '',
  ],
  ...[
    'missing/',
    'missing/x',
    'missing/../out.raw',
    'to-slash',
    'to-missing-slash',
    'to-nothing/',
    'circle',
    'circle/x',
  ],
  ...['/dev/null/x', 'x'.repeat(255), '\u{1F4BE}'.repeat(63), 'x'.repeat(256)],
];

test('what is written is what a shell writes, and refused is what a shell refuses', { tag: '@full' }, ({ folder }) => {
  const roots = (name: string) => CHOICES.map((_, at) => makeLinks(join(folder, name, String(at))));
  const [system, ours] = [roots('system'), roots('ours')];
  const written = CHOICES.map((path, at) => {
    return spawnSync('sh', ['-c', 'head -c 200 /dev/zero > "$1"', 'sh', path], { cwd: system[at]! }).status === 0;
  });
  const converted = program<boolean[]>(
    `const [image, ...rest] = args;
    const { chdir } = await import('node:process');
    const opened = await decant.open(image);
    const converted = [];
    for (const [root, path] of JSON.parse(rest[0])) {
      chdir(root);
      converted.push(await opened.convert(path).then(() => true, () => false));
    }
    await opened.close();
    console.log(JSON.stringify(converted));`,
    ...[images.kinds(), JSON.stringify(CHOICES.map((path, at) => [ours[at], path]))],
  );
  for (const [at, path] of CHOICES.entries()) {
    expect.soft(tree(ours[at]!), JSON.stringify(path)).toEqual(tree(system[at]!));
    expect.soft(converted[at], JSON.stringify(path)).toBe(written[at]);
  }
});

test('a folder in the way is reported before the conversion', { tag: '@full' }, ({ folder }) => {
  makeLinks(folder);
  for (const path of ['file/', 'file/.', 'missing/', 'folder/..', 'to-slash']) {
    expect(decant('convert', images.kinds(), `${folder}/${path}`), path).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('is a folder; choose a file'),
    });
  }
});

/** Names by their bytes, as Latin-1 has them. */
const NO_TEXT = 'caf\xe9';
const REPLACEMENT = 'caf\xef\xbf\xbd';

for (const { script, written, tag = '@full' } of [
  { script: 'decant convert "$image" "$name"', written: [], tag: [] },
  { script: 'mkdir "$name" && decant convert "$image" "$name/out"', written: [] },
  { script: 'cp "$other" "$name" && decant convert -f raw "$name" out', written: [] },
  { script: 'decant convert --with "$name" "$image" out', written: [] },
  { script: 'ln -s "$name" link && decant convert "$image" link', written: [NO_TEXT], tag: [] },
  { script: 'mkdir "$name" && cd "$name" && decant convert "$image" out', written: [`${NO_TEXT}/out`] },
  { script: `decant convert "$image" "$other"`, written: [REPLACEMENT] },
]) {
  test(`a name that is not UTF-8: ${script}`, { tag }, () => {
    // Not among the results of the tests, which linters and others look through.
    const folder = mkdtempSync(join(tmpdir(), 'decant-'));
    // The bytes of the replacement character are a name like any other, and not the one that is meant.
    writeFileSync(inside(folder, REPLACEMENT), 'precious');
    const names = `decant() { exec '${process.execPath}' '${cli}' "$@"; }
      image='${images.kinds()}' name=$(printf 'caf\\351') other=$(printf 'caf\\357\\277\\275')`;
    const result = run('sh', ['-c', `${names}; ${script}`], { cwd: folder });
    const places = tree(folder).filter((line) => line.endsWith(': written'));
    execFileSync('rm', ['-r', folder]);
    expect(places).toEqual(written.map((name) => `${name}: written`));
    if (written.length > 0) expect(result).toMatchObject({ status: 0, stderr: '' });
    else expect(result).toMatchObject({ status: 2, stderr: expect.stringContaining('is not UTF-8') });
  });
}

test('a path of the API that names no file is refused', { tag: '@full' }, ({ folder }) => {
  writeFileSync(join(folder, 'a\uFFFD'), 'precious');
  const kinds = program<string[]>(
    `const image = await decant.open(args[0]);
    const kinds = [];
    const outputs = [args[1] + '/a\\ud800', new URL('file:///%E9'), new URL('file://elsewhere/x'), new URL('ftp://x/y'), args[1] + '/a\\0b'];
    for (const output of outputs) {
      await image.convert(output).catch(({ name, kind }) => kinds.push(name + ' ' + kind));
      await decant.open(output).catch(({ name, kind }) => kinds.push(name + ' ' + kind));
    }
    await image.close();
    console.log(JSON.stringify(kinds));`,
    ...[images.kinds(), folder],
  );
  expect(kinds).toEqual(Array.from({ length: 10 }, () => 'DecantError usage'));
  expect(tree(folder)).toEqual(['a\xef\xbf\xbd: precious']);
});

test('a current folder that was removed is one sentence', ({ folder }) => {
  const script = 'mkdir gone && cd gone && rmdir ../gone && exec "$0" "$@"';
  const image = images.tiny();
  expect(run('sh', ['-c', script, process.execPath, cli, 'info', image], { cwd: folder })).toEqual({
    status: 1,
    stdout: '',
    stderr: 'decant: The current folder no longer exists; change to another folder\n',
  });
});
