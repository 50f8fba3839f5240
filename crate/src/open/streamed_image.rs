//! A raw disk that comes in order: out of a compressed file, or as a stream of the caller's.

use crate::container::Decode;
use crate::disk::info::ContainerInfo;
use crate::disk::info::Info;
use crate::error::{Error, ErrorKind, Result};
use crate::format::raw;
use crate::io::source::Source;
use crate::io::stream::{ByteStream, Ended, FileStream};
use crate::open::chain::OpenOptions;
use crate::open::chain::without_snapshots;
use crate::open::guess;
use crate::open::manifest::Manifest;
use crate::open::safety;
use crate::open::unpack::within;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Decodes what a container holds.
pub struct Decoder {
    decode: Decode,
    /// What the container was found in, if it is no file: see [`ContainerInfo::content`].
    place: Option<Rc<str>>,
}

impl Decoder {
    /// Decodes by `decode` a container that was found in `outer`.
    pub fn new(decode: Decode, outer: Option<&ContainerInfo>) -> Self {
        Self { decode, place: outer.map(|outer| outer.content().into()) }
    }

    /// Decodes `stream`. What is wrong with the container is said of the place where it was found; what is wrong with
    /// that place is said by `stream` itself. Fails as `Decode` does.
    pub fn begin(&self, stream: Box<dyn ByteStream>) -> Result<Box<dyn ByteStream>> {
        let Some(place) = self.place.clone() else { return (self.decode)(stream) };
        let has_failed = Rc::new(Cell::new(false));
        let input = Box::new(Noticed { stream, has_failed: has_failed.clone() });
        Ok(Box::new(Placed { stream: (self.decode)(input)?, input_failed: has_failed, place }))
    }
}

/// The input of a decoder: that it failed is noticed.
struct Noticed {
    stream: Box<dyn ByteStream>,
    has_failed: Rc<Cell<bool>>,
}

impl ByteStream for Noticed {
    fn read<'a>(&'a mut self, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<usize>> {
        async move { self.stream.read(buf).await.inspect_err(|_| self.has_failed.set(true)) }.boxed_local()
    }

    fn file_position(&self) -> u64 {
        self.stream.file_position()
    }

    fn ended(&self) -> Ended {
        self.stream.ended()
    }
}

/// The output of a decoder, whose own errors say where the container was found.
struct Placed {
    stream: Box<dyn ByteStream>,
    input_failed: Rc<Cell<bool>>,
    place: Rc<str>,
}

impl ByteStream for Placed {
    fn read<'a>(&'a mut self, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<usize>> {
        async move {
            let result = self.stream.read(buf).await;
            result.map_err(|error| if self.input_failed.get() { error } else { error.inside(&self.place) })
        }
        .boxed_local()
    }

    fn file_position(&self) -> u64 {
        self.stream.file_position()
    }

    fn member(&self) -> Option<&str> {
        self.stream.member()
    }

    fn pass_hole(&mut self, unit: u64) -> u64 {
        self.stream.pass_hole(unit)
    }

    fn ended(&self) -> Ended {
        self.stream.ended()
    }
}

/// Where the bytes of a disk come from.
pub enum Origin {
    /// A file, decoded anew by each conversion.
    File {
        /// The file, or the member of a container.
        source: Rc<dyn Source>,
        /// What makes the disk of it, one after the other.
        decoders: Vec<Decoder>,
    },
    /// A stream of the caller's: `None` once it was taken.
    Once(RefCell<Option<Box<dyn ByteStream>>>),
}

impl Origin {
    /// A stream that has the bytes of the disk.
    pub fn once(stream: Box<dyn ByteStream>) -> Self {
        Self::Once(RefCell::new(Some(stream)))
    }
}

/// Why what lies in a container is read as a raw disk although nothing states that.
#[derive(Clone)]
pub struct Guess {
    /// The containers that it was found in, the outermost first.
    pub containers: Vec<ContainerInfo>,
    /// Whether its start shows that it is a disk; otherwise its size has to.
    pub has_sign: bool,
}

