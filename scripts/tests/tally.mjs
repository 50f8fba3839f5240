// Runs commands and counts what passed and failed.

import { spawnSync } from 'node:child_process';
import { root, say } from '../lib.mjs';

const total = { passed: 0, failed: 0 };

export function count(name, { passed = 0, failed = 0 }) {
  total.passed += passed;
  total.failed += failed;
  if (failed > 0) say(`FAILED: ${name}`);
}

/** The counts so far. */
export const counted = () => ({ ...total });

/** Runs a command and returns whether it succeeded, and what it printed (if `capture`). */
export function start(name, command, args, { env = {}, capture = false } = {}) {
  say(name);
  const stdio = ['ignore', capture ? 'pipe' : 'inherit', 'inherit'];
  const options = { cwd: root, env: { ...process.env, ...env }, stdio, encoding: 'utf8', maxBuffer: 1 << 28 };
  const { status, stdout } = spawnSync(command, args, options);
  if (capture) process.stdout.write(stdout ?? '');
  return { ok: status === 0, stdout: stdout ?? '' };
}

/** Runs a command that counts as one test. */
export function check(name, command, args, env) {
  const { ok } = start(name, command, args, { env });
  count(name, ok ? { passed: 1 } : { failed: 1 });
}
