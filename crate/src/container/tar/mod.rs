//! Tar archives, with random access or as a stream. See POSIX.1-2017, pax, "ustar Interchange Format" and "pax Header
//! Block", and the manual of GNU tar, "Basic Tar Format" and "GNU Extensions to the Archive Format".

mod archive;
mod files_in_order;
mod member_header;
mod scan;
mod sparse_map;

use super::{Container, Content, Contents, Member};
use crate::error::{Error, Result};
use crate::io::pieces::{FilePiece, Pieces};
use crate::io::source::{Slice, Source};
use crate::offsets::{ByteRange, HostOffset};
use archive::Archive;
use archive::BLOCK;
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use scan::{HeaderScan, NextItem, RegularFile, padding};
use sparse_map::SparseMap;
use std::rc::Rc;

pub(super) const CONTAINER: Container = Container {
    name: "tar",
    aliases: &["OVA"],
    extensions: &[".tar", ".ova", ".tgz", ".box"],
    label: "a tar archive",
    probe: |sample| sample.head.get(..BLOCK as usize).is_some_and(member_header::begins_archive),
    content: Content::Members {
        list: |source, salvage| list(source, salvage).boxed_local(),
        in_order: Some(|stream| Ok(Box::new(files_in_order::FilesInOrder::new(stream)))),
    },
};

/// Lists the regular files of an archive, in archive order.
async fn list(source: Rc<dyn Source>, salvage: bool) -> Result<Contents> {
    let mut archive = SeekableArchive { source, at: 0, salvage };
    let (mut headers, mut members) = (HeaderScan::default(), Vec::new());
    loop {
        match headers.next_file(&mut archive).await? {
            NextItem::File(file) => members.push(member(&mut archive, file).await?),
            NextItem::End { is_marked } => return Ok(Contents { members, is_ended: is_marked }),
        }
    }
}

/// Creates the member for an entry whose data is next, and skips the data.
async fn member(archive: &mut SeekableArchive, RegularFile { name, len, map }: RegularFile) -> Result<Member> {
    let (start, size) = (archive.at, archive.source.size());
    let missing = (start + len).saturating_sub(size);
    if missing > 0 && !archive.salvage {
        return Err(Error::truncated("the end of a tar member", HostOffset(start + len), size));
    }
    archive.pass(len).await?;
    archive.pass(padding(len)).await?;
    let (source, present) = (archive.source.clone(), len - missing);
    if map.is_dense() {
        let range = ByteRange { start: HostOffset(start), len: present };
        return Ok(Member { missing, ..Member::stored(name, Rc::new(Slice::new(source, range))) });
    }
    let (pieces, size) = pieces(&map, start, present);
    let source = Rc::new(Pieces::new(vec![source], pieces, size));
    Ok(Member { missing: map.size - size, ..Member::stored(name, source) })
}

/// Returns the pieces of a sparse file whose first `present` bytes of data are at `start`, and the size of the file as
/// far as they go.
fn pieces(map: &SparseMap, start: u64, mut present: u64) -> (Vec<FilePiece>, u64) {
    let (mut pieces, mut at) = (Vec::with_capacity(map.stretches.len()), start);
    for stretch in &map.stretches {
        let len = stretch.len.min(present);
        if len > 0 {
            pieces.push(FilePiece { start: stretch.start, len, source: 0, at });
        }
        (at, present) = (at + len, present - len);
        if len < stretch.len {
            return (pieces, stretch.start + len);
        }
    }
    (pieces, map.size)
}

/// An archive with random access.
struct SeekableArchive {
    source: Rc<dyn Source>,
    at: u64,
    salvage: bool,
}

impl SeekableArchive {
    /// See [`Archive::peek`].
    async fn read_ahead(&self, buf: &mut [u8]) -> Result<usize> {
        let len = (self.source.size() - self.at).min(buf.len() as u64) as usize;
        if len > 0 {
            self.source.read_at(HostOffset(self.at), &mut buf[..len]).await?;
        }
        Ok(len)
    }
}

impl Archive for SeekableArchive {
    fn position(&self) -> u64 {
        self.at
    }

    fn read<'a>(&'a mut self, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<usize>> {
        async move {
            let found = self.read_ahead(buf).await?;
            self.at += found as u64;
            Ok(found)
        }
        .boxed_local()
    }

    fn peek<'a>(&'a mut self, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<usize>> {
        self.read_ahead(buf).boxed_local()
    }

    fn pass(&mut self, len: u64) -> LocalBoxFuture<'_, Result<bool>> {
        let left = self.source.size() - self.at;
        self.at += len.min(left);
        ready(Ok(len <= left)).boxed_local()
    }

    fn truncated(&self) -> Error {
        let size = self.source.size();
        Error::truncated("the rest of a tar member", HostOffset(size), size)
    }

    fn is_salvaged(&self) -> bool {
        self.salvage
    }
}
