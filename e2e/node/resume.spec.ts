// Conversions that are interrupted while their server holds them, and then resumed.

import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as Decant from '../../dist/node.js';
import { asRoot, decant as command, start, startProgram, sudo } from '../support/command.js';
import { heldDisk, serveDisk } from '../support/held.js';
import { hashFile, images } from '../support/images.js';
import { test as base, expect, FULL } from '../support/node.js';
import { random } from '../support/random.js';
import {
  ALL,
  type Cut,
  converting,
  cutOff,
  finish,
  keptIn,
  type Left,
  leftIn,
  leftOf,
  restOf,
  untilNoted,
} from '../support/resuming.js';
import { byScope } from '../support/scope.js';

const decant = (await import(fileURLToPath(new URL('../../dist/node.js', import.meta.url)))) as typeof Decant;

const test = base.extend<{ cut: Cut }>({
  cut: async ({ folder }, use) => {
    const remote = await serveDisk();
    await use({ remote, folder, output: join(folder, 'disk') });
    await remote.close();
  },
});
test.describe.configure({ timeout: 3_600_000 });
test.afterAll(() => decant.dispose());

const KEPT = 'progress was saved; run again with resume to continue';

/** Fails unless the output begins with the disk. */
function expectDisk(output: string): void {
  expect(readFileSync(output).subarray(0, ALL).equals(heldDisk)).toBe(true);
}

function expectComplete({ output, folder }: Cut): void {
  expectDisk(output);
  expect(leftIn(folder)).toEqual([]);
}

/** What was sent at once before each kill, as a part of the disk; what follows is sent bit by bit. */
const POINTS = byScope({ short: [1 / 8], full: [0, 1 / 16, 1 / 8, 3 / 16, 1 / 4] });

for (const [format, tag] of [
  ['raw', []],
  ['vpc', ['@full']],
] as const) {
  test(
    `killed while it is held, ${format}: only the rest is fetched, and the disk is right`,
    { tag: [...tag] },
    async ({ cut }) => {
      const formatted = { ...cut, options: ['-O', format] };
      let guest = 0;
      for (const point of POINTS) {
        // A slow machine is sent more before a kill, and the last quarter is never sent.
        if (guest > ALL / 2) break;
        await cutOff({ ...formatted, point: point * ALL }, 'SIGKILL', guest);
        expect(existsSync(cut.output)).toBe(false);
        guest = leftOf(cut.folder)!.guest;
      }
      expect(await finish(formatted)).toBeLessThanOrEqual(restOf(guest));
      expectComplete(cut);
    },
  );
}

for (const [format, seed] of [
  ['raw', 3],
  ['vpc', 4],
] as const) {
  test(
    `killed 100 times at random moments, ${format}, seed ${seed}: the disk is right`,
    { tag: '@long' },
    async ({ cut }) => {
      test.setTimeout(3_600_000);
      const next = random(seed);
      const formatted = { ...cut, options: ['-O', format] };
      const { remote, output, folder } = cut;
      let resumed = 0;
      for (let kills = 0; kills < 100; ) {
        remote.hold();
        // All of it takes about a second and a half.
        let end = 0;
        const pace = setInterval(() => {
          end += Math.ceil(ALL / 75);
          remote.allow(end);
        }, 20);
        const { child, ended } = startProgram(process.execPath, converting(formatted));
        const timer = setTimeout(() => child.kill('SIGKILL'), 300 + next() * 2000);
        const { status } = await ended;
        clearTimeout(timer);
        clearInterval(pace);
        // Nothing looks complete that is not. It may have been killed right after it was.
        if (existsSync(output)) {
          expectDisk(output);
          renameSync(output, join(folder, 'before'));
        }
        if (status === 0) {
          expect(leftIn(folder)).toEqual([]);
          continue;
        }
        kills += 1;
        resumed += keptIn(folder).some((name) => name.endsWith('.journal')) ? 1 : 0;
      }
      await finish(formatted);
      expectComplete(cut);
      expect(resumed).toBeGreaterThan(0);
    },
  );
}

/** Converts with `resume`; `first` is the number of bytes of the disk that are done when it begins. */
async function convertFrom(
  { remote, output }: Cut,
  signal?: AbortSignal,
): Promise<{ first: number; end: string; result?: Decant.ConvertResult }> {
  let first: number | undefined;
  const onProgress = ({ phase, guestDone }: Decant.Progress) => {
    if (phase !== 'preparing') first ??= guestDone;
  };
  const image = await decant.open(remote.url, { inputFormat: 'raw', workers: 1 });
  try {
    const result = await image.convert(output, { resume: true, signal, onProgress });
    return { first: first!, end: 'done', result };
  } catch (thrown) {
    return { first: first!, end: (thrown as Error).message };
  } finally {
    await image.close();
  }
}

