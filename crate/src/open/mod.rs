//! Opens a file or a stream: unwraps its containers, then opens the image.

mod as_tar;
mod bottom;
mod candidates;
pub mod chain;
mod descent;
pub mod disk_choice;
mod disk_in_order;
pub mod examination;
mod guess;
pub(crate) mod identify;
pub(crate) mod image;
mod legacy_password;
mod machine;
pub(crate) mod manifest;
pub(crate) mod members;
mod origin;
pub(crate) mod refusals;
pub(crate) mod safety;
pub mod split;
pub mod streamed_image;

use crate::error::{Error, ErrorKind, Result};
use crate::format::{self, RAW};
use crate::io::source::Source;
use crate::io::stream::ByteStream;
use crate::io::table_cache::TableCache;
use chain::{OpenOptions, Top};
pub(crate) use descent::Checksum;
use descent::{Descent, Reading};
use disk_choice::{Choice, not_in_archive};
use identify::RawReason;
use image::Image;
pub use machine::DiskOfMachine;
use origin::Origin;
use split::split_file::SplitFile;
use std::rc::Rc;
use streamed_image::{RoomNeeded, StreamedImage};

/// The input of [`open`].
pub enum Input {
    /// A file that can be read at any position.
    File(Rc<dyn Source>),
    /// Bytes that are read once, in order.
    Stream(Box<dyn ByteStream>),
}

/// The result of [`open`].
#[allow(clippy::large_enum_variant, reason = "there is one for each image, and it is moved once or twice")]
pub enum Opened {
    /// An image that can be read at any position.
    Image(Image),
    /// A raw disk that is read in order.
    Streamed(StreamedImage),
    /// Several disks in an archive or a machine: the caller has to choose one.
    Choice(Choice),
    /// The configuration of a virtual machine: a disk of it is the image to open.
    Machine(DiskOfMachine),
    /// A file that must be unpacked first: the caller opens the unpacked file.
    RoomNeeded(RoomNeeded),
}

/// Opens `input` and the containers around the image. If `options` state a format, the input itself is in that format,
/// and containers are not looked for: a raw disk may begin like one. With `OpenOptions::unpack`, the content of its
/// containers is in that format.
///
/// Streams, and the content of containers that are decoded in order, must be raw disks: all other formats need random
/// access, and so room if they cannot be read in place. Their conversion is refused at the end if only the last bytes show the
/// format. An archive in such a container must hold a raw disk, as its only file or as the only one that stands out. Unrecognised
/// content of a container is read as raw if it looks like a disk (see `guess`) or if `options` name it, and `Info::safety` reports
/// that. A member named `disk.raw` is always a raw disk: the guest may write what looks like another format.
///
/// The parts of a split file are joined first: see `OpenOptions::file`.
///
/// Fails as [`Image::open`] does; with `usage` for `unpack` without the format raw or without a container, for a check of a
/// manifest in a stream, and for a disk that does not exist or is in no container that is read at any position;
/// with `unsupported` if a container has no image or one that cannot be read inside it, or to salvage a disk that a container decodes
/// in order; with `missing-file`, `corrupt` or `usage` if parts of a split file are missing, have wrong sizes, or may be other files.
pub async fn open(input: Input, options: &OpenOptions) -> Result<Opened> {
    if options.unpack && options.format.as_deref() != Some(RAW.name) {
        let message =
            "The option unpack (--unpack) needs the format raw (-f raw): files in other formats are unpacked anyway";
        return Err(Error::new(ErrorKind::Usage, message));
    }
    if options.check_manifest == Some(true) && matches!(input, Input::Stream(_)) {
        let message = "A stream is read once, so no manifest in it can be checked (checkManifest, --check-manifest); \
                       save it as a file first";
        return Err(Error::new(ErrorKind::Usage, message));
    }
    let stated = options.format.as_deref().filter(|_| !options.unpack);
    if options.disk.is_some() && (stated.is_some() || matches!(input, Input::Stream(_))) {
        return Err(not_in_archive());
    }
    let source = match (input, stated) {
        (Input::File(source), _) => source,
        (Input::Stream(stream), None) => return open_stream(stream, options).await,
        (Input::Stream(stream), Some(format)) => return open_stated(stream, format, options),
    };
    let tables = Rc::<TableCache>::default();
    let Some(split) = SplitFile::of(&source, options, &tables).await? else {
        return open_whole(source, options, tables).await;
    };
    let (split, mut options) = (Rc::new(split), options.clone());
    let source = split.join(source, &mut options, &tables);
    let mut opened = open_whole(source, &options, tables).await.map_err(|error| split.explain(error))?;
    match &mut opened {
        Opened::Image(image) => image.set_split(split),
        Opened::Streamed(image) => image.set_split(split),
        Opened::RoomNeeded(needed) => needed.file.set_split(split),
        Opened::Choice(_) | Opened::Machine(_) => {}
    }
    Ok(opened)
}

/// Opens the file `source`, whose parts are joined. Heads and headers are read through `tables`.
async fn open_whole(source: Rc<dyn Source>, options: &OpenOptions, tables: Rc<TableCache>) -> Result<Opened> {
    if options.format.is_none() || options.unpack {
        let mut descent = Descent::to_image(options);
        descent.tables = tables;
        return open_file(descent, source, options).await;
    }
    let top = Top::of_file(&source, options, tables).await?;
    Ok(Opened::Image(Image::open_top(source, top, None, options).await?))
}

/// Opens the image in the file `source`, at which `descent` begins.
async fn open_file(mut descent: Descent<'_>, source: Rc<dyn Source>, options: &OpenOptions) -> Result<Opened> {
    let level = descent.follow_file(source).await?;
    bottom::open(descent, level, options).await
}

/// Opens the image in a caller's `stream`.
async fn open_stream(stream: Box<dyn ByteStream>, options: &OpenOptions) -> Result<Opened> {
    let mut descent = Descent::to_image(options);
    let level = descent.follow_stream(stream).await?;
    bottom::open(descent, level, options).await
}

/// Opens a caller's `stream` in the `format` that is stated. Reads nothing: the program that writes the stream may wait for something else.
fn open_stated(stream: Box<dyn ByteStream>, format: &str, options: &OpenOptions) -> Result<Opened> {
    let format = format::by_name(format)?;
    let reading = if format.is_raw() { Reading::Raw(RawReason::Stated) } else { Reading::Image(format) };
    bottom::opened(Descent::to_image(options), Origin::once(stream), reading, None, options)
}
