// Generated from the registries of the core by `npm run registries`: do not edit.

/** A format that is recognised by content. */
export interface KnownFormat {
  name: string;
  /** Other names, in lower case. */
  aliases: string[];
  /** In lower case, with the dot; the most common one first. */
  extensions: string[];
  /** An image that Decant reads or not, the configuration of a machine, or something else. */
  kind: 'image' | 'unsupported' | 'machine' | 'stranger';
}

/** All formats, in probe order. */
export const FORMATS: readonly KnownFormat[] = [
  { name: 'qcow2', aliases: [], extensions: ['.qcow2', '.qcow'], kind: 'image' },
  { name: 'vdi', aliases: [], extensions: ['.vdi'], kind: 'image' },
  { name: 'vmdk', aliases: [], extensions: ['.vmdk'], kind: 'image' },
  { name: 'qed', aliases: [], extensions: ['.qed'], kind: 'image' },
  { name: 'vpc', aliases: ['vhd'], extensions: ['.vhd', '.avhd'], kind: 'image' },
  { name: 'vhdx', aliases: [], extensions: ['.vhdx', '.avhdx'], kind: 'image' },
  { name: 'parallels', aliases: [], extensions: ['.hds', '.hdd'], kind: 'image' },
  { name: 'luks', aliases: [], extensions: ['.luks'], kind: 'image' },
  { name: 'raw', aliases: [], extensions: ['.raw', '.img', '.dd', '.bin'], kind: 'image' },
  { name: 'bochs', aliases: [], extensions: [], kind: 'unsupported' },
  { name: 'cloop', aliases: [], extensions: [], kind: 'unsupported' },
  { name: 'dmg', aliases: [], extensions: ['.dmg'], kind: 'unsupported' },
  { name: 'iso', aliases: [], extensions: ['.iso'], kind: 'unsupported' },
  { name: 'ewf', aliases: [], extensions: ['.e01', '.ex01'], kind: 'unsupported' },
  { name: 'aff', aliases: [], extensions: ['.aff'], kind: 'unsupported' },
  { name: 'encrypted-dmg', aliases: [], extensions: [], kind: 'unsupported' },
  { name: 'sparseimage', aliases: [], extensions: ['.sparseimage'], kind: 'unsupported' },
  { name: 'asif', aliases: [], extensions: ['.asif'], kind: 'unsupported' },
  { name: 'android-sparse', aliases: [], extensions: ['.simg'], kind: 'unsupported' },
  { name: 'partclone', aliases: [], extensions: [], kind: 'unsupported' },
  { name: 'partimage', aliases: [], extensions: [], kind: 'unsupported' },
  { name: 'git-lfs', aliases: [], extensions: [], kind: 'stranger' },
  { name: 'html', aliases: [], extensions: [], kind: 'stranger' },
  { name: 'ovf', aliases: [], extensions: ['.ovf'], kind: 'machine' },
  { name: 'vbox', aliases: [], extensions: ['.vbox'], kind: 'machine' },
  { name: 'vmx', aliases: [], extensions: ['.vmx'], kind: 'machine' },
  { name: 'pdf', aliases: [], extensions: [], kind: 'stranger' },
  { name: 'picture', aliases: [], extensions: [], kind: 'stranger' },
  { name: 'sound', aliases: [], extensions: [], kind: 'stranger' },
  { name: 'video', aliases: [], extensions: [], kind: 'stranger' },
  { name: 'document', aliases: [], extensions: [], kind: 'stranger' },
  { name: 'xml', aliases: [], extensions: [], kind: 'stranger' },
  { name: 'json', aliases: [], extensions: [], kind: 'stranger' },
  { name: 'xva', aliases: [], extensions: ['.xva'], kind: 'stranger' },
  { name: 'vma', aliases: [], extensions: ['.vma'], kind: 'stranger' },
  { name: '7z', aliases: [], extensions: ['.7z'], kind: 'stranger' },
  { name: 'rar', aliases: [], extensions: ['.rar'], kind: 'stranger' },
  { name: 'cpio', aliases: [], extensions: [], kind: 'stranger' },
  { name: 'deb', aliases: [], extensions: [], kind: 'stranger' },
  { name: 'ar', aliases: [], extensions: [], kind: 'stranger' },
  { name: 'rpm', aliases: [], extensions: [], kind: 'stranger' },
  { name: 'cab', aliases: [], extensions: [], kind: 'stranger' },
  { name: 'xar', aliases: [], extensions: [], kind: 'stranger' },
  { name: 'lha', aliases: [], extensions: [], kind: 'stranger' },
  { name: 'btrfs-stream', aliases: [], extensions: [], kind: 'stranger' },
  { name: 'zfs-stream', aliases: [], extensions: [], kind: 'stranger' },
  { name: 'linux-kernel', aliases: [], extensions: [], kind: 'stranger' },
  { name: 'core', aliases: [], extensions: [], kind: 'stranger' },
  { name: 'elf', aliases: [], extensions: [], kind: 'stranger' },
  { name: 'exe', aliases: [], extensions: [], kind: 'stranger' },
  { name: 'vm-state', aliases: [], extensions: [], kind: 'stranger' },
  { name: 'sqlite', aliases: [], extensions: [], kind: 'stranger' },
  { name: 'wasm', aliases: [], extensions: [], kind: 'stranger' },
  { name: 'git-pack', aliases: [], extensions: [], kind: 'stranger' },
  { name: 'compress', aliases: [], extensions: [], kind: 'stranger' },
  { name: 'lrzip', aliases: [], extensions: [], kind: 'stranger' },
  { name: 'lzop', aliases: [], extensions: [], kind: 'stranger' },
  { name: 'lzip', aliases: [], extensions: [], kind: 'stranger' },
  { name: 'lzma', aliases: [], extensions: ['.lzma'], kind: 'stranger' },
  { name: 'zip-part', aliases: [], extensions: [], kind: 'stranger' },
  { name: 'wim', aliases: [], extensions: ['.wim'], kind: 'stranger' },
];

