// Progress reports: at a limited rate, with speed, remaining time, and the finished parts of the disk.

import type { CrateProgress } from '../messages/coordinator.js';
import type { ConversionPhase, Network, Progress } from '../public/types.js';
import type { ResumePoint } from '../targets/output-target.js';
import { UNLOCKING } from './whole-progress.js';

/** The maximum number of cells: more would not be visible. */
const MAX_CELLS = 4096;

export class Cells {
  /** The size of a cell in bytes. The last one may be shorter. */
  readonly #length: number;
  /** The finished bytes of each cell. */
  readonly #bytes: Float64Array;

  constructor(private readonly total: number) {
    this.#length = Math.max(1, Math.ceil(total / MAX_CELLS));
    this.#bytes = new Float64Array(Math.ceil(total / this.#length));
  }

  /** Marks the bytes from `start` up to `end` as finished. No byte may be marked twice. */
  add(start: number, end: number): void {
    for (let at = start; at < end; ) {
      const cell = Math.floor(at / this.#length);
      const next = Math.min((cell + 1) * this.#length, end);
      this.#bytes[cell]! += next - at;
      at = next;
    }
  }

  /** One entry for each cell: 1 if it is finished, otherwise 0. */
  done(): Uint8Array {
    const lengthOf = (cell: number) => Math.min(this.#length, this.total - cell * this.#length);
    return Uint8Array.from(this.#bytes, (bytes, cell) => Number(bytes >= lengthOf(cell)));
  }
}

/** The minimum time between reports, in milliseconds. */
const INTERVAL_MS = 100;
/** How often network traffic is checked while nothing else is reported, in milliseconds. */
const NETWORK_INTERVAL_MS = 1000;
/** Speed is an average over about this time, in milliseconds. */
const WINDOW_MS = 3000;

/** Progress at a moment. */
interface Mark {
  at: number;
  guestDone: number;
  read: number;
  sent: number;
  verified: number;
}

export class Meter {
  #time: Record<ConversionPhase, number> = {
    unlocking: 0,
    preparing: 0,
    measuring: 0,
    converting: 0,
    sending: 0,
    verifying: 0,
    finalizing: 0,
  };
  #phase: ConversionPhase = 'preparing';
  #phaseStart = performance.now();
  #lastReport = Number.NEGATIVE_INFINITY;
  /** Bytes sent at the last report, and whether a network was silent then. */
  #sent = 0;
  #isSilent = false;
  #marks: Mark[] = [];
  #last: CrateProgress;
  /** How much of the output has been sent, in bytes, if it is sent after the conversion. */
  #output = { sent: 0, size: 0 };
  /** How much of the disks in the output was read back, in bytes, if it is verified. */
  #readBack = { verified: 0, total: 0 };
  #unlocked = 0;
  /** The passes that have begun. */
  readonly #passes: ConversionPhase[] = [];
  readonly #cells: Cells | undefined;
  /** Sends a report that would have come too early. */
  #trailing: ReturnType<typeof setTimeout> | undefined;
  /** Reports while a network is silent or sends the end of an output: nothing else causes reports then. */
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(
    guestTotal: number | undefined,
    /** The size of the image's file in bytes. */
    private readonly fileSize: number | undefined,
    private readonly networks: () => Network[],
    private readonly listener: ((progress: Progress) => void) | undefined,
    private readonly outputSize?: number,
    /** The passes after `converting`. */
    private readonly passesAfter: { sending: boolean; verifying: boolean } = { sending: false, verifying: false },
  ) {
    const total = guestTotal === undefined ? {} : { guestTotal };
    const nothing = { guestDone: 0, dataDone: 0, read: 0, written: 0, measuring: false, finalizing: false };
    const nowhere = { latest: { start: 0, end: 0 }, settled: { guest: 0, written: 0 } };
    this.#last = { ...nothing, ...nowhere, ...total };
    this.#cells = guestTotal === undefined ? undefined : new Cells(guestTotal);
    this.#report();
    this.#timer = setInterval(() => {
      const { network } = sum(this.networks());
      if (network && (network.silence || this.#isSilent || network.sent !== this.#sent)) this.#report();
    }, NETWORK_INTERVAL_MS);
  }

  /** Starts the phase `unlocking`, or updates its share. */
  unlocking(share: number): void {
    this.#unlocked = share;
    if (this.#phase === 'unlocking') {
      this.#reportSoon();
    } else {
      this.#enter('unlocking', performance.now());
      this.#report();
    }
  }

  /** Sets the starting point of a resumed conversion. */
  begin({ guest, written }: ResumePoint): void {
    this.#last = { ...this.#last, guestDone: guest, written };
    this.#cells?.add(0, guest);
  }

  update(progress: CrateProgress): void {
    // The end that an output format adds does not count.
    const within = (offset: number) => Math.min(offset, progress.guestTotal ?? offset);
    this.#last = { ...progress, guestDone: within(progress.guestDone) };
    const phase = phaseOf(progress);
    if (phase !== 'measuring') this.#cells?.add(within(progress.latest.start), within(progress.latest.end));
    this.#mark(phase);
  }

  /** Starts the phase `sending`, or updates it. */
  sending(sent: number, size: number): void {
    this.#output = { sent, size };
    this.#mark('sending');
  }

  /** Starts the phase `verifying`, or updates it. */
  verifying(verified: number, total: number): void {
    this.#readBack = { verified, total };
    this.#mark('verifying');
  }

  /** Starts the phase `finalizing` after `sending` or `verifying`. */
  sent(): void {
    this.#mark('finalizing');
  }

  get phase(): ConversionPhase {
    return this.#phase;
  }

  /** Ends the last phase. Returns the seconds spent in each. */
  end(): Record<ConversionPhase, number> {
    clearInterval(this.#timer);
    clearTimeout(this.#trailing);
    this.#enter(this.#phase, performance.now());
    return this.#time;
  }

  #mark(phase: ConversionPhase): void {
    const now = performance.now();
    // The second pass begins at the start of the disk.
    if (phase !== this.#phase) this.#marks = [];
    const { guestDone, read } = this.#last;
    this.#marks.push({ at: now, guestDone, read, sent: this.#output.sent, verified: this.#readBack.verified });
    while (now - this.#marks[0]!.at > WINDOW_MS && this.#marks.length > 2) this.#marks.shift();
    if (phase === this.#phase) {
      this.#reportSoon();
    } else {
      this.#enter(phase, now);
      this.#report();
    }
  }

  #enter(phase: ConversionPhase, now: number): void {
    this.#time[this.#phase] += (now - this.#phaseStart) / 1000;
    this.#phase = phase;
    this.#phaseStart = now;
    if (isPass(phase) && !this.#passes.includes(phase)) this.#passes.push(phase);
  }

  /** Reports now, or as soon as the interval since the last report is over. */
  #reportSoon(): void {
    const wait = this.#lastReport + INTERVAL_MS - performance.now();
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
    const { network } = sum(this.networks());
    const waiting = network?.waiting;
    const isMoving = seconds > 0 && this.#lastReport - this.#marks.at(-1)!.at < WINDOW_MS;
    const moved = first && this.#moved(first);
    const bytesPerSecond = moved !== undefined && isMoving ? moved / seconds : 0;
    // Nobody knows how long a server takes.
    const secondsLeft = isPass(this.#phase) && !waiting ? this.#secondsLeft(seconds) : undefined;
    const whole = this.#whole();
    this.#sent = network?.sent ?? 0;
    this.#isSilent = Boolean(network?.silence);
    this.listener?.({
      phase: this.#phase,
      ...(whole && { fraction: whole.done / whole.total }),
      unlocked: this.#unlocked,
      guestDone,
      ...(guestTotal === undefined ? {} : { guestTotal }),
      ...(this.outputSize === undefined ? {} : { outputSize: this.outputSize }),
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

  /** The bytes that were done since `first`. */
  #moved(first: Mark): number {
    if (this.#phase === 'sending') return this.#output.sent - first.sent;
    if (this.#phase === 'verifying') return this.#readBack.verified - first.verified;
    return this.#last.guestDone - first.guestDone;
  }

  /** How many passes all phases need, and how many are done, with fractions; undefined if the size of the disk or file is unknown. */
  #whole(): { done: number; total: number } | undefined {
    const share = this.#share(this.#now);
    if (share === undefined) return undefined;
    const begun = this.#passes.length;
    const unlocking = this.#unlocked > 0 || this.#phase === 'unlocking' ? UNLOCKING : 0;
    const done = isPass(this.#phase) ? begun - 1 + share : begun;
    return { done: done + unlocking * this.#unlocked, total: begun + this.#passesLeft() + unlocking };
  }

  /** The number of passes that have not begun. */
  #passesLeft(): number {
    const { sending, verifying } = this.passesAfter;
    const expected = { converting: true, sending, verifying };
    return Object.entries(expected).filter(
      ([phase, isExpected]) => isExpected && !this.#passes.includes(phase as ConversionPhase),
    ).length;
  }

  get #now(): Omit<Mark, 'at'> {
    return { ...this.#last, ...this.#output, ...this.#readBack };
  }

  /** The share of the pass that is done at `mark`; undefined if it is unknown. */
  #share(mark: Omit<Mark, 'at'>): number | undefined {
    const { done, total } = this.#measure(mark);
    if (total === undefined) return undefined;
    return total > 0 ? Math.min(1, done / total) : 1;
  }

  /** Extrapolates from the progress in the last `seconds`. Nobody knows the speed of a target to which nothing was sent. */
  #secondsLeft(seconds: number): number | undefined {
    const first = this.#marks[0];
    const whole = this.#whole();
    if (!first || !whole || seconds <= 0) return undefined;
    if (this.passesAfter.sending && !this.#passes.includes('sending')) return undefined;
    const moved = this.#share(this.#now)! - this.#share(first)!;
    return moved > 0 ? ((whole.total - whole.done) * seconds) / moved : undefined;
  }

  /** Measures progress by the disk, or by the file if the size of the disk is unknown until its end; at last by the output. */
  #measure({ guestDone, read, sent, verified }: Omit<Mark, 'at'>): { done: number; total: number | undefined } {
    if (this.#phase === 'sending') return { done: sent, total: this.#output.size };
    if (this.#phase === 'verifying') return { done: verified, total: this.#readBack.total };
    const { guestTotal } = this.#last;
    return guestTotal === undefined ? { done: read, total: this.fileSize } : { done: guestDone, total: guestTotal };
  }
}

function phaseOf({ measuring, finalizing }: CrateProgress): ConversionPhase {
  if (finalizing) return 'finalizing';
  return measuring ? 'measuring' : 'converting';
}

/** Whether a phase is a pass over the disk or the output. */
const isPass = (phase: ConversionPhase): boolean => ['measuring', 'converting', 'sending', 'verifying'].includes(phase);

/** The silence, and the awaited server, of the network that has been silent longest. */
function longest(networks: Network[]): Pick<Network, 'silence' | 'waiting'> {
  const { silence = 0, waiting } = networks.reduce((a, b) => ((b.silence ?? 0) > (a.silence ?? 0) ? b : a));
  return { silence, ...(waiting && { waiting }) };
}

/** The total traffic of `networks`; empty if there are none. */
function sum(networks: Network[]): { network?: Network } {
  if (networks.length === 0) return {};
  const total = (name: 'received' | 'sent' | 'retries') => networks.reduce((sum, network) => sum + network[name], 0);
  const sums = { received: total('received'), sent: total('sent'), retries: total('retries') };
  return { network: { ...sums, ...longest(networks) } };
}
