//! The content of a compressed file at any position: reads decode the blocks that they need.

use super::Container;
use super::block_cache::BlockCache;
use super::part::{ContainerNumber, DecodedPart, PartDecoder, SentPart};
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::{Profile, Source, read_exact};
use crate::offsets::{ByteRange, HostOffset};
use decant_module::Block;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use std::cell::Cell;
use std::rc::Rc;

/// How many times a conversion may decode the content: more would be slower than unpacking it.
pub(super) const MOST_PASSES: u64 = 4;
/// The number of blocks that a conversion may decode in addition to these passes.
pub(super) const FREE_BLOCKS: u64 = 16;

/// The longest piece that is read at once, in bytes, of a local file and of one on a server.
const PIECE: u64 = 2 << 20;
const REMOTE_PIECE: u64 = 8 << 20;

/// A block of known size.
pub(super) struct Unit {
    pub(super) block: Block,
    /// Where its data begins in the content, and its size, in bytes.
    pub(super) offset: u64,
    pub(super) size: u64,
}

/// A compressed file, and what decodes its blocks.
#[derive(Clone)]
pub(super) struct PackedFile {
    pub(super) source: Rc<dyn Source>,
    pub(super) container: &'static Container,
    pub(super) decoder: Rc<dyn PartDecoder>,
}

impl PackedFile {
    /// Reads `block`, whose data probably has `size` bytes, for the decoder. Fails with `source` or `internal`.
    pub(super) async fn read(&self, block: &Block, size: u64) -> Result<Box<dyn SentPart>> {
        let mut part = self.decoder.begin();
        let [before, after] = &block.around;
        part.add(&[&size.to_le_bytes()[..], before].concat())?;
        let longest = if self.source.profile().opened_by_workers { PIECE } else { REMOTE_PIECE };
        let (mut at, end) = (block.start, block.start + block.len);
        while at < end {
            let range = ByteRange { start: HostOffset(at), len: longest.min(end - at) };
            part.add(&read_exact(&*self.source, range, "compressed file").await?)?;
            at += range.len;
        }
        if !after.is_empty() {
            part.add(after)?;
        }
        Ok(part)
    }

    pub(super) fn decode(&self, part: Box<dyn SentPart>) -> LocalBoxFuture<'static, Result<DecodedPart>> {
        part.decode(ContainerNumber::of(self.container))
    }

    /// Decodes `block` of known `size`. Fails with `corrupt` if it is damaged, and as reading and decoding it do.
    async fn decoded(self, block: Block, size: u64) -> Result<DecodedPart> {
        let part = self.read(&block, size).await?;
        match self.decode(part).await {
            Ok(decoded) if decoded.facts.size == size => Ok(decoded),
            Err(error) if error.kind != ErrorKind::Corrupt => Err(error),
            found => {
                let (name, start, end) = (self.container.name, block.start, block.start + block.len);
                let message =
                    format!("The {name} file is damaged: its bytes from {start} to {end} could not be decompressed");
                let error = Error::new(ErrorKind::Corrupt, message);
                let error = found.err().map_or(error.clone(), |cause| error.coded(cause.code.clone()));
                Err(error.field("container", name).field("offset", start))
            }
        }
    }
}

/// The content of a compressed file.
pub(crate) struct BlockSource {
    file: PackedFile,
    pub(super) units: Vec<Unit>,
    size: u64,
    /// See [`crate::io::stream::Ended::trailer`].
    pub(crate) trailer: u64,
    cache: BlockCache,
    /// How many times a block was decoded, and how often the current conversion allows it.
    decoded: Cell<u64>,
    allowed: Cell<u64>,
}

impl BlockSource {
    /// Creates the content of `file` from its blocks, `units`, with `trailer` bytes after them. `first` is the data of the first one, if it
    /// was decoded before.
    pub(super) fn new(file: PackedFile, units: Vec<Unit>, trailer: u64, first: Option<DecodedPart>) -> Rc<Self> {
        let size = units.last().map_or(0, |last| last.offset + last.size);
        let weights = units.iter().map(|unit| unit.block.len + unit.size).collect();
        // Each worker has a part, and one waits: half as many as in a stream.
        let cache = BlockCache::new(weights, file.decoder.depth() / 2, first);
        Rc::new(Self { file, units, size, trailer, cache, decoded: Cell::new(0), allowed: Cell::new(u64::MAX) })
    }

    /// Whether all of the content is decoded at once, and kept.
    pub(crate) fn is_one_block(&self) -> bool {
        self.units.len() == 1
    }

    /// Limits the reads of a conversion, until the result is dropped: they fail with the code `needs-spool` if they decode the content
    /// again and again.
    pub(crate) fn limited(self: &Rc<Self>) -> LimitedPasses {
        self.allowed.set(self.decoded.get() + MOST_PASSES * self.units.len() as u64 + FREE_BLOCKS);
        LimitedPasses(self.clone())
    }

    fn decode(&self, number: usize) -> LocalBoxFuture<'static, Result<DecodedPart>> {
        if self.decoded.get() >= self.allowed.get() {
            let name = self.file.container.name;
            let message = format!("The {name} file stores the disk out of order; unpack it first");
            let error = Error::new(ErrorKind::Unsupported, message).coded("needs-spool").field("container", name);
            return std::future::ready(Err(error.field("size", self.size))).boxed_local();
        }
        self.decoded.set(self.decoded.get() + 1);
        let Unit { block, size, .. } = &self.units[number];
        self.file.clone().decoded(block.clone(), *size).boxed_local()
    }

    async fn fill(&self, mut offset: u64, mut buf: &mut [u8]) -> Result<()> {
        while !buf.is_empty() {
            // The last unit that begins at `offset` or before: units without data end where they begin.
            let number = self.units.partition_point(|unit| unit.offset <= offset) - 1;
            let unit = &self.units[number];
            let part = self.cache.get(number, &|number| self.decode(number)).await?;
            let start = offset - unit.offset;
            let (filled, rest) = buf.split_at_mut((unit.size - start).min(buf.len() as u64) as usize);
            part.bytes.copy_to(start as usize, filled);
            offset += filled.len() as u64;
            buf = rest;
        }
        Ok(())
    }
}

impl Source for BlockSource {
    fn size(&self) -> u64 {
        self.size
    }

    fn profile(&self) -> Profile {
        Profile { opened_by_workers: false, made_here: true, ..Profile::default() }
    }

    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>> {
        self.fill(offset.0, buf).boxed_local()
    }
}

/// The limit of a conversion.
pub(crate) struct LimitedPasses(Rc<BlockSource>);

impl Drop for LimitedPasses {
    fn drop(&mut self) {
        self.0.allowed.set(u64::MAX);
    }
}
