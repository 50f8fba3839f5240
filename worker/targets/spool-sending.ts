// Sends a temporary file to a custom target or stream, in ascending order, as a coordinator does.

import { DecantError, orCancelled } from '../errors/errors.js';
import { PIECE, type Piece, type PortSpec, type Taken } from '../messages/messages.js';
import type { ReadSpool } from './output-target.js';

/** The unit in which zeros are found, as in a conversion. */
const BLOCK = 4096;
/** A large hole is sent in this many parts for a whole output, so that progress is visible. */
const HOLE_PARTS = 1024;

/**
 * Sends the `size` bytes of `read`; blocks of zeros become holes if the target takes them. Resolves to the number of bytes sent,
 * without holes. Reports the end of what the target has taken. Fails with `cancelled` at once.
 */
export async function sendSpool(
  spec: PortSpec,
  size: number,
  read: ReadSpool,
  signal: AbortSignal,
  report: (sent: number) => void,
): Promise<number> {
  const sender = new PieceSender(spec, signal, report);
  const largestHole = Math.max(PIECE, size / HOLE_PARTS);
  let [written, hole] = [0, 0];
  const endHole = async (end: number) => {
    if (hole > 0) await sender.send({ offset: end - hole, length: hole }, end);
    hole = 0;
  };
  for (let offset = 0; offset < size; offset += PIECE) {
    const bytes = await orCancelled(signal, read(offset, Math.min(PIECE, size - offset)));
    for (const { start, end, isHole } of spec.holes ? blockRanges(bytes) : [wholeOf(bytes)]) {
      if (isHole) {
        hole += end - start;
        if (hole >= largestHole) await endHole(offset + end);
        continue;
      }
      await endHole(offset + start);
      const part = end - start === bytes.length ? bytes : bytes.slice(start, end);
      await sender.send({ offset: offset + start, bytes: part }, offset + end);
      written += end - start;
    }
  }
  await endHole(size);
  await sender.settled(0);
  return written;
}

/** Keeps the number of pieces in flight within the limit of the target. */
class PieceSender {
  /** The ends of the pieces in flight. */
  readonly #ends: number[] = [];
  #failed = false;
  #wake = () => {};

  constructor(
    private readonly spec: PortSpec,
    private readonly signal: AbortSignal,
    report: (sent: number) => void,
  ) {
    spec.port.onmessage = ({ data }) => {
      this.#failed ||= (data as Taken).failed;
      report(this.#ends.shift()!);
      this.#wake();
    };
  }

  /** Sends `piece`, which ends at `end`. Its buffer is given away. */
  async send(piece: Piece, end: number): Promise<void> {
    await this.settled(this.spec.pieces - 1);
    this.#ends.push(end);
    this.spec.port.postMessage(piece, 'bytes' in piece ? [piece.bytes.buffer] : []);
  }

  /** Waits until at most `inFlight` pieces are in flight. Fails if the target has failed. */
  async settled(inFlight: number): Promise<void> {
    while (!this.#failed && this.#ends.length > inFlight) {
      const change = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      await orCancelled(this.signal, change);
    }
    // The target knows the reason.
    if (this.#failed) throw new DecantError('target', 'Could not write the output: the target has failed');
  }
}

/** Adjacent blocks of `bytes` that are all zeros, or all not. */
interface BlockRange {
  start: number;
  end: number;
  isHole: boolean;
}

const wholeOf = (bytes: Uint8Array): BlockRange => ({ start: 0, end: bytes.length, isHole: false });

function blockRanges(bytes: Uint8Array): BlockRange[] {
  const ranges: BlockRange[] = [];
  for (let start = 0; start < bytes.length; start += BLOCK) {
    const end = Math.min(start + BLOCK, bytes.length);
    const isHole = isZero(bytes, start, end);
    const last = ranges.at(-1);
    if (last?.isHole === isHole) last.end = end;
    else ranges.push({ start, end, isHole });
  }
  return ranges;
}

function isZero(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    if (bytes[at] !== 0) return false;
  }
  return true;
}
