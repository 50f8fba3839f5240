// The digest of a disk: a conversion whose output nobody keeps. Loaded when it is needed.

import { DecantError } from '../errors/errors.js';
import type { TargetSpec } from '../messages/messages.js';
import type { DigestOptions, DiskDigest, TreeDigest } from '../public/types.js';
import type { OutputTarget } from '../targets/output-target.js';
import type { ConversionContext } from './conversion-disks.js';
import { convertInto } from './conversion-run.js';
import { asPhase } from './whole-progress.js';

/** A target that keeps nothing. */
const nowhere: OutputTarget = {
  prepare: async (): Promise<TargetSpec> => ({ nowhere: true }),
  commit: async () => {},
  discard: async () => {},
};

/** The digest of the disk of `conversion`. Fails as a conversion does. */
export async function digestOf(
  conversion: ConversionContext,
  { tree = false, ...options }: DigestOptions & { memory?: number },
): Promise<DiskDigest | TreeDigest> {
  const onProgress = asPhase('digesting', (progress) => options.onProgress?.(progress));
  const settings = { ...options, onProgress, format: 'raw' };
  const { digest, notices } = await convertInto(nowhere, conversion, settings, tree ? 'tree' : 'sha256');
  if (!digest) throw new DecantError('internal', 'The disk has no digest');
  const { sha256, ...others } = digest;
  return { ...(tree ? { fsverity: `sha256:${sha256}` } : { sha256 }), ...others, notices };
}
