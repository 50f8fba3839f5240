//! A sparse extent with any of the headers: the entries of its grain directory refer to grain tables, whose entries refer to
//! grains
//! (Virtual Disk Format 5.0, "Grain Directories, Grain Tables, and Grains").

use super::entries::{Grain, Layout};
use crate::compress::GrainFrame;
use crate::disk::damage::Damage;
use crate::error::{Error, Result};
use crate::format::PartFile;
use crate::io::source::{Source, read_exact};
use crate::offsets::{ByteRange, HostOffset, MAX_SIZE, SECTOR};
use std::rc::Rc;

/// Upper bounds on a grain and on a compressed grain, in bytes.
const MAX_GRAIN: u64 = 1 << 30;
pub(super) const MAX_COMPRESSED_GRAIN: u64 = 2 << 20;
/// Upper bound on the entries of a grain table.
const MAX_TABLE_ENTRIES: u64 = 1 << 16;

/// A file that holds a sparse extent, or a flat one.
#[derive(Clone)]
pub(super) struct ExtentFile {
    /// Its name, for messages, where it is not the image itself.
    pub name: Option<Rc<str>>,
    pub source: Rc<dyn Source>,
}

impl From<&PartFile> for ExtentFile {
    fn from(part: &PartFile) -> Self {
        Self { name: Some(part.name.clone()), source: part.source.clone() }
    }
}

impl ExtentFile {
    /// `error` with the name of this file in its message.
    pub fn error(&self, error: Error) -> Error {
        match &self.name {
            Some(name) => error.within(name),
            None => error,
        }
    }
}

/// Whether and how grains are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Compressed {
    /// Whether a marker stands before each grain.
    pub has_markers: bool,
}

/// The checked header of a sparse extent. Sizes and offsets are in bytes.
#[derive(Clone, Debug)]
pub(super) struct Sparse {
    pub layout: Layout,
    pub version: u32,
    pub capacity: u64,
    pub grain: u64,
    pub table_entries: u64,
    pub directory: HostOffset,
    /// The redundant directory, which has tables of its own.
    pub redundant: Option<HostOffset>,
    /// Where the markers of a stream begin whose footer is lost: its grains are found by them, not by the directory.
    pub markers: Option<HostOffset>,
    pub compressed: Option<Compressed>,
    /// Whether the file was not closed properly.
    pub is_dirty: bool,
}

/// `sectors` as an offset in bytes. Fails with `corrupt` if no file can have it; `what` is at this offset, and `field` is where
/// the header has it.
pub(super) fn position(sectors: u64, what: &str, field: u64) -> Result<HostOffset> {
    match sectors.checked_mul(SECTOR).filter(|&position| position <= i64::MAX as u64) {
        Some(position) => Ok(HostOffset(position)),
        None => Err(Error::corrupt(format!("{what} has an impossible position"), HostOffset(field))),
    }
}

/// The size of a disk or an extent of `sectors`, in bytes. Fails with `limit` above 2^53-1.
pub(super) fn size(sectors: u64) -> Result<u64> {
    let size = sectors.checked_mul(SECTOR).filter(|&size| size <= MAX_SIZE);
    size.ok_or_else(|| Error::new(crate::ErrorKind::Limit, "The disk is larger than 2^53-1 bytes"))
}

impl Sparse {
    /// Fails with `corrupt` or `limit` unless the sizes are possible.
    pub fn check(self) -> Result<Self> {
        let refuse = |what: &str, value: u64| Err(Error::corrupt(format!("{what} is {value}"), HostOffset(0)));
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

    /// How the compressed grain at `start` of the extent is stored.
    pub fn frame(&self, start: u64) -> GrainFrame {
        let has_markers = self.compressed.is_some_and(|how| how.has_markers);
        GrainFrame {
            sector: has_markers.then_some(start / SECTOR),
            // A compressed grain has at most 2 MiB.
            len: (self.capacity - start).min(self.grain) as u32,
        }
    }

    /// See [`Layout::entry_size`].
    pub fn entry_size(&self) -> u64 {
        self.layout.entry_size()
    }

    /// How much of the disk a grain table describes, in bytes.
    pub fn table_span(&self) -> u64 {
        self.grain * self.table_entries
    }

    /// How many entries of the directory the capacity needs.
    pub fn directory_entries(&self) -> u64 {
        self.capacity.div_ceil(self.table_span())
    }

    /// How many bytes of table number `index` the capacity needs.
    pub fn table_len(&self, index: u64) -> u64 {
        let span = (self.capacity - index * self.table_span()).min(self.table_span());
        span.div_ceil(self.grain) * self.entry_size()
    }

    /// See [`Layout::entry`].
    pub fn entry(&self, bytes: &[u8]) -> u64 {
        self.layout.entry(bytes)
    }

    /// See [`Layout::table`].
    pub fn table(&self, entry: u64) -> std::result::Result<Option<HostOffset>, Damage> {
        self.layout.table(entry)
    }

    /// See [`Layout::grain`].
    pub fn grain(&self, entry: u64) -> std::result::Result<Grain, Damage> {
        self.layout.grain(entry)
    }
}

/// The first sector of a file, which has any of the headers, or the whole file if it is shorter.
pub(super) async fn head(source: &dyn Source) -> Result<Vec<u8>> {
    read_exact(source, ByteRange { start: HostOffset(0), len: source.size().min(SECTOR) }, "header").await
}
