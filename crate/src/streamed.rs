//! A raw disk that comes in order: out of a compressed file, or as a stream of the caller's.

use crate::chain::OpenOptions;
use crate::chain::without_snapshots;
use crate::container::Decode;
use crate::error::{Error, ErrorKind, Result};
use crate::format::raw;
use crate::info::ContainerInfo;
use crate::info::Info;
use crate::safety;
use crate::source::Source;
use crate::stream::{ByteStream, FileStream};
use std::cell::RefCell;
use std::rc::Rc;

/// Where the bytes of a disk come from.
pub enum Origin {
    /// A file, decoded anew by each conversion.
    File {
        /// The file, or the member of a container.
        source: Rc<dyn Source>,
        /// What makes the disk of it, one after the other.
        decoders: Vec<Decode>,
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

/// A raw disk that is read from its first byte to its last, which tells its size. It can be converted, and nothing else.
pub struct StreamedImage {
    origin: Origin,
    containers: Vec<ContainerInfo>,
    file_size: Option<u64>,
    unused_companions: Vec<String>,
}

impl StreamedImage {
    /// The disk that comes from `origin`, which was found in `containers`, in a file of `file_size` bytes. Fails with
    /// `usage` where `options` ask for a snapshot.
    pub(crate) fn new(
        origin: Origin,
        containers: Vec<ContainerInfo>,
        file_size: Option<u64>,
        options: &OpenOptions,
    ) -> Result<Self> {
        if options.snapshot.is_some() {
            return Err(without_snapshots(raw::NAME));
        }
        let unused_companions = options.companions.iter().map(|companion| companion.name.clone()).collect();
        Ok(Self { origin, containers, file_size, unused_companions })
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

    /// The container that holds the disk, where its format was guessed, since no name states it and its first bytes are
    /// not recognised.
    pub fn guessed_in(&self) -> Option<&'static str> {
        self.containers.last().filter(|container| !container.has_raw_disk()).map(|container| container.name)
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
                decoders.iter().try_fold(file, |stream, decode| decode(stream))
            }
            Origin::Once(stream) => stream.take().ok_or_else(|| {
                Error::new(ErrorKind::Usage, "The stream was read already; open the image anew for another conversion")
            }),
        }
    }
}
