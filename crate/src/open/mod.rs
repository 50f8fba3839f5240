//! Opens a file or a stream: unwraps its containers, then opens the image.

pub mod chain;
pub mod examination;
mod guess;
pub mod image;
mod legacy_password;
pub(crate) mod manifest;
pub(crate) mod members;
mod metered;
pub mod safety;
mod split;
pub mod streamed_image;
mod unpack;

use crate::disk::info::ContainerInfo;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{self, Format, HEAD, Sample, raw};
use crate::io::source::{Source, copied};
use crate::io::stream::{ByteStream, FileStream, Peeked};
use chain::{OpenOptions, Top, not_recognised};
use guess::{REACH, has_sign, require_disk};
use image::Image;
use manifest::Manifest;
use members::ensure_guess;
use metered::{Budget, Metered};
use std::rc::Rc;
use streamed_image::{Decoder, Guess, InContainers, Origin, StreamedImage};
use unpack::{Content, Unpacked, container_of, ensure_room, is_raw_disk, unpack, within};

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
}

/// Opens `input` and the containers around the image. If `options` state a format, the input itself is in that format,
/// and containers are not looked for: a raw disk may begin like one.
///
/// Streams, and the content of containers that are decoded in order, must be raw disks: all other formats need random
/// access. Such a format is refused here if its first bytes identify it, and at the end of a conversion if only its
/// last bytes do. Unrecognised content of a container is read as raw if it looks like a disk (see `guess`), and
/// `Info::safety` reports that. A member named `disk.raw` is always a raw disk: the guest may write what looks like
/// another format.
///
/// Fails as [`Image::open`] does; with `unsupported` if a container has no image, several images, or one that cannot be
/// read inside it, or to salvage a disk that a container decodes in order.
pub async fn open(input: Input, options: &OpenOptions) -> Result<Opened> {
    match input {
        Input::File(source) if options.format.is_some() => Ok(Opened::Image(Image::open(source, options).await?)),
        Input::File(source) => open_file(source, options).await,
        Input::Stream(stream) => Ok(Opened::Streamed(open_stream(stream, options).await?)),
    }
}

async fn open_file(source: Rc<dyn Source>, options: &OpenOptions) -> Result<Opened> {
    let Unpacked { source, containers, missing, is_ended, beside, members, content } =
        unpack(source, options.salvage).await?;
    let image = containers.last().and_then(|container| container.member.as_deref());
    let manifest = Manifest::of(members, image, options.check_manifest, options.salvage);
    let format = match content {
        Content::Image(format) => format,
        Content::Unknown(_) if containers.is_empty() || source.size() + missing == 0 => {
            return Err(within(not_recognised(options, source.size()), &containers));
        }
        Content::Unknown(head) => {
            if !is_ended && !options.salvage {
                return Err(members::unmarked(&containers));
            }
            // A truncated disk may have lost its signatures.
            if missing == 0 {
                let checked = require_disk(head, &*source).await;
                checked.map_err(|error| within(error, &containers))?;
            }
            format::by_name(raw::NAME)?
        }
        Content::InOrder(_) => {
            let size = source.size();
            let found = recognise(Box::new(FileStream::new(source.clone())), containers).await?;
            let origin = Origin::File { source, decoders: found.decoders };
            let disk = InContainers { containers: found.containers, guess: found.guess };
            return Ok(Opened::Streamed(StreamedImage::new(origin, disk, Some(size), manifest.map(Rc::new), options)?));
        }
    };
    let top = Top { format, containers, missing, beside };
    Ok(Opened::Image(Image::open_top(source, top, manifest, options).await?))
}

async fn open_stream(stream: Box<dyn ByteStream>, options: &OpenOptions) -> Result<StreamedImage> {
    if let Some(name) = &options.format {
        let format = format::by_name(name)?;
        if format.name != raw::NAME {
            return Err(not_in_order(format, None));
        }
        return StreamedImage::new(Origin::once(stream), InContainers::default(), None, None, options);
    }
    let found = recognise(stream, Vec::new()).await?;
    if found.containers.is_empty() {
        let message = "The stream is in no disk image format that Decant recognises; if it is a raw disk, state the \
                       format raw";
        let error = Error::new(ErrorKind::NotRecognised, message);
        return Err(error.coded("state-format").field("format", raw::NAME));
    }
    let disk = InContainers { containers: found.containers, guess: found.guess };
    StreamedImage::new(Origin::once(Box::new(found.stream)), disk, None, None, options)
}

