// Signals that end the command.

import { report } from './printing.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** One press may arrive twice: from the terminal and from a program that started this one. In milliseconds. */
const ONE_PRESS = 200;

/** Aborted by the first signal, so that the command can clean up; a second Ctrl-C ends the process at once. */
export function interrupted(): AbortSignal {
  const interrupt = new AbortController();
  let first: number | undefined;
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      first ??= performance.now();
      interrupt.abort();
      if (signal === 'SIGHUP' || performance.now() - first < ONE_PRESS) return;
      report('interrupted again, before the clean-up was over');
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    });
  }
  return interrupt.signal;
}
