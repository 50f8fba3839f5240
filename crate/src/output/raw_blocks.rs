//! A raw disk in compressed blocks of 4 MiB with an index of them, so that readers find each part of the disk: frames of zstd with
//! a seek table (the seekable format, 0.1.0), or blocks of xz. Other programs decompress the blocks one after another.

use super::OutputFormat;
use super::layout::{Assembler, Layout, Stamp, Writes};
use crate::compress::{CompressedEncoding, EncodedPart, Encoding, UnitEncoding, UnitMethod};
use crate::error::{Error, ErrorKind, Result};
use crate::offsets::GuestRange;

pub(super) const ZSTD: OutputFormat = OutputFormat {
    name: "raw.zst",
    label: "Raw disk, zstd",
    extensions: &[".raw.zst", ".zst"],
    content: "raw",
    containers: 1,
    has_footer: true,
    layout: |virtual_size, _| layout::<decant_zstd::SeekTable>(virtual_size),
    ..OutputFormat::DEFAULT
};

pub(super) const XZ: OutputFormat = OutputFormat {
    name: "raw.xz",
    label: "Raw disk, xz",
    extensions: &[".raw.xz", ".xz"],
    content: "raw",
    containers: 1,
    has_footer: true,
    layout: |virtual_size, _| layout::<decant_xz::Stream>(virtual_size),
    ..OutputFormat::DEFAULT
};

/// The data of a block, in bytes; the last one has the rest of the disk.
const BLOCK: u64 = 4 << 20;

/// The index of a compressed format, which follows the blocks.
trait Index: Default + 'static {
    const METHOD: UnitMethod;
    const MAX_BLOCKS: u64;
    /// The bytes before the first block.
    fn header() -> Vec<u8>;
    /// Adds `times` blocks of `len` bytes, `padding` bytes of which do not count, with `data` bytes of the disk each. Returns
    /// whether there was memory for them.
    fn add(&mut self, len: u32, padding: u8, data: u32, times: u32) -> bool;
    /// A block of `len` zeros, and how many of its bytes do not count.
    fn zero_block(len: u32) -> (Vec<u8>, u8);
    /// The bytes after the last block, as pieces that are each repeated a number of times.
    fn end(self) -> Vec<(Vec<u8>, u64)>;
}

impl Index for decant_zstd::SeekTable {
    const METHOD: UnitMethod = UnitMethod::ZstdFrame;
    const MAX_BLOCKS: u64 = decant_zstd::MAX_FRAMES;

    fn header() -> Vec<u8> {
        Vec::new()
    }

    fn add(&mut self, len: u32, _padding: u8, data: u32, times: u32) -> bool {
        Self::add(self, len, data, times)
    }

    fn zero_block(len: u32) -> (Vec<u8>, u8) {
        (decant_zstd::zero_frame(len), 0)
    }

    fn end(self) -> Vec<(Vec<u8>, u64)> {
        self.pieces()
    }
}

impl Index for decant_xz::Stream {
    const METHOD: UnitMethod = UnitMethod::XzBlock;
    const MAX_BLOCKS: u64 = decant_xz::MAX_BLOCKS;

    fn header() -> Vec<u8> {
        Self::header()
    }

    fn add(&mut self, len: u32, padding: u8, data: u32, times: u32) -> bool {
        Self::add(self, len - u32::from(padding), data, times)
    }

    fn zero_block(len: u32) -> (Vec<u8>, u8) {
        let block = decant_xz::zero_block(len);
        let padding = decant_xz::padding(&block) as u8;
        (block, padding)
    }

    fn end(self) -> Vec<(Vec<u8>, u64)> {
        Self::end(self)
    }
}

fn layout<I: Index>(virtual_size: u64) -> Result<Box<dyn Layout>> {
    if virtual_size.div_ceil(BLOCK) > I::MAX_BLOCKS {
        let message = "The disk is too large for an index of its compressed blocks; choose raw.gz, qcow2 or raw";
        return Err(Error::new(ErrorKind::Limit, message).coded("too-many-blocks").field("size", virtual_size));
    }
    Ok(Box::new(RawBlocks {
        virtual_size,
        assembler: || Box::<BlockAssembler<I>>::default(),
        size_for: size_for::<I>,
        method: I::METHOD,
        resized: layout::<I>,
    }))
}

