// The public types of what an image is. All sizes and offsets are in bytes.

import type { Firmware } from '../contents/disk-contents.js';
import type { ContainerInfo, ErrorKind, Fields, Snapshot } from '../errors/errors.js';
import type { ErrorCode, FileFindingCode, FindingCode, ImageFormat, LostCode, NoticeCode } from '../errors/names.js';

export type { ContainerInfo, DiskMember, Snapshot } from '../errors/errors.js';

/** The content of an image's headers. Names are unchanged: show them with `shownText`. */
export interface HeaderInfo {
  /** The name of the format, as in `qemu-img -f`. */
  readonly format: ImageFormat;
  /** The name of the image, if it has one. */
  readonly name?: string;
  /** The name of the virtual machine, if the image was opened by its configuration, or its archive has an OVF descriptor. */
  readonly machine?: string;
  /** The hardware of that machine, if its configuration names this disk. Outputs that describe a machine get it. */
  readonly hardware?: MachineHardware;
  /** The containers of the image, the outermost first. */
  readonly containers: readonly ContainerInfo[];
  /** The size of the image's file, or of the container's member that is the image; missing for a stream. */
  readonly fileSize?: number;
  /** The unit of allocation: a cluster, grain or block. */
  readonly clusterSize?: number;
  /** The version of the format. */
  readonly version?: number;
  /** The compression method, if data is compressed. */
  readonly compression?: string;
  /** The names of the feature bits that are set. */
  readonly features: readonly string[];
  /** The internal snapshots, in the order of the image's table. */
  readonly snapshots: readonly Snapshot[];
  /** The other files that the image names. */
  readonly references: readonly Reference[];
  /** How children may identify this image as their parent, in formats that record it. */
  readonly identities: readonly Identity[];
  /** How the image is encrypted, if it is. */
  readonly encryption?: { readonly format: 'luks' | 'aes'; readonly luks?: Luks };
  /** Properties that only this format has, as under `format-specific` in `qemu-img info --output=json`. */
  readonly specific: Readonly<Record<string, unknown>>;
  /** The image and the layers below it, as far as they were passed to `open`. */
  readonly layers: readonly Layer[];
  /** The files and passwords that a conversion still needs; empty if nothing is missing. */
  readonly needs: readonly Need[];
  /** The names of companions that nothing refers to. */
  readonly unusedCompanions: readonly string[];
  /** Warnings for a person before an image of unknown origin is converted. */
  readonly safety: readonly Notice[];
}

/**
 * The hardware of a virtual machine, in the words of the options of the output `ova`. A property is missing if the configuration does not
 * state it. Devices that only some products have become similar ones.
 */
export interface MachineHardware {
  /** The number of CPUs. */
  readonly cpus?: number;
  /** The memory in bytes, a whole number of MiB. */
  readonly memory?: number;
  /** The firmware. */
  readonly firmware?: Firmware;
  /** The operating system: `linux`, `ubuntu`, `windows10` and so on, or `other`. */
  readonly os?: string;
  /** The controller of the disk: `lsilogic`, `lsilogicsas`, `pvscsi`, `buslogic`, `sata`, `nvme` or `ide`. */
  readonly controller?: string;
  /** The types of the network adapters: `E1000`, `E1000e`, `VMXNET3` or `PCNet32`. */
  readonly network?: readonly string[];
}

/** The content of an image's headers, and information about its disk. */
export interface Info extends HeaderInfo {
  /** The size of the guest's disk. */
  readonly virtualSize: number;
}

/** The information about a streamed image that is available before its conversion. */
export interface StreamedInfo extends HeaderInfo {
  /** Known only at the end of the disk: see `ConvertResult.virtualSize`. */
  readonly virtualSize?: undefined;
}

/** The information about an image of either kind. */
export type AnyInfo = Info | StreamedInfo;

/** The role of a file that an image refers to. A backing file, or a parent, is the layer below. */
export type Role = 'backing file' | 'parent' | 'data file' | 'extent';

/** A file that an image names. */
export interface Reference {
  /** The file's role. */
  readonly role: Role;
  /** The name in the image; for a reference without a name, the ID of the disk. */
  readonly name: string;
  /** The last part of the path that is named, also in a URL or in JSON. */
  readonly fileName: string;
  /** The format that the image states for the file. */
  readonly format?: string;
  /** The identity that a parent must have, in formats that record it. A parent without a name is found by it. */
  readonly identity?: Identity;
}

/** The identity of a disk: UUIDs or content IDs. */
export interface Identity {
  /** The ID of the disk. */
  readonly id: string;
  /** The ID of the state of its content, in formats that record it separately. */
  readonly state?: string;
}

/** One image of a chain. */
export interface Layer {
  /** The name of its file. */
  readonly name: string;
  /** The name of its format. */
  readonly format: ImageFormat;
  /** Whether `raw` is a guess: no image states the format, and the content is not recognised. */
  readonly guessed: boolean;
  /** The size of its disk. */
  readonly virtualSize: number;
  /** The encryption method, if the layer is encrypted. */
  readonly encryption?: 'luks' | 'aes';
}

/**
 * A file, or a password, that a conversion still needs. `name` and `fileName` are those of the `Reference`, and `of` is the
 * name of the layer that needs it.
 */
export type Need =
  | {
      readonly kind: 'missing-file';
      readonly role: Role;
      readonly name: string;
      readonly fileName: string;
      readonly of: string;
    }
  | { readonly kind: 'password'; readonly of: string };

