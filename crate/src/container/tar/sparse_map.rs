//! Maps of sparse members: the file positions of a member's data. Old GNU archives have them in the header and in
//! blocks after it, pax 0.0 and 0.1 in records, pax 1.0 as text before the data (manual of GNU tar, "Storing Sparse
//! Files").

use super::archive::{Archive, BLOCK, GNU_MAGIC, SPARSE, UstarHeader, decimal, number, read_exact, text};
use crate::error::shown::shown;
use crate::error::{Error, ErrorKind, Result, checked_size};
use crate::offsets::HostOffset;
use crate::structure::structure;

/// Maximum number of ranges of all members of an archive. Each takes 16 bytes of memory.
const MOST_STRETCHES: usize = 1 << 19;

/// A range of the file with data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DataRange {
    pub(super) start: u64,
    pub(super) len: u64,
}

/// Maps the data of a file, which the archive stores without the holes.
#[derive(Debug)]
pub(crate) struct SparseMap {
    /// Ascending, with holes between.
    pub(super) ranges: Vec<DataRange>,
    pub(super) size: u64,
}

impl SparseMap {
    /// The map of a file without holes.
    pub(super) fn dense(len: u64) -> Self {
        let ranges = if len > 0 { vec![DataRange { start: 0, len }] } else { Vec::new() };
        Self { ranges, size: len }
    }

    pub(super) fn is_dense(&self) -> bool {
        self.ranges.first().map_or(self.size == 0, |first| first.start == 0 && first.len == self.size)
    }
}

/// The number of ranges that the archive's maps may still have.
pub(super) struct RangeBudget(usize);

impl Default for RangeBudget {
    fn default() -> Self {
        Self(MOST_STRETCHES)
    }
}

pub(super) struct MapDraft<'a> {
    map: SparseMap,
    /// The end of the last range, and the data length of all ranges.
    end: u64,
    packed: u64,
    budget: &'a mut RangeBudget,
    /// The member's offset, for messages.
    at: HostOffset,
}

impl<'a> MapDraft<'a> {
    /// Starts the map of a member at `at`, a file of `size` bytes. Fails with `limit` if `size` exceeds 2^53-1.
    pub(super) fn new(size: u64, at: HostOffset, budget: &'a mut RangeBudget) -> Result<Self> {
        let message = || "The tar archive has a sparse member of more than 2^53-1 bytes".to_owned();
        let size = checked_size(Some(size), message)?;
        Ok(Self { map: SparseMap { ranges: Vec::new(), size }, end: 0, packed: 0, budget, at })
    }

    /// Adds `len` bytes of data at `start`. Fails with `corrupt` unless they follow the previous data and are within
    /// the file, and with `limit` if the archive has too many ranges.
    pub(super) fn add(&mut self, start: u64, len: u64) -> Result<()> {
        let end = start.checked_add(len).filter(|&end| start >= self.end && end <= self.map.size);
        let end = end.ok_or_else(|| self.invalid())?;
        // An empty entry marks the end of a file that ends with a hole.
        if len > 0 {
            match self.map.ranges.last_mut() {
                Some(last) if start == self.end => last.len += len,
                _ => {
                    let message = format!("The tar archive has sparse members with more than {MOST_STRETCHES} parts");
                    let left = self.budget.0.checked_sub(1);
                    self.budget.0 = left.ok_or_else(|| Error::new(ErrorKind::Limit, message))?;
                    self.map.ranges.push(DataRange { start, len });
                }
            }
            self.end = end;
            self.packed += len;
        }
        Ok(())
    }

    /// Returns the map. Fails with `corrupt` unless its data is `packed` bytes long, as the member's.
    pub(super) fn finish(self, packed: u64) -> Result<SparseMap> {
        if self.packed == packed { Ok(self.map) } else { Err(self.invalid()) }
    }

    fn invalid(&self) -> Error {
        Error::corrupt("the map of a sparse tar member is invalid", self.at)
    }
}

