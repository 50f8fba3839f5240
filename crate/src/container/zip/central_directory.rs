//! The entries of the central directory, and the headers before the files.

use super::end_record::{CentralDirectory, WRAP};
use super::{STORED, damaged};
use crate::compress::crc::crc32;
use crate::container::kept_name;
use crate::error::Result;
use crate::io::source::{Source, read_exact};
use crate::offsets::{ByteRange, HostOffset, le16, le32};
use crate::structure::structure;
use decant_text::{code_page_437, file_name};

/// The signature of a local file header.
pub(super) const LOCAL_HEADER: [u8; 4] = *b"PK\x03\x04";
const CENTRAL_HEADER: [u8; 4] = *b"PK\x01\x02";

structure! {
    /// A central file header (section 4.3.12). The name, extra fields and a comment follow.
    pub(super) struct CentralHeader: Little {
        signature: [u8; 4] = 0,
        version_made_by: u16 = 4,
        flags: u16 = 8,
        method: u16 = 10,
        crc32: u32 = 16,
        compressed_size: u32 = 20,
        uncompressed_size: u32 = 24,
        name_length: u16 = 28,
        extra_length: u16 = 30,
        comment_length: u16 = 32,
        external_attributes: u32 = 38,
        local_header_offset: u32 = 42,
    }
}

structure! {
    /// A local file header (section 4.3.7). The name, extra fields and the data follow.
    struct LocalFields: Little {
        signature: [u8; 4] = 0,
        flags: u16 = 6,
        method: u16 = 8,
        crc32: u32 = 14,
        compressed_size: u32 = 18,
        uncompressed_size: u32 = 22,
        name_length: u16 = 26,
        extra_length: u16 = 28,
    }
}

/// General purpose flags (section 4.4.4).
const ENCRYPTED: u16 = 1;
const STREAMED: u16 = 1 << 3;
const STRONGLY_ENCRYPTED: u16 = 1 << 6;
const UTF_8: u16 = 1 << 11;
const MASKED: u16 = 1 << 13;

/// Hosts whose external attributes begin with the mode of Unix (section 4.4.2): Unix and macOS.
const UNIX: [u16; 2] = [3, 19];
/// The bits of a mode that state the type of a file, the type of regular files, and the type of files that Info-ZIP has read from a
/// pipe.
const TYPE: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const PIPE: u32 = 0o010_000;
/// The folder of AppleDouble files, which macOS adds.
const APPLE_DOUBLE: &[u8] = b"__MACOSX/";

/// An entry of the central directory.
pub(super) struct Entry<'a> {
    pub(super) header: CentralHeader,
    pub(super) name: &'a [u8],
    extra: &'a [u8],
    /// The length of its data, in bytes.
    pub(super) packed: u64,
    /// The size of the file, in bytes.
    pub(super) size: u64,
    /// The offset of its local header, counted from [`CentralDirectory::base`].
    pub(super) offset: u64,
    /// Whether the sizes may be modulo [`WRAP`]: programs of macOS never write zip64 fields.
    pub(super) wraps: bool,
}

impl<'a> Entry<'a> {
    /// Parses the entry at the start of `rest`, and moves `rest` to its end. Returns `None` if it is invalid.
    pub(super) fn next(rest: &mut &'a [u8]) -> Option<Self> {
        let (fields, after) = rest.split_at_checked(CentralHeader::LEN)?;
        let header = CentralHeader::parse(fields);
        let (name, after) = after.split_at_checked(header.name_length.into())?;
        let (extra, after) = after.split_at_checked(header.extra_length.into())?;
        let (_, after) = after.split_at_checked(header.comment_length.into())?;
        *rest = after;
        let numbers = [header.uncompressed_size, header.compressed_size, header.local_header_offset];
        let [size, packed, offset] = widened(numbers, extra)?;
        let wraps = !has_zip64(extra);
        (header.signature == CENTRAL_HEADER).then_some(Self { header, name, extra, packed, size, offset, wraps })
    }

    /// Whether it is a regular file that may be of interest.
    pub(super) fn is_file(&self) -> bool {
        let is_unix = UNIX.contains(&(self.header.version_made_by >> 8));
        let kind = if is_unix { self.header.external_attributes >> 16 & TYPE } else { 0 };
        let is_folder = matches!(self.name, [.., b'/' | b'\\']);
        matches!(kind, 0 | REGULAR | PIPE) && !is_folder && !self.name.starts_with(APPLE_DOUBLE)
    }

