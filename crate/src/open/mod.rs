//! Opens a file or a stream: unwraps its containers, then opens the image.

mod ambiguity;
mod as_tar;
pub mod chain;
mod descent;
mod disk_candidate;
pub mod disk_choice;
mod disk_in_order;
pub mod examination;
mod guess;
pub(crate) mod identify;
pub(crate) mod image;
mod legacy_password;
mod machine;
pub(crate) mod manifest;
mod member_references;
pub(crate) mod members;
mod metered;
pub(crate) mod raw_reason;
pub(crate) mod safety;
pub mod split;
pub mod stated_disk;
pub mod streamed_image;
pub(crate) mod unpack;

use crate::container::block_source::BlockSource;
use crate::container::blocks::{self, BlocksFound};
use crate::container::{Member, StatedCrc, refusal_of_last_part};
use crate::disk::info::{ContainerInfo, DiskList};
use crate::error::fields::Fields;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{self, Format, HEAD, RAW, STATE_FORMAT};
use crate::io::source::Source;
use crate::io::stream::{ByteStream, FileStream, Peeked};
use crate::io::table_cache::TableCache;
use as_tar::AsTar;
use chain::{OpenOptions, Top, empty_file, not_recognised};
use descent::{Content, Descent, Packed, Packing};
use disk_choice::{Choosing, not_in_archive};
use disk_in_order::SEVERAL_FILES;
use guess::require_disk;
use identify::{FileType, is_raw_disk};
use image::Image;
pub use machine::DiskOfMachine;
use machine::disk_of_machine;
use manifest::Manifest;
use raw_reason::RawReason;
use split::split_file::SplitFile;
use std::rc::Rc;
use streamed_image::{InContainers, Origin, StreamedImage};
use unpack::{Checksum, InnerFile, Unpacked, packed_delta, place_in, unpack};

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
    /// The configuration of a virtual machine: a disk of it is the image to open.
    Machine(DiskOfMachine),
}

/// Opens `input` and the containers around the image. If `options` state a format, the input itself is in that format,
/// and containers are not looked for: a raw disk may begin like one. With `OpenOptions::unpack`, the content of its
/// containers is in that format.
///
/// Streams, and the content of containers that are decoded in order, must be raw disks: all other formats need random
/// access. Such a format is refused here if its first bytes identify it (see `OpenOptions::spool`), and at the end of a
/// conversion if only its last bytes do. An archive in such a container must hold a raw disk, as its only file or as the only one that
/// stands out. Unrecognised content of a container is read as raw if it looks like a disk (see `guess`) or if `options` name it, and
/// `Info::safety` reports that. A member named `disk.raw` is always a raw disk: the guest may write what looks like
/// another format.
///
/// The parts of a split file are joined first: see `OpenOptions::file`.
///
/// Fails as [`Image::open`] does; with `usage` if `options` state `unpack` without the format raw, or there is no
/// container; with `usage` if a container has several images and `options` do not state one of them,
/// or state one without a container that is read at any position; with `unsupported` if a container has no image or one
/// that cannot be read inside it, or to salvage a disk that a container decodes in order; with `missing-file`, `corrupt` or
/// `usage` if parts of a split file are missing, have wrong sizes, or may be other files.
pub async fn open(input: Input, options: &OpenOptions) -> Result<Opened> {
    if options.unpack && options.format.as_deref() != Some(RAW.name) {
        let message =
            "The option unpack (--unpack) needs the format raw (-f raw): files in other formats are unpacked anyway";
        return Err(Error::new(ErrorKind::Usage, message));
    }
    let is_in_container = options.format.is_none() || options.unpack;
    if options.disk.is_some() && (!is_in_container || matches!(input, Input::Stream(_))) {
        return Err(not_in_archive());
    }
    let source = match input {
        Input::File(source) => source,
        Input::Stream(stream) => return Ok(Opened::Streamed(open_stream(stream, options).await?)),
    };
    let tables = Rc::<TableCache>::default();
    let Some(split) = SplitFile::of(&source, options, &tables).await? else {
        return open_whole(source, is_in_container, options, tables).await;
    };
    let (split, mut options) = (Rc::new(split), options.clone());
    let source = split.join(source, &mut options, &tables);
    let mut opened =
        open_whole(source, is_in_container, &options, tables).await.map_err(|error| split.explain(error))?;
    match &mut opened {
        Opened::Image(image) => image.set_split(split),
        Opened::Streamed(image) => image.set_split(split),
        Opened::Machine(_) => {}
    }
    Ok(opened)
}

