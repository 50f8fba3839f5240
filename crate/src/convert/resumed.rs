//! Finds notices that a resumed conversion does not see: an earlier one has converted the start of the disk.

use super::read;
use super::sector_size::{START, is_of_large_sectors, notice};
use crate::disk::info::{Notice, SECTOR_SIZE};
use crate::error::{ErrorKind, Result};
use crate::offsets::{GuestOffset, GuestRange};
use crate::open::image::Image;

/// Reads the start of the disk of `image`. Returns the notice that the disk has sectors of 4,096 bytes, unless `Info`
/// already has it. Ignores a damaged start, and otherwise fails as reading does.
pub async fn notice_of_start(image: &Image) -> Result<Option<Notice>> {
    let is_known = || image.info().safety.iter().any(|notice| notice.code == SECTOR_SIZE);
    if image.virtual_size() < START as u64 || is_known() {
        return Ok(None);
    }
    match read(image, GuestRange { start: GuestOffset(0), end: GuestOffset(START as u64) }).await {
        Ok(start) => Ok(is_of_large_sectors(&start).then(notice)),
        Err(error) if error.kind == ErrorKind::Corrupt => Ok(None),
        Err(error) => Err(error),
    }
}
