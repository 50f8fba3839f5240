//! The use of the ranges of files, to find parts of an image that overlap.
//!
//! A walk reports where the structures of its files are, and its extents state where the data is. Ranges are kept in runs:
//! adjacent ranges with the same use are joined, so that most images need few runs. Once there are too many runs, further
//! ranges are compared with the known runs, but only those that extend a run are remembered. So some overlaps may be
//! missed, but every reported overlap is real.

use crate::error::damage::{Damage, damages};
use crate::io::source::FileId;
use crate::offsets::{ByteRange, GuestOffset, GuestRange, HostOffset, SECTOR};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

damages! {
    /// Data overlaps a part of other data, or all of the other data in a format that requires separate blocks.
    DATA_OVERLAPS = "data-overlaps", "two parts of the disk overlap in the file";
    /// Data is in a structure of the image.
    DATA_IN_STRUCTURE = "data-in-structure", "a part of the disk is in a header or table of the file";
    /// A table is in another structure, or in data.
    TABLE_OVERLAPS = "table-overlaps", "a table overlaps another part of the file";
}

/// The use of a range of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostUse {
    /// A structure at a fixed position, such as a header or a directory of tables.
    Structure,
    /// A table that others refer to. `unit` is as in [`HostUse::Data`], for tables.
    Table { unit: u64 },
    /// Uncompressed data, in units such as clusters. `unit` is the offset at which units begin, modulo their size. If
    /// it is equal for two ranges, units of them that overlap are the same unit.
    Data { unit: u64 },
    /// Compressed data, and the space between compressed units.
    Compressed,
}

/// A comparison of a range with the earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// No earlier range overlaps it.
    Free,
    /// An earlier range has the same units.
    Shared,
    Overlap(Damage),
}

impl Finding {
    /// The finding for data in a file of this layout.
    pub(crate) fn unless_exclusive(self, layout: UnitLayout) -> Self {
        if self == Self::Shared && layout.exclusive { Self::Overlap(DATA_OVERLAPS) } else { self }
    }
}

impl HostUse {
    /// Compares a range of this use with an earlier one of the use `other` at the same place.
    fn compare(self, other: Self) -> Finding {
        use HostUse::{Compressed, Data, Structure, Table};
        match (self, other) {
            (Structure, Structure) | (Compressed, Compressed) => Finding::Free,
            (Table { unit: a }, Table { unit: b }) | (Data { unit: a }, Data { unit: b }) if a == b => Finding::Shared,
            (Table { .. } | Structure, _) => Finding::Overlap(TABLE_OVERLAPS),
            (_, Table { .. } | Structure) => Finding::Overlap(DATA_IN_STRUCTURE),
            _ => Finding::Overlap(DATA_OVERLAPS),
        }
    }
}

struct Run {
    end: u64,
    kind: HostUse,
}

/// The known ranges of the files of a layer.
pub(crate) struct HostRanges {
    /// The runs by file and start. They do not overlap.
    runs: BTreeMap<(FileId, u64), Run>,
    most: usize,
}

impl HostRanges {
    /// Keeps at most `most` runs.
    pub(crate) fn new(most: usize) -> Self {
        Self { runs: BTreeMap::new(), most }
    }

    /// Whether there may be too many runs to remember all ranges.
    pub(crate) fn is_full(&self) -> bool {
        self.runs.len() >= self.most
    }

    /// Lists the ranges of the first `size` bytes of `file` that no run covers.
    pub(crate) fn gaps(&self, file: FileId, size: u64) -> Vec<ByteRange> {
        let mut gaps = Vec::new();
        let mut at = 0;
        for (&(_, start), run) in self.runs.range((file, 0)..=(file, u64::MAX)) {
            if start.min(size) > at {
                gaps.push(ByteRange { start: HostOffset(at), len: start.min(size) - at });
            }
            at = at.max(run.end);
        }
        if at < size {
            gaps.push(ByteRange { start: HostOffset(at), len: size - at });
        }
        gaps
    }

    /// Adds the start of `range` of `file`, and compares it with the earlier ranges. Returns the finding, and the length
    /// of the part to which it applies: at least 1 unless `range` is empty.
    pub(crate) fn add(&mut self, file: FileId, range: ByteRange, kind: HostUse) -> (Finding, u64) {
        let (start, end) = (range.start.0, range.end());
        let before = self.at_or_before(file, start).map(|(first, run)| (first, run.end, run.kind));
        if let Some((_, before_end, before_kind)) = before
            && before_end > start
        {
            return (kind.compare(before_kind), before_end.min(end) - start);
        }
        let next =
            self.runs.range((file, start)..=(file, end)).next().map(|(&(_, next), run)| (next, run.end, run.kind));
        let end = next.map_or(end, |(next, ..)| next);
        // The range becomes a part of its neighbours if they have the same use.
        let mut run = (start, end);
        if let Some((first, before_end, before_kind)) = before
            && before_end == start
            && before_kind == kind
        {
            run.0 = first;
        }
        if let Some((next, next_end, next_kind)) = next
            && next_kind == kind
        {
            self.runs.remove(&(file, next));
            run.1 = next_end;
        }
        if self.runs.len() < self.most || run != (start, end) {
            self.runs.insert((file, run.0), Run { end: run.1, kind });
        }
        (Finding::Free, end - start)
    }

