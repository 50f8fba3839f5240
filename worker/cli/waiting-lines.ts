// Reports the server that the command waits for.

import type { Waiting } from '../http/http-types.js';
import { report } from './printing.js';

/** How long until the same line is repeated, in milliseconds. */
const REPEAT_AFTER = 60_000;

export const waitingText = (waiting: Waiting): string =>
  `waiting for the server: ${reasonOf(waiting)} (${waiting.host})`;

function reasonOf({ status, attempt, completing }: Waiting): string {
  if (completing) return 'it is completing the upload';
  if (attempt === 0) return 'no complete answer yet';
  return `${status ?? 'no usable answer'}, attempt ${attempt}`;
}

export class WaitingLines {
  #last: { key: string; at: number } | undefined;
  /** Set if the progress line shows it, or with `-q`. */
  isSilenced = false;

  readonly report = (waiting: Waiting | undefined): void => {
    if (!waiting || this.isSilenced) return;
    const { host, status, completing } = waiting;
    const key = JSON.stringify([host, status, completing]);
    const at = performance.now();
    if (this.#last?.key === key && at - this.#last.at < REPEAT_AFTER) return;
    this.#last = { key, at };
    report(waitingText(waiting));
  };
}