test('Ctrl-C keeps and reports progress, and only the rest is fetched later', async ({ cut }) => {
  const told = await cutOff(cut, 'SIGINT');
  expect(told.trim()).toBe(`decant: interrupted; ${KEPT} (--resume)`);
  expect(existsSync(cut.output)).toBe(false);
  const { guest } = leftOf(cut.folder)!;
  const { remote } = cut;
  remote.allowAll();
  remote.sent = 0;
  const { first, result } = await convertFrom(cut);
  expect(first).toBeGreaterThanOrEqual(Math.floor(guest / 4096) * 4096);
  expect(remote.sent).toBeLessThanOrEqual(restOf(guest));
  expectComplete(cut);
  expect(result).toMatchObject({ bytesWritten: ALL, holeBytes: 0, outputSize: ALL });
  expect(statSync(cut.output).mode & 0o777).toBe(0o666 & ~process.umask());
});

test('in one process what was cancelled continues, too', async ({ cut }) => {
  const cancel = new AbortController();
  cut.remote.allow(ALL / 8);
  const converted = convertFrom(cut, cancel.signal);
  await untilNoted(cut.folder, cut.remote);
  cancel.abort();
  expect((await converted).end).toBe(`The conversion was cancelled; ${KEPT}`);
  const { guest } = leftOf(cut.folder)!;
  cut.remote.allowAll();
  const { first, end } = await convertFrom(cut);
  expect(end).toBe('done');
  expect(first).toBeGreaterThanOrEqual(guest);
  expectComplete(cut);
});

test('a disk that ends within a block: what was written counts once', async ({ folder }) => {
  const [input, output] = [join(folder, 'disk.img'), join(folder, 'out.raw')];
  const disk = heldDisk.subarray(0, (8 << 20) + 512);
  writeFileSync(input, disk);
  const ending = new AbortController();
  const onProgress = ({ phase }: Decant.Progress) => {
    if (phase === 'finalizing') ending.abort();
  };
  const image = await decant.open(input, { inputFormat: 'raw' });
  const cut = image.convert(output, { resume: true, signal: ending.signal, onProgress });
  await expect(cut).rejects.toMatchObject({ message: `The conversion was cancelled; ${KEPT}` });
  expect(leftOf(folder)!.guest).toBe(disk.length);
  const { bytesWritten } = await image.convert(output, { resume: true });
  await image.close();
  expect(bytesWritten).toBe(disk.length);
  expect(readFileSync(output).equals(disk)).toBe(true);
});

test('a local image continues as well, and one that was changed does not', async ({ folder }) => {
  const [input, output] = [join(folder, 'disk.qcow2'), join(folder, 'out.raw')];
  copyFileSync(images.zlib(), input);
  const ending = new AbortController();
  const onProgress = ({ phase }: Decant.Progress) => {
    if (phase === 'finalizing') ending.abort();
  };
  const image = await decant.open(input);
  const cut = image.convert(output, { resume: true, signal: ending.signal, onProgress });
  await expect(cut).rejects.toMatchObject({ message: `The conversion was cancelled; ${KEPT}` });
  await image.close();
  /** How much of the disk a conversion begins with, which is then cancelled again. */
  const begin = async () => {
    const again = await decant.open(input);
    const before = await again.savedProgress(output);
    await again.close();
    return before!.guestDone;
  };
  expect(await begin()).toBe(statSync(images.raw()).size);
  utimesSync(input, 1, 1);
  expect(await begin()).toBe(0);
  expect(command('convert', '--resume', input, output)).toMatchObject({ status: 0, stderr: '' });
  expect(hashFile(output)).toBe(hashFile(images.raw()));
});

test('an image that is another one by now is converted from its start', FULL, async ({ folder }) => {
  let etag = '"one"';
  const remote = await serveDisk({ etag: () => etag });
  const cut = { remote, folder, output: join(folder, 'disk') };
  await cutOff(cut, 'SIGKILL');
  etag = '"two"';
  expect(await finish(cut)).toBeGreaterThanOrEqual(ALL);
  expectDisk(cut.output);
  await remote.close();
});

