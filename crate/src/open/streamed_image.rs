//! A raw disk, or a file to be unpacked, that is read in order from a compressed file or a caller's stream.

use crate::container::part::PartDecoder;
use crate::container::{Container, Deflated, DividedStream, StatedCrc, blocks};
use crate::disk::info::{Capacity, ContainerInfo, DiskList, Info, MemberInfo};
use crate::error::place::Place;
use crate::error::{Error, ErrorKind, Result};
use crate::format::RAW;
use crate::io::source::Source;
use crate::io::stream::{ByteStream, Ended, FileStream};
use crate::open::chain::OpenOptions;
use crate::open::chain::without_snapshots;
use crate::open::disk_in_order::DiskInOrder;
use crate::open::guess;
use crate::open::manifest::Manifest;
use crate::open::not_read_in_order;
use crate::open::raw_reason::RawReason;
use crate::open::safety;
use crate::open::split::split_file::{SplitFile, explained};
use crate::open::unpack::place_in;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use std::cell::RefCell;
use std::rc::Rc;

/// Decodes the content of a container, or a member that is compressed.
pub(crate) struct ContainerDecoder {
    decoding: Decoding,
    /// The file that is decoded, if it was found in a container.
    place: Option<Place>,
}

/// How a stream is decoded.
pub(crate) enum Decoding {
    Container(&'static Container),
    Deflated(Deflated),
}

impl ContainerDecoder {
    /// Creates a decoder for a file that was found in `outer`.
    pub(crate) fn new(decoding: Decoding, outer: Option<&ContainerInfo>) -> Self {
        Self { decoding, place: outer.map(ContainerInfo::place) }
    }

    /// Decodes `stream`. Errors of this container name where it was found; errors of `stream` pass through. Fails as
    /// `Decode` does.
    pub(crate) fn begin(&self, stream: Box<dyn ByteStream>) -> Result<Box<dyn ByteStream>> {
        let stream = match &self.decoding {
            Decoding::Container(container) => container.decode.expect("it is decoded in order")(stream)?,
            Decoding::Deflated(deflated) => deflated.decode(stream)?,
        };
        let is_archive = matches!(&self.decoding, Decoding::Container(container) if container.list.is_some());
        Ok(self.decoded(if is_archive { Box::new(DiskInOrder::new(stream)) } else { stream }))
    }

    /// Decodes the bytes of `file` by parts. Returns `None` if that is impossible.
    fn begin_by_parts(
        &self,
        file: &Rc<dyn Fn() -> Box<dyn ByteStream>>,
        parts: Rc<dyn PartDecoder>,
    ) -> Option<Box<dyn ByteStream>> {
        let Decoding::Container(container) = &self.decoding else { return None };
        DividedStream::begin(file.clone(), container, parts).map(|stream| self.decoded(stream))
    }

    fn decoded(&self, stream: Box<dyn ByteStream>) -> Box<dyn ByteStream> {
        Box::new(Decoded { stream, place: self.place.clone() })
    }
}

/// The output of a decoder. Adds the container's place to the decoder's own errors.
struct Decoded {
    stream: Box<dyn ByteStream>,
    place: Option<Place>,
}

impl ByteStream for Decoded {
    fn read<'a>(&'a mut self, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<usize>> {
        async move { self.stream.read(buf).await.map_err(|error| error.within_stream(self.place.clone())) }
            .boxed_local()
    }

    fn file_position(&self) -> u64 {
        self.stream.file_position()
    }

    fn window(&self) -> u64 {
        self.stream.window()
    }

    fn member(&self) -> Option<(&str, u64)> {
        self.stream.member()
    }

    fn pass_hole(&mut self, unit: u64) -> u64 {
        self.stream.pass_hole(unit)
    }

    fn ended(&self) -> Ended {
        self.stream.ended()
    }
}

/// The origin of a disk's bytes.
pub(crate) enum Origin {
    /// A file, decoded anew by each conversion.
    File {
        /// The file, or the member of a container, from its start.
        file: Rc<dyn Fn() -> Box<dyn ByteStream>>,
        /// The same, to be read at any position, unless it is put together while it is read.
        source: Option<Rc<dyn Source>>,
        /// The decoders from the file to the disk, outermost first.
        decoders: Vec<ContainerDecoder>,
    },
    /// A caller's stream; `None` after the first conversion.
    Once(RefCell<Option<Box<dyn ByteStream>>>),
}

impl Origin {
    /// Creates the origin for the file `source`, or the member of a container, with the checksum that this states for it.
    pub(crate) fn file(source: Rc<dyn Source>, stated: Option<StatedCrc>, decoders: Vec<ContainerDecoder>) -> Self {
        let streamed = source.clone();
        let file = move || {
            let stream: Box<dyn ByteStream> = Box::new(FileStream::new(streamed.clone()));
            match &stated {
                Some(stated) => stated.clone().checked(stream),
                None => stream,
            }
        };
        Self::File { file: Rc::new(file), source: Some(source), decoders }
    }

