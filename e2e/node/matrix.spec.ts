// The generated matrix of the crate's tests (crate/tests/generated.rs), by the shipped wasm, and the output of info and map: in
// one process, and by the command. Comparisons of its images.

import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as decant from '../../dist/node.js';
import { infoJson } from '../../worker/cli/info-report.js';
import { mapJson } from '../../worker/cli/map-text.js';
import { closing } from '../support/closing.js';
import { start } from '../support/command.js';
import { hashFile } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';

const list = fileURLToPath(new URL('../../target/matrix/rows.json', import.meta.url));
const PASSWORD = 'correct horse';
const SECRET = ['--object', `secret,id=s,data=${PASSWORD}`];

interface Row {
  name: string;
  image: string;
  raw: boolean;
  companions: string[];
  snapshot: string | null;
  encrypted: boolean;
  /** The options with which QEMU opens the chain. */
  qemu: string;
  sha256: string;
}

const qemuImg = (...args: string[]) => execFileSync('qemu-img', args, { encoding: 'utf8', maxBuffer: 1 << 28 });

/** How the disk of a row is converted, mapped and described. Each returns what is printed, or what is on stderr. */
interface Way {
  convert(row: Row, output: string): Promise<string>;
  map(row: Row): Promise<string>;
  info(row: Row): Promise<string>;
}

/** Opens a row, which is never a streamed image. */
const openRow = (row: Row) =>
  decant.open(row.image, {
    companions: row.companions,
    ...(row.raw && { inputFormat: 'raw' }),
    ...(row.encrypted && { password: PASSWORD, assumePassword: true }),
    ...(row.snapshot && { snapshot: row.snapshot }),
  }) as Promise<decant.DiskImage>;

const using = async <T>(row: Row, use: (image: decant.DiskImage) => Promise<T>): Promise<T> =>
  closing(await openRow(row), use);

/** Whether a raw backing file may be read without a stated format, which is reported. */
const mayGuess = ({ name }: Row): boolean => name.includes('states_backing_format: false');
const GUESS =
  /^decant: note: '[^\n]*' is in no format that QEMU recognises, and none is stated for it; it is read as raw\n/gm;

/** The package, with the formatting of the command. */
const inProcess: Way = {
  convert: (row, output) =>
    using(row, async (image) => {
      const { notices, unusedCompanions, lost } = await image.convert(output);
      return [
        ...notices.filter(({ code }) => code !== 'guessed-raw' || !mayGuess(row)).map(({ message }) => message),
        ...unusedCompanions,
        ...lost.map(({ message }) => message),
      ].join();
    }),
  map: (row) =>
    using(row, async (image) => {
      const lines = [];
      for await (const line of mapJson(image.map())) lines.push(`${line}\n`);
      return lines.join('');
    }),
  info: async ({ image }) => {
    const lines = await closing(await decant.open(image), ({ info }) => infoJson(info, image));
    return lines.join('\n');
  },
};

/** The command; `password` is a file. */
function byCommand(password: string): Way {
  const opening = (row: Row) => [
    ...row.companions.flatMap((path) => ['--with', path]),
    ...(row.raw ? ['-f', 'raw'] : []),
    ...(row.encrypted ? ['--password-file', password, '--assume-password'] : []),
    ...(row.snapshot ? ['--snapshot', row.snapshot] : []),
  ];
  return {
    convert: async (row, output) => {
      const { status, stderr } = await start('convert', ...opening(row), row.image, output).ended;
      const told = mayGuess(row) ? stderr.replaceAll(GUESS, '') : stderr;
      return status === 0 ? told : `${status} ${told}`;
    },
    map: async (row) => (await start('map', ...opening(row), '--output=json', row.image).ended).stdout,
    info: async ({ image }) => (await start('info', '--output=json', image).ended).stdout,
  };
}

/** The number of rows converted at once: starting a process uses one core. */
const LANES = 2;

for (const [name, details, wayOf] of [
  ['in one process', {}, () => inProcess],
  ['by the command', FULL, byCommand],
] as const) {
  test(`every row converts to what was written, ${name}`, details, async ({ folder }) => {
    test.setTimeout(20 * 60_000);
    const rows: Row[] = JSON.parse(readFileSync(list, 'utf8'));
    expect(rows.length, 'cargo test makes the matrix').toBeGreaterThan(60);
    const password = join(folder, 'password');
    writeFileSync(password, `${PASSWORD}\n`);
    const way = wayOf(password);
    const wrong: string[] = [];
    let [maps, infos] = [0, 0];

    async function check(row: Row, output: string): Promise<void> {
      const told = await way.convert(row, output);
      if (told !== '') wrong.push(`${row.name}: ${told}`);
      else if (hashFile(output) !== row.sha256) wrong.push(`${row.name}: other bytes`);
      rmSync(output, { force: true });
      if (row.snapshot) return;
      // Only the file system knows the holes of a raw file.
      if (!/raw/i.test(row.name.replaceAll('raw: false', ''))) {
        maps += 1;
        const theirs = qemuImg('map', ...SECRET, '--image-opts', '--output=json', row.qemu);
        if ((await way.map(row)) !== theirs) wrong.push(`${row.name}: map`);
      }
      if (row.raw) return;
      infos += 1;
      const { decant: _ours, ...info } = JSON.parse(await way.info(row));
      expect(info, row.name).toEqual(JSON.parse(qemuImg('info', '--output=json', row.image)));
    }

    const waiting = rows.values();
    const lane = async (output: string) => {
      for (const row of waiting) await check(row, output);
    };
    await Promise.all(Array.from({ length: LANES }, (_, at) => lane(join(folder, `out-${at}.raw`))));
    expect(wrong).toEqual([]);
    console.log(`${rows.length} conversions, ${maps} maps, ${infos} infos`);
  });
}