/** The names of files that describe a disk in their folder. */
export const FOLDER_FILES = ['DiskDescriptor.xml'];

/** What an image may be packed in, in probe order. */
export const CONTAINERS: readonly {
  name: string;
  extensions: string[];
  /** Whether it may contain several files. */
  isArchive: boolean;
  /** Whether it can be decoded as a stream. */
  isReadInOrder: boolean;
}[] = [
  { name: 'gzip', extensions: ['.gz'], isArchive: false, isReadInOrder: true },
  { name: 'xz', extensions: ['.xz'], isArchive: false, isReadInOrder: true },
  { name: 'zstd', extensions: ['.zst', '.zstd'], isArchive: false, isReadInOrder: true },
  { name: 'bzip2', extensions: ['.bz2'], isArchive: false, isReadInOrder: true },
  { name: 'lz4', extensions: ['.lz4'], isArchive: false, isReadInOrder: true },
  { name: 'tar', extensions: ['.tar', '.ova', '.tgz', '.box'], isArchive: true, isReadInOrder: true },
  { name: 'zip', extensions: ['.zip'], isArchive: true, isReadInOrder: false },
];

/** What Decant writes, in the order in which it is offered. The first extension is that of new files. */
export const OUTPUTS: readonly {
  name: string;
  aliases: string[];
  extensions: string[];
  /** Whether a file may have several disks. */
  severalDisks: boolean;
  /** The format of the disk in a file: its own, unless the output is a container. */
  content: string;
  /** The number of containers around the disk. */
  containers: number;
}[] = [
  {
    name: 'raw',
    aliases: [],
    extensions: ['.raw', '.img', '.dd', '.bin'],
    severalDisks: false,
    content: 'raw',
    containers: 0,
  },
  { name: 'qcow2', aliases: [], extensions: ['.qcow2'], severalDisks: false, content: 'qcow2', containers: 0 },
  { name: 'vmdk', aliases: [], extensions: ['.vmdk'], severalDisks: false, content: 'vmdk', containers: 0 },
  { name: 'vpc', aliases: ['vhd'], extensions: ['.vhd', '.avhd'], severalDisks: false, content: 'vpc', containers: 0 },
  { name: 'vhdx', aliases: [], extensions: ['.vhdx', '.avhdx'], severalDisks: false, content: 'vhdx', containers: 0 },
  { name: 'vdi', aliases: [], extensions: ['.vdi'], severalDisks: false, content: 'vdi', containers: 0 },
  { name: 'raw.gz', aliases: [], extensions: ['.raw.gz', '.gz'], severalDisks: false, content: 'raw', containers: 1 },
  {
    name: 'raw.zst',
    aliases: [],
    extensions: ['.raw.zst', '.zst'],
    severalDisks: false,
    content: 'raw',
    containers: 1,
  },
  { name: 'raw.xz', aliases: [], extensions: ['.raw.xz', '.xz'], severalDisks: false, content: 'raw', containers: 1 },
  { name: 'tar.gz', aliases: [], extensions: ['.tar.gz', '.tgz'], severalDisks: false, content: 'raw', containers: 2 },
  { name: 'ova', aliases: [], extensions: ['.ova'], severalDisks: true, content: 'vmdk', containers: 1 },
];

/**
 * A codec whose wasm, `NAME.wasm`, is loaded only for images, files and outputs that need it. `crypt` has ciphers and
 * hashes.
 */
export type Codec = 'bzip2' | 'crypt' | 'deflate' | 'lz4' | 'xz' | 'zstd';

/** The wasm of each codec. The URLs are literals, so that bundlers find them. */
export const CODEC_URLS: Record<Codec, () => URL> = {
  bzip2: () => new URL('./bzip2.wasm', import.meta.url),
  crypt: () => new URL('./crypt.wasm', import.meta.url),
  deflate: () => new URL('./deflate.wasm', import.meta.url),
  lz4: () => new URL('./lz4.wasm', import.meta.url),
  xz: () => new URL('./xz.wasm', import.meta.url),
  zstd: () => new URL('./zstd.wasm', import.meta.url),
};