/** A notice: a code and fields for programs, and a sentence for people. */
export interface Notice {
  /** A code of docs/errors.md. It stays the same when the sentence changes. */
  readonly code: NoticeCode;
  /** The subject of the notice; empty for a code without fields. */
  readonly fields: Fields;
  /** One sentence, without a full stop at its end. Names in it are escaped. */
  readonly message: string;
}

/** Why something is not possible: the error of a call that tries it. */
export interface Refusal {
  /** The kind of the error. */
  readonly kind: ErrorKind;
  /** The exact reason: a code of docs/errors.md. */
  readonly code: ErrorCode;
  /** The subject of the error; empty for a code without fields. */
  readonly fields: Fields;
  /** One sentence, without a full stop at its end. Names in it are escaped. */
  readonly message: string;
}

/** The content of a LUKS header. Offsets are relative to its start. */
export interface Luks {
  /** The version: 1 or 2. */
  readonly version: number;
  /** The cipher, as in the header. */
  readonly cipher: string;
  /** The mode of the cipher. */
  readonly mode: string;
  /** The method for initialisation vectors. */
  readonly iv: string;
  /** The hash for initialisation vectors, if the method needs one. */
  readonly ivHash?: string;
  /** The hash of the key slots, or in version 2 of the digest of the master key. */
  readonly hash: string;
  /** The UUID of the header. */
  readonly uuid: string;
  /** Where the encrypted data begins. */
  readonly payloadOffset: number;
  /** The iterations of the digest of the master key. */
  readonly masterKeyIterations: number;
  /** The key slots; in version 2 those with the master key. `iterations` are passes for Argon2. */
  readonly slots: readonly {
    readonly active: boolean;
    readonly iterations: number;
    readonly keyOffset: number;
    readonly stripes: number;
  }[];
}

/** A range of the guest's disk. */
export interface Extent {
  /** The guest offset. */
  readonly offset: number;
  /** The length in bytes. */
  readonly length: number;
  /** `lost` occurs only if the image was opened with `salvage`. */
  readonly kind: 'data' | 'zero' | 'unallocated' | 'lost';
  /** The number of the layer that the range comes from: 0 is the image, 1 the layer below it, and so on. */
  readonly depth: number;
  /** Whether its bytes are stored compressed. */
  readonly compressed: boolean;
  /** Whether its bytes are stored encrypted. */
  readonly encrypted: boolean;
  /** The name of the file that holds the bytes; only for data that is neither compressed nor encrypted. */
  readonly file?: string;
  /** The host offset: where in `file` the bytes begin. */
  readonly hostOffset?: number;
  /** Why the range is lost, or, if it is of another kind, why its bytes may be wrong: a code of docs/errors.md. */
  readonly code?: LostCode;
  /** The reason for people: one clause, without a full stop at its end. */
  readonly message?: string;
}

/** The check of an image. */
export interface CheckResult {
  /** Whether no finding has the severity `error`. */
  readonly accept: boolean;
  /** Errors first, then warnings, then notes. */
  readonly findings: readonly Finding[];
  /**
   * With `deep`: the structures of the image's own file, without those of its parents. Missing for a streamed image, and
   * for one whose extents were not all passed.
   */
  readonly file?: FileCheck;
}

/** The check of the structures of an image's file. Clusters are also blocks and grains. */
export interface FileCheck {
  /** How many faults mean that data is wrong, or that a program that writes to the image would damage data. */
  readonly corruptions: number;
  /** How many clusters of the file nothing uses. */
  readonly leaks: number;
  /** How many parts could not be checked. */
  readonly unchecked: number;
  /** The clusters of the disk; 0 if the format's check does not count them, as the numbers below. */
  readonly totalClusters: number;
  /** The clusters with data in the file. */
  readonly allocatedClusters: number;
  /** The clusters that do not follow the previous one in the file. */
  readonly fragmentedClusters: number;
  /** The compressed clusters. */
  readonly compressedClusters: number;
  /** The end of the last cluster in use, in bytes; only of qcow2, otherwise 0. */
  readonly imageEnd: number;
  /** Whether there are tables to check. A raw disk, a fixed VHD and a LUKS volume have none. */
  readonly hasTables: boolean;
  /** Whether `leaks` counts: not in VHDX and VMDK. */
  readonly countsLeaks: boolean;
  /** The first 1,000 findings. */
  readonly findings: readonly FileFinding[];
}

/** One finding in an image's file, or several at one place. */
export interface FileFinding {
  /** A `state` is not a fault in the tables, and is not counted: for example, the image was not closed properly. */
  readonly kind: 'corruption' | 'leak' | 'unchecked' | 'state';
  /** How many findings this is. */
  readonly count: number;
  /** A code of docs/errors.md. */
  readonly code: FileFindingCode | LostCode | NoticeCode;
  /** The fields of the code. */
  readonly fields: Fields;
  /** One sentence for people, without a full stop at its end. */
  readonly message: string;
}

/** One result of a check. */
export interface Finding {
  /** A code of docs/errors.md. */
  readonly code: FindingCode | NoticeCode;
  /**
   * `error`: a conversion would fail now, or its disk would be incomplete. `warning`: the image may be read wrongly, or may be
   * malicious. `note`: anything else.
   */
  readonly severity: 'error' | 'warning' | 'note';
  /** The fields of the code. */
  readonly fields: Fields;
  /** One sentence for people, without a full stop at its end. Names in it are escaped. */
  readonly message: string;
}
