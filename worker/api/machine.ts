// The disk of a virtual machine, whose configuration was passed together with the files of its disks.

import type { ImageSetup } from '../client-side/image-session.js';
import type { AnyInfo, Member } from '../public/types.js';
import type { DiskOfMachine } from '../worker-side/coordinator-methods.js';

/**
 * From now on, `setup` opens `disk` in place of the configuration that names it. Returns the name of the image: `name`, the one that the
 * caller stated, or that of the file.
 */
export function openDisk(setup: ImageSetup, disk: DiskOfMachine, name: string | undefined): string {
  const { name: path, standsFor = path } = setup.sources.companions[disk.file]!;
  const ofDisk = name ?? standsFor;
  setup.sources.choose(disk.file);
  const snapshot = disk.isInSnapshot ? undefined : setup.settings.snapshot;
  setup.settings = { ...setup.settings, name: ofDisk, disk: undefined, snapshot, stated: disk.stated };
  return ofDisk;
}

/** What describes an image. */
interface DescribedImage {
  readonly info: AnyInfo;
  members: readonly Member[];
}

/** Describes `image`, which is `disk`, as a disk of its machine. */
export function describeDisk(image: DescribedImage, { members, number, machine, snapshots }: DiskOfMachine): void {
  const { info } = image;
  info.unusedCompanions = [];
  if (machine !== undefined) info.machine = machine;
  if (snapshots.length > 0) info.snapshots = snapshots;
  image.members = members.map((member, at) => (at === number ? { ...member, format: info.format } : member));
}
