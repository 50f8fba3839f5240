// Generated from the registries of the core by `npm run registries`: do not edit.

/** The names of formats that are read, for people. */
export const INPUTS = ['qcow2', 'VDI', 'VMDK', 'QED', 'VHD', 'VHDX', 'Parallels', 'LUKS', 'raw'];

/** The names of formats that are written, for people. */
export const OUTPUTS = ['raw', 'qcow2', 'VMDK', 'VHD', 'VHDX', 'VDI', 'raw.gz', 'raw.zst', 'raw.xz', 'tar.gz', 'OVA'];

/** The extensions of raw disks, with the dot. */
export const RAW_EXTENSIONS = ['.raw', '.img', '.dd', '.bin'];

/** The extensions of configurations of virtual machines. */
export const MACHINE_EXTENSIONS = ['.ovf', '.vbox', '.vmx'];

/** The extensions of images, of containers, and of files that are refused by name, with the dot. */
export const EXTENSIONS = [
  '.7z',
  '.aff',
  '.asif',
  '.avhd',
  '.avhdx',
  '.bin',
  '.box',
  '.bz2',
  '.dd',
  '.dmg',
  '.e01',
  '.ex01',
  '.gz',
  '.hdd',
  '.hds',
  '.img',
  '.iso',
  '.luks',
  '.lz4',
  '.lzma',
  '.ova',
  '.ovf',
  '.qcow',
  '.qcow2',
  '.qed',
  '.rar',
  '.raw',
  '.simg',
  '.sparseimage',
  '.tar',
  '.tgz',
  '.vbox',
  '.vdi',
  '.vhd',
  '.vhdx',
  '.vma',
  '.vmdk',
  '.vmx',
  '.wim',
  '.xva',
  '.xz',
  '.zip',
  '.zst',
  '.zstd',
];
