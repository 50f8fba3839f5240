// The package from its tarball, in an empty project.

import { execFileSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { hashFile, images } from '../support/images.js';
import { expect, test } from '../support/node.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

test('installs, converts by its API and by its command, and leaves no process behind', ({ folder }) => {
  const run = (program: string, ...args: string[]) =>
    execFileSync(program, args, {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: 60_000,
    });
  execFileSync('npm', ['pack', '--pack-destination', folder], { cwd: root, stdio: 'ignore' });
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz'))!;
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  run('npm', 'install', '--no-audit', '--no-fund', '--offline', `./${tarball}`);
  expect(readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual(['decant']);

  writeFileSync(
    join(folder, 'convert.js'),
    `import { open } from 'decant';
    import { readFileSync } from 'node:fs';
    const [, , path, output] = process.argv;
    for (const source of [path, readFileSync(path), new Blob([readFileSync(path)])]) {
      const image = await open(source);
      const phases = new Set();
      const result = await image.convert(output, { workers: 2, sync: true, onProgress: ({ phase }) => phases.add(phase) });
      console.log(JSON.stringify({ ...result, phases: [...phases], format: image.info.format }));
      await image.close();
    }
    await open('package.json').catch(({ name, kind }) => console.log(JSON.stringify({ name, kind })));
    // The process ends by itself, warm workers or not.`,
  );
  const lines = run(process.execPath, 'convert.js', images.zlib(), 'api.raw').trim().split('\n');
  const reports = lines.map((line) => JSON.parse(line));
  expect(reports).toHaveLength(4);
  for (const report of reports.slice(0, 3)) {
    expect(report).toMatchObject({ engine: 'workers', workers: 2, format: 'qcow2', virtualSize: 300 << 20 });
    expect(report.phases).toEqual(['preparing', 'converting', 'finalizing']);
  }
  expect(reports[3]).toEqual({ name: 'DecantError', kind: 'not-recognised' });
  expect(hashFile(join(folder, 'api.raw'))).toBe(hashFile(images.raw()));

  run('npx', 'decant', 'convert', images.plain(), 'command.raw');
  expect(hashFile(join(folder, 'command.raw'))).toBe(hashFile(images.raw()));
});