test('pairs of rows are the same or differ as qemu-img says', async ({ folder }) => {
  test.setTimeout(20 * 60_000);
  const rows = (JSON.parse(readFileSync(list, 'utf8')) as Row[]).filter(({ snapshot }) => !snapshot);
  expect(rows.length, 'cargo test makes the matrix').toBeGreaterThan(20);
  const raw = join(folder, 'disk.raw');
  const wrong: string[] = [];
  for (const [at, one] of rows.entries()) {
    qemuImg('convert', ...SECRET, '--image-opts', '-O', 'raw', one.qemu, raw);
    const disk = { ...one, name: 'its disk', image: raw, raw: true, companions: [], encrypted: false };
    const next = rows[(at + 1) % rows.length]!;
    for (const other of [{ ...disk, qemu: `driver=raw,file.filename=${raw}` }, next]) {
      const args = ['compare', ...SECRET, '--image-opts', one.qemu, other.qemu];
      const { status, stdout } = spawnSync('qemu-img', args, { encoding: 'utf8' });
      const { same, firstDifference: offset } = await using(one, (image) =>
        using(other, (second) => image.compare(second)),
      );
      const [, sector] = /mismatch at offset (\d+)/.exec(stdout) ?? [];
      const ours = offset === undefined ? undefined : `${offset - (offset % 512)}`;
      if (same !== (status === 0) || ours !== sector)
        wrong.push(`${one.name}, ${other.name}: ${ours}, but ${status} ${stdout}`);
    }
  }
  expect(wrong).toEqual([]);
});

/** The first byte that differs, where the smaller disk counts as if zeros followed it. */
function firstDifference(one: Buffer, other: Buffer): number | undefined {
  const length = 64 << 10;
  for (let start = 0; start < Math.max(one.length, other.length); start += length) {
    const part = (disk: Buffer) => Buffer.concat([disk.subarray(start, start + length)], length);
    const [first, second] = [part(one), part(other)];
    if (!first.equals(second)) return start + first.findIndex((byte, at) => byte !== second[at]);
  }
  return undefined;
}

// `qemu-img compare` reads both disks through the drivers that `qemu-img convert` uses, and pads the smaller one with zeros. So its
// answer to each pair follows from the disks that `convert` has written, one for each image. The test above runs it for N pairs.
test('all pairs of rows, and copies of them, are the same or differ at the right byte', FULL, async ({ folder }) => {
  test.setTimeout(40 * 60_000);
  const rows = (JSON.parse(readFileSync(list, 'utf8')) as Row[]).filter(({ snapshot }) => !snapshot);
  const [raw, copied] = [join(folder, 'disk.raw'), join(folder, 'copy.qcow2')];
  const opened: { row: Row; image: decant.DiskImage; disk: Buffer }[] = [];
  const wrong: string[] = [];
  const compare = async (
    one: decant.DiskImage,
    other: decant.DiskImage,
    expected: number | undefined,
    name: string,
  ) => {
    const { same, firstDifference: found } = await one.compare(other);
    if (same !== (expected === undefined) || found !== expected) wrong.push(`${name}: ${found} instead of ${expected}`);
  };
  for (const row of rows) {
    qemuImg('convert', ...SECRET, '--image-opts', '-O', 'raw', row.qemu, raw);
    expect(hashFile(raw), row.name).toBe(row.sha256);
    qemuImg('convert', '-f', 'raw', '-O', 'qcow2', '-o', 'cluster_size=4k', raw, copied);
    const image = await openRow(row);
    await closing(await decant.open(copied), (copy) => compare(image, copy, undefined, `${row.name} and its copy`));
    opened.push({ row, image, disk: readFileSync(raw) });
  }
  const pairs = opened.flatMap((one, at) => opened.slice(at + 1).map((other) => ({ one, other })));
  const waiting = pairs.values();
  const lane = async () => {
    for (const { one, other } of waiting)
      await compare(
        one.image,
        other.image,
        firstDifference(one.disk, other.disk),
        `${one.row.name}, ${other.row.name}`,
      );
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  for (const { image } of opened) await image.close();
  expect(wrong).toEqual([]);
  console.log(`${pairs.length} pairs`);
});
