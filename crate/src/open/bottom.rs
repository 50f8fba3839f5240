//! Opens the image at which a way down through containers ends.

use crate::container::blocks::{self, BlocksFound};
use crate::container::refusal_of_last_part;
use crate::disk::info::{DiskList, MemberInfo};
use crate::error::{Error, ErrorKind, Result};
use crate::format::{RAW, STATE_FORMAT, TAIL, disk_footer};
use crate::io::source::Source;
use crate::io::stream::Peeked;
use crate::open::chain::{OpenOptions, Top};
use crate::open::descent::{Checksum, Descent, Level, Reading, packed_delta};
use crate::open::guess::{REACH, has_sign, require_disk};
use crate::open::identify::{FileType, RawReason, identify, identify_start, is_raw_disk};
use crate::open::image::Image;
use crate::open::machine::{Kind, disk_of_machine};
use crate::open::members::{ensure_guess, unmarked};
use crate::open::origin::{Origin, PackedFile};
use crate::open::refusals::{empty_file, not_in_order, not_recognised_at};
use crate::open::streamed_image::{InContainers, RoomNeeded, StreamedImage, nothing_to_unpack};
use crate::open::{Opened, open_file};
use std::rc::Rc;

/// Opens the image at `level`, where `descent` ends. Fails as [`crate::open::open`] does.
pub(super) async fn open(mut descent: Descent<'_>, level: Level, options: &OpenOptions) -> Result<Opened> {
    if let Level::File(source, FileType::Unsupported(format)) = &level
        && descent.containers.is_empty()
        && let Some(kind) = Kind::of_format(format.name)
    {
        let configuration = descent.tables.over(source.clone());
        if let Some(opened) = disk_of_machine(kind, &*configuration, options, &descent.tables).await? {
            return Ok(opened);
        }
    }
    descent.list.capacity = descent.list.capacity.or(options.stated.capacity);
    let mut of_current = options.clone();
    // A snapshot of the machine is not one of the image.
    of_current.snapshot = of_current.snapshot.filter(|_| !descent.list.is_in_snapshot);
    let options = &of_current;
    match level {
        Level::ToChoose(choice) => Ok(Opened::Choice(choice)),
        Level::File(source, file_type) | Level::Packed(source, file_type) => {
            open_file_at(descent, source, file_type, options).await.map(Opened::Image)
        }
        Level::WholeArchive(container, members) => {
            descent.require_choice()?;
            descent.containers.pop();
            descent.list = DiskList::default();
            opened(descent, Origin::archive(members), Reading::Archive(container), None, options)
        }
        _ if !options.stated.parents.is_empty() => Err(packed_delta("compressed")),
        Level::Stream(stream, file_type) => open_stream_at(descent, stream, file_type, options).await,
        Level::UnclearArchive(container, file) => {
            open_packed(descent, file, Reading::Archive(container), options).await
        }
    }
}

