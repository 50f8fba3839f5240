//! Notices disks with sectors of 4,096 bytes in images that do not state the size of sectors, by the GPT.

use crate::compress::GuestRun;
use crate::disk::info::Notice;
use crate::offsets::{SECTOR, le32, le64};
use decant_codec::crc;

/// The size of large sectors, in bytes.
const LARGE: usize = 4096;
/// Length of the start of the disk with the headers of both kinds of GPT, in bytes.
pub(super) const START: usize = 2 * LARGE;
/// Length of a GPT header, in bytes (UEFI Specification 2.10, table 5.5), and the positions of its fields.
const HEADER: usize = 92;
const LENGTH_AT: usize = 12;
const CHECKSUM_AT: usize = 16;
const PLACE_AT: usize = 24;

/// Whether the disk has large sectors, by the data of a job: `runs` say where it is in `bytes`.
pub(super) fn has_large_sectors(runs: &[GuestRun], bytes: &[u8]) -> bool {
    let is_at_start = runs.first().is_some_and(|first| first.guest.0 < START as u64);
    if !is_at_start {
        return false;
    }
    let mut start = [0; START];
    for run in runs.iter().take_while(|run| run.guest.0 < START as u64) {
        let at = run.guest.0 as usize;
        let len = run.len.min(START - at);
        start[at..at + len].copy_from_slice(&bytes[run.start..run.start + len]);
    }
    is_of_large_sectors(&start)
}

/// The notice about a disk with large sectors.
pub(super) fn notice() -> Notice {
    Notice::of_sectors(LARGE as u64)
}

/// Whether the disk that begins with `start` has large sectors.
pub(super) fn is_of_large_sectors(start: &[u8]) -> bool {
    has_gpt(start, LARGE) && !has_gpt(start, SECTOR as usize)
}

/// Whether the second sector of a disk that begins with `start` is an intact GPT header, if sectors have `sector` bytes.
fn has_gpt(start: &[u8], sector: usize) -> bool {
    let Some(header) = start.get(sector..2 * sector) else { return false };
    let len = le32(header, LENGTH_AT) as usize;
    if !header.starts_with(b"EFI PART") || !(HEADER..=sector).contains(&len) || le64(header, PLACE_AT) != 1 {
        return false;
    }
    let mut checked = header[..len].to_vec();
    checked[CHECKSUM_AT..CHECKSUM_AT + 4].fill(0);
    crc::crc32(&checked) == le32(header, CHECKSUM_AT)
}
