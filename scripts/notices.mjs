// The licences of everything that ships: Decant, the crates in the wasm, Rust's standard library, and the packages in
// the page. Names come from the lock files and texts from the packages, so the same lock files give the same notices.

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ask, fail, root } from './lib.mjs';
import { toolchain } from './setup.mjs';

const TARGET = 'wasm32-unknown-unknown';
const RULE = '-'.repeat(100);
const RUST_COPYRIGHT = 'The Rust Project Developers (see https://thanks.rust-lang.org)';

/** A work: its licence, its origin, and the texts of its licence. */
const work = (name, version, licence, home, texts) => ({ title: `${name} ${version}`, licence, home, texts });

const read = (file) => readFileSync(file, 'utf8').replaceAll('\r\n', '\n').trim();

const readJson = (name) => JSON.parse(readFileSync(join(root, name), 'utf8'));

/** Licence files that cover only tests and examples, according to the README beside them. */
const OF_TESTS = ['crossbeam-channel-0.5.17/LICENSE-THIRD-PARTY'];

/** The texts of the licences in a package's folder. */
const textsIn = (folder) =>
  readdirSync(folder)
    .filter((name) => /^(licen[cs]e|copying|copyright|notice|unlicense)/i.test(name))
    .map((name) => join(folder, name))
    .filter((file) => statSync(file).isFile() && !OF_TESTS.some((other) => file.endsWith(other)))
    .toSorted()
    .map(read);

const sysroot = () => ask('rustc', [`+${toolchain()}`, '--print', 'sysroot']);

/** The text of a licence by its SPDX identifier, from Rust's toolchain. */
function standardText(id, copyright) {
  const file = join(sysroot(), 'share', 'doc', 'rust', 'licenses', `${id}.txt`);
  if (!existsSync(file)) fail(`There is no text of the licence ${id}.`, 'Name its file in scripts/notices.mjs.');
  return read(file).replace(/Copyright \(c\) <year> <copyright holders>/, `Copyright (c) ${copyright}`);
}

const standardTexts = (licence, copyright) =>
  licence
    .split(/ OR | AND |\/|[()]/)
    .map((id) => id.trim())
    .filter((id) => id !== '')
    .map((id) => standardText(id, copyright));

/** `name` and the packages linked with it, without those that only run at build time. */
function linked(manifest, name, ...options) {
  const args = ['metadata', '--format-version', '1', '--locked', '--filter-platform', TARGET, ...options];
  const env = { ...process.env, RUSTC_BOOTSTRAP: '1' };
  const json = ask('cargo', [`+${toolchain()}`, ...args, '--manifest-path', manifest], { env, maxBuffer: 1 << 28 });
  if (!json) fail(`Cargo could not list what ${name} is linked with.`, 'Check that cargo reaches its registry.');
  const { packages, resolve } = JSON.parse(json);
  const byId = new Map(packages.map((each) => [each.id, each]));
  const nodes = new Map(resolve.nodes.map((node) => [node.id, node]));
  const found = new Set();
  const visit = (id) => {
    const each = byId.get(id);
    if (found.has(each) || each.targets.some(({ kind }) => kind.includes('proc-macro'))) return;
    found.add(each);
    for (const { pkg, dep_kinds } of nodes.get(id).deps) if (dep_kinds.some(({ kind }) => kind === null)) visit(pkg);
  };
  visit(packages.find((each) => each.name === name).id);
  // A package without a source is part of the tree of `name`.
  return [...found].filter(({ source }) => source !== null);
}

function crate({ name, version, license, repository, authors, manifest_path }) {
  const folder = dirname(manifest_path);
  const own = textsIn(folder);
  // The zstd library is a separate work from its binding.
  const library = name === 'zstd-sys' ? [read(join(folder, 'zstd', 'LICENSE'))] : [];
  const texts = own.length > 0 ? own : standardTexts(license, authors.join(', '));
  return work(name, version, license, repository, [...texts, ...library]);
}

function crates() {
  const features = ['--features', 'threads'];
  const std = join(sysroot(), 'lib', 'rustlib', 'src', 'rust', 'library');
  return [
    ...linked('crate/Cargo.toml', 'decant', ...features).map(crate),
    ...linked(join(std, 'sysroot', 'Cargo.toml'), 'std').map(crate),
    work(
      "Rust's standard library",
      toolchain(),
      '(MIT OR Apache-2.0) AND Unicode-3.0, compiler-builtins MIT AND Apache-2.0 WITH LLVM-exception',
      'https://github.com/rust-lang/rust',
      [
        ...standardTexts('MIT OR Apache-2.0 AND Unicode-3.0', RUST_COPYRIGHT),
        read(join(std, 'compiler-builtins', 'LICENSE.txt')),
      ],
    ),
  ];
}

/** Packages that are not part of the page: types, and replacements for a browser on servers. */
const isAbsent = (name) => name.startsWith('@types/') || name === '@lit-labs/ssr-dom-shim';

/** The packages in the page, in the element and in uploads. */
function npmPackages() {
  const { packages } = readJson('package-lock.json');
  const found = new Set();
  const visit = (name) => {
    if (found.has(name) || isAbsent(name)) return;
    found.add(name);
    Object.keys(packages[`node_modules/${name}`].dependencies ?? {}).forEach(visit);
  };
  visit('lit');
  const packaged = (name, where = 'in the page and the element only') => {
    const { version, license } = packages[`node_modules/${name}`];
    const texts = textsIn(join(root, 'node_modules', name));
    return work(name, version, `${license} (${where})`, `https://www.npmjs.com/package/${name}`, texts);
  };
  const everywhere = packaged('@noble/hashes', 'in the package and the page');
  const uploads = ['aws4fetch', 'hash-wasm'].map((name) => packaged(name, 'in decant/upload only'));
  return [...[...found].map((name) => packaged(name)), everywhere, ...uploads];
}

/** Returns each text once, under the titles of its works. Of texts that differ only in white space, one is kept. */
function grouped(works) {
  const texts = new Map();
  for (const { title, texts: own } of works) {
    if (own.length === 0) fail(`There is no licence text of ${title}.`, 'Adapt scripts/notices.mjs.');
    for (const text of own) {
      const key = text.replace(/\s+/g, ' ');
      if (!texts.has(key)) texts.set(key, { text, titles: new Set() });
      texts.get(key).titles.add(title);
    }
  }
  return [...texts.values()].toSorted((a, b) => b.text.length - a.text.length);
}

/** The notices as one text. */
export function notices() {
  const decant = readJson('package.json');
  const own = work('Decant', decant.version, decant.license.replace(/[()]/g, ''), 'this package', textsIn(root));
  const others = new Map([...crates(), ...npmPackages()].map((each) => [each.title, each]));
  const works = [own, ...[...others.values()].toSorted((a, b) => (a.title < b.title ? -1 : 1))];
  const list = works.map(({ title, licence, home }) => `${title}\n    ${licence}\n    ${home}`);
  const parts = grouped(works).map(({ text, titles }) => `${RULE}\n${[...titles].join('\n')}\n\n${text}`);
  return `Decant, and what it contains of others, with the licence of each.\n\n${list.join('\n')}\n\n${parts.join('\n\n')}\n`;
}
