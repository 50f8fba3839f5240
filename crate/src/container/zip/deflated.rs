//! Deflated members: large ones can only be read in order.

use super::end_record::WRAP;
use super::{DAMAGED, NAME, of_file};
use crate::compress::crc;
use crate::container::NOT_IN_ORDER;
use crate::container::inflation::Inflation;
use crate::disk::info::Notice;
use crate::error::shown::shown;
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::{Profile, Source, zeroed};
use crate::io::stream::{ByteStream, Ended, FileStream, inspected};
use crate::offsets::HostOffset;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use std::rc::Rc;

/// Maximum size of a member that is inflated for each read, in bytes: a descriptor.
pub(crate) const LARGEST_AT_ANY_POSITION: u64 = 64 << 10;

/// How a member is stored as raw deflate data.
#[derive(Clone, Copy)]
pub(super) struct Deflated {
    /// Whether it is Deflate64 data.
    pub(super) is_64: bool,
    /// The length and the checksum of the member's bytes, as the archive states them.
    pub(super) size: u64,
    /// Whether the archive may state the length modulo [`WRAP`].
    pub(super) wraps: bool,
    pub(super) crc32: u32,
}

impl Deflated {
    /// Inflates `stream`, the deflated data. Fails with `internal` if memory runs out.
    pub(super) fn decode(self, stream: Box<dyn ByteStream>) -> Result<Box<dyn ByteStream>> {
        let inflation = if self.is_64 { Inflation::new_64 } else { Inflation::new };
        let data = inflation(stream, super::DAMAGED)?;
        Ok(Box::new(InflatedMember { data, stated: self, has_ended: false }))
    }
}

/// The bytes of a deflated member.
struct InflatedMember {
    data: Inflation,
    stated: Deflated,
    has_ended: bool,
}

impl InflatedMember {
    async fn fill(&mut self, buf: &mut [u8]) -> Result<usize> {
        let mut done = 0;
        while done < buf.len() {
            if !self.data.window.is_empty() {
                done += self.data.window.take(&mut buf[done..]);
            } else if self.has_ended {
                break;
            } else {
                self.has_ended = self.data.step().await?;
                self.check().await?;
            }
        }
        Ok(done)
    }

    /// Checks the data so far, and all of it at the end.
    async fn check(&mut self) -> Result<()> {
        let data = &mut self.data;
        let (found, start) = (data.checksum, data.input.position());
        let Deflated { size, wraps, crc32, .. } = self.stated;
        let is_too_long = found.len > size && !wraps;
        let is_size = found.len == size || (wraps && found.len % WRAP == size);
        if is_too_long || (self.has_ended && !is_size) {
            return Err(data.damaged("the compressed data does not have the size that the zip archive states", start));
        }
        if !self.has_ended {
            return Ok(());
        }
        if found.crc != crc32 {
            let what = "the compressed data does not have the checksum that the zip archive states";
            return Err(data.damaged(what, start));
        }
        if data.input.next_byte().await?.is_some() {
            return Err(data.damaged("other bytes follow the compressed data", start));
        }
        Ok(())
    }
}

impl ByteStream for InflatedMember {
    fn read<'a>(&'a mut self, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<usize>> {
        self.fill(buf).boxed_local()
    }

    fn file_position(&self) -> u64 {
        self.data.input.file_position()
    }

    fn ended(&self) -> Ended {
        // The archive states the checksum.
        Ended::default()
    }
}

/// The bytes of a deflated member at any position. Reading them fails if it is large: nothing must mistake the deflated data
/// for them.
pub(super) struct AnyPosition {
    pub(super) name: String,
    /// The deflated data.
    pub(super) source: Rc<dyn Source>,
    pub(super) deflated: Deflated,
}

impl AnyPosition {
    /// Inflates the whole member. Nothing is kept: an archive may have many.
    async fn read(&self, offset: HostOffset, buf: &mut [u8]) -> Result<()> {
        let size = self.deflated.size;
        if size > LARGEST_AT_ANY_POSITION {
            let name = shown(&self.name);
            let message = format!(
                "'{name}' is compressed in the zip archive, but must be read at any position; allow a temporary file to unpack the \
                 archive to (spool, --spool), extract it first, or use zip -0"
            );
            let error = Error::new(ErrorKind::Unsupported, message).coded(NOT_IN_ORDER);
            return Err(error.field("container", super::NAME));
        }
        // Reading beyond the end checks the data.
        let mut bytes = zeroed(size as usize + 1)?;
        let data = FileStream::new(self.source.clone());
        let found = self.deflated.decode(Box::new(data))?.read(&mut bytes).await?;
        if found as u64 > size {
            let what = "the compressed data does not have the size that the zip archive states";
            return Err(Error::corrupt(what, HostOffset(0)).coded(super::DAMAGED));
        }
        buf.copy_from_slice(&bytes[offset.0 as usize..][..buf.len()]);
        Ok(())
    }
}

impl Source for AnyPosition {
    fn size(&self) -> u64 {
        self.deflated.size
    }

    fn profile(&self) -> Profile {
        Profile { opened_by_workers: false, made_here: true, ..Profile::default() }
    }

    fn start(&self) -> Option<u64> {
        None
    }

    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>> {
        self.read(offset, buf).boxed_local()
    }
}

/// The checksum that an archive states for a stored file.
#[derive(Clone)]
pub(crate) struct StatedCrc {
    /// The name and the size of the file, and its CRC-32.
    pub(super) name: String,
    pub(super) size: u64,
    pub(super) crc32: u32,
}

impl StatedCrc {
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Fails with `corrupt` unless `crc32` is the stated checksum.
    pub(crate) fn check(&self, crc32: u32) -> Result<()> {
        if crc32 == self.crc32 {
            return Ok(());
        }
        Err(of_file(ErrorKind::Corrupt, DAMAGED, &self.name, "does not have the checksum that the archive states"))
    }

    /// The notice for a salvage whose bytes have another checksum.
    pub(crate) fn mismatch(&self) -> Notice {
        let message = format!(
            "'{}' in the {NAME} archive does not have the checksum that the archive states: some bytes of the disk are wrong, \
             and it is not known which",
            shown(&self.name)
        );
        Notice::new("checksum-mismatch", message).field("file", &*self.name)
    }

    /// The notice for a conversion that does not read all bytes.
    pub(crate) fn unchecked(&self) -> Notice {
        let message = format!(
            "'{}' was not compared with the checksum in the {NAME} archive, since only parts of it are read",
            shown(&self.name)
        );
        Notice::new("checksum-unchecked", message).field("file", &*self.name)
    }

    /// Compares the bytes of `stream`, which has the whole file, before their last ones are used.
    pub(crate) fn checked(self, stream: Box<dyn ByteStream>) -> Box<dyn ByteStream> {
        let mut found = 0;
        inspected(stream, move |bytes, is_end| {
            found = crc::joined(found, crc::crc32(bytes), bytes.len() as u64);
            if is_end { self.check(found).map_err(|error: Error| error.within_stream(None)) } else { Ok(()) }
        })
    }
}
