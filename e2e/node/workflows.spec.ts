// .github/workflows: actions are pinned, and what the scripts know is not stated otherwise. actionlint checks the rest.

import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from '../support/command.js';
import { expect, FULL, test } from '../support/node.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = join(root, '.github', 'workflows');

interface Step {
  uses?: string;
  run?: string;
}

interface Job {
  steps: Step[];
  permissions?: Record<string, string>;
  'timeout-minutes'?: number;
  strategy?: { matrix: Record<string, string[]> };
}

interface Workflow {
  permissions: Record<string, string>;
  jobs: Record<string, Job>;
}

/** The text and the content of each workflow, by its name. */
function workflows(): [name: string, text: string, content: Workflow][] {
  const { parse } = createRequire(join(root, 'tools', 'workflows', 'package.json'))('yaml');
  const names = readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')] as const);
  return names.map(([name, text]) => [name, text, parse(text)]);
}

test('each action is pinned to a commit, with its version beside it, the same everywhere', FULL, () => {
  const pins = new Map<string, string>();
  for (const [name, text] of workflows()) {
    const uses = [...text.matchAll(/uses: (.*)/g)].map(([, used]) => used!);
    expect(uses.length, name).toBeGreaterThan(0);
    for (const used of uses) {
      const [, action, pin] = /^([\w-]+\/[\w-]+)@([0-9a-f]{40} # v\d+\.\d+\.\d+)$/.exec(used) ?? [];
      expect(pin, `${name}: ${used}`).toBeDefined();
      expect(pins.get(action!) ?? pin).toBe(pin);
      pins.set(action!, pin!);
    }
  }
});

test('no job may write, but for those that publish', FULL, () => {
  const rights = workflows().flatMap(([name, , { permissions, jobs }]) => {
    expect(permissions, name).toEqual({ contents: 'read' });
    return Object.entries(jobs).flatMap(([job, { permissions = {} }]) =>
      Object.entries(permissions)
        .filter(([, right]) => right === 'write')
        .map(([what]) => `${name}: ${job}: ${what}`),
    );
  });
  expect(rights.toSorted()).toEqual([
    'page.yml: deploy: id-token',
    'page.yml: deploy: pages',
    'release.yml: publish: id-token',
  ]);
});

test('the weekly run has all parts of the long one', FULL, () => {
  const [, , weekly] = workflows().find(([name]) => name === 'weekly.yml')!;
  const { stderr } = run(process.execPath, [join(root, 'scripts', 'test.mjs'), '--long', 'none']);
  const [, parts] = /The parts are: (.*)\./.exec(stderr)!;
  expect(weekly.jobs.part!.strategy!.matrix.part).toEqual(parts!.split(', '));
});

test("Debian runs the README's command", FULL, () => {
  const [, , { jobs }] = workflows().find(([name]) => name === 'test.yml')!;
  const [, command] = /^(npm test) +#/m.exec(readFileSync(join(root, 'README.md'), 'utf8'))!;
  expect(jobs.debian!.steps.at(-1)!.run).toBe(command);
});
