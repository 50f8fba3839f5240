// Runs the steps of the workflow of tests that Debian runs, in a fresh clone of the last commit.

import { readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { root, run } from '../lib.mjs';
import { count, start } from './tally.mjs';

const WORKFLOW = '.github/workflows/test.yml';

/** The commands of all jobs in a container of Debian, each once, in their order. */
function commands() {
  const { parse } = createRequire(join(root, 'tools', 'workflows', 'package.json'))('yaml');
  const { jobs } = parse(readFileSync(join(root, WORKFLOW), 'utf8'));
  const onDebian = Object.values(jobs).filter(({ container }) => (container?.image ?? container)?.startsWith('debian'));
  return new Set(onDebian.flatMap(({ steps }) => steps.flatMap(({ run }) => run ?? [])));
}

/** Runs the steps. One that fails, or that only GitHub could run, counts as failed, and the others are not run. */
export async function workflowSteps() {
  const clone = join(root, '.cache', 'clone');
  rmSync(clone, { recursive: true, force: true });
  run('Cloning', 'git', ['clone', '--quiet', `file://${root}`, clone]);
  // Otherwise the clone would use what this checkout has built.
  const env = { CARGO_TARGET_DIR: join(clone, 'target') };
  for (const command of commands()) {
    const name = `step of the workflow: ${command}`;
    const options = { env, live: true, cwd: clone };
    const isForGitHub = command.includes('${{');
    const { ok, seconds } = isForGitHub
      ? { ok: false, seconds: 0 }
      : await start(name, 'bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', command], options);
    count(name, ok ? { passed: 1, seconds } : { failed: 1, seconds });
    if (!ok) return;
  }
  rmSync(clone, { recursive: true, force: true });
}
