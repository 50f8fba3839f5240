// One disk becomes each output, and other programs, the judges, read that. foreign-readers.spec.ts has difficult disks.

import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import * as decant from '../../dist/node.js';
import { expect, type Question, type Reader, type Readers, test } from '../support/foreign-readers.js';
import { qemuImg } from '../support/images.js';
import { diskOf, OUTPUT_NAMES, OUTPUTS, type OutputFormat, type OutputName } from '../support/outputs.js';
import { random } from '../support/random.js';

const MIB = 2 ** 20;
/** Whole MiB, as Azure wants them; 7-Zip opens no VHDX with a part of 4 KiB at the end of its disk. */
const SIZE = 5 * MIB;

interface Made {
  /** The file. */
  path: string;
  /** The format of the disk in it. */
  format: OutputFormat;
  /** The expected disk. */
  disk: string;
  readers: Readers;
}

/** What a judge finds: the size of the disk, whether its bytes are right, or whether it calls the file sound. */
type Verdict = { size: number; same: boolean } | { size: number; safe: boolean } | { sound: boolean };
/** Right answers of all judges. */
const RIGHT = { size: SIZE, same: true, safe: true, sound: true };

type Judge = (output: Made) => Verdict | Promise<Verdict>;

/** Whether a program accepts its own format. */
const tested =
  (program: string) =>
  ({ path }: Made) => ({ sound: spawnSync(program, ['-tq', path]).status === 0 });

/** A package of Python that reads the disk. */
const reader =
  (name: Reader) =>
  async ({ path, format, disk, readers }: Made) => {
    const { read } = await readers({ image: path, format: format as Question['format'], disk });
    const { size, difference } = read[name]!;
    return { size, same: difference === null };
  };

const JUDGES = {
  'qemu-img': ({ path, format, disk }) => {
    const { status } = spawnSync('qemu-img', ['compare', '-q', '-f', format, '-F', 'raw', path, disk]);
    const { 'virtual-size': size } = JSON.parse(qemuImg('info', '-f', format, '--output=json', path));
    return { size, same: status === 0 };
  },
  '7-Zip': ({ path, disk }) => {
    const bytes = execFileSync('7zz', ['x', '-so', path], { maxBuffer: 1 << 28 });
    return { size: bytes.length, same: bytes.equals(readFileSync(disk)) };
  },
  'dissect.hypervisor': reader('dissect'),
  libvhdi: reader('libvhdi'),
  libvmdk: reader('libvmdk'),
  'oslo.utils': async ({ path, readers }) => {
    const { virtualSize, failures } = await readers({ image: path });
    return { size: virtualSize, safe: Object.keys(failures).length === 0 };
  },
  'zstd -t': tested('zstd'),
  'xz -t': tested('xz'),
} satisfies Record<string, Judge>;

type Name = keyof typeof JUDGES;

const QCOW2: Name[] = ['qemu-img', '7-Zip', 'dissect.hypervisor', 'oslo.utils'];
const VHDX: Name[] = ['qemu-img', '7-Zip', 'dissect.hypervisor', 'libvhdi', 'oslo.utils'];
const VDI: Name[] = ['qemu-img', '7-Zip', 'dissect.hypervisor', 'oslo.utils'];
const VMDK: Name[] = ['qemu-img', '7-Zip', 'dissect.hypervisor', 'libvmdk', 'oslo.utils'];

const JUDGES_OF: Record<OutputName, Name[]> = {
  raw: ['qemu-img'],
  'plain qcow2': QCOW2,
  'compressed qcow2': QCOW2,
  'qcow2 of version 2': QCOW2,
  // 7-Zip does not read it.
  'qcow2 compressed by zstd': QCOW2.filter((name) => name !== '7-Zip'),
  'streamOptimized VMDK': VMDK,
  // The inspector takes it for a raw disk.
  'fixed VHD': VHDX.filter((name) => name !== 'oslo.utils'),
  'dynamic VHD': VHDX,
  'dynamic VHDX': VHDX,
  'fixed VHDX': VHDX,
  'dynamic VDI': VDI,
  'fixed VDI': VDI,
  'raw.gz': ['7-Zip'],
  'raw.zst': ['7-Zip', 'zstd -t'],
  'raw.xz': ['7-Zip', 'xz -t'],
  // A disk of whole GiB: outputs.spec.ts reads it by tar.
  'tar.gz': [],
  OVA: VMDK,
};

/** Noise, text and zeros, in turn. */
function content(): Buffer {
  const next = random(SIZE);
  const kinds = [() => next() * 256, (at: number) => at >> 4, () => 0];
  return Buffer.from(Uint8Array.from({ length: SIZE }, (_, at) => kinds[Math.floor(at / 300_000) % 3]!(at)));
}

test('other programs read each output, and find a changed byte', async ({ folder, readers }) => {
  const disk = join(folder, 'disk.raw');
  const bytes = content();
  writeFileSync(disk, bytes);
  const other = join(folder, 'other.raw');
  bytes[1000]! ^= 1;
  writeFileSync(other, bytes);
  /** The judges that have found the changed byte. */
  const doubted = new Set<Name>();
  const image = await decant.open(disk, { format: 'raw' });
  for (const name of OUTPUT_NAMES.filter((name) => JUDGES_OF[name].length > 0)) {
    const path = join(folder, name.replaceAll(' ', '-'));
    const { format } = OUTPUTS[name];
    await image.convert(path, OUTPUTS[name]);
    // An OVA is judged by its disk.
    const output = { ...(format === 'ova' ? diskOf(path, format) : { path, format }), readers };
    for (const judge of JUDGES_OF[name]) {
      const verdict = await JUDGES[judge]({ ...output, disk });
      expect(RIGHT, `${judge} of a ${name}`).toMatchObject(verdict);
      if ('same' in verdict && !doubted.has(judge)) {
        doubted.add(judge);
        expect(await JUDGES[judge]({ ...output, disk: other }), judge).toMatchObject({ same: false });
      }
    }
  }
  await image.close();
});

for (const [format, judge] of [
  ['raw.zst', 'zstd -t'],
  ['raw.xz', 'xz -t'],
] as const) {
  test(`${judge} finds damage`, async ({ folder, readers }) => {
    const [disk, path] = [join(folder, 'disk.raw'), join(folder, 'out')];
    writeFileSync(disk, content());
    const image = await decant.open(disk, { format: 'raw' });
    await image.convert(path, { format });
    await image.close();
    const file = openSync(path, 'r+');
    writeSync(file, 'damage', 100_000);
    closeSync(file);
    expect(JUDGES[judge]({ path, format, disk, readers })).toEqual({ sound: false });
  });
}
