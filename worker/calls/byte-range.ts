// A range of a file.

/** A range of bytes; `end` is exclusive. */
export interface ByteRange {
  start: number;
  end: number;
}
