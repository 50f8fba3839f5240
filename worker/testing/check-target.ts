// Tests the contract of `Target` in types.contracts.ts.

import { DecantError } from '../errors/errors.js';
import type { Target } from '../public/types.js';
import { Findings, firstDifference } from './findings.js';

/** The length of a piece, in bytes. */
const PIECE_LENGTH = 1 << 20;
/** The length of the last piece, in bytes: less than a block. */
const LAST_LENGTH = 512;
/** The pieces of the test disk. */
const KINDS = ['data', 'hole', 'data', 'data', 'hole', 'data', 'hole'] as const;
const SIZE = (KINDS.length - 1) * PIECE_LENGTH + LAST_LENGTH;
/** How long a conversion waits for `abort` by default, in seconds. */
const ABORT_TIMEOUT = 0.2;

interface DiskPiece {
  kind: 'data' | 'hole';
  offset: number;
  length: number;
}

const pieces: DiskPiece[] = KINDS.map((kind, at) => ({
  kind,
  offset: at * PIECE_LENGTH,
  length: at === KINDS.length - 1 ? LAST_LENGTH : PIECE_LENGTH,
}));

/** The bytes of a piece, in a new array. */
function bytesOf({ kind, offset, length }: DiskPiece): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  if (kind === 'hole') return bytes;
  for (let at = 0; at < length; at += 1) bytes[at] = ((offset + at) * 2_654_435_761) >>> 24 || 1;
  return bytes;
}

/**
 * Tests the contract of `Target`. `make` returns a new target at each call. `readBack` returns the bytes that were written to a
 * target, or `undefined` if it has no complete output. Writes 6 MiB a few times. A call that does not settle within 10 seconds,
 * or an `abort` within `abortTimeout`, ends the test. Resolves to a list of sentences, one for each fault; to an empty list if
 * there is none.
 */
export async function checkTarget<T extends Target>(
  make: () => T | Promise<T>,
  readBack: (target: T) => Promise<Uint8Array | undefined> | Uint8Array | undefined,
): Promise<string[]> {
  const findings = new Findings();
  const contract = new TargetContract(make, readBack, findings);
  return findings.of(async () => {
    if (!(await contract.checkProperties())) return;
    await contract.checkDisk('a disk', pieces);
    await contract.checkDisk('an empty disk', []);
    await contract.checkLateStart();
    await contract.checkAbort('before open', async () => {});
    await contract.checkAbort('after open', (target) => contract.open(target, SIZE));
    await contract.checkAbort('after a write', async (target) => {
      await contract.open(target, SIZE);
      await contract.put(target, pieces[0]!);
    });
    await contract.checkAbort('while it writes', async (target) => {
      await contract.open(target, SIZE);
      const writing = (async () => target.write(0, bytesOf(pieces[0]!)))();
      // An aborted write may fail: only the remaining output counts.
      writing.catch(() => {});
    });
  });
}

class TargetContract<T extends Target> {
  constructor(
    private readonly make: () => T | Promise<T>,
    private readonly readBack: (target: T) => Promise<Uint8Array | undefined> | Uint8Array | undefined,
    private readonly findings: Findings,
  ) {}

  async checkProperties(): Promise<boolean> {
    const target = await this.#made();
    if (!target) return false;
    const { concurrency, ascending, lateStart }: Record<'concurrency' | 'ascending' | 'lateStart', unknown> =
      target as never;
    for (const name of ['write', 'close', 'abort'] as const) {
      if (typeof target[name] !== 'function') this.findings.add(`${name} must be a function`);
    }
    for (const name of ['open', 'hole'] as const) {
      if (target[name] !== undefined && typeof target[name] !== 'function') {
        this.findings.add(`${name} must be a function`);
      }
    }
    if (
      concurrency !== undefined &&
      !(Number.isInteger(concurrency) && Number(concurrency) >= 1 && Number(concurrency) <= 64)
    ) {
      this.findings.add(`concurrency is ${String(concurrency)}, but must be a whole number from 1 to 64`);
    }
    if (ascending !== undefined && typeof ascending !== 'boolean') this.findings.add('ascending must be true or false');
    if (lateStart !== undefined && !(Number.isSafeInteger(lateStart) && Number(lateStart) >= 0)) {
      this.findings.add('lateStart must be a number of bytes');
    }
    if (this.findings.sentences.length > 0) return false;
    await this.findings.call('abort before open', () => target.abort(reason()));
    return true;
  }

