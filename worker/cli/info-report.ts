// `decant info`, as `qemu-img info` of QEMU 7.2 prints it.

import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Fields } from '../errors/errors.js';
import { withoutSecrets } from '../errors/secrets.js';
import { shownText } from '../errors/shown.js';
import { humanSize } from '../errors/sizes.js';
import { isHttp } from '../http/address.js';
import type {
  AnyInfo,
  ContainerInfo,
  HeaderInfo,
  MachineHardware,
  Need,
  Reference,
  Snapshot,
} from '../public/types.js';
import { type Disks, diskRows, PASSWORD_FILE, WITH } from './failure-text.js';
import { isMachine } from './files-beside.js';
import { STANDARD_INPUT } from './standard-streams.js';
import { windowOf } from './unpacking.js';

/** The unit of `stat`, in bytes, on every file system. */
const STAT_BLOCK = 512;

/** Returns the bytes allocated for the file, with its other `parts`; undefined for standard input, pipes, URLs and virtual machines. */
async function diskSize(path: string, parts: readonly string[]): Promise<number | undefined> {
  if (path === STANDARD_INPUT || isHttp(path) || (await isMachine(path))) return undefined;
  const files = await Promise.all([path, ...parts].map((file) => stat(file)));
  return files[0]!.isFIFO() ? undefined : STAT_BLOCK * files.reduce((sum, { blocks }) => sum + blocks, 0);
}

/** Returns those of `parts`, files named as parts of the image's file, that it was read from: others are unused, or layers of it. */
function readParts({ unusedCompanions, layers }: AnyInfo, parts: readonly string[]): string[] {
  const others = [...unusedCompanions, ...layers.slice(1).map(({ name }) => name)].map((name) => basename(name));
  return parts.filter((part) => !others.includes(basename(part)));
}

const has = (info: HeaderInfo, feature: string) => info.features.includes(feature);

/** Returns the reference to the layer below. */
const below = ({ references }: HeaderInfo): Reference | undefined =>
  references.find(({ role }) => role === 'backing file' || role === 'parent');

/** Whether the reference has a file name, not only a disk ID. */
const hasName = ({ name, identity }: Reference): boolean => name !== identity?.id;

const isEmpty = (details: object) => Object.keys(details).length === 0;

/** Formats nested values like QEMU: lists by index, each level indented by four spaces. */
export function nestedLines(value: unknown, depth: number): string[] {
  const pad = ' '.repeat(4 * depth);
  const entries = Array.isArray(value)
    ? value.map((item, at): [string, unknown] => [`[${at}]`, item])
    : Object.entries(value as object).map(([key, item]): [string, unknown] => [key.replaceAll('-', ' '), item]);
  return entries.flatMap(([key, item]) =>
    typeof item === 'object'
      ? [`${pad}${key}:`, ...nestedLines(item, depth + 1)]
      : [`${pad}${key}: ${shownText(`${item}`)}`],
  );
}

/** Returns the path of the backing file relative to the current folder, joined with the image's path as QEMU does. */
function fullBackingName(path: string, backing: string): string {
  const isAbsolute = backing.startsWith('/') || /^[^/]*:/.test(backing);
  return isAbsolute ? backing : path.slice(0, path.lastIndexOf('/') + 1) + backing;
}

/** Whole seconds, and the `rest` in parts: `unit` of them make a second. */
function split(time: number, unit: number): { seconds: number; rest: number } {
  const all = Math.round(time * unit);
  return { seconds: Math.floor(all / unit), rest: all % unit };
}

function snapshotJson(snapshot: Snapshot): Record<string, unknown> {
  const [date, clock] = [split(snapshot.date, 1e6), split(snapshot.vmClock, 1e9)];
  return {
    ...(snapshot.icount === undefined ? {} : { icount: snapshot.icount }),
    'vm-clock-nsec': clock.rest,
    name: snapshot.name,
    'date-sec': date.seconds,
    'date-nsec': date.rest * 1000,
    'vm-clock-sec': clock.seconds,
    id: snapshot.id,
    'vm-state-size': snapshot.vmStateSize,
  };
}