    pub(super) fn is_stored(&self) -> bool {
        self.header.method == STORED
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.header.flags & (ENCRYPTED | STRONGLY_ENCRYPTED | MASKED) != 0
    }

    pub(super) fn name(&self) -> String {
        decoded(self.name, self.header.flags & UTF_8 != 0, self.extra)
    }
}

/// Maximum length of the checksum and the sizes after the data (section 4.3.9), in bytes.
const LONGEST_DESCRIPTOR: u64 = 24;

/// Restores the offsets and lengths of `entries` that are modulo [`WRAP`]. Files have the same order as their entries, and the data of
/// a file, with the data descriptor after it, ends at the next local header. Fails with `corrupt` if a local header is missing, and as
/// reading does.
pub(super) async fn unwrap(entries: &mut [Entry<'_>], source: &dyn Source, directory: &CentralDirectory) -> Result<()> {
    let end = directory.range.start.0;
    // The start of each file, and its end by the stated length, which may be too small by a multiple of `WRAP`.
    let (mut places, mut at) = (Vec::new(), directory.base);
    for entry in &mut *entries {
        let mut start = directory.base + entry.offset % WRAP;
        start += at.saturating_sub(start).next_multiple_of(WRAP);
        let header = loop {
            if start >= end {
                return Err(damaged(end));
            }
            let header = LocalHeader::read(source, HostOffset(start), entry.name.len()).await?;
            if header.is_of(entry) {
                break header;
            }
            start += WRAP;
        };
        entry.offset = start - directory.base;
        at = header.data + entry.packed;
        places.push((start, at));
    }
    let next_starts = places.iter().skip(1).map(|(start, _)| *start).chain([end]);
    for ((entry, (_, at)), next) in entries.iter_mut().zip(&places).zip(next_starts) {
        let missing = next.saturating_sub(*at);
        if entry.wraps && missing % WRAP <= LONGEST_DESCRIPTOR {
            entry.packed += missing - missing % WRAP;
            if entry.is_stored() {
                entry.size = entry.packed;
            }
        }
    }
    Ok(())
}

/// The header before a file.
pub(super) struct LocalHeader {
    fields: LocalFields,
    name: Vec<u8>,
    size: u64,
    packed: u64,
    /// The offset of the data in the archive's file.
    pub(super) data: u64,
}

impl LocalHeader {
    /// Reads the header at `start`. The name of its file should have `name_len` bytes. Fails with `corrupt` if it is
    /// invalid, and as reading does.
    pub(super) async fn read(source: &dyn Source, start: HostOffset, name_len: usize) -> Result<Self> {
        let fields_len = LocalFields::LEN as u64;
        let range = ByteRange { start, len: fields_len + name_len as u64 };
        let mut bytes = read_exact(source, range, "header of a file in the zip archive").await?;
        let fields = LocalFields::parse(&bytes);
        let name = bytes.split_off(LocalFields::LEN);
        let at = start.0 + fields_len + u64::from(fields.name_length);
        let (numbers, mut extra) = ([fields.uncompressed_size, fields.compressed_size, 0], Vec::new());
        if numbers.contains(&u32::MAX) {
            let range = ByteRange { start: HostOffset(at), len: fields.extra_length.into() };
            extra = read_exact(source, range, "header of a file in the zip archive").await?;
        }
        let [size, packed, _] = widened(numbers, &extra).ok_or_else(|| damaged(start.0))?;
        Ok(Self { fields, name, size, packed, data: at + u64::from(fields.extra_length) })
    }

    /// Whether it is the header of `entry`. In a streamed archive, the header has zeros for the checksum and the sizes, which follow
    /// the data.
    pub(super) fn is_of(&self, entry: &Entry<'_>) -> bool {
        let fields = &self.fields;
        let is_streamed = fields.flags & STREAMED != 0;
        let is = |stated: u64, expected: u64| {
            stated == expected || (is_streamed && stated == 0) || (entry.wraps && stated == expected % WRAP)
        };
        fields.signature == LOCAL_HEADER
            && fields.method == entry.header.method
            && (fields.flags ^ entry.header.flags) & ENCRYPTED == 0
            && usize::from(fields.name_length) == entry.name.len()
            && self.name == entry.name
            && is(fields.crc32.into(), entry.header.crc32.into())
            && is(self.size, entry.size)
            && is(self.packed, entry.packed)
    }
}

/// The field of sizes and offsets with 64 bits (section 4.5.3).
const ZIP64: u16 = 1;

/// Whether there is a zip64 extra field.
fn has_zip64(extra: &[u8]) -> bool {
    field(extra, ZIP64).is_some()
}

/// Returns `numbers` with the values of the zip64 extra field in place of those that do not fit in 32 bits; `None` if it
/// lacks one.
fn widened(numbers: [u32; 3], extra: &[u8]) -> Option<[u64; 3]> {
    let mut wide = field(extra, ZIP64).unwrap_or_default();
    let mut values = numbers.map(u64::from);
    for value in values.iter_mut().filter(|value| **value == u64::from(u32::MAX)) {
        let (first, rest) = wide.split_first_chunk()?;
        (*value, wide) = (u64::from_le_bytes(*first), rest);
    }
    Some(values)
}

/// Returns the data of the extra field `id` (section 4.5.1).
pub(super) fn field(mut extra: &[u8], id: u16) -> Option<&[u8]> {
    loop {
        let (head, rest) = extra.split_at_checked(4)?;
        let (data, rest) = rest.split_at_checked(le16(head, 2).into())?;
        if le16(head, 0) == id {
            return Some(data);
        }
        extra = rest;
    }
}

/// The extra field of the name in UTF-8 (section 4.6.9), and its version.
const UNICODE_PATH: u16 = 0x7075;
const VERSION: u8 = 1;

/// Decodes `name`, whose entry has the extra fields `extra`. `is_utf_8` states the encoding; otherwise it is that of the
/// extra field, else UTF-8 if it is valid, else code page 437. Invalid UTF-8 is decoded as [`file_name`] does.
pub(super) fn decoded(name: &[u8], is_utf_8: bool, extra: &[u8]) -> String {
    let unicode = field(extra, UNICODE_PATH).filter(|_| !is_utf_8).and_then(|path| unicode_path(path, name));
    let bytes = unicode.unwrap_or(name);
    if is_utf_8 || str::from_utf8(bytes).is_ok() {
        return kept_name(&file_name(bytes));
    }
    kept_name(&code_page_437(bytes))
}

/// The name in the extra field `path`, if it is valid and belongs to `name`.
fn unicode_path<'a>(path: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (head, path) = path.split_at_checked(5)?;
    let is_of_name = head[0] == VERSION && le32(head, 1) == crc32(name);
    (is_of_name && str::from_utf8(path).is_ok()).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_decoded() {
        let unicode = |version: u8, of: &[u8], name: &[u8]| {
            let data = [&[version][..], &crc32(of).to_le_bytes(), name].concat();
            [&[9, 0, 1, 0, 7][..], &UNICODE_PATH.to_le_bytes(), &(data.len() as u16).to_le_bytes(), &data].concat()
        };
        // (name, whether it is stated to be UTF-8, extra fields, expected)
        let rows: &[(&[u8], bool, Vec<u8>, &str)] = &[
            (b"a/b", false, vec![], "a/b"),
            ("é".as_bytes(), true, vec![], "é"),
            ("é".as_bytes(), false, vec![], "é"),
            (b"\x80\xe1\xff\x7f", false, vec![], "Çß\u{a0}\x7f"),
            (b"\x82.vmdk", true, vec![], "\u{ef82}.vmdk"),
            (b"\x82", false, unicode(1, b"\x82", "ü".as_bytes()), "ü"),
            (b"a", false, unicode(1, b"a", "ü".as_bytes()), "ü"),
            (b"a", true, unicode(1, b"a", "ü".as_bytes()), "a"),
            (b"\x82", false, unicode(2, b"\x82", b"a"), "é"),
            (b"\x82", false, unicode(1, b"\x81", b"a"), "é"),
            (b"\x82", false, unicode(1, b"\x82", b"\x82"), "é"),
            (b"a", false, unicode(1, b"a", b"x")[..8].to_vec(), "a"),
            (b"", false, vec![], ""),
        ];
        for (name, is_utf_8, extra, expected) in rows {
            assert_eq!(decoded(name, *is_utf_8, extra), *expected, "{name:x?} {extra:x?}");
        }
        assert_eq!(decoded(&[b'a'; 2000], false, &[]).len(), 1000);
    }
}
