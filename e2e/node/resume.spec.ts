// Conversions that are cut off, and go on from where they were.

import { randomBytes } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as Decant from '../../dist/node.js';
import { asRoot, cli, listening, start, startProgram, sudo } from '../support/command.js';
import { expectSame, images, small } from '../support/images.js';
import { expect, test } from '../support/node.js';
import { random } from '../support/random.js';
import { byScope } from '../support/scope.js';
import { type SlowFile, serveSlowly as slow } from '../support/slow.js';

const decant = (await import(fileURLToPath(new URL('../../dist/node.js', import.meta.url)))) as typeof Decant;

let remote: SlowFile | undefined;
test.afterEach(async () => {
  await remote?.close();
  remote = undefined;
});
test.afterAll(() => decant.dispose());

const MIB = 1 << 20;
const KEPT = /\.resumable(\.journal)?$/;
const leftIn = (folder: string): string[] => readdirSync(folder).filter((name) => name.startsWith('.'));
const keptIn = (folder: string): string[] => leftIn(folder).filter((name) => KEPT.test(name));

/** Waits until something is certain; returns the file and its journal. */
async function journalIn(folder: string): Promise<{ partial: string; journal: string; guest: number }> {
  let journal = '';
  await expect
    .poll(
      () => {
        const name = readdirSync(folder).find((name) => name.endsWith('.journal'));
        journal = name ? join(folder, name) : '';
        return name ? readFileSync(journal, 'utf8').split('\n').length : 0;
      },
      { timeout: 30_000, intervals: [50] },
    )
    .toBeGreaterThan(2);
  const guest = Number(readFileSync(journal, 'utf8').trim().split('\n').at(-1)!.split(' ')[0]);
  return { journal, partial: journal.replace(/\.journal$/, ''), guest };
}

/** Begins a conversion, ends it by `signal` when something is certain, and returns what it has printed. */
async function cutOff(input: string, output: string, signal: NodeJS.Signals, ...more: string[]): Promise<string> {
  const { child, ended } = start('convert', '--resume', ...more, input, output);
  await listening(child);
  await journalIn(join(output, '..'));
  child.kill(signal);
  return (await ended).stderr;
}

const KILLS = byScope({ short: 1, full: 5, long: 100 });

for (const [format, expected] of [
  ['raw', images.raw],
  ['vpc', images.raw],
] as const) {
  test(`killed at random moments, ${format}: the disk is right`, async ({ folder }) => {
    test.setTimeout(3_600_000);
    const path = images.zlib();
    remote = await slow(path);
    const next = random(format.length);
    const output = join(folder, `disk.${format}`);
    let kills = 0;
    let resumed = 0;
    while (kills < KILLS) {
      const { child, ended } = start('convert', '--resume', '-O', format, remote.url, output);
      const timer = setTimeout(() => child.kill('SIGKILL'), 300 + next() * 2000);
      const { status } = await ended;
      clearTimeout(timer);
      if (status === 0) {
        check();
        continue;
      }
      kills += 1;
      // Nothing looks complete that is not. It may have been killed right after it was.
      if (existsSync(output)) expectDisk();
      resumed += keptIn(folder).some((name) => name.endsWith('.journal')) ? 1 : 0;
    }
    const { status, stderr } = await start('convert', '--resume', '-O', format, remote.url, output).ended;
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    check();
    expect(resumed).toBeGreaterThan(0);

    function expectDisk(): void {
      const disk = readFileSync(output).subarray(0, statSync(expected()).size);
      expect(Buffer.compare(disk, readFileSync(expected()))).toBe(0);
      renameSync(output, join(folder, 'before'));
    }

    function check(): void {
      expectDisk();
      expect(leftIn(folder)).toEqual([]);
    }
  });
}