/** Reports on an image. `parts` are the paths of files beside it that are named as other parts of its file. */
export async function infoJson(info: AnyInfo, path: string, parts: readonly string[] = []): Promise<string[]> {
  const { specific } = info;
  const backingFile = below(info);
  const report = {
    ...(backingFile?.format === undefined ? {} : { 'backing-filename-format': backingFile.format }),
    ...(info.snapshots.length > 0 ? { snapshots: info.snapshots.map(snapshotJson) } : {}),
    'virtual-size': info.virtualSize,
    filename: path,
    ...(info.clusterSize === undefined ? {} : { 'cluster-size': info.clusterSize }),
    format: info.format,
    'actual-size': await diskSize(path, readParts(info, parts)),
    ...(isEmpty(specific) ? {} : { 'format-specific': { type: info.format, data: specific } }),
    ...(backingFile && hasName(backingFile)
      ? { 'full-backing-filename': fullBackingName(path, backingFile.name), 'backing-filename': backingFile.name }
      : {}),
    ...(info.encryption ? { encrypted: true } : {}),
    'dirty-flag': has(info, 'dirty'),
    decant: {
      'file-size': info.fileSize,
      machine: info.machine,
      hardware: info.hardware,
      containers: info.containers,
      features: info.features,
      layers: info.layers.map(({ virtualSize, ...layer }) => ({ ...layer, 'virtual-size': virtualSize })),
      needs: info.needs,
      'unused-companions': info.unusedCompanions,
      safety: info.safety,
    },
  };
  return JSON.stringify(report, withoutSecret, 4).split('\n');
}

/** Replaces the texts of the image in a report, which may have addresses with a password or a signature. */
const withoutSecret = (key: string, value: unknown): unknown =>
  typeof value === 'string' && key !== 'filename' ? withoutSecrets(value) : value;

const pad = (value: number, digits = 2) => String(value).padStart(digits, '0');

/** Formats a date in local time, like QEMU. */
function localDate(seconds: number): string {
  const date = new Date(seconds * 1000);
  const day = `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
  return `${day} ${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
}

function clock(elapsed: number): string {
  const { seconds, rest } = split(elapsed, 1e9);
  const time = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60].map((part) => pad(part));
  return `${time.join(':')}.${pad(Math.floor(rest / 1e6), 3)}`;
}

function snapshotRow(
  columns: [id: string, tag: string, size: string, date: string, clock: string, icount: string],
): string {
  const [id, tag, size, date, time, icount] = columns;
  return `${id.padEnd(10)}${tag.padEnd(17)}${size.padStart(8)}${date.padStart(20)}${time.padStart(13)}${icount.padStart(11)}`;
}

function snapshotList(snapshots: readonly Snapshot[]): string[] {
  if (snapshots.length === 0) return [];
  const rows = snapshots.map((snapshot) =>
    snapshotRow([
      shownText(snapshot.id),
      shownText(snapshot.name),
      humanSize(snapshot.vmStateSize),
      localDate(snapshot.date),
      clock(snapshot.vmClock),
      String(snapshot.icount ?? ''),
    ]),
  );
  return ['Snapshot list:', snapshotRow(['ID', 'TAG', 'VM SIZE', 'DATE', 'VM CLOCK', 'ICOUNT']), ...rows];
}

function backingLines(info: HeaderInfo, path: string): string[] {
  const backingFile = below(info);
  if (!backingFile) return [];
  const { name, format } = backingFile;
  if (!hasName(backingFile)) return [`parent: ${shownText(name)}`];
  const full = fullBackingName(path, name);
  return [
    `backing file: ${shownText(name)}${full === name ? '' : ` (actual path: ${shownText(full)})`}`,
    ...(format === undefined ? [] : [`backing file format: ${shownText(format)}`]),
  ];
}

const needLine = (need: Need): string =>
  need.kind === 'password'
    ? `the password of ${shownText(need.of)} (${PASSWORD_FILE})`
    : `${shownText(need.name)}, the ${need.role} of ${shownText(need.of)} (${WITH})`;

/** The lines that `qemu-img info` does not print; they come last. */
function ownLines({ layers, needs, unusedCompanions, safety }: HeaderInfo): string[] {
  const section = (title: string, rows: string[]) =>
    rows.length > 0 ? [title, ...rows.map((row) => `    ${row}`)] : [];
  const chain = layers.map(
    ({ name, format, guessed }) => `${shownText(name)} (${format}${guessed ? ', guessed' : ''})`,
  );
  return [
    ...section('Layers:', chain.length > 1 ? chain : []),
    ...section('Needed for a conversion:', needs.map(needLine)),
    ...section('Unused files:', unusedCompanions.map(shownText)),
    ...section(
      'Warnings:',
      safety.map(({ message }) => message),
    ),
  ];
}

const containerName = ({ name, member }: ContainerInfo): string =>
  member === undefined ? name : `${name} ('${shownText(member)}')`;

