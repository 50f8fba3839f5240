// The public types of a conversion's options.

import type { OutputFormatName, PlaceName } from '../errors/names.js';
import type { FormatChoice, Progress } from './types.conversion.js';
import type { ImageBase } from './types.image.js';

/** How to convert an image. */
export interface CommonConvertOptions<Format extends OutputFormatName = OutputFormatName> extends FormatChoice<Format> {
  /**
   * The name of the place where the disk will run, such as `azure`; `DiskImage.places` lists them. Chooses `format` and
   * `formatOptions`, or completes and checks those that are given. Fails with `usage` for a format that the place does not accept
   * (`place-format`), and with `limit` for a disk that is too large or too small for it (`place-limit`), before anything is read.
   */
  for?: PlaceName | undefined;
  /**
   * The further disks of a machine, for `ova`: opened images, whose disks follow the image's own in this order. They may have different
   * formats, and stay open. The result is about all disks; notices name theirs. Fails with `usage` for formats of one disk (`one-disk`).
   */
  disks?: readonly ImageBase[] | undefined;
  /**
   * The size of the disk, at least that of the image; rounded up to 512 bytes. Zeros are added at the end, and the guest sees a larger disk.
   * Fails with `usage` (`size-smaller`) if the disk would become smaller: before anything is read, unless the disk is streamed. Not with
   * `disks`.
   */
  size?: number | undefined;
  /**
   * Whether the backup GPT is moved to the end of the disk, as `sgdisk -e` does: programs look for it there. By default it is moved if the
   * output format rounds the size up, and its primary GPT is intact. `true`: also after `size`, or if another program made the disk larger.
   * Fails with `corrupt` (`gpt-damaged`) if the primary GPT is damaged, and with `unsupported` (`size-needed`) for a stream of unknown size.
   */
  fixGpt?: boolean | undefined;
  /**
   * Allows a compressed qcow2 or an OVA to read and compress the images twice. A target that takes bytes in ascending order only, such as a
   * stream, needs that or `spool`, since the header depends on all data. By default false: such a conversion fails with
   * `ascending-only`.
   */
  twoPass?: boolean | undefined;
  /**
   * The upper bound on the memory of all buffers: 32 MiB to 2 GiB. By default 48 MiB for each worker (16 MiB in Node), and
   * 32 MiB more if a source has `expect`.
   */
  memory?: number | undefined;
  /**
   * Keeps progress if the conversion ends early, and continues from there when the same disk is converted to the same output
   * with `resume` again. Works for outputs that are not compressed, and sources with a `state` (files, and most servers). The
   * output is a path (Node), `{ opfs }` or `{ download }` (browsers), or a target that `resumes`; any other is refused with
   * `usage`. Progress is deleted after a week. It is also deleted when the output is made without `resume`, except for a
   * download.
   */
  resume?: boolean | undefined;
  /**
   * Computes the SHA-256 of the output while it is written: `ConvertResult.sha256`. Only where all bytes pass in ascending order: streams
   * and uploads, unless they are resumed or their start is sent last. Elsewhere it does nothing: see `sha256`.
   */
  sha256?: boolean | undefined;
  /**
   * Computes the SHA-256 of the disk as it is in the image, in the same pass: `ConvertResult.digest`. It takes as long as hashing all bytes of the
   * disk, zeros too. Not with `resume`, since a resumed conversion does not read the whole disk.
   */
  digest?: boolean | undefined;
  /**
   * Verifies the finished output before it gets its name: reads it back, as any image is read, and compares the disk in it with what was
   * decoded, MiB by MiB; a custom target may state checksums instead. Only the output is read again. A difference is a failure
   * (`verify-differs`, or `verify-unreadable`), and the output is discarded. Fails with `usage` (`verify-refused`), before anything is read, for
   * an output that cannot be read back: a stream, or a custom target without `readBack`. By default false, except `for` some places
   * (docs/places.md).
   */
  verify?: boolean | undefined;
  /** Cancels the conversion. */
  signal?: AbortSignal | undefined;
  /** Called at most 10 times a second, and after the last change. If it throws, the conversion fails. */
  onProgress?: ((progress: Progress) => void) | undefined;
}
