//! Tar member headers, and the extended headers before them.

use super::archive::{BLOCK, MAGIC, UstarHeader, decimal, number, text};
use super::sparse_map::{MapPlace, SparseRecords};
use crate::disk::reference::resolved;
use crate::error::{Error, ErrorKind, Result};
use crate::offsets::{ByteRange, HostOffset};

/// Header types of regular files.
const FILES: &[u8] = b"0\x007S";
/// Header types of links, devices, folders and pipes.
const WITHOUT_DATA: &[u8] = b"123456";
const HARD_LINK: u8 = b'1';
const SYMBOLIC_LINK: u8 = b'2';
const PAX: u8 = b'x';
const GLOBAL: u8 = b'g';
const LONG_NAME: u8 = b'L';
const LONG_LINK: u8 = b'K';
const DESCRIBING: &[u8] = &[PAX, GLOBAL, LONG_NAME, LONG_LINK];

/// Maximum length of an extended header's data, in bytes.
const LONGEST_EXTENSION: u64 = 1 << 20;

/// A hard or symbolic link.
pub(crate) struct Link {
    pub(super) name: String,
    /// The path in the archive that it leads to.
    pub(super) target: String,
}

/// The header of a member, or an extended header.
pub(super) struct MemberHeader {
    pub(super) fields: UstarHeader,
    /// The name in the header, with its prefix.
    name: String,
    /// The data after the header.
    pub(super) data: ByteRange,
}

impl MemberHeader {
    /// Parses the block `bytes` at offset `at`; returns `None` for the end mark. `stated` is the member's size from an
    /// earlier extended header, if any. Fails with `corrupt` if the checksum or size is invalid. Does not check the
    /// data's range against the end of the file.
    pub(super) fn parse(bytes: &[u8], at: u64, stated: Option<u64>) -> Result<Option<Self>> {
        let start = HostOffset(at);
        if bytes.iter().all(|&byte| byte == 0) {
            return Ok(None);
        }
        let fields = UstarHeader::parse(bytes);
        check(bytes, &fields, start)?;
        let kind = fields.typeflag;
        let stated = stated.filter(|_| !DESCRIBING.contains(&kind));
        let size = match stated {
            _ if WITHOUT_DATA.contains(&kind) => Some(0),
            Some(size) => Some(size),
            None => number(&fields.size),
        };
        // Includes the padding of the last block.
        let end = |size: u64| at.checked_add(BLOCK)?.checked_add(size)?.checked_next_multiple_of(BLOCK);
        let size = size.filter(|&size| end(size).is_some());
        let size = size.ok_or_else(|| Error::corrupt("the size of a tar member is not possible", start))?;
        Ok(Some(Self { name: own_name(&fields), fields, data: ByteRange { start: HostOffset(at + BLOCK), len: size } }))
    }

    /// Whether this is an extended header: its data describes the next member, or all members. Fails with `limit` if
    /// the data is too long.
    pub(super) fn describes(&self) -> Result<bool> {
        if !DESCRIBING.contains(&self.fields.typeflag) {
            return Ok(false);
        }
        if self.data.len > LONGEST_EXTENSION {
            let message =
                format!("The tar archive has a header of {} bytes, more than {LONGEST_EXTENSION}", self.data.len);
            return Err(Error::new(ErrorKind::Limit, message));
        }
        Ok(true)
    }
}

/// Whether `block` is a header: with a valid checksum, and with the magic or the fields of a header that is older than the magic.
pub(super) fn begins_archive(block: &[u8]) -> bool {
    let fields = UstarHeader::parse(block);
    (fields.magic.starts_with(MAGIC) || is_old(&fields)) && check(block, &fields, HostOffset(0)).is_ok()
}

/// Whether `fields` may be those of a header without the magic: of Unix version 7, cpio, or a label of GNU tar.
fn is_old(fields: &UstarHeader) -> bool {
    let is_number = |field: &[u8]| number(field).is_some() && field.iter().any(u8::is_ascii_digit);
    let has_type = fields.typeflag == 0 || fields.typeflag.is_ascii_alphanumeric();
    fields.name[0] != 0 && has_type && is_number(&fields.chksum) && number(&fields.size).is_some()
}

