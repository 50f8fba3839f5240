// The public types of `decant/contents`. All sizes and offsets are in bytes.

/** A file system, or another structure that holds some: "LVM", "LUKS". */
export interface FileSystem {
  /** The common name: "ext4", "NTFS". */
  name: string;
  /** Its label, unchanged: show it with `shownText`. */
  label?: string;
  /** Its size, if it states one. */
  size?: number;
}

/** A partition, or a file system that covers the whole disk. */
export interface Partition {
  /** The guest offset. */
  offset: number;
  /** The length in bytes. */
  size: number;
  /** The name in the partition table, unchanged: show it with `shownText`. */
  name?: string;
  /** The type in the partition table, if it is a common one. */
  type?: string;
  /** The file system in it, if it is recognised. */
  fileSystem?: FileSystem;
}

/** A partition table. */
export interface Table {
  /** The kind of table. */
  kind: 'MBR' | 'GPT';
  /** The partitions, in the order of the table. */
  parts: Partition[];
  /** Whether a part of it is unreadable: the backup was used, or partitions are missing here. */
  isDamaged: boolean;
}

/** The contents of a disk. */
export interface Contents {
  /** The partition table, if the disk has one. */
  table?: Omit<Table, 'parts'>;
  /** The partitions; without a table, a file system that begins where the disk begins. */
  parts: Partition[];
}