/// The result of [`recognise`].
struct Found {
    stream: Peeked,
    containers: Vec<ContainerInfo>,
    /// The decoders between the first stream and this one, outermost first.
    decoders: Vec<Decoder>,
    /// `None` without a container, or if the member's name states a raw disk.
    guess: Option<Guess>,
}

/// The error for an empty stream: most likely the program that should have written it failed.
pub(crate) fn empty_stream() -> Error {
    Error::new(ErrorKind::NotRecognised, "The stream is empty").coded("empty")
}

/// Follows `stream`, which was found in `containers`, down to a raw disk. Fails with `unsupported` if the content needs
/// random access or is named like a file that is never a disk, with `not-recognised` if it is empty or does not look
/// like a disk, and with `limit` if containers are nested too deeply or too much is decoded before the first byte of
/// the disk.
async fn recognise(stream: Box<dyn ByteStream>, mut containers: Vec<ContainerInfo>) -> Result<Found> {
    let mut decoders = Vec::new();
    let budget = Budget::new();
    let mut stream = Peeked::new(stream, HEAD as usize).await?;
    loop {
        if stream.head().is_empty() {
            let file = Error::new(ErrorKind::NotRecognised, "The file is empty").coded("empty");
            return Err(if containers.is_empty() { empty_stream() } else { within(file, &containers) });
        }
        if is_raw_disk(&containers) {
            break;
        }
        let sample = Sample { head: copied(stream.head())?, tail: Vec::new() };
        let outer = containers.last().map(|container| container.name);
        match container_of(&sample) {
            Some(container) => {
                ensure_room(&containers)?;
                let decoder = Decoder::new(container.decode, containers.last());
                let metered = Metered::new(Box::new(stream), budget.clone(), container.name);
                stream = Peeked::new(decoder.begin(Box::new(metered))?, HEAD as usize).await?;
                decoders.push(decoder);
                containers.push(ContainerInfo { name: container.name, member: stream.member().map(str::to_owned) });
            }
            None => {
                let format = format::recognise(&sample);
                if format.is_none_or(Format::is_no_image) {
                    ensure_guess(&containers)?;
                }
                match format {
                    Some(format) => return Err(not_in_order(format, outer)),
                    None => break,
                }
            }
        }
    }
    budget.lift();
    if containers.is_empty() || is_raw_disk(&containers) {
        return Ok(Found { stream, containers, decoders, guess: None });
    }
    let stream = Peeked::new(Box::new(stream), REACH as usize).await?;
    let start = stream.head();
    let guess = Guess { containers: containers.clone(), has_sign: has_sign(start) };
    if (start.len() as u64) < REACH {
        guess.check_size(start.len() as u64)?;
    }
    Ok(Found { stream, containers, decoders, guess: Some(guess) })
}

/// The error for content in `format`, which needs random access, from a stream: of the container `outer` or the
/// caller's.
pub(crate) fn not_in_order(format: &Format, outer: Option<&str>) -> Error {
    let label = format.label;
    let message = match outer {
        Some(outer) if format.is_supported() => {
            format!("The {outer} file holds {label}, which is not read out of it; unpack it first")
        }
        None if format.is_supported() => {
            format!("The stream is {label}, which is read at any position; save it as a file first")
        }
        Some(outer) => return format.refusal(&format!("The {outer} file holds")),
        None => return format.refusal("The stream is"),
    };
    not_read_in_order(message, outer)
}

/// The error for something that needs random access, read in order out of `container`, or from a stream.
pub(crate) fn not_read_in_order(message: String, container: Option<&str>) -> Error {
    let error = Error::new(ErrorKind::Unsupported, message).coded("not-in-order");
    match container {
        Some(container) => error.field("container", container),
        None => error,
    }
}
