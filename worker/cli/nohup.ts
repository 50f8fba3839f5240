// Whether `nohup` started the command. Node restores the default disposition of each signal when it starts, so the system no
// longer knows which ones were ignored. For SIGINT there is no other evidence: a shell ignores it only in a background job, not
// in itself, and a parent that ignores SIGINT, such as GNU time, may have restored it for the command.

import { readFileSync } from 'node:fs';

/** SIGHUP in the mask of a process: the bit of signal 1. */
const HUP = 1n;

/**
 * Whether a hang-up was ignored when the command started, as far as that can be known: `nohup` started it (shells put the
 * path of the program they start into `_`), or the parent process ignores hang-ups, such as a script under `nohup`. The mask
 * of the parent is known on Linux only.
 */
export function ignoresHangUp(program = process.env._, parent = statusOf(process.ppid)): boolean {
  if (/(^|\/)nohup$/.test(program ?? '')) return true;
  const [, mask] = /^SigIgn:\s*([0-9a-f]+)$/m.exec(parent ?? '') ?? [];
  return mask !== undefined && (BigInt(`0x${mask}`) & HUP) === HUP;
}

function statusOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/status`, 'latin1');
  } catch {
    return undefined;
  }
}
