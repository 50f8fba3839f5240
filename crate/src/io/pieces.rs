//! Assembles a file from parts of other files, with holes between them.

use crate::error::Result;
use crate::io::source::{Profile, Source};
use crate::offsets::{ByteRange, HostOffset};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::{StreamExt, TryStreamExt, iter};
use std::rc::Rc;

/// A part of an assembled file: `len` bytes at `start`, stored at offset `at` of source number `source`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FilePiece {
    /// First byte in the assembled file.
    pub(crate) start: u64,
    pub(crate) len: u64,
    pub(crate) source: u32,
    /// Offset in that source, in bytes.
    pub(crate) at: u64,
}

impl FilePiece {
    fn end(&self) -> u64 {
        self.start + self.len
    }
}

/// A file assembled from parts of `sources`. Bytes outside every piece read as zero.
pub(crate) struct Pieces {
    sources: Vec<Rc<dyn Source>>,
    /// Ascending, without overlap, within the size.
    pieces: Vec<FilePiece>,
    size: u64,
    profile: Profile,
}

impl Pieces {
    /// Assembles a file of `size` bytes from `pieces` of `sources`. The pieces must ascend, not overlap, and lie within
    /// their sources.
    pub(crate) fn new(sources: Vec<Rc<dyn Source>>, pieces: Vec<FilePiece>, size: u64) -> Self {
        let of_first = sources.first().map_or_else(Profile::default, |source| source.profile());
        // Workers address whole files only, so the bytes must be assembled here.
        let profile = Profile { opened_by_workers: false, made_here: true, expects: false, ..of_first };
        Self { sources, pieces, size, profile }
    }

    pub(crate) fn joined(parts: Vec<Rc<dyn Source>>) -> Self {
        let (mut pieces, mut size) = (Vec::with_capacity(parts.len()), 0);
        for (number, part) in parts.iter().enumerate() {
            pieces.push(FilePiece { start: size, len: part.size(), source: number as u32, at: 0 });
            size += part.size();
        }
        Self::new(parts, pieces, size)
    }

    /// Returns the pieces that end after `offset`.
    fn from(&self, offset: u64) -> &[FilePiece] {
        &self.pieces[self.pieces.partition_point(|piece| piece.end() <= offset)..]
    }

    async fn fill(&self, offset: u64, mut buf: &mut [u8]) -> Result<()> {
        let end = offset + buf.len() as u64;
        let mut at = offset;
        let mut reads = Vec::new();
        for piece in self.from(offset).iter().take_while(|piece| piece.start < end) {
            let (start, part_end) = (piece.start.max(offset), piece.end().min(end));
            let (hole, rest) = buf.split_at_mut((start - at) as usize);
            hole.fill(0);
            let (part, rest) = rest.split_at_mut((part_end - start) as usize);
            reads.push((piece.source, piece.at + (start - piece.start), part));
            (buf, at) = (rest, part_end);
        }
        buf.fill(0);
        iter(reads)
            .map(|(source, at, part)| self.sources[source as usize].read_at(HostOffset(at), part))
            .buffer_unordered(self.profile.reads_at_once)
            .try_collect()
            .await
    }
}

impl Source for Pieces {
    fn size(&self) -> u64 {
        self.size
    }

    fn profile(&self) -> Profile {
        self.profile
    }

    fn start(&self) -> Option<u64> {
        None
    }

    fn stored_from(&self, offset: u64) -> ByteRange {
        for piece in self.from(offset) {
            let skipped = offset.saturating_sub(piece.start);
            let stored = self.sources[piece.source as usize].stored_from(piece.at + skipped);
            let start = piece.start + (stored.start.0 - piece.at);
            if stored.len > 0 && start < piece.end() {
                return ByteRange { start: HostOffset(start), len: stored.len.min(piece.end() - start) };
            }
        }
        ByteRange { start: HostOffset(self.size), len: 0 }
    }

    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>> {
        self.fill(offset.0, buf).boxed_local()
    }
}
