// What tells a conversion from all others, for resuming it: the same text stands for the same bytes of output.

import { bytesToHex } from '@noble/hashes/utils.js';
import type { ImageSetup } from '../client-side/session.js';
import type { ConvertOptions } from '../public/given.js';
import type { HeaderInfo } from '../public/types.js';
import type { CrateExtent } from '../worker-side/coordinator-methods.js';
import { contentOf } from './content-digest.js';

/** What the journal of an older version says may not hold for a newer one. */
const VERSION = 2;

/** Why a conversion cannot be resumed. */
export interface Refusal {
  reason: string;
}

/** What is converted. */
interface Subject {
  info: HeaderInfo;
  comesInOrder: boolean;
  /** Lists the extents of the disk. */
  layout(): AsyncIterable<CrateExtent[]>;
}

/** A digest, or why a conversion cannot be resumed. What it is made of may be secret. */
export async function identityOf(
  { sources, settings }: ImageSetup,
  { info, comesInOrder, layout }: Subject,
  format: string,
  compressed: boolean,
  { formatOptions = {}, sparse = true }: ConvertOptions,
): Promise<string | Refusal> {
  if (compressed) return { reason: `an output in ${format} is made in one go` };
  if (settings.salvage) return { reason: 'what is lost is found in one go' };
  if (comesInOrder) return { reason: 'a disk that is packed in is read in one go' };
  // Without a check of its password the same image could be two disks.
  if (info.layers.some(({ encryption }) => encryption === 'aes'))
    return { reason: 'the image is encrypted by the old AES method' };
  const states = sources.all.map(({ state }) => state);
  if (states.includes(undefined)) return { reason: 'nothing tells later whether the image is still the same' };
  const { companions } = sources;
  const { format: opened, snapshot } = settings;
  if (crypto.subtle === undefined) return { reason: 'the page is not served over https' };
  // A file can change and keep its name, size and time.
  const content = await contentOf(sources.all, layout);
  const subject = { opened, snapshot, states, companions, content };
  const text = JSON.stringify({ version: VERSION, format, formatOptions, sparse, ...subject });
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
  return bytesToHex(digest);
}
