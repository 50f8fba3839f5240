// What differs between systems: paths, shells, devices, signals and files in use. Runs on Linux, macOS and Windows, so it uses the
// package as built, Node with npm, and no other program. A test that is for one system only says so by its condition; nothing is skipped.

import { execSync, type SpawnSyncOptions, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, test } from '../support/node.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const sample = fileURLToPath(new URL('../../web/sample.qcow2', import.meta.url));
const api = pathToFileURL(fileURLToPath(new URL('../../dist/node.js', import.meta.url))).href;

/** The SHA-256 of the sample's disk, as qemu-img converts it. */
const DISK = '3d6348ee22c6c515d3892c688bb5c0cf4df35e3d6ef4a50cac2f4d115ae50e0b';

const isWindows = process.platform === 'win32';

const decantIn = (options: SpawnSyncOptions, ...args: string[]) => {
  const given = { timeout: 100_000, maxBuffer: 1 << 28, ...options } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, [cli, ...args], given);
  return { status, stdout: stdout as Buffer, stderr: String(stderr) };
};
const decant = (...args: string[]) => decantIn({}, ...args);

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** Converts the sample to `path`, in the folder `cwd`, and checks the disk in it. */
function expectConverted(path: string, cwd: string, ...options: string[]): void {
  expect(decantIn({ cwd }, 'convert', ...options, sample, path)).toMatchObject({ status: 0, stderr: '' });
}

for (const [name, ...options] of [
  ['raw'],
  ['qcow2'],
  ['vmdk', '-o', 'subformat=streamOptimized'],
  ['vhd'],
  ['vhdx'],
  ['vdi'],
  ['raw.gz'],
  ['raw.zst'],
  ['raw.xz'],
  ['tar.gz'],
  ['ova'],
] as const) {
  test(`${name} has the disk of the image`, ({ folder }) => {
    expectConverted(`out.${name}`, folder, '-q', ...options);
    const format = name === 'raw' ? ['-F', 'raw'] : [];
    expect(decantIn({ cwd: folder }, 'compare', '-q', ...format, sample, `out.${name}`)).toMatchObject({ status: 0 });
  });
}

const paths: [what: string, path: (folder: string) => string][] = [
  ['a whole path', (folder) => join(folder, 'out.raw')],
  ['a path with the separators of the system', () => join('.', 'sub', 'out.raw')],
  ['a path with slashes', () => './sub/out.raw'],
  [
    'a drive in the other case, in Windows',
    (folder) =>
      join(
        folder.replace(/^[A-Z](?=:)/, (drive) => drive.toLowerCase()),
        'out.raw',
      ),
  ],
  ['a path with ..', (folder) => join('..', basename(folder), 'out.raw')],
  ['spaces and quotes', () => "a disk's copy (1).raw"],
  ['names in other scripts', () => 'Größe-磁盘-диск.raw'],
  ['a name with combining characters', () => 'e\u0301.raw'],
  ['a URL of a file', (folder) => pathToFileURL(join(folder, 'out.raw')).href],
  ['a long path', () => join('sub', ...Array.from({ length: 6 }, () => 'x'.repeat(50)), 'out.raw')],
];
for (const [what, pathIn] of paths) {
  test(`the output has ${what}`, ({ folder }) => {
    const path = pathIn(folder);
    const local = path.startsWith('file:') ? fileURLToPath(path) : path;
    const whole = resolve(folder, local);
    mkdirSync(dirname(whole), { recursive: true });
    expectConverted(path, folder);
    expect(sha256(readFileSync(whole))).toBe(DISK);
    expect(readdirSync(dirname(whole))).toEqual([basename(whole)]);
  });
}

test('an image is found by a relative path, and its backing file by the path of --with', ({ folder }) => {
  mkdirSync(join(folder, 'images'));
  copyFileSync(sample, join(folder, 'images', 'a.qcow2'));
  const { status, stdout } = decantIn({ cwd: folder }, 'info', '--output=json', join('images', 'a.qcow2'));
  expect([status, JSON.parse(String(stdout)).filename]).toEqual([0, join('images', 'a.qcow2')]);
  const { status: failed, stderr } = decantIn({ cwd: folder }, 'info', join('images', 'missing.qcow2'));
  expect([failed, stderr]).toEqual([1, expect.stringContaining('missing.qcow2')]);
});

test('standard input and standard output are binary', ({ folder }) => {
  const bytes = Buffer.from(Array.from({ length: 1 << 16 }, (_, at) => at % 256));
  const { status, stdout, stderr } = decantIn({ input: bytes }, 'convert', '-f', 'raw', '-', '-');
  expect([status, stderr]).toEqual([0, '']);
  expect(stdout.equals(bytes)).toBe(true);
  const output = openSync(join(folder, 'out.raw'), 'w');
  expect(decantIn({ stdio: ['ignore', output, 'pipe'] }, 'convert', sample, '-').status).toBe(0);
  expect(sha256(readFileSync(join(folder, 'out.raw')))).toBe(DISK);
});

