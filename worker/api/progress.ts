// Progress for people: not too often, with speed and time left.

import type { Network, Phase, Progress } from '../public/types.js';
import type { ResumePoint } from '../targets/output-target.js';
import type { CrateProgress } from '../worker-side/coordinator-methods.js';
import { Cells } from './cells.js';

/** At most ten reports a second. */
const INTERVAL = 100;
/** How often is told what networks do while nothing else happens, in milliseconds. */
const NETWORK_INTERVAL = 1000;
/** Speed is that of about this long, in milliseconds. */
const WINDOW = 3000;

export class Meter {
  #time: Record<Phase, number> = { unlocking: 0, preparing: 0, converting: 0, finalizing: 0 };
  #phase: Phase = 'preparing';
  #phaseStart = performance.now();
  #lastReport = Number.NEGATIVE_INFINITY;
  /** What had been sent over networks then, and whether one was silent. */
  #sent = 0;
  #isSilent = false;
  #marks: { at: number; guestDone: number; read: number }[] = [];
  #last: CrateProgress;
  #unlocked = 0;
  readonly #cells: Cells | undefined;
  /** Makes up for a report that would have come too early. */
  #trailing: ReturnType<typeof setTimeout> | undefined;
  /** Where a network is silent, or brings the last of an output to its place, nothing else brings reports. */
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(
    guestTotal: number | undefined,
    /** Of the image's file. */
    private readonly fileSize: number | undefined,
    private readonly networks: () => Network[],
    private readonly listener: ((progress: Progress) => void) | undefined,
  ) {
    const total = guestTotal === undefined ? {} : { guestTotal };
    const before = { guestDone: 0, latestStart: 0, latestEnd: 0, dataDone: 0, read: 0, written: 0 };
    const nothing = { settled: 0, settledWritten: 0, finalizing: false };
    this.#last = { ...before, ...nothing, ...total };
    this.#cells = guestTotal === undefined ? undefined : new Cells(guestTotal);
    this.#report();
    this.#timer = setInterval(() => {
      const { network } = sum(this.networks());
      if (network && (network.silence || this.#isSilent || network.sent !== this.#sent)) this.#report();
    }, NETWORK_INTERVAL);
  }

  /** Unlocking has resumePoint, or has come so far. */
  unlocking(share: number): void {
    this.#unlocked = share;
    if (this.#phase === 'unlocking') {
      this.#reportSoon();
    } else {
      this.#enter('unlocking', performance.now());
      this.#report();
    }
  }

  /** So much of the disk is there already. */
  begin({ guest, written }: ResumePoint): void {
    this.#last = { ...this.#last, guestDone: guest, written };
    this.#cells?.add(0, guest);
  }

  update(progress: CrateProgress): void {
    this.#last = progress;
    this.#cells?.add(progress.latestStart, progress.latestEnd);
    const phase: Phase = progress.finalizing ? 'finalizing' : 'converting';
    const now = performance.now();
    this.#marks.push({ at: now, guestDone: progress.guestDone, read: progress.read });
    while (now - this.#marks[0]!.at > WINDOW && this.#marks.length > 2) this.#marks.shift();
    if (phase === this.#phase) {
      this.#reportSoon();
    } else {
      this.#enter(phase, now);
      this.#report();
    }
  }

  get phase(): Phase {
    return this.#phase;
  }

  /** Ends the last phase; answers with the milliseconds spent in each. */
  end(): Record<Phase, number> {
    clearInterval(this.#timer);
    clearTimeout(this.#trailing);
    this.#enter(this.#phase, performance.now());
    return this.#time;
  }

  #enter(phase: Phase, now: number): void {
    this.#time[this.#phase] += now - this.#phaseStart;
    this.#phase = phase;
    this.#phaseStart = now;
  }

  /** Reports now, or as soon as the interval since the last report is over. */
  #reportSoon(): void {
    const wait = this.#lastReport + INTERVAL - performance.now();
    if (wait <= 0) this.#report();
    else this.#trailing ??= setTimeout(() => this.#report(), wait);
  }

  #report(): void {
    clearTimeout(this.#trailing);
    this.#trailing = undefined;
    this.#lastReport = performance.now();
    const { guestDone, guestTotal, dataDone, read, written } = this.#last;
    const first = this.#marks[0];
    const seconds = first ? (this.#lastReport - first.at) / 1000 : 0;
    const bytesPerSecond = first && seconds > 0 ? (guestDone - first.guestDone) / seconds : 0;
    const secondsLeft = this.#phase === 'converting' ? this.#secondsLeft(seconds) : undefined;
    const { network } = sum(this.networks());
    const waiting = network?.waiting;
    const fraction = this.#fraction();
    this.#sent = network?.sent ?? 0;
    this.#isSilent = Boolean(network?.silence);
    this.listener?.({
      phase: this.#phase,
      ...(fraction === undefined ? {} : { fraction }),
      unlocked: this.#unlocked,
      guestDone,
      ...(guestTotal === undefined ? {} : { guestTotal }),
      ...(this.#cells ? { cells: this.#cells.done() } : {}),
      dataDone,
      bytesRead: read,
      bytesWritten: written,
      ...(network ? { network } : {}),
      ...(waiting ? { waiting } : {}),
      bytesPerSecond,
      ...(secondsLeft === undefined ? {} : { secondsLeft }),
    });
  }

  /** The share of the phase that is done, where that can be known. */
  #fraction(): number | undefined {
    if (this.#phase === 'unlocking') return this.#unlocked;
    if (this.#phase !== 'converting') return undefined;
    const { done, total } = this.#measure(this.#last);
    if (total === undefined) return undefined;
    return total > 0 ? Math.min(1, done / total) : 1;
  }

  /** By what was done in the last `seconds`. */
  #secondsLeft(seconds: number): number | undefined {
    const first = this.#marks[0];
    if (!first) return undefined;
    const { done, total } = this.#measure(this.#last);
    const before = this.#measure(first).done;
    return total !== undefined && done > before && seconds > 0
      ? ((total - done) * seconds) / (done - before)
      : undefined;
  }

  /** Progress is measured by the disk, or by the file where only its end tells the size of the disk. */
  #measure({ guestDone, read }: { guestDone: number; read: number }): { done: number; total: number | undefined } {
    const { guestTotal } = this.#last;
    return guestTotal === undefined ? { done: read, total: this.fileSize } : { done: guestDone, total: guestTotal };
  }
}

/** What the one of them says that has failed for longest. */
function longest(networks: Network[]): Pick<Network, 'silence' | 'waiting'> {
  const { silence = 0, waiting } = networks.reduce((a, b) => ((b.silence ?? 0) > (a.silence ?? 0) ? b : a));
  return { silence, ...(waiting && { waiting }) };
}

/** What has gone over all of `networks`, if there is any. */
function sum(networks: Network[]): { network?: Network } {
  if (networks.length === 0) return {};
  const total = (name: 'received' | 'sent' | 'retries') => networks.reduce((sum, network) => sum + network[name], 0);
  const sums = { received: total('received'), sent: total('sent'), retries: total('retries') };
  return { network: { ...sums, ...longest(networks) } };
}
