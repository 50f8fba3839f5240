//! A disk that comes in order, and the shelf with its decoded chunks.

mod planner;

pub(super) use planner::InOrderPlanner;

use super::gpt::Patch;
use super::reshape::Change;
use crate::container::part::PartDecoder;
use crate::disk::info::{Capacity, ContainerInfo};
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::{Files, Profile, Source};
use crate::io::stream::ByteStream;
use crate::offsets::{GuestRange, HostOffset, SECTOR};
use crate::open::identify::RawReason;
use crate::open::manifest::Manifest;
use crate::open::streamed_image::StreamedImage;
use crate::output::{Layout, SIZE_NEEDED};

use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

/// Maximum size of a chunk, in bytes.
const CHUNK: u64 = 2 << 20;

/// A streamed disk, ready to be converted.
pub struct InOrder<'a> {
    image: &'a StreamedImage,
    parts: Option<Rc<dyn PartDecoder>>,
    /// The size of the disk in bytes, if it was determined before.
    size: Option<u64>,
    shelf: Rc<Shelf>,
    growth: Growth,
}

/// How the disk of the output differs from the streamed disk. Sizes are in bytes.
#[derive(Clone, Default)]
struct Growth {
    change: Change,
    /// The size before the output format rounds it up, and after that. `None` if they are known only at the end.
    sizes: Option<(u64, u64)>,
    /// The rewritten ranges. Empty until the start of the disk has been read.
    patches: Rc<RefCell<Vec<Patch>>>,
    /// The bytes of the stream in the rewritten ranges, as far as jobs have been planned.
    originals: Rc<RefCell<Vec<Patch>>>,
    /// The size of the disk of the stream, after its last byte was read.
    size: Rc<Cell<Option<u64>>>,
}

impl Growth {
    /// Whether the GPT is to be moved, if there is one.
    fn fixes(&self) -> bool {
        self.sizes.is_some_and(|(virtual_size, disk_size)| self.change.fixes(virtual_size, disk_size))
    }

    /// The size up to which jobs are planned; `None` for the end of the stream. Grows when a GPT is found that must be moved.
    fn total(&self) -> Option<u64> {
        let is_moved = !self.patches.borrow().is_empty();
        self.sizes.map(|(virtual_size, disk_size)| if is_moved { disk_size } else { virtual_size })
    }
}

/// The bytes of a streamed disk, from its start.
struct DiskStream {
    stream: Box<dyn ByteStream>,
    shelf: Rc<Shelf>,
    size: Option<u64>,
    /// Why it is read as a raw disk. If that is a guess, its last bytes may still show another format.
    reason: RawReason,
    /// The containers around it, outermost first.
    containers: Vec<ContainerInfo>,
    /// See [`StreamedImage::is_stated_stream`].
    is_stated_stream: bool,
    /// See [`StreamedImage::capacity`]; `None` for a file to be unpacked.
    capacity: Option<Capacity>,
    /// Zeros are added at its end up to a multiple of this many bytes.
    sector: u64,
}

impl<'a> InOrder<'a> {
    /// Reads `image`, decoded by `parts` where that is given and possible.
    pub fn new(image: &'a StreamedImage, parts: Option<Rc<dyn PartDecoder>>) -> Self {
        Self { image, parts, size: None, shelf: Rc::default(), growth: Growth::default() }
    }

    /// States the size of the disk in bytes. The conversion fails with `corrupt` if the disk has another one.
    #[must_use]
    pub fn of_size(mut self, size: Option<u64>) -> Self {
        self.size = size;
        self
    }

    /// Makes `change` to the disk, in an output with this layout; `None` if the size of the disk is known only at its end. Fails with
    /// `usage` if the disk would become smaller, and with `unsupported` if the GPT is to be fixed, but the size is unknown.
    pub fn changed(mut self, change: Change, layout: Option<&dyn Layout>) -> Result<Self> {
        let stated = self.size.map(|size| change.size_of(size)).transpose()?.or(change.size);
        let sizes = stated.zip(layout).map(|(size, layout)| (size, layout.disk_size()));
        if sizes.is_none() && change.fix_gpt == Some(true) {
            let message = "The GPT is at the start of the disk, but the size of this disk, which comes in a stream, is known only at its \
                           end; state the size (size, --size), allow a temporary file (spool, --spool), or save the image as a file first";
            return Err(Error::new(ErrorKind::Unsupported, message).coded(SIZE_NEEDED));
        }
        self.growth = Growth { change, sizes, ..Growth::default() };
        Ok(self)
    }