impl Guess {
    /// Fails with `not-recognised` where a content of `size` bytes is no disk.
    pub fn check_size(&self, size: u64) -> Result<()> {
        let is_disk = self.has_sign || guess::is_whole_sectors(size);
        if is_disk { Ok(()) } else { Err(within(guess::no_disk(), &self.containers)) }
    }
}

/// Where a disk was found.
#[derive(Default)]
pub struct InContainers {
    /// The outermost container first.
    pub containers: Vec<ContainerInfo>,
    /// `None` where its format is stated.
    pub guess: Option<Guess>,
}

/// A raw disk that is read from its first byte to its last, which tells its size. It can be converted, and nothing else.
pub struct StreamedImage {
    origin: Origin,
    containers: Vec<ContainerInfo>,
    guess: Option<Guess>,
    file_size: Option<u64>,
    manifest: Option<Rc<Manifest>>,
    unused_companions: Vec<String>,
}

impl StreamedImage {
    /// The disk that comes from `origin`, where it was found, in a file of `file_size` bytes beside `manifest`. Fails with
    /// `usage` where `options` ask for a snapshot, and with `unsupported` where they ask for a salvage of what a container
    /// holds: behind damage nothing can be decoded, and the size of the disk may not be known.
    pub(crate) fn new(
        origin: Origin,
        InContainers { containers, guess }: InContainers,
        file_size: Option<u64>,
        manifest: Option<Rc<Manifest>>,
        options: &OpenOptions,
    ) -> Result<Self> {
        if options.snapshot.is_some() {
            return Err(without_snapshots(raw::NAME));
        }
        if let Some(container) = containers.last().filter(|_| options.salvage) {
            let message = format!(
                "A disk that comes in order out of a {} file cannot be salvaged, since nothing behind the damage can be \
                 read; unpack what is left of it first",
                container.name
            );
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let unused_companions = options.companions.iter().map(|companion| companion.name.clone()).collect();
        Ok(Self { origin, containers, guess, file_size, manifest, unused_companions })
    }

    /// The manifest of the archive that it lies in, if there is one.
    pub(crate) fn manifest(&self) -> Option<Rc<Manifest>> {
        self.manifest.clone()
    }

    /// What can be said before it was read.
    pub fn info(&self) -> Info {
        let mut info = Info {
            format: raw::NAME,
            containers: self.containers.clone(),
            file_size: self.file_size,
            unused_companions: self.unused_companions.clone(),
            ..Info::default()
        };
        info.safety = safety::notices(&info, 0);
        info
    }

    /// Why it is read as raw, where that was guessed.
    pub fn guess(&self) -> Option<&Guess> {
        self.guess.as_ref()
    }

    /// Why it cannot be `done` to ("mapped", for example): what takes a disk that is read at any position.
    pub fn refusal(&self, done: &str) -> Error {
        let message = match self.containers.last() {
            Some(container) => format!("A disk in a {} file cannot be {done}; unpack it first", container.name),
            None => format!("A disk that comes as a stream cannot be {done}; save it as a file first"),
        };
        Error::new(ErrorKind::Unsupported, message)
    }

    /// The bytes of the disk, from the first one. Fails with `usage` where they come from the caller and were taken
    /// before.
    pub fn begin(&self) -> Result<Box<dyn ByteStream>> {
        match &self.origin {
            Origin::File { source, decoders } => {
                let file: Box<dyn ByteStream> = Box::new(FileStream::new(source.clone()));
                decoders.iter().try_fold(file, |stream, decoder| decoder.begin(stream))
            }
            Origin::Once(stream) => stream.take().ok_or_else(|| {
                Error::new(ErrorKind::Usage, "The stream was read already; open the image anew for another conversion")
            }),
        }
    }
}
