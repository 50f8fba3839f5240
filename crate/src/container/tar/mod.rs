//! Tar archives, with random access or as a stream. See POSIX.1-2017, pax, "ustar Interchange Format" and "pax Header
//! Block", and the manual of GNU tar, "Basic Tar Format" and "GNU Extensions to the Archive Format".

mod archive;
mod member_header;
mod scan;
mod sparse_map;

use super::{Container, Content, Contents, Member};
use crate::disk::reference::resolved;
use crate::error::{Error, Result};
use crate::format::TAIL;
use crate::io::pieces::{FilePiece, Pieces};
use crate::io::source::{Slice, Source, zeroed};
use crate::io::stream::{ByteStream, Ended};
use crate::offsets::{ByteRange, HostOffset};
use archive::{Archive, BLOCK, read_exact};
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use member_header::Link;
use scan::{HeaderScan, NextItem, RegularFile, padding};
use sparse_map::SparseMap;
use std::collections::HashMap;
use std::rc::Rc;

pub(super) const CONTAINER: Container = Container {
    name: "tar",
    aliases: &["OVA"],
    extensions: &[".tar", ".ova", ".tgz", ".box"],
    label: "a tar archive",
    probe: |sample| sample.head.get(..BLOCK as usize).is_some_and(member_header::begins_archive),
    content: Content::Members {
        list: |source, salvage| list(source, salvage).boxed_local(),
        in_order: Some(|stream| Ok(Box::new(FilesInOrder::new(stream)))),
    },
};

/// How many links are followed, at most, from a link to its file.
const MOST_FOLLOWED: usize = 8;

/// Lists the regular files of an archive, in archive order, then the links to them.
async fn list(source: Rc<dyn Source>, salvage: bool) -> Result<Contents> {
    let mut archive = SeekableArchive { source, at: 0, salvage };
    let (mut headers, mut members, mut links) = (HeaderScan::default(), Vec::new(), Vec::new());
    loop {
        match headers.next_item(&mut archive).await? {
            NextItem::File(file) => members.push(member(&mut archive, file).await?),
            NextItem::Link(link) => links.push(link),
            NextItem::End { is_marked } => {
                members.extend(linked(&links, &members));
                return Ok(Contents { members, is_ended: is_marked });
            }
        }
    }
}