/// Opens the file `source`, whose parts are joined. Heads and headers are read through `tables`.
async fn open_whole(
    source: Rc<dyn Source>,
    is_in_container: bool,
    options: &OpenOptions,
    tables: Rc<TableCache>,
) -> Result<Opened> {
    if is_in_container {
        return open_file(source, Around { tables, ..Around::default() }, options).await;
    }
    let top = Top::of_file(&source, options, tables).await?;
    Ok(Opened::Image(Image::open_top(source, top, None, options).await?))
}

/// What is around a file that is opened.
#[derive(Default)]
struct Around {
    containers: Vec<ContainerInfo>,
    /// The file itself, if it is the content of a compressed file.
    blocks: Option<Rc<BlockSource>>,
    /// The cache of headers and tables of the file.
    tables: Rc<TableCache>,
}

/// Opens the file `source`, and the containers in it.
async fn open_file(source: Rc<dyn Source>, around: Around, options: &OpenOptions) -> Result<Opened> {
    let choosing = Choosing::of(options.disk.as_ref());
    let Around { containers, blocks, tables } = around;
    let unpacked = unpack(source, containers, options.salvage, choosing, options.snapshot.as_deref(), &tables).await?;
    let Unpacked { inner, is_ended, mut list, beside, members, mut stated, needs_all } = unpacked;
    let InnerFile { source, file_type, containers, missing, deflated, checksum } = inner;
    if containers.is_empty()
        && let FileType::Unsupported(format) = file_type
        && let Some(kind) = machine::Kind::of_format(format.name)
        && let Some(disk) = disk_of_machine(kind, &*tables.over(source.clone()), options, &tables).await?
    {
        return Ok(Opened::Machine(disk));
    }
    if containers.is_empty() {
        stated.clone_from(&options.stated);
    }
    list.capacity = list.capacity.or(options.stated.capacity);
    let mut of_current = options.clone();
    // A snapshot of the machine is not one of the image.
    of_current.snapshot = of_current.snapshot.filter(|_| !list.is_in_snapshot);
    let options = &of_current;
    if needs_all && options.spool {
        return Ok(Opened::Streamed(whole_archive(members, containers)));
    }
    let image = containers.last().and_then(|container| container.member.as_deref());
    let manifest = Manifest::of(members, image, options.check_manifest, options.salvage);
    // The size of a deflated file may be modulo 2^32.
    if source.size() + missing == 0 && deflated.is_none() {
        // A place states the name of a file in a container.
        let name = options.name.as_deref().filter(|_| containers.is_empty());
        return Err(empty_file(name).within(place_in(&containers)));
    }
    let mut reason = match file_type {
        // The caller has chosen it: neither its content nor its name shows that it is a raw disk.
        FileType::Image(format) if format.is_raw() && !is_raw_disk(image) => RawReason::Guessed,
        _ => RawReason::default(),
    };
    let is_raw = matches!(file_type, FileType::Image(format) if format.is_raw());
    let access = match (deflated, file_type) {
        (Some(deflated), _) => Access::InOrder(Packing::Deflated(deflated)),
        (None, FileType::Container(container)) => Access::InOrder(Packing::Container(container)),
        (None, _) if options.unpack && containers.is_empty() => return Err(nothing_to_unpack()),
        (None, file_type) if options.unpack => {
            reason = RawReason::stated(file_type);
            Access::AtAnyPosition(RAW)
        }
        (None, file_type) if stated.is_raw => {
            reason = RawReason::stated(file_type);
            Access::AtAnyPosition(RAW)
        }
        (None, FileType::HybridIso) if containers.is_empty() => {
            reason = RawReason::HybridIso;
            Access::AtAnyPosition(RAW)
        }
        (None, FileType::Image(format) | FileType::Unsupported(format)) => Access::AtAnyPosition(format),
        (None, FileType::Ambiguous(ambiguity)) => return Err(ambiguity.of_image(&containers)),
        (None, FileType::Unknown) if containers.is_empty() => {
            let of_part = refusal_of_last_part(&*source).await;
            return Err(of_part.unwrap_or_else(|| not_recognised(options, source.size())));
        }
        (None, FileType::HybridIso | FileType::Unknown) => {
            reason = RawReason::guessed(file_type);
            if !is_ended && !options.salvage {
                return Err(members::unmarked(&containers));
            }
            // A truncated disk may have lost its signatures.
            if missing == 0 {
                let checked = require_disk(&*tables.over(source.clone())).await;
                checked.map_err(|error| error.within(place_in(&containers)))?;
            }
            Access::AtAnyPosition(RAW)
        }
    };
    match access {
        Access::AtAnyPosition(format) => {
            let checksum = match checksum {
                Some(Checksum::Of(stated)) if !format.is_raw() => Some(Checksum::Around(stated)),
                checksum => checksum,
            };
            let top = Top {
                format,
                reason,
                containers,
                list: list.into(),
                missing,
                beside,
                checksum,
                parents: stated.parents,
                tables,
                blocks,
            };
            Ok(Opened::Image(Image::open_top(source, top, manifest, options).await?))
        }
        Access::InOrder(_) if !stated.parents.is_empty() => {
            Err(packed_delta(containers.last().map_or("compressed", |container| container.name)))
        }
        Access::InOrder(packing) => {
            let mut descent = Descent::new(containers, options, is_raw);
            descent.is_stated |= stated.is_raw;
            let stated = match checksum {
                Some(Checksum::Of(stated)) => Some(stated),
                _ => None,
            };
            open_packed((source, stated), packing, descent, list, manifest, options).await
        }
    }
}

