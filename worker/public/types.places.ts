// The public types of places: where disks run.

import type { Contents, Firmware } from '../contents/disk-contents.js';
import type { OutputFormatName, PlaceName } from '../errors/names.js';
import type { MachineHardware, Notice, Refusal } from './types.info.js';

/** An output format that a place accepts. */
export interface PlaceFormat {
  /** The name of one of `DiskImage.formats`. */
  readonly name: OutputFormatName;
  /** The options that the place needs. */
  readonly required: Readonly<Record<string, string>>;
  /** The options that suit most people. Others may be chosen instead. */
  readonly recommended: Readonly<Record<string, string>>;
  /** The only firmware that disks in this format boot with there, and the page that states it; missing if either works. */
  readonly firmware?: { readonly kind: Firmware; readonly source: string };
}

/** A limit of a place. A place may have others: only documented limits are listed. */
export interface PlaceLimit {
  /** The size that is limited: the virtual size of the disk, or the size of the file, in bytes. */
  readonly of: 'disk' | 'file';
  /** The smallest size that is accepted. */
  readonly min?: number;
  /** The largest size that is accepted. */
  readonly max?: number;
  /** The page of the documentation that states it. */
  readonly source: string;
}

/** Where a disk can run, and what is accepted there. */
export interface Place {
  /** For `ConvertOptions.for` and the command's `--for`: `azure`. */
  readonly name: PlaceName;
  /** The name for people: "Azure". */
  readonly label: string;
  /** The formats that it accepts, the best one first. */
  readonly formats: readonly PlaceFormat[];
  /** Its documented limits. */
  readonly limits: readonly PlaceLimit[];
  /**
   * Whether files with holes are refused there: the conversion then writes none in Node (`sparse`). */
  readonly refusesSparse?: boolean;
  /** Whether outputs for it are verified by default (`verify`): its import takes long, and does not check the disk. */
  readonly verify?: boolean;
  /** The drivers that a system may need to boot there, which a conversion does not install: their name, and for each system that may
   * lack them a page about them.
   */
  readonly drivers?: { readonly name: string; readonly windows?: string; readonly linux?: string };
}

/** A place, and the output of an image for it. */
export interface ImagePlace {
  /** The name of the place. */
  readonly name: PlaceName;
  /** The name for people. */
  readonly label: string;
  /** The output format that `convert` uses with `for`. */
  readonly format: OutputFormatName;
  /** The options of the format. */
  readonly formatOptions: Readonly<Record<string, string>>;
  /** The extension of the file, with the dot. */
  readonly extension: string;
  /** The size of the output, if it is known before the conversion. */
  readonly outputSize?: number;
  /** How the disk in the output differs from the image's: it may be larger, for example. */
  readonly notices: readonly Notice[];
  /** Why the disk cannot be converted for this place. */
  readonly refusal?: Refusal;
}

/** A converted disk, as `nextStep` needs it. */
export interface MadeDisk {
  /** The path or the name of the file. */
  file: string;
  /** The name of the output format. */
  format: OutputFormatName;
  /** The size of the file, in bytes: `ConvertResult.outputSize`. */
  outputSize: number;
  /** The virtual size of the disk, in bytes: `ConvertResult.virtualSize`. */
  virtualSize: number;
  /** The name of its virtual machine: `Info.machine`. */
  machine?: string | undefined;
  /** The hardware of that machine: `Info.hardware`. */
  hardware?: MachineHardware | undefined;
  /** The contents of the disk, from `contentsOf` of `decant/contents`. They show the firmware and the system if `hardware` does not. */
  contents?: Contents | undefined;
}

/** A command of the next step. */
export interface NextCommand {
  /** The command, or a comment, in one line. */
  readonly line: string;
  /** The placeholders in it: words in capitals, such as `BUCKET`, for a value that only the person knows. */
  readonly placeholders: readonly string[];
  /** The placeholders of later commands whose values this one prints: `SAS_URL`. */
  readonly prints?: readonly string[];
}

/** The step after a conversion. */
export interface NextStep {
  /** The shell whose quoting the commands have. */
  readonly shell: 'sh' | 'powershell';
  /** The commands, in order. There may be none. */
  readonly commands: readonly NextCommand[];
  /** Notices for the person: code `guest-drivers` of docs/errors.md. */
  readonly notices: readonly Notice[];
}
