//! Zip archives (APPNOTE.TXT 6.3.10) of one part, with files that are stored, deflated, or in Deflate64.

use super::super::checksum::crc32;
use super::{deflate64, little};
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

/// Maximum size of a file that is inflated, in bytes.
const LARGEST: u64 = 4 << 20;
const ENCRYPTED: u64 = 1 | 1 << 6 | 1 << 13;
/// Checksum and sizes follow the data.
const STREAMED: u64 = 1 << 3;

/// The central directory.
struct Directory {
    start: u64,
    end: u64,
    entries: u64,
    /// The position from which the archive counts.
    base: u64,
}

/// The fields that central and local headers share.
#[derive(PartialEq)]
struct Header<'a> {
    method: u64,
    crc: u64,
    packed: u64,
    size: u64,
    name: &'a [u8],
}

/// The contents of the regular files, each `None` if its data is damaged. `None` if the archive is invalid or not
/// supported.
pub fn files(archive: &[u8]) -> Option<Vec<Option<Vec<u8>>>> {
    let directory = directory(archive)?;
    let (mut at, mut found) = (directory.start, Vec::new());
    for _ in 0..directory.entries {
        if !archive.get(at as usize..)?.starts_with(b"PK\x01\x02") {
            return None;
        }
        let number = |offset, len| little(archive, at + offset, len);
        let (flags, [name_len, extra_len]) = (number(8, 2)?, [number(28, 2)?, number(30, 2)?]);
        let mut numbers = [number(24, 4)?, number(20, 4)?, number(42, 4)?];
        let name = part(archive, at + 46, name_len)?;
        widen(&mut numbers, part(archive, at + 46 + name_len, extra_len)?)?;
        let [size, packed, offset] = numbers;
        let header = Header { method: number(10, 2)?, crc: number(16, 4)?, packed, size, name };
        if is_file(name, number(4, 2)? >> 8, number(38, 4)?) {
            if flags & ENCRYPTED != 0 {
                return None;
            }
            found.push(content(archive, &directory, &header, directory.base.checked_add(offset)?)?);
        }
        at += 46 + name_len + extra_len + number(32, 2)?;
    }
    (at == directory.end).then_some(found)
}

/// Finds the end record (4.3.16) with the fewest bytes after its comment, and the zip64 records before it (4.3.14, 4.3.15). It is near
/// the end of the file.
fn directory(archive: &[u8]) -> Option<Directory> {
    let last = archive.len().checked_sub(22)?;
    let (mut found, mut after) = (None, usize::MAX);
    for at in (last.saturating_sub(0xffff)..=last).rev() {
        let comment = little(archive, at as u64 + 20, 2)? as usize;
        if archive[at..].starts_with(b"PK\x05\x06") && comment <= last - at && last - at - comment < after {
            (found, after) = (Some(at as u64), last - at - comment);
        }
    }
    let at = found?;
    let number = |offset, len| little(archive, at + offset, len);
    // The disk, that of the directory, entries on the disk, all entries, the size of the directory, and its offset.
    let mut fields = [number(4, 2)?, number(6, 2)?, number(8, 2)?, number(10, 2)?, number(12, 4)?, number(16, 4)?];
    let wide = [(16, 4), (20, 4), (24, 8), (32, 8), (40, 8), (48, 8)];
    let mut end = at;
    let locator = at.checked_sub(20).filter(|&at| archive[at as usize..].starts_with(b"PK\x06\x07"));
    if let Some(locator) = locator {
        // Up to 64 KiB of extensible data follow the record.
        let last = locator.checked_sub(56)?;
        let is_record = |at: &u64| {
            archive[*at as usize..].starts_with(b"PK\x06\x06") && little(archive, at + 4, 8) == Some(locator - at - 12)
        };
        end = (last.saturating_sub(0xffff)..=last).rev().find(is_record)?;
        let number = |offset, len| little(archive, end + offset, len);
        // Numbers that fit may be in both records.
        for (place, (field, (at, len))) in fields.iter_mut().zip(wide).enumerate() {
            let (most, wide) = (if place < 4 { 0xffff } else { 0xffff_ffff }, number(at, len)?);
            if *field != most && *field != wide {
                return None;
            }
            *field = wide;
        }
        // The locator counts as the directory does.
        if end.checked_sub(little(archive, locator + 8, 8)?)? != end.checked_sub(fields[4])?.checked_sub(fields[5])?
            || little(archive, locator + 4, 4)? != 0
            || little(archive, locator + 16, 4)? > 1
        {
            return None;
        }
    }
    let [disk, directory_disk, here, entries, size, offset] = fields;
    let start = end.checked_sub(size)?;
    let is_one_part = disk == 0 && directory_disk == 0 && here == entries;
    let base = start.checked_sub(offset)?;
    // Bytes may precede the archive, or follow it, not both.
    (is_one_part && (after == 0 || base == 0)).then_some(Directory { start, end, entries, base })
}