/// An upper bound on the size of the output for a disk of `virtual_size` bytes with `units` blocks of data.
fn size_for<I: Index>(virtual_size: u64, units: u64) -> u64 {
    let data = (units * BLOCK).min(virtual_size);
    let encoded = |block: u64| I::METHOD.bound(block as usize);
    let zeros = |block: u64| I::zero_block(block as u32).0.len();
    let (mut len, mut index) = (I::header().len() as u64, I::default());
    let mut add = |block: u64, encoded: usize, times: u64| {
        len += encoded as u64 * times;
        // If memory runs out, the bound lacks the entry in the index: a few bytes.
        let _ = index.add(encoded as u32, 0, block as u32, times as u32);
    };
    for (size, encoded) in [(data, &encoded as &dyn Fn(u64) -> usize), (virtual_size - data, &zeros)] {
        let (blocks, rest) = (size / BLOCK, size % BLOCK);
        if blocks > 0 {
            add(BLOCK, encoded(BLOCK), blocks);
        }
        // An empty disk has an empty block.
        if rest > 0 || virtual_size == 0 {
            add(rest, encoded(rest), 1);
        }
    }
    len + index.end().iter().map(|(bytes, times)| bytes.len() as u64 * times).sum::<u64>()
}

struct RawBlocks {
    virtual_size: u64,
    method: UnitMethod,
    assembler: fn() -> Box<dyn Assembler>,
    /// Like [`Layout::size_for`], for a disk of this size in bytes, and this number of units.
    size_for: fn(u64, u64) -> u64,
    resized: fn(u64) -> Result<Box<dyn Layout>>,
}

impl Layout for RawBlocks {
    fn encoding(&self) -> Encoding {
        Encoding::Compressed(CompressedEncoding::Units(UnitEncoding { unit: BLOCK as u32, method: self.method }))
    }

    fn unit(&self) -> u64 {
        BLOCK
    }

    fn disk_size(&self) -> u64 {
        self.virtual_size
    }

    fn size_for(&self, units: u64) -> u64 {
        (self.size_for)(self.virtual_size, units)
    }

    fn resized(&self, virtual_size: u64) -> Result<Box<dyn Layout>> {
        (self.resized)(virtual_size)
    }

    fn assembler(&self, _stamp: &Stamp) -> Result<Option<Box<dyn Assembler>>> {
        Ok(Some((self.assembler)()))
    }
}

/// Writes one block after another, and the index after the last.
struct BlockAssembler<I> {
    index: I,
    /// A block of [`BLOCK`] zeros, made on first use, and how many of its bytes do not count.
    zeros: Option<(Vec<u8>, u8)>,
    /// The length of the output so far, in bytes.
    end: u64,
}

impl<I: Default> Default for BlockAssembler<I> {
    fn default() -> Self {
        Self { index: I::default(), zeros: None, end: 0 }
    }
}

impl<I: Index> BlockAssembler<I> {
    fn count(&mut self, len: usize, padding: u8, data: u64, times: u64) -> Result<()> {
        self.end += len as u64 * times;
        // The layout has checked that there are not more.
        let is_counted = self.index.add(len as u32, padding, data as u32, times as u32);
        if is_counted { Ok(()) } else { Err(Error::out_of_memory(len)) }
    }

    fn zeros(&mut self, len: u64, writes: &mut Writes) -> Result<()> {
        let (blocks, rest) = (len / BLOCK, len % BLOCK);
        if blocks > 0 {
            self.zero_blocks(BLOCK, blocks, writes)?;
        }
        if rest > 0 {
            self.zero_blocks(rest, 1, writes)?;
        }
        Ok(())
    }

    /// Writes `times` blocks of `data` zeros.
    fn zero_blocks(&mut self, data: u64, times: u64, writes: &mut Writes) -> Result<()> {
        let made = || I::zero_block(data as u32);
        let (block, padding) = if data == BLOCK { self.zeros.get_or_insert_with(made).clone() } else { made() };
        let len = block.len();
        writes.repeated(self.end, block, times);
        self.count(len, padding, data, times)
    }
}

impl<I: Index> Assembler for BlockAssembler<I> {
    fn begin(&mut self, writes: &mut Writes) -> Result<()> {
        let header = I::header();
        let len = header.len() as u64;
        writes.own(0, header);
        self.end = len;
        Ok(())
    }

    fn place(&mut self, region: GuestRange, parts: &[EncodedPart], writes: &mut Writes) -> Result<()> {
        let mut at = region.start;
        for part in parts {
            self.zeros(part.guest - at, writes)?;
            writes.part(self.end, part);
            self.count(part.encoded_len, part.padding, part.len, 1)?;
            at = part.guest + part.len;
        }
        self.zeros(region.end - at, writes)
    }

    fn finish(&mut self, writes: &mut Writes) -> Result<()> {
        // Nothing is before the seek table of an empty disk, and a file of zstd is recognised by its first frame.
        if self.end == 0 {
            self.zero_blocks(0, 1, writes)?;
        }
        for (bytes, times) in std::mem::take(&mut self.index).end() {
            let len = bytes.len() as u64 * times;
            writes.repeated(self.end, bytes, times);
            self.end += len;
        }
        Ok(())
    }
}
