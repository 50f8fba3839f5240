// Identifies a conversion, for resuming: conversions with the same identity write the same bytes.

import type { ImageSetup } from '../client-side/image-session.js';
import { hexOf } from '../errors/values.js';
import type { ConvertOptions } from '../public/caller-types.js';
import type { HeaderInfo } from '../public/types.js';
import type { CrateExtent } from '../worker-side/coordinator-methods.js';
import { contentOf } from './content-digest.js';
import type { ChosenFormat } from './output-format.js';

/** Changes when the output of the same conversion may differ: older journals are not resumed then. */
const VERSION = 2;

/** Why a conversion cannot be resumed. */
export interface Refusal {
  reason: string;
}

interface Subject {
  info: HeaderInfo;
  comesInOrder: boolean;
  /** Lists the extents of the disk. */
  layout(): AsyncIterable<CrateExtent[]>;
}

/** Returns the identity as a digest, since its parts may be secret, or why the conversion cannot be resumed. */
export async function identityOf(
  { sources, settings }: ImageSetup,
  { info, comesInOrder, layout }: Subject,
  { name: format, formatOptions, resumable }: ChosenFormat,
  { sparse = true }: ConvertOptions,
): Promise<string | Refusal> {
  if (!resumable) {
    const options = Object.entries(formatOptions).map((option) => option.join('='));
    const chosen = options.length > 0 ? `${format} (${options.join(', ')})` : format;
    return { reason: `the output format ${chosen} is written in one pass` };
  }
  if (settings.salvage) return { reason: 'salvage reads the image in one pass' };
  if (comesInOrder) return { reason: 'the container of the image is read in one pass' };
  // Nothing verifies the password: the same image with two passwords gives two disks.
  if (info.layers.some(({ encryption }) => encryption === 'aes'))
    return { reason: 'the image has the legacy AES encryption' };
  const states = sources.all.map(({ state }) => state);
  if (states.includes(undefined)) return { reason: 'a later change of the image could not be detected' };
  const { companions } = sources;
  const { format: opened, disk, snapshot } = settings;
  if (crypto.subtle === undefined) return { reason: 'the page is not served over https' };
  // A file can change without a change of its name, size and time.
  const content = await contentOf(sources.all, layout);
  const subject = { opened, disk, snapshot, states, companions, content };
  const text = JSON.stringify({ version: VERSION, format, formatOptions, sparse, ...subject });
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
  return hexOf(digest);
}
