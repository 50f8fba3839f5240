// Measures by alternating runs, and prints medians and tables.

import { execFileSync, spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { builds, quick, RUNS } from './arguments.mjs';
import { at } from './images.mjs';
import { ownSpeed } from './machine.mjs';

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
const MEMORY = quick ? 700 : 2200;

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

/** A run is measured again if the machine's own speed was further from the median than this. */
const MOVED = 0.05;
/** The seconds of the machine's own work around each run, by the seconds of the runs. */
const machine = new WeakMap();

/** Runs `runner` once. Resolves to its seconds, and to those of the machine's own work: the mean of before and after. */
async function measured(runner) {
  settle();
  const before = await ownSpeed();
  const time = await runner();
  return { time, own: (before + (await ownSpeed())) / 2 };
}

/**
 * Runs all alternately, `runs` times. Runs during which the machine was faster or slower than usual are repeated, each at most `runs`
 * times, except in the quick benchmark. Resolves to the seconds of each.
 */
export async function alternate(runners, runs = RUNS) {
  const all = [];
  for (let run = 0; run < runs; run += 1) {
    for (const [name, runner] of Object.entries(runners)) all.push({ name, runner, ...(await measured(runner)) });
  }
  const usual = median(all.map(({ own }) => own));
  const hasMoved = ({ own }) => Math.abs(own / usual - 1) > MOVED;
  for (let again = 0; again < (quick ? 0 : runs); again += 1) {
    for (const run of all.filter(hasMoved)) Object.assign(run, await measured(run.runner));
  }
  settle();
  return Object.fromEntries(
    Object.keys(runners).map((name) => {
      const own = all.filter((run) => run.name === name);
      const times = own.map(({ time }) => time);
      machine.set(
        times,
        own.map((run) => run.own),
      );
      return [name, times];
    }),
  );
}

const seconds = (value) => value.toFixed(2);
const spread = (values) => [sorted(values)[0], median(values), sorted(values).at(-1)].map(seconds);

/** How many times as fast `values` are as `others`. */
const ratio = (values, others) => `${(median(others) / median(values)).toFixed(2)} ×`;

/** The least and the greatest of `values`. */
const moved = (values) => `${Math.min(...values).toFixed(3)} to ${Math.max(...values).toFixed(3)}`;

/** Prints the times of each runner against those of `rival`, and those of this build against those of the other one. */
export function printRatios(times, rival) {
  const [, other] = builds;
  const before = (name) => times[name.replace(builds[0].name, other.name)];
  const rows = Object.entries(times).map(([name, values]) => {
    const isOurs = name.startsWith(`${builds[0].name},`);
    const against = other ? [isOurs ? ratio(values, before(name)) : ''] : [];
    return [name, ...spread(values), ratio(values, times[rival]), ...against, moved(machine.get(values))];
  });
  const against = [`against ${rival}`, ...(other ? [`against ${other.name}`] : [])];
  table(['', 'min s', 'median s', 'max s', ...against, "the machine's own work, s"], rows);
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
