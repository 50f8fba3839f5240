// `decant info`, as `qemu-img info` of QEMU 7.2 prints it.

import { stat } from 'node:fs/promises';
import type { Info, Need, Snapshot } from '../types.js';

/** `stat` counts in these, whatever the file system's own blocks. */
const STAT_BLOCK = 512;

/** What the file takes on its disk. */
async function diskSize(path: string): Promise<number> {
  return (await stat(path)).blocks * STAT_BLOCK;
}

/** A size as QEMU's `size_to_str` has it: three digits, the next unit from 1000 on. */
function humanSize(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
  let [value, unit] = [bytes, 0];
  while (value >= 1000) {
    value /= 1024;
    unit += 1;
  }
  return `${Number(value.toPrecision(3))} ${units[unit]}`;
}

const has = (info: Info, feature: string) => info.features.includes(feature);

/** The format's own part, under QEMU's keys; only qcow2 has one. */
function specific(info: Info): Record<string, unknown> | undefined {
  if (info.format !== 'qcow2') return undefined;
  const version2 = info.version === 2;
  const { dataFile, encryption } = info;
  return {
    compat: version2 ? '0.10' : '1.1',
    'compression-type': info.compression,
    ...(version2 ? {} : { 'lazy-refcounts': has(info, 'lazy refcounts') }),
    'refcount-bits': info.refcountBits,
    ...(encryption ? { encrypt: encrypt(encryption) } : {}),
    ...(dataFile ? { 'data-file': dataFile.name, 'data-file-raw': dataFile.raw } : {}),
    ...(version2 ? {} : { corrupt: has(info, 'corrupt'), 'extended-l2': info.extendedL2 }),
  };
}

function encrypt({ format, luks }: NonNullable<Info['encryption']>): Record<string, unknown> {
  if (!luks) return { format };
  return {
    'ivgen-alg': luks.iv,
    ...(luks.ivHash === undefined ? {} : { 'ivgen-hash-alg': luks.ivHash }),
    'hash-alg': luks.hash,
    'cipher-alg': luks.cipher,
    uuid: luks.uuid,
    format,
    'cipher-mode': luks.mode,
    slots: luks.slots.map(({ active, iterations, keyOffset, stripes }) =>
      active ? { active, iters: iterations, 'key-offset': keyOffset, stripes } : { active, 'key-offset': keyOffset },
    ),
    'payload-offset': luks.payloadOffset,
    'master-key-iters': luks.masterKeyIterations,
  };
}

/** Nested values as QEMU prints them: a list by its indices, each level indented by four more. */
function lines(value: unknown, depth: number): string[] {
  const pad = ' '.repeat(4 * depth);
  const entries = Array.isArray(value)
    ? value.map((item, at): [string, unknown] => [`[${at}]`, item])
    : Object.entries(value as object).map(([key, item]): [string, unknown] => [key.replaceAll('-', ' '), item]);
  return entries.flatMap(([key, item]) =>
    typeof item === 'object' ? [`${pad}${key}:`, ...lines(item, depth + 1)] : [`${pad}${key}: ${item}`],
  );
}

/** The backing file's path seen from where the image is opened, as QEMU joins the two. */
function fullBackingName(path: string, backing: string): string {
  const isAbsolute = backing.startsWith('/') || /^[^/]*:/.test(backing);
  return isAbsolute ? backing : path.slice(0, path.lastIndexOf('/') + 1) + backing;
}

function snapshotJson(snapshot: Snapshot): Record<string, unknown> {
  const { vmClockNanoseconds: clock } = snapshot;
  return {
    ...(snapshot.icount === undefined ? {} : { icount: snapshot.icount }),
    'vm-clock-nsec': clock % 1e9,
    name: snapshot.name,
    'date-sec': snapshot.dateSeconds,
    'date-nsec': snapshot.dateNanoseconds,
    'vm-clock-sec': Math.floor(clock / 1e9),
    id: snapshot.id,
    'vm-state-size': snapshot.vmStateSize,
  };
}

