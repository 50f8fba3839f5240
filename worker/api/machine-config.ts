// The configurations of virtual machines: what they say of the disks. What is not understood is ignored.

import type { Capacity } from '../worker-side/coordinator-methods.js';
import { ENCRYPTED_FILES, ENCRYPTED_MACHINE, ENCRYPTED_PART, isEncryptionKey, VMX_KEY } from './encryption-marks.js';

/** A machine, as its configuration describes it. */
export interface Machine {
  name?: string;
  /** The paths of the files of its disks, in their current state. */
  disks: string[];
  /** How many pieces the files at these paths have, if they are stored in pieces. */
  pieces?: Map<string, number>;
  /** The capacities that are stated for the disks in the files at these paths. */
  capacities?: Map<string, Capacity>;
  snapshots: MachineSnapshot[];
  /** The paths of the files that are encrypted, of disks in any state. */
  encrypted?: Set<string>;
  /** Whether the configuration has an encrypted part, which may name the disks. */
  isEncrypted?: boolean;
}

export interface MachineSnapshot {
  id: string;
  name: string;
  /** When it was taken, in seconds since 1970; 0 if that is unknown. */
  dateSeconds: number;
  /** The paths of the files of the disks, in that state. */
  disks: string[];
}

/** The most disks of a machine that are read, and the most snapshots. */
const MOST = 256;

/** Reads the configuration `text` in `format`. */
export function machineOf(text: string, format: 'vmx' | 'vbox' | 'ovf'): Machine {
  const { name, disks, pieces, capacities, snapshots = [], encrypted, isEncrypted } = READERS[format](text);
  const named = {
    ...(name ? { name } : {}),
    ...(pieces?.size ? { pieces } : {}),
    ...(capacities?.size ? { capacities } : {}),
    ...(encrypted?.size ? { encrypted } : {}),
    ...(isEncrypted ? { isEncrypted } : {}),
  };
  return { ...named, disks: distinct(disks), snapshots: snapshots.slice(0, MOST) };
}

/** A file counts once. */
const distinct = (disks: string[]): string[] => [...new Set(disks)].slice(0, MOST);

interface Found {
  name: string | undefined;
  disks: string[];
  pieces?: Map<string, number>;
  capacities?: Map<string, Capacity>;
  snapshots?: MachineSnapshot[];
  encrypted?: Set<string>;
  isEncrypted?: boolean;
}

const READERS = { vmx: ofVmx, vbox: ofVbox, ovf: ofOvf };

/** The devices of a VMX that may be disks. */
const BUS = /^(?:scsi|sata|ide|nvme)\d+:\d+$/;

/** VMware: lines of the form `scsi0:0.fileName = "disk.vmdk"`. */
function valuesOf(text: string): Map<string, string> {
  const values = new Map<string, string>();
  for (const line of text.split(/[\r\n]+/)) {
    const equals = line.indexOf('=');
    if (equals < 0) continue;
    const value = line.slice(equals + 1).trim();
    values.set(line.slice(0, equals).trim().toLowerCase(), value.replace(/^"|"$/g, ''));
  }
  return values;
}

function ofVmx(text: string): Found {
  const values = valuesOf(text);
  const disks = [...values].flatMap(([key, path]) => {
    const device = key.replace(/\.filename$/, '');
    const isThere = values.get(`${device}.present`)?.toLowerCase() !== 'false';
    const isCd = values.get(`${device}.devicetype`)?.includes('cdrom');
    return device !== key && BUS.test(device) && isThere && !isCd ? [path] : [];
  });
  return { name: values.get('displayname'), disks, isEncrypted: values.has(VMX_KEY) };
}

/** VMware: the snapshots that a VMSD lists, each with the files that its disks had. */
export function snapshotsOf(text: string): MachineSnapshot[] {
  const values = valuesOf(text);
  const snapshots: MachineSnapshot[] = [];
  for (let at = 0; at < MOST; at++) {
    const id = values.get(`snapshot${at}.uid`);
    if (id === undefined) continue;
    const disks = Array.from({ length: MOST }, (_, disk) => values.get(`snapshot${at}.disk${disk}.filename`) ?? []);
    const time = (half: string) => Number(values.get(`snapshot${at}.createtime${half}`));
    snapshots.push({
      id,
      name: values.get(`snapshot${at}.displayname`) ?? '',
      dateSeconds: secondsOf((time('high') * 2 ** 32 + (time('low') >>> 0)) / 1e6),
      disks: distinct(disks.flat()),
    });
  }
  return snapshots;
}