/** Who may have made what is left: the name of a file changed so, and whether it is continued at once. */
const MAKERS: Record<string, { rename: (name: string) => string; isAtOnce: boolean }> = {
  'before the system was started anew': {
    rename: (name) => name.replace(/\.[0-9a-f]{32}-/, `.${'0'.repeat(32)}-`),
    isAtOnce: true,
  },
  'where a system does not tell of its starts': {
    rename: (name) => name.replace(/\.[0-9a-f]{32}-\d+-/, `.${'0'.repeat(32)}-0-`),
    isAtOnce: false,
  },
  'in another container': { rename: (name) => name.replace(/(\.[0-9a-f]{32})-\d+-/, '$1-1-'), isAtOnce: false },
};
for (const [where, { rename, isAtOnce }] of Object.entries(MAKERS)) {
  test(`left ${where}: continued ${isAtOnce ? 'at once' : 'after 15 minutes'}`, { tag: '@full' }, async ({ cut }) => {
    const { folder, output, remote } = cut;
    await cutOff(cut, 'SIGKILL');
    for (const name of leftIn(folder)) renameSync(join(folder, name), join(folder, rename(name)));
    const left = keptIn(folder);
    remote.allowAll();
    const image = await decant.open(remote.url, { inputFormat: 'raw' });
    const guestDone = async () => (await image.savedProgress(output))!.guestDone;
    if (!isAtOnce) {
      const since = async (minutes: number) => {
        const then = Date.now() / 1000 - minutes * 60;
        for (const name of left) utimesSync(join(folder, name), then, then);
        return guestDone();
      };
      expect(await since(14)).toBe(0);
      expect(await since(16)).toBeGreaterThan(0);
    }
    const before = await guestDone();
    await image.close();
    expect(before).toBeGreaterThan(0);
    expect(await convertFrom(cut)).toMatchObject({ first: before, end: 'done' });
    expectComplete(cut);
  });
}

test(
  'where a system does not tell of its processes, what a killed one has left continues',
  { tag: '@full' },
  async ({ cut }) => {
    const { folder, remote } = cut;
    const number = join(folder, 'number');
    const convert = `echo $$ > '${number}'; exec '${process.execPath}' '${converting(cut).join("' '")}'`;
    const inside = `mount -t tmpfs none /proc && ${convert}`;
    const run = () =>
      startProgram('sh', ['-c', `exec ${sudo.join(' ')} unshare --mount sh -c "${inside.replaceAll('$', '\\$')}"`]);
    remote.allow(ALL / 8);
    const { ended } = run();
    const { guest } = await untilNoted(folder, remote);
    asRoot('kill', '-9', readFileSync(number, 'utf8').trim());
    await ended;
    remote.allowAll();
    remote.sent = 0;
    expect(await run().ended).toMatchObject({ status: 0, stderr: '' });
    expectComplete(cut);
    expect(remote.sent).toBeLessThanOrEqual(restOf(guest));
  },
);

const TAMPERED: Record<string, (left: Left) => void> = {
  'another conversion': ({ journal }) => writeFileSync(journal, `x${readFileSync(journal, 'utf8')}`),
  'no line': ({ journal }) => writeFileSync(journal, `${readFileSync(journal, 'utf8').split('\n')[0]}\n`),
  'a file that others may write': ({ partial }) => chmodSync(partial, 0o666),
  'a journal that others may write': ({ journal }) => chmodSync(journal, 0o620),
  'a file with another name': ({ partial }) => linkSync(partial, `${partial}.other`),
  'a file that is too short': ({ partial }) => writeFileSync(partial, 'x'),
  'no journal': ({ journal }) => renameSync(journal, `${journal}.gone`),
};
for (const [what, tamper] of Object.entries(TAMPERED)) {
  test(`what is left is not continued: ${what}`, { tag: '@full' }, async ({ cut }) => {
    await cutOff(cut, 'SIGKILL');
    tamper(leftOf(cut.folder)!);
    expect(await finish(cut)).toBeGreaterThanOrEqual(ALL);
    expectDisk(cut.output);
  });
}