test('Ctrl-C keeps what is done, tells so, and the rest alone is fetched later', async ({ folder }) => {
  const path = images.zlib();
  remote = await slow(path);
  const server = remote;
  const output = join(folder, 'disk.raw');
  const told = await cutOff(remote.url, output, 'SIGINT');
  expect(told.trim()).toBe('decant: interrupted; what is done is kept: convert again with resume to go on (--resume)');
  expect(existsSync(output)).toBe(false);
  const [{ guest }, before] = [await journalIn(folder), server.sent];
  expect(guest).toBeGreaterThan(0);
  server.sent = 0;
  let first: number | undefined;
  const image = await decant.open(remote.url);
  const result = await image.convert(output, {
    resume: true,
    onProgress: ({ phase, guestDone }) => {
      if (phase === 'converting') first ??= guestDone;
    },
  });
  const whole = await image.convert(join(folder, 'whole.raw'));
  await image.close();
  expectSame(output, images.raw());
  expect(first).toBeGreaterThanOrEqual(Math.floor(guest / 4096) * 4096);
  expect(before).toBeGreaterThan(MIB);
  expect(server.sent).toBeLessThan(statSync(path).size * 2 - MIB);
  expect(result).toMatchObject({
    bytesWritten: whole.bytesWritten,
    holeBytes: whole.holeBytes,
    outputSize: whole.outputSize,
  });
  expect(leftIn(folder)).toEqual([]);
  expect(statSync(output).mode & 0o777).toBe(0o666 & ~process.umask());
});

/** Converts with `resume`, and cancels once more than `most` bytes are done; resolves to how many were at first, and its end. */
async function convertUntil(
  input: string,
  output: string,
  most = Number.POSITIVE_INFINITY,
): Promise<{ first: number; end: string }> {
  const ending = new AbortController();
  let first: number | undefined;
  const onProgress = ({ phase, guestDone }: Decant.Progress) => {
    if (phase !== 'converting') return;
    first ??= guestDone;
    if (guestDone > most) ending.abort();
  };
  const image = await decant.open(input, { workers: 1 });
  const end = await image.convert(output, { resume: true, signal: ending.signal, onProgress }).then(
    () => 'done',
    (thrown: Error) => thrown.message,
  );
  await image.close();
  return { first: first!, end };
}
const KEPT_SENTENCE = 'The conversion was cancelled; what is done is kept: convert again with resume to go on';

test('in one process what was cancelled goes on, too', async ({ folder }) => {
  remote = await slow(small.zlib());
  const output = join(folder, 'disk.raw');
  expect((await convertUntil(remote.url, output, 8 * MIB)).end).toBe(KEPT_SENTENCE);
  const { first, end } = await convertUntil(remote.url, output);
  expect(end).toBe('done');
  expect(first).toBeGreaterThan(4 * MIB);
  expectSame(output, small.raw());
  expect(leftIn(folder)).toEqual([]);
});

test('a disk that ends within a block: what was written counts once', async ({ folder }) => {
  const [input, output] = [join(folder, 'disk.img'), join(folder, 'out.raw')];
  const disk = randomBytes(8 * MIB + 512);
  writeFileSync(input, disk);
  const ending = new AbortController();
  const onProgress = ({ phase }: Decant.Progress) => {
    if (phase === 'finalizing') ending.abort();
  };
  const image = await decant.open(input, { format: 'raw' });
  const cut = image.convert(output, { resume: true, signal: ending.signal, onProgress });
  await expect(cut).rejects.toMatchObject({ message: KEPT_SENTENCE });
  expect((await journalIn(folder)).guest).toBe(disk.length);
  const { bytesWritten } = await image.convert(output, { resume: true });
  await image.close();
  expect(bytesWritten).toBe(disk.length);
  expect(readFileSync(output).equals(disk)).toBe(true);
});

test('a local image goes on as well, and one that was changed does not', async ({ folder }) => {
  // Large enough to be cut off.
  const [input, output] = [join(folder, 'disk.qcow2'), join(folder, 'out', 'disk.raw')];
  copyFileSync(images.heavy(), input);
  mkdirSync(join(folder, 'out'));
  expect((await convertUntil(input, output, 64 * MIB)).end).toBe(KEPT_SENTENCE);
  const { first, end } = await convertUntil(input, output, 0);
  expect(end).toBe(KEPT_SENTENCE);
  expect(first).toBeGreaterThan(32 * MIB);
  utimesSync(input, 1, 1);
  expect((await convertUntil(input, output, 0)).first).toBeLessThan(first);
});

