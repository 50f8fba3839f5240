// The examples, according to their READMEs: installed from their checkout.

import { cpSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@playwright/test';
import { run } from '../support/command.js';
import { folder } from '../support/consumers/project.js';

const root = fileURLToPath(new URL('../../', import.meta.url));

test.describe.configure({ timeout: 10 * 60_000 });

for (const example of ['console', 'electron']) {
  test(`npm installs the ${example} example with the package of its checkout`, { tag: '@full' }, () => {
    // Another checkout, so that nothing is installed in this one.
    const checkout = join(folder, 'checkout');
    rmSync(checkout, { recursive: true, force: true });
    mkdirSync(checkout, { recursive: true });
    const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { files: string[] };
    const isInstalled = /\/(node_modules|package-lock\.json)$/;
    for (const part of ['package.json', 'README.md', ...files]) {
      cpSync(join(root, part), join(checkout, part), { recursive: true, filter: (path) => !isInstalled.test(path) });
    }
    const made = join(checkout, 'examples', example);
    // Electron's binary cannot be downloaded everywhere.
    const args = ['install', '--omit=dev', '--no-audit', '--no-fund', '--prefer-offline'];
    expect(run('npm', args, { cwd: made, timeout: 5 * 60_000 })).toMatchObject({ status: 0, stderr: '' });
    const installed = join(made, 'node_modules', 'decant');
    expect(lstatSync(installed).isSymbolicLink()).toBe(false);
    expect(readdirSync(join(installed, 'dist')).toSorted()).toEqual(readdirSync(join(root, 'dist')).toSorted());
    expect(existsSync(join(made, 'node_modules', 'undici'))).toBe(true);
  });
}
