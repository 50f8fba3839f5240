// What a disk has inside.

export interface FileSystem {
  /** As people call it: "ext4", "NTFS". Also of what is no file system itself, but holds some: "LVM", "LUKS". */
  name: string;
  /** As it stands on the disk. */
  label?: string;
  /** In bytes. */
  size?: number;
}

export interface Part {
  /** Where it begins on the disk, in bytes. */
  offset: number;
  /** In bytes. */
  size: number;
  /** The name in the partition table, as it stands there. */
  name?: string;
  /** The type in the partition table, where it is a common one. */
  type?: string;
  fileSystem?: FileSystem;
}

export interface Table {
  kind: 'MBR' | 'GPT';
  /** In the order of the table. */
  parts: Part[];
  /** Whether some of it cannot be read: a copy was taken, or partitions are missing here. */
  isDamaged: boolean;
}

export interface Contents {
  /** Missing if the disk has none: then a file system may begin where the disk does. */
  table?: Omit<Table, 'parts'>;
  /** The partitions, or what takes the disk as a whole. */
  parts: Part[];
}