const machineLine = (machine: string | undefined): string[] =>
  machine === undefined ? [] : [`machine: ${shownText(machine)}`];

/** The line about the hardware of the machine; none without a configuration that states some. */
function hardwareLine({ cpus, memory, firmware, os, controller, network }: MachineHardware = {}): string[] {
  const parts = [
    cpus === undefined ? undefined : `${cpus} CPU${cpus === 1 ? '' : 's'}`,
    memory === undefined ? undefined : `${humanSize(memory)} of memory`,
    firmware,
    os,
    controller,
    network?.length === 0 ? 'no network' : network?.join(', '),
  ].filter((part) => part !== undefined);
  return parts.length === 0 ? [] : [`hardware: ${parts.join(', ')}`];
}

export async function infoText(info: AnyInfo, path: string, parts: readonly string[] = []): Promise<string[]> {
  const { specific, virtualSize } = info;
  const size = await diskSize(path, readParts(info, parts));
  return [
    `image: ${shownText(path)}`,
    ...machineLine(info.machine),
    `file format: ${info.format}`,
    ...(info.containers.length > 0 ? [`packed in: ${info.containers.map(containerName).join(', ')}`] : []),
    `virtual size: ${virtualSize === undefined ? 'unknown until its end is read' : `${humanSize(virtualSize)} (${virtualSize} bytes)`}`,
    ...(size === undefined ? [] : [`disk size: ${humanSize(size)}`]),
    ...(info.encryption ? ['encrypted: yes'] : []),
    ...(info.clusterSize === undefined ? [] : [`cluster_size: ${info.clusterSize}`]),
    ...(has(info, 'dirty') ? ['cleanly shut down: no'] : []),
    ...backingLines(info, path),
    ...snapshotList(info.snapshots),
    ...(isEmpty(specific) ? [] : ['Format specific information:', ...nestedLines(specific, 1)]),
    ...hardwareLine(info.hardware),
    ...ownLines(info),
  ];
}

/** Reports the `disks` of an archive if none was chosen. */
export async function disksJson(
  { disks, machine, snapshots }: Disks,
  path: string,
  parts: readonly string[] = [],
): Promise<string[]> {
  const report = {
    filename: path,
    'actual-size': await diskSize(path, parts),
    ...(snapshots ? { snapshots: snapshots.map(snapshotJson) } : {}),
    decant: { machine, disks },
  };
  return JSON.stringify(report, null, 4).split('\n');
}

export async function disksText(
  { disks, container, machine, snapshots = [] }: Disks,
  path: string,
  parts: readonly string[] = [],
): Promise<string[]> {
  const size = await diskSize(path, parts);
  return [
    `image: ${shownText(path)}`,
    ...machineLine(machine),
    ...(size === undefined ? [] : [`disk size: ${humanSize(size)}`]),
    'Several disks; one is described with its option:',
    ...diskRows({ disks, container }).map((row) => `    ${row}`),
    ...snapshotList([...snapshots]),
  ];
}

/** The parts of a packed file: `fields` of the error that says so. */
const packedParts = ({ format, containers = [], machine, size, ...fields }: Fields) => ({
  format: String(format),
  unpacked: typeof size === 'number' ? size : undefined,
  containers,
  machine: typeof machine === 'string' ? machine : undefined,
  window: windowOf(fields),
});

/** Reports on a file that must be unpacked before its image can be read, by the fields of the error that says so. */
export async function packedJson(fields: Fields, path: string, parts: readonly string[] = []): Promise<string[]> {
  const { format, containers, machine, unpacked, window } = packedParts(fields);
  const decant = { packed: true, machine, containers, unpackedSize: unpacked, window };
  const report = { filename: path, format, 'actual-size': await diskSize(path, parts), decant };
  return JSON.stringify(report, null, 4).split('\n');
}

export async function packedText(fields: Fields, path: string, parts: readonly string[] = []): Promise<string[]> {
  const { format, containers, machine, unpacked, window } = packedParts(fields);
  const size = await diskSize(path, parts);
  return [
    `image: ${shownText(path)}`,
    ...machineLine(machine),
    `file format: ${format}`,
    ...(containers.length > 0 ? [`packed in: ${containers.map(containerName).join(', ')}`] : []),
    'virtual size: unknown until it is unpacked, which convert does',
    ...(unpacked === undefined ? [] : [`unpacked size: ${humanSize(unpacked)}`]),
    ...(window === undefined ? [] : [`memory to unpack: ${humanSize(window)}`]),
    ...(size === undefined ? [] : [`disk size: ${humanSize(size)}`]),
  ];
}