const secondsOf = (seconds: number): number => (Number.isFinite(seconds) && seconds > 0 ? Math.floor(seconds) : 0);

/** VirtualBox: each `Image` of an attached hard disk states the `uuid` of a `HardDisk`, whose `location` is the path. */
function ofVbox(text: string): Found {
  const [paths, disks, snapshots] = [new Map<string, string>(), [] as string[], [] as MachineSnapshot[]];
  const encrypted = new Set<string>();
  /** The hard disks around the tag, each in its parent. */
  const parents: { path: string | undefined; isEncrypted: boolean }[] = [];
  let isEncrypted = false;
  const endDisk = () => {
    const ended = parents.pop();
    if (ended?.isEncrypted && ended.path !== undefined) encrypted.add(ended.path);
  };
  let name: string | undefined;
  let isDisk = false;
  /** The snapshots around the tag, innermost last: they have disks of their own. */
  const around: MachineSnapshot[] = [];
  for (const { tag, attributes } of tagsOf(text)) {
    if (tag === 'Machine') name = attributes.get('name');
    if (tag === ENCRYPTED_MACHINE) isEncrypted = true;
    if (tag === 'HardDisk') {
      const path = attributes.get('location');
      addPath(paths, attributes.get('uuid'), path);
      parents.push({ path, isEncrypted: parents.at(-1)?.isEncrypted ?? false });
    }
    const parent = parents.at(-1);
    if (tag === 'Property' && parent && isEncryptionKey(attributes.get('name'), attributes.get('value')))
      parent.isEncrypted = true;
    if (tag === '/HardDisk') endDisk();
    if (tag === 'Snapshot') {
      const dateSeconds = secondsOf(Date.parse(attributes.get('timeStamp') ?? '') / 1000);
      const id = attributes.get('uuid') ?? '';
      const snapshot = { id, name: attributes.get('name') ?? '', dateSeconds, disks: [] };
      around.push(snapshot);
      snapshots.push(snapshot);
    }
    if (tag === '/Snapshot') around.pop();
    if (tag === 'AttachedDevice') isDisk = attributes.get('type') === 'HardDisk';
    if (tag === 'Image' && isDisk) (around.at(-1)?.disks ?? disks).push(attributes.get('uuid') ?? '');
  }
  const withPaths = snapshots.map((snapshot) => ({ ...snapshot, disks: distinct(pathsOf(snapshot.disks, paths)) }));
  // The text may be cut off.
  while (parents.length > 0) endDisk();
  return { name, disks: pathsOf(disks, paths), snapshots: withPaths, encrypted, isEncrypted };
}

