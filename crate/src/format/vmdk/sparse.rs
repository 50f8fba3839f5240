//! A sparse extent with any of the headers: the entries of its grain directory refer to grain tables, whose entries refer to
//! grains
//! (Virtual Disk Format 5.0, "Grain Directories, Grain Tables, and Grains").

use super::{cowd, damage, kdmv, sesparse};
use crate::compress::GrainFrame;
use crate::disk::damage::Damage;
use crate::error::{Error, Result};
use crate::format::PartFile;
use crate::io::source::{Source, read_exact};
use crate::offsets::{ByteRange, HostOffset, MAX_SIZE, SECTOR, le32, le64};
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

/// The layout of the entries of the directory and of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// "KDMV": 4 bytes. 1 is a grain of zeros.
    Kdmv,
    /// "COWD": 4 bytes.
    Cowd,
    /// SESparse: 8 bytes. `tables` and `grains` are the first sectors of all tables and of all grains.
    SeSparse { tables: u64, grains: u64 },
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

/// What a grain table records of a grain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grain {
    /// The parent's bytes, or zeros.
    Absent,
    Zero,
    At(HostOffset),
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
    /// Reads the header of a sparse extent of any kind. Fails where the file is none. In a salvage, a lost footer is
    /// tolerated where grains have markers.
    pub async fn open(source: &dyn Source, salvage: bool) -> Result<Self> {
        let head = head(source).await?;
        let sparse = if head.starts_with(&kdmv::MAGIC) {
            kdmv::Header::open(source, salvage).await?.sparse()?
        } else if head.starts_with(&cowd::MAGIC) {
            cowd::parse(&head)?
        } else if head.starts_with(&sesparse::MAGIC) {
            sesparse::open(source, &head).await?
        } else {
            let what = "an extent that the descriptor calls sparse does not begin as one";
            return Err(Error::corrupt(what, HostOffset(0)));
        };
        sparse.check()
    }

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

    /// The size of an entry of the directory or a table, in bytes.
    pub fn entry_size(&self) -> u64 {
        match self.layout {
            Layout::Kdmv | Layout::Cowd => 4,
            Layout::SeSparse { .. } => 8,
        }
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

    /// The entry at the start of `bytes`.
    pub fn entry(&self, bytes: &[u8]) -> u64 {
        match self.layout {
            Layout::Kdmv | Layout::Cowd => le32(bytes, 0).into(),
            Layout::SeSparse { .. } => le64(bytes, 0),
        }
    }

    /// The offset of the table of a directory entry; `None` if there is no table.
    pub fn table(&self, entry: u64) -> std::result::Result<Option<HostOffset>, Damage> {
        match self.layout {
            _ if entry == 0 => Ok(None),
            Layout::Kdmv | Layout::Cowd => Ok(Some(HostOffset(entry * SECTOR))),
            Layout::SeSparse { tables, .. } => sesparse::table(tables, entry).map(Some).ok_or(damage::DIRECTORY_ENTRY),
        }
    }

    /// What an entry of a table records.
    pub fn grain(&self, entry: u64) -> std::result::Result<Grain, Damage> {
        match self.layout {
            _ if entry == 0 => Ok(Grain::Absent),
            // Even without the flag for it: sector 1 has a header or a descriptor, never a grain.
            Layout::Kdmv if entry == 1 => Ok(Grain::Zero),
            Layout::Cowd if entry < cowd::HEADER_SECTORS => Err(damage::TABLE_ENTRY),
            Layout::Kdmv | Layout::Cowd => Ok(Grain::At(HostOffset(entry * SECTOR))),
            Layout::SeSparse { grains, .. } => sesparse::grain(grains, entry).ok_or(damage::TABLE_ENTRY),
        }
    }
}

/// The first sector of a file, which has any of the headers, or the whole file if it is shorter.
pub(super) async fn head(source: &dyn Source) -> Result<Vec<u8>> {
    read_exact(source, ByteRange { start: HostOffset(0), len: source.size().min(SECTOR) }, "header").await
}