  /** Writes the first bytes of a disk last, if the target accepts that. */
  async checkLateStart(): Promise<void> {
    const target = await this.#made();
    const length = Math.min(target?.lateStart ?? 0, PIECE_LENGTH);
    if (!target?.ascending || length === 0) return;
    await this.findings.call('abort before open', () => target.abort(reason()));
    const start: DiskPiece = { kind: 'data', offset: 0, length };
    const rest: DiskPiece = { kind: 'data', offset: length, length: PIECE_LENGTH - length };
    const others = [rest, ...pieces.slice(1)].filter((piece) => piece.length > 0);
    await this.checkDisk('a disk whose start is written last', [...others, start]);
  }

  /** Writes a disk of `pieces` as a conversion does, and compares the bytes that are read back. */
  async checkDisk(what: string, pieces: DiskPiece[]): Promise<void> {
    const target = await this.#made();
    if (!target) return;
    const { length } = this.findings.sentences;
    const size = pieces.reduce((sum, piece) => sum + piece.length, 0);
    await this.open(target, size);
    // Any order may occur: descending, for instance.
    const order = target.ascending ? pieces : pieces.toReversed();
    const concurrency = target.concurrency ?? (target.ascending ? 1 : 4);
    for (let at = 0; at < order.length; at += concurrency) {
      await Promise.all(order.slice(at, at + concurrency).map((piece) => this.put(target, piece)));
    }
    await this.findings.call('close', () => target.close());
    if (this.findings.sentences.length > length) return;
    const back = await this.findings.call('readBack', () => this.readBack(target));
    if (!back) return;
    if (!back.value) {
      this.findings.add(`${what} is missing after close`);
      return;
    }
    const expected = new Uint8Array(size);
    for (const piece of pieces) expected.set(bytesOf(piece), piece.offset);
    if (back.value.length !== size) this.findings.add(`${what} of ${size} bytes has ${back.value.length} after close`);
    else {
      const difference = firstDifference(back.value, expected);
      if (difference !== undefined) this.findings.add(`${what} has a wrong byte at ${difference} after close`);
    }
  }

  /** Aborts a target after `work`. Nothing that looks complete may be left. */
  async checkAbort(when: string, work: (target: T) => Promise<void>): Promise<void> {
    const target = await this.#made();
    if (!target) return;
    await work(target);
    const { abortTimeout = ABORT_TIMEOUT } = target;
    if (!(await this.findings.call(`abort ${when}`, () => target.abort(reason()), abortTimeout * 1000))) return;
    const back = await this.findings.call('readBack', () => this.readBack(target));
    if (back?.value && back.value.length >= SIZE) this.findings.add(`a complete disk remains after abort ${when}`);
  }

  async open(target: T, size: number): Promise<void> {
    const plan = { virtualSize: size, outputSize: size, ascending: target.ascending === true };
    await this.findings.call('open', () => target.open?.(plan));
  }

  async put(target: T, piece: DiskPiece): Promise<void> {
    const { kind, offset, length } = piece;
    if (kind === 'hole' && target.hole) {
      await this.findings.call(`hole(${offset}, ${length})`, () => target.hole!(offset, length));
    } else {
      await this.findings.call(`write(${offset}, ${length} bytes)`, () => target.write(offset, bytesOf(piece)));
    }
  }

  async #made(): Promise<T | undefined> {
    return (await this.findings.call('make', this.make))?.value;
  }
}

const reason = () => new DecantError('cancelled', 'The conversion was cancelled');
