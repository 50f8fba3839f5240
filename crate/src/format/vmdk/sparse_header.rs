//! Sparse extents of all kinds: a grain directory refers to grain tables, whose entries refer to grains (Virtual Disk
//! Format 5.0, "Grain Directories, Grain Tables, and Grains").

use super::entries::EntryLayout;
use crate::compress::GrainFrame;
use crate::error::{Error, Result, checked_size_of};
use crate::format::two_level::Shape;
use crate::io::source::{Source, read_start};
use crate::offsets::{HostOffset, SECTOR};

/// Maximum sizes of a grain and of a compressed grain, in bytes.
const MAX_GRAIN: u64 = 1 << 30;
pub(super) const MAX_COMPRESSED_GRAIN: u64 = 2 << 20;
/// Maximum number of entries of a grain table.
const MAX_TABLE_ENTRIES: u64 = 1 << 16;

/// The compression of grains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GrainCompression {
    /// Whether each grain has a marker before it.
    pub(crate) has_markers: bool,
}

/// The header of a sparse extent. Sizes and offsets are in bytes.
#[derive(Clone, Debug)]
pub(crate) struct SparseHeader {
    /// The host offset of the header; of the footer if that was read instead.
    pub(crate) place: HostOffset,
    pub(crate) capacity_place: HostOffset,
    pub(crate) layout: EntryLayout,
    pub(crate) version: u32,
    pub(crate) capacity: u64,
    pub(crate) grain: u64,
    pub(crate) table_entries: u64,
    pub(crate) directory: HostOffset,
    /// The redundant directory, which has separate tables.
    pub(crate) redundant: Option<HostOffset>,
    /// The offset of the first marker, if the footer is missing: grains are then found by markers, not by the
    /// directory.
    pub(crate) markers: Option<HostOffset>,
    pub(crate) compressed: Option<GrainCompression>,
    /// Whether the file was not closed properly.
    pub(crate) is_dirty: bool,
}

/// Converts `sectors` to a host offset in bytes. Fails with `corrupt` above 2^63-1. `what` is the structure there, and
/// `field` the offset of the header's field, for messages.
pub(crate) fn position(sectors: u64, what: &str, field: HostOffset) -> Result<HostOffset> {
    match sectors.checked_mul(SECTOR).filter(|&position| position <= i64::MAX as u64) {
        Some(position) => Ok(HostOffset(position)),
        None => Err(Error::corrupt(format!("{what} has an impossible position"), field)),
    }
}

/// Converts the size of a disk or extent from sectors to bytes. Fails with `limit` above 2^53-1.
pub(crate) fn size(sectors: u64) -> Result<u64> {
    checked_size_of("disk", sectors.checked_mul(SECTOR))
}

impl SparseHeader {
    /// Validates the header. Fails with `corrupt` or `limit` if a size is out of range.
    pub(crate) fn check(self) -> Result<Self> {
        let refuse = |what: &str, value: u64| Err(Error::corrupt(format!("{what} is {value}"), self.place));
        if !self.grain.is_power_of_two() || !(SECTOR..=MAX_GRAIN).contains(&self.grain) {
            return refuse("its grain size in bytes", self.grain);
        }
        if !(1..=MAX_TABLE_ENTRIES).contains(&self.table_entries) {
            return refuse("its number of entries for each grain table", self.table_entries);
        }
        if self.directory.0 < SECTOR {
            return refuse("the offset of its grain directory", self.directory.0);
        }
        if self.compressed.is_some() && self.grain > MAX_COMPRESSED_GRAIN {
            let message = format!("The image has compressed grains of more than {MAX_COMPRESSED_GRAIN} bytes");
            return Err(Error::new(crate::ErrorKind::Limit, message));
        }
        Ok(self)
    }

    /// Returns the frame of the compressed grain at offset `start` of the extent.
    pub(crate) fn frame(&self, start: u64) -> GrainFrame {
        let has_markers = self.compressed.is_some_and(|how| how.has_markers);
        GrainFrame {
            sector: has_markers.then_some(start / SECTOR),
            // Fits, since a compressed grain has at most 2 MiB.
            len: (self.capacity - start).min(self.grain) as u32,
        }
    }

    pub(crate) fn shape(&self) -> Shape {
        Shape {
            size: self.capacity,
            unit: self.grain,
            entry_size: self.layout.entry_size(),
            table_entries: self.table_entries,
        }
    }
}

/// Reads the first sector of a file, which contains any kind of header, or the whole file if it is shorter.
pub(crate) async fn head(source: &dyn Source) -> Result<Vec<u8>> {
    read_start(source, SECTOR).await
}
