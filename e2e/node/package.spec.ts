// The package from its tarball, in an empty project.

import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { CODEC_URLS } from '../../worker/public/registry.js';
import { DISK_SIZE, hashFile, images } from '../support/images.js';
import { expect, test } from '../support/node.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The crates linked into the wasm, as listed by Cargo: "adler2 2.0.1". */
function linkedCrates(): string[] {
  const edges = ['-e', 'normal,no-proc-macro', '--target', 'wasm32-unknown-unknown'];
  const codecs = Object.keys(CODEC_URLS).map((name) => `decant-${name}`);
  const linked = ['decant', ...codecs].flatMap((name) => ['-p', name]);
  const features = ['--features', ['decant/threads', ...codecs.map((name) => `${name}/direct`)].join()];
  const args = ['tree', ...linked, ...edges, ...features, '--locked', '--prefix', 'none', '--format', '{p}'];
  const lines = execFileSync('cargo', args, { cwd: root, encoding: 'utf8' }).trim().split('\n');
  const crates = lines.map((line) => line.split(' ').slice(0, 2).join(' ').replace(' v', ' '));
  return [...new Set(crates)].filter((name) => !/^decant(-\w+)* /.test(name));
}

/** The package has its licences, and those of all included works. */
function checkLicences(folder: string): void {
  for (const name of ['LICENSE-MIT', 'LICENSE-APACHE']) {
    expect(readFileSync(join(folder, name), 'utf8')).toBe(readFileSync(join(root, name), 'utf8'));
  }
  const notices = readFileSync(join(folder, 'dist', 'THIRD-PARTY-NOTICES.txt'), 'utf8');
  // A list of names, then texts: over each one a rule and the names of what it is for.
  const [list, ...texts] = notices.split(/\n-{100}\n/);
  const crates = linkedCrates();
  expect(crates.length).toBeGreaterThan(40);
  const others = ["Rust's standard library 1.", 'dlmalloc 0.', 'hashbrown 0.', 'lit 3.', 'lit-html 3.'];
  for (const name of [...crates, ...others]) {
    expect(list).toContain(`\n${name}`);
    const own = texts
      .filter((text) => text.split('\n\n')[0]!.includes(name))
      .map((text) => text.split('\n\n').slice(1));
    expect(own.flat().join('\n').length, name).toBeGreaterThan(500);
  }
  expect(notices).toMatch(/For Zstandard software\s+Copyright \(c\) Meta/);
}

/** Every file that a document of the package links to is in the package. */
function checkLinks(folder: string): void {
  const documents = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.md') && !name.startsWith('node_modules'),
  );
  expect(documents).toContain('README.md');
  const dead = documents.flatMap((document) => {
    const text = readFileSync(join(folder, document), 'utf8').replaceAll(/^```[\s\S]*?^```$/gm, '');
    const links = [...text.matchAll(/\]\((?![a-z]+:)([^)#\s]+)/g)].map(([, link]) => link!);
    return links.filter((link) => !existsSync(join(folder, dirname(document), link))).map((link) => [document, link]);
  });
  expect(dead).toEqual([]);
}

/** The packed size of the files of `folder`, in bytes; `options` are those of tar. */
function packedSize(folder: string, names: string[], ...options: string[]): number {
  const archive = execFileSync('tar', ['-C', folder, ...options, '-c', ...names], { maxBuffer: 1 << 30 });
  return gzipSync(archive, { level: 9 }).length;
}

/** The files that programs import have source maps, and the command has one; no other file has one, or refers to one. */
function checkSourceMaps(dist: string): void {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const imported = JSON.stringify(exports).matchAll(/"default":"\.\/dist\/([\w.]+)"/g);
  const entries = new Set([...imported].map(([, name]) => name!)).add('cli.js');
  const scripts = readdirSync(dist).filter((name) => /\.m?js$/.test(name));
  const mapped = scripts.filter((name) => readFileSync(join(dist, name), 'utf8').includes('//# sourceMappingURL'));
  expect(readdirSync(dist).filter((name) => name.endsWith('.map'))).toEqual(mapped.map((name) => `${name}.map`));
  // Without code of its own, an entry has no map.
  const own = [...entries].filter((name) => /\bfunction\b|=>/.test(readFileSync(join(dist, name), 'utf8')));
  expect(mapped).toEqual(own.toSorted());
}

/** Files for people only. */
const DOCUMENTS = ['docs', 'examples', 'bench'];

function checkSizes(folder: string): void {
  const threads = readdirSync(join(folder, 'dist')).filter((name) => name.includes('threads'));
  const others = readdirSync(folder).filter((name) => !DOCUMENTS.includes(name));
  expect(packedSize(folder, others, '--exclude=*.map')).toBeLessThanOrEqual(1_300_000);
  expect(packedSize(folder, others)).toBeLessThanOrEqual(1_730_000);
  expect(packedSize(folder, DOCUMENTS)).toBeLessThanOrEqual(300_000);
  expect(packedSize(join(folder, 'dist'), threads)).toBeLessThanOrEqual(135_000);
}

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
  run('npm', 'install', '--no-audit', '--no-fund', '--prefer-offline', `./${tarball}`);
  expect(readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual([
    'decant',
    'undici',
  ]);
  checkLicences(join(folder, 'node_modules', 'decant'));
  checkLinks(join(folder, 'node_modules', 'decant'));
  checkSizes(join(folder, 'node_modules', 'decant'));
  checkSourceMaps(join(folder, 'node_modules', 'decant', 'dist'));

  writeFileSync(
    join(folder, 'convert.js'),
    `import { open } from 'decant';
    import { readFileSync } from 'node:fs';
    const [, , path, output] = process.argv;
    for (const source of [path, readFileSync(path), new Blob([readFileSync(path)])]) {
      const image = await open(source, { workers: 2 });
      const phases = new Set();
      const result = await image.convert(output, { sync: true, onProgress: ({ phase }) => phases.add(phase) });
      console.log(JSON.stringify({ ...result, phases: [...phases], format: image.info.format }));
      await image.close();
    }
    const { checkSource } = await import('decant/testing');
    console.log(JSON.stringify(await checkSource({ size: 3, read: async (offset, length) => new Uint8Array(length) })));
    await open('package.json').catch(({ name, kind }) => console.log(JSON.stringify({ name, kind })));
    // The process ends by itself, warm workers or not.`,
  );
  const lines = run(process.execPath, 'convert.js', images.zlib(), 'api.raw').trim().split('\n');
  const reports = lines.map((line) => JSON.parse(line));
  expect(reports).toHaveLength(5);
  for (const report of reports.slice(0, 3)) {
    expect(report).toMatchObject({ engine: 'workers', workers: 2, format: 'qcow2', virtualSize: DISK_SIZE });
    expect(report.phases).toEqual(['preparing', 'converting', 'finalizing']);
  }
  expect(reports[3]).toEqual([]);
  expect(reports[4]).toEqual({ name: 'DecantError', kind: 'not-recognised' });
  expect(hashFile(join(folder, 'api.raw'))).toBe(hashFile(images.raw()));

  run('npx', 'decant', 'convert', images.plain(), 'command.raw');
  expect(hashFile(join(folder, 'command.raw'))).toBe(hashFile(images.raw()));
});