test(
  'a journal that ends in the middle of a line counts up to the line before, also for the lines after it',
  {
    tag: '@full',
  },
  async ({ cut }) => {
    const begin = async () => {
      await cutOff({ ...cut, point: ALL / 16 }, 'SIGKILL');
      return leftOf(cut.folder)!;
    };
    let first = await begin();
    // A slow machine is sent more before a kill, and the last quarter is never sent.
    while (first.guest > ALL / 2) {
      for (const path of [first.partial, first.journal]) rmSync(path);
      first = await begin();
    }
    appendFileSync(first.journal, '9');
    await cutOff(cut, 'SIGKILL', first.guest);
    const { journal, guest } = leftOf(cut.folder)!;
    const offsets = readFileSync(journal, 'utf8').split('\n').slice(1, -1).map(Number.parseFloat);
    expect(offsets).toEqual(offsets.toSorted((a, b) => a - b));
    expect(offsets.at(-1)).toBeLessThanOrEqual(ALL);
    appendFileSync(journal, '99999999999');
    expect(await finish(cut)).toBeLessThanOrEqual(restOf(guest));
    expectComplete(cut);
  },
);

test(
  'what is left stays for a week, or until somebody converts to the place without resume',
  { tag: '@full' },
  async ({ cut }) => {
    const { folder, output } = cut;
    await cutOff(cut, 'SIGKILL');
    const left = leftOf(folder)!;
    const convert = (output: string) => start('convert', images.kinds(), output).ended;
    const other = join(folder, 'other.raw');
    await convert(other);
    expect(keptIn(folder)).toHaveLength(2);
    const old = Date.now() / 1000 - 8 * 24 * 3600;
    for (const file of [left.partial, left.journal]) utimesSync(file, old, old);
    await convert(other);
    expect(keptIn(folder)).toEqual([]);
    await cutOff(cut, 'SIGKILL');
    await convert(output);
    expect(keptIn(folder)).toEqual([]);
    expect(hashFile(output)).toBe(hashFile(other));
  },
);

test('three that continue at once: they end well, or say why not', { tag: '@full' }, async ({ cut }) => {
  await cutOff(cut, 'SIGKILL');
  cut.remote.allowAll();
  const run = () => startProgram(process.execPath, converting(cut)).ended;
  const ends = await Promise.all([run(), run(), run()]);
  expect(ends.filter(({ status }) => status === 0).length).toBeGreaterThan(0);
  for (const { status, stderr } of ends)
    if (status !== 0)
      expect(stderr).toMatch(/has changed '.*' during the conversion|Another conversion is writing to '.*'/);
  expectDisk(cut.output);
});

for (const [what, args, sentence, tag] of [
  ['a compressed output', ['-O', 'raw.gz'], /cannot be resumed: the output format raw.gz is written in one pass/, []],
  ['a salvage', ['--salvage'], /cannot be resumed: salvage reads the image in one pass/, ['@full']],
] as const) {
  test(`refused: ${what}`, { tag: [...tag] }, ({ folder }) => {
    const { status, stderr } = command('convert', '--resume', ...args, images.kinds(), join(folder, 'out'));
    expect(stderr).toMatch(sentence);
    expect(status).toBe(2);
    expect(readdirSync(folder)).toEqual([]);
  });
}

for (const [what, output, sentence] of [
  ['standard output', '-', /--resume needs a file or --upload s3, not standard output/],
  ['an upload', 'http://127.0.0.1:1/x', /--resume needs a file or --upload s3, not a server/],
] as const) {
  test(`refused: ${what}`, { tag: '@full' }, () => {
    const { status, stderr } = command('convert', '--resume', images.kinds(), output);
    expect(stderr).toMatch(sentence);
    expect(status).toBe(2);
  });
}

test('refused: images without a state, and outputs that are not paths', async ({ folder }) => {
  const image = await decant.open(readFileSync(images.kinds()));
  const refusal = (output: Decant.Output) =>
    image.convert(output, { resume: true }).then(
      () => 'done',
      (thrown: Error) => thrown.message,
    );
  expect(await refusal(join(folder, 'out'))).toMatch(/a later change of the image could not be detected/);
  expect(await refusal(new WritableStream())).toMatch(/^An output of this kind cannot be resumed$/);
  await image.close();
});

test('after a server refuses, progress is saved', FULL, async ({ folder }) => {
  const remote = await serveDisk();
  const cut = { remote, folder, output: join(folder, 'disk') };
  remote.allow(ALL / 8);
  const { ended } = startProgram(process.execPath, converting(cut));
  await untilNoted(folder, remote);
  remote.refuse();
  const { status, stderr } = await ended;
  expect(status).toBe(1);
  expect(stderr).toContain(`${KEPT} (--resume)`);
  expect(keptIn(folder)).toHaveLength(2);
  await remote.close();
});
