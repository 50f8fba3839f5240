// Tells which server is waited for.

import type { Waiting } from '../http/types.js';
import { tell } from './output.js';

/** How long before the same is told again, in milliseconds. */
const AGAIN = 60_000;

/** What is told of it, for a line. */
export const waitingText = ({ host, status, attempt }: Waiting): string =>
  `waiting for the server: ${status ?? 'no complete answer'}, attempt ${attempt} (${host})`;

export class WaitingLines {
  #last: { host: string; status: number | undefined; at: number } | undefined;
  /** Whether something else shows it. */
  isShown = false;

  readonly tell = (waiting: Waiting | undefined): void => {
    if (!waiting || this.isShown) return;
    const { host, status } = waiting;
    const at = performance.now();
    const { host: lastHost, status: lastStatus, at: lastAt } = this.#last ?? { at: 0 };
    if (host === lastHost && status === lastStatus && at - lastAt < AGAIN) return;
    this.#last = { host, status, at };
    tell(waitingText(waiting));
  };
}
