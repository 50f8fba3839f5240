// `npm run release`: what it refuses, and what the published package states.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from '../support/command.js';
import { expect, FULL, test } from '../support/node.js';

// Scripts have no declarations.
const { pack, publishedReadme, refusal } = await import(new URL('../../scripts/release.mjs', import.meta.url).href);

const root = fileURLToPath(new URL('../..', import.meta.url));
const REPOSITORY = 'https://github.com/example/decant.js';

const READY = {
  repository: REPOSITORY,
  version: '1.2.3',
  changes: '# Changes\n\n## 1.2.3, 2026-11-30\n',
  tag: 'v1.2.3',
};

for (const [what, given, expected] of [
  ['all in order', {}, undefined],
  ['no tag, outside of the workflow', { tag: undefined }, undefined],
  ['no address', { repository: '' }, /address of the repository is not known/],
  ['an address of something else', { repository: 'https://example.com/decant' }, /is not the address of a repository/],
  ['an address that ends in .git/', { repository: `${REPOSITORY}.git/` }, /is not the address of a repository/],
  ['a version without changes', { version: '1.2.4' }, /no section '## 1\.2\.4'/],
  ['changes that are not published', { changes: '## 1.2.3, not yet published\n' }, /not yet published/],
  ['another tag', { tag: 'v1.2.2' }, /The tag is v1\.2\.2/],
] satisfies [string, Partial<typeof READY>, RegExp | undefined][]) {
  test(`a release with ${what}`, () => {
    const refused = refusal({ ...READY, ...given });
    if (expected) expect(refused?.[0]).toMatch(expected);
    else expect(refused).toBeUndefined();
  });
}

test('without the address, the script says so and builds nothing', ({ folder }) => {
  const clone = join(folder, 'clone');
  execFileSync('git', ['clone', '-q', '--depth=1', `file://${root}`, clone], { stdio: 'pipe' });
  writeFileSync(join(clone, 'scripts', 'project.json'), '{ "repository": "" }\n');
  const { status, stdout, stderr } = run('npm', ['run', '--silent', 'release'], { cwd: clone });
  expect([status, stdout]).toEqual([1, '']);
  expect(stderr).toBe(
    'decant: The address of the repository is not known yet.\n' +
      'decant: State it as "repository" in scripts/project.json, then release.\n',
  );
  expect(existsSync(join(clone, 'node_modules'))).toBe(false);
});

test('links and pictures of the README lead to the files of the version', () => {
  const [page, file] = [`${REPOSITORY}/blob/v1.2.3`, `${REPOSITORY}/raw/v1.2.3`];
  for (const [link, expected] of [
    ['[API](docs/api.md)', `[API](${page}/docs/api.md)`],
    ['[errors](docs/api.md#errors)', `[errors](${page}/docs/api.md#errors)`],
    ['![a film [of a page]](docs/film.webp)', `![a film [of a page]](${file}/docs/film.webp)`],
    ['[![a picture](a.png)](b.md)', `[![a picture](${file}/a.png)](${page}/b.md)`],
    ['[rustup](https://rustup.rs)', '[rustup](https://rustup.rs)'],
    ['[below](#licence)', '[below](#licence)'],
    ['an [empty] text (in brackets)', 'an [empty] text (in brackets)'],
  ] as const) {
    expect(publishedReadme(link, REPOSITORY, '1.2.3')).toBe(expected);
  }
});

test('the published package has the address, and no relative links in its README', FULL, ({ folder }) => {
  const { version, keywords } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const tarball = pack(join(folder, 'release'), { repository: REPOSITORY, version });
  execFileSync('tar', ['-xzf', tarball, '-C', folder]);
  const read = (name: string) => readFileSync(join(folder, 'package', name), 'utf8');
  expect(JSON.parse(read('package.json'))).toMatchObject({
    ...{ name: 'decant', version, keywords, author: 'the Decant contributors' },
    repository: { type: 'git', url: `git+${REPOSITORY}.git` },
    homepage: `${REPOSITORY}#readme`,
    bugs: { url: `${REPOSITORY}/issues` },
  });
  const links = [...read('README.md').matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!);
  expect(links.length).toBeGreaterThan(30);
  const own = links.filter((link) => link.startsWith(REPOSITORY));
  expect(links.filter((link) => !/^(https:|#)/.test(link))).toEqual([]);
  for (const link of own) {
    const [, path] = new RegExp(`/(?:blob|raw)/v${version}/([^#]+)`).exec(link)!;
    expect(existsSync(join(root, path!)), link).toBe(true);
  }
});
