// One disk becomes each output, and other programs, the judges, read that. foreign-readers.spec.ts has difficult disks.

import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as decant from '../../dist/node.js';
import { run } from '../support/command.js';
import { expect, type Question, type Reader, type Readers, test } from '../support/foreign-readers.js';
import { qemuImg } from '../support/images.js';
import { FULL } from '../support/node.js';
import { diskOf, OUTPUT_NAMES, OUTPUTS, type OutputFormat, type OutputName } from '../support/outputs.js';
import { random } from '../support/random.js';

/** What set-up builds of tools/judges. */
const pathOf = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url));
const RUST = pathOf('target/judges/release/judges');
const GOVMOMI = pathOf('target/judges/govmomi');
const XEN_ORCHESTRA = pathOf('tools/judges/xen-orchestra/read.mjs');

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
type Verdict = { size?: number; same: boolean } | { size: number; safe: boolean } | { sound: boolean };
/** Right answers of all judges. */
const RIGHT = { size: SIZE, same: true, safe: true, sound: true };

type Judge = (output: Made) => Verdict | Promise<Verdict>;

/** Whether a program accepts its own format. */
const tested =
  (program: string) =>
  ({ path }: Made) => ({ sound: spawnSync(program, ['-tq', path]).status === 0 });

/** A program that writes the disk to a file. */
const written =
  (program: string, ...args: string[]) =>
  ({ path, disk }: Made) => {
    const output = `${path}.read`;
    execFileSync(program, [...args, path, output]);
    const bytes = readFileSync(output);
    return { size: bytes.length, same: bytes.equals(readFileSync(disk)) };
  };

/** A package of Python that reads the disk. */
const reader =
  (name: Reader) =>
  async ({ path, format, disk, readers }: Made) => {
    const { read } = await readers({ image: path, format: format as Question['format'], disk });
    const { size, difference } = read[name]!;
    return { size, same: difference === null };
  };

/** Whether qemu-img finds the bytes of the disk, and only zeros after them. */
const isSame = ({ path, format, disk }: Pick<Made, 'path' | 'format' | 'disk'>) =>
  spawnSync('qemu-img', ['compare', '-q', '-f', format, '-F', 'raw', path, disk]).status === 0;