/** Who may have made what is left: the name of a file changed so, and whether it is gone on with at once. */
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
  test(`left ${where}: gone on with ${isAtOnce ? 'at once' : 'after 15 minutes'}`, async ({ folder }) => {
    remote = await slow(small.zlib());
    const output = join(folder, 'disk.raw');
    await cutOff(remote.url, output, 'SIGKILL');
    for (const name of leftIn(folder)) renameSync(join(folder, name), join(folder, rename(name)));
    const left = keptIn(folder);
    const image = await decant.open(remote.url);
    const guestDone = async () => (await image.kept(output))!.guestDone;
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
    expect(await convertUntil(remote.url, output)).toEqual({ first: before, end: 'done' });
    expectSame(output, small.raw());
    expect(leftIn(folder)).toEqual([]);
  });
}

test('where a system does not tell of its processes, what a killed one has left goes on', async ({ folder }) => {
  remote = await slow(small.zlib());
  const [output, number] = [join(folder, 'disk.raw'), join(folder, 'number')];
  const convert = `echo $$ > '${number}'; exec '${process.execPath}' '${cli}' convert --resume '${remote.url}' '${output}'`;
  const inside = `mount -t tmpfs none /proc && ${convert}`;
  const run = () =>
    startProgram('sh', ['-c', `exec ${sudo.join(' ')} unshare --mount sh -c "${inside.replaceAll('$', '\\$')}"`]);
  const { ended } = run();
  await journalIn(folder);
  asRoot('kill', '-9', readFileSync(number, 'utf8').trim());
  await ended;
  const server = remote;
  server.sent = 0;
  expect(await run().ended).toMatchObject({ status: 0, stderr: '' });
  expectSame(output, small.raw());
  expect(server.sent).toBeLessThan(statSync(small.zlib()).size * 0.95);
  expect(leftIn(folder)).toEqual([]);
});

const TAMPERED: Record<string, (left: { partial: string; journal: string }) => void> = {
  'another conversion': ({ journal }) => writeFileSync(journal, `x${readFileSync(journal, 'utf8')}`),
  'no line': ({ journal }) => writeFileSync(journal, `${readFileSync(journal, 'utf8').split('\n')[0]}\n`),
  'a file that others may write': ({ partial }) => chmodSync(partial, 0o666),
  'a journal that others may write': ({ journal }) => chmodSync(journal, 0o620),
  'a file with another name': ({ partial }) => linkSync(partial, `${partial}.other`),
  'a file that is too short': ({ partial }) => writeFileSync(partial, 'x'),
  'no journal': ({ journal }) => renameSync(journal, `${journal}.gone`),
};
for (const [what, tamper] of Object.entries(TAMPERED)) {
  test(`what is left is not gone on with: ${what}`, async ({ folder }) => {
    remote = await slow(small.zlib());
    const output = join(folder, 'disk.raw');
    await cutOff(remote.url, output, 'SIGKILL');
    tamper(await journalIn(folder));
    const server = remote;
    server.sent = 0;
    expect(await start('convert', '--resume', remote.url, output).ended).toMatchObject({ status: 0, stderr: '' });
    expectSame(output, small.raw());
    expect(server.sent).toBeGreaterThan(statSync(small.zlib()).size * 0.9);
  });
}

test('a journal that ends in the middle of a line counts up to the line before, also for those behind', async ({
  folder,
}) => {
  remote = await slow(small.zlib());
  const output = join(folder, 'disk.raw');
  await cutOff(remote.url, output, 'SIGKILL');
  appendFileSync((await journalIn(folder)).journal, '9');
  await cutOff(remote.url, output, 'SIGKILL');
  const { journal } = await journalIn(folder);
  const offsets = readFileSync(journal, 'utf8').split('\n').slice(1, -1).map(Number.parseFloat);
  expect(offsets).toEqual(offsets.toSorted((a, b) => a - b));
  expect(offsets.at(-1)).toBeLessThanOrEqual(statSync(small.raw()).size);
  appendFileSync(journal, '99999999999');
  const server = remote;
  server.sent = 0;
  expect(await start('convert', '--resume', remote.url, output).ended).toMatchObject({ status: 0, stderr: '' });
  expectSame(output, small.raw());
  expect(server.sent).toBeLessThan(statSync(small.zlib()).size * 0.95);
});

