//! The changes of a log, applied in memory: the file is never written to.

use crate::error::Result;
use crate::io::source::{Profile, Source};
use crate::offsets::{ByteRange, HostOffset, MAX_SIZE};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use std::rc::Rc;

/// Length of a page, the unit of changes, in bytes.
pub(super) const PAGE: u64 = 4096;
/// Largest number of changes in memory: twice the pages of the largest log.
const MOST: usize = 1 << 19;
/// Number of bytes at the start and end of a page that are not in the page of the log.
const LEADING: u64 = 8;
const TRAILING: u64 = 4;

/// The content of a changed page: a page of the log, except for its ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoggedPage {
    pub(super) host: HostOffset,
    pub(super) leading: [u8; LEADING as usize],
    pub(super) trailing: [u8; TRAILING as usize],
}

/// A changed page of the file.
#[derive(Clone, Copy, Debug)]
struct Change {
    start: u64,
    /// `None` for zeros.
    page: Option<LoggedPage>,
}

/// The changes of a log, and the size of the file with them.
#[derive(Debug)]
pub(super) struct Replay {
    /// In the order of the log; once [`Replay::finish`] was called, ascending, one for each page.
    changes: Vec<Change>,
    file_size: u64,
    /// The size that the file had at least when the log was written.
    pub(super) flushed: u64,
    /// The size of the file with the changes.
    size: u64,
}

impl Replay {
    /// Begins without changes. The file has `file_size` bytes now. When the log was written, it had `last` bytes, and the
    /// first `flushed` ones were stored safely.
    pub(super) fn new(file_size: u64, flushed: u64, last: u64) -> Self {
        // If the file was cut off, it had data there, not zeros.
        let size = if file_size < flushed { file_size } else { file_size.max(last.min(MAX_SIZE)) };
        Self { changes: Vec::new(), file_size, flushed, size }
    }

    /// Replaces `range`, in whole pages, by `page`, or by zeros. Returns false if there are too many changes.
    pub(super) fn add(&mut self, range: ByteRange, page: Option<LoggedPage>) -> bool {
        if range.len / PAGE > (MOST - self.changes.len()) as u64 {
            return false;
        }
        if range.len > 0 && self.file_size >= self.flushed {
            self.size = self.size.max(range.end());
        }
        self.changes.extend((0..range.len / PAGE).map(|number| Change { start: range.start.0 + number * PAGE, page }));
        true
    }

    /// Keeps the last change of each page.
    pub(super) fn finish(&mut self) {
        self.changes.sort_by_key(|change| change.start);
        self.changes.dedup_by(|later, earlier| {
            let is_same = later.start == earlier.start;
            if is_same {
                earlier.page = later.page;
            }
            is_same
        });
    }

    /// The number of bytes that change.
    pub(super) fn changed(&self) -> u64 {
        self.changes.len() as u64 * PAGE
    }

    /// Whether anything outside `ranges`, which are in whole pages, changes, or the file grows.
    pub(super) fn changes_more_than(&self, ranges: &[ByteRange]) -> bool {
        let is_within =
            |change: &Change| ranges.iter().any(|range| (range.start.0..range.end()).contains(&change.start));
        self.size > self.file_size || !self.changes.iter().all(is_within)
    }

    /// Whether the log adds all of `range` after the end of the file, as zeros.
    pub(super) fn is_new_zeros(&self, range: ByteRange) -> bool {
        let is_new = range.start.0 >= self.file_size && range.end() <= self.size;
        is_new && self.within(range.start.0, range.end()).iter().all(|change| change.page.is_none())
    }

    /// The changes of pages from `start` to `end`.
    fn within(&self, start: u64, end: u64) -> &[Change] {
        let first = self.changes.partition_point(|change| change.start + PAGE <= start);
        let last = self.changes.partition_point(|change| change.start < end);
        self.changes.get(first..last).unwrap_or_default()
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

    async fn fill(&self, start: u64, buf: &mut [u8]) -> Result<()> {
        let present = self.file.size().saturating_sub(start).min(buf.len() as u64) as usize;
        let (stored, new) = buf.split_at_mut(present);
        new.fill(0);
        if !stored.is_empty() {
            self.file.read_at(HostOffset(start), stored).await?;
        }
        let end = start + buf.len() as u64;
        for &Change { start: changed, page } in self.replay.within(start, end) {
            let first = changed.max(start);
            let part = &mut buf[(first - start) as usize..((changed + PAGE).min(end) - start) as usize];
            let Some(page) = page else {
                part.fill(0);
                continue;
            };
            self.file.read_at(HostOffset(page.host.0 + first - changed), part).await?;
            for (byte, at) in part.iter_mut().zip(first - changed..) {
                if at < LEADING {
                    *byte = page.leading[at as usize];
                } else if at >= PAGE - TRAILING {
                    *byte = page.trailing[(at + TRAILING - PAGE) as usize];
                }
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
