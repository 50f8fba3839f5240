// Unpacking an image to a temporary file before a command can read it.

import { dirname } from 'node:path';
import type { Fields } from '../errors/errors.js';
import { shownText } from '../errors/shown.js';
import { humanSize } from '../errors/sizes.js';
import { isHttp } from '../http/address.js';
import type { Progress } from '../public/types.js';
import { spoolFolder } from '../targets/node/spool-file.js';
import { statsOf } from './operands.js';
import { report } from './printing.js';
import { ProgressLine } from './progress.js';
import { STANDARD_OUTPUT } from './standard-streams.js';

/** How an image is unpacked. */
export interface Unpacking {
  /** The folder for the temporary file. */
  folder: string;
  report: UnpackingReport;
  /** Whether the image must be unpacked, since it cannot be read in place. */
  isNeeded: boolean;
  /** Whether the image is one of several disks that are converted into a folder. */
  isForAll: boolean;
  /**
   * Called first: fails if the command cannot succeed with any image in `format`, which is undefined if it is not known. `read`:
   * the files that it reads.
   */
  check(read: string[], format: unknown): Promise<void>;
}

/** The memory for the window of a compressed file, by the fields of the error `needs-spool`; undefined if it is not large. */
export const windowOf = ({ window }: Fields): number | undefined => (typeof window === 'number' ? window : undefined);

/** The folder for the temporary file of a conversion to `output`: the folder of the output, if that is a file. */
export async function folderFor(output: string): Promise<string> {
  if (output === STANDARD_OUTPUT || isHttp(output)) return spoolFolder();
  const stats = await statsOf(output);
  if (stats?.isDirectory()) return output;
  const folder = dirname(output);
  const isBeside = (!stats || stats.isFile()) && (await statsOf(folder))?.isDirectory();
  return isBeside ? folder : spoolFolder();
}

/** Reports how far the parts of an image are measured, and that it is being unpacked. */
export class UnpackingReport {
  /** The memory for the window of the compressed file, in bytes, if it is large. */
  window: number | undefined;
  #line: ProgressLine | undefined;
  #isBegun = false;

  /** `folder`: where the temporary file is. `shows`: whether to show progress. */
  constructor(
    private readonly image: string,
    private readonly folder: string,
    private readonly isQuiet: boolean,
    private readonly shows: boolean,
  ) {}

  show(progress: Progress): void {
    if (progress.phase !== 'measuring' && !this.#isBegun) {
      this.#isBegun = true;
      this.end();
      if (!this.isQuiet) this.#note();
    }
    const isShown = this.shows && !this.isQuiet;
    this.#line ??= new ProgressLine(process.stderr, isShown, 'unpacking ', 'measuring the compressed file');
    this.#line.show(progress);
  }

  #note(): void {
    report(`note: unpacking '${shownText(this.image)}' to a temporary file in '${shownText(this.folder)}'`);
    if (this.window !== undefined)
      report(`note: unpacking takes ${humanSize(this.window)} of memory for the window of the compressed file`);
  }

  end(): void {
    this.#line?.end();
    this.#line = undefined;
  }
}
