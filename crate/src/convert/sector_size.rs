//! Notices disks with sectors of 4,096 bytes in images that do not state the size of sectors, by the GPT.

use super::gpt::{self, has_header};
use super::read;
use crate::compress::GuestRun;
use crate::disk::info::{Notice, SECTOR_SIZE};
use crate::disk::sector_sizes::SectorSizes;
use crate::error::{ErrorKind, Result};
use crate::offsets::{GuestOffset, GuestRange, SECTOR};
use crate::open::image::Image;
use crate::output::{Layout, Options, OutputFormat};

/// The size of large sectors, in bytes.
const LARGE: usize = 4096;
/// Length of the start of the disk with the headers of both kinds of GPT, in bytes.
const START: usize = gpt::START as usize;

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

/// Whether the output that `layout` describes states large sectors.
pub(super) fn has_large(layout: &dyn Layout) -> bool {
    layout.sectors().is_some_and(|sectors| sectors.logical == LARGE as u64)
}

/// Lays out the disk of `image`, with a size of `size` bytes, as `format` with `options`. An output that states sector sizes gets
/// those of the image, or else those that its GPT implies. Fails as [`OutputFormat::layout`] does, and as reading the disk does.
pub(super) async fn layout_of(
    image: &Image,
    size: u64,
    format: &OutputFormat,
    options: Options,
) -> Result<Box<dyn Layout>> {
    let layout = (format.layout)(size, &options)?;
    if layout.sectors().is_none() {
        return Ok(layout);
    }
    let sectors = match image.sectors() {
        Some(stated) => stated,
        None if starts_with_large_sectors(image).await? => SectorSizes::of(LARGE as u64),
        None => SectorSizes::default(),
    };
    (format.layout)(size, &options.with_sectors(sectors))
}

/// Returns the notice that the disk of `image` has sectors of 4,096 bytes, unless `Info` already has it: for a resumed conversion, which
/// does not read the start of the disk again. Fails as reading the start does.
pub async fn notice_of_start(image: &Image) -> Result<Option<Notice>> {
    if image.info().safety.iter().any(|notice| notice.code == SECTOR_SIZE) {
        return Ok(None);
    }
    Ok(starts_with_large_sectors(image).await?.then(notice))
}

/// Reads the start of the disk of `image`, and returns whether it has large sectors. Ignores a damaged start, and otherwise fails as
/// reading does.
async fn starts_with_large_sectors(image: &Image) -> Result<bool> {
    let len = image.virtual_size().min(START as u64);
    match read(image, GuestRange { start: GuestOffset(0), end: GuestOffset(len) }).await {
        Ok(mut start) => {
            start.resize(START, 0);
            Ok(is_of_large_sectors(&start))
        }
        Err(error) if error.kind == ErrorKind::Corrupt => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether the disk that begins with `start` has large sectors.
fn is_of_large_sectors(start: &[u8]) -> bool {
    has_header(start, LARGE as u64) && !has_header(start, SECTOR)
}
