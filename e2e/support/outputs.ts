// All outputs in their kinds, and the disk in those that other programs unpack first.

import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The formats of a disk, as qemu-img calls them. */
export type DiskFormat = 'raw' | 'qcow2' | 'vmdk' | 'vpc' | 'vhdx' | 'vdi';
export type OutputFormat = DiskFormat | 'raw.gz' | 'raw.zst' | 'raw.xz' | 'tar.gz' | 'ova';

export interface Output {
  format: OutputFormat;
  formatOptions?: Record<string, string>;
}

export const OUTPUTS = {
  raw: { format: 'raw' },
  'plain qcow2': { format: 'qcow2' },
  'compressed qcow2': { format: 'qcow2', formatOptions: { compress: 'on' } },
  'qcow2 of version 2': { format: 'qcow2', formatOptions: { compress: 'on', compat: '0.10' } },
  'qcow2 compressed by zstd': { format: 'qcow2', formatOptions: { compress: 'on', compression_type: 'zstd' } },
  'streamOptimized VMDK': { format: 'vmdk' },
  'fixed VHD': { format: 'vpc' },
  'dynamic VHD': { format: 'vpc', formatOptions: { subformat: 'dynamic' } },
  'dynamic VHDX': { format: 'vhdx' },
  'fixed VHDX': { format: 'vhdx', formatOptions: { subformat: 'fixed' } },
  'dynamic VDI': { format: 'vdi' },
  'fixed VDI': { format: 'vdi', formatOptions: { static: 'on' } },
  'raw.gz': { format: 'raw.gz' },
  'raw.zst': { format: 'raw.zst' },
  'raw.xz': { format: 'raw.xz' },
  'tar.gz': { format: 'tar.gz' },
  OVA: { format: 'ova' },
} as const satisfies Record<string, Output>;

export type OutputName = keyof typeof OUTPUTS;
export const OUTPUT_NAMES = Object.keys(OUTPUTS) as OutputName[];

/** How each format is unpacked that a virtual machine does not take as a disk. */
const UNPACKED: Partial<Record<OutputFormat, { program: string; format: DiskFormat }>> = {
  'raw.gz': { program: 'gzip', format: 'raw' },
  'raw.zst': { program: 'zstd', format: 'raw' },
  'raw.xz': { program: 'xz', format: 'raw' },
  'tar.gz': { program: 'tar', format: 'raw' },
  ova: { program: 'tar', format: 'vmdk' },
};

/** The file of the disk: `path` itself, or one beside it that holds what is inside. */
export function diskOf(path: string, outputFormat: OutputFormat): { path: string; format: DiskFormat } {
  const found = UNPACKED[outputFormat];
  if (found === undefined) return { path, format: outputFormat as DiskFormat };
  const { program, format } = found;
  const inside = `${path}.unpacked`;
  if (program === 'tar') {
    mkdirSync(inside);
    execFileSync('tar', ['-xSf', path, '-C', inside]);
    return { path: join(inside, readdirSync(inside).find((name) => name.endsWith(format))!), format };
  }
  const [input, output] = [openSync(path, 'r'), openSync(inside, 'w')];
  execFileSync(program, ['-dc'], { stdio: [input, output, 'inherit'] });
  closeSync(input);
  closeSync(output);
  return { path: inside, format };
}
