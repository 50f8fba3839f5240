// The names of temporary files beside a target, and the files that dead processes have left.

import { createHash, randomBytes } from 'node:crypto';
import { type BigIntStats, readFileSync, readlinkSync } from 'node:fs';
import { lstat, readdir, statfs, unlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { filesBeingRead } from '../../sources/node/node-file.js';
import { isSame, pathIn, type ResolvedPath } from './resolved-path.js';

/** The maximum bytes of the target's name in a file name, which may have 255 bytes. */
const LONGEST = 150;
/** How long after its last change a file of an unknown process stays, in nanoseconds. */
const ABANDONED = 7n * 24n * 3600n * 1_000_000_000n;
/**
 * How long after its last change a file of another system or container may be resumed, in nanoseconds: its process may wait
 * for a server for 10 minutes.
 */
const RESTED = 15n * 60n * 1_000_000_000n;

/** In place of the number of a process: no process owns the file. */
const NOBODY = 0;

/** The fate of a file whose process is dead: it is removed, or a later conversion resumes it. */
export type Kind = 'partial' | 'resumable';

/** `.TARGET.BOOT-NAMESPACE-PROCESS-START-RANDOM.KIND`: identifies the process. A resumable file has a journal. */
const NAME = /^\..*\.([0-9a-f]+)-([0-9]+)-([0-9]+)-([0-9]+)-[0-9a-f]{16}\.(partial|resumable)(\.journal)?$/s;

/** The namespace in file names of systems that do not report their boot. */
const UNKNOWN_NAMESPACE = '0';

/** The scope of process numbers: one boot of one system, and one namespace. */
interface Where {
  boot: string;
  namespace: string;
  /** Whether it is unique. */
  isCertain: boolean;
}
const here: Where = (() => {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').replace(/[^0-9a-f]/g, '');
    const [namespace] = /[0-9]+/.exec(readlinkSync('/proc/self/ns/pid', 'latin1'))!;
    return { boot, namespace, isCertain: true };
  } catch {
    // Only Linux reports it. The host name is most likely unique.
    const boot = createHash('sha256').update(hostname()).digest('hex').slice(0, 32);
    return { boot, namespace: UNKNOWN_NAMESPACE, isCertain: false };
  }
})();

/** File systems that only one system at a time can mount, by their numbers in statfs(2): ext, XFS, Btrfs and others. */
const LOCAL = new Set([
  ...[0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0xca451a4e, 0x2fc12fc1, 0x3153464a, 0x52654973],
  // Overlays and tmpfs.
  ...[0x794c7630, 0x01021994],
]);

/** The start time of a process, in clock ticks: its number alone may be reused. */
const startOf = (pid: number | 'self'): string | undefined => statOf(pid)?.[19];

/** The fields of /proc/PID/stat after the program's name, which is in parentheses and may contain spaces. */
function statOf(pid: number | 'self'): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

/** The common prefix of the names of all files for a target. */
function prefixOf({ name }: ResolvedPath): Buffer {
  let end = Math.min(name.length, LONGEST);
  // Do not cut within a character.
  while (end > 0 && end < name.length && (name[end]! & 0xc0) === 0x80) end -= 1;
  return Buffer.concat([Buffer.from('.'), name.subarray(0, end), Buffer.from('.')]);
}

/** Returns a new file name beside the target. `holder`: whether this process owns the file, or no process. */
export function partialName(
  location: ResolvedPath,
  kind: Kind = 'partial',
  holder: 'self' | 'nobody' = 'self',
): Buffer {
  const process_ = holder === 'self' ? `${process.pid}-${startOf('self') ?? 0}` : `${NOBODY}-0`;
  const maker = `${here.boot}-${here.namespace}-${process_}-${randomBytes(8).toString('hex')}`;
  return Buffer.concat([prefixOf(location), Buffer.from(`${maker}.${kind}`)]);
}

/**
 * Finds the files for `location` that can be resumed: those of dead processes. A process may also run in another container, or on
 * another system that has mounted the folder: such a file must not have changed for a while before `now`.
 */
export async function resumables(location: ResolvedPath, now: bigint): Promise<Buffer[]> {
  const found: Buffer[] = [];
  const isAlone = here.isCertain && (await isLocal(location.folder));
  for (const name of await readdir(location.folder, 'buffer')) {
    const maker = makerOf(name);
    if (maker?.kind !== 'resumable' || maker.isJournal || !isFor(name, location)) continue;
    const file = pathIn(location.folder, name);
    const age = await lstat(file, { bigint: true }).then(
      ({ mtimeNs }) => now - mtimeNs,
      () => 0n,
    );
    const isBeforeStart = isAlone && maker.namespace !== UNKNOWN_NAMESPACE && maker.boot !== here.boot;
    if (isBeforeStart || isGone(maker, isHere(maker), age, RESTED)) found.push(file);
  }
  return found;
}

