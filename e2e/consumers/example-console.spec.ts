// The console example, according to its README: installed, built, started, and used in a browser.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type Page, test } from '@playwright/test';
import { build, project } from '../support/consumers/project.js';
import { expectSame, hashFile, images, PASSWORD, qemuImg } from '../support/images.js';

const MINUTE = 60_000;
test.describe.configure({ timeout: 10 * MINUTE });

interface Console {
  url: string;
  /** The folder of its disks. */
  data: string;
  end(): Promise<void>;
}

/** The example, with a separate folder of disks. */
async function start(): Promise<Console> {
  const made = await project('console', ['../../../examples/console']);
  await build(made, 'build', 'dist');
  const data = join(made.folder, 'data');
  rmSync(data, { recursive: true, force: true });
  const child: ChildProcess = spawn(process.execPath, ['server/main.js'], {
    cwd: made.folder,
    env: { ...process.env, PORT: '0', DATA: data },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = await new Promise<string>((resolve) =>
    child.stdout!.once('data', (text) => resolve(String(text).trim())),
  );
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const end = async () => {
    child.kill();
    await ended;
  };
  return { url, data, end };
}

let console_: Console;
test.beforeAll(async () => {
  console_ = await start();
});
test.afterAll(() => console_.end());
test.beforeEach(() => {
  for (const name of readdirSync(join(console_.data, 'disks'))) rmSync(join(console_.data, 'disks', name));
});

const incoming = () => readdirSync(join(console_.data, 'incoming'));
const disk = (name: string) => join(console_.data, 'disks', name);

/** The dialog, with a chosen image. Fails on violations of the policy. */
async function choose(page: Page, ...files: string[]): Promise<string[]> {
  const violations: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') violations.push(message.text());
  });
  await page.goto(console_.url);
  await page.getByRole('button', { name: 'Import an image' }).click();
  await page.locator('decant-converter input[type=file]').setInputFiles(files);
  return violations;
}

/** Holds a request until the page gives it up. */
const NEVER = () => {};

const begin = (page: Page) => page.getByRole('button', { name: 'Import', exact: true }).click();

for (const { name, files, raw, password } of [
  { name: 'zlib', files: () => [images.zlib()], raw: images.raw },
  { name: 'zstd', files: () => [images.zstd()], raw: images.raw },
  { name: 'LUKS', files: () => [images.luks()], raw: images.raw, password: PASSWORD },
  {
    name: 'backing files',
    files: () => [images.chain().top, ...images.chain().below],
    raw: () => images.chain().raw,
  },
]) {
  test(`a disk arrives to the byte: ${name}`, { tag: '@long' }, async ({ page }) => {
    const violations = await choose(page, ...files());
    if (password !== undefined) {
      await page.getByLabel('Password for').fill(password);
      await page.getByRole('button', { name: 'Unlock' }).click();
    }
    await begin(page);
    await expect(page.getByRole('heading', { name: /^Imported: / })).toBeVisible({ timeout: 5 * MINUTE });
    const [made] = readdirSync(join(console_.data, 'disks'));
    expectSame(disk(made!), raw());
    await expect(page.getByRole('cell', { name: made! })).toBeVisible();
    expect(incoming()).toEqual([]);
    expect(violations).toEqual([]);
    expect(await page.evaluate(() => crossOriginIsolated)).toBe(false);
  });
}

test(
  'a disk larger than the tab could hold arrives, and its holes are not sent',
  { tag: '@long' },
  async ({ page }) => {
    const folder = test.info().outputPath('large');
    mkdirSync(folder, { recursive: true });
    const path = join(folder, 'large.qcow2');
    const size = 40 * 2 ** 30;
    qemuImg('create', '-q', '-f', 'qcow2', path, String(size));
    // 64 MiB of data at each of eight places.
    const commands = Array.from({ length: 8 }, (_, at) => ['-c', `write -P ${at + 1} ${at * 5}G 64M`]).flat();
    execFileSync('qemu-io', ['-f', 'qcow2', ...commands, path], { stdio: 'ignore' });
    const expected = join(folder, 'large.raw');
    qemuImg('convert', '-O', 'raw', path, expected);
    let sent = 0;
    page.on('request', (request) => {
      if (request.method() === 'PUT') sent += 1;
    });
    await choose(page, path);
    await begin(page);
    await expect(page.getByRole('heading', { name: /^Imported: / })).toBeVisible({ timeout: 5 * MINUTE });
    const made = disk('large.raw');
    expect(statSync(made).size).toBe(size);
    // Parts of 1 MiB.
    expect(sent).toBe(8 * 64);
    expect(statSync(made).blocks * 512).toBeLessThan(600e6);
    expect(
      JSON.parse(qemuImg('compare', '-f', 'raw', '-F', 'raw', made, expected).includes('identical') ? 'true' : 'false'),
    ).toBe(true);
  },
);

