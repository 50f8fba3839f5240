//! Some ranges of a disk: everything else reads as zeros, and is neither read nor listed.

use crate::disk::extent::{CheckedWalk, Extent, ExtentKind, ExtentWalk, Extents};
use crate::disk::host_ranges::Findings;
use crate::error::Result;
use crate::offsets::{GuestOffset, GuestRange};
use crate::output::BLOCK;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use std::rc::Rc;

/// Extends `ranges`, which must be ascending and disjoint, to whole blocks: part of an encrypted sector cannot be decrypted.
pub(super) fn whole_blocks(ranges: &[GuestRange]) -> Rc<[GuestRange]> {
    let mut whole: Vec<GuestRange> = Vec::with_capacity(ranges.len());
    for range in ranges {
        let range = GuestRange { start: range.start.align_down(BLOCK), end: range.end.align_up(BLOCK) };
        match whole.last_mut() {
            Some(last) if last.end >= range.start => last.end = last.end.max(range.end),
            _ => whole.push(range),
        }
    }
    whole.into()
}

/// The pass over a disk of `size` bytes of which only `ranges`, ascending and disjoint, are wanted. `extents` is the pass over the whole
/// disk.
pub(super) fn within(extents: Extents, ranges: Rc<[GuestRange]>, size: u64) -> Extents {
    let walk = Within { walk: extents.into_walk(), ranges, next: 0 };
    Extents::new(CheckedWalk { walk: Box::new(walk), check: None }, size)
}

struct Within {
    walk: CheckedWalk,
    ranges: Rc<[GuestRange]>,
    /// The number of the first range that has not been passed.
    next: usize,
}

impl ExtentWalk for Within {
    fn list<'a>(&'a mut self, range: GuestRange, batch: &'a mut Vec<Extent>) -> LocalBoxFuture<'a, Result<()>> {
        async move {
            self.next += self.ranges[self.next..].partition_point(|wanted| wanted.end <= range.start);
            let wanted = self.ranges.get(self.next);
            if let Some(wanted) = wanted.filter(|wanted| wanted.start <= range.start) {
                return self.walk.list(GuestRange { end: range.end.min(wanted.end), ..range }, batch).await;
            }
            let end = wanted.map_or(range.end, |wanted: &GuestRange| wanted.start.min(range.end));
            let (start, len): (GuestOffset, u64) = (range.start, end - range.start);
            batch.push(Extent { start, len, layer: 0, kind: ExtentKind::Zero { host: None }, doubt: None });
            Ok(())
        }
        .boxed_local()
    }

    fn findings(&self) -> Findings {
        self.walk.findings()
    }
}
