// Outputs that change at random between the end of a conversion and the reading back by which it is verified, in each kind of target.
// Each change that another program notices in the disk is found. More formats, and those that it must not report, in
// crate/tests/outputs/changes.rs.

import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, readSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as Decant from '../../dist/node.js';
import type * as Upload from '../../dist/upload.js';
import { makeDevice } from '../support/device.js';
import { expect, test } from '../support/node.js';
import { random } from '../support/random.js';
import { byScope } from '../support/scope.js';
import { takeUploads, type UploadServer } from '../support/uploads.js';

const dist = (name: string) => fileURLToPath(new URL(`../../dist/${name}.js`, import.meta.url));
const decant = (await import(dist('node'))) as typeof Decant;
const upload = (await import(dist('upload'))) as typeof Upload;
test.afterAll(() => decant.dispose());

const MIB = 1 << 20;
const SECTOR = 512;
/** How many changes each format in each target gets: more than 1,000 in all in the long scope. */
const CHANGES = byScope({ short: 1, full: 4, long: 40 });

type Random = () => number;
const below = (end: number, next: Random) => Math.floor(next() * end);

/** A disk with noise, text and zeros. */
function diskOf(next: Random): Buffer {
  const disk = Buffer.alloc((1 + below(5, next)) * 300 * SECTOR);
  for (let at = 0; at < disk.length; ) {
    const end = Math.min(disk.length, at + 1 + below(100_000, next));
    const kind = below(4, next);
    if (kind > 0) for (let byte = at; byte < end; byte += 1) disk[byte] = kind === 1 ? byte / 7 : below(256, next);
    at = end;
  }
  return disk;
}

/** Changes `bytes` somewhere; half of the places are near an end, where formats have their structures. Returns what was changed. */
function change(bytes: Buffer, next: Random): string {
  const [near, away] = [below(Math.min(bytes.length, 2048), next), below(bytes.length, next)];
  const at = [near, bytes.length - 1 - near, away, away][below(4, next)]!;
  const [sector, block] = [at - (at % SECTOR), at - (at % 4096)];
  switch (below(5, next)) {
    case 0:
      bytes[at]! ^= 1 << below(8, next);
      return `a bit of byte ${at}`;
    case 1:
      bytes[at] = below(256, next);
      return `byte ${at}`;
    case 2:
      bytes.subarray(sector, sector + SECTOR).fill(0);
      return `the sector at ${sector}`;
    case 3:
      bytes.fill(0, at);
      return `the end from ${at}`;
    default: {
      const other = away - (away % 4096);
      const [one, two] = [block, other].map((start) => Buffer.from(bytes.subarray(start, start + 4096)));
      const length = Math.min(one!.length, two!.length);
      one!.copy(bytes, other, 0, length);
      two!.copy(bytes, block, 0, length);
      return `the blocks at ${block} and ${other}`;
    }
  }
}

const printed = (program: string, ...args: string[]): Buffer | undefined => {
  const { status, stdout } = spawnSync(program, args, { maxBuffer: 1 << 26 });
  return status === 0 ? stdout : undefined;
};
const byQemu = (format: string) => (path: string) => {
  const raw = `${path}.raw`;
  return printed('qemu-img', 'convert', '-f', format, '-O', 'raw', path, raw) && readFileSync(raw);
};

/** The disk of a fixed VHD, whose footer must have its checksum: the ones' complement of the sum of the other bytes. */
function fixedVhd(path: string): Buffer | undefined {
  const file = readFileSync(path);
  const footer = file.subarray(-SECTOR);
  const stated = footer.readUInt32BE(64);
  footer.fill(0, 64, 68);
  const sum = footer.reduce((sum, byte) => sum + byte, 0);
  const isIntact = footer.toString('latin1', 0, 8) === 'conectix' && stated === ~sum >>> 0;
  return isIntact ? file.subarray(0, -SECTOR) : undefined;
}