    /// Returns the finding for data that begins at `start` and whose length is unknown. Does not add it.
    pub(crate) fn compare(&self, file: FileId, start: HostOffset, kind: HostUse) -> Finding {
        match self.at_or_before(file, start.0) {
            Some((_, run)) if run.end > start.0 => kind.compare(run.kind),
            _ => Finding::Free,
        }
    }

    /// The last run that begins at `at` or before, with its start.
    fn at_or_before(&self, file: FileId, at: u64) -> Option<(u64, &Run)> {
        let (&(_, start), run) = self.runs.range((file, 0)..=(file, at)).next_back()?;
        Some((start, run))
    }
}

/// The layout of the data in a file: blocks, clusters or grains.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnitLayout {
    pub(crate) file: FileId,
    /// The guest offset of the first unit.
    pub(crate) base: GuestOffset,
    /// Size of a unit on the disk, in bytes.
    pub(crate) unit: u64,
    /// Length of the structure before each unit in the file, such as a sector bitmap.
    pub(crate) lead: u64,
    /// Whether the format forbids that two places of the disk share a unit.
    pub(crate) exclusive: bool,
    /// Whether compressed data is in whole units of the file, which nothing else uses.
    pub(crate) packed: bool,
}

impl UnitLayout {
    /// Units of `unit` bytes from the start of the disk, as most formats have them.
    pub(crate) fn new(file: FileId, unit: u64) -> Self {
        Self { file, base: GuestOffset(0), unit, lead: 0, exclusive: false, packed: false }
    }

    /// The use of the host range from `host` on, whose data is at `guest`.
    pub(crate) fn data(&self, guest: GuestOffset, host: HostOffset) -> HostUse {
        let before = self.lead + (guest - self.base) % self.unit;
        self.at(host.0.wrapping_sub(before))
    }

    /// The use of a unit that begins at `start` of the file, together with the structure before it.
    fn at(&self, start: u64) -> HostUse {
        HostUse::Data { unit: start % (self.lead + self.unit) }
    }
}

/// A report of a walk, in the order in which it reads the file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum HostReport {
    /// The layout of the data of the next extents.
    Units(UnitLayout),
    /// A structure at a fixed position.
    Structure(FileId, ByteRange),
    /// A table, or a part of one, which describes `guest`.
    Table { file: FileId, range: ByteRange, kind: HostUse, guest: GuestRange },
    /// A structure and its copy differ.
    CopiesDiffer,
}

/// The findings of a pass so far, besides damage.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Findings {
    /// Parts of a file were listed for more than one place of the disk.
    pub(crate) shared: bool,
    /// Tables and their copies differ.
    pub(crate) copies_differ: bool,
}

impl Findings {
    #[must_use]
    pub(crate) fn and(self, other: Self) -> Self {
        Self { shared: self.shared || other.shared, copies_differ: self.copies_differ || other.copies_differ }
    }
}

/// The number of reports between two calls of [`HostReports::take`] for which there is room from the start.
const USUAL_REPORTS: usize = 64;

/// The reports of a walk that its caller has not taken yet.
#[derive(Clone, Debug)]
pub(crate) struct HostReports(Rc<RefCell<Vec<HostReport>>>);

impl HostReports {
    pub(crate) fn new() -> Self {
        Self(Rc::new(RefCell::new(Vec::with_capacity(USUAL_REPORTS))))
    }

    pub(crate) fn add(&self, report: HostReport) {
        self.0.borrow_mut().push(report);
    }

    /// Reports a structure of `len` bytes at `start` of `file`. No data can be in the rest of its sectors: units begin at
    /// sectors.
    pub(crate) fn structure(&self, file: FileId, start: HostOffset, len: u64) {
        let first = HostOffset(start.0 / SECTOR * SECTOR);
        let range = ByteRange::new(start, len).filter(|range| range.len > 0);
        let len = range.and_then(|range| range.end().checked_next_multiple_of(SECTOR)).map(|end| end - first.0);
        if let Some(range) = len.and_then(|len| ByteRange::new(first, len)) {
            self.add(HostReport::Structure(file, range));
        }
    }

    pub(crate) fn take(&self) -> Vec<HostReport> {
        self.0.take()
    }
}

/// How the tables of a file are reported.
#[derive(Clone, Debug)]
pub(crate) struct TableReports {
    pub(crate) reports: HostReports,
    pub(crate) file: FileId,
    /// The guest offset that the first table describes.
    pub(crate) base: GuestOffset,
    /// Length of a table in the file, in bytes.
    pub(crate) len: u64,
    /// The layout of the units, if each follows its table.
    pub(crate) before_unit: Option<UnitLayout>,
}