test('the dialog keeps its button in a small window, and Escape ends no import', { tag: '@long' }, async ({ page }) => {
  await page.setViewportSize({ width: 480, height: 360 });
  const close = page.getByRole('button', { name: 'Close' });
  const violations = await choose(page, images.zlib());
  await expect(page.getByRole('img', { name: 'Picture of the disk' })).toBeVisible();
  await expect(close).toBeInViewport({ ratio: 1 });
  await page.route('**/parts/*', NEVER);
  await begin(page);
  await expect(page.getByRole('progressbar', { name: 'Importing' })).toBeVisible();
  await expect(close).toBeInViewport({ ratio: 1 });
  await page.screenshot({ path: test.info().outputPath('importing.png') });
  await page.keyboard.press('Escape');
  await expect(page.getByRole('progressbar', { name: 'Importing' })).toBeVisible();
  await close.click();
  await expect.poll(incoming).toEqual([]);
  expect(violations).toEqual([]);
});

test('a cancel leaves nothing on the server', { tag: '@long' }, async ({ page }) => {
  await page.route('**/parts/*', NEVER);
  await choose(page, images.zlib());
  await begin(page);
  await expect.poll(incoming).toHaveLength(1);
  await page.getByRole('button', { name: 'Cancel' }).click();
  await expect(page.getByRole('heading', { name: 'Cancelled' })).toBeVisible();
  await expect.poll(incoming).toEqual([]);
  expect(readdirSync(join(console_.data, 'disks'))).toEqual([]);
});

test('closing the dialog ends an import', { tag: '@long' }, async ({ page }) => {
  await page.route('**/parts/*', NEVER);
  await choose(page, images.zlib());
  await begin(page);
  await expect.poll(incoming).toHaveLength(1);
  await page.getByRole('button', { name: 'Close' }).click();
  await expect.poll(incoming).toEqual([]);
});

test('a part that is lost on the way is sent again', { tag: '@long' }, async ({ page }) => {
  // Only once: several losses of one part would end the import.
  const asked = new Set<string>();
  await page.route('**/parts/*', (route) => {
    const url = route.request().url();
    const isLost = !asked.has(url) && asked.size % 5 === 0;
    asked.add(url);
    return isLost ? route.abort() : route.continue();
  });
  await choose(page, images.zlib());
  await begin(page);
  await expect(page.getByRole('heading', { name: /^Imported: / })).toBeVisible({ timeout: 5 * MINUTE });
  expect(hashFile(disk('zlib.raw'))).toBe(hashFile(images.raw()));
});

test('what the server refuses is said, and nothing is left', { tag: '@long' }, async ({ page }) => {
  await choose(page, images.zlib());
  await begin(page);
  await expect(page.getByRole('heading', { name: /^Imported: / })).toBeVisible({ timeout: 5 * MINUTE });
  const before = statSync(disk('zlib.raw')).ino;
  await page.getByRole('button', { name: 'Import another image' }).click();
  await page.locator('decant-converter input[type=file]').setInputFiles(images.zlib());
  await begin(page);
  await expect(page.getByText('There is a disk called zlib.raw already').first()).toBeVisible({ timeout: 5 * MINUTE });
  expect(statSync(disk('zlib.raw')).ino).toBe(before);
  await expect.poll(incoming).toEqual([]);
});

test('the server takes nothing but what belongs to an import', { tag: '@long' }, async ({ request }) => {
  const url = (path: string) => new URL(path, console_.url).href;
  for (const data of [
    { name: '../x', size: 1 },
    { name: 'x', size: 1 },
    { name: 'disk', size: 2 ** 50 },
    { name: 'disk' },
    [],
  ]) {
    expect((await request.post(url('/api/imports'), { data })).status()).toBe(400);
  }
  const { id } = (await (await request.post(url('/api/imports'), { data: { name: 'disk', size: 100 } })).json()) as {
    id: string;
  };
  for (const [path, status] of [
    [`/api/imports/${id}/parts/0`, 422],
    [`/api/imports/${id}/parts/1`, 404],
    ['/api/imports/none/parts/0', 404],
  ] as const) {
    expect((await request.put(url(path), { data: Buffer.alloc(100) })).status()).toBe(status);
  }
  expect((await request.put(url(`/api/imports/${id}/parts/0`), { data: Buffer.alloc(101) })).status()).toBe(413);
  expect((await request.post(url(`/api/imports/${id}/complete`), { data: { parts: 1 } })).status()).toBe(409);
  expect((await request.get(url('/..%2f..%2fpackage.json'))).status()).toBe(404);
  expect((await request.delete(url(`/api/imports/${id}`))).status()).toBe(204);
  expect(incoming()).toEqual([]);
  expect(existsSync(disk('disk'))).toBe(false);
});
