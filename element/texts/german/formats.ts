// German names of formats that Decant does not read, and German advice for each.

import type { Fields } from 'decant';

/** The name of a format with its article, and advice. */
type KnownFormat = [name: string, advice?: string];

const UNPACK = 'Entpacken Sie die Datei zuerst.';
const OTHER_FILE = 'Die Platte ist eine andere Datei.';

/** Files that are not disk images, as in `crate/src/format/strangers.rs`. */
export const STRANGERS: Record<string, KnownFormat> = {
  'git-lfs': ['ein Zeiger von Git LFS', 'Holen Sie das Abbild, für das er steht, mit git lfs pull.'],
  html: [
    'eine Webseite',
    'Vielleicht hat ein Server sie statt des Abbilds geschickt: laden Sie das Abbild noch einmal herunter.',
  ],
  ovf: ['ein OVF-Deskriptor (.ovf)', 'Öffnen Sie die Platte, die er nennt.'],
  vbox: ['eine Konfiguration von VirtualBox (.vbox)', 'Öffnen Sie ihre Platte, eine .vdi- oder .vmdk-Datei.'],
  vmx: ['eine Konfiguration von VMware (.vmx)', 'Öffnen Sie ihre Platte, die .vmdk-Datei.'],
  pdf: ['ein PDF'],
  picture: ['ein Bild'],
  sound: ['eine Tondatei'],
  video: ['ein Video'],
  document: ['ein Dokument, etwa von Word oder Excel'],
  xml: ['ein XML-Dokument', 'Vielleicht hat ein Server es statt des Abbilds geschickt.'],
  json: ['ein JSON-Dokument', 'Vielleicht hat ein Server es statt des Abbilds geschickt.'],
  xva: [
    'ein Export von XenServer (XVA)',
    'Seine Platte ist in viele Dateien zerteilt: exportieren Sie die Platte allein, als VHD oder als rohe Platte.',
  ],
  vma: ['eine Sicherung von Proxmox (VMA)', 'Holen Sie die Platte mit vma extract heraus.'],
  '7z': ['ein 7z-Archiv', UNPACK],
  rar: ['ein rar-Archiv', UNPACK],
  cpio: ['ein cpio-Archiv', UNPACK],
  deb: ['ein Debian-Paket', UNPACK],
  ar: ['ein ar-Archiv', UNPACK],
  rpm: ['ein RPM-Paket', UNPACK],
  cab: ['ein Cabinet-Archiv (.cab)', UNPACK],
  xar: ['ein xar-Archiv (etwa ein .pkg-Paket)', UNPACK],
  lha: ['ein LHA-Archiv', UNPACK],
  'btrfs-stream': ['die Ausgabe von btrfs send', 'Empfangen Sie sie zuerst mit btrfs receive auf einer Platte.'],
  'zfs-stream': ['die Ausgabe von zfs send', 'Empfangen Sie sie zuerst mit zfs receive auf einer Platte.'],
  'linux-kernel': ['ein Linux-Kernel', OTHER_FILE],
  core: ['ein Speicherauszug'],
  elf: ['ein Linux-Programm'],
  exe: ['ein Windows-Programm'],
  'vm-state': ['ein gespeicherter Zustand einer virtuellen Maschine', OTHER_FILE],
  sqlite: ['eine SQLite-Datenbank'],
  wasm: ['ein WebAssembly-Modul'],
  'git-pack': ['ein Git-Pack'],
  compress: ['eine mit compress komprimierte Datei (.Z)', UNPACK],
  lrzip: ['eine mit lrzip komprimierte Datei', UNPACK],
  lzop: ['eine mit lzop komprimierte Datei', UNPACK],
  lzip: ['eine mit lzip komprimierte Datei', UNPACK],
  lzma: ['eine mit LZMA komprimierte Datei', UNPACK],
  'zip-part': ['ein Teil eines zip-Archivs', 'Entpacken Sie es zuerst, aus seiner .zip-Datei.'],
  wim: ['ein Windows-Abbild aus Dateien (WIM)', 'Übertragen Sie es zuerst auf eine Platte.'],
  text: ['eine Textdatei'],
};

const BY_QEMU = 'Machen Sie mit qemu-img convert eine rohe Platte daraus.';

const BY_HDIUTIL = 'Machen Sie auf einem Mac mit hdiutil eine rohe Platte daraus.';

/** Disk images and containers, as in `crate/src/format/foreign.rs`. */
export const FOREIGN: Record<string, KnownFormat> = {
  bochs: ['eine Platte von Bochs', BY_QEMU],
  cloop: ['ein komprimiertes Loop-Abbild (cloop)', BY_QEMU],
  dmg: [
    'ein DMG-Abbild (Platte von Apple)',
    'Machen Sie mit qemu-img convert eine rohe Platte daraus, oder auf einem Mac mit hdiutil.',
  ],
  iso: ['ein Abbild einer CD oder DVD (ISO 9660)', 'Virtuelle Maschinen können direkt davon starten.'],
  ewf: ['ein EnCase-Abbild (EWF)', 'Exportieren Sie es mit ewfexport als rohe Platte.'],
  aff: ['ein forensisches Abbild (AFF)', 'Machen Sie mit affconvert eine rohe Platte daraus.'],
  'encrypted-dmg': ['ein verschlüsseltes DMG-Abbild (Platte von Apple)', BY_HDIUTIL],
  sparseimage: ['ein Sparse-Abbild von Apple (sparseimage)', BY_HDIUTIL],
  asif: ['ein Sparse-Abbild von Apple (ASIF)', 'Machen Sie auf einem Mac mit diskutil eine rohe Platte daraus.'],
  'android-sparse': ['ein Sparse-Abbild von Android', 'Machen Sie mit simg2img eine rohe Platte daraus.'],
  partclone: [
    'eine einzelne Partition, von partclone (Clonezilla) gesichert',
    'Stellen Sie sie mit partclone.restore wieder her.',
  ],
  partimage: ['eine einzelne Partition, von partimage gesichert', 'Stellen Sie sie mit partimage wieder her.'],
};

/** The entry of `formats` for the format in `field`, if there is one. */
export const knownIn = (formats: Record<string, KnownFormat>, field: Fields[string]): KnownFormat | undefined =>
  typeof field === 'string' && Object.hasOwn(formats, field) ? formats[field] : undefined;