export async function infoJson(info: Info, path: string): Promise<string> {
  const data = specific(info);
  const { backingFile } = info;
  const report = {
    ...(backingFile?.format === undefined ? {} : { 'backing-filename-format': backingFile.format }),
    ...(info.snapshots.length > 0 ? { snapshots: info.snapshots.map(snapshotJson) } : {}),
    'virtual-size': info.virtualSize,
    filename: path,
    ...(info.clusterSize === undefined ? {} : { 'cluster-size': info.clusterSize }),
    format: info.format,
    'actual-size': await diskSize(path),
    ...(data ? { 'format-specific': { type: info.format, data } } : {}),
    ...(backingFile
      ? { 'full-backing-filename': fullBackingName(path, backingFile.name), 'backing-filename': backingFile.name }
      : {}),
    ...(info.encryption ? { encrypted: true } : {}),
    'dirty-flag': has(info, 'dirty'),
    decant: {
      'file-size': info.fileSize,
      features: info.features,
      layers: info.layers.map(({ virtualSize, ...layer }) => ({ ...layer, 'virtual-size': virtualSize })),
      needs: info.needs,
      'unused-companions': info.unusedCompanions,
      safety: info.safety,
    },
  };
  return JSON.stringify(report, null, 4);
}

const pad = (value: number, digits = 2) => String(value).padStart(digits, '0');

/** Local time, as QEMU prints it. */
function localDate(seconds: number): string {
  const date = new Date(seconds * 1000);
  const day = `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
  return `${day} ${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
}

function clock(nanoseconds: number): string {
  const seconds = Math.floor(nanoseconds / 1e9);
  const time = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60].map((part) => pad(part));
  return `${time.join(':')}.${pad(Math.floor(nanoseconds / 1e6) % 1000, 3)}`;
}

function snapshotRow(
  columns: [id: string, tag: string, size: string, date: string, clock: string, icount: string],
): string {
  const [id, tag, size, date, time, icount] = columns;
  return `${id.padEnd(10)}${tag.padEnd(17)}${size.padStart(8)}${date.padStart(20)}${time.padStart(13)}${icount.padStart(11)}`;
}

function snapshotList(snapshots: Snapshot[]): string[] {
  if (snapshots.length === 0) return [];
  const rows = snapshots.map((snapshot) =>
    snapshotRow([
      snapshot.id,
      snapshot.name,
      humanSize(snapshot.vmStateSize),
      localDate(snapshot.dateSeconds),
      clock(snapshot.vmClockNanoseconds),
      String(snapshot.icount ?? ''),
    ]),
  );
  return ['Snapshot list:', snapshotRow(['ID', 'TAG', 'VM SIZE', 'DATE', 'VM CLOCK', 'ICOUNT']), ...rows];
}

function backingLines(info: Info, path: string): string[] {
  const { backingFile } = info;
  if (!backingFile) return [];
  const { name, format } = backingFile;
  const full = fullBackingName(path, name);
  return [
    `backing file: ${name}${full === name ? '' : ` (actual path: ${full})`}`,
    ...(format === undefined ? [] : [`backing file format: ${format}`]),
  ];
}

const needLine = (need: Need): string =>
  need.kind === 'password'
    ? `the password of ${need.of} (--password-file)`
    : `${need.name}, the ${need.role} of ${need.of} (--with)`;

/** What QEMU does not print, behind the rest. */
function ownLines({ layers, needs, unusedCompanions, safety }: Info): string[] {
  const section = (title: string, rows: string[]) =>
    rows.length > 0 ? [title, ...rows.map((row) => `    ${row}`)] : [];
  const chain = layers.map(({ name, format, guessed }) => `${name} (${format}${guessed ? ', guessed' : ''})`);
  return [
    ...section('Layers, as handed over:', chain.length > 1 ? chain : []),
    ...section('Needed for a conversion:', needs.map(needLine)),
    ...section('Not referred to:', unusedCompanions),
    ...section(
      'Worth a look before a conversion:',
      safety.map(({ message }) => message),
    ),
  ];
}

export async function infoText(info: Info, path: string): Promise<string> {
  const data = specific(info);
  return [
    `image: ${path}`,
    `file format: ${info.format}`,
    `virtual size: ${humanSize(info.virtualSize)} (${info.virtualSize} bytes)`,
    `disk size: ${humanSize(await diskSize(path))}`,
    ...(info.encryption ? ['encrypted: yes'] : []),
    ...(info.clusterSize === undefined ? [] : [`cluster_size: ${info.clusterSize}`]),
    ...(has(info, 'dirty') ? ['cleanly shut down: no'] : []),
    ...backingLines(info, path),
    ...snapshotList(info.snapshots),
    ...(data ? ['Format specific information:', ...lines(data, 1)] : []),
    ...ownLines(info),
  ].join('\n');
}