fn part(archive: &[u8], at: u64, len: u64) -> Option<&[u8]> {
    archive.get(at as usize..at.checked_add(len)? as usize)
}

/// Puts the values of the zip64 field (4.5.3) in place of numbers that do not fit.
fn widen(numbers: &mut [u64], mut extra: &[u8]) -> Option<()> {
    let mut wide: &[u8] = &[];
    while let (Some(id), Some(len)) = (little(extra, 0, 2), little(extra, 2, 2)) {
        let Some(data) = extra.get(4..4 + len as usize) else { break };
        if id == 1 {
            wide = data;
            break;
        }
        extra = &extra[4 + len as usize..];
    }
    for number in numbers.iter_mut().filter(|number| **number == 0xffff_ffff) {
        *number = little(wide, 0, 8)?;
        wide = &wide[8..];
    }
    Some(())
}

/// Whether an entry is a regular file by its name, and by its mode if it was made on Unix or macOS.
fn is_file(name: &[u8], made_on: u64, attributes: u64) -> bool {
    let mode = if [3, 19].contains(&made_on) { attributes >> 28 } else { 0 };
    [0, 0o10, 0o1].contains(&mode) && !matches!(name.last(), Some(b'/' | b'\\')) && !name.starts_with(b"__MACOSX/")
}

/// The content of the file of `central`, whose local header is at `at`: `Some(None)` if its data is damaged.
fn content(archive: &[u8], directory: &Directory, central: &Header<'_>, at: u64) -> Option<Option<Vec<u8>>> {
    if !archive.get(usize::try_from(at).ok()?..)?.starts_with(b"PK\x03\x04") {
        return None;
    }
    let number = |offset, len| little(archive, at + offset, len);
    let (flags, name_len, extra_len) = (number(6, 2)?, number(26, 2)?, number(28, 2)?);
    let mut numbers = [number(22, 4)?, number(18, 4)?];
    let name = part(archive, at + 30, name_len)?;
    if numbers.contains(&0xffff_ffff) {
        widen(&mut numbers, part(archive, at + 30 + name_len, extra_len)?)?;
    }
    let [mut size, mut packed] = numbers;
    let mut crc = number(14, 4)?;
    if flags & STREAMED != 0 {
        for (local, central) in [(&mut size, central.size), (&mut packed, central.packed), (&mut crc, central.crc)] {
            *local = if *local == 0 { central } else { *local };
        }
    }
    let local = Header { method: number(8, 2)?, crc, packed, size, name };
    let start = at + 30 + name_len + extra_len;
    if local != *central || flags & 1 != 0 || start.checked_add(packed)? > directory.start {
        return None;
    }
    let data = part(archive, start, packed)?;
    match central.method {
        0 if size == packed => Some(Some(data.to_vec()).filter(|content| u64::from(crc32(content)) == crc)),
        8 => Some(inflated(data, size).filter(|content| u64::from(crc32(content)) == crc)),
        9 => {
            let content = deflate64::inflated(data, LARGEST as usize).filter(|content| content.len() as u64 == size);
            Some(content.filter(|content| u64::from(crc32(content)) == crc))
        }
        _ => None,
    }
}

/// The `size` bytes that are deflated in all of `data`.
fn inflated(data: &[u8], size: u64) -> Option<Vec<u8>> {
    let mut content = vec![0; usize::try_from(size).ok().filter(|_| size <= LARGEST)?];
    let flags = TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
    let (status, read, written) = decompress(&mut DecompressorOxide::new(), data, &mut content, 0, flags);
    (status == TINFLStatus::Done && read == data.len() && written == content.len()).then_some(content)
}
