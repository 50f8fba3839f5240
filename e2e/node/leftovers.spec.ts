// The next conversion to a folder removes files of killed processes, but not those of running ones.

import { mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { asRoot, cli, decant, start, startProgram, sudo } from '../support/command.js';
import { type HeldFile, heldDisk, serveDisk } from '../support/held.js';
import { images } from '../support/images.js';
import { test as base, expect } from '../support/node.js';

/** `remote` is an image that holds its conversion until the test allows all of it. */
const test = base.extend<{ remote: HeldFile }>({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright wants a pattern
  remote: async ({}, use) => {
    const remote = await serveDisk();
    remote.allow(heldDisk.length / 2);
    await use(remote);
    await remote.close();
  },
});

const partials = (folder: string) => readdirSync(folder).filter((name) => name.endsWith('.partial'));
const isHeld = (folder: string) => expect.poll(() => partials(folder), { timeout: 60_000 }).toHaveLength(1);

/** A conversion that has begun to write, and is held there. */
async function begin({ url }: HeldFile, folder: string, name: string) {
  // Quiet: a server that is silent for five seconds would be named.
  const { child, ended } = start('convert', '-q', '-f', 'raw', url, join(folder, name));
  await isHeld(folder);
  return { child, ended };
}

test('a killed conversion is swept by the next one to its folder', async ({ folder, remote }) => {
  const { child, ended } = await begin(remote, folder, 'killed.raw');
  child.kill('SIGKILL');
  expect((await ended).status).toBeNull();
  expect(partials(folder)).toHaveLength(1);
  expect(decant('convert', images.kinds(), join(folder, 'out.raw'))).toMatchObject({ status: 0, stderr: '' });
  expect(readdirSync(folder)).toEqual(['out.raw']);
});

test('an interrupted conversion ends and leaves nothing while its server is silent', async ({ folder, remote }) => {
  // Within a request whose response has partly arrived.
  const end = heldDisk.length / 2 + (1 << 20);
  remote.allow(end);
  const { child, ended } = await begin(remote, folder, 'out.raw');
  await expect.poll(() => remote.sent, { timeout: 60_000 }).toBeGreaterThanOrEqual(end);
  child.kill('SIGINT');
  expect(await ended).toEqual({ status: 130, stdout: '', stderr: 'decant: interrupted\n' });
  expect(readdirSync(folder)).toEqual([]);
});

test('a conversion that runs, even one that was stopped, keeps its file', async ({ folder, remote }) => {
  const { child, ended } = await begin(remote, folder, 'slow.raw');
  child.kill('SIGSTOP');
  const before = partials(folder);
  expect(decant('convert', images.kinds(), join(folder, 'out.raw')).status).toBe(0);
  expect(partials(folder)).toEqual(before);
  child.kill('SIGCONT');
  remote.allowAll();
  expect(await ended).toMatchObject({ status: 0, stderr: '' });
  expect(readFileSync(join(folder, 'slow.raw')).equals(heldDisk)).toBe(true);
  expect(readdirSync(folder).toSorted()).toEqual(['out.raw', 'slow.raw']);
});

test('a conversion in another namespace of processes keeps its file', { tag: '@full' }, async ({ folder, remote }) => {
  const inside = `exec '${process.execPath}' '${cli}' convert -f raw '${remote.url}' '${join(folder, 'slow.raw')}'`;
  const script = `${sudo.join(' ')} unshare --pid --fork --mount-proc --kill-child sh -c "${inside}"`;
  const { child, ended } = startProgram('sh', ['-c', `exec ${script}`]);
  await isHeld(folder);
  const [name] = partials(folder);
  // It cannot know the number of the process outside.
  expect(decant('convert', images.kinds(), join(folder, 'out.raw')).status).toBe(0);
  expect(partials(folder)).toEqual([name]);
  if (sudo.length > 0) asRoot('kill', '-9', String(child.pid));
  else child.kill('SIGKILL');
  await ended;
});

for (const [before, tag] of [
  [undefined, ['@full']],
  ['old', []],
] as const) {
  test(
    `a second process fails at the start of its conversion to one target, over ${before ?? 'nothing'}`,
    {
      tag: [...tag],
    },
    async ({ folder, remote }) => {
      const target = join(folder, 'out.raw');
      if (before) writeFileSync(target, before);
      const { ended } = await begin(remote, folder, 'out.raw');
      expect(decant('convert', images.kinds(), target)).toMatchObject({
        status: 2,
        stderr: expect.stringContaining('Another conversion is writing to'),
      });
      remote.allowAll();
      expect(await ended).toMatchObject({ status: 0, stderr: '' });
      expect(readFileSync(target).equals(heldDisk)).toBe(true);
      expect(readdirSync(folder)).toEqual(['out.raw']);
    },
  );
}

test('a conversion does not replace what another program has written since its start', async ({ folder, remote }) => {
  const target = join(folder, 'out.raw');
  writeFileSync(target, 'old');
  const { ended } = await begin(remote, folder, 'out.raw');
  writeFileSync(target, 'newer');
  remote.allowAll();
  expect(await ended).toMatchObject({ status: 1, stderr: expect.stringContaining('has changed') });
  expect(readFileSync(target, 'utf8')).toBe('newer');
  expect(readdirSync(folder)).toEqual(['out.raw']);
});

test.describe('by name and age', { tag: '@full' }, () => {
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').replace(/[^0-9a-f]/g, '');
  const namespace = /\d+/.exec(readlinkSync('/proc/self/ns/pid'))![0];
  const RANDOM = '0123456789abcdef';
  /** No process has it: the largest number is 2^22. */
  const GONE = 2 ** 22 + 1;
  const DAYS = 24 * 3600;
  const [, startOf1] = /.*\) (?:\S+ ){19}(\S+)/s.exec(readFileSync('/proc/1/stat', 'latin1'))!;

  for (const { name, file, age, isSwept } of [
    {
      name: 'made here, its process gone',
      file: `.a.${boot}-${namespace}-${GONE}-7-${RANDOM}.partial`,
      age: 0,
      isSwept: true,
    },
    {
      name: 'made here, a process of that number there',
      file: `.a.${boot}-${namespace}-1-${startOf1}-${RANDOM}.partial`,
      age: 0,
      isSwept: false,
    },
    {
      name: 'made here, another process of that number there',
      file: `.a.${boot}-${namespace}-1-${startOf1}0-${RANDOM}.partial`,
      age: 0,
      isSwept: true,
    },
    {
      name: 'made here by a process that is there, old',
      file: `.a.${boot}-${namespace}-1-${startOf1}-${RANDOM}.partial`,
      age: 30 * DAYS,
      isSwept: false,
    },
    { name: 'another namespace', file: `.a.${boot}-1-${GONE}-7-${RANDOM}.partial`, age: 0, isSwept: false },
    {
      name: 'another namespace, a week ago',
      file: `.a.${boot}-1-${GONE}-7-${RANDOM}.partial`,
      age: 7.01 * DAYS,
      isSwept: true,
    },
    {
      name: 'another start of a system',
      file: `.a.${'0'.repeat(32)}-${namespace}-${GONE}-7-${RANDOM}.partial`,
      age: 6 * DAYS,
      isSwept: false,
    },
    {
      name: 'another start, a week ago',
      file: `.a.${'0'.repeat(32)}-${namespace}-1-${startOf1}-${RANDOM}.partial`,
      age: 7.01 * DAYS,
      isSwept: true,
    },
    { name: 'made where nothing is told', file: `.a.0-0-${GONE}-7-${RANDOM}.partial`, age: 0, isSwept: false },
    {
      name: 'a line end in the name',
      file: `.a\nb.${boot}-${namespace}-${GONE}-7-${RANDOM}.partial`,
      age: 0,
      isSwept: true,
    },
    { name: 'of another program', file: '.a.partial', age: 30 * DAYS, isSwept: false },
    { name: 'of another program, with a number', file: '.a.Xy12-3-4-5.partial', age: 30 * DAYS, isSwept: false },
  ]) {
    test(name, ({ folder }) => {
      const path = join(folder, file);
      writeFileSync(path, 'a part');
      const then = Date.now() / 1000 - age;
      utimesSync(path, then, then);
      expect(decant('convert', images.kinds(), join(folder, 'out.raw')).status).toBe(0);
      expect(readdirSync(folder).toSorted()).toEqual(isSwept ? ['out.raw'] : [file, 'out.raw']);
    });
  }

  test('the image and the target stay, even under such names', ({ folder }) => {
    const [image, target] = ['.a', '.b'].map((name) => `${name}.${boot}-${namespace}-${GONE}-7-${RANDOM}.partial`);
    writeFileSync(join(folder, target!), 'precious');
    expect(decant('convert', images.truncated(), join(folder, target!)).status).toBe(1);
    expect(readFileSync(join(folder, target!), 'utf8')).toBe('precious');
    writeFileSync(join(folder, image!), Buffer.alloc(512));
    expect(decant('convert', '-f', 'raw', join(folder, image!), join(folder, target!)).status).toBe(0);
    expect(readdirSync(folder).toSorted()).toEqual([image, target]);
  });

  test('a folder or a link of such a name stays', ({ folder }) => {
    const names = ['.a', '.b'].map((name) => `${name}.${boot}-${namespace}-${GONE}-7-${RANDOM}.partial`);
    mkdirSync(join(folder, names[0]!));
    symlinkSync('elsewhere', join(folder, names[1]!));
    expect(decant('convert', images.kinds(), join(folder, 'out.raw')).status).toBe(0);
    expect(readdirSync(folder).toSorted()).toEqual([...names, 'out.raw']);
  });
});
