// The size of a disk.

import type { AnyInfo } from 'decant';

/** The virtual size. If it is known only at the end, the size of the file, since the disk is rarely smaller. */
export const diskSize = ({ virtualSize, fileSize = 0 }: AnyInfo): number => virtualSize ?? fileSize;
