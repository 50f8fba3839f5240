//! The disk of an output that is not quite that of the image: larger, with a backup GPT at its new end. The rewritten ranges lie over
//! the extents of the image, so every output is right by itself.

use super::gpt::{self, Gpt, Patch, Unmoved};
use super::{layout_of, read};
use crate::compress::crc;
use crate::disk::extent::{CheckedWalk, Extent, ExtentKind, ExtentWalk, Extents};
use crate::disk::host_ranges::Findings;
use crate::disk::info::Notice;
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::{FileId, Files, Profile, Source};
use crate::offsets::{GuestOffset, GuestRange, HostOffset};
use crate::open::image::Image;
use crate::output::{Layout, Options, OutputFormat};
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use std::rc::Rc;

/// How the disk of an output differs from that of the image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The size of the disk in bytes, if not that of the image.
    pub size: Option<u64>,
    /// Whether the backup GPT moves to the end of the disk. By default only if the output format rounds the size up.
    pub fix_gpt: Option<bool>,
}

impl Change {
    /// The size of a disk that has `size` bytes in the image. Fails with `usage` if it would become smaller.
    pub fn size_of(self, size: u64) -> Result<u64> {
        match self.size {
            Some(wanted) if wanted < size => Err(smaller(wanted, size, true)),
            wanted => Ok(wanted.unwrap_or(size)),
        }
    }
}

/// The error for a disk that was to have `wanted` bytes, but has `size`, or more unless that `is_whole`.
pub(super) fn smaller(wanted: u64, size: u64, is_whole: bool) -> Error {
    let least = if is_whole { "" } else { "at least " };
    let message = format!(
        "The disk has {least}{size} bytes and cannot become smaller: {wanted} bytes were requested; shrink it in the guest, where its \
         file systems are"
    );
    Error::new(ErrorKind::Usage, message).coded("size-smaller").field("size", wanted).field("virtualSize", size)
}

/// The notice about a disk that becomes larger, with a GPT that stays as it is.
pub(super) fn gpt_not_at_end() -> Notice {
    let message = "The backup GPT is not at the end of the disk, which became larger; move it with --fix-gpt (fixGpt), or in the guest";
    Notice::new("gpt-not-at-end", message)
}

/// The disk of an output.
#[derive(Default)]
pub struct Reshaped {
    /// Its size in bytes before the output format rounds it up.
    pub virtual_size: u64,
    /// The size up to which extents are planned: with a GPT at the end of the output's disk, the rounded one.
    pub(super) size: u64,
    /// Ascending.
    pub(super) patches: Rc<[Patch]>,
    /// The image's bytes XOR the rewritten ones. They lead from the CRC-32 of this disk to that of the image's disk.
    changes: Vec<Patch>,
    pub(super) notices: Vec<Notice>,
}

/// Lays out the disk of `image` with `change` as `format` with `options`. Fails as [`layout_of`] does, with `usage` if the disk would become
/// smaller, and with `corrupt` if its GPT is to be moved but is damaged.
pub async fn reshaped(
    image: &Image,
    format: &OutputFormat,
    options: Options,
    change: Change,
) -> Result<(Box<dyn Layout>, Reshaped)> {
    let virtual_size = change.size_of(image.virtual_size())?;
    let layout = layout_of(image, virtual_size, format, options).await?;
    let disk_size = layout.disk_size();
    let unchanged = Reshaped { virtual_size, size: virtual_size, ..Reshaped::default() };
    if disk_size == image.virtual_size() && change.fix_gpt != Some(true) {
        return Ok((layout, unchanged));
    }
    let fixes = change.fixes(virtual_size, disk_size);
    let found = match moved(image, disk_size).await {
        Ok(found) => found,
        // Damage at the start is reported where the disk is read, or salvaged there.
        Err(error) if error.kind == ErrorKind::Corrupt => Err(Unmoved::Damaged("its start cannot be read")),
        Err(error) => return Err(error),
    };
    let Settled { patches, notices } = change.settle(found, fixes)?;
    if patches.is_empty() {
        return Ok((layout, Reshaped { notices, ..unchanged }));
    }
    let mut changes = Vec::new();
    if image.checksum().is_some() {
        for patch in &patches {
            changes.extend(change_of(image, patch).await?);
        }
    }
    Ok((layout, Reshaped { virtual_size, size: disk_size, patches: patches.into(), changes, notices }))
}

