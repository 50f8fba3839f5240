//! The changes of a log, applied in memory: the file is never written to.

use crate::error::Result;
use crate::io::source::{Profile, Source};
use crate::offsets::{ByteRange, HostOffset, MAX_SIZE};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Length of a page, the unit of changes, in bytes.
pub(super) const PAGE: u64 = 4096;
/// Largest number of changed ranges in memory. A log of 1 GiB has fewer pages with data.
const MOST: usize = 1 << 18;
/// Number of bytes at the start and end of a page that are not in the page of the log.
const LEADING: u64 = 8;
const TRAILING: u64 = 4;

/// The content of a changed page: a page of the log, except for its ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Page {
    pub(super) host: HostOffset,
    pub(super) leading: [u8; LEADING as usize],
    pub(super) trailing: [u8; TRAILING as usize],
}

/// A changed range of the file: a page, or zeros.
#[derive(Clone, Copy, Debug)]
struct Change {
    end: u64,
    page: Option<Page>,
}

/// The changes of a log, and the size of the file with them.
#[derive(Debug)]
pub(super) struct Replay {
    /// By their first byte, without overlap. All begin and end at multiples of a page.
    changes: BTreeMap<u64, Change>,
    file_size: u64,
    /// The size that the file had at least when the log was written.
    pub(super) flushed: u64,
    /// The size of the file with the changes.
    size: u64,
}

impl Replay {
    /// Starts without changes of a file of `file_size` bytes, of which `flushed` were stored when the log was written,
    /// and which then had `last` bytes.
    pub(super) fn new(file_size: u64, flushed: u64, last: u64) -> Self {
        // If the file was cut off, what is missing is not zero.
        let size = if file_size < flushed { file_size } else { file_size.max(last.min(MAX_SIZE)) };
        Self { changes: BTreeMap::new(), file_size, flushed, size }
    }

    /// Replaces `range`, in whole pages, by `page`, or by zeros. Returns false if there are too many changes.
    pub(super) fn add(&mut self, range: ByteRange, page: Option<Page>) -> bool {
        let (start, end) = (range.start.0, range.end());
        if start == end {
            return true;
        }
        if self.file_size >= self.flushed {
            self.size = self.size.max(end);
        }
        // Only zeros are longer than a page, so only they are divided.
        let before = self.changes.range_mut(..start).next_back();
        let rest =
            before.and_then(|(_, change)| (change.end > start).then(|| std::mem::replace(&mut change.end, start)));
        let mut rest = rest.unwrap_or(end);
        while let Some((&covered, change)) = self.changes.range(start..end).next() {
            rest = rest.max(change.end);
            self.changes.remove(&covered);
        }
        if rest > end {
            self.changes.insert(end, Change { end: rest, page: None });
        }
        self.changes.insert(start, Change { end, page });
        self.changes.len() <= MOST
    }

    /// The number of bytes that change.
    pub(super) fn changed(&self) -> u64 {
        self.changes.iter().map(|(start, change)| change.end - start).sum()
    }

    /// Whether anything outside `ranges` changes, or the file grows.
    pub(super) fn changes_more_than(&self, ranges: &[ByteRange]) -> bool {
        let is_within = |(&start, change): (&u64, &Change)| {
            ranges.iter().any(|range| range.start.0 <= start && change.end <= range.end())
        };
        self.size > self.file_size || !self.changes.iter().all(is_within)
    }

    /// Whether all of `range` is after the end of the file, and is zeros with the changes.
    pub(super) fn is_new_zeros(&self, range: ByteRange) -> bool {
        let mut within = self.within(range.start.0, range.end());
        range.start.0 >= self.file_size && range.end() <= self.size && within.all(|(_, change)| change.page.is_none())
    }

    /// The changes from `start` to `end`.
    fn within(&self, start: u64, end: u64) -> impl Iterator<Item = (u64, Change)> {
        let before = self.changes.range(..start).next_back().filter(move |(_, change)| change.end > start);
        before.into_iter().chain(self.changes.range(start..end)).map(|(&start, &change)| (start, change))
    }
}

/// A file with the changes of its log.
pub(super) struct Replayed {
    file: Rc<dyn Source>,
    replay: Rc<Replay>,
}

impl Replayed {
    pub(super) fn new(file: Rc<dyn Source>, replay: Rc<Replay>) -> Self {
        Self { file, replay }
    }

    async fn fill(&self, start: u64, mut buf: &mut [u8]) -> Result<()> {
        let mut at = start;
        let end = start + buf.len() as u64;
        for (changed, change) in self.replay.within(start, end) {
            let (gap, rest) = buf.split_at_mut(changed.saturating_sub(at) as usize);
            self.unchanged(at, gap).await?;
            at = at.max(changed);
            let (part, rest) = rest.split_at_mut((change.end.min(end) - at) as usize);
            match &change.page {
                None => part.fill(0),
                Some(page) => self.page(page, at - changed, part).await?,
            }
            at += part.len() as u64;
            buf = rest;
        }
        self.unchanged(at, buf).await
    }

    /// Reads bytes that do not change. After the end of the file they are zeros.
    async fn unchanged(&self, at: u64, buf: &mut [u8]) -> Result<()> {
        let present = self.file.size().saturating_sub(at).min(buf.len() as u64);
        let (stored, new) = buf.split_at_mut(present as usize);
        new.fill(0);
        if stored.is_empty() { Ok(()) } else { self.file.read_at(HostOffset(at), stored).await }
    }

    /// Reads a part of `page`, from its byte `skip` on.
    async fn page(&self, page: &Page, skip: u64, part: &mut [u8]) -> Result<()> {
        self.file.read_at(HostOffset(page.host.0 + skip), part).await?;
        for (byte, at) in part.iter_mut().zip(skip..) {
            if at < LEADING {
                *byte = page.leading[at as usize];
            } else if at >= PAGE - TRAILING {
                *byte = page.trailing[(at + TRAILING - PAGE) as usize];
            }
        }
        Ok(())
    }
}

impl Source for Replayed {
    fn size(&self) -> u64 {
        self.replay.size
    }

    fn profile(&self) -> Profile {
        // Workers have the file without the changes.
        Profile { opened_by_workers: false, made_here: true, expects: false, ..self.file.profile() }
    }

    fn start(&self) -> Option<u64> {
        None
    }

    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>> {
        self.fill(offset.0, buf).boxed_local()
    }
}