/// Verifies the checksum of the header `block` with `fields`: the byte sum, with the checksum field read as spaces.
fn check(block: &[u8], fields: &UstarHeader, start: HostOffset) -> Result<()> {
    let field = UstarHeader::chksum as usize..UstarHeader::chksum as usize + fields.chksum.len();
    let bytes = block.iter().enumerate().map(|(at, &byte)| if field.contains(&at) { b' ' } else { byte });
    let (mut unsigned, mut signed) = (0u64, 0i64);
    for byte in bytes {
        unsigned += u64::from(byte);
        // Some old programs sum signed bytes.
        signed += i64::from(byte as i8);
    }
    let stated = number(&fields.chksum);
    if stated.is_some_and(|stated| stated == unsigned || i64::try_from(stated) == Ok(signed)) {
        Ok(())
    } else {
        Err(Error::corrupt("a header of the tar archive does not have the checksum that it states", start))
    }
}

/// Returns the name in the header, with its prefix.
fn own_name(fields: &UstarHeader) -> String {
    let name = text(&fields.name);
    // GNU headers use the prefix field for other purposes, and older headers do not have it.
    let has_prefix = fields.magic.starts_with(MAGIC) && fields.magic[MAGIC.len()] == 0;
    let prefix = if has_prefix { text(&fields.prefix) } else { String::new() };
    if prefix.is_empty() { name } else { format!("{prefix}/{name}") }
}

/// The content of the extended headers before a member.
#[derive(Default)]
pub(super) struct ExtendedHeaders {
    /// An extended header for the next member was read, so the archive may not end here.
    pub(super) is_given: bool,
    name: Option<String>,
    /// The target of a link.
    target: Option<String>,
    pub(super) size: Option<u64>,
    sparse: SparseRecords,
}

impl ExtendedHeaders {
    /// Applies the extended header `header` with content `data`. Fails with `corrupt` if it is invalid, and with
    /// `unsupported` if it sets a size, name or map for all members.
    pub(super) fn describe(&mut self, header: &MemberHeader, data: &[u8]) -> Result<()> {
        let kind = header.fields.typeflag;
        self.is_given |= kind != GLOBAL;
        match kind {
            PAX => self.read_pax(data, false, header.data.start),
            GLOBAL => self.read_pax(data, true, header.data.start),
            LONG_NAME => {
                self.name = Some(text(data));
                Ok(())
            }
            LONG_LINK => {
                self.target = Some(text(data));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Returns the member as a link, if `header` is that of one.
    pub(super) fn link(&self, header: &MemberHeader) -> Option<Link> {
        let path = self.name.as_ref().unwrap_or(&header.name);
        let target = || self.target.clone().unwrap_or_else(|| text(&header.fields.linkname));
        let target = match header.fields.typeflag {
            HARD_LINK => resolved(&target(), ""),
            SYMBOLIC_LINK => resolved(&target(), path),
            _ => return None,
        };
        Some(Link { name: path.clone(), target })
    }

    /// Returns the member's name and the place of its sparse map; `None` if it is not a regular file. `header` is the
    /// member's header. Resets the extensions.
    pub(super) fn file(&mut self, header: &MemberHeader) -> Result<Option<(String, MapPlace)>> {
        let Self { name, mut sparse, .. } = std::mem::take(self);
        let name = sparse.name.take().or(name).unwrap_or_else(|| header.name.clone());
        // Old programs mark folders only by the name.
        if !FILES.contains(&header.fields.typeflag) || name.ends_with('/') {
            return Ok(None);
        }
        let place = sparse.place(&name, &header.fields, header.data.len, header.data.start)?;
        Ok(Some((name, place)))
    }

    /// Parses the records of a pax header. A header `for_all` members must not set size, name or map.
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
                b"linkpath" if !for_all => self.target = Some(text(value)),
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

/// Splits off the first record, "KEY=VALUE".
fn pax_record(records: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = records.iter().position(|&byte| byte == b' ')?;
    let len = usize::try_from(decimal(&records[..space])?).ok()?;
    let (record, rest) = records.split_at_checked(len)?;
    Some((record.get(space + 1..)?.strip_suffix(b"\n")?, rest))
}
