// Runs commands, counts passed and failed tests, and records the time of each command.

import { spawn } from 'node:child_process';
import { setPriority } from 'node:os';
import { root, say } from '../lib.mjs';

/** `{ name, passed, failed, seconds }` of each step that has ended. */
const steps = [];
/** Seconds of files of tests, by their names. */
const files = new Map();

/** The priority of steps that yield: half of the share of others. */
const YIELDING = 3;

/** How many files the summary lists. */
const SLOWEST = 25;

export function count(name, { passed = 0, failed = 0, seconds = 0 }) {
  steps.push({ name, passed, failed, seconds });
  say(`${failed > 0 ? 'FAILED' : 'ended'} after ${seconds.toFixed(0)} s: ${name}`);
}

/** Adds to the time of a file of tests. */
export function took(file, seconds) {
  files.set(file, (files.get(file) ?? 0) + seconds);
}

const sum = (field) => steps.reduce((total, step) => total + step[field], 0);

/** The counts so far. */
export const counted = () => ({ passed: sum('passed'), failed: sum('failed') });

/** Prints the seconds of each step and of the slowest files. */
export function printTimes() {
  const line = (seconds, name) => console.log(`${seconds.toFixed(1).padStart(8)} s  ${name}`);
  say('time of each step');
  for (const { name, seconds } of steps) line(seconds, name);
  say(`time of each file of tests, the slowest ${SLOWEST} of ${files.size}`);
  const sorted = [...files].toSorted(([, a], [, b]) => b - a);
  for (const [name, seconds] of sorted.slice(0, SLOWEST)) line(seconds, name);
}

/**
 * Runs a command. Resolves to whether it succeeded, its standard output, and its seconds. Its output is shown when it has
 * ended, so that concurrent steps do not mix; with `live`, at once. With `yields`, other steps get more of the processor.
 */
export async function start(name, command, args, { env = {}, live = false, yields = false, cwd = root } = {}) {
  say(`begins: ${name}`);
  const begin = performance.now();
  const stdio = ['ignore', live ? 'inherit' : 'pipe', live ? 'inherit' : 'pipe'];
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio });
  if (yields && child.pid !== undefined) setPriority(child.pid, YIELDING);
  const [stdout, all] = [[], []];
  child.stdout?.on('data', (data) => {
    stdout.push(data);
    all.push(data);
  });
  child.stderr?.on('data', (data) => all.push(data));
  const status = await new Promise((done) => {
    child.on('error', (error) => {
      all.push(Buffer.from(`${error.message}\n`));
      done(1);
    });
    child.on('close', done);
  });
  process.stdout.write(Buffer.concat(all));
  const seconds = (performance.now() - begin) / 1000;
  return { ok: status === 0, stdout: Buffer.concat(stdout).toString(), seconds };
}

/** Runs a command that counts as one test. */
export async function check(name, command, args, env) {
  const { ok, seconds } = await start(name, command, args, { env });
  count(name, ok ? { passed: 1, seconds } : { failed: 1, seconds });
}