/// The ranges to rewrite, and the notices about the GPT.
#[derive(Default)]
pub(super) struct Settled {
    pub(super) patches: Vec<Patch>,
    pub(super) notices: Vec<Notice>,
}

impl Change {
    /// Whether the GPT is fixed on a disk that the output format makes `disk_size` bytes large.
    pub(super) fn fixes(self, virtual_size: u64, disk_size: u64) -> bool {
        self.fix_gpt.unwrap_or(disk_size > virtual_size)
    }

    /// Decides about the GPT that was found. Fails with `corrupt` if it is to be fixed, but damaged.
    pub(super) fn settle(self, found: std::result::Result<Vec<Patch>, Unmoved>, fixes: bool) -> Result<Settled> {
        let is_wanted = self.fix_gpt == Some(true);
        let notice = |code, message: &str| Settled { patches: Vec::new(), notices: vec![Notice::new(code, message)] };
        Ok(match found {
            Ok(patches) if fixes => Settled { patches, notices: Vec::new() },
            Ok(_) => Settled { patches: Vec::new(), notices: vec![gpt_not_at_end()] },
            Err(Unmoved::Damaged(how)) if is_wanted => {
                let message = format!(
                    "The GPT of the disk cannot be fixed, since {how}; repair it in the guest, or convert without --fix-gpt"
                );
                return Err(Error::new(ErrorKind::Corrupt, message).coded("gpt-damaged"));
            }
            Err(Unmoved::Damaged(how)) => {
                notice("gpt-not-at-end", &format!("The backup GPT was not moved to the end of the disk, since {how}"))
            }
            Err(Unmoved::AtEnd) if is_wanted => {
                notice("gpt-unchanged", "The backup GPT is at the end of the disk already")
            }
            Err(Unmoved::NoGpt) if is_wanted => {
                notice("gpt-unchanged", "The disk has no GPT, so there is nothing to fix")
            }
            Err(Unmoved::AtEnd | Unmoved::NoGpt) => Settled::default(),
        })
    }
}

/// Moves the GPT of `image` to the end of a disk of `disk_size` bytes. Fails as [`read`] does.
async fn moved(image: &Image, disk_size: u64) -> Result<std::result::Result<Vec<Patch>, Unmoved>> {
    let size = image.virtual_size();
    let part = |start: u64, len: u64| GuestRange::from(start..(start + len).min(size));
    let gpt = match Gpt::find(&read(image, part(0, gpt::START)).await?) {
        Ok(gpt) => gpt,
        Err(unmoved) => return Ok(Err(unmoved)),
    };
    let (start, len) = match gpt.entries(size) {
        Ok(entries) => entries,
        Err(unmoved) => return Ok(Err(unmoved)),
    };
    Ok(gpt.moved(&read(image, part(start, len)).await?, disk_size))
}

/// The bytes of `image` in the range of `patch`, if the disk of the image has any. Fails as [`read`] does.
async fn original_of(image: &Image, patch: &Patch) -> Result<Option<Patch>> {
    let end = patch.end().min(image.virtual_size());
    if end <= patch.start {
        return Ok(None);
    }
    let bytes = read(image, GuestRange::from(patch.start..end)).await?;
    Ok(Some(Patch { start: patch.start, bytes }))
}

/// The difference between `patch` and the bytes of `image` there, if the disk of the image has any. Fails as [`read`] does.
async fn change_of(image: &Image, patch: &Patch) -> Result<Option<Patch>> {
    let mut change = original_of(image, patch).await?;
    if let Some(Patch { bytes, .. }) = &mut change {
        bytes.iter_mut().zip(&patch.bytes).for_each(|(byte, new)| *byte ^= new);
    }
    Ok(change)
}

impl Reshaped {
    /// The rewritten ranges, ascending.
    pub(super) fn rewritten(&self) -> Vec<GuestRange> {
        self.patches.iter().map(Patch::range).collect()
    }

