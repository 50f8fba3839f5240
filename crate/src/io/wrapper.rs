//! Sources that wrap another source and change only how its bytes are read.

use super::source::{Profile, Reader, Source};
use crate::error::Result;
use crate::offsets::{ByteRange, HostOffset};
use futures_util::future::LocalBoxFuture;
use std::rc::Rc;

/// A wrapper of a source. As a [`Source`], it has the size, profile, start and stored ranges of the source that it
/// wraps.
pub(crate) trait Wrapper {
    /// The wrapped source.
    fn source(&self) -> &Rc<dyn Source>;

    /// See [`Source::expect`]. By default, hints are not forwarded.
    fn expect(&self, _reader: Reader, _ranges: &[ByteRange]) {}

    /// See [`Source::read_at`].
    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>>;
}

impl<W: Wrapper> Source for W {
    fn size(&self) -> u64 {
        self.source().size()
    }

    fn profile(&self) -> Profile {
        self.source().profile()
    }

    fn start(&self) -> Option<u64> {
        self.source().start()
    }

    fn stored_from(&self, offset: u64) -> ByteRange {
        self.source().stored_from(offset)
    }

    fn expect(&self, reader: Reader, ranges: &[ByteRange]) {
        Wrapper::expect(self, reader, ranges);
    }

    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>> {
        Wrapper::read_at(self, offset, buf)
    }
}
