//! Decoded bytes that a stream passes to jobs without reading them.

use futures_util::future::LocalBoxFuture;
use std::rc::Rc;

/// The bytes of a decoded part of a stream.
pub(crate) trait PartBytes {
    /// Fills `buf` with the bytes from `start`. Returns whether that succeeded.
    fn read<'a>(&'a self, start: usize, buf: &'a mut [u8]) -> LocalBoxFuture<'a, bool>;

    /// The worker that has them; `None` if they must be read.
    fn held(&self) -> Option<HeldPart> {
        None
    }
}

/// A part in the memory of a worker.
#[derive(Clone, Copy, Debug)]
pub struct HeldPart {
    /// The number of the worker.
    pub worker: u32,
    /// The number by which the worker knows the part.
    pub number: u32,
}

/// A range of a decoded part, which a job reads.
pub struct PassedBytes {
    /// The bytes of the part; `None` if they are all zeros.
    pub(crate) part: Option<Rc<dyn PartBytes>>,
    /// Where the range begins in the part, in bytes.
    pub(crate) start: usize,
    /// The length of the range, in bytes.
    pub(crate) len: usize,
}
