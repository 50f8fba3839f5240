// Import cycles: between files of Rust, between the modules at the top of crate/src, and between the folders of worker/, of
// element/ and of web/. oxlint finds those between files of TypeScript.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { root, say } from '../lib.mjs';

function* filesBelow(folder, extension) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesBelow(path, extension);
    else if (entry.name.endsWith(extension) && !/\.test(-support)?\.ts$/.test(entry.name)) yield path;
  }
}

/** The imports of each name: a `Map` of `Set`s. */
class Graph extends Map {
  add(from, to) {
    if (!this.has(from)) this.set(from, new Set());
    if (from !== to) this.get(from).add(to);
  }

  /** The shortest path from one name to another, or undefined. From a name to itself, it has more than one step. */
  way(from, to) {
    const ways = [[from]];
    const seen = new Set();
    for (const way of ways) {
      for (const next of this.get(way.at(-1)) ?? []) {
        if (next === to) return [...way, next];
        if (!seen.has(next)) ways.push([...way, next]);
        seen.add(next);
      }
    }
    return undefined;
  }
}

/** Every path in `{a, b::{c, d}}`, with `prefix` before each. */
function expanded(prefix, text) {
  const group = text.indexOf('{');
  if (group < 0) return [[...prefix, ...text.trim().split('::')]];
  const before = [...prefix, ...text.slice(0, group).trim().split('::').filter(Boolean)];
  const parts = [];
  let [depth, start] = [0, group + 1];
  for (let at = group; at < text.length; at += 1) {
    if (text[at] === '{') depth += 1;
    if (text[at] === '}') depth -= 1;
    if ((text[at] === ',' && depth === 1) || depth === 0) {
      parts.push(text.slice(start, at));
      start = at + 1;
      if (depth === 0) break;
    }
  }
  return parts.filter((part) => part.trim() !== '').flatMap((part) => expanded(before, part));
}

/** The paths with `crate::` and `super::` in a file outside its tests, as lists of names. */
function pathsIn(source) {
  const code = source.replaceAll(/\/\/.*$/gm, '').replace(/#\[cfg\(test\)\]\s*mod tests \{[\s\S]*/, '');
  const uses = [...code.matchAll(/\buse ((?:crate|super)\b[^;]*);/g)].flatMap(([, text]) => expanded([], text));
  const others = code.replaceAll(/\buse [^;]*;/g, '').matchAll(/\b(?:crate|super)(?:::\w+)+/g);
  return [...uses, ...[...others].map(([text]) => text.split('::'))];
}

/**
 * The files of a crate. A folder's `mod.rs` and the files in the folder count as one subject: they may name each other.
 */
function rustFiles(part) {
  const top = join(root, part);
  const files = [...filesBelow(top, '.rs')].map((path) => relative(top, path));
  const known = new Set(files);
  const folderOf = (file) => (file.endsWith('mod.rs') ? dirname(file) : undefined);
  const graph = new Graph();
  for (const file of files) {
    const own = file.replace(/(\/?mod)?\.rs$/, '').split(sep);
    for (const path of pathsIn(readFileSync(join(top, file), 'utf8'))) {
      let [at, rest] = path[0] === 'crate' ? [[], path.slice(1)] : [own, path];
      while (rest[0] === 'super') [at, rest] = [at.slice(0, -1), rest.slice(1)];
      let found;
      for (const name of ['', ...rest]) {
        if (name !== '') at = [...at, name.trim()];
        const here = [`${join(...at, 'mod.rs')}`, `${join(...at)}.rs`].find((each) => known.has(each));
        if (!here && name !== '') break;
        found = here ?? found;
      }
      if (!found || isWithin(file, folderOf(found)) || isWithin(found, folderOf(file))) continue;
      graph.add(file, found);
    }
  }
  return graph;
}

const isWithin = (file, folder) => folder !== undefined && file.startsWith(`${folder}${sep}`);

/** The modules at the top of a crate. */
function rustRooms(part) {
  const graph = new Graph();
  const room = (file) => file.split(sep)[0].replace(/\.rs$/, '');
  for (const [from, targets] of rustFiles(part)) for (const to of targets) graph.add(room(from), room(to));
  return graph;
}

/** The folders of `part`; a file directly in `part` counts as a folder. */
function folders(part) {
  const top = join(root, part);
  const graph = new Graph();
  const place = (path) => `${part}/${relative(top, path).replace(/\.ts$/, '').split(sep)[0]}`;
  for (const path of filesBelow(top, '.ts')) {
    const code = readFileSync(path, 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
    for (const [, name] of code.matchAll(/(?:\bfrom\s+|\bimport\s*\(?\s*)'(\.[^']*)'/g)) {
      const target = join(dirname(path), name.replace(/\.js$/, '.ts'));
      if (existsSync(target) && !relative(top, target).startsWith('..')) graph.add(place(path), place(target));
    }
  }
  return graph;
}

/** Prints the cycles. Returns whether there are none. */
export function hasNoCycles() {
  const wrong = [];
  for (const [name, graph] of [
    ['crate/src', rustRooms('crate/src')],
    ...['crate', 'crate/codec', 'crate/crypt', 'crate/deflate', 'crate/fuzz', 'crate/module'].map((name) => [
      name,
      rustFiles(`${name}/src`),
    ]),
    ['worker', folders('worker')],
    ['element', folders('element')],
    ['web', folders('web')],
  ]) {
    // The shortest one: a single import may close many.
    const cycles = [...graph.keys()].map((start) => graph.way(start, start));
    const [shortest] = cycles.filter(Boolean).toSorted((a, b) => a.length - b.length);
    if (shortest) wrong.push(`${name} has an import cycle: ${shortest.join(' -> ')}`);
  }
  for (const sentence of wrong) say(sentence);
  return wrong.length === 0;
}
