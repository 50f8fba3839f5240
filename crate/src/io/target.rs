//! Targets: where the bytes of an output go.

use crate::error::Result;
use futures_util::future::LocalBoxFuture;
use serde::{Deserialize, Serialize};

/// A run of data in a buffer, and its place. In bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Offset on the guest's disk, or in the output. The two are equal where the output stores the disk at its own
    /// offsets.
    pub offset: u64,
    /// Position in the buffer.
    pub start: usize,
    /// Length.
    pub len: usize,
}

impl Run {
    /// The offset behind the last byte.
    pub fn end(&self) -> u64 {
        self.offset + self.len as u64
    }
}

/// What a target does with ranges of the output that have no data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Holes {
    /// What is never written reads as zero. `hole` is never called.
    #[default]
    Skip,
    /// `hole` is called for each range without data, zeros found in data included. Workers do not open such a target by
    /// themselves.
    Report,
    /// `hole` is called for each range that the image stores no data for, and writes zeros there. Zeros in data are
    /// written as data.
    WriteZeros,
}

/// What a target can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// Whether writes and holes must ascend, one at a time. Otherwise they come in any order, several at once.
    pub ordered: bool,
    /// What the target does with ranges that have no data.
    pub holes: Holes,
    /// Zeros between two runs of data may be written with them if they are fewer than this (bytes). 0: never.
    pub short_hole: u64,
}

/// A target that is open for writing. Each worker that writes by itself has one. `B` is the type of the engine's buffers.
pub trait TargetHandle<B> {
    /// Writes `runs`, which lie in `bytes`. The buffer stays as it is until the future is done. Fails with `sink`.
    fn write<'a>(&'a self, bytes: &'a B, runs: &'a [Run]) -> LocalBoxFuture<'a, Result<()>>;
}

/// An output being made. All calls fail with `sink`.
pub trait Target<B>: TargetHandle<B> {
    /// What the target can do. It returns the same at every call.
    fn abilities(&self) -> Abilities;

    /// Opens the target. It is called once, before the first write. `size` is the length of the output in bytes, if it is
    /// known; otherwise the output ends with the last byte that is written or reported as a hole.
    fn open(&self, size: Option<u64>) -> LocalBoxFuture<'_, Result<()>>;

    /// Reports `len` bytes without data from `offset` on; see [`Holes`]. `len` is never 0.
    fn hole(&self, offset: u64, len: u64) -> LocalBoxFuture<'_, Result<()>>;

    /// Ends writing: then the output has all bytes, though not yet its name perhaps.
    fn finish(&self) -> LocalBoxFuture<'_, Result<()>>;

    /// Discards the output. Nothing that looks complete may remain.
    fn abort(&self) -> LocalBoxFuture<'_, ()>;
}
