//! Targets: where an output is written.

use crate::error::Result;
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};

/// A run of data in a buffer, with its place in the output. All values are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Offset in the output.
    pub offset: u64,
    /// Position in the buffer.
    pub start: usize,
    /// Length.
    pub len: usize,
}

impl Run {
    /// The offset after the last byte.
    pub fn end(&self) -> u64 {
        self.offset + self.len as u64
    }
}

/// A buffer with bytes of an output.
pub trait OutputBytes: for<'a> From<&'a [u8]> {
    /// Copies the bytes from `start` to `buf`, which they fill.
    fn copy(&self, start: usize, buf: &mut [u8]);
}

impl OutputBytes for Vec<u8> {
    fn copy(&self, start: usize, buf: &mut [u8]) {
        buf.copy_from_slice(&self[start..start + buf.len()]);
    }
}

/// How a target handles ranges of the output without data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Holes {
    /// Unwritten ranges read as zero. `hole` is never called.
    #[default]
    Skip,
    /// `hole` is called for each range without data, including zeros found in data. Workers do not open such a target.
    Report,
    /// `hole` is called for each range that the image does not store, and writes zeros there. Zeros in data are written
    /// as data.
    WriteZeros,
}

/// A target's capabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// Whether writes and holes must arrive one at a time, in ascending order. Otherwise they arrive in any order,
    /// several concurrently.
    pub ascending: bool,
    /// How the target handles ranges without data.
    pub holes: Holes,
    /// How many bytes at the start of the output may be written after all others.
    pub late_start: u64,
    /// Zeros between two runs of data may be written with them if fewer than this many bytes. 0: never.
    pub short_hole: u64,
}

/// A target open for writing. Each worker that writes directly has its own. `B` is the engine's buffer type.
pub trait TargetHandle<B> {
    /// Writes the `runs` of `bytes`. The buffer does not change until the future resolves. Fails with `target`.
    fn write<'a>(&'a self, bytes: &'a B, runs: &'a [Run]) -> LocalBoxFuture<'a, Result<()>>;
}

/// An output being made. All calls fail with `target`.
pub trait Target<B>: TargetHandle<B> {
    /// The target's capabilities. Returns the same value at every call.
    fn abilities(&self) -> Abilities;

    /// Opens the target. Called once, before the first write. `size` is the length of the output in bytes; `None` if it
    /// is unknown: the output then ends after the last byte that is written or reported as a hole.
    fn open(&self, size: Option<u64>) -> LocalBoxFuture<'_, Result<()>>;

    /// Reports `len` bytes without data at `offset`; see [`Holes`]. `len` is never 0.
    fn hole(&self, offset: u64, len: u64) -> LocalBoxFuture<'_, Result<()>>;

    /// Waits until all writes so far are done, if the target does several at once.
    fn settle(&self) -> LocalBoxFuture<'_, Result<()>> {
        ready(Ok(())).boxed_local()
    }

    /// Completes writing. The output then has all its bytes, though possibly not its final name yet.
    fn finish(&self) -> LocalBoxFuture<'_, Result<()>>;

    /// Discards the output. Nothing that looks complete must remain.
    fn abort(&self) -> LocalBoxFuture<'_, ()>;
}

/// A target that ignores what it gets.
pub struct Discarding;

impl<B> TargetHandle<B> for Discarding {
    fn write<'a>(&'a self, _bytes: &'a B, _runs: &'a [Run]) -> LocalBoxFuture<'a, Result<()>> {
        ready(Ok(())).boxed_local()
    }
}

impl<B> Target<B> for Discarding {
    fn abilities(&self) -> Abilities {
        Abilities { late_start: u64::MAX, ..Abilities::default() }
    }

    fn open(&self, _size: Option<u64>) -> LocalBoxFuture<'_, Result<()>> {
        ready(Ok(())).boxed_local()
    }

    fn hole(&self, _offset: u64, _len: u64) -> LocalBoxFuture<'_, Result<()>> {
        ready(Ok(())).boxed_local()
    }

    fn finish(&self) -> LocalBoxFuture<'_, Result<()>> {
        ready(Ok(())).boxed_local()
    }

    fn abort(&self) -> LocalBoxFuture<'_, ()> {
        ready(()).boxed_local()
    }
}
