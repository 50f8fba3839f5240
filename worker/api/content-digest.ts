// A digest that identifies the content of files without reading all of it, for resuming a conversion.

import { hexOf, joined } from '../errors/values.js';
import type { ByteRange } from '../http/ranges.js';
import type { OpenedSource } from '../sources/opened-source.js';
import type { CrateExtent } from '../worker-side/coordinator-methods.js';

/** The bytes digested at the start and at the end of a file, where headers are. */
const END = 64 << 10;
/** The number of samples between them, evenly spaced, and the bytes of each. */
const SAMPLES = 64;
const SAMPLE = 4 << 10;

const KINDS: CrateExtent['kind'][] = ['data', 'zero', 'unallocated', 'lost'];

/** A digest of digests: Web Crypto cannot digest a stream, and each input must fit into memory. */
class ChainedDigest {
  #state = new Uint8Array(0);

  async add(bytes: Uint8Array): Promise<void> {
    this.#state = new Uint8Array(await crypto.subtle.digest('SHA-256', joined([this.#state, bytes])));
  }

  get hex(): string {
    return hexOf(this.#state);
  }
}

/**
 * Digests the local `sources` (their starts, ends and samples) and their tables (`layout`, the extents of the disk). Sources
 * on servers are left out: servers report the state of a file. Resolves to an empty string if no source is local.
 */
export async function contentOf(sources: OpenedSource[], layout: () => AsyncIterable<CrateExtent[]>): Promise<string> {
  const digest = new ChainedDigest();
  const local = sources.filter(({ peek }) => peek !== undefined);
  if (local.length === 0) return '';
  for (const source of local) {
    await digest.add(joined(await source.peek!(samplesOf(source.size!))));
  }
  for await (const extents of layout()) await digest.add(bytesOf(extents));
  return digest.hex;
}

/** The ranges to digest of a file of `size` bytes: all of it if it is small. */
export function samplesOf(size: number): ByteRange[] {
  if (size <= 2 * END + SAMPLES * SAMPLE) return [{ start: 0, end: size }];
  const step = (size - 2 * END) / SAMPLES;
  const between = Array.from({ length: SAMPLES }, (_, at) => END + Math.floor((at + 0.5) * step - SAMPLE / 2));
  return [
    { start: 0, end: END },
    ...between.map((start) => ({ start, end: start + SAMPLE })),
    { start: size - END, end: size },
  ];
}

function bytesOf(extents: CrateExtent[]): Uint8Array {
  const numbers = extents.flatMap(({ start, length, kind, depth, file = -1, offset = -1, compressed, encrypted }) => [
    ...[start, length, KINDS.indexOf(kind), depth, file, offset],
    Number(compressed) + 2 * Number(encrypted),
  ]);
  return new Uint8Array(Float64Array.from(numbers).buffer);
}
