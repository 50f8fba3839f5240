// Import cycles: between the modules at the top of crate/src, and between the folders of worker/ and of web/.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { root, say } from '../lib.mjs';

function* filesBelow(folder, extension) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesBelow(path, extension);
    else if (entry.name.endsWith(extension) && !entry.name.endsWith('.test.ts')) yield path;
  }
}

/** What imports what, by name: a `Map` of `Set`s. */
class Graph extends Map {
  add(from, to) {
    if (!this.has(from)) this.set(from, new Set());
    if (from !== to) this.get(from).add(to);
  }

  /** The shortest way from one name to another, or undefined; from a name to itself it has more than one step. */
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

/** The names at the top of `{a, b::{c, d}}`, of which `text` has what follows the first bracket. */
function* groupNames(text) {
  let depth = 1;
  for (const [token] of text.matchAll(/[{}]|\w+(?=\s*(?:::|,|\}|\s+as\s))|::\s*\w+/g)) {
    if (token === '{') depth += 1;
    else if (token === '}') depth -= 1;
    else if (depth === 1 && !token.startsWith(':')) yield token;
    if (depth === 0) return;
  }
}

/** What a file names of the crate's root: `crate::name`, `crate::{name, ...}`, and by as many `super` as lead there. */
function* rootNames(source, depth) {
  const code = source.replaceAll(/\/\/.*$/gm, '').replace(/#\[cfg\(test\)\]\s*mod tests \{[\s\S]*/, '');
  for (const { 1: name, index, 0: text } of code.matchAll(/\bcrate::(\w+|\{)/g)) {
    if (name === '{') yield* groupNames(code.slice(index + text.length));
    else yield name;
  }
  for (const [, supers, name] of code.matchAll(/\b((?:super::)+)(\w+)/g)) {
    if (supers.length / 'super::'.length >= depth && name !== 'super') yield name;
  }
}

function rustModules() {
  const source = join(root, 'crate', 'src');
  const graph = new Graph();
  const top = readFileSync(join(source, 'lib.rs'), 'utf8');
  // Where lib.rs has a name from, and the module that a file stands for under another name.
  const homes = new Map();
  for (const [, home, names] of top.matchAll(/^pub use (\w+)::\{?([^;}]+)\}?;/gm)) {
    for (const name of names.split(',')) homes.set(name.trim(), home);
  }
  const others = new Map([...top.matchAll(/#\[path = "(\w+)\.rs"\]\s*(?:pub )?mod (\w+)/g)].map(([, a, b]) => [a, b]));
  const modules = new Set([...top.matchAll(/^(?:pub )?mod (\w+);/gm)].map(([, name]) => name));
  for (const path of filesBelow(source, '.rs')) {
    const parts = relative(source, path)
      .replace(/(\/mod)?\.rs$/, '')
      .split(sep);
    if (parts[0] === 'lib') continue;
    const from = others.get(parts[0]) ?? parts[0];
    for (const name of rootNames(readFileSync(path, 'utf8'), parts.length)) {
      const to = homes.get(name) ?? name;
      if (modules.has(to)) graph.add(from, to);
    }
  }
  return graph;
}

/** The folders of `part`; a file that lies in `part` itself is a folder of its own. */
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

/** Says what is wrong; returns whether nothing is. */
export function hasNoCycles() {
  const wrong = [];
  for (const [name, graph] of [
    ['crate/src', rustModules()],
    ['worker', folders('worker')],
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
