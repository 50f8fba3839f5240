//! The contract of outputs: how a format lays a disk out.
//!
//! There are two ways. A *plain* output stores data at its guest offset, so workers write without asking. In an
//! *assembled* output, executors encode units of the disk, and an [`Assembler`] gives them their offsets, in guest
//! order. So the output does not depend on the engine and the number of workers.

use crate::compress::{EncodedPart, Encoding};
use crate::disk::info::Notice;
use crate::disk::sector_sizes::SectorSizes;
use crate::error::{Error, ErrorKind, Result};
use crate::offsets::GuestRange;

/// Time and random bytes, for formats that record when a file was made or identify it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stamp {
    /// The time of the conversion, in seconds since 1970-01-01 00:00 UTC.
    pub seconds: u64,
    /// Random bytes; all zeros if the platform has none.
    pub random: [u8; 16],
}

/// Describes one output of a disk whose size is known, or becomes known at its end.
pub trait Layout {
    /// The encoding of the data.
    fn encoding(&self) -> Encoding {
        Encoding::Plain
    }

    /// The storage unit, in bytes, a power of two. A unit of zeros is left out.
    fn unit(&self) -> u64;

    /// The size of the disk in the output, in bytes: the virtual size, possibly rounded up.
    fn disk_size(&self) -> u64;

    /// Explains why `disk_size` is not the virtual size, with the code `disk-grows`. `None` if they are equal.
    fn notice(&self) -> Option<Notice> {
        None
    }

    /// The sizes of sectors that the output states. `None` if its format has no field for them: programs then assume 512 bytes.
    fn sectors(&self) -> Option<SectorSizes> {
        None
    }

    /// The size of the output in bytes, if it is known before the conversion.
    fn output_size(&self) -> Option<u64> {
        None
    }

    /// The unit in which data takes space in the output, in bytes, a power of two: in VHD, one byte of data takes a whole block.
    fn allocation(&self) -> u64 {
        self.unit()
    }

    /// The size of the output in bytes if `units` units of [`Self::allocation`] have data. Where data is compressed, an upper bound.
    fn size_for(&self, units: u64) -> u64;

    /// Returns the layout of a disk of `virtual_size` bytes, now that the size is known. Only the size of the disk, the
    /// notice and the footer may differ. Fails with `limit` if the format cannot hold the disk, and with `unsupported`,
    /// for any size, if bytes before the disk depend on the size.
    fn resized(&self, virtual_size: u64) -> Result<Box<dyn Layout>>;

    /// The bytes after the disk in a plain output.
    fn footer(&self, _stamp: &Stamp) -> Vec<u8> {
        Vec::new()
    }

    /// The number of bytes at the start of the output that [`Assembler::finish`] writes last, all of them. If the target does
    /// not accept them then, a first pass over the disk finds what they are.
    fn reserved(&self) -> u64 {
        0
    }

    /// Whether [`Assembler::finish`] also writes bytes after the reserved ones last ([`Writes::later`]). Only a target that takes bytes in
    /// any order accepts them then; any other needs a first pass.
    fn writes_later(&self) -> bool {
        false
    }

    /// Whether the reserved bytes do not depend on the data. A target that does not accept them last then gets them first,
    /// without a first pass.
    fn start_is_known(&self) -> bool {
        false
    }

    /// Whether the assembler computes digests of the output, so that it gets all written bytes ([`Assembler::written`]).
    fn digests(&self) -> bool {
        false
    }

    /// The layout of this disk and `more` disks, of these virtual sizes in bytes. `None` if an output of this format has one disk. Fails
    /// with `limit` if the format cannot hold the disks.
    fn with_disks(&self, _more: &[u64]) -> Result<Option<Box<dyn Layout>>> {
        Ok(None)
    }

    /// The layout of disk number `number`, which has its size and its notice. `None` if the output has one disk: then they are in `self`.
    fn disk(&self, _number: usize) -> Option<&dyn Layout> {
        None
    }

    /// The assembler of an output that is not plain. Fails with `internal` if memory runs out.
    fn assembler(&self, _stamp: &Stamp) -> Result<Option<Box<dyn Assembler>>> {
        Ok(None)
    }
}

/// The code of the error of [`Layout::resized`] for an output that states the size before the disk.
pub const SIZE_NEEDED: &str = "size-needed";

/// The error of [`Layout::resized`] for `output`, which states the size before the disk.
pub(super) fn size_needed(output: &str) -> Error {
    let message = format!(
        "{output} starts with the size of the disk, but the size of this disk, which comes in a stream, is known only at its \
         end; allow a temporary file (spool, --spool), choose another output format, or save the image as a file first"
    );
    Error::new(ErrorKind::Unsupported, message).coded(SIZE_NEEDED)
}

