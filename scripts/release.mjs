// `npm run release`: builds, checks and packs the package that is published. Only the workflow of releases publishes it, so that npm
// can prove where it was built.
//
// scripts/project.json states the address of the repository, and no other file does: links are relative in the repository, where
// GitHub resolves them. npm would lead them to the newest files, so those in the packed README lead to the files of this version.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from './build.mjs';
import { ask, fail, root, run, say } from './lib.mjs';
import { scriptChecks } from './tests/checks.mjs';
import { counted } from './tests/tally.mjs';

const PROJECT = 'scripts/project.json';
/** A link to a picture. On GitHub it leads to a page around the picture, unless it asks for the raw file. */
const PICTURE = /\.(webp|png|svg)$/;
const ADDRESS = /^https:\/\/github\.com\/[\w-]+\/[\w.-]*[\w-]$/;

const read = (path) => readFileSync(join(root, path), 'utf8');

/** Why there can be no release, and what to do; `undefined` if there can be one. `tag` is missing outside of the workflow. */
export function refusal({ repository, version, changes, tag }) {
  if (repository === '')
    return ['The address of the repository is not known yet.', `State it as "repository" in ${PROJECT}, then release.`];
  if (!ADDRESS.test(repository))
    return [`"repository" in ${PROJECT} is not the address of a repository.`, 'State https://github.com/OWNER/NAME.'];
  if (!changes.split('\n').some((line) => line.startsWith(`## ${version}`)))
    return [`CHANGELOG.md has no section '## ${version}'.`, 'Write it, or set the version in package.json.'];
  if (changes.includes(`## ${version}, not yet published`))
    return [`CHANGELOG.md says that ${version} is not yet published.`, 'Put the date of the release there.'];
  if (tag !== undefined && tag !== `v${version}`)
    return [`The tag is ${tag}, and the version in package.json is ${version}.`, `Tag the commit as v${version}.`];
  return undefined;
}

/** Returns the package.json that is published. */
export const publishedManifest = (manifest, repository) => ({
  ...manifest,
  homepage: `${repository}#readme`,
  repository: { type: 'git', url: `git+${repository}.git` },
  bugs: { url: `${repository}/issues` },
});

/** Returns the README that is published: relative links and pictures lead to the files of this version in the repository. */
export function publishedReadme(readme, repository, version) {
  const folder = (link) => `${repository}/${PICTURE.test(link) ? 'raw' : 'blob'}/v${version}`;
  return readme.replaceAll(/\]\((?![a-z]+:|#)([^)\s]+)\)/g, (_, link) => `](${folder(link)}/${link})`);
}

/** Packs the package in `folder`. Returns the path of the tarball. */
export function pack(folder, { repository, version }) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const packed = (cwd) => {
    const options = ['--silent', '--pack-destination', folder];
    const name = ask('npm', ['pack', ...options], { cwd });
    if (!name) fail('npm could not pack the package.', `Run npm pack in ${cwd}.`);
    return join(folder, name);
  };
  const plain = packed(root);
  run('Unpacking the package', 'tar', ['-xzf', plain, '-C', folder]);
  rmSync(plain);
  const content = join(folder, 'package');
  const change = (name, changed) =>
    writeFileSync(join(content, name), changed(readFileSync(join(content, name), 'utf8')));
  change('package.json', (text) => `${JSON.stringify(publishedManifest(JSON.parse(text), repository), null, 2)}\n`);
  change('README.md', (text) => publishedReadme(text, repository, version));
  return packed(content);
}

async function release() {
  const { repository } = JSON.parse(read(PROJECT));
  const { version } = JSON.parse(read('package.json'));
  const isInWorkflow = process.env.GITHUB_ACTIONS === 'true';
  const tag = isInWorkflow ? process.env.GITHUB_REF_NAME : undefined;
  const refused = refusal({ repository, version, changes: read('CHANGELOG.md'), tag });
  if (refused) fail(...refused);
  const others = ask('git', ['grep', '-l', '-F', repository, '--', `:!${PROJECT}`]);
  if (others) fail(`These files state the address of the repository, too: ${others}.`, 'Write relative links there.');
  if (ask('git', ['status', '--porcelain']) !== '')
    fail('The checkout has changes that are in no commit.', 'Commit or remove them.');
  await build();
  await scriptChecks();
  if (counted().failed > 0) fail('A check has failed.', 'It is named above.');
  const tarball = pack(join(root, 'target', 'release-package'), { repository, version });
  say(`packed ${tarball}`);
  if (!isInWorkflow) {
    say(`it is not published: push the tag v${version}, and the workflow of releases publishes it`);
    return;
  }
  run('Publishing', 'npm', ['publish', tarball, '--provenance', '--access', 'public']);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await release();
