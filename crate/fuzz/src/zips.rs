//! Disk images in zip archives: valid archives for changes.

use super::changes;
use super::checksum::crc32;
use super::containers::{self, examine};
use super::examine::Seen;
use super::reference::little;
use super::small;
use super::zip_writer::{Entry, Zip};
use miniz_oxide::inflate::decompress_to_vec;
use std::ops::Range;

/// The number of archives.
pub const BASES: u8 = 11;

/// A raw disk with the signature of a boot sector.
fn disk() -> Vec<u8> {
    let mut disk: Vec<u8> = (0..1200usize).map(|at| if at / 400 == 1 { 0 } else { (at * at / 90) as u8 }).collect();
    disk[510..512].copy_from_slice(&[0x55, 0xaa]);
    disk
}

thread_local! {
    static ARCHIVES: Vec<Vec<u8>> = (0..BASES).map(base).collect();
}

/// The archive number `number`, modulo their number.
pub fn base(number: u8) -> Vec<u8> {
    let (stored, deflated) = (Entry::stored("a", &disk()), Entry::deflated("a", &disk()));
    let (folder, text) = (Entry::stored("d/", b""), Entry::deflated("d/note.txt", b"text, text, text, text"));
    let plain = Zip::default();
    let wide = Zip { zip64: true, ..plain };
    let streamed = Zip { streamed: true, ..plain };
    let (archive, entries) = match number % BASES {
        0 => (plain, vec![stored]),
        1 => (plain, vec![deflated]),
        2 => (wide, vec![stored]),
        3 => (wide, vec![deflated]),
        4 => (streamed, vec![deflated]),
        5 => (Zip { comment: b"PK, comment", zip64: true, ..streamed }, vec![deflated]),
        6 => {
            let disk = Entry { made_by: 0x31e, attributes: 0o100_644 << 16, ..Entry::stored("disk.raw", &disk()) };
            (plain, vec![folder, text, disk])
        }
        7 => (streamed, vec![Entry::stored("a.qcow2", &small::small()), text]),
        8 => (Zip { comment: b"comment", ..streamed }, vec![folder, stored]),
        9 => {
            let data = include_bytes!("packed/disk.deflate64").to_vec();
            (plain, vec![text, Entry { method: 9, data, ..Entry::stored("a", &containers::disk()) }])
        }
        _ => return with_extensible_data(wide.made_of(&[deflated]).0),
    };
    archive.made_of(&entries).0
}

/// The archive with data after its zip64 record.
fn with_extensible_data(archive: Vec<u8>) -> Vec<u8> {
    let (start, end) = archive.split_at(archive.len() - 42);
    let mut file = [start, b"extensible data", end].concat();
    file[start.len() - 56 + 4] += 15;
    file
}

/// Gives local headers the fields of their central ones, so that changes of these reach further.
fn agreeing(mut archive: Vec<u8>) -> Vec<u8> {
    for at in 0..archive.len().saturating_sub(46) {
        if archive[at..].starts_with(b"PK\x01\x02") {
            let local = u32::from_le_bytes(archive[at + 42..at + 46].try_into().expect("four bytes")) as usize;
            if archive.get(local..).is_some_and(|rest| rest.starts_with(b"PK\x03\x04") && rest.len() >= 26) {
                archive.copy_within(at + 8..at + 28, local + 6);
            }
        }
    }
    archive
}

/// Gives files the CRC of their contents, so that changes of these reach the disk.
fn summed(mut archive: Vec<u8>) -> Vec<u8> {
    for at in 0..archive.len().saturating_sub(46) {
        if archive[at..].starts_with(b"PK\x01\x02")
            && let Some((local, data)) = packed(&archive, at)
            && let Some(content) = content(archive[at + 10], &archive[data.clone()])
        {
            let crc = crc32(&content).to_le_bytes();
            archive[at + 16..at + 20].copy_from_slice(&crc);
            archive[local + 14..local + 18].copy_from_slice(&crc);
            if archive[data.end..].starts_with(b"PK\x07\x08") && archive.len() >= data.end + 8 {
                archive[data.end + 4..data.end + 8].copy_from_slice(&crc);
            }
        }
    }
    archive
}

/// The content of a file that is packed as `data`.
fn content(method: u8, data: &[u8]) -> Option<Vec<u8>> {
    match method {
        0 => Some(data.to_vec()),
        8 => decompress_to_vec(data).ok(),
        _ => None,
    }
}

/// The local header of the file whose central header is at `at`, and the place of its packed data.
fn packed(archive: &[u8], at: usize) -> Option<(usize, Range<usize>)> {
    let number =
        |at: usize, len: usize| little(archive, at as u64, len).and_then(|number| usize::try_from(number).ok());
    let local = number(at + 42, 4)?;
    let start = local.checked_add(30)? + number(local.checked_add(26)?, 2)? + number(local + 28, 2)?;
    let len = match number(at + 20, 4)? {
        // The second field of the first extra field, zip64.
        0xffff_ffff => number(at + 46 + number(at + 28, 2)? + 12, 8)?,
        len => len,
    };
    let end = start.checked_add(len)?;
    (end <= archive.len()).then_some((local, start..end))
}

/// Interprets `input` as changes to one of the archives. Bits of the second byte state how, and whether the CRCs of files are right
/// and the headers of each file agree after them.
pub fn zip(input: &[u8]) -> Seen {
    let [number, how, rest @ ..] = input else { return Seen::default() };
    let change = if how & 1 == 0 { changes::apply } else { changes::anywhere };
    let changed = change(ARCHIVES.with(|archives| archives[usize::from(number % BASES)].clone()), rest);
    let changed = if how & 12 != 0 { summed(changed) } else { changed };
    examine(if how & 2 == 0 { agreeing(changed) } else { changed })
}