impl TableReports {
    /// Reports tables of `len` bytes in `file`, from the start of the disk and apart from the units.
    pub(crate) fn new(reports: &HostReports, file: FileId, len: u64) -> Self {
        Self { reports: reports.clone(), file, base: GuestOffset(0), len, before_unit: None }
    }

    /// Reports the part of `len` bytes at `part` of the table that begins at `table`. The part describes `guest`, counted
    /// from [`TableReports::base`]. The last part of a table includes the space up to the unit after it, or the end of
    /// its sector.
    pub(crate) fn add(&self, table: u64, part: HostOffset, len: u64, is_last: bool, guest: std::ops::Range<u64>) {
        let (kind, len) = match &self.before_unit {
            Some(layout) if is_last => (layout.at(table), len.max(self.len - (part.0 - table))),
            Some(layout) => (layout.at(table), len),
            None if is_last => (HostUse::Table { unit: table % self.len }, len.next_multiple_of(SECTOR)),
            None => (HostUse::Table { unit: table % self.len }, len),
        };
        let guest = GuestRange { start: self.base + guest.start, end: self.base + guest.end };
        if let Some(range) = ByteRange::new(part, len) {
            self.reports.add(HostReport::Table { file: self.file, range, kind, guest });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Finding::{Free, Overlap, Shared};

    const FILE: FileId = FileId::IMAGE;

    fn range(start: u64, len: u64) -> ByteRange {
        ByteRange { start: HostOffset(start), len }
    }

    #[test]
    fn the_same_units_are_shared_and_others_overlap() {
        use HostUse::{Compressed, Data, Structure, Table};
        let (data, table) = (Data { unit: 0 }, Table { unit: 0 });
        // (start, length, use, finding, length of its part)
        let steps = [
            (0, 100, Structure, Free, 100),
            (90, 20, Structure, Free, 10),
            (200, 100, data, Free, 100),
            (300, 100, data, Free, 100),
            (200, 300, data, Shared, 200),
            (150, 100, data, Free, 50),
            (160, 10, Data { unit: 1 }, Overlap(DATA_OVERLAPS), 10),
            (390, 100, Data { unit: 1 }, Overlap(DATA_OVERLAPS), 10),
            (50, 100, data, Overlap(DATA_IN_STRUCTURE), 50),
            (400, 50, table, Free, 50),
            (400, 50, table, Shared, 50),
            (410, 50, Table { unit: 10 }, Overlap(TABLE_OVERLAPS), 40),
            (440, 50, data, Overlap(DATA_IN_STRUCTURE), 10),
            (390, 50, table, Overlap(TABLE_OVERLAPS), 10),
            (0, 50, table, Overlap(TABLE_OVERLAPS), 50),
            (500, 10, Compressed, Free, 10),
            (500, 10, Compressed, Free, 10),
            (505, 10, data, Overlap(DATA_OVERLAPS), 5),
        ];
        let mut ranges = HostRanges::new(100);
        for (start, len, kind, finding, part) in steps {
            assert_eq!(ranges.add(FILE, range(start, len), kind), (finding, part), "{start}, {len}, {kind:?}");
        }
        assert_eq!(ranges.add(FileId(1), range(0, 1000), data), (Free, 1000));
        assert_eq!(ranges.compare(FILE, HostOffset(449), data), Overlap(DATA_IN_STRUCTURE));
        assert_eq!(ranges.compare(FILE, HostOffset(450), data), Free);
    }

    /// In whatever order the units of a file are added, they end as one run.
    #[test]
    fn neighbours_are_one_run() {
        const UNITS: u64 = 1 << 10;
        for order in [|number: u64| number, |number| UNITS - 1 - number, |number: u64| number.reverse_bits() >> 54] {
            let mut ranges = HostRanges::new(usize::MAX);
            for number in (0..UNITS).map(order) {
                assert_eq!(ranges.add(FILE, range(number * 8, 8), HostUse::Data { unit: 0 }), (Free, 8));
            }
            assert_eq!(ranges.runs.len(), 1);
            assert_eq!(ranges.add(FILE, range(0, UNITS * 8), HostUse::Data { unit: 0 }), (Shared, UNITS * 8));
        }
    }

    /// With too many runs, nothing that does not overlap is refused, and the known runs still count.
    #[test]
    fn runs_are_bounded() {
        const MOST: usize = 16;
        let mut ranges = HostRanges::new(MOST);
        let data = HostUse::Data { unit: 0 };
        for number in 0..1000 {
            assert_eq!(ranges.add(FILE, range(number * 16, 8), data), (Free, 8));
            assert!(ranges.runs.len() <= MOST);
        }
        assert_eq!(ranges.add(FILE, range(16 * 15, 8), data).0, Shared);
        assert_eq!(ranges.add(FILE, range(16 * 16, 8), data).0, Free);
        // An extended run is remembered.
        assert_eq!(ranges.add(FILE, range(8, 8), data).0, Free);
        assert_eq!(ranges.add(FILE, range(8, 8), data).0, Shared);
    }
}
