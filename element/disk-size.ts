// How large a disk is.

import type { AnyInfo } from 'decant';

/** The virtual size. If only the end of the disk tells it, the size of the file: the disk is rarely smaller. */
export const diskSize = ({ virtualSize, fileSize = 0 }: AnyInfo): number => virtualSize ?? fileSize;