structure! {
    /// The fields that an old GNU header has in place of the prefix.
    struct OldGnuHeader: Big {
        sp: [u8; 4 * SparseEntry::LEN] = 386,
        isextended: u8 = 482,
        realsize: [u8; 12] = 483,
    }
}

structure! {
    /// A block after an old GNU header, with more entries.
    struct SparseBlock: Big {
        sp: [u8; 21 * SparseEntry::LEN] = 0,
        isextended: u8 = 504,
    }
}

structure! {
    struct SparseEntry: Big {
        offset: [u8; 12] = 0,
        numbytes: [u8; 12] = 12,
    }
}

/// Reads the map of an old GNU member with header `block`, at `at`, from the header and the extension blocks, which are
/// consumed. `packed` is the length of its data.
pub(super) async fn of_header(
    block: &[u8],
    at: HostOffset,
    packed: u64,
    archive: &mut dyn Archive,
    budget: &mut RangeBudget,
) -> Result<SparseMap> {
    let invalid = || Error::corrupt("the map of a sparse tar member is invalid", at);
    let header = OldGnuHeader::parse(block);
    let size = number(&header.realsize).ok_or_else(invalid)?;
    let mut draft = MapDraft::new(size, at, budget)?;
    let (mut entries, mut is_extended) = (header.sp.to_vec(), header.isextended != 0);
    loop {
        let parsed = entries.chunks_exact(SparseEntry::LEN).map(SparseEntry::parse);
        for entry in parsed.take_while(|entry| entry.numbytes[0] != 0) {
            let (start, len) = number(&entry.offset).zip(number(&entry.numbytes)).ok_or_else(invalid)?;
            draft.add(start, len)?;
        }
        if !is_extended {
            return draft.finish(packed);
        }
        let mut next = [0; BLOCK as usize];
        read_exact(archive, &mut next).await?;
        let next = SparseBlock::parse(&next);
        (entries, is_extended) = (next.sp.to_vec(), next.isextended != 0);
    }
}

/// Reads the map of a pax 1.0 member, a file of `size` bytes, at `at`. The map and the data together have `len` bytes
/// in `archive`; the map is consumed. Returns the map and the length of the data.
pub(super) async fn of_text(
    size: u64,
    at: HostOffset,
    len: u64,
    archive: &mut dyn Archive,
    budget: &mut RangeBudget,
) -> Result<(SparseMap, u64)> {
    let mut draft = MapDraft::new(size, at, budget)?;
    let mut text = MapText { block: [0; BLOCK as usize], next: BLOCK as usize, left: len };
    let count = text.number(archive).await?.ok_or_else(|| draft.invalid())?;
    for _ in 0..count {
        let (start, len) = (text.number(archive).await?, text.number(archive).await?);
        let (start, len) = start.zip(len).ok_or_else(|| draft.invalid())?;
        draft.add(start, len)?;
    }
    Ok((draft.finish(text.left)?, text.left))
}

/// Reads numbers, one per line, from whole blocks.
struct MapText {
    block: [u8; BLOCK as usize],
    next: usize,
    /// Bytes of the member after the block.
    left: u64,
}

impl MapText {
    /// Reads the next number; `None` if there is none, or it is invalid.
    async fn number(&mut self, archive: &mut dyn Archive) -> Result<Option<u64>> {
        let mut value: Option<u64> = None;
        loop {
            if self.next == self.block.len() {
                let Some(left) = self.left.checked_sub(BLOCK) else { return Ok(None) };
                read_exact(archive, &mut self.block).await?;
                (self.left, self.next) = (left, 0);
            }
            let byte = self.block[self.next];
            self.next += 1;
            value = match byte {
                b'\n' => return Ok(value),
                b'0'..=b'9' => {
                    let digit = u64::from(byte - b'0');
                    match value.unwrap_or(0).checked_mul(10).and_then(|value| value.checked_add(digit)) {
                        None => return Ok(None),
                        sum => sum,
                    }
                }
                _ => return Ok(None),
            };
        }
    }
}

