// Signals that interrupt the command, and the clean-up that must end before the process does.

import { readFileSync } from 'node:fs';
import { EXIT_INTERRUPTED, type Interrupt } from './commands.js';
import { report } from './printing.js';

const SIGNALS = Object.keys(EXIT_INTERRUPTED) as Interrupt[];
/**
 * Signals within this time count as one, in milliseconds: one Ctrl-C may arrive twice, from the terminal and from a parent
 * process.
 */
const ONE_PRESS = 200;

/** Whether the command was interrupted, and by what. */
export interface Interruption {
  /** Aborted by the first interrupt. */
  readonly signal: AbortSignal;
  /** The exit code after that interrupt. */
  exitCode(): number;
}

/**
 * Listens to interrupts: the first one aborts the signal, so that the command can clean up; a second one ends the process. With
 * `hangUpIgnored`, a hang-up does neither.
 */
export function interrupts(hangUpIgnored = ignoresHangUp()): Interruption {
  const interrupt = new AbortController();
  let first: { at: number; signal: Interrupt } | undefined;
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      // Without a listener, it would end the process.
      if (signal === 'SIGHUP' && hangUpIgnored) return;
      first ??= { at: performance.now(), signal };
      interrupt.abort();
      if (signal === 'SIGHUP' || performance.now() - first.at < ONE_PRESS) return;
      report('interrupted again before the clean-up ended');
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    });
  }
  return { signal: interrupt.signal, exitCode: () => EXIT_INTERRUPTED[first?.signal ?? 'SIGINT'] };
}

// Node restores the default disposition of each signal when it starts, so the system no longer knows which signals were ignored.
// There is other evidence about SIGHUP, which `ignoresHangUp` looks for. There is none about SIGINT: a shell ignores it only in a
// background job, not in itself, and a parent that ignores SIGINT, such as GNU time, may have restored it for the command.

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

const pending = new Set<Promise<unknown>>();

/** Keeps the process until `work` settles. */
export function awaitBeforeExit(work: Promise<unknown>): void {
  pending.add(work);
}

/** Resolves when all clean-up has settled. */
export async function cleanUpDone(): Promise<void> {
  await Promise.allSettled(pending);
}
