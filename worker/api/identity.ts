// Identifies a conversion, for resuming: conversions with the same identity write the same bytes.

import type { ImageSetup } from '../client-side/image-session.js';
import type { ImageSessions } from '../client-side/image-sessions.js';
import { hexOf, joined } from '../errors/values.js';
import type { ByteRange } from '../http/ranges.js';
import type { CrateExtent, OpenResult } from '../messages/coordinator.js';
import type { SettledOptions } from '../public/caller-types.js';
import type { HeaderInfo } from '../public/types.js';
import type { OpenedSource } from '../sources/opened-source.js';
import type { ChosenFormat } from './output-format.js';

/** Changes when the output of the same conversion may differ: older journals are not resumed then. */
const VERSION = 2;

/** The digests of the contents of images that were identified before. */
const contents = new WeakMap<ImageSetup, string>();

/** Why a conversion cannot be resumed. */
export interface Refusal {
  reason: string;
}

/** An image that is converted. */
interface ConvertedImage {
  setup: ImageSetup;
  sessions: Pick<ImageSessions, 'layout'> & { opened: Pick<OpenResult, 'comesInOrder'> };
  info: HeaderInfo;
}

/** Returns the identity as a digest, since its parts may be secret, or why the conversion cannot be resumed. */
export async function identityOf(
  { setup, sessions, info }: ConvertedImage,
  { name: format, formatOptions, resumable }: ChosenFormat,
  { sparse = true, size, fixGpt }: SettledOptions,
  signal: AbortSignal,
): Promise<string | Refusal> {
  const { sources, settings } = setup;
  if (!resumable) {
    const options = Object.entries(formatOptions).map((option) => option.join('='));
    const chosen = options.length > 0 ? `${format} (${options.join(', ')})` : format;
    return { reason: `the output format ${chosen} is written in one pass` };
  }
  if (settings.salvage) return { reason: 'salvage reads the image in one pass' };
  if (sessions.opened.comesInOrder) return { reason: 'the container of the image is read in one pass' };
  // Nothing verifies the password: the same image with two passwords gives two disks.
  if (info.layers.some(({ encryption }) => encryption === 'aes'))
    return { reason: 'the image has the legacy AES encryption' };
  const states = sources.all.map(({ state }) => state);
  if (states.includes(undefined)) return { reason: 'a later change of the image could not be detected' };
  const { companions } = sources;
  const { format: opened, disk, snapshot } = settings;
  if (crypto.subtle === undefined) return { reason: 'the page is not served over https' };
  // A file can change without a change of its name, size and time.
  const content = contents.get(setup) ?? (await contentOf(sources.all, () => sessions.layout(signal)));
  contents.set(setup, content);
  const subject = { opened, disk, snapshot, states, companions, content };
  const text = JSON.stringify({ version: VERSION, format, formatOptions, sparse, size, fixGpt, ...subject });
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
  return hexOf(digest);
}

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
  const numbers = extents.flatMap(
    ({ offset, length, kind, depth, file = -1, hostOffset = -1, compressed, encrypted }) => [
      ...[offset, length, KINDS.indexOf(kind), depth, file, hostOffset],
      Number(compressed) + 2 * Number(encrypted),
    ],
  );
  return new Uint8Array(Float64Array.from(numbers).buffer);
}
