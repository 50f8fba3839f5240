//! Checks that the parts of a layer do not overlap in its files.

use crate::disk::extent::{Extent, ExtentCheck, ExtentKind};
use crate::disk::host_ranges::{Finding, Findings, HostRanges, HostReport, HostReports, HostUse, UnitLayout};
use crate::error::Result;
use crate::error::damage::Damage;
use crate::error::place::Place;
use crate::format::PartFile;
use crate::io::source::{FileId, Source};
use crate::offsets::{ByteRange, GuestOffset, GuestRange, HostOffset};
use std::rc::Rc;

/// Compares the extents and tables of a layer with one another. Overlapping parts are an error. In a salvage, they are
/// listed as in doubt, with the reason.
pub(super) struct OverlapCheck {
    /// The reports of the walk about its files.
    reports: HostReports,
    ranges: HostRanges,
    layout: Option<UnitLayout>,
    files: CheckedFiles,
    salvage: bool,
    findings: Findings,
    /// In a salvage: guest ranges, ascending, whose tables overlap another part of the file.
    doubts: Vec<(GuestRange, Damage)>,
}

/// The files of a layer, for errors.
pub(super) struct CheckedFiles {
    pub(super) own: Rc<dyn Source>,
    /// The place of the layer in its containers.
    pub(super) place: Option<Place>,
    pub(super) parts: Rc<[Option<PartFile>]>,
}

impl CheckedFiles {
    /// The error for `damage` at `place` of `file`.
    fn error(&self, damage: Damage, file: FileId, place: HostOffset) -> crate::error::Error {
        let part = self.parts.iter().flatten().find(|part| part.id == file);
        let size = part.map_or(&self.own, |part| &part.source).size();
        damage.error(place, size).within(part.map(|part| Place::file(&part.name))).within(self.place.clone())
    }
}

impl OverlapCheck {
    /// Checks the walk that makes `reports`, in at most `most_runs` runs of ranges.
    pub(super) fn new(reports: HostReports, files: CheckedFiles, salvage: bool, most_runs: usize) -> Self {
        let ranges = HostRanges::new(most_runs);
        Self { reports, ranges, layout: None, files, salvage, findings: Findings::default(), doubts: Vec::new() }
    }

    /// Takes a report of the walk into account.
    fn note(&mut self, report: HostReport) -> Result<()> {
        let (file, range, kind, guest) = match report {
            HostReport::Units(layout) => {
                self.layout = Some(layout);
                return Ok(());
            }
            HostReport::CopiesDiffer => {
                self.findings.copies_differ = true;
                return Ok(());
            }
            HostReport::Structure(file, range) => (file, range, HostUse::Structure, None),
            HostReport::Table { file, range, kind, guest } => (file, range, kind, Some(guest)),
        };
        let mut left = range;
        while left.len > 0 {
            let (finding, len) = self.ranges.add(file, left, kind);
            if let Some(damage) = self.damage(finding) {
                if !self.salvage {
                    return Err(self.files.error(damage, file, left.start));
                }
                self.doubts.extend(guest.map(|guest| (guest, damage)));
                return Ok(());
            }
            left = ByteRange { start: HostOffset(left.start.0 + len), len: left.len - len };
        }
        Ok(())
    }

    /// The damage of `finding`, if it is not allowed.
    fn damage(&mut self, finding: Finding) -> Option<Damage> {
        match finding {
            Finding::Free => None,
            Finding::Shared => {
                self.findings.shared = true;
                None
            }
            Finding::Overlap(damage) => Some(damage),
        }
    }

    /// Fails with `corrupt` if `extent` overlaps an earlier part.
    fn check_extent(&mut self, extent: &Extent) -> Result<()> {
        let mut left = Some(*extent);
        while let Some(extent) = left {
            let (finding, len) = compare_extent(&mut self.ranges, self.layout, &extent);
            if let Some(damage) = self.damage(finding)
                && let Some((file, host)) = host_of(&extent)
            {
                return Err(self.files.error(damage, file, host));
            }
            left = extent.split(len).1;
        }
        Ok(())
    }

    /// Appends `extent` to `batch`, with its parts that overlap an earlier one in doubt.
    fn check_in_salvage(&mut self, extent: Extent, batch: &mut Vec<Extent>) {
        let mut left = Some(extent);
        while let Some(extent) = left {
            let (finding, len) = compare_extent(&mut self.ranges, self.layout, &extent);
            let (len, doubt) = self.doubt_at(extent.start, len);
            let (mut part, rest) = extent.split(len);
            if !matches!(part.kind, ExtentKind::Lost(_)) {
                part.doubt = part.doubt.or(self.damage(finding)).or(doubt);
            }
            part.push_to(batch);
            left = rest;
        }
    }

    /// The length of the part of `len` bytes at `start` in which nothing changes, and the doubt about this part because of its table.
    fn doubt_at(&self, start: GuestOffset, len: u64) -> (u64, Option<Damage>) {
        match self.doubts.iter().find(|(doubt, _)| doubt.end > start) {
            Some((doubt, damage)) if doubt.start <= start => (len.min(doubt.end - start), Some(*damage)),
            Some((doubt, _)) => (len.min(doubt.start - start), None),
            None => (len, None),
        }
    }
}

/// Compares the start of `extent`, in a file of `layout`, with the earlier `ranges`, and adds it. Returns the finding and the length of its
/// part.
pub(super) fn compare_extent(ranges: &mut HostRanges, layout: Option<UnitLayout>, extent: &Extent) -> (Finding, u64) {
    let Some(layout) = layout else { return (Finding::Free, extent.len) };
    match extent.kind {
        ExtentKind::Data { file, host, .. } if file == layout.file => {
            let range = ByteRange { start: host, len: extent.len };
            let (finding, len) = ranges.add(file, range, layout.data(extent.start, host));
            (finding.unless_exclusive(layout), len)
        }
        ExtentKind::Compressed { file, host, .. } if file == layout.file => {
            let finding = match layout.packed {
                true => {
                    let start = host.0 / layout.unit * layout.unit;
                    let range = ByteRange { start: HostOffset(start), len: layout.unit };
                    ranges.add(file, range, HostUse::Compressed).0
                }
                false => ranges.compare(file, host, HostUse::Compressed),
            };
            (finding, extent.len)
        }
        _ => (Finding::Free, extent.len),
    }
}

/// The file and position of the stored bytes of `extent`.
fn host_of(extent: &Extent) -> Option<(FileId, HostOffset)> {
    match extent.kind {
        ExtentKind::Data { file, host, .. } | ExtentKind::Compressed { file, host, .. } => Some((file, host)),
        _ => None,
    }
}

impl ExtentCheck for OverlapCheck {
    fn check(&mut self, range: GuestRange, batch: &mut Vec<Extent>, first: usize) -> Result<()> {
        for report in self.reports.take() {
            self.note(report)?;
        }
        if self.layout.is_none() {
            return Ok(());
        }
        if !self.salvage {
            return batch[first..].iter().try_for_each(|extent| self.check_extent(extent));
        }
        self.doubts.retain(|(doubt, _)| doubt.end > range.start);
        for extent in batch.split_off(first) {
            self.check_in_salvage(extent, batch);
        }
        Ok(())
    }

    fn findings(&self) -> Findings {
        self.findings
    }
}
