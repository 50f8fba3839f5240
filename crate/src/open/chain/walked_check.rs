//! The check of a layer by a walk of its tables, without a stop at the first fault.

use super::Chain;
use super::overlap_check::compare_extent;
use crate::disk::extent::{Extent, ExtentKind};
use crate::disk::file_check::{CheckProgress, FileCheck, FindingKind, at};
use crate::disk::host_ranges::{DATA_OVERLAPS, Finding, HostRanges, HostReport, HostUse, TABLE_OVERLAPS, UnitLayout};
use crate::disk::info::Notice;
use crate::error::Result;
use crate::format::WalkedCheck;
use crate::io::source::FileId;
use crate::offsets::{ByteRange, GuestOffset, GuestRange, HostOffset};

/// Maximum number of runs of ranges with the same use. A file whose units are in any order has few at the end, but up to half as many
/// runs as units in between.
const MOST_RUNS: usize = 1 << 21;
/// How much larger than their file tables are reported to be, in bytes: up to the end of a sector each.
const TABLE_SLACK: u64 = 1 << 20;
/// The code of a check that cannot be completed.
const TOO_LARGE: &str = "check-too-large";
/// The code of an image that was not closed properly, if its format's programs count that as a corruption.
const UNCLEAN: &str = "check-unclean";

/// Checks layer `number` of `chain`. Fails as the walk does.
pub(super) async fn check(
    chain: &Chain,
    number: usize,
    how: WalkedCheck,
    progress: &CheckProgress,
) -> Result<FileCheck> {
    let layer = &chain.layers[number];
    let mut check = WalkedChecks {
        ranges: HostRanges::new(MOST_RUNS),
        layout: None,
        tables: 0,
        reported: GuestOffset(0),
        report: FileCheck { has_tables: true, counts_leaks: how.leaked_unit.is_some(), ..FileCheck::default() },
    };
    if how.is_unclean {
        let what = "The image was not closed properly, according to the header";
        check.report.add(FindingKind::Corruption, 1, at(UNCLEAN, HostOffset(0), what));
    }
    for range in &how.structures {
        check.add(HostReport::Structure(layer.file, *range));
    }
    let size = layer.disk.virtual_size();
    let parts = layer.parts.iter().flatten().map(|part| part.source.size());
    let stored = parts.fold(layer.source.size(), u64::saturating_add);
    let (mut walk, reports) = chain.plain_walk(number, true);
    let (mut batch, mut done) = (Vec::new(), 0);
    while done < size {
        batch.clear();
        walk.list(GuestRange::from(done..size), &mut batch).await?;
        reports.take().into_iter().for_each(|report| check.add(report));
        for extent in &batch {
            check.add_extent(extent);
        }
        if let Some(notice) = check.obstacle(stored) {
            check.report.add(FindingKind::Unchecked, 1, notice);
            return Ok(check.report);
        }
        done = batch.last().map_or(size, |last| last.end().0);
        progress.reached((0.0, 1.0), done, size);
    }
    if let Some(unit) = how.leaked_unit {
        for gap in check.ranges.gaps(layer.file, layer.source.size()) {
            check.report.leak(gap.len / unit, unit, gap.start);
        }
    }
    Ok(check.report)
}

struct WalkedChecks {
    ranges: HostRanges,
    layout: Option<UnitLayout>,
    /// The length of all tables together, in bytes.
    tables: u64,
    /// The end of the last unit of the disk that was reported.
    reported: GuestOffset,
    report: FileCheck,
}

impl WalkedChecks {
    /// Why the check cannot continue, if it cannot. The files of the image have `stored` bytes.
    fn obstacle(&self, stored: u64) -> Option<Notice> {
        if self.ranges.is_full() {
            let message = format!(
                "The parts of the image are scattered over more than {MOST_RUNS} places of the file, which is too many to check; convert it, and check the new image"
            );
            return Some(Notice::new(TOO_LARGE, message));
        }
        // Sound tables do not overlap. Reading all of them could take forever.
        let message = "The tables together are larger than the file, so the rest of them was not checked";
        (self.tables > stored.saturating_add(TABLE_SLACK)).then(|| Notice::new(TOO_LARGE, message))
    }

    fn add(&mut self, report: HostReport) {
        let (file, range, kind) = match report {
            HostReport::Units(layout) => return self.layout = Some(layout),
            // One of them is read, and the other one is not damaged if it is older.
            HostReport::CopiesDiffer => return,
            HostReport::Structure(file, range) => (file, range, HostUse::Structure),
            HostReport::Table { file, range, kind, .. } => {
                self.tables = self.tables.saturating_add(range.len);
                (file, range, kind)
            }
        };
        self.add_range(file, range, kind);
    }

    /// Adds a structure or table, and reports each other part that it overlaps, once.
    fn add_range(&mut self, file: FileId, range: ByteRange, kind: HostUse) {
        let mut left = range;
        let mut last = None;
        while left.len > 0 {
            let (finding, len) = self.ranges.add(file, left, kind);
            let damage = match finding {
                Finding::Free => None,
                // A bitmap before its block: the block is compared, too.
                Finding::Shared if matches!(kind, HostUse::Data { .. }) => None,
                Finding::Shared => Some(TABLE_OVERLAPS),
                Finding::Overlap(damage) => Some(damage),
            };
            if let Some(damage) = damage.filter(|&damage| last != Some(damage)) {
                self.report.damaged(1, damage, left.start);
            }
            last = damage;
            left = ByteRange { start: HostOffset(left.start.0 + len), len: left.len - len };
        }
    }

    /// Adds an extent, and reports each of its units that cannot be read, or overlaps another part.
    fn add_extent(&mut self, extent: &Extent) {
        if let ExtentKind::Lost(damage) = extent.kind {
            let units = self.new_units(extent.start, extent.len);
            self.report.lost(units, damage, extent.start);
            return;
        }
        let mut left = Some(*extent);
        while let Some(extent) = left {
            let (finding, len) = compare_extent(&mut self.ranges, self.layout, &extent);
            let damage = match finding {
                Finding::Free => None,
                Finding::Shared => Some(DATA_OVERLAPS),
                Finding::Overlap(damage) => Some(damage),
            };
            if let Some(damage) = damage
                && let ExtentKind::Data { host, .. } | ExtentKind::Compressed { host, .. } = extent.kind
            {
                let units = self.new_units(extent.start, len);
                self.report.damaged(units, damage, host);
            }
            left = extent.split(len).1;
        }
    }

    /// The number of units in the `len` bytes of the disk from `start` on, without one that was reported before.
    fn new_units(&mut self, start: GuestOffset, len: u64) -> u64 {
        let Some(layout) = self.layout else { return 1 };
        let (from, end) = (start.max(self.reported), start + len);
        if from >= end {
            return 0;
        }
        let unit = |offset: GuestOffset| offset.0.saturating_sub(layout.base.0);
        let last = unit(end).div_ceil(layout.unit);
        self.reported = layout.base + last * layout.unit;
        last - unit(from) / layout.unit
    }
}