test('an image that is another one by now is converted from its start', async ({ folder }) => {
  let etag = '"one"';
  remote = await slow(small.zlib(), () => etag);
  const output = join(folder, 'disk.raw');
  await cutOff(remote.url, output, 'SIGKILL');
  etag = '"two"';
  const server = remote;
  server.sent = 0;
  expect(await start('convert', '--resume', remote.url, output).ended).toMatchObject({ status: 0, stderr: '' });
  expectSame(output, small.raw());
  expect(server.sent).toBeGreaterThan(statSync(small.zlib()).size * 0.9);
});

test('what is left stays for a week, or until somebody converts to the place without resume', async ({ folder }) => {
  remote = await slow(small.zlib());
  const output = join(folder, 'disk.raw');
  await cutOff(remote.url, output, 'SIGKILL');
  const left = await journalIn(folder);
  const other = join(folder, 'other.raw');
  const convert = (output: string) => start('convert', small.zlib(), output).ended;
  await convert(other);
  expect(keptIn(folder)).toHaveLength(2);
  const old = Date.now() / 1000 - 8 * 24 * 3600;
  for (const file of [left.partial, left.journal]) utimesSync(file, old, old);
  await convert(other);
  expect(keptIn(folder)).toEqual([]);
  await cutOff(remote.url, output, 'SIGKILL');
  await convert(output);
  expect(keptIn(folder)).toEqual([]);
  expectSame(output, small.raw());
});

test('two that go on at once: both end well, or one says why not', async ({ folder }) => {
  remote = await slow(small.zlib());
  const output = join(folder, 'disk.raw');
  await cutOff(remote.url, output, 'SIGKILL');
  const run = () => start('convert', '--resume', remote!.url, output).ended;
  const ends = await Promise.all([run(), run(), run()]);
  expect(ends.filter(({ status }) => status === 0).length).toBeGreaterThan(0);
  for (const { status, stderr } of ends) if (status !== 0) expect(stderr).toMatch(/has written '.*' meanwhile/);
  expectSame(output, small.raw());
});

const REFUSED: [string, string[], RegExp][] = [
  [
    'a compressed output',
    ['-O', 'raw.gz', '{image}', '{output}'],
    /cannot be resumed: an output in raw.gz is made in one go/,
  ],
  ['a salvage', ['--salvage', '{image}', '{output}'], /cannot be resumed: what is lost is found in one go/],
  ['standard output', ['{image}', '-'], /--resume needs a file or --upload s3, not standard output/],
  ['an upload', ['{image}', 'http://127.0.0.1:1/x'], /--resume needs a file or --upload s3, not a server/],
];
for (const [what, args, sentence] of REFUSED) {
  test(`refused: ${what}`, async ({ folder }) => {
    const names: Record<string, string> = { '{image}': small.zlib(), '{output}': join(folder, 'out') };
    const { status, stderr } = await start('convert', '--resume', ...args.map((one) => names[one] ?? one)).ended;
    expect(stderr).toMatch(sentence);
    expect(status).toBe(2);
    expect(readdirSync(folder)).toEqual([]);
  });
}

test('refused: what has no state, and what is no path', async ({ folder }) => {
  const file = readFileSync(small.zlib());
  const image = await decant.open(file);
  const refusal = (output: Decant.Output) =>
    image.convert(output, { resume: true }).then(
      () => 'done',
      (thrown: Error) => thrown.message,
    );
  expect(await refusal(join(folder, 'out'))).toMatch(/nothing tells later whether the image is still the same/);
  expect(await refusal(new WritableStream())).toMatch(/^An output of this kind cannot be resumed$/);
  await image.close();
});