/** How other programs read the disk of an output; `undefined` if they cannot. */
const READERS = {
  raw: (path: string) => readFileSync(path),
  vpc: fixedVhd,
  'raw.gz': (path: string) => printed('gzip', '-dc', path),
  'raw.xz': (path: string) => printed('xz', '-dc', path),
  'raw.zst': (path: string) => printed('zstd', '-dc', path),
  qcow2: byQemu('qcow2'),
  vmdk: byQemu('vmdk'),
  vdi: byQemu('vdi'),
  ova: (path: string) => {
    const disk = printed('tar', '--wildcards', '-xOf', path, '*.vmdk');
    if (!disk) return undefined;
    writeFileSync(`${path}.vmdk`, disk);
    return byQemu('vmdk')(`${path}.vmdk`);
  },
} satisfies Record<string, (path: string) => Buffer | undefined>;
type Format = keyof typeof READERS;
/**
 * In these formats, a change is reported if, and only if, the program reads another disk, or none. The others have structures that the
 * program does not read, and that others need.
 */
const EXACT: Format[] = ['raw', 'vpc', 'raw.gz', 'raw.xz'];

/** An output that can be looked at and changed before it is read back. */
interface Place {
  output: Decant.Output;
  options?: Decant.ConvertOptions;
  read(): Buffer;
  write(changed: Buffer): void;
  end?(): unknown;
}

/** A file whose size does not change. */
const fileAt = (pathOf: () => string, length = Number.POSITIVE_INFINITY): Pick<Place, 'read' | 'write'> => ({
  read() {
    const file = openSync(pathOf(), 'r');
    const bytes = Buffer.alloc(Math.min(length, 32 * MIB));
    const size = readSync(file, bytes, 0, bytes.length, 0);
    closeSync(file);
    return bytes.subarray(0, size);
  },
  write(changed) {
    const file = openSync(pathOf(), 'r+');
    writeSync(file, changed, 0, changed.length, 0);
    closeSync(file);
  },
});

/** The file without a name in `folder`, which has only the output. */
const unnamedIn = (folder: string) =>
  join(folder, readdirSync(folder).find((name) => name !== 'out' && !name.endsWith('.journal'))!);

function memory(): Place {
  let bytes: Buffer = Buffer.alloc(0);
  const target: Decant.Target = {
    async write(offset, piece) {
      const end = offset + piece.length;
      if (end > bytes.length) bytes = Buffer.concat([bytes, Buffer.alloc(end - bytes.length)]);
      bytes.set(piece, offset);
    },
    async close() {},
    async abort() {},
    async readBack() {
      return {
        size: bytes.length,
        read: async (offset, length) => new Uint8Array(bytes.subarray(offset, offset + length)),
      };
    },
  };
  return {
    output: target,
    read: () => Buffer.from(bytes),
    write: (changed) => {
      bytes = changed;
    },
  };
}

let server: UploadServer;
test.beforeAll(async () => {
  server = await takeUploads();
});
test.afterAll(() => server.close());

const uploaded = (options: Decant.ConvertOptions): Place => ({
  output: upload.putTarget({ url: `${server.origin}/put/disk` }),
  options,
  read: () => server.objects.get('/put/disk')!,
  write: (changed) => server.objects.set('/put/disk', changed),
});