/// Opens the image in the file `source` of `file_type`.
async fn open_file_at(
    descent: Descent<'_>,
    source: Rc<dyn Source>,
    file_type: FileType,
    options: &OpenOptions,
) -> Result<Image> {
    if !matches!(file_type, FileType::Unsupported(_)) || !descent.list.disks.is_empty() {
        descent.require_choice()?;
    }
    let (missing, is_outermost) = (descent.missing(), descent.containers.is_empty());
    if source.size() + missing == 0 {
        // A place states the name of a file in a container.
        let name = options.name.as_deref().filter(|_| is_outermost);
        return Err(empty_file(name).within(descent.place()));
    }
    if options.unpack && is_outermost {
        return Err(nothing_to_unpack());
    }
    let (format, reason) = match descent.reading(file_type)? {
        Reading::Image(format) => (format, RawReason::Stated),
        Reading::Raw(RawReason::Guessed) if is_outermost => {
            return Err(match refusal_of_last_part(&*source).await {
                Some(of_part) => of_part,
                None => not_recognised_at(&*source, options).await?,
            });
        }
        Reading::Raw(reason @ (RawReason::Guessed | RawReason::HybridIso)) if !is_outermost => {
            require_raw(&descent, &source, options).await?;
            (RAW, reason)
        }
        // Its name states the format: its content was not looked at.
        Reading::Raw(RawReason::Stated) if is_raw_disk(descent.name()) => {
            let content = identify(&*descent.tables.over(source.clone()), None).await?;
            (RAW, RawReason::stated(content))
        }
        Reading::Raw(reason) => (RAW, reason),
        Reading::Archive(_) => unreachable!("its files were followed"),
    };
    let manifest = descent.manifest(options);
    let Descent { containers, tables, blocks, checksum, archive, list, .. } = descent;
    let checksum = match checksum {
        Some(Checksum::Of(stated)) if !format.is_raw() => Some(Checksum::Around(stated)),
        checksum => checksum,
    };
    let (beside, parents) = match archive {
        Some(found) => (found.beside, found.stated.parents),
        None => (Vec::new(), options.stated.parents.clone()),
    };
    let list = list.into();
    let top = Top { format, reason, containers, list, missing, beside, checksum, parents, tables, blocks };
    Image::open_top(source, top, manifest, options).await
}

/// Fails unless `source`, a file in no recognised format, looks like a complete raw disk.
async fn require_raw(descent: &Descent<'_>, source: &Rc<dyn Source>, options: &OpenOptions) -> Result<()> {
    let is_ended = descent.archive.as_ref().is_none_or(|found| found.is_ended);
    if !is_ended && !options.salvage {
        return Err(unmarked(&descent.containers));
    }
    // A truncated disk may have lost its signatures.
    if descent.missing() > 0 {
        return Ok(());
    }
    let checked = require_disk(&*descent.tables.over(source.clone())).await;
    checked.map_err(|error| error.within(descent.place()))
}

/// Opens the image in `stream`, which is of `file_type`.
async fn open_stream_at(
    mut descent: Descent<'_>,
    stream: Peeked,
    file_type: FileType,
    options: &OpenOptions,
) -> Result<Opened> {
    let (reading, stream) = reading_of(&descent, stream, file_type, options).await?;
    match descent.packed.take() {
        Some(file) => open_packed(descent, file, reading, options).await,
        None => opened(descent, Origin::once(Box::new(stream)), reading, None, options),
    }
}

/// Opens the image that is decoded in order out of `file`.
async fn open_packed(
    mut descent: Descent<'_>,
    file: PackedFile,
    reading: Reading,
    options: &OpenOptions,
) -> Result<Opened> {
    let reading = or_archive(reading, &mut descent, options)?;
    let found = match (&reading, &options.in_place, descent.outermost()) {
        (Reading::Image(_) | Reading::Archive(_), Some(in_place), Some(container)) if !options.spool => {
            blocks::find(container, file.source.clone(), in_place).await?
        }
        _ => BlocksFound::InOrder(None),
    };
    match found {
        BlocksFound::Blocks(content) => {
            let container = descent.containers.swap_remove(0);
            let descent = Descent::in_place(container, content.clone(), options);
            Box::pin(open_file(descent, content, options)).await
        }
        BlocksFound::InOrder(size) => {
            let origin = Origin::file(file, std::mem::take(&mut descent.decoders));
            opened(descent, origin, reading, size, options)
        }
    }
}

