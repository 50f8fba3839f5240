//! Where the bytes of an output go.

use crate::error::Result;
use futures_util::future::LocalBoxFuture;
use serde::{Deserialize, Serialize};

/// A stretch of data for the output: `len` bytes of a buffer, from `start`, that belong at
/// `guest`. All in bytes; `guest` is a multiple of the output block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Position on the disk.
    pub guest: u64,
    /// Position in the buffer.
    pub start: usize,
    /// Length.
    pub len: usize,
}

/// A file being made. What is never written reads as zeros, unless the sink is dense. `B` is the kind of buffer that the
/// engine hands over.
pub trait Sink<B> {
    /// Whether runs must come in ascending order; otherwise they come as they are ready, several
    /// writes at once.
    fn ordered(&self) -> bool;

    /// Runs of zeros shorter than this (bytes) may be written where that saves a write; 0 writes
    /// none.
    fn short_hole(&self) -> u64 {
        0
    }

    /// Whether holes must be written as zeros, since what is never written is not zero.
    fn dense(&self) -> bool {
        false
    }

    /// Sets the length of the file, in bytes, before the first write.
    fn set_len(&self, len: u64) -> LocalBoxFuture<'_, Result<()>>;

    /// Writes `runs` out of `bytes`. The buffer is not reused before the future is done.
    fn write<'a>(&'a self, bytes: &'a B, runs: &'a [Run]) -> LocalBoxFuture<'a, Result<()>>;

    /// Completes the file.
    fn finish(&self) -> LocalBoxFuture<'_, Result<()>>;

    /// Gives the file up; nothing that looks complete may stay.
    fn abort(&self) -> LocalBoxFuture<'_, ()>;
}