    /// The size of the disk before the output format rounds it up, if it was known before.
    pub(super) fn virtual_size(&self) -> Option<u64> {
        self.growth.sizes.map(|(virtual_size, _)| virtual_size)
    }

    /// The rewritten ranges, after a pass.
    pub(super) fn rewritten(&self) -> Vec<GuestRange> {
        self.growth.patches.borrow().iter().map(Patch::range).collect()
    }

    /// The original bytes of the rewritten ranges, as far as jobs have been planned.
    pub(super) fn originals(&self) -> Rc<RefCell<Vec<Patch>>> {
        self.growth.originals.clone()
    }

    /// Returns a function that returns the size of the disk in the stream, once its end has been read.
    pub(super) fn size_of_stream(&self) -> impl Fn() -> Option<u64> + use<> {
        let size = self.growth.size.clone();
        move || size.get()
    }

    /// Begins to read the disk from its start. Fails as [`StreamedImage::begin`] does.
    fn begin(&self) -> Result<DiskStream> {
        let Self { image, parts, size, shelf, .. } = self;
        Ok(DiskStream {
            stream: image.begin(parts.clone())?,
            shelf: shelf.clone(),
            size: *size,
            reason: image.reason(),
            containers: image.containers().to_vec(),
            is_stated_stream: image.is_stated_stream(),
            capacity: image.capacity().filter(|_| !image.is_packed()),
            sector: if image.is_packed() { 1 } else { SECTOR },
        })
    }

    /// The size of the disk, if it was stated.
    pub(super) fn size(&self) -> Option<u64> {
        self.size
    }

    /// The manifest of the archive around the disk, if there is one.
    pub(super) fn manifest(&self) -> Option<Rc<Manifest>> {
        self.image.manifest()
    }

    /// See [`StreamedImage::explain`].
    pub(super) fn explain(&self, error: Error) -> Error {
        self.image.explain(error)
    }

    /// The files that jobs read: the shelf, which workers cannot open.
    pub fn files(&self) -> Files {
        Rc::new([self.shelf.clone()])
    }
}

fn other_size(size: u64) -> Error {
    let message = format!(
        "The disk does not have {size} bytes, as its container states or a first pass has counted; unpack it first"
    );
    Error::new(ErrorKind::Corrupt, message).coded("other-disk-size").field("size", size)
}

/// Decoded chunks, until their job takes them. Acts as a file of unknown size; each chunk is read once.
#[derive(Default)]
struct Shelf {
    /// By guest offset, ascending.
    chunks: RefCell<VecDeque<(u64, Vec<u8>)>>,
    /// The buffer of an earlier chunk.
    spare: Cell<Vec<u8>>,
}

impl Shelf {
    /// Passes the chunk of `len` bytes at `offset` to `receive`. Returns whether there is one.
    fn take(&self, offset: HostOffset, len: usize, receive: &mut dyn FnMut(&[u8])) -> bool {
        let mut chunks = self.chunks.borrow_mut();
        let at = chunks.iter().position(|(start, chunk)| *start == offset.0 && chunk.len() == len);
        let Some((_, chunk)) = at.and_then(|at| chunks.remove(at)) else { return false };
        receive(&chunk);
        self.spare.set(chunk);
        true
    }
}

impl Source for Shelf {
    fn size(&self) -> u64 {
        self.chunks.borrow().back().map_or(0, |(start, chunk)| start + chunk.len() as u64)
    }

    fn profile(&self) -> Profile {
        Profile { gap: 0, reads_at_once: 1, opened_by_workers: false, made_here: true, ..Profile::default() }
    }

    fn lend(&self, offset: HostOffset, len: usize, receive: &mut dyn FnMut(&[u8])) -> bool {
        self.take(offset, len, receive)
    }

    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>> {
        let is_there = self.take(offset, buf.len(), &mut |chunk| buf.copy_from_slice(chunk));
        let twice = || Error::new(ErrorKind::Internal, "A part of the disk was read twice");
        ready(is_there.then_some(()).ok_or_else(twice)).boxed_local()
    }
}