/** Each kind of target, and the formats that are written there; all of them in a new file. */
const PLACES: Record<string, { formats: Format[]; make(folder: string, size: number): Place }> = {
  'a new file': {
    formats: Object.keys(READERS) as Format[],
    make: (folder) => ({ output: join(folder, 'out'), ...fileAt(() => unnamedIn(folder)) }),
  },
  'a file that is replaced': {
    formats: ['raw', 'qcow2', 'raw.zst'],
    make(folder) {
      writeFileSync(join(folder, 'out'), 'before');
      return { output: join(folder, 'out'), ...fileAt(() => unnamedIn(folder)) };
    },
  },
  'a file that is written in place': {
    formats: ['raw'],
    make(folder, size) {
      const output = join(folder, 'out');
      writeFileSync(output, Buffer.alloc(size, 1));
      return { output, options: { existing: true }, ...fileAt(() => output) };
    },
  },
  'a block device': {
    formats: ['raw'],
    make(folder, size) {
      const { path, remove } = makeDevice(folder, 2 * MIB, 4 * MIB);
      return { output: path, ...fileAt(() => path, size), end: remove };
    },
  },
  'a custom target': { formats: ['raw', 'vpc', 'vmdk', 'vdi', 'raw.zst', 'ova'], make: memory },
  'an object on a server': { formats: ['raw', 'vpc', 'raw.gz', 'raw.xz'], make: () => uploaded({}) },
  'an object, by a temporary file': { formats: ['raw', 'qcow2', 'vdi'], make: () => uploaded({ spool: true }) },
};

/** What happened to a conversion whose output changed. */
interface Outcome {
  what: string;
  isReported: boolean;
  isOther: boolean;
}

/** Converts a random disk, and changes the output before it is read back. */
async function attempt(
  format: Format,
  { output, options, read, write }: Place,
  disk: Buffer,
  path: string,
  next: Random,
): Promise<Outcome> {
  let [what, sound, changed]: [string, Buffer?, Buffer?] = [''];
  const onProgress = ({ phase }: Decant.Progress) => {
    if (phase !== 'verifying' || changed) return;
    sound = Buffer.from(read());
    changed = Buffer.from(sound);
    what = change(changed, next);
    write(changed);
  };
  const image = await decant.open(new Uint8Array(disk), { inputFormat: 'raw' });
  const settings = { format, verify: true, onProgress, ...options } as Decant.ConvertOptions;
  const failure = await image.convert(output, settings).then(
    () => undefined,
    (thrown: Decant.DecantError) => thrown,
  );
  await image.close();
  if (failure && !['verify-differs', 'verify-unreadable'].includes(failure.code!)) throw failure;
  const found = (bytes: Buffer) => {
    writeFileSync(path, bytes);
    return READERS[format](path);
  };
  const [expected, other] = [found(sound!), found(changed!)];
  expect(expected?.subarray(0, disk.length).equals(disk), `${format}, unchanged`).toBe(true);
  const isOther = !other?.equals(expected!);
  if (failure?.code === 'verify-differs' && format === 'raw') {
    const first = disk.findIndex((byte, at) => byte !== changed![at]);
    expect(failure.fields.offset, what).toBe(first);
  }
  return { what, isReported: failure !== undefined, isOther };
}

for (const [place, { formats, make }] of Object.entries(PLACES)) {
  test(`random changes of ${place} are found`, async ({ folder }) => {
    test.setTimeout(20 * 60_000);
    const wrong: string[] = [];
    let [reported, accepted] = [0, 0];
    for (const [number, format] of formats.entries()) {
      for (let round = 0; round < CHANGES; round += 1) {
        const next = random(round * 100 + number);
        const disk = diskOf(next);
        const work = join(folder, `${format}-${round}`);
        mkdirSync(join(work, 'output'), { recursive: true });
        const made = make(join(work, 'output'), disk.length);
        try {
          const { what, isReported, isOther } = await attempt(format, made, disk, join(work, 'read'), next);
          const isRight = isReported === isOther || (isReported && !EXACT.includes(format));
          if (!isRight) wrong.push(`${format}, round ${round}, ${what}: ${isOther ? 'not found' : 'reported'}`);
          if (isReported) reported += 1;
          else accepted += 1;
        } finally {
          made.end?.();
        }
      }
    }
    expect(wrong).toEqual([]);
    expect(reported).toBeGreaterThan(0);
    console.log(`${place}: ${reported} reported, ${accepted} accepted`);
  });
}
