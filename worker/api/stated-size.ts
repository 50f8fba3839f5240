// The size of a streamed disk that its container states.

import type { DiskMember, HeaderInfo } from '../public/types.js';

/** A disk of another size may be followed by the footer of a fixed VHD, which is not a part of it. */
const USUAL_UNIT = 4096;

/** Returns the size of a streamed disk in bytes, if the only archive around it states it for one of its `members`. */
export function sizeInArchive({ containers }: HeaderInfo, members: readonly DiskMember[]): number | undefined {
  const [archive, ...others] = containers.filter(({ member }) => member !== undefined);
  // A compressed file in the archive has another size.
  if (!archive || archive !== containers.at(-1) || others.length > 0) return undefined;
  return certainSize(members.find(({ name }) => name === archive.member)?.size);
}

/** Returns `size` if it can only be that of the disk. */
export const certainSize = (size: number | undefined): number | undefined =>
  size !== undefined && size > 0 && size % USUAL_UNIT === 0 && Number.isSafeInteger(size) ? size : undefined;