    /// The bytes of `image` in the rewritten ranges. Fails as [`read`] does.
    pub(super) async fn originals(&self, image: &Image) -> Result<Vec<Patch>> {
        let mut originals = Vec::new();
        for patch in self.patches.iter() {
            originals.extend(original_of(image, patch).await?);
        }
        Ok(originals)
    }

    /// The files that jobs read: those of `image`, and the rewritten ranges.
    pub fn files(&self, image: &Image) -> Files {
        if self.patches.is_empty() {
            return image.files().clone();
        }
        let patches: Rc<dyn Source> = Rc::new(Patches(self.patches.clone()));
        image.files().iter().cloned().chain([patches]).collect()
    }

    /// The pass over the disk: `extents`, a pass over that of `image`, with its changes.
    pub(super) fn extents(&self, image: &Image, extents: Extents) -> Extents {
        if self.patches.is_empty() && self.size == image.virtual_size() {
            return extents;
        }
        let walk = ReshapedWalk {
            walk: extents.into_walk(),
            size: image.virtual_size(),
            patches: self.patches.clone(),
            file: FileId(image.files().len() as u16),
        };
        Extents::new(CheckedWalk { walk: Box::new(walk), check: None }, self.size)
    }

    /// The CRC-32 of the first `size` bytes of the image's disk, if those of this one have the CRC-32 `sum`.
    pub(super) fn sum_of_image(&self, sum: u32, size: u64) -> u32 {
        if self.changes.is_empty() {
            return sum;
        }
        let (mut change, mut at) = (0, 0);
        for Patch { start, bytes } in self.changes.iter().filter(|change| change.start < size) {
            let bytes = &bytes[..bytes.len().min((size - start) as usize)];
            change = crc::joined(crc::with_zeros(change, start - at), crc::crc32(bytes), bytes.len() as u64);
            at = start + bytes.len() as u64;
        }
        // The CRC is linear but for a constant, which is that of zeros.
        sum ^ crc::with_zeros(change, size - at) ^ crc::of_zeros(size)
    }
}

/// The rewritten ranges as a file, at their guest offsets.
struct Patches(Rc<[Patch]>);

impl Source for Patches {
    fn size(&self) -> u64 {
        self.0.last().map_or(0, Patch::end)
    }

    fn profile(&self) -> Profile {
        Profile { gap: 0, opened_by_workers: false, made_here: true, ..Profile::default() }
    }

    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>> {
        let from = |patch: &&Patch| patch.start <= offset.0 && offset.0 + buf.len() as u64 <= patch.end();
        let found = self.0.iter().find(from).map(|patch| &patch.bytes[(offset.0 - patch.start) as usize..]);
        let read = found.map(|bytes| buf.copy_from_slice(&bytes[..buf.len()]));
        ready(read.ok_or_else(|| Error::new(ErrorKind::Internal, "Bytes were read that are not rewritten")))
            .boxed_local()
    }
}

/// The pass over a disk with changes.
struct ReshapedWalk {
    /// The pass over the disk of the image.
    walk: CheckedWalk,
    /// The size of that disk in bytes.
    size: u64,
    patches: Rc<[Patch]>,
    /// The number of the file with the patches.
    file: FileId,
}

impl ExtentWalk for ReshapedWalk {
    fn list<'a>(&'a mut self, range: GuestRange, batch: &'a mut Vec<Extent>) -> LocalBoxFuture<'a, Result<()>> {
        async move {
            let start = range.start.0;
            let patch = self.patches.iter().find(|patch| patch.end() > start);
            let end = range.end.0.min(match patch {
                Some(patch) if patch.start <= start => patch.end(),
                Some(patch) => patch.start,
                None => u64::MAX,
            });
            let kind = match patch {
                Some(patch) if patch.start <= start => {
                    ExtentKind::Data { file: self.file, host: HostOffset(start), encrypted: None }
                }
                _ if start < self.size => {
                    return self.walk.list(GuestRange::from(start..end.min(self.size)), batch).await;
                }
                _ => ExtentKind::Zero { host: None },
            };
            batch.push(Extent { start: GuestOffset(start), len: end - start, layer: 0, kind, doubt: None });
            Ok(())
        }
        .boxed_local()
    }

    fn findings(&self) -> Findings {
        self.walk.findings()
    }
}
