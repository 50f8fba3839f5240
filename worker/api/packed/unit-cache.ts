// Keeps decoded units in bounded memory, and decodes the next ones ahead.

import { orCancelled } from '../../errors/errors.js';
import type { Unit } from './packed-index.js';
import type { DecodedUnit } from './unit-decoder.js';

/** Bounds on the room for units that are kept or being decoded, in bytes of data. One unit may exceed it. */
const LEAST_ROOM = 32 << 20;
const MOST_ROOM = 72 << 20;
/** Two units can be decoded while another one is read. */
const UNITS_AT_ONCE = 3;

export class UnitCache {
  /** Decoded units by number, the least recently used first. */
  readonly #kept = new Map<number, DecodedUnit>();
  readonly #decoding = new Map<number, Promise<DecodedUnit>>();
  /** The data of the units that have room: they are kept or being decoded. */
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
    const largest = units.reduce((largest, { size }) => Math.max(largest, size), 0);
    this.#room = Math.min(Math.max(UNITS_AT_ONCE * largest, LEAST_ROOM), MOST_ROOM);
    if (!first) return;
    this.#kept.set(0, first);
    this.#taken = first.size;
  }

  /** Resolves to the unit of this number. Fails as `decode` does, and with `cancelled`. */
  async get(number: number, signal: AbortSignal): Promise<DecodedUnit> {
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
    let size = this.units[number]!.size;
    for (let next = number + 1; next < Math.min(number + this.depth, this.units.length); next++) {
      size += this.units[next]!.size;
      if (size > this.#room) return;
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
    const { size } = this.units[number]!;
    await this.#makeRoom(size);
    try {
      const unit = await this.decode(number);
      this.#kept.set(number, unit);
      return unit;
    } catch (thrown) {
      this.#taken -= size;
      throw thrown;
    } finally {
      this.#running -= 1;
      for (const proceed of this.#waiting.splice(0)) proceed();
    }
  }

  /** Takes room for a unit: drops those that were not used for longest, or waits until others have been decoded. */
  async #makeRoom(size: number): Promise<void> {
    for (;;) {
      for (const number of this.#kept.keys()) {
        if (this.#taken + size <= this.#room) break;
        this.#kept.delete(number);
        this.#taken -= this.units[number]!.size;
      }
      if (this.#taken + size <= this.#room || this.#running === 0) break;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    this.#taken += size;
    this.#running += 1;
  }
}
