// The temporary file beside a target, and what processes that are gone have left of theirs.

import { createHash, randomBytes } from 'node:crypto';
import { type BigIntStats, readFileSync, readlinkSync } from 'node:fs';
import { lstat, readdir, statfs, unlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { isSame, pathIn, type ResolvedPath } from './resolved-path.js';

/** A name may have 255 bytes; so many are the target's. */
const LONGEST = 150;
/** What no process here is known to hold is left alone for so long after its last change, in nanoseconds. */
const ABANDONED = 7n * 24n * 3600n * 1_000_000_000n;
/**
 * What a process of another system, or of another container, may still write is gone on with no sooner, in nanoseconds: it may
 * wait for a server for 10 minutes.
 */
const RESTED = 15n * 60n * 1_000_000_000n;

/** The number of no process. */
const NOBODY = 0;

/** What becomes of a file whose process is gone: it is removed, or a later conversion goes on with it. */
export type Kind = 'partial' | 'resumable';

/** `.TARGET.BOOT-NAMESPACE-PROCESS-START-RANDOM.KIND`: who made it. A resumable one has a journal. */
const NAME = /^\..*\.([0-9a-f]+)-([0-9]+)-([0-9]+)-([0-9]+)-[0-9a-f]{16}\.(partial|resumable)(\.journal)?$/s;

/** The namespace in the names of files whose system does not tell of its starts. */
const UNTOLD = '0';

/** Where process numbers mean what they mean to this process: one run of one system, one namespace of it. */
interface Where {
  boot: string;
  namespace: string;
  /** Whether nobody else says the same. */
  isCertain: boolean;
}
const here: Where = (() => {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').replace(/[^0-9a-f]/g, '');
    const [namespace] = /[0-9]+/.exec(readlinkSync('/proc/self/ns/pid', 'latin1'))!;
    return { boot, namespace, isCertain: true };
  } catch {
    // Only Linux tells. The name of a machine is most likely its own.
    const boot = createHash('sha256').update(hostname()).digest('hex').slice(0, 32);
    return { boot, namespace: UNTOLD, isCertain: false };
  }
})();

/** File systems that one system at a time has mounted, by their numbers in Linux (statfs(2)): ext, XFS, Btrfs and others. */
const LOCAL = new Set([
  ...[0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0xca451a4e, 0x2fc12fc1, 0x3153464a, 0x52654973],
  // Overlays, and what is in memory.
  ...[0x794c7630, 0x01021994],
]);

/** When a process has started, in ticks of the system's clock: its number alone is given away again. */
const startOf = (pid: number | 'self'): string | undefined => statOf(pid)?.[19];

/** What the system tells of a process behind the name of its program, which is in parentheses and may have spaces. */
function statOf(pid: number | 'self'): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

/** How the names of all files for a target begin. */
function prefixOf({ name }: ResolvedPath): Buffer {
  let end = Math.min(name.length, LONGEST);
  // Not within a character.
  while (end > 0 && end < name.length && (name[end]! & 0xc0) === 0x80) end -= 1;
  return Buffer.concat([Buffer.from('.'), name.subarray(0, end), Buffer.from('.')]);
}

/** A name that was never used, beside the target, of a file that this process holds, or nobody. */
export function partialName(place: ResolvedPath, kind: Kind = 'partial', holder: 'self' | 'nobody' = 'self'): Buffer {
  const process_ = holder === 'self' ? `${process.pid}-${startOf('self') ?? 0}` : `${NOBODY}-0`;
  const maker = `${here.boot}-${here.namespace}-${process_}-${randomBytes(8).toString('hex')}`;
  return Buffer.concat([prefixOf(place), Buffer.from(`${maker}.${kind}`)]);
}

/**
 * The files for `place` that a later conversion can go on with: their processes are gone. Of another system that may have
 * the folder too, or of another container, that cannot be known; then nobody has changed it for a while before `now`.
 */
export async function resumables(place: ResolvedPath, now: bigint): Promise<Buffer[]> {
  const found: Buffer[] = [];
  const isAlone = here.isCertain && (await isLocal(place.folder));
  for (const name of await readdir(place.folder, 'buffer')) {
    const maker = makerOf(name);
    if (maker?.kind !== 'resumable' || maker.isJournal || !isFor(name, place)) continue;
    const file = pathIn(place.folder, name);
    const age = await lstat(file, { bigint: true }).then(
      ({ mtimeNs }) => now - mtimeNs,
      () => 0n,
    );
    const isBeforeStart = isAlone && maker.namespace !== UNTOLD && maker.boot !== here.boot;
    if (isBeforeStart || isGone(maker, isHere(maker), age, RESTED)) found.push(file);
  }
  return found;
}

/** Whether no other system has the folder: then whatever ran before this one's start is gone. */
const isLocal = (folder: Buffer): Promise<boolean> =>
  statfs(folder).then(
    ({ type }) => LOCAL.has(type),
    () => false,
  );

/** Whether a file is for the target, and not for one whose name begins like its. */
function isFor(name: Buffer, place: ResolvedPath): boolean {
  const prefix = prefixOf(place);
  return name.subarray(0, prefix.length).equals(prefix) && MAKER.test(name.subarray(prefix.length).toString('latin1'));
}

/** What follows the target in a name. */
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

/** Whether a file's process is gone. Unless it ran here, nobody has changed the file for so long then, in nanoseconds. */
function isGone({ pid, start }: Maker, wasHere: boolean, age: bigint, rest: bigint): boolean {
  if (pid === NOBODY) return true;
  return wasHere ? !isRunning(pid, start) : age > rest;
}

/**
 * Removes from the folder of `place` what has no living maker: what a process of this system has made that is gone, and,
 * since of other machines and containers that cannot be known, what nobody has changed for a week before `now`, by the clock
 * of the folder. What a conversion could go on with stays for a week too, but for `place` where that is `declined`. What is
 * in `kept` stays: somebody may want to rescue such a file.
 */
export async function sweepFolder(
  place: ResolvedPath,
  now: bigint,
  kept: (BigIntStats | undefined)[],
  declined: boolean,
): Promise<void> {
  for (const name of await readdir(place.folder, 'buffer')) {
    const maker = makerOf(name);
    if (!maker) continue;
    const mayResume = maker.kind === 'resumable' && !(declined && isFor(name, place));
    // One that cannot be removed, or is gone meanwhile, is no reason not to convert.
    await sweepOne(pathIn(place.folder, name), maker, mayResume, now, kept).catch(() => {});
  }
}

async function sweepOne(
  file: Buffer,
  maker: Maker,
  mayResume: boolean,
  now: bigint,
  kept: (BigIntStats | undefined)[],
): Promise<void> {
  const stats = await lstat(file, { bigint: true });
  if (!stats.isFile() || kept.some((file) => file && isSame(file, stats))) return;
  const age = now - stats.mtimeNs;
  if (isGone(maker, here.isCertain && isHere(maker), age, ABANDONED) && (!mayResume || age > ABANDONED))
    await unlink(file);
}

/** Where the start of a process is not told, one of the number counts as the one that is meant: it is too early to sweepFolder. */
function isRunning(pid: number, start: string): boolean {
  try {
    process.kill(pid, 0);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  const stat = statOf(pid);
  // One that is dead and whose parent has not looked has a number still.
  if (stat?.[0] === 'Z' || stat?.[0] === 'X') return false;
  return (stat?.[19] ?? start) === start;
}