/// Returns the image that comes in order from `origin`: a raw disk, or a file that needs room, whose unpacked `size` may be known. Fails as
/// [`StreamedImage::new`] does.
pub(super) fn opened(
    descent: Descent<'_>,
    origin: Origin,
    reading: Reading,
    size: Option<u64>,
    options: &OpenOptions,
) -> Result<Opened> {
    let manifest = descent.manifest(options);
    let Descent { containers, mut list, only, window, .. } = descent;
    let (reason, name) = match reading {
        Reading::Raw(reason) => (reason, None),
        Reading::Image(format) => (RawReason::Stated, Some((format.name, format.label))),
        Reading::Archive(container) => (RawReason::Stated, Some((container.name, container.label))),
    };
    if name.is_none() && list.disks.is_empty() {
        let format = (!reason.is_guess()).then_some(RAW.name);
        list.disks.extend(only.map(|only| MemberInfo { format, ..only }));
    }
    let around = InContainers { containers, list, reason, window };
    match name {
        None => StreamedImage::new(origin, around, manifest, options).map(Opened::Streamed),
        Some(name) => Ok(Opened::RoomNeeded(RoomNeeded::new(name, origin, around, size))),
    }
}

/// Returns `reading`, or the outermost archive that is decoded in order, if that archive must be read at any position instead: to
/// choose another disk, or to find other files of its disk. Fails with `usage` if the chosen disk does not exist.
fn or_archive(reading: Reading, descent: &mut Descent<'_>, options: &OpenOptions) -> Result<Reading> {
    let disks = &descent.list.disks;
    // A choice other than the only disk names a disk inside an archive, if there is an archive.
    let is_named = disks.iter().any(|disk| options.choosing().names(&disk.name));
    let is_inside = options.disk.is_some() && disks.len() < 2 && !is_named;
    let goes_back = descent.is_in_archive() && (is_inside || !matches!(reading, Reading::Raw(_)));
    if let Some(archive) = goes_back.then(|| descent.back_to_archive()).flatten() {
        return Ok(Reading::Archive(archive));
    }
    if !descent.is_in_archive() && !matches!(reading, Reading::Archive(_)) {
        descent.require_choice()?;
    }
    Ok(reading)
}

/// Decides how `stream` is read, which is of `file_type`. Returns that and the stream. Fails with `unsupported` if its format is not
/// supported, with `not-recognised` if it does not look like a disk, and as [`Descent::reading`] does.
async fn reading_of(
    descent: &Descent<'_>,
    stream: Peeked,
    file_type: FileType,
    options: &OpenOptions,
) -> Result<(Reading, Peeked)> {
    let (containers, is_outermost) = (&descent.containers, descent.containers.is_empty());
    let reason = match descent.reading(file_type)? {
        Reading::Image(format) if !format.is_supported() => {
            if !format.is_image() {
                ensure_guess(containers)?;
            }
            return Err(not_in_order(format, containers.last().map(|container| container.name)));
        }
        Reading::Raw(_) if is_outermost && options.unpack => return Err(nothing_to_unpack()),
        Reading::Raw(RawReason::Guessed) if is_outermost => {
            let message = "The stream is not in a known disk image format; if it is a raw disk, state the format raw";
            let error = Error::new(ErrorKind::NotRecognised, message);
            return Err(error.coded(STATE_FORMAT).field("format", RAW.name));
        }
        Reading::Raw(RawReason::Stated) => {
            let reading = Reading::Raw(RawReason::stated(identify_start(stream.head(), None)));
            return Ok((reading, stream));
        }
        Reading::Raw(reason) if reason.is_guess() => reason,
        reading => return Ok((reading, stream)),
    };
    if matches!(reason, RawReason::Guessed | RawReason::HybridIso) {
        ensure_guess(containers)?;
    }
    let stream = Peeked::new(Box::new(stream), REACH as usize).await?;
    let start = stream.head();
    let reason = match reason {
        RawReason::Guessed if has_sign(start) => RawReason::Likely,
        reason => reason,
    };
    // A footer, as of a fixed VHD, is not part of the disk. The end of a longer disk is checked when it is read.
    let tail = &start[start.len().saturating_sub(TAIL as usize)..];
    if start.len() < REACH as usize && disk_footer(tail, start.len() as u64).is_none() {
        reason.check_size(start.len() as u64, containers)?;
    }
    Ok((Reading::Raw(reason), stream))
}