    /// Creates the origin for `stream`, which yields the bytes of the disk.
    pub(crate) fn once(stream: Box<dyn ByteStream>) -> Self {
        Self::Once(RefCell::new(Some(stream)))
    }

    /// Returns the size of the bytes, if a file states it that has no other container in it. Fails as reading the file does.
    async fn stated_size(&self) -> Result<Option<u64>> {
        match self {
            Self::File { source: Some(source), decoders, .. } => match &decoders[..] {
                [ContainerDecoder { decoding: Decoding::Container(container), .. }] => {
                    blocks::stated_size(container, &**source).await
                }
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }

    /// Ends the way from a file to its content after `count` decoders.
    pub(crate) fn end_at(&mut self, count: usize) {
        if let Self::File { decoders, .. } = self {
            decoders.truncate(count);
        }
    }

    /// Returns the bytes from the start, decoded by `parts` where that is given and possible. Fails with `usage` if they come from a
    /// caller's stream that was taken before.
    pub(crate) fn begin(&self, parts: Option<Rc<dyn PartDecoder>>) -> Result<Box<dyn ByteStream>> {
        match self {
            Self::File { file, decoders, .. } => {
                let divided = parts.zip(decoders.first()).and_then(|(parts, first)| first.begin_by_parts(file, parts));
                let (stream, rest) = match divided {
                    Some(stream) => (stream, &decoders[1..]),
                    None => (file(), &decoders[..]),
                };
                rest.iter().try_fold(stream, |stream, decoder| decoder.begin(stream))
            }
            Self::Once(stream) => stream.take().ok_or_else(|| {
                Error::new(ErrorKind::Usage, "The stream was read already; open the image anew for another conversion")
            }),
        }
    }
}

/// The grounds for reading unrecognised content of a container as a raw disk.
#[derive(Clone)]
pub(crate) struct Guess {
    /// The containers around it, outermost first.
    pub(crate) containers: Vec<ContainerInfo>,
    /// Whether its start looks like a disk, or the caller has chosen it; otherwise its size has to look like that of a disk.
    pub(crate) is_sure: bool,
}

impl Guess {
    /// Fails with `not-recognised` if content of `size` bytes is not a disk.
    pub(crate) fn check_size(&self, size: u64) -> Result<()> {
        let is_disk = self.is_sure || guess::is_whole_sectors(size);
        if is_disk { Ok(()) } else { Err(guess::no_disk().within(place_in(&self.containers))) }
    }
}

/// What is around a disk, and the grounds for its format.
#[derive(Default)]
pub(crate) struct InContainers {
    /// The containers, outermost first.
    pub(crate) containers: Vec<ContainerInfo>,
    /// See [`StreamedImage::disks`].
    pub(crate) list: DiskList,
    /// `None` if the format is stated.
    pub(crate) guess: Option<Guess>,
    /// Why it is read as a raw disk.
    pub(crate) reason: RawReason,
    /// See [`crate::open::descent::Descent::window`].
    pub(crate) window: u64,
}

/// A raw disk that is read in order; its size is known at the end. Conversion is the only operation.
///
/// Or a file that must be unpacked first, because its format is read at any position: a conversion to a raw disk stores
/// exactly its bytes.
pub struct StreamedImage {
    origin: Origin,
    containers: Vec<ContainerInfo>,
    list: DiskList,
    guess: Option<Guess>,
    reason: RawReason,
    window: u64,
    /// The format of a file to be unpacked.
    packed: Option<&'static str>,
    file_size: Option<u64>,
    manifest: Option<Rc<Manifest>>,
    unused_companions: Vec<String>,
    /// The file as a part of a split file, if it is named as one.
    split: Option<Rc<SplitFile>>,
}

impl StreamedImage {
    /// Creates an image from `origin`, found in containers, in a file of `file_size` bytes beside `manifest`. Fails
    /// with `usage` if `options` request a snapshot, and with `unsupported` to salvage the content of a container:
    /// nothing after the damage can be decoded, and the size of the disk may be unknown.
    pub(crate) fn new(
        origin: Origin,
        InContainers { containers, list, guess, reason, window }: InContainers,
        file_size: Option<u64>,
        manifest: Option<Rc<Manifest>>,
        options: &OpenOptions,
    ) -> Result<Self> {
        if options.snapshot.is_some() {
            return Err(without_snapshots(RAW.name));
        }
        if let Some(container) = containers.last().filter(|_| options.salvage) {
            let message = format!(
                "A disk in a {} file, which is decoded in order, cannot be salvaged, since nothing after the damage can be \
                 read; unpack the readable part first",
                container.name
            );
            return Err(not_read_in_order(message, Some(container.name)));
        }
        let unused = options.companions.iter().filter(|companion| !companion.is_image);
        let unused_companions = unused.map(|companion| companion.name.clone()).collect();
        let (packed, split) = (None, None);
        Ok(Self {
            origin,
            containers,
            list,
            guess,
            reason,
            window,
            packed,
            file_size,
            manifest,
            unused_companions,
            split,
        })
    }

    /// Creates a file to be unpacked, in the format or container called `packed`.
    pub(crate) fn to_unpack(
        packed: &'static str,
        origin: Origin,
        InContainers { containers, list, window, .. }: InContainers,
        file_size: Option<u64>,
    ) -> Self {
        Self {
            origin,
            containers,
            list,
            guess: None,
            reason: RawReason::default(),
            window,
            packed: Some(packed),
            file_size,
            manifest: None,
            unused_companions: Vec::new(),
            split: None,
        }
    }

    /// States the file as a part of a split file.
    pub(super) fn set_split(&mut self, split: Rc<SplitFile>) {
        self.split = Some(split);
    }

    /// The companions that are parts of the file, by their indices.
    pub fn parts(&self) -> &[usize] {
        self.split.as_ref().map_or(&[], |split| &split.next)
    }

    /// Returns `error` as it is reported: it may be about other parts of a split file.
    pub(crate) fn explain(&self, error: Error) -> Error {
        explained(self.split.as_deref(), error)
    }

    /// Whether its bytes come from a caller's stream, so that they can be read only once.
    pub fn is_once(&self) -> bool {
        matches!(self.origin, Origin::Once(_))
    }

    /// Whether it is a file to be unpacked.
    pub fn is_packed(&self) -> bool {
        self.packed.is_some()
    }

    /// The manifest of the archive around the disk, if there is one.
    pub(crate) fn manifest(&self) -> Option<Rc<Manifest>> {
        self.manifest.clone()
    }

    /// Describes the image, as far as is known before it is read.
    pub fn info(&self) -> Info {
        let mut info = Info {
            format: self.packed.unwrap_or(RAW.name),
            containers: self.containers.clone(),
            machine: self.list.machine.clone(),
            snapshots: self.list.snapshots.clone(),
            file_size: self.file_size,
            unused_companions: self.unused_companions.clone(),
            ..Info::default()
        };
        info.safety = safety::notices(&info, 0);
        info.safety.extend(self.reason.notice(&self.containers));
        info.safety.extend(self.list.raw_beside.as_deref().map(safety::raw_beside));
        info.safety.extend(safety::large_window(self.window));
        info
    }

    /// The disks in its archive: one if the archive is read in order. Empty without an archive.
    pub fn disks(&self) -> &[MemberInfo] {
        &self.list.disks
    }

    /// The capacity that a description of a machine states for it.
    pub(crate) fn capacity(&self) -> Option<Capacity> {
        self.list.capacity
    }

    /// Returns the size of the disk in bytes, if its container states it, without decoding it. It may have another size if the file is
    /// damaged. Fails as reading the file does.
    pub async fn stated_size(&self) -> Result<Option<u64>> {
        self.origin.stated_size().await.map_err(|error| self.explain(error))
    }

    /// The grounds for reading it as raw; `None` if the format is stated.
    pub(crate) fn guess(&self) -> Option<&Guess> {
        self.guess.as_ref()
    }

    /// Whether it is a caller's stream whose format is stated as raw, and whose bytes may show another format.
    pub(crate) fn is_stated_stream(&self) -> bool {
        let is_stated = self.guess.is_none() && self.packed.is_none() && matches!(self.reason, RawReason::Stated);
        // A file was identified when it was opened, and a member's name decides.
        is_stated && self.containers.is_empty()
    }

    /// Error for an operation that needs random access; `done` is its past participle ("mapped", for example).
    pub fn refusal(&self, done: &str) -> Error {
        let message = match self.containers.last() {
            Some(container) => format!("A disk in a {} file cannot be {done}; unpack it first", container.name),
            None => format!("A disk that comes as a stream cannot be {done}; save it as a file first"),
        };
        not_read_in_order(message, self.containers.last().map(|container| container.name))
    }

    /// Returns the disk's bytes from the start, decoded by `parts` where that is given and possible. Fails with `usage` if they come
    /// from a caller's stream that was taken before.
    pub fn begin(&self, parts: Option<Rc<dyn PartDecoder>>) -> Result<Box<dyn ByteStream>> {
        self.origin.begin(parts)
    }
}
