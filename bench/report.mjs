// Measures by alternating runs, and prints medians and tables.

import { execFileSync, spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { builds, RUNS } from './arguments.mjs';
import { at } from './images.mjs';

export const OUT = at('out.raw');

/** All printed lines. */
export const lines = [];

export function print(line = '') {
  console.log(line);
  lines.push(line);
}

export const sorted = (values) => values.toSorted((a, b) => a - b);
export const median = (values) => sorted(values)[Math.floor(values.length / 2)];

export function table(head, rows) {
  print();
  print(`| ${head.join(' | ')} |`);
  print(`|${head.map(() => '---').join('|')}|`);
  for (const row of rows) print(`| ${row.join(' | ')} |`);
}

/** Runs a program. Returns its seconds: elapsed, of CPU time on all cores, and of the part of that outside of the kernel. */
export function timed(program, ...args) {
  const script = 'TIMEFORMAT="%R %U %S"; time "$@" 2>&1';
  const { status, stdout, stderr } = spawnSync('bash', ['-c', script, 'bash', program, ...args], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} ended with ${status}: ${stdout}${stderr}`);
  const [real, user, system] = stderr.trim().split('\n').at(-1).split(' ').map(Number);
  return { real, busy: user + system, user };
}

/** As much as an output needs, in MiB. */
const MEMORY = 2200;

/**
 * Gives all runners the same start: flushes pending writes, and touches memory that a virtual machine may have returned to its
 * host (which made an uncompressed conversion after a slow runner take four times as long).
 */
export function settle() {
  rmSync(OUT, { force: true });
  execFileSync('sync');
  execFileSync('dd', ['if=/dev/zero', `of=${OUT}`, 'bs=1M', `count=${MEMORY}`, 'status=none']);
  rmSync(OUT);
}

/** Runs all alternately, `runs` times. Resolves to the seconds of each. */
export async function alternate(runners, runs = RUNS) {
  const times = Object.fromEntries(Object.keys(runners).map((name) => [name, []]));
  for (let run = 0; run < runs; run += 1) {
    for (const [name, runner] of Object.entries(runners)) {
      settle();
      times[name].push(await runner());
    }
  }
  settle();
  return times;
}

const seconds = (value) => value.toFixed(2);
const spread = (values) => [sorted(values)[0], median(values), sorted(values).at(-1)].map(seconds);

/** How many times as fast `values` are as `others`. */
const ratio = (values, others) => `${(median(others) / median(values)).toFixed(2)} ×`;

/** Prints the times of each runner against those of `rival`, and those of this build against those of the other one. */
export function printRatios(times, rival) {
  const [, other] = builds;
  const before = (name) => times[name.replace(builds[0].name, other.name)];
  const rows = Object.entries(times).map(([name, values]) => {
    const isOurs = name.startsWith(`${builds[0].name},`);
    const against = other ? [isOurs ? ratio(values, before(name)) : ''] : [];
    return [name, ...spread(values), ratio(values, times[rival]), ...against];
  });
  table(['', 'min s', 'median s', 'max s', `against ${rival}`, ...(other ? [`against ${other.name}`] : [])], rows);
}

/** A runner of `work` for each build, called by the build's name and `name`. */
export const perBuild = (name, work) =>
  Object.fromEntries(builds.map((build) => [`${build.name}, ${name}`, () => work(build)]));

/** Resolves to the results of `work` for each build, run alternately `times` times. */
export async function repeatedPerBuild(work, times) {
  const values = builds.map(() => []);
  for (let run = 0; run < times; run += 1) {
    for (const [at, build] of builds.entries()) {
      settle();
      values[at].push(await work(build));
    }
  }
  return values;
}

/** Returns the fastest of `candidates`, found by one run of each. */
export async function best(candidates, run) {
  const found = [];
  for (const options of candidates) {
    settle();
    found.push({ options, time: await run(options) });
  }
  return found.toSorted((a, b) => a.time - b.time)[0].options;
}
