// The progress of a conversion, from the first byte to the complete file: one measure for the bar, the number and the time
// left. It never decreases. It counts data, since holes take no time; for a stream it counts all bytes, since a stream
// carries the holes too. The time in which the browser completes a file is predicted.

import type { Progress } from 'decant';
import { type ProgressNow, SILENT, STALLED } from '../steps/state.js';
import type { SaveMethod } from '../types.texts-results.js';
import { type Prediction, predict, type Rates, TYPICAL } from '../ways/rates.js';

/** From this share of the data on, only the measured speed counts, not the predicted one. */
const MEASURED_ENOUGH = 0.2;
/** For outputs of unknown size, until they are measured: the expected share of the data, and bytes per second. */
const UNSIZED = { size: 0.5, rate: 1e8 };
/** While the browser completes a file, which reports no progress, at most this share of that time is shown. */
const ALMOST = 0.98;
/** The share of a conversion that is verified in which its result is read back. Usually, that takes less. */
const VERIFYING = 0.1;

/** The conversion to measure. */
interface MeasuredWork {
  method: SaveMethod;
  /** The size of the disk, or of the image's file if the size of the disk is known only at its end. */
  virtualSize: number;
  /** The bytes of data on the disk, if the map was read to its end. */
  data: number | undefined;
  /** The size of the file, if it is known beforehand. A file of unknown size has about as many bytes as data. */
  fileSize: number | undefined;
  rates?: Rates | undefined;
  /** Whether the rate of this method was measured, not only estimated. */
  isMeasured: boolean;
  /** Whether the output is compressed, so that its size is known only afterwards. */
  compressed?: boolean;
  /** Whether the result is verified. */
  verified?: boolean;
  /** For a stream: the bytes that the browser has taken. */
  taken?: () => number;
}

export class ProgressMeter {
  #progress: Progress | undefined;
  /** When converting began and when it ended, in seconds. */
  #began: number | undefined;
  #finishing: number | undefined;
  /** When there was progress last, in seconds. */
  #moved = performance.now() / 1000;
  /** The part that this conversion resumes from: bytes of data, and the share of the whole. */
  #before = { data: 0, share: 0 };
  #share = 0;
  /** When verifying began: the share of the whole, and the `fraction` of the package's report. */
  #verifyingFrom: { share: number; fraction: number } | undefined;

  constructor(private readonly conversion: MeasuredWork) {}

  get phase(): Progress['phase'] {
    return this.#progress?.phase ?? 'preparing';
  }

  /** Converted bytes of data. */
  get dataDone(): number {
    return this.#progress?.dataDone ?? 0;
  }

  update(progress: Progress): void {
    const now = performance.now() / 1000;
    const begins = this.#began === undefined && progress.phase === 'converting';
    if (begins) this.#began = now;
    if (progress.phase === 'finalizing') this.#finishing ??= now;
    if (!this.#progress || hasMoved(this.#progress, progress)) this.#moved = now;
    this.#progress = progress;
    if (begins && progress.dataDone === 0) {
      // `bytesWritten` now counts the earlier part, too: its data without the zeros that were not written.
      this.#before.data = progress.bytesWritten ?? 0;
      this.#before.share = this.#converted();
    }
  }

  /** The progress now. Call it regularly, since not every phase reports progress. */
  read(): ProgressNow {
    const now = performance.now() / 1000;
    if (this.#progress?.phase === 'verifying') return this.#verifying(now, this.#progress);
    const done = this.#converted();
    const { converting, finishing } = this.#prediction(now, done);
    const weight = converting + finishing > 0 ? converting / (converting + finishing) : 1;
    let share = done * weight;
    let secondsLeft = this.#left(now, done);
    if (this.#finishing !== undefined && finishing > 0) {
      const elapsed = now - this.#finishing;
      share = weight + (1 - weight) * Math.min(ALMOST, elapsed / finishing);
      secondsLeft = elapsed < finishing ? finishing - elapsed : undefined;
    }
    this.#grow(Math.min(1, share) * (this.conversion.verified ? 1 - VERIFYING : 1));
    return this.#unlessWaiting(now, this.#finishing === undefined ? now - this.#moved : 0, {
      secondsLeft,
      speed: this.speed(now),
    });
  }