/// Returns those of `members` to which `links` lead, directly or by other links, under the names of the links.
fn linked(links: &[Link], members: &[Member]) -> Vec<Member> {
    let files: HashMap<_, _> = members.iter().map(|member| (resolved(&member.name, ""), member)).collect();
    let targets: HashMap<_, _> = links.iter().map(|link| (resolved(&link.name, ""), &*link.target)).collect();
    let file_of = |link: &Link| {
        let paths = std::iter::successors(Some(&*link.target), |&path| targets.get(path).copied());
        let file = paths.take(MOST_FOLLOWED).find_map(|path| files.get(path))?;
        Some(Member { name: link.name.clone(), is_link: true, ..Member::clone(file) })
    };
    links.iter().filter_map(file_of).collect()
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
    let (mut pieces, mut at) = (Vec::with_capacity(map.ranges.len()), start);
    for range in &map.ranges {
        let len = range.len.min(present);
        if len > 0 {
            pieces.push(FilePiece { start: range.start, len, source: 0, at });
        }
        (at, present) = (at + len, present - len);
        if len < range.len {
            return (pieces, range.start + len);
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

/// Length of a read while skipping, in bytes.
const PASSED: usize = 64 << 10;

/// The files of an archive: see [`ByteStream::next_file`].
struct FilesInOrder {
    archive: StreamedArchive,
    headers: HeaderScan,
    file: Option<OpenFile>,
    /// Whether the archive has an end mark. Known at the end.
    is_marked: bool,
}

/// The file while it is read.
struct OpenFile {
    name: String,
    map: SparseMap,
    /// The position in the file, and the index of the first range that ends after it.
    at: u64,
    range: usize,
    /// The data that was not read yet, and the padding after it, in bytes.
    data: u64,
    padding: u64,
}

impl OpenFile {
    /// Returns the end of the data or hole at the current position, and whether it is a hole. At the end of the file,
    /// the end is the position itself.
    fn current_run(&self) -> (u64, bool) {
        match self.map.ranges.get(self.range) {
            Some(range) if self.at < range.start => (range.start, true),
            Some(range) => (range.start + range.len, false),
            None => (self.map.size, true),
        }
    }

    /// Advances by `len` bytes, which must be all data or all hole.
    fn advance(&mut self, len: u64) {
        self.at += len;
        if self.map.ranges.get(self.range).is_some_and(|range| self.at == range.start + range.len) {
            self.range += 1;
        }
    }
}

impl FilesInOrder {
    fn new(stream: Box<dyn ByteStream>) -> Self {
        let archive = StreamedArchive { stream, position: 0, ahead: Vec::new() };
        Self { archive, headers: HeaderScan::default(), file: None, is_marked: false }
    }

    async fn fill(&mut self, buf: &mut [u8]) -> Result<usize> {
        let Some(file) = &mut self.file else { return Ok(0) };
        let mut done = 0;
        while done < buf.len() && file.at < file.map.size {
            let (end, is_hole) = file.current_run();
            let len = (end - file.at).min((buf.len() - done) as u64) as usize;
            let part = &mut buf[done..done + len];
            if is_hole {
                part.fill(0);
            } else {
                read_exact(&mut self.archive, part).await?;
                file.data -= len as u64;
            }
            file.advance(len as u64);
            done += len;
        }
        Ok(done)
    }

    /// See [`ByteStream::next_file`].
    async fn next(&mut self) -> Result<bool> {
        if let Some(OpenFile { data, padding, .. }) = self.file.take() {
            if !self.archive.pass(data).await? {
                return Err(self.archive.truncated());
            }
            self.archive.pass(padding).await?;
        }
        loop {
            match self.headers.next_item(&mut self.archive).await? {
                NextItem::File(RegularFile { name, len, map }) => {
                    self.file = Some(OpenFile { name, map, at: 0, range: 0, data: len, padding: padding(len) });
                    return Ok(true);
                }
                // Its file may have passed.
                NextItem::Link(_) => {}
                NextItem::End { is_marked } => {
                    self.is_marked = is_marked;
                    self.archive.pass(u64::MAX).await?;
                    return Ok(false);
                }
            }
        }
    }
}

impl ByteStream for FilesInOrder {
    fn read<'a>(&'a mut self, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<usize>> {
        self.fill(buf).boxed_local()
    }

    fn file_position(&self) -> u64 {
        self.archive.stream.file_position()
    }

    fn member(&self) -> Option<(&str, u64)> {
        self.file.as_ref().map(|file| (&*file.name, file.map.size))
    }

    fn next_file(&mut self) -> LocalBoxFuture<'_, Result<bool>> {
        self.next().boxed_local()
    }

    fn pass_hole(&mut self, unit: u64) -> u64 {
        let Some(file) = &mut self.file else { return 0 };
        let (end, is_hole) = file.current_run();
        // Leave more than a footer to be read: a chunk that is only a footer is not recognised as one.
        let len = end.min(file.map.size.saturating_sub(TAIL + 1)).saturating_sub(file.at) / unit * unit;
        if !is_hole {
            return 0;
        }
        file.advance(len);
        len
    }

    fn ended(&self) -> Ended {
        Ended { is_unmarked: !self.is_marked, ..self.archive.stream.ended() }
    }
}

struct StreamedArchive {
    stream: Box<dyn ByteStream>,
    position: u64,
    /// Bytes peeked and not consumed yet.
    ahead: Vec<u8>,
}

impl Archive for StreamedArchive {
    fn position(&self) -> u64 {
        self.position
    }

    fn read<'a>(&'a mut self, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<usize>> {
        self.fill(buf).boxed_local()
    }

    fn peek<'a>(&'a mut self, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<usize>> {
        async move {
            let found = self.fill(buf).await?;
            self.position -= found as u64;
            self.ahead.splice(..0, buf[..found].iter().copied());
            Ok(found)
        }
        .boxed_local()
    }

    fn pass(&mut self, len: u64) -> LocalBoxFuture<'_, Result<bool>> {
        self.skip(len).boxed_local()
    }

    fn truncated(&self) -> Error {
        Error::truncated("the rest of the tar archive", HostOffset(self.position), self.position)
    }
}

impl StreamedArchive {
    /// See [`Archive::read`].
    async fn fill(&mut self, buf: &mut [u8]) -> Result<usize> {
        let known = self.ahead.len().min(buf.len());
        buf[..known].copy_from_slice(&self.ahead[..known]);
        self.ahead.drain(..known);
        let found = if known == buf.len() { known } else { known + self.stream.read(&mut buf[known..]).await? };
        self.position += found as u64;
        Ok(found)
    }

    /// See [`Archive::pass`].
    async fn skip(&mut self, mut len: u64) -> Result<bool> {
        let mut buf = zeroed(len.min(PASSED as u64) as usize)?;
        while len > 0 {
            let part = len.min(PASSED as u64) as usize;
            if self.fill(&mut buf[..part]).await? < part {
                return Ok(false);
            }
            len -= part as u64;
        }
        Ok(true)
    }
}