/// The pax records of a sparse member.
#[derive(Default)]
pub(super) struct SparseRecords {
    /// Whether there are any GNU records.
    is_sparse: bool,
    version: (u64, u64),
    size: Option<u64>,
    /// The file's name, if it differs from the member's.
    pub(super) name: Option<String>,
    /// The map of versions 0.0 and 0.1: alternating offsets and lengths.
    numbers: Vec<u64>,
    /// The file's size according to star, and whether star marks it as sparse.
    star: (Option<u64>, bool),
}

pub(crate) enum MapPlace {
    /// None: the member is not sparse.
    Nowhere,
    /// In the header and the blocks after it.
    Header,
    /// In records: the file size, and alternating offsets and lengths.
    Records(u64, Vec<u64>),
    /// Before the data of the member. The value is the file size.
    Data(u64),
}

impl SparseRecords {
    /// Reads the record `key` with `value`. Returns false if it is invalid. Fails with `limit` if the map is too long.
    pub(super) fn read(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        let number = decimal(value);
        let Some(key) = key.strip_prefix(b"GNU.sparse.") else {
            match key {
                b"SCHILY.realsize" => self.star.0 = number,
                b"SCHILY.filetype" => self.star.1 = value == b"sparse",
                _ => return Ok(true),
            }
            return Ok(key != b"SCHILY.realsize" || number.is_some());
        };
        self.is_sparse = true;
        match key {
            b"name" => self.name = Some(text(value)),
            b"map" => {
                for part in value.split(|&byte| byte == b',').filter(|part| !part.is_empty()) {
                    let Some(part) = decimal(part) else { return Ok(false) };
                    self.push(part)?;
                }
            }
            _ => {
                let Some(number) = number else { return Ok(false) };
                match key {
                    b"major" => self.version.0 = number,
                    b"minor" => self.version.1 = number,
                    b"size" | b"realsize" => self.size = Some(number),
                    // An unpaired number leaves an odd count, or a map that is rejected later.
                    b"offset" | b"numbytes" => self.push(number)?,
                    _ => {}
                }
            }
        }
        Ok(true)
    }

    fn push(&mut self, number: u64) -> Result<()> {
        if self.numbers.len() == 2 * MOST_STRETCHES {
            let message = format!("The tar archive has a sparse member with more than {MOST_STRETCHES} parts");
            return Err(Error::new(ErrorKind::Limit, message));
        }
        self.numbers.push(number);
        Ok(())
    }

    /// Returns the place of the map of the member `name`. `fields` are those of its header, `start` and `len` the range of
    /// its data. Fails with `unsupported` if it is sparse in an unsupported form, and with `corrupt` if its records are
    /// invalid.
    pub(super) fn place(self, name: &str, fields: &UstarHeader, len: u64, start: HostOffset) -> Result<MapPlace> {
        let unreadable = || {
            let what = format!(
                "a sparse tar member in neither GNU nor pax form, '{}' (pack it again without holes)",
                shown(name)
            );
            Err(Error::unsupported(what).coded("tar-sparse-unreadable").field("file", name))
        };
        let invalid = || Error::corrupt("a pax header of the tar archive is invalid", start);
        let is_old_gnu = fields.typeflag == SPARSE;
        if self.star.1 || self.star.0.is_some_and(|size| size != len) {
            return unreadable();
        }
        if is_old_gnu {
            let is_gnu = fields.magic == *GNU_MAGIC && !self.is_sparse;
            return if is_gnu { Ok(MapPlace::Header) } else { unreadable() };
        }
        if !self.is_sparse {
            return Ok(MapPlace::Nowhere);
        }
        let size = self.size.ok_or_else(invalid)?;
        match self.version {
            (0, 0 | 1) if self.numbers.len().is_multiple_of(2) => Ok(MapPlace::Records(size, self.numbers)),
            (0, 0 | 1) => Err(invalid()),
            (1, 0) if self.numbers.is_empty() => Ok(MapPlace::Data(size)),
            _ => unreadable(),
        }
    }
}
