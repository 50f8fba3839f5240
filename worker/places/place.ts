// The parts of an entry of the registry: the formats that places accept, and the pieces of their commands.

import { OUTPUTS } from '../public/registry.js';
import type { MadeDisk, NextCommand, NextStep, Place, PlaceFormat } from '../public/types.places.js';
import type { Word } from './words.js';

/** A converted disk, with its names for commands. */
export interface NamedDisk extends MadeDisk {
  /** The path of the file. No program takes it for an option or a server. */
  path: string;
  /** A name for an image or a disk: lower-case letters, digits and dashes. No other disk has it. */
  name: string;
  /** A name for the file on a server. */
  object: string;
  /** The controller of the disk, if it is known. */
  controller?: string | undefined;
}

/** The machine that gets the disks. Undefined is what is not known. */
export interface Machine {
  /** A name as {@link NamedDisk.name}. */
  name: string;
  cpus: number | undefined;
  /** The memory in MiB. */
  memory: number | undefined;
  firmware: 'bios' | 'efi' | undefined;
  /** The operating system, as in `MachineHardware`. */
  os: string | undefined;
  /** The kind of system, if there are drivers for it that matter. */
  system: 'windows' | 'linux' | undefined;
  /** The disks, the one that boots first. */
  disks: readonly [NamedDisk, ...NamedDisk[]];
}

/** Returns the value of a placeholder that the person has given, or else the placeholder. */
export type Own = (placeholder: string) => Word;

/** A place, and what comes after a conversion for it. */
export interface KnownPlace extends Place {
  next?: {
    /** By default `sh`. */
    shell?: NextStep['shell'];
    commands(machine: Machine, own: Own): NextCommand[];
  };
}

export const MIB = 2 ** 20;
export const GIB = 2 ** 30;
/** The memory of a machine for which it is not known, in MiB. */
export const USUAL_MEMORY = 2048;

/** Returns the extension of files in `format`, without the dot. */
export const extensionOf = (format: string): string =>
  OUTPUTS.find(({ name }) => name === format)?.extensions[0]?.slice(1) ?? format;

/** Returns the name of `format` in the interfaces of clouds: qcow2 is QCOW2, vpc is VHD. */
export const nameInCloud = (format: string): string => extensionOf(format).toUpperCase();

const plain = (name: string): PlaceFormat => ({ name, required: {}, recommended: {} });

export const RAW = plain('raw');
export const RAW_GZ = plain('raw.gz');
export const RAW_XZ = plain('raw.xz');
export const RAW_ZST = plain('raw.zst');
export const TAR_GZ = plain('tar.gz');
export const VHDX = plain('vhdx');
export const VDI = plain('vdi');
export const OVA = plain('ova');
export const QCOW2: PlaceFormat = { name: 'qcow2', required: {}, recommended: { compress: 'on' } };
export const VMDK: PlaceFormat = plain('vmdk');
export const FIXED_VHD: PlaceFormat = { name: 'vpc', required: { subformat: 'fixed' }, recommended: {} };
export const DYNAMIC_VHD: PlaceFormat = { name: 'vpc', required: { subformat: 'dynamic' }, recommended: {} };

/** The name of the machine in the OVA `disk`: several OVAs are several machines. */
export const machineIn = ({ name, disks }: Machine, disk: NamedDisk): string => (disks.length === 1 ? name : disk.name);

/** The placeholder for the disk at `at`, if each has its own. */
export const numbered = (placeholder: string, at: number): string =>
  at === 0 ? placeholder : `${placeholder}_${at + 1}`;

/**
 * The bus for a disk on machines of QEMU: one that the system has drivers for, which is virtio for Linux, and what its machine has
 * for Windows. `undefined` if the system is not known.
 */
export function busOf({ system, firmware }: Machine, { controller }: NamedDisk): 'virtio' | 'ide' | 'sata' | undefined {
  if (system === 'windows') return controller === 'ide' && firmware !== 'efi' ? 'ide' : 'sata';
  return system === 'linux' ? 'virtio' : undefined;
}