  /** The progress to show now. Has `estimates` only while the conversion moves: nobody knows how long a wait takes. */
  #unlessWaiting(now: number, stalled: number, estimates: Pick<ProgressNow, 'secondsLeft' | 'speed'>): ProgressNow {
    const { waiting, network } = this.#progress ?? {};
    const silence = network?.silence ?? 0;
    const finishing = this.#finishing === undefined ? undefined : now - this.#finishing;
    const isWaiting = waiting !== undefined || silence >= SILENT || stalled >= STALLED;
    const shown = isWaiting ? { secondsLeft: undefined, speed: undefined } : estimates;
    return { share: this.#share, silence, stalled, finishing, waiting, ...shown };
  }

  #grow(share: number): void {
    this.#share = Math.max(this.#share, share);
  }

  /** The progress of reading the result back, from where the conversion ended. */
  #verifying(now: number, { fraction = 0, secondsLeft, bytesPerSecond = 0 }: Progress): ProgressNow {
    this.#verifyingFrom ??= { share: this.#share, fraction };
    const from = this.#verifyingFrom;
    if (fraction > from.fraction)
      this.#grow(from.share + ((1 - from.share) * (fraction - from.fraction)) / (1 - from.fraction));
    return this.#unlessWaiting(now, now - this.#moved, {
      secondsLeft,
      speed: bytesPerSecond > 0 ? bytesPerSecond : undefined,
    });
  }

  /** Predicts how long each part takes in all. */
  #prediction(now: number, done: number): Pick<Prediction, 'converting' | 'finishing'> {
    const { method, virtualSize, data = virtualSize, rates = TYPICAL, compressed } = this.conversion;
    const predicted = predict(rates, method, this.conversion.fileSize ?? data, data);
    const progress = this.#progress;
    if (!compressed && (!progress || progress.guestTotal !== undefined)) return predicted;
    const made = (compressed ? progress?.bytesWritten : progress?.guestDone) ?? 0;
    const size = done > 0 ? made / done : data * UNSIZED.size;
    const converting = this.#seen(now, done) ?? Math.max(data / UNSIZED.rate, predicted.converting);
    return { converting, finishing: method === 'picked' ? size / rates.finish : 0 };
  }

  /** Predicts how long converting takes in all, from the speed so far. */
  #seen(now: number, done: number): number | undefined {
    const here = done - this.#before.share;
    const elapsed = (this.#finishing ?? now) - (this.#began ?? now);
    return here > 0 && elapsed > 0 ? elapsed / here : undefined;
  }

  /** The converted share: 0 to 1. */
  #converted(): number {
    if (!this.#progress) return 0;
    const { virtualSize, data, taken } = this.conversion;
    const { guestDone = 0, guestTotal, dataDone = 0, bytesRead = 0 } = this.#progress;
    if (taken) return virtualSize > 0 ? Math.min(1, taken() / virtualSize) : 0;
    // Without a total, `virtualSize` is the size of the file.
    const done = guestTotal === undefined ? bytesRead : guestDone;
    const share = data ? (this.#before.data + dataDone) / data : virtualSize > 0 ? done / virtualSize : 0;
    return Math.min(1, share);
  }

  #left(now: number, done: number): number | undefined {
    if (this.#began === undefined) return undefined;
    const { data, isMeasured, compressed } = this.conversion;
    const { converting, finishing } = this.#prediction(now, done);
    const learned = isMeasured && !compressed && data !== undefined ? converting * (1 - done) : undefined;
    const whole = this.#seen(now, done);
    if (whole === undefined) return learned === undefined ? undefined : learned + finishing;
    const here = done - this.#before.share;
    const weight = learned === undefined ? 1 : Math.min(1, here / (1 - this.#before.share) / MEASURED_ENOUGH);
    return whole * (1 - done) * weight + (learned ?? 0) * (1 - weight) + finishing;
  }

  /** The speed since converting began, waits included. */
  speed(now = performance.now() / 1000): number | undefined {
    if (this.#began === undefined || !this.#progress) return undefined;
    const elapsed = (this.#finishing ?? now) - this.#began;
    const bytes = this.conversion.taken?.() ?? this.dataDone;
    return elapsed > 0 && bytes > 0 ? bytes / elapsed : undefined;
  }
}

/** Whether something was done between two reports. */
const hasMoved = (before: Progress, after: Progress): boolean =>
  (['phase', 'fraction', 'unlocked', 'guestDone', 'dataDone', 'bytesRead', 'bytesWritten'] as const).some(
    (name) => before[name] !== after[name],
  );
