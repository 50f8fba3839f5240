// Tests the contract of `Source` in types.contracts.ts.

import { shownValue } from '../errors/argument-checks.js';
import { reasonOf } from '../errors/errors.js';
import type { Source } from '../public/types.js';
import { Findings, firstDifference } from './findings.js';

/** The length of a long read, in bytes. */
const LONG = 4 << 20;
/** The number of concurrent reads: as many as a conversion makes. */
const AT_ONCE = 8;

interface ReadRange {
  offset: number;
  length: number;
}

/**
 * Tests the contract of `Source` on `source` and, if `expected` is given, compares its bytes. Reads at most 50 MiB. Resolves to
 * a list of sentences, one for each fault; to an empty list if there is none. A read that does not settle within 10 seconds ends
 * the test.
 */
export async function checkSource(source: Source, expected?: Uint8Array): Promise<string[]> {
  const findings = new Findings();
  if (!checkProperties(source, findings)) return findings.sentences;
  if (expected && expected.length !== source.size) {
    findings.add(`size is ${source.size}, but ${expected.length} bytes are expected`);
    return findings.sentences;
  }
  const contract = new SourceContract(source, findings, expected);
  return findings.of(async () => {
    if (source.size === 0 || !(await contract.checkRanges())) return;
    await contract.checkArraysGivenAway();
    await contract.checkReadsAtOnce();
    await contract.checkAbort();
  });
}

function checkProperties(source: unknown, findings: Findings): boolean {
  let properties: { size?: unknown; name?: unknown; read?: unknown };
  try {
    const { size, name, read } = source as typeof properties;
    properties = { size, name, read };
  } catch (thrown) {
    findings.add(`its properties cannot be read: ${reasonOf(thrown)}`);
    return false;
  }
  const { size, name, read } = properties;
  if (!Number.isSafeInteger(size) || (size as number) < 0) {
    findings.add(`size is ${shownValue(size)}, but must be a whole number from 0 to 2^53-1`);
  }
  if (name !== undefined && typeof name !== 'string') findings.add('name must be a string');
  if (typeof read !== 'function') findings.add('read must be a function');
  return findings.sentences.length === 0;
}

class SourceContract {
  readonly #ranges: ReadRange[];

  constructor(
    private readonly source: Source,
    private readonly findings: Findings,
    private readonly expected: Uint8Array | undefined,
  ) {
    const { size } = source;
    const wanted: [offset: number, length: number][] = [
      [0, 1],
      [0, 512],
      [0, LONG],
      [511, 4098],
      [Math.floor(size / 2), 65_536],
      [size - 1, 1],
      [size - 70_001, 70_001],
    ];
    const inside = wanted.map(([offset, length]) => {
      const start = Math.min(Math.max(offset, 0), size - 1);
      return { offset: start, length: Math.min(length, size - start) };
    });
    this.#ranges = inside;
  }

  /** Reads each range alone. Returns whether no fault was found. */
  async checkRanges(): Promise<boolean> {
    for (const range of this.#ranges) await this.#read(range, nameOf(range));
    return this.findings.sentences.length === 0;
  }

  /** Transfers buffers as a conversion does. The next read must not need them. */
  async checkArraysGivenAway(): Promise<void> {
    for (const range of this.#ranges.slice(1, 4)) {
      const first = await this.#read(range, nameOf(range));
      if (!first) return;
      const kept = first.slice();
      moveAway(first);
      const name = `${nameOf(range)}, repeated after its array was transferred,`;
      const again = await this.#read(range, name);
      if (again && firstDifference(kept, again) !== undefined) this.findings.add(`${name} returns other bytes`);
      if (!again) return;
    }
  }

  async checkReadsAtOnce(): Promise<void> {
    const { size } = this.source;
    const length = Math.min(size, 65_537);
    const step = Math.floor((size - length) / AT_ONCE);
    const ranges = Array.from({ length: AT_ONCE }, (_, at) => ({ offset: at * step, length }));
    const name = (range: ReadRange) => `${nameOf(range)}, one of ${AT_ONCE} at once,`;
    const together = await Promise.all(ranges.map((range) => this.#read(range, name(range))));
    for (const [at, range] of ranges.entries()) {
      const alone = await this.#read(range, nameOf(range));
      const other = together[at];
      if (alone && other && firstDifference(alone, other) !== undefined) {
        this.findings.add(`${name(range)} returns other bytes than alone`);
      }
    }
  }

  /** Aborts a read. Its result is ignored, but the next read must succeed. */
  async checkAbort(): Promise<void> {
    const range = this.#ranges[2]!;
    for (const before of [true, false]) {
      const abort = new AbortController();
      if (before) abort.abort();
      const reading = (async () => this.source.read(range.offset, range.length, { signal: abort.signal }))();
      // An aborted read may fail: only the next read counts.
      reading.catch(() => {});
      abort.abort();
      await this.#read(range, `${nameOf(range)}, after an aborted read,`);
    }
  }

  /** Reads a range. Resolves to `undefined`, and adds a fault, if the result is wrong. */
  async #read({ offset, length }: ReadRange, name: string): Promise<Uint8Array | undefined> {
    const { signal } = new AbortController();
    const result = await this.findings.call(name, () => this.source.read(offset, length, { signal }));
    if (!result) return undefined;
    const bytes: unknown = result.value;
    if (!(bytes instanceof Uint8Array)) {
      this.findings.add(`${name} does not return a Uint8Array`);
      return undefined;
    }
    if (bytes.length !== length) {
      this.findings.add(`${name} returns ${bytes.length} bytes`);
      return undefined;
    }
    const difference = this.expected && firstDifference(bytes, this.expected.subarray(offset, offset + length));
    if (difference === undefined) return bytes;
    this.findings.add(`${name} returns a wrong byte at ${offset + difference}`);
    return undefined;
  }
}

const nameOf = ({ offset, length }: ReadRange): string => `read(${offset}, ${length})`;

/** Transfers the buffer of `bytes` if it contains nothing else. */
function moveAway(bytes: Uint8Array): void {
  if (bytes.length !== bytes.buffer.byteLength) return;
  try {
    structuredClone(bytes.buffer, { transfer: [bytes.buffer as ArrayBuffer] });
  } catch {
    // Memory that cannot be transferred is copied by a conversion.
  }
}
