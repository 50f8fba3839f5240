// The differences between browsers and Node on the calling side.

import type { WorkerStarter } from '../client-side/warm.js';
import type { HttpOptions } from '../http/http-types.js';
import type { Input, Output, SettledOptions } from '../public/caller-types.js';
import type { ConvertResult, Extent } from '../public/types.js';
import type { OpenedSource } from '../sources/opened-source.js';
import type { OutputTarget, Spool } from '../targets/output-target.js';

/** The options of `open` and `convert` for a temporary file; `sparse` of `convert` only. */
interface SpoolOptions {
  spool?: SettledOptions['spool'] | undefined;
  sparse?: boolean | undefined;
}

export interface Platform extends WorkerStarter {
  readonly cores: number;
  /** Why the `threads` engine cannot run here; undefined if it can. */
  readonly noThreads: string | undefined;
  /** The options of `convert` that only this platform has. */
  readonly convertOptions: readonly string[];
  /** The default memory for each worker's buffers, in bytes: four reads of the fastest size. */
  readonly memoryPerWorker: number;
  /** Opens a source. Fails with `usage` if `input` cannot be one. */
  openSource(input: Input, options: HttpOptions): Promise<OpenedSource>;
  /**
   * The temporary file that the option `spool` asks for; not created yet. `otherwise`: what works without it, as the end of a
   * sentence. Throws `usage`.
   */
  spool(options: SpoolOptions, sources: OpenedSource[], otherwise: string): Spool | undefined;
  /**
   * Records what is at `output` as a conversion to it begins, and resolves to that; `undefined` if there is nothing to record. A relative path
   * counts from the working directory of this call. Throws `usage` for a value that cannot be an output.
   */
  begin?(output: Output): Promise<Output> | undefined;
  /**
   * Resolves to the target for `output`, neither a stream nor a custom target, and not one of `sources`. Fails with `usage` for a
   * value that cannot be an output.
   */
  target(output: Output, sources: OpenedSource[], options: SettledOptions): Promise<OutputTarget>;
  /** Resolves to the bmap of the finished `output`, a file: see `bmapOf`. Only where `convertOptions` have `bmap`. */
  bmap?(
    extents: AsyncIterable<Extent> | undefined,
    output: Output,
    result: ConvertResult,
    signal: AbortSignal,
  ): Promise<string>;
}