/** Whether only this system has mounted the folder: then all processes of earlier boots are dead. */
export const isLocal = (folder: Buffer): Promise<boolean> =>
  statfs(folder).then(
    ({ type }) => LOCAL.has(type),
    () => false,
  );

/** Whether a file is for the target, not for one with a longer name. */
function isFor(name: Buffer, location: ResolvedPath): boolean {
  const prefix = prefixOf(location);
  return name.subarray(0, prefix.length).equals(prefix) && MAKER.test(name.subarray(prefix.length).toString('latin1'));
}

/** The part of a file name after the target's name. */
const MAKER = /^[0-9a-f]+-[0-9]+-[0-9]+-[0-9]+-[0-9a-f]{16}\.\w+(\.journal)?$/;

interface Maker {
  boot: string;
  namespace: string;
  pid: number;
  start: string;
  kind: Kind;
  isJournal: boolean;
}

function makerOf(name: Buffer): Maker | undefined {
  const [, boot, namespace, pid, start, kind, journal] = NAME.exec(name.toString('latin1')) ?? [];
  if (boot === undefined) return undefined;
  const isJournal = journal !== undefined;
  return { boot, namespace: namespace!, pid: Number(pid), start: start!, kind: kind as Kind, isJournal };
}

const isHere = ({ boot, namespace }: Maker): boolean => boot === here.boot && namespace === here.namespace;

/** Whether a file's process is dead. If it did not run here, it counts as dead if the last change is older than `least`. */
function isGone({ pid, start }: Maker, wasHere: boolean, age: bigint, least: bigint): boolean {
  if (pid === NOBODY) return true;
  return wasHere ? !isRunning(pid, start) : age > least;
}

/**
 * Whether another process began to write the output at `location` before the temporary file called `own` was made. `made` describes that
 * file. Not known for processes of other systems and containers, and for a name that is cut in the names of temporary files.
 */
export async function hasRival(location: ResolvedPath, own: Buffer, made: BigIntStats): Promise<boolean> {
  if (!here.isCertain || location.name.length > LONGEST) return false;
  for (const name of await readdir(location.folder, 'buffer').catch(() => [])) {
    const maker = makerOf(name);
    const mayBe = maker && !maker.isJournal && isHere(maker) && isFor(name, location);
    if (!mayBe || maker.pid === process.pid || maker.pid === NOBODY || !isRunning(maker.pid, maker.start)) continue;
    const path = pathIn(location.folder, name);
    const other = await lstat(path, { bigint: true }).catch(() => undefined);
    if (other && isBefore(other, path, made, own)) return true;
  }
  return false;
}

/** Whether the file at `path` was made before the one at `otherPath`. Of two that were made at once, one counts as the first. */
function isBefore(file: BigIntStats, path: Buffer, other: BigIntStats, otherPath: Buffer): boolean {
  if (file.birthtimeNs !== other.birthtimeNs) return file.birthtimeNs < other.birthtimeNs;
  return Buffer.compare(path, otherPath) < 0;
}

/**
 * Removes the temporary files in the folder of `location` whose processes are dead. For other machines and containers that cannot
 * be known: their files are removed a week after their last change. Files that can be resumed stay for a week too, except those
 * for `location` if `declined`. The output that was there (`existing`) stays, as do all files that this process reads: a leftover may be the
 * image that is rescued. `now` is by the clock of the folder.
 * Never rejects: a folder that cannot be listed, or a file that cannot be removed, does not prevent a conversion.
 */
export async function sweepFolder(
  location: ResolvedPath,
  now: bigint,
  existing: BigIntStats | undefined,
  declined: boolean,
): Promise<void> {
  const names = await readdir(location.folder, 'buffer').catch(() => []);
  for (const name of names) {
    const maker = makerOf(name);
    if (!maker) continue;
    const mayResume = maker.kind === 'resumable' && !(declined && isFor(name, location));
    await sweepOne(pathIn(location.folder, name), maker, mayResume, now, existing).catch(() => {});
  }
}

/** Whether a file is the output that was there, or is read by this process. */
export const isInUse = (file: BigIntStats, existing: BigIntStats | undefined): boolean =>
  [...(existing ? [existing] : []), ...filesBeingRead()].some((other) => isSame(other, file));

async function sweepOne(
  file: Buffer,
  maker: Maker,
  mayResume: boolean,
  now: bigint,
  existing: BigIntStats | undefined,
): Promise<void> {
  const stats = await lstat(file, { bigint: true });
  if (!stats.isFile() || isInUse(stats, existing)) return;
  const age = now - stats.mtimeNs;
  if (isGone(maker, here.isCertain && isHere(maker), age, ABANDONED) && (!mayResume || age > ABANDONED))
    await unlink(file);
}

/** Whether a process is running. If start times are unknown, any process with the number counts. */
function isRunning(pid: number, start: string): boolean {
  try {
    process.kill(pid, 0);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  const stat = statOf(pid);
  // A zombie still has a number.
  if (stat?.[0] === 'Z' || stat?.[0] === 'X') return false;
  return (stat?.[19] ?? start) === start;
}