test('an existing file is replaced, and stays if the conversion fails', ({ folder }) => {
  const path = join(folder, 'out.raw');
  writeFileSync(path, 'old');
  const broken = join(folder, 'broken.qcow2');
  writeFileSync(broken, readFileSync(sample).subarray(0, 100_000));
  expect(decant('convert', broken, path).status).toBe(1);
  expect(readFileSync(path, 'utf8')).toBe('old');
  expectConverted(path, folder);
  expect(sha256(readFileSync(path))).toBe(DISK);
  expect(readdirSync(folder).toSorted()).toEqual(['broken.qcow2', 'out.raw']);
});

test('an open file is replaced, or the failure says that it is in use and leaves it', ({ folder }) => {
  const path = join(folder, 'out.raw');
  writeFileSync(path, 'old');
  openSync(path, 'r+');
  const { status, stderr } = decant('convert', sample, path);
  if (status === 0) expect(sha256(readFileSync(path))).toBe(DISK);
  else expect([stderr.split('\n').length, readFileSync(path, 'utf8')]).toEqual([2, 'old']);
  expect(isWindows || status === 0).toBe(true);
  expect(readdirSync(folder)).toEqual(['out.raw']);
});

test('the image itself is never the output, by whatever path', ({ folder }) => {
  const image = join(folder, 'a.qcow2');
  copyFileSync(sample, image);
  const before = sha256(readFileSync(image));
  const others = isWindows || process.platform === 'darwin' ? [join(folder, 'A.QCOW2')] : [];
  for (const path of [image, join(folder, '.', 'a.qcow2'), relative(process.cwd(), image), ...others]) {
    expect(decant('convert', '-O', 'raw', image, path)).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/image itself/),
    });
    expect(sha256(readFileSync(image))).toBe(before);
  }
});

test('a killed conversion leaves no complete file, and the next one removes the rest', async ({ folder }) => {
  const path = join(folder, 'out.raw');
  const child = spawn(process.execPath, [cli, 'convert', '-f', 'raw', '-', path], {
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  child.stdin.on('error', () => {});
  child.stdin.write(Buffer.alloc(4 << 20, 7));
  await expect.poll(() => readdirSync(folder)).toHaveLength(1);
  const ended = new Promise((done) => child.on('close', done));
  child.kill('SIGKILL');
  await ended;
  expect(existsSync(path)).toBe(false);
  expectConverted(path, folder);
  // Only Linux says at once whether the process of such a file is gone.
  const others = readdirSync(folder).filter((name) => name !== 'out.raw');
  expect(others).toHaveLength(process.platform === 'linux' ? 0 : 1);
});

// Windows ends a process by each of these, without asking it.
if (!isWindows) {
  for (const [signal, status] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    test(`${signal} leaves nothing and ends with ${status}`, async ({ folder }) => {
      const args = [cli, 'convert', '-f', 'raw', '-', join(folder, 'out.raw')];
      const child = spawn(process.execPath, args, { stdio: ['pipe', 'ignore', 'pipe'] });
      child.stdin.on('error', () => {});
      child.stdin.write(Buffer.alloc(4 << 20, 7));
      await expect.poll(() => readdirSync(folder)).toHaveLength(1);
      child.kill(signal);
      expect(await new Promise((done) => child.on('close', done))).toBe(status);
      expect(readdirSync(folder)).toEqual([]);
    });
  }
}

/** Devices without a size, or for which users have no right. Linux reads block devices: devices.spec.ts. */
const DEVICES: Partial<Record<NodeJS.Platform, string[]>> = {
  darwin: ['/dev/null', '/dev/disk0'],
  win32: ['\\\\.\\NUL', '\\\\.\\PhysicalDrive0'],
};
for (const device of DEVICES[process.platform] ?? ['/dev/null']) {
  test(`${device} is refused with one sentence`, () => {
    const { status, stderr } = decant('info', '-f', 'raw', device);
    expect(status).not.toBe(0);
    expect(stderr).toMatch(/^decant: [^\n]+\n$/);
  });
}

test('the installed command runs by its name in the shell of the system', ({ folder }) => {
  const shell = (line: string, cwd: string) => execSync(line, { cwd, stdio: ['ignore', 'pipe', 'ignore'] });
  const packed = join(folder, 'packed');
  mkdirSync(packed);
  shell(`npm pack --silent --pack-destination "${packed}"`, root);
  writeFileSync(join(folder, 'package.json'), '{ "private": true }');
  shell(`npm install --no-audit --no-fund "${join(packed, readdirSync(packed)[0]!)}"`, folder);
  expect(String(shell('npx decant --version', folder))).toMatch(/^\d+\.\d+\.\d+\r?\n$/);
  copyFileSync(sample, join(folder, 'a disk.qcow2'));
  shell('npx decant convert "a disk.qcow2" - > out.raw', folder);
  expect(sha256(readFileSync(join(folder, 'out.raw')))).toBe(DISK);
});

test('the API opens a path, a URL of a file and bytes', ({ folder }) => {
  const code = `import { open } from '${api}';
    import { readFileSync } from 'node:fs';
    const [path, url] = process.argv.slice(1);
    for (const source of [path, new URL(url), readFileSync(path)]) {
      const image = await open(source);
      console.log((await image.digest()).sha256);
      await image.close();
    }`;
  const args = ['--input-type=module', '-e', code, sample, pathToFileURL(sample).href];
  const { status, stdout } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8', timeout: 100_000 });
  expect([status, stdout]).toEqual([0, `${DISK}\n`.repeat(3)]);
});
