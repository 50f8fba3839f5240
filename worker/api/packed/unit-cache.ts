// Keeps decoded units in bounded memory, and decodes the next ones ahead.

import { orCancelled } from '../../errors/errors.js';
import type { Bytes } from '../../public/types.js';
import type { Unit } from './packed-index.js';
import type { DecodedUnit } from './unit-decoder.js';

/** Bounds on the room for units that are kept or being decoded, in bytes. One unit may exceed it. */
const LEAST_ROOM = 32 << 20;
const MOST_ROOM = 96 << 20;
/** Two units can be decoded while another one is read. */
const UNITS_AT_ONCE = 3;

/** The memory that a unit takes while it is decoded, in bytes: its part of the file, and its data. */
const weightOf = ({ length, size }: Unit): number => length + size;

const nowhere = new MessageChannel();
nowhere.port2.close();

/** Frees the memory of `bytes` now, as the core does (`crate/src/js/bytes.rs`): the garbage collector lets much accumulate. */
export const release = ({ buffer }: Bytes): void => nowhere.port1.postMessage(undefined, [buffer]);

export class UnitCache {
  /** Decoded units by number, the least recently used first. */
  readonly #kept = new Map<number, DecodedUnit>();
  readonly #decoding = new Map<number, Promise<DecodedUnit>>();
  /** How many use a unit, or wait for it, by its number. */
  readonly #users = new Map<number, number>();
  /** The weight of the units that have room: they are kept or being decoded. */
  #taken = 0;
  readonly #room: number;
  #running = 0;
  /** Continue those that wait for room. */
  #waiting: (() => void)[] = [];

  constructor(
    private readonly units: Unit[],
    /** Decodes the unit of this number. */
    private readonly decode: (number: number) => Promise<DecodedUnit>,
    /** How many units to decode at once if they are used in their order. */
    private readonly depth: number,
    /** The data of the first unit, if it is known. */
    first?: DecodedUnit,
  ) {
    const largest = units.reduce((largest, unit) => Math.max(largest, weightOf(unit)), 0);
    this.#room = Math.min(Math.max(UNITS_AT_ONCE * largest, LEAST_ROOM), MOST_ROOM);
    if (!first) return;
    this.#kept.set(0, first);
    this.#taken = weightOf(units[0]!);
  }

  /** Lets `read` use the unit of this number. Fails as `decode` and `read` do, and with `cancelled`. */
  async use(number: number, signal: AbortSignal, read: (unit: DecodedUnit) => Promise<void>): Promise<void> {
    this.#users.set(number, (this.#users.get(number) ?? 0) + 1);
    let unit: DecodedUnit | undefined;
    try {
      unit = await this.#get(number, signal);
      await read(unit);
    } finally {
      const left = this.#users.get(number)! - 1;
      if (left > 0) {
        this.#users.set(number, left);
      } else {
        this.#users.delete(number);
        // It has lost its room while it was used.
        if (unit && this.#kept.get(number) !== unit) release(unit.bytes);
      }
    }
  }

  async #get(number: number, signal: AbortSignal): Promise<DecodedUnit> {
    const isInOrder = this.#isKnown(number - 1);
    const kept = this.#kept.get(number);
    if (kept) {
      this.#kept.delete(number);
      this.#kept.set(number, kept);
    }
    const decoding = kept ?? this.#decoding.get(number) ?? this.#begin(number);
    if (isInOrder) this.#decodeAhead(number);
    return kept ?? orCancelled(signal, decoding as Promise<DecodedUnit>);
  }

  #isKnown(number: number): boolean {
    return this.#kept.has(number) || this.#decoding.has(number);
  }

  /** Begins to decode the units after `number` that fit beside it. */
  #decodeAhead(number: number): void {
    let weight = weightOf(this.units[number]!);
    for (let next = number + 1; next < Math.min(number + this.depth, this.units.length); next++) {
      weight += weightOf(this.units[next]!);
      if (weight > this.#room) return;
      // Whoever needs it gets the failure.
      if (!this.#isKnown(next)) this.#begin(next).catch(() => {});
    }
  }

  #begin(number: number): Promise<DecodedUnit> {
    const decoding = this.#decode(number).finally(() => this.#decoding.delete(number));
    this.#decoding.set(number, decoding);
    return decoding;
  }

  async #decode(number: number): Promise<DecodedUnit> {
    const weight = weightOf(this.units[number]!);
    await this.#makeRoom(weight);
    try {
      const unit = await this.decode(number);
      this.#kept.set(number, unit);
      return unit;
    } catch (thrown) {
      this.#taken -= weight;
      throw thrown;
    } finally {
      this.#running -= 1;
      for (const proceed of this.#waiting.splice(0)) proceed();
    }
  }

  /** Takes room for a unit: drops those that were not used for longest, or waits until others have been decoded. */
  async #makeRoom(weight: number): Promise<void> {
    for (;;) {
      for (const [number, unit] of this.#kept) {
        if (this.#taken + weight <= this.#room) break;
        this.#kept.delete(number);
        this.#taken -= weightOf(this.units[number]!);
        if (!this.#users.has(number)) release(unit.bytes);
      }
      if (this.#taken + weight <= this.#room || this.#running === 0) break;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    this.#taken += weight;
    this.#running += 1;
  }
}
