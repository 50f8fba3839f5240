// A progress line that overwrites itself, like qemu-img's `-p`.

import type { WriteStream } from 'node:tty';
import type { Progress } from '../public/types.js';
import { waitingText } from './waiting-lines.js';

/** Formats seconds as "1:05" or "2:03:04". */
function clock(seconds: number): string {
  const whole = Math.ceil(seconds);
  const pad = (value: number) => String(value).padStart(2, '0');
  const [hours, minutes, left] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return hours > 0 ? `${hours}:${pad(minutes)}:${pad(left)}` : `${minutes}:${pad(left)}`;
}

export class ProgressLine {
  #shown = 0;

  /** `doing` begins the line, unless the phase has its own word; `measuring` is the one of that phase. */
  constructor(
    private readonly stream: Pick<WriteStream, 'write'>,
    private readonly doing = '',
    private readonly measuring = 'first pass',
  ) {}

  show(progress: Progress): void {
    const { phase, fraction, guestDone, bytesPerSecond, secondsLeft, network, waiting } = progress;
    if (phase === 'measuring') this.#write(`    ${this.measuring} (${((fraction ?? 0) * 100).toFixed(0)}%)`);
    if (phase === 'unlocking') this.#write(`    unlocking (${((fraction ?? 0) * 100).toFixed(0)}%)`);
    if (phase === 'preparing' && waiting) this.#write(`    ${waitingText(waiting)}`);
    if (phase === 'unlocking' || phase === 'preparing' || phase === 'measuring') return;
    const share = phase === 'finalizing' ? 1 : fraction;
    const doing = phase === 'sending' ? 'sending ' : this.doing;
    const done = share === undefined ? `${(guestDone / 1e6).toFixed(0)} MB` : `${(share * 100).toFixed(2)}/100%`;
    const speed = bytesPerSecond > 0 ? `  ${(bytesPerSecond / 1e6).toFixed(0)} MB/s` : '';
    const left = secondsLeft === undefined ? '' : `  ${clock(secondsLeft)} left`;
    if (waiting) {
      this.#write(`    ${doing}(${done})  ${waitingText(waiting)}`);
      return;
    }
    const retries = network?.retries ? `  ${network.retries} requests retried` : '';
    this.#write(`    ${doing}(${done})${speed}${left}${retries}`);
  }

  done(): void {
    this.#write('    (100.00/100%)');
  }

  end(): void {
    if (this.#shown > 0) this.stream.write('\n');
  }

  /** Writes `text` over the line. Spaces cover the rest of a longer text. */
  #write(text: string): void {
    this.stream.write(`\r${text.padEnd(this.#shown)}`);
    this.#shown = text.length;
  }
}
