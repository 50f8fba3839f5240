// Shows that the command is working: a line of progress, and the server that it waits for.

import type { WriteStream } from 'node:tty';
import type { Waiting } from '../http/http-types.js';
import type { Progress } from '../public/types.js';
import { report } from './printing.js';

/** How long until the same line is repeated, in milliseconds. */
const REPEAT_AFTER = 60_000;

const waitingText = (waiting: Waiting): string => `waiting for the server: ${reasonOf(waiting)} (${waiting.host})`;

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

/** Formats seconds as "1:05" or "2:03:04". */
function clock(seconds: number): string {
  const whole = Math.ceil(seconds);
  const pad = (value: number) => String(value).padStart(2, '0');
  const [hours, minutes, left] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return hours > 0 ? `${hours}:${pad(minutes)}:${pad(left)}` : `${minutes}:${pad(left)}`;
}

/** The line of a command on standard error, which only some commands show. `doing` begins it. */
export const progressLine = (
  { progress, quiet }: { progress: boolean; quiet: boolean },
  doing?: string,
): ProgressLine => new ProgressLine(process.stderr, !quiet && (progress || process.stderr.isTTY), doing);

/** The line of what the command does now, or did last. */
let current: ProgressLine | undefined;

/** Prints how far the command is on standard error, as qemu-img does at SIGUSR1. */
export function reportProgress(): void {
  if (current) current.print();
  else process.stderr.write(`${NOTHING_DONE}\n`);
}

const NOTHING_DONE = '    (0.00/100%)';

export class ProgressLine {
  #text = NOTHING_DONE;
  /** The text on the screen, in the line of the cursor. */
  #shown = '';

  /**
   * `isShown`: whether the line is written without being asked for. `doing` begins it, except in a phase with another word: `measuring` is
   * shown in the phase of that name.
   */
  constructor(
    private readonly stream: Pick<WriteStream, 'write'>,
    readonly isShown: boolean,
    private readonly doing = '',
    private readonly measuring = 'first pass',
  ) {
    current = this;
  }

  show(progress: Progress): void {
    const { phase, fraction, guestDone = 0, bytesPerSecond = 0, secondsLeft, network, waiting } = progress;
    if (phase === 'measuring') this.#write(`    ${this.measuring} (${((fraction ?? 0) * 100).toFixed(0)}%)`);
    if (phase === 'unlocking') this.#write(`    unlocking (${((fraction ?? 0) * 100).toFixed(0)}%)`);
    if (phase === 'preparing' && waiting) this.#write(`    ${waitingText(waiting)}`);
    if (phase === 'unlocking' || phase === 'preparing' || phase === 'measuring') return;
    const doing = phase === 'sending' || phase === 'verifying' ? `${phase} ` : this.doing;
    const done = fraction === undefined ? `${(guestDone / 1e6).toFixed(0)} MB` : `${(fraction * 100).toFixed(2)}/100%`;
    const speed = bytesPerSecond > 0 ? `  ${(bytesPerSecond / 1e6).toFixed(0)} MB/s` : '';
    const left = secondsLeft === undefined ? '' : `  ${clock(secondsLeft)} left`;
    if (waiting) {
      this.#write(`    ${doing}(${done})  ${waitingText(waiting)}`);
      return;
    }
    const retries = network?.retries ? `  ${network.retries} requests retried` : '';
    this.#write(`    ${doing}(${done})${speed}${left}${retries}`);
  }

  /** Shows only the share that is done. */
  share({ fraction = 0 }: Progress): void {
    const text = `    (${(fraction * 100).toFixed(2)}/100%)`;
    if (text !== this.#shown) this.#write(text);
  }

  done(): void {
    this.#write('    (100.00/100%)');
  }

  end(): void {
    if (this.#shown !== '') this.stream.write('\n');
    this.#shown = '';
  }

  /** Writes the line a last time, and ends it. */
  print(): void {
    if (this.#shown !== '') this.stream.write('\r');
    this.stream.write(`${this.#text}\n`);
    this.#shown = '';
  }

  /** Writes `text` over the line, if it is shown. Spaces cover the rest of a longer text. */
  #write(text: string): void {
    this.#text = text;
    if (!this.isShown) return;
    this.stream.write(`\r${text.padEnd(this.#shown.length)}`);
    this.#shown = text;
  }
}
