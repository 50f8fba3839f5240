// A route: how a conversion becomes a file. The calling side makes the place and completes or
// discards it; a coordinator writes to it.

/** Where a coordinator writes to, as it travels there. */
export type TargetSpec =
  /** A file that the user picked. */
  | { picked: FileSystemFileHandle }
  /** A temporary file in the origin's private file system. */
  | { opfs: FileSystemFileHandle }
  /** An open file of Node; a dense one gets its holes as zeros. */
  | { fd: number; dense: boolean; sync: boolean };

export interface Route {
  /** Makes the place for a disk of `virtualSize` bytes. Fails where it is known not to fit. */
  prepare(virtualSize: number): Promise<TargetSpec>;
  /** Makes what was written appear under its name. */
  commit(): Promise<void>;
  /** Removes everything that `prepare` made; also after a failure of `commit`. */
  discard(): Promise<void>;
}
