// One line of progress that is written over itself, as qemu-img's `-p` does.

import type { WriteStream } from 'node:tty';
import type { Progress } from '../types.js';

/** A time as people say it: "1:05", "2:03:04". */
function clock(seconds: number): string {
  const whole = Math.ceil(seconds);
  const pad = (value: number) => String(value).padStart(2, '0');
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return hours > 0 ? `${hours}:${pad(minutes)}:${pad(rest)}` : `${minutes}:${pad(rest)}`;
}

export class ProgressLine {
  #shown = 0;

  constructor(private readonly stream: Pick<WriteStream, 'write'>) {}

  show({ phase, unlocked, guestDone, guestTotal, bytesPerSecond, secondsLeft }: Progress): void {
    if (phase === 'unlocking') this.#write(`    unlocking (${(unlocked * 100).toFixed(0)}%)`);
    if (phase === 'unlocking' || phase === 'preparing') return;
    const percent = guestTotal > 0 ? (guestDone / guestTotal) * 100 : 100;
    const speed = bytesPerSecond > 0 ? `  ${(bytesPerSecond / 1e6).toFixed(0)} MB/s` : '';
    const left = secondsLeft === undefined ? '' : `  ${clock(secondsLeft)} left`;
    this.#write(`    (${percent.toFixed(2)}/100%)${speed}${left}`);
  }

  done(): void {
    this.#write('    (100.00/100%)');
  }

  end(): void {
    if (this.#shown > 0) this.stream.write('\n');
  }

  /** Covers what a longer text has left. */
  #write(text: string): void {
    this.stream.write(`\r${text.padEnd(this.#shown)}`);
    this.#shown = text.length;
  }
}