/// Gives the data of an output its offsets, and adds the format's own bytes. All calls fail with `limit` if the format
/// cannot hold the output, and with `internal` if memory runs out.
pub trait Assembler {
    /// Begins the output.
    fn begin(&mut self, _writes: &mut Writes) -> Result<()> {
        Ok(())
    }

    /// Places `parts`, the data of `region`, ascending. The rest of `region` is zeros. Regions follow one another
    /// without gaps, from the start of the disk to its end. The next disk follows after `end_disk`.
    fn place(&mut self, region: GuestRange, parts: &[EncodedPart], writes: &mut Writes) -> Result<()>;

    /// Ends a disk, after all its regions.
    fn end_disk(&mut self, _writes: &mut Writes) -> Result<()> {
        Ok(())
    }

    /// Takes `bytes`, which are being written at `offset`. Called if [`Layout::digests`], in the order of the writes: for all writes of
    /// one call before the next call. A first of two passes writes nothing.
    fn written(&mut self, _offset: u64, _bytes: &[u8]) -> Result<()> {
        Ok(())
    }

    /// Ends the output, after all disks.
    fn finish(&mut self, writes: &mut Writes) -> Result<()>;
}

/// The writes of an assembler, in order. Offsets ascend, except in [`Assembler::finish`] for the reserved bytes and those of
/// [`Self::later`]. Bytes between two writes are zeros.
#[derive(Default)]
pub struct Writes(pub(crate) Vec<Write>);

/// A write of an assembler.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Write {
    /// `len` bytes of the placed parts, at `start` in their buffer.
    Parts { offset: u64, start: usize, len: usize },
    /// Other bytes, `times` times one after another.
    Own { offset: u64, bytes: Vec<u8>, times: u64 },
    /// A place for `len` bytes, which are written last.
    Later { offset: u64, len: u64 },
}

impl Write {
    pub(crate) fn offset(&self) -> u64 {
        match self {
            Self::Parts { offset, .. } | Self::Own { offset, .. } | Self::Later { offset, .. } => *offset,
        }
    }

    /// The offset after the last byte.
    pub(crate) fn end(&self) -> u64 {
        match self {
            Self::Parts { offset, len, .. } => offset + *len as u64,
            Self::Own { offset, bytes, times } => offset + bytes.len() as u64 * times,
            Self::Later { offset, len } => offset + len,
        }
    }
}

impl Writes {
    /// Writes the encoded bytes of `part` at `offset`.
    pub(super) fn part(&mut self, offset: u64, part: &EncodedPart) {
        self.range(offset, part.start, part.encoded_len);
    }

    /// Writes `added` bytes at `from` in the buffer of the parts at `at`.
    pub(super) fn range(&mut self, at: u64, from: usize, added: usize) {
        if let Some(Write::Parts { offset, start, len }) = self.0.last_mut()
            && *offset + *len as u64 == at
            && *start + *len == from
        {
            *len += added;
        } else {
            self.0.push(Write::Parts { offset: at, start: from, len: added });
        }
    }

    /// Adds the writes of `part`, whose offsets count from `start`.
    pub(super) fn add(&mut self, start: u64, part: Self) {
        self.0.extend(part.0.into_iter().map(|write| match write {
            Write::Parts { offset, start: from, len } => Write::Parts { offset: start + offset, start: from, len },
            Write::Own { offset, bytes, times } => Write::Own { offset: start + offset, bytes, times },
            Write::Later { offset, len } => Write::Later { offset: start + offset, len },
        }));
    }

    /// The offset after the last byte; 0 if there are no writes.
    pub(super) fn end(&self) -> u64 {
        self.0.iter().map(Write::end).max().unwrap_or(0)
    }

    /// Leaves a place for `len` bytes at `offset`. [`Assembler::finish`] must write all of them.
    pub(crate) fn later(&mut self, offset: u64, len: u64) {
        if len > 0 {
            self.0.push(Write::Later { offset, len });
        }
    }

    /// Writes `bytes` at `offset`.
    pub(super) fn own(&mut self, offset: u64, bytes: Vec<u8>) {
        self.repeated(offset, bytes, 1);
    }

    /// Writes `bytes` `times` times, from `offset`.
    pub(super) fn repeated(&mut self, offset: u64, bytes: Vec<u8>, times: u64) {
        if !bytes.is_empty() && times > 0 {
            self.0.push(Write::Own { offset, bytes, times });
        }
    }
}
