// The public types of `decant/contents`. All sizes and offsets are in bytes.

/** A file system, or a structure that contains file systems: "LVM", "LUKS". */
export interface FileSystemInfo {
  /** The common name: "ext4", "NTFS". */
  readonly name: string;
  /** The label, unchanged: show it with `shownText`. */
  readonly label?: string;
  /** The size that it states, if it states one. */
  readonly size?: number;
}

/** A partition, or a file system that covers the whole disk. */
export interface Partition {
  /** The guest offset. */
  readonly offset: number;
  /** The length in bytes. */
  readonly length: number;
  /** The name in the partition table, unchanged: show it with `shownText`. */
  readonly name?: string;
  /** The type in the partition table, if it is common. */
  readonly type?: string;
  /** The file system in it, if it is recognised. */
  readonly fileSystem?: FileSystemInfo;
}

/** A partition table. */
export interface PartitionTable {
  /** The kind of table. */
  readonly kind: 'MBR' | 'GPT';
  /** The partitions, in the order of the table. */
  readonly partitions: readonly Partition[];
  /** Whether the table is damaged: the backup was used, or partitions are missing in `partitions`. */
  readonly damaged: boolean;
}

/** The firmware of a machine. */
export type Firmware = 'efi' | 'bios';

/** The contents of a disk. */
export interface Contents {
  /** The partition table, if the disk has one. */
  readonly table?: Omit<PartitionTable, 'partitions'>;
  /** The partitions; without a table, a file system at the start of the disk. */
  readonly partitions: readonly Partition[];
  /**
   * The firmware that can start the disk, if there are signs of it: an EFI system partition; a partition for boot code, or an MBR
   * with boot code and an active partition, or with GRUB.
   */
  readonly firmware?: readonly Firmware[];
}
