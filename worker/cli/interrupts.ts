// Signals that interrupt the command.

import { ignoresHangUp } from './nohup.js';
import { report } from './printing.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/**
 * Signals within this time count as one, in milliseconds: one Ctrl-C may arrive twice, from the terminal and from a parent
 * process.
 */
const ONE_PRESS = 200;

/**
 * Returns a signal that the first interrupt aborts, so that the command can clean up; a second one ends the process. With
 * `hangUpIgnored`, a hang-up does neither.
 */
export function interrupted(hangUpIgnored = ignoresHangUp()): AbortSignal {
  const interrupt = new AbortController();
  let first: number | undefined;
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      // Without a listener, it would end the process.
      if (signal === 'SIGHUP' && hangUpIgnored) return;
      first ??= performance.now();
      interrupt.abort();
      if (signal === 'SIGHUP' || performance.now() - first < ONE_PRESS) return;
      report('interrupted again before the clean-up ended');
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    });
  }
  return interrupt.signal;
}