const JUDGES = {
  'qemu-img': (made) => {
    const { 'virtual-size': size } = JSON.parse(qemuImg('info', '-f', made.format, '--output=json', made.path));
    return { size, same: isSame(made) };
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

/** Judges that set-up installs for the full scope. They write the disk, or a VHD with it, to a file. */
const MORE_JUDGES = {
  'rust-img-vhdx': written(RUST, 'rust-img-vhdx'),
  'vhdx-core': written(RUST, 'vhdx-core'),
  zeekstd: written(RUST, 'zeekstd'),
  'vhd-lib': written(process.execPath, XEN_ORCHESTRA, 'vhd'),
  'xo-vmdk-to-vhd': (made) => {
    const vhd = `${made.path}.vhd`;
    execFileSync(process.execPath, [XEN_ORCHESTRA, 'vmdk', made.path, vhd]);
    // Zeros may follow the disk: the geometry of a VHD is rounded up.
    return { same: isSame({ ...made, path: vhd, format: 'vpc' }) };
  },
  'nbdkit --filter=xz': ({ path, disk }) => {
    const script = `qemu-img compare -q -f raw -F raw "$uri" '${disk}'`;
    const { status } = spawnSync('nbdkit', ['-r', '--filter=xz', 'file', path, '--run', script]);
    return { same: status === 0 };
  },
} satisfies Record<string, Judge>;

const ALL_JUDGES = { ...JUDGES, ...MORE_JUDGES };
type Name = keyof typeof ALL_JUDGES;

const QCOW2: Name[] = ['qemu-img', '7-Zip', 'dissect.hypervisor', 'oslo.utils'];
const VHD: Name[] = ['qemu-img', '7-Zip', 'dissect.hypervisor', 'libvhdi'];
const VHDX: Name[] = [...VHD, 'oslo.utils', 'rust-img-vhdx', 'vhdx-core'];
const VDI: Name[] = ['qemu-img', '7-Zip', 'dissect.hypervisor', 'oslo.utils'];
const VMDK: Name[] = ['qemu-img', '7-Zip', 'dissect.hypervisor', 'libvmdk', 'oslo.utils', 'xo-vmdk-to-vhd'];

const JUDGES_OF: Record<OutputName, Name[]> = {
  raw: ['qemu-img'],
  'plain qcow2': QCOW2,
  'compressed qcow2': QCOW2,
  'qcow2 of version 2': QCOW2,
  // 7-Zip does not read it.
  'qcow2 compressed by zstd': QCOW2.filter((name) => name !== '7-Zip'),
  'streamOptimized VMDK': VMDK,
  // The inspector takes it for a raw disk.
  'fixed VHD': VHD,
  'dynamic VHD': [...VHD, 'oslo.utils', 'vhd-lib'],
  'dynamic VHDX': VHDX,
  'fixed VHDX': VHDX,
  'dynamic VDI': VDI,
  'fixed VDI': VDI,
  'raw.gz': ['7-Zip'],
  'raw.zst': ['7-Zip', 'zstd -t', 'zeekstd'],
  'raw.xz': ['7-Zip', 'xz -t', 'nbdkit --filter=xz'],
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

for (const [chosen, tag] of [
  [JUDGES, []],
  [MORE_JUDGES, ['@full']],
] as const) {
  const judges: Partial<Record<Name, Judge>> = chosen;
  test(
    `other programs read each output: ${Object.keys(judges).join(', ')}`,
    { tag: [...tag] },
    async ({ folder, readers }) => {
      const disk = join(folder, 'disk.raw');
      const bytes = content();
      writeFileSync(disk, bytes);
      const other = join(folder, 'other.raw');
      bytes[1000]! ^= 1;
      writeFileSync(other, bytes);
      const asked = new Set<Judge>();
      const image = await decant.open(disk, { inputFormat: 'raw' });
      for (const name of OUTPUT_NAMES) {
        const of = JUDGES_OF[name].filter((judge) => judge in judges);
        if (of.length === 0) continue;
        const path = join(folder, name.replaceAll(' ', '-'));
        const { format } = OUTPUTS[name];
        await image.convert(path, OUTPUTS[name]);
        // An OVA is judged by its disk.
        const output = { ...(format === 'ova' ? diskOf(path, format) : { path, format }), readers };
        for (const judge of of) {
          const ask = judges[judge]!;
          const verdict = await ask({ ...output, disk });
          expect(RIGHT, `${judge} of a ${name}`).toMatchObject(verdict);
          // It finds a byte that differs.
          if ('same' in verdict && !asked.has(ask)) {
            expect(await ask({ ...output, disk: other }), judge).toMatchObject({ same: false });
          }
          asked.add(ask);
        }
      }
      await image.close();
      expect(asked.size).toBe(Object.keys(judges).length);
    },
  );
}

for (const [format, judge, details] of [
  ['raw.zst', 'zstd -t', {}],
  ['raw.xz', 'xz -t', FULL],
] as const) {
  test(`${judge} finds damage`, details, async ({ folder, readers }) => {
    const [disk, path] = [join(folder, 'disk.raw'), join(folder, 'out')];
    writeFileSync(disk, content());
    const image = await decant.open(disk, { inputFormat: 'raw' });
    await image.convert(path, { format });
    await image.close();
    const file = openSync(path, 'r+');
    writeSync(file, 'damage', 100_000);
    closeSync(file);
    expect(JUDGES[judge]({ path, format, disk, readers })).toEqual({ sound: false });
  });
}

// Without Go, set-up says that govmomi is not there.
if (existsSync(GOVMOMI)) {
  test('govmomi imports an OVA into its simulated vCenter', FULL, async ({ folder }) => {
    const [disk, path] = [join(folder, 'disk.raw'), join(folder, 'machine.ova')];
    writeFileSync(disk, content());
    const image = await decant.open(disk, { inputFormat: 'raw' });
    await image.convert(path, { format: 'ova', formatOptions: { cpus: '4', memory: '3G', firmware: 'efi' } });
    await image.close();
    const { stdout } = run(GOVMOMI, [path]);
    expect(JSON.parse(stdout)).toEqual({
      name: 'machine',
      hardware: 'vmx-13',
      cpus: 4,
      memoryMB: 3072,
      firmware: 'efi',
      disks: [SIZE],
    });
    const bytes = readFileSync(path);
    bytes.write('unknown!', bytes.indexOf('>lsilogic<') + 1);
    writeFileSync(path, bytes);
    expect(run(GOVMOMI, [path])).toMatchObject({ status: 1, stdout: '' });
  });
}
