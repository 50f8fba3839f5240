// The table of docs/why-decant.md: what other programs do with the same images. Each row is made, and each program reads it.

import { execFileSync } from 'node:child_process';
import {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as decant from '../../dist/node.js';
import { qemuImg, qemuImgLuks } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';
import { random } from '../support/random.js';

const KIB = 2 ** 10;
const MIB = 2 ** 20;
const SIZE = 8 * MIB;
const PASSWORD = 'secret';

/** The disk of all images, unless a row changes it. It has data at its start and its end, and whole empty MiB. */
function diskBytes(): Buffer {
  const disk = Buffer.alloc(SIZE);
  const next = random(7);
  for (const [offset, length] of [
    [0, 64 * KIB],
    [3 * MIB, 2 * MIB],
    [SIZE - 64 * KIB, 64 * KIB],
  ] as const) {
    for (let at = offset; at < offset + length; at += 1) disk[at] = 1 + next() * 16;
  }
  return disk;
}

interface Image {
  path: string;
  /** The name of its format in qemu-img. */
  format: string;
  /** The bytes that the guest sees. */
  disk: Buffer;
  /** Files for Decant, which opens none by itself. */
  companions?: string[];
  password?: string;
}

/** Makes the disk an image by `qemu-img convert`. */
function converted(folder: string, format: string, ...options: string[]): Image {
  const [raw, path] = ['disk.raw', `disk.${format}`].map((name) => join(folder, name));
  const disk = diskBytes();
  writeFileSync(raw!, disk);
  const compress = options.includes('-c') ? ['-c'] : [];
  const named = options.filter((option) => option !== '-c').flatMap((option) => ['-o', option]);
  qemuImg('convert', '-f', 'raw', '-O', format, ...compress, ...named, raw!, path!);
  return { path: path!, format, disk };
}

function bytesAt(path: string, offset: number, length: number): Buffer {
  const file = openSync(path, 'r');
  const bytes = Buffer.alloc(length);
  readSync(file, bytes, 0, length, offset);
  closeSync(file);
  return bytes;
}

function change(path: string, offset: number, bytes: Uint8Array): void {
  const file = openSync(path, 'r+');
  writeSync(file, bytes, 0, bytes.length, offset);
  closeSync(file);
}

/** Cuts `bytes` off the end of the image. */
function cut(image: Image, bytes: number): Image {
  truncateSync(image.path, statSync(image.path).size - bytes);
  return image;
}

/** Changes the descriptor of a VMDK. */
function described(image: Image, replace: (text: string) => string): Image {
  writeFileSync(image.path, replace(readFileSync(image.path, 'latin1')), 'latin1');
  return image;
}

/** A VMDK with extents: `names` are their files. */
function extents(folder: string, subformat: string): Image {
  const image = converted(folder, 'vmdk', `subformat=${subformat}`);
  const names = readdirSync(folder).filter((name) => /^disk-.*\.vmdk$/.test(name));
  return { ...image, companions: names.map((name) => join(folder, name)) };
}

const dynamicVhd = (folder: string) => converted(folder, 'vpc', 'subformat=dynamic,force_size=on');

/** Writes both footers of a dynamic VHD again, with a valid checksum, after `edit` has changed them. */
function footers(image: Image, edit: (footer: Buffer) => void): Image {
  const footer = bytesAt(image.path, 0, 512);
  edit(footer);
  footer.writeUInt32BE(0, 64);
  footer.writeUInt32BE(~footer.reduce((sum, byte) => sum + byte, 0) >>> 0, 64);
  for (const offset of [0, statSync(image.path).size - 512]) change(image.path, offset, footer);
  return image;
}

/** Where the first block of a dynamic VHD is, by its table. */
const firstBlock = ({ path }: Image) =>
  bytesAt(path, Number(bytesAt(path, 512 + 16, 8).readBigUInt64BE()), 4).readUInt32BE() * 512;

/** Makes each block of a VDI larger by a sector before its data. */
function withExtraData(image: Image): Image {
  const file = readFileSync(image.path);
  const start = file.readUInt32LE(344);
  const blocks = [];
  for (let at = start; at < file.length; at += MIB) {
    blocks.push(Buffer.alloc(512, 0xee), file.subarray(at, at + MIB));
  }
  const head = Buffer.from(file.subarray(0, start));
  head.writeUInt32LE(512, 380);
  writeFileSync(image.path, Buffer.concat([head, ...blocks]));
  return image;
}

const ROWS: Record<string, (folder: string) => Image> = {
  'qcow2: plain': (folder) => converted(folder, 'qcow2'),
  'qcow2, compressed: zlib': (folder) => converted(folder, 'qcow2', '-c'),
  'qcow2, compressed: zstd': (folder) => converted(folder, 'qcow2', '-c', 'compression_type=zstd'),
  'qcow2 with a backing file': (folder) => {
    const { path: base, disk } = converted(folder, 'qcow2');
    const path = join(folder, 'top.qcow2');
    qemuImg('create', '-q', '-f', 'qcow2', '-b', 'disk.qcow2', '-F', 'qcow2', path);
    return { path, format: 'qcow2', disk, companions: [base] };
  },
  'qcow2 with a data file': (folder) => {
    const data = join(folder, 'data');
    return { ...converted(folder, 'qcow2', `data_file=${data}`), companions: [data] };
  },
  'qcow2 with extended L2 entries': (folder) => converted(folder, 'qcow2', 'extended_l2=on,cluster_size=128k'),
  'qcow2, cut off in a cluster': (folder) => cut(converted(folder, 'qcow2'), 32 * KIB),
  'qcow2, cut off in a compressed cluster': (folder) => {
    const image = converted(folder, 'qcow2', '-c');
    return cut(image, 20 * KIB);
  },
  'VMDK: monolithicSparse': (folder) => converted(folder, 'vmdk', 'subformat=monolithicSparse'),
  'VMDK: streamOptimized': (folder) => converted(folder, 'vmdk', 'subformat=streamOptimized'),
  'VMDK: a descriptor with extents': (folder) => extents(folder, 'monolithicFlat'),
  'VMDK with a ZERO extent': (folder) => {
    const image = extents(folder, 'monolithicFlat');
    const disk = Buffer.concat([Buffer.alloc(MIB), image.disk]);
    return described({ ...image, disk }, (text) => text.replace('RW 16384 FLAT', 'RW 2048 ZERO\nRW 16384 FLAT'));
  },
  'VMDK whose FLAT extent is too short': (folder) => {
    const image = extents(folder, 'monolithicFlat');
    truncateSync(image.companions![0]!, SIZE - 32 * KIB);
    return image;
  },
  'VMDK, streamOptimized, cut off': (folder) => cut(converted(folder, 'vmdk', 'subformat=streamOptimized'), 64 * KIB),
  'VHD, dynamic': dynamicVhd,
  'VHD, fixed, without a stated format': (folder) => converted(folder, 'vpc', 'subformat=fixed,force_size=on'),
  'VHD with sectors that the bitmap excludes': (folder) => {
    const image = dynamicVhd(folder);
    change(image.path, firstBlock(image), Uint8Array.of(0));
    image.disk.fill(0, 0, 8 * 512);
    return image;
  },
  'VHD of VirtualBox with a geometry smaller than its size': (folder) =>
    footers(dynamicVhd(folder), (footer) => {
      footer.write('vbox', 28, 'latin1');
      footer.writeUInt16BE(200, 56);
      footer.set([4, 17], 58);
    }),
  'VHD with a damaged copy of the footer': (folder) => {
    const image = dynamicVhd(folder);
    change(image.path, 300, Uint8Array.of(1));
    return image;
  },
  'VHD without the footer at its end': (folder) => cut(dynamicVhd(folder), 512),
  'VHD, cut off in a block': (folder) => cut(dynamicVhd(folder), 512 + 32 * KIB),
  'VHDX: dynamic': (folder) => converted(folder, 'vhdx', 'subformat=dynamic'),
  'VHDX with a damaged first region table': (folder) => {
    const image = converted(folder, 'vhdx', 'subformat=dynamic');
    change(image.path, 192 * KIB + 4, new Uint8Array(4));
    return image;
  },
  'VHDX, cut off': (folder) => cut(converted(folder, 'vhdx', 'subformat=dynamic'), MIB),
  VDI: (folder) => converted(folder, 'vdi'),
  'VDI with a zero block': (folder) => {
    const image = converted(folder, 'vdi');
    change(image.path, bytesAt(image.path, 340, 4).readUInt32LE() + 3 * 4, Uint8Array.of(0xfe, 0xff, 0xff, 0xff));
    image.disk.fill(0, 3 * MIB, 4 * MIB);
    return image;
  },
  'VDI with extra data in blocks': (folder) => withExtraData(converted(folder, 'vdi')),
  'VDI with a parent, without that file': (folder) => {
    const image = converted(folder, 'vdi');
    change(image.path, 76, Uint8Array.of(4));
    change(image.path, 424, new Uint8Array(16).fill(7));
    // Without the parent, nobody can know the disk: whatever is read is wrong.
    return { ...image, disk: Buffer.alloc(SIZE, 0xff) };
  },
  'VDI, cut off in a block': (folder) => cut(converted(folder, 'vdi'), 32 * KIB),
  QED: (folder) => converted(folder, 'qed'),
  'LUKS 1': (folder) => {
    const raw = join(folder, 'disk.raw');
    const path = join(folder, 'disk.luks');
    writeFileSync(raw, diskBytes());
    const secret = `secret,id=key,data=${PASSWORD}`;
    qemuImgLuks('convert', '--object', secret, '-f', 'raw', '-O', 'luks', '-o', 'key-secret=key', raw, path);
    return { path, format: 'luks', disk: diskBytes(), password: PASSWORD };
  },
};

/** Reads a disk by dissect.hypervisor, and writes it to standard output. Memory has a limit: some images never end. */
const DISSECT = `
import resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
from dissect.hypervisor.disk import qcow2, vdi, vhd, vhdx, vmdk
path, format = Path(sys.argv[1]), sys.argv[2]
def in_parts(stream):
    return [stream.read(4 << 20) for _ in range(3)]
if format == "vmdk":
    disk = vmdk.VMDK(path)
    parts = [disk.read_sectors(at, min(128, disk.sector_count - at)) for at in range(0, disk.sector_count, 128)]
elif format == "qcow2":
    data = path.parent / "data"
    disk = qcow2.QCow2(path, data_file=data.open("rb") if data.exists() else None)
    parts = in_parts(disk.open())
elif format == "vdi":
    disk = vdi.VDI(path.open("rb"))
    stream = disk.open()
    parts = [stream.read(1 << 20) for _ in range(disk.size >> 20)]
else:
    disk = {"vpc": vhd.VHD, "vhdx": vhdx.VHDX}[format](path.open("rb"))
    parts = in_parts(disk)
sys.stdout.buffer.write(b"".join(parts))
`;

/** Exits with 1 if OpenStack's format_inspector refuses the image, with 3 if it takes it for a raw disk. */
const INSPECT = `
import logging, sys
from oslo_utils.imageutils import format_inspector
logging.disable(logging.CRITICAL)
inspector = format_inspector.detect_file_format(sys.argv[1])
if str(inspector) in ("raw", "gpt"): sys.exit(3)
inspector.safety_check()
`;

const python = fileURLToPath(new URL('../../.cache/readers/bin/python3', import.meta.url));
const options = {
  maxBuffer: 1 << 26,
  timeout: 30_000,
  stdio: ['ignore', 'pipe', 'ignore'] as ['ignore', 'pipe', 'ignore'],
};

/** Returns what `read` makes of the image. Zeros may follow the disk: some formats round its size up. */
async function outcome({ disk }: Image, read: () => Buffer | Promise<Buffer>): Promise<string> {
  let found: Buffer;
  try {
    found = await read();
  } catch {
    return 'refuses';
  }
  const isRight = found.subarray(0, disk.length).equals(disk) && !found.subarray(disk.length).some(Boolean);
  return isRight ? 'reads' : '**wrong**';
}

/** By the heads of the columns. */
const PROGRAMS: Record<string, (image: Image, folder: string) => Promise<string>> = {
  Decant: (image, folder) =>
    outcome(image, async () => {
      const { path, companions = [], password } = image;
      const opened = await decant.open(path, { companions, ...(password === undefined ? {} : { password }) });
      try {
        await opened.convert(join(folder, 'decant.out'));
      } finally {
        await opened.close();
      }
      return readFileSync(join(folder, 'decant.out'));
    }),
  'qemu-img': (image, folder) =>
    outcome(image, () => {
      const output = join(folder, 'qemu.out');
      const object = ['--object', `secret,id=key,data=${PASSWORD}`];
      const source = ['--image-opts', `driver=luks,key-secret=key,file.filename=${image.path}`];
      const given = image.password === undefined ? [image.path] : [...object, ...source];
      execFileSync('qemu-img', ['convert', ...given, '-O', 'raw', output], options);
      return readFileSync(output);
    }),
  '7-Zip': (image) => outcome(image, () => execFileSync('7zz', ['x', '-so', image.path], options)),
  dissect: (image) => outcome(image, () => execFileSync(python, ['-c', DISSECT, image.path, image.format], options)),
  format_inspector: async ({ path }) => {
    try {
      execFileSync(python, ['-c', INSPECT, path], options);
      return 'accepts';
    } catch (error) {
      return (error as { status?: number }).status === 3 ? 'takes it for raw' : 'refuses';
    }
  },
};

const document = readFileSync(new URL('../../docs/why-decant.md', import.meta.url), 'utf8');
const cellsOf = (line: string) =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
const lines = document.split('\n').filter((line) => line.startsWith('|'));
const [HEADS = []] = lines.filter((line) => line.startsWith('| image |')).map(cellsOf);

test('each row of the table is made', () => {
  const table = document.slice(document.indexOf('| image |')).split('\n\n')[0]!;
  const rows = table
    .split('\n')
    .slice(2)
    .map((line) => cellsOf(line)[0]);
  expect(rows).toEqual(Object.keys(ROWS));
  expect(HEADS.slice(1)).toEqual(Object.keys(PROGRAMS));
});

for (const [name, make] of Object.entries(ROWS)) {
  test(name, FULL, async ({ folder }) => {
    const [, ...documented] = cellsOf(lines.find((line) => cellsOf(line)[0] === name) ?? '||');
    const found: string[] = [];
    for (const program of Object.values(PROGRAMS)) found.push(await program(make(folder), folder));
    expect(found).toEqual(documented);
  });
}
