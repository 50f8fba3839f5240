// The temporary file beside a target, and what killed processes have left of theirs.

import { randomBytes } from 'node:crypto';
import { type BigIntStats, readFileSync, readlinkSync } from 'node:fs';
import { lstat, readdir, unlink } from 'node:fs/promises';
import { isSame, type Place, pathIn } from './target.js';

/** A name may have 255 bytes; so many are the target's. */
const LONGEST = 150;
/** What no process here is known to hold is left alone for so long after its last change, in nanoseconds. */
const ABANDONED = 7n * 24n * 3600n * 1_000_000_000n;

/** `.TARGET.BOOT-NAMESPACE-PROCESS-START-RANDOM.partial`: who made it. */
const NAME = /^\..*\.([0-9a-f]+)-([0-9]+)-([0-9]+)-([0-9]+)-[0-9a-f]{16}\.partial$/s;

/** Where process numbers mean what they mean to this process: one run of one system, one namespace of it. */
const here: string | undefined = (() => {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').replace(/[^0-9a-f]/g, '');
    const namespace = /[0-9]+/.exec(readlinkSync('/proc/self/ns/pid', 'latin1'))!;
    return `${boot}-${namespace}`;
  } catch {
    // Only Linux tells.
    return undefined;
  }
})();

/** When a process has started, in ticks of the system's clock: its number alone is given away again. */
function startOf(pid: number | 'self'): string | undefined {
  try {
    // The name of the program, in parentheses, may have spaces; the start is the 20th field behind it.
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}

/** A name that was never used, beside the target. */
export function partialName({ name }: Place): Buffer {
  let end = Math.min(name.length, LONGEST);
  // Not within a character.
  while (end > 0 && end < name.length && (name[end]! & 0xc0) === 0x80) end -= 1;
  const maker = `${here ?? '0-0'}-${process.pid}-${startOf('self') ?? 0}-${randomBytes(8).toString('hex')}`;
  return Buffer.concat([Buffer.from('.'), name.subarray(0, end), Buffer.from(`.${maker}.partial`)]);
}

/**
 * Removes from `folder` what has no living maker: what a process of this system has made that is gone, and, since
 * of other machines and containers that cannot be known, what nobody has changed for a week before `now`, by the clock
 * of the folder. What is in `kept` stays: somebody may want to rescue such a file.
 */
export async function sweep(folder: Buffer, now: bigint, kept: (BigIntStats | undefined)[]): Promise<void> {
  for (const name of await readdir(folder, 'buffer')) {
    const maker = NAME.exec(name.toString('latin1'));
    if (!maker) continue;
    // One that cannot be removed, or is gone meanwhile, is no reason not to convert.
    await sweepOne(pathIn(folder, name), maker, now, kept).catch(() => {});
  }
}

async function sweepOne(
  file: Buffer,
  [, boot, namespace, pid, start]: RegExpExecArray,
  now: bigint,
  kept: (BigIntStats | undefined)[],
): Promise<void> {
  const stats = await lstat(file, { bigint: true });
  if (!stats.isFile() || kept.some((file) => file && isSame(file, stats))) return;
  const isLeft = `${boot}-${namespace}` === here ? !isRunning(Number(pid), start!) : now - stats.mtimeNs > ABANDONED;
  if (isLeft) await unlink(file);
}

/** Where the start of a process is not told, one of the number counts as the one that is meant: it is too early to sweep. */
function isRunning(pid: number, start: string): boolean {
  try {
    process.kill(pid, 0);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  return (startOf(pid) ?? start) === start;
}
