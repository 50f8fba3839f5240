// `decant info --report`: describes an image for a bug report, without private data. A text may come from an image, a file name
// or a server, so a report has only words from the lists below. It leaves out numbers that identify a disk.

import { readFile } from 'node:fs/promises';
import { availableParallelism, totalmem } from 'node:os';
import type { DecantError, Fields } from '../errors/errors.js';
import { humanSize } from '../errors/sizes.js';
import { CONTAINERS, FORMATS } from '../public/registry.js';
import type { AnyInfo, CheckResult, DiskMember, Layer } from '../public/types.js';

/** Types of VMDKs and of their extents, and algorithms of LUKS. */
const NAMES = [
  ...['monolithicSparse', 'monolithicFlat', 'twoGbMaxExtentSparse', 'twoGbMaxExtentFlat', 'streamOptimized', 'custom'],
  ...['vmfs', 'vmfsSparse', 'seSparse', 'vmfsThin', 'vmfsEagerZeroedThick', 'vmfsPreallocated', 'fullDevice'],
  ...['partitionedDevice', 'vmfsRaw', 'vmfsRDM', 'vmfsPassthroughRawDeviceMap', 'vsanSparse'],
  ...['SPARSE', 'FLAT', 'ZERO', 'VMFS', 'VMFSSPARSE', 'SESPARSE', 'VSANSPARSE', 'VMFSRDM', 'VMFSRAW'],
  ...['dynamic', 'fixed', 'differencing', '0.10', '1.1', 'zlib', 'luks', 'aes'],
  ...['aes-128', 'aes-192', 'aes-256', 'serpent-128', 'serpent-192', 'serpent-256', 'twofish-128', 'twofish-192'],
  ...['twofish-256', 'cast5-128', 'camellia-256', 'xts', 'cbc', 'ecb', 'ctr', 'plain', 'plain64', 'plain64be', 'essiv'],
  ...['sha1', 'sha224', 'sha256', 'sha384', 'sha512', 'ripemd160', 'whirlpool', 'blake2b-512', 'blake2s-256', 'sm3'],
];
const WORDS = new Set([
  '',
  ...FORMATS.flatMap(({ name, aliases }) => [name, ...aliases]),
  ...CONTAINERS.map(({ name }) => name),
  ...NAMES,
]);

/** Stands for a text that is not in the lists. */
const OTHER = '(another)';

const word = (text: string): string => (WORDS.has(text) ? text : OTHER);

/** Properties of a format, in `info.specific`, that are the same for many images. */
const SPECIFIC = new Set([
  ...['compat', 'compression-type', 'lazy-refcounts', 'refcount-bits', 'encrypt', 'data-file-raw', 'corrupt'],
  ...['extended-l2', 'create-type', 'extents', 'virtual-size', 'cluster-size', 'compressed', 'format', 'subformat'],
  ...['logical-sector-size', 'physical-sector-size', 'version', 'ivgen-alg', 'ivgen-hash-alg', 'hash-alg'],
  ...['cipher-alg', 'cipher-mode', 'slots', 'active', 'iters', 'key-offset', 'stripes', 'payload-offset'],
  'master-key-iters',
]);

/** Fields of errors and notices whose texts are words. */
const WORD_FIELDS = ['format', 'otherFormat', 'container'];
/** Fields of errors and notices whose texts are written by Decant. */
const OWN_FIELDS = ['damage', 'role', 'by'];

/** The most rows of a list. */
const LISTED = 32;

/** Returns the first of `rows`, and how many more there are. */
const first = (rows: readonly unknown[]): unknown[] =>
  rows.length > LISTED ? [...rows.slice(0, LISTED), { more: rows.length - LISTED }] : [...rows];

/** Returns `value`, a part of `info.specific`, without what is private. */
function reduced(value: unknown): unknown {
  if (typeof value === 'string') return word(value);
  if (Array.isArray(value)) return first(value.map(reduced));
  if (typeof value !== 'object' || value === null) return value;
  const known = Object.entries(value).filter(([key]) => SPECIFIC.has(key));
  return Object.fromEntries(known.map(([key, item]) => [key, reduced(item)]));
}

/** Returns the numbers in `fields`, and the texts that are words. */
function fieldsOf(fields: Fields): Record<string, unknown> {
  const shown = Object.entries(fields).flatMap(([key, value]): [string, unknown][] => {
    if (typeof value === 'number' || typeof value === 'boolean' || OWN_FIELDS.includes(key)) return [[key, value]];
    return typeof value === 'string' && WORD_FIELDS.includes(key) ? [[key, word(value)]] : [];
  });
  return Object.fromEntries(shown);
}

/** The names of containers, the outermost first. */
const packedIn = (containers: readonly { name: string }[] = []): string | undefined =>
  containers.length === 0 ? undefined : containers.map(({ name }) => name).join(', ');

const layerRow = ({ format, guessed, virtualSize, encryption }: Layer) => ({
  format,
  ...(guessed && { guessed }),
  virtualSize,
  encryption,
});

/** The known facts about what was opened. */
export interface Subject {
  /** Where the image comes from: `file`, `device`, `folder`, `server` or `standard input`. */
  source: string;
  info?: AnyInfo;
  /** Whether it is read in order. */
  streamed?: boolean;
  check?: CheckResult;
  /** The disks to choose from, if none was chosen. */
  disks?: readonly DiskMember[];
  /** The fields of the error that says so, if the image must be unpacked. */
  packed?: Fields;
  failure?: DecantError;
}

/** The properties of an image. */
const imageOf = ({ source, info, streamed, check, disks, packed, failure }: Subject) => ({
  source,
  format: info?.format,
  version: info?.version,
  packedIn: packedIn(info?.containers ?? packed?.containers),
  streamed: streamed || undefined,
  virtualSize: info?.virtualSize,
  fileSize: info?.fileSize,
  clusterSize: info?.clusterSize,
  compression: info?.compression,
  features: info?.features.join(', ') || undefined,
  encryption: info?.encryption?.format,
  specific: info && reduced(info.specific),
  snapshots: info?.snapshots.length || undefined,
  layers: info && first(info.layers.map(layerRow)),
  references: info && first(info.references.map(({ role, format }) => ({ role, format: format && word(format) }))),
  needs: info && first(info.needs.map((need) => (need.kind === 'password' ? 'password' : need.role))),
  unusedFiles: info?.unusedCompanions.length || undefined,
  hardware: info?.hardware,
  findings:
    check && first(check.findings.map(({ code, severity, fields }) => ({ code, severity, ...fieldsOf(fields) }))),
  disks: disks && first(disks.map(({ size, format, missing }) => ({ size, format, missing }))),
  packed: packed && fieldsOf(packed),
  failure: failure && { kind: failure.kind, code: failure.code, ...fieldsOf(failure.fields) },
});

/** The platform that Decant runs on. */
const systemOf = (version: string) => ({
  version,
  node: process.versions.node,
  platform: `${process.platform} ${process.arch}`,
  // The only one that Node has.
  engine: 'workers',
  cores: availableParallelism(),
  memory: humanSize(totalmem()),
});

/** The version of this package. */
export const packageVersion = async (): Promise<string> =>
  JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8')).version;

/** Returns the report on `subject` by this `version` of Decant, without what is missing. */
export function bugReport(subject: Subject, version: string): object {
  const report = { decant: systemOf(version), image: imageOf(subject) };
  return JSON.parse(
    JSON.stringify(report, (_, value) => (Array.isArray(value) && value.length === 0 ? undefined : value)),
  );
}
