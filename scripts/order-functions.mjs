// Orders the functions of a wasm so that similar ones follow each other: brotli refers to near bytes by shorter codes.

import { readFileSync, writeFileSync } from 'node:fs';

/** Identifiers of sections, and of the names of functions in the section of names. */
const [CUSTOM, IMPORT, CODE, FUNCTION_NAMES] = [0, 2, 10, 1];
/** Kinds of imports. */
const [FUNCTION, TABLE, MEMORY, GLOBAL] = [0, 1, 2, 3];

/** Functions are compared by the runs of so many bytes that they have in common. */
const RUN = 6;
/** Runs in more functions than this are passed over. */
const MOST_FUNCTIONS = 120;
/** How much of the similarity to a function remains with each one that follows it. */
const FADING = 0.9;
/** Keeps tiny functions, which are similar to many, from coming first: it is added to the number of a function's runs. */
const TINY = 8;

/** Reads numbers and bytes of a wasm, from its first section on. */
class Reader {
  at = 8;

  constructor(bytes) {
    this.bytes = bytes;
  }

  number() {
    for (let value = 0, factor = 1; ; factor *= 128) {
      const byte = this.bytes[this.at++];
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  }

  take(length) {
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  limits() {
    const hasMost = this.number() & 1;
    this.number();
    if (hasMost) this.number();
  }

  /** Passes an import. Returns its kind. */
  imported() {
    for (let names = 0; names < 2; names += 1) this.take(this.number());
    const [kind] = this.take(1);
    if (kind === FUNCTION) this.number();
    else if (kind === MEMORY) this.limits();
    else if (kind === GLOBAL) this.take(2);
    else if (kind === TABLE) {
      this.take(1);
      this.limits();
    } else throw new Error(`an import of an unknown kind, ${kind}`);
    return kind;
  }
}

/** The number of imported functions, and the bodies of the others. */
function functionsOf(bytes) {
  const reader = new Reader(bytes);
  const found = { imported: 0, bodies: [] };
  while (reader.at < bytes.length) {
    const [id] = reader.take(1);
    const end = reader.number() + reader.at;
    if (id === IMPORT || id === CODE) {
      for (let left = reader.number(); left > 0; left -= 1) {
        if (id === CODE) found.bodies.push(reader.take(reader.number()));
        else if (reader.imported() === FUNCTION) found.imported += 1;
      }
    }
    reader.at = end;
  }
  return found;
}

/** Hashes of the runs in `body`. */
function runsOf(body) {
  const runs = new Set();
  for (let at = 0; at + RUN <= body.length; at += 1) {
    let hash = 2_166_136_261;
    for (let next = at; next < at + RUN; next += 1) hash = Math.imul(hash ^ body[next], 16_777_619);
    runs.add(hash);
  }
  return runs;
}

/** The indexes of `bodies`: the longest first, then each time the one that is most similar to the last ones. */
function ordered(bodies) {
  const runs = bodies.map(runsOf);
  const having = new Map();
  for (const [at, own] of runs.entries()) {
    for (const run of own) {
      const others = having.get(run);
      if (others) others.push(at);
      else having.set(run, [at]);
    }
  }
  const similarity = new Float64Array(bodies.length);
  const left = new Set(bodies.keys());
  const order = [];
  let next = bodies.reduce((longest, body, at) => (body.length > bodies[longest].length ? at : longest), 0);
  while (left.size > 0) {
    order.push(next);
    left.delete(next);
    for (const at of left) similarity[at] *= FADING;
    for (const run of runs[next]) {
      const others = having.get(run);
      if (others.length <= MOST_FUNCTIONS) for (const at of others) similarity[at] += 1 / others.length;
    }
    let best = -1;
    for (const at of left) {
      const likeness = similarity[at] / (TINY + runs[at].size);
      if (likeness > best) [best, next] = [likeness, at];
    }
  }
  return order;
}

const leb = (value) => (value < 128 ? [value] : [(value & 127) | 128, ...leb(value >>> 7)]);

/**
 * Names the functions in the wasm `file` by their places in the order. `wasm-opt --reorder-functions-by-name` then puts them there,
 * and leaves out the names.
 */
export function nameInOrder(file) {
  const bytes = readFileSync(file);
  const { imported, bodies } = functionsOf(bytes);
  const order = ordered(bodies);
  const names = [];
  for (const [place, at] of order.entries()) names[at] = Buffer.from(String(place).padStart(6, '0'));
  const entries = names.flatMap((name, at) => [...leb(imported + at), name.length, ...name]);
  const content = [...leb(names.length), ...entries];
  const section = [...Buffer.from('\x04name'), FUNCTION_NAMES, ...leb(content.length), ...content];
  writeFileSync(file, Buffer.from([...bytes, CUSTOM, ...leb(section.length), ...section]));
}