/// Returns the archive with `members`, the innermost of `containers`, as a file to be unpacked.
fn whole_archive(members: Rc<[Member]>, mut containers: Vec<ContainerInfo>) -> StreamedImage {
    let name = containers.pop().map_or("", |container| container.name);
    let size = members.iter().map(|member| member.source.size()).sum();
    let file = move || Box::new(AsTar::new(members.clone())) as Box<dyn ByteStream>;
    let origin = Origin::File { file: Rc::new(file), source: None, decoders: Vec::new() };
    let around = InContainers { containers, ..InContainers::default() };
    StreamedImage::to_unpack(name, origin, around, Some(size))
}

/// How a file is read.
enum Access {
    AtAnyPosition(&'static Format),
    InOrder(Packing),
}

/// Opens the content of the file `source`, with the checksum that is stated for it, which is decoded in order, by `descent`. `list` has
/// the disks that it was chosen from.
async fn open_packed(
    (source, stated): (Rc<dyn Source>, Option<StatedCrc>),
    packing: Packing,
    mut descent: Descent,
    list: DiskList,
    manifest: Option<Manifest>,
    options: &OpenOptions,
) -> Result<Opened> {
    let source = packing.of(source);
    let size = Some(source.size());
    let (compressed, depth) = (packing.container(), descent.containers.len());
    let stream = descent.enter(Box::new(FileStream::new(source.clone())), packing).await?;
    let found = descent.follow(stream).await;
    let (archive, decoders) = (descent.archive, descent.decoders.len());
    let mut origin = Origin::file(source.clone(), stated, std::mem::take(&mut descent.decoders));
    // The choice of anything but the only disk is one inside an archive, if there is any.
    let is_named = list.disks.iter().any(|disk| Choosing::of(options.disk.as_ref()).names(&disk.name));
    let is_inside = options.disk.is_some() && list.disks.len() < 2 && !is_named;
    let is_chosen = || options.disk.as_ref().map_or(Ok(0), |choice| disk_choice::find(choice, &list));
    let (guess, packed) = match (found, archive) {
        (Ok(Content::Raw(_, guess)), None) => {
            is_chosen()?;
            (guess, None)
        }
        (Ok(Content::Raw(_, guess)), Some(_)) if !is_inside => (guess, None),
        (Ok(Content::Packed(_, packed)), None) => {
            if !packed.is_archive {
                is_chosen()?;
            }
            (None, Some(packed))
        }
        (Err(error), _) if error.code != SEVERAL_FILES => return Err(error),
        (Err(error), None) => return Err(error),
        (_, Some(archive)) => {
            origin.end_at(archive.depth);
            descent.containers.truncate(descent.containers.len() + archive.depth - decoders);
            (None, Some(Packed::archive(archive.container)))
        }
    };
    let list = match packed.is_none() && list.disks.is_empty() {
        true => DiskList { capacity: list.capacity, ..descent.list(guess.as_ref()) },
        false => list,
    };
    let around =
        InContainers { containers: descent.containers, list, guess, reason: descent.reason, window: descent.window };
    let packed = match packed {
        None => return Ok(Opened::Streamed(StreamedImage::new(origin, around, size, manifest.map(Rc::new), options)?)),
        Some(Packed { name, .. }) if options.spool => {
            return Ok(Opened::Streamed(StreamedImage::to_unpack(name, origin, around, size)));
        }
        Some(packed) => packed,
    };
    let found = match (&options.in_place, compressed) {
        // A file inside a container is unpacked.
        (Some(in_place), Some(container)) if depth == 0 => blocks::find(container, source, in_place).await?,
        _ => BlocksFound::InOrder(None),
    };
    match found {
        BlocksFound::Blocks(content) => {
            let containers = around.containers[..1].to_vec();
            let around = Around { containers, blocks: Some(content.clone()), ..Around::default() };
            Box::pin(open_file(content, around, options)).await
        }
        BlocksFound::InOrder(size) => {
            let error = needs_spool(packed, &around.containers, around.list.machine.as_deref(), around.window);
            Err(match size {
                Some(size) => error.field("size", size),
                None => error,
            })
        }
    }
}

async fn open_stream(stream: Box<dyn ByteStream>, options: &OpenOptions) -> Result<StreamedImage> {
    if let Some(name) = &options.format {
        let format = format::by_name(name)?;
        if !format.is_raw() {
            return to_unpack(Packed::image(format), stream, InContainers::default(), options);
        }
        if !options.unpack {
            // Nothing is read yet: the program that writes the stream may wait for something else.
            return StreamedImage::new(Origin::once(stream), InContainers::default(), None, None, options);
        }
    }
    let mut descent = Descent::new(Vec::new(), options, false);
    let found = descent.follow(Peeked::new(stream, HEAD as usize).await?).await?;
    let (disk, guess) = match found {
        Content::Raw(disk, guess) => (disk, guess),
        Content::Packed(file, packed) => {
            let around =
                InContainers { containers: descent.containers, window: descent.window, ..InContainers::default() };
            return to_unpack(packed, Box::new(file), around, options);
        }
    };
    if descent.containers.is_empty() && options.unpack {
        return Err(nothing_to_unpack());
    }
    if descent.containers.is_empty() && guess.is_none() {
        let message = "The stream is in no known disk image format; if it is a raw disk, state the format raw";
        let error = Error::new(ErrorKind::NotRecognised, message);
        return Err(error.coded(STATE_FORMAT).field("format", RAW.name));
    }
    let list = descent.list(guess.as_ref());
    let found =
        InContainers { containers: descent.containers, list, guess, reason: descent.reason, window: descent.window };
    StreamedImage::new(Origin::once(Box::new(disk)), found, None, None, options)
}

/// Opens `file`, which is `packed`, as a file to be unpacked. Fails with `unsupported` if the caller cannot store it.
fn to_unpack(
    packed: Packed,
    file: Box<dyn ByteStream>,
    around: InContainers,
    options: &OpenOptions,
) -> Result<StreamedImage> {
    if !options.spool {
        return Err(needs_spool(packed, &around.containers, None, around.window));
    }
    Ok(StreamedImage::to_unpack(packed.name, Origin::once(file), around, None))
}

/// The error for a file in no container, if only the content of one was wanted.
fn nothing_to_unpack() -> Error {
    let message = "The file is in no container that can be unpacked; leave out unpack (--unpack)";
    Error::new(ErrorKind::Usage, message).coded("nothing-to-unpack")
}

/// The error for an empty stream: most likely the program that should have written it failed.
pub(crate) fn empty_stream() -> Error {
    Error::new(ErrorKind::NotRecognised, "The stream is empty").coded("empty")
}

/// The error for the end of a stream that shows that it is in `format`, not a raw disk: of the container `outer` or the
/// caller's.
pub(crate) fn not_in_order(format: &Format, outer: Option<&str>) -> Error {
    let subject = match outer {
        Some(outer) => format!("The {outer} file holds"),
        None => "The stream is".to_owned(),
    };
    if !format.is_supported() {
        return format.refusal(&subject);
    }
    not_read_in_order(must_be_unpacked(format.label, outer), outer)
}

/// The error for a file in `containers` that the caller must unpack or store first: a disk of `machine`, if that is known.
/// `window`: the memory that decoding takes for its window, which the error states if [`safety::large_window`] would.
fn needs_spool(
    Packed { name, label, .. }: Packed,
    containers: &[ContainerInfo],
    machine: Option<&str>,
    window: u64,
) -> Error {
    let outer = containers.last().map(|container| container.name);
    let mut error = Error::new(ErrorKind::Unsupported, must_be_unpacked(label, outer)).coded("needs-spool");
    error = error.field("format", name);
    if let Some(outer) = outer {
        error =
            error.field("container", outer).field("containers", containers.iter().map(fields_of).collect::<Vec<_>>());
    }
    if let Some(machine) = machine {
        error = error.field("machine", machine);
    }
    if safety::large_window(window).is_some() {
        error = error.field("window", window);
    }
    error
}

fn fields_of(container: &ContainerInfo) -> Fields {
    let mut fields = Fields::default();
    fields.set("name", container.name.into());
    if let Some(member) = &container.member {
        fields.set("member", member.as_str().into());
    }
    fields
}

fn must_be_unpacked(label: &str, outer: Option<&str>) -> String {
    match outer {
        Some(outer) => format!("The {outer} file holds {label}, which cannot be read inside it; unpack it first"),
        None => format!("The stream is {label}, which must be read at any position; save it as a file first"),
    }
}

/// The error for something that needs random access, read in order out of `container`, or from a stream.
pub(crate) fn not_read_in_order(message: String, container: Option<&str>) -> Error {
    let error = Error::new(ErrorKind::Unsupported, message).coded("not-in-order");
    match container {
        Some(container) => error.field("container", container),
        None => error,
    }
}
