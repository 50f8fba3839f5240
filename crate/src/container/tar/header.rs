//! Headers of tar members.

use super::block::{BLOCK, CHECKSUM, MAGIC, PREFIX, SIZE, TYPE, decimal, number, text};
use super::sparse::{Place, Records};
use crate::error::{Error, ErrorKind, Result};
use crate::offsets::{ByteRange, HostOffset};

/// Types of headers.
const FILES: &[u8] = b"0\x007S";
/// Links, devices, folders, pipes.
const WITHOUT_DATA: &[u8] = b"123456";
const PAX: u8 = b'x';
const GLOBAL: u8 = b'g';
const LONG_NAME: u8 = b'L';
const LONG_LINK: u8 = b'K';
const DESCRIBING: &[u8] = &[PAX, GLOBAL, LONG_NAME, LONG_LINK];

/// The most bytes of a header that describes the next member, or has its name.
const LONGEST_EXTENSION: u64 = 1 << 20;
/// A header of a member, or of what describes one.
pub struct Header {
    pub kind: u8,
    pub name: String,
    /// What stands behind it.
    pub data: ByteRange,
}

impl Header {
    /// The header in `bytes`, a block that lies at `at`; `None` where the archive ends. `stated` is the size of the next
    /// member, if a header before it states it. Its data is not checked against the end of the file.
    pub fn parse(bytes: &[u8], at: u64, stated: Option<u64>) -> Result<Option<Self>> {
        let start = HostOffset(at);
        if bytes.iter().all(|&byte| byte == 0) {
            return Ok(None);
        }
        check(bytes, start)?;
        let kind = bytes[TYPE];
        let stated = stated.filter(|_| !DESCRIBING.contains(&kind));
        let size = match stated {
            _ if WITHOUT_DATA.contains(&kind) => Some(0),
            Some(size) => Some(size),
            None => number(&bytes[SIZE..SIZE + 12]),
        };
        // With what fills its last block.
        let end = |size: u64| at.checked_add(BLOCK)?.checked_add(size)?.checked_next_multiple_of(BLOCK);
        let size = size.filter(|&size| end(size).is_some());
        let size = size.ok_or_else(|| Error::corrupt("the size of a tar member is not possible", start))?;
        Ok(Some(Self { kind, name: own_name(bytes), data: ByteRange { start: HostOffset(at + BLOCK), len: size } }))
    }

    /// Whether its data describes the next member, or all; fails where that is too long to be read.
    pub fn describes(&self) -> Result<bool> {
        if !DESCRIBING.contains(&self.kind) {
            return Ok(false);
        }
        if self.data.len > LONGEST_EXTENSION {
            let message =
                format!("The tar archive has a header of {} bytes, of at most {LONGEST_EXTENSION}", self.data.len);
            return Err(Error::new(ErrorKind::Limit, message));
        }
        Ok(true)
    }
}

/// Whether `block` is a header of POSIX or GNU: signed, and with the right checksum.
pub fn begins_archive(block: &[u8]) -> bool {
    block[MAGIC..].starts_with(b"ustar") && check(block, HostOffset(0)).is_ok()
}

/// Compares the checksum of a header with its bytes: their sum, its own counted as spaces.
fn check(header: &[u8], start: HostOffset) -> Result<()> {
    let field = CHECKSUM..CHECKSUM + 8;
    let bytes = header.iter().enumerate().map(|(at, &byte)| if field.contains(&at) { b' ' } else { byte });
    let (mut unsigned, mut signed) = (0u64, 0i64);
    for byte in bytes {
        unsigned += u64::from(byte);
        // As some old programs have it.
        signed += i64::from(byte as i8);
    }
    let stated = number(&header[field]);
    if stated.is_some_and(|stated| stated == unsigned || i64::try_from(stated) == Ok(signed)) {
        Ok(())
    } else {
        Err(Error::corrupt("a header of the tar archive does not have the checksum that it states", start))
    }
}

/// The name that a header has itself.
fn own_name(header: &[u8]) -> String {
    let name = text(&header[..100]);
    // In the format of GNU other fields are there.
    let prefix = if header[MAGIC + 5] == 0 { text(&header[PREFIX..PREFIX + 155]) } else { String::new() };
    if prefix.is_empty() { name } else { format!("{prefix}/{name}") }
}

/// What headers before a member say of it.
#[derive(Default)]
pub struct Extensions {
    /// Whether there is one, so that a member must follow.
    pub is_given: bool,
    pub name: Option<String>,
    pub size: Option<u64>,
    sparse: Records,
}

impl Extensions {
    /// Takes in `header`, which describes the next member by `data`, its own.
    pub fn describe(&mut self, header: &Header, data: &[u8]) -> Result<()> {
        self.is_given |= header.kind != GLOBAL;
        match header.kind {
            PAX => self.read_pax(data, false, header.data.start),
            GLOBAL => self.read_pax(data, true, header.data.start),
            LONG_NAME => {
                self.name = Some(text(data));
                Ok(())
            }
            // The target of a link.
            _ => Ok(()),
        }
    }

    /// The name of the member that `header` begins, whose bytes are `block`, and where its map is; `None` if it is no regular
    /// file. What was said of it is used up.
    pub fn file(&mut self, header: &Header, block: &[u8]) -> Result<Option<(String, Place)>> {
        let Self { name, mut sparse, .. } = std::mem::take(self);
        let name = sparse.name.take().or(name).unwrap_or_else(|| header.name.clone());
        // Old programs mark a folder by its name only.
        if !FILES.contains(&header.kind) || name.ends_with('/') {
            return Ok(None);
        }
        let place = sparse.place(&name, block, header.data.len, header.data.start)?;
        Ok(Some((name, place)))
    }

    /// Takes in a header of pax: lines of a length, a key and a value. One `for_all` members must say nothing that
    /// matters here.
    fn read_pax(&mut self, mut records: &[u8], for_all: bool, start: HostOffset) -> Result<()> {
        let invalid = || Error::corrupt("a pax header of the tar archive is invalid", start);
        while !records.is_empty() {
            let (record, rest) = pax_record(records).ok_or_else(invalid)?;
            records = rest;
            let equals = record.iter().position(|&byte| byte == b'=').ok_or_else(invalid)?;
            let (key, value) = (&record[..equals], &record[equals + 1..]);
            match key {
                b"size" | b"path" if for_all => return Err(for_all_members()),
                _ if for_all && key.starts_with(b"GNU.sparse.") => return Err(for_all_members()),
                b"size" => self.size = Some(decimal(value).ok_or_else(invalid)?),
                b"path" => self.name = Some(text(value)),
                _ if self.sparse.read(key, value)? => {}
                _ => return Err(invalid()),
            }
        }
        Ok(())
    }
}

fn for_all_members() -> Error {
    Error::unsupported("a pax header that gives all members one size, name or map")
}

/// The first record, "KEY=VALUE", and what follows it.
fn pax_record(records: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = records.iter().position(|&byte| byte == b' ')?;
    let len = usize::try_from(decimal(&records[..space])?).ok()?;
    let (record, rest) = records.split_at_checked(len)?;
    Some((record.get(space + 1..)?.strip_suffix(b"\n")?, rest))
}
