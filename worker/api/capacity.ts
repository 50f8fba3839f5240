// The capacity that the description of a virtual machine states for a disk. The crate compares it with a disk in an archive; here are
// those beside a descriptor, and those that are unpacked first.

import type { AnyInfo } from '../public/types.js';
import type { Capacity } from '../worker-side/coordinator-methods.js';

/** The most bytes by which a disk is larger than what it holds: it has whole sectors. */
const SECTOR = 512;

/** Adds a notice to `info` if its disk has another capacity than `stated`. */
export function checkCapacity(info: Pick<AnyInfo, 'virtualSize' | 'safety'>, stated: Capacity | undefined): void {
  const { virtualSize: size, safety } = info;
  if (!stated || size === undefined) return;
  const { size: capacity, unit } = stated;
  if (Math.abs(capacity - size) < Math.max(unit, SECTOR)) return;
  const message = `The description of the virtual machine states ${capacity} bytes for this disk, which has ${size}: it may be the wrong disk, or incomplete`;
  safety.push({ code: 'ovf-capacity', fields: { capacity, size }, message });
}