/** OVF (DSP0243): each `Disk` states by `fileRef` the `id` of a `File`, whose `href` is the path, without the number of a piece. */
function ofOvf(text: string): Found {
  const [paths, pieces, disks] = [new Map<string, string>(), new Map<string, number>(), [] as string[]];
  const marks: string[] = [];
  let isEncrypted = false;
  const byFile = new Map<string, Capacity>();
  let id: string | undefined;
  let name: string | undefined;
  for (const { tag, attributes, after } of tagsOf(text)) {
    // Version 0.9 has the machine as content of that type.
    if (tag === 'VirtualSystem' || tag === 'Content') id ??= attributes.get('id');
    if (tag === 'Name' && id !== undefined) name ??= contentAt(text, after);
    if (tag === 'File') {
      addPath(paths, attributes.get('id'), attributes.get('href'));
      const count = Math.ceil(Number(attributes.get('size')) / Number(attributes.get('chunkSize')));
      if (count > 0 && Number.isFinite(count)) pieces.set(attributes.get('href') ?? '', count);
    }
    if (tag === 'Disk') {
      const file = attributes.get('fileRef') ?? '';
      const capacity = capacityOf(attributes.get('capacity'), attributes.get('capacityAllocationUnits'));
      disks.push(file);
      if (capacity) byFile.set(file, capacity);
    }
    if (ENCRYPTED_FILES.includes(tag)) marks.push((attributes.get('URI') ?? '').replace(/^#/, ''));
    if (tag === ENCRYPTED_PART) isEncrypted = true;
  }
  const capacities = new Map(
    [...byFile].flatMap(([file, capacity]) => pathsOf([file], paths).map((path) => [path, capacity])),
  );
  // A mark is the path of a file, or its ID.
  const encrypted = new Set([...marks, ...pathsOf(marks, paths)]);
  return { name: name ?? id, disks: pathsOf(disks, paths), pieces, capacities, encrypted, isEncrypted };
}

/** Units of OVF 0.9. */
const OLD_UNITS: Record<string, number> = { bytes: 1, kilobytes: 2 ** 10, megabytes: 2 ** 20, gigabytes: 2 ** 30 };

/** The capacity `value` in `units`, such as `byte * 2^30` (DSP0004); undefined if that is not a number of bytes. */
function capacityOf(value = '', units = 'byte'): Capacity | undefined {
  const name = units.trim().toLowerCase();
  const factors = /^byte(?:\s*\*\s*\d+(?:\s*\^\s*\d+)?)*$/.test(name) ? name.split('*').slice(1) : undefined;
  const unit = factors?.reduce((product, factor) => {
    const [base, power = 1] = factor.split('^').map(Number);
    return product * base! ** power;
  }, 1);
  const bytes = name === '' ? 1 : (unit ?? OLD_UNITS[name]);
  if (!/^\s*\d+\s*$/.test(value) || bytes === undefined) return undefined;
  const size = Number(value) * bytes;
  return Number.isSafeInteger(size) ? { size, unit: bytes } : undefined;
}

/** The text of an element from `start`, up to the next tag; undefined if it is empty. */
function contentAt(text: string, start: number): string | undefined {
  const end = text.indexOf('<', start);
  return end < 0 ? undefined : unescaped(text.slice(start, end).trim()) || undefined;
}

function addPath(paths: Map<string, string>, id: string | undefined, path: string | undefined): void {
  if (id !== undefined && path !== undefined) paths.set(id, path);
}

const pathsOf = (ids: string[], paths: Map<string, string>): string[] => ids.flatMap((id) => paths.get(id) ?? []);

interface Tag {
  /** Its name without a prefix; of an end tag, after a slash. */
  tag: string;
  attributes: Map<string, string>;
  /** Where it ends in the text. */
  after: number;
}

// No part of a hostile text may be matched in many ways: that would take forever.
/** Comments and the like, up to the end of the text if they are cut off, and tags. */
const MARKUP =
  /<!--.*?(?:-->|$)|<!\[CDATA\[.*?(?:\]\]>|$)|<(\/?[^\s<>"'!?/]+)(?=[\s/>])((?:[^<>"']|"[^"]*"|'[^']*')*)>/gs;
const ATTRIBUTE = /([^\s=:"']{1,64})\s*=\s*(?:"([^"]*)"|'([^']*)')/g;

function* tagsOf(text: string): Generator<Tag> {
  for (const match of text.matchAll(MARKUP)) {
    const [whole, name, rest = ''] = match;
    if (name === undefined) continue;
    const after = match.index + whole.length;
    const attributes = new Map<string, string>();
    for (const [, key, double, single] of rest.matchAll(ATTRIBUTE)) attributes.set(key!, unescaped(double ?? single!));
    yield { tag: name.replace(/^(\/?).*:/, '$1'), attributes, after };
    // An element without content has no end tag.
    if (rest.endsWith('/')) yield { tag: `/${name}`, attributes, after };
  }
}

const CHARACTERS: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

const unescaped = (text: string): string =>
  text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{1,9}));/gi, (all, decimal?: string, hex?: string, name = '') => {
    const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
    return CHARACTERS[name] ?? (code <= 0x10ffff ? String.fromCodePoint(code) : all);
  });
