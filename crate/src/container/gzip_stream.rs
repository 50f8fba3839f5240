//! Decodes consecutive gzip members (RFC 1952) as one stream.

use super::blocks::BlocksOf;
use super::decoder_buffers::CompressedInput;
use super::inflation::{Checksum, Inflation};
use super::{Compression, Container, Content, LARGEST_WHOLE, gzip_blocks};
use crate::error::{Error, Result};
use crate::io::stream::{ByteStream, Ended};
use crate::offsets::{HostOffset, le16};
use crate::structure::structure;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;

pub(super) const CONTAINER: Container = Container {
    name: "gzip",
    aliases: &[],
    extensions: &[".gz"],
    label: "a gzip-compressed file",
    probe: |sample| sample.head.starts_with(&[MAGIC[0], MAGIC[1], DEFLATE]),
    content: Content::Compressed(Compression {
        module: None,
        decode: |stream| Ok(Box::new(Gzip::new(stream)?)),
        divide: None,
        blocks: BlocksOf { search: gzip_blocks::search, largest_whole: LARGEST_WHOLE, has_size_at_end: true },
    }),
};

/// Header flags (RFC 1952, section 2.3.1).
const HEADER_CRC: u8 = 1 << 1;
const EXTRA: u8 = 1 << 2;
const NAME: u8 = 1 << 3;
const COMMENT: u8 = 1 << 4;

/// Maximum length of a name or comment, in bytes.
const LONGEST_TEXT: usize = 64 << 10;
/// Maximum number of bytes after the members that are accepted as metadata, as OpenWrt appends it.
const LONGEST_TRAILER: usize = 64 << 10;

/// The code of errors about damage.
const DAMAGED: &str = "gzip-damaged";

struct Gzip {
    /// The data of the member.
    data: Inflation,
    state: GzipState,
    /// Bytes after the last member that belong to no member.
    trailer: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum GzipState {
    Start,
    Data,
    Trailer,
    AfterMember,
    End,
}

impl Gzip {
    fn new(stream: Box<dyn ByteStream>) -> Result<Self> {
        Ok(Self { data: Inflation::new(stream, DAMAGED)?, state: GzipState::Start, trailer: 0 })
    }

    async fn fill(&mut self, buf: &mut [u8]) -> Result<usize> {
        let mut done = 0;
        while done < buf.len() {
            if self.data.window.is_empty() {
                match self.state {
                    GzipState::Start => self.begin_member().await?,
                    GzipState::Data => {
                        if self.data.step().await? {
                            self.state = GzipState::Trailer;
                        }
                    }
                    GzipState::Trailer => self.check().await?,
                    GzipState::AfterMember => self.find_member().await?,
                    GzipState::End => break,
                }
                continue;
            }
            done += self.data.window.take(&mut buf[done..]);
        }
        Ok(done)
    }

    /// Reads a member's header (RFC 1952, section 2.3).
    async fn begin_member(&mut self) -> Result<()> {
        let input = &mut self.data.input;
        let start = input.position();
        let mut checksum = Checksum::default();
        let header = GzipHeader::parse(checksum.add(input.take(GzipHeader::LEN).await?));
        if header.id != MAGIC {
            return Err(damaged("a member of gzip does not begin with its signature", start));
        }
        if header.cm != DEFLATE {
            return Err(Error::unsupported(format!("compression method {} of gzip", header.cm)));
        }
        let flags = header.flg;
        if flags & RESERVED != 0 {
            return Err(damaged("a header of gzip has reserved flags", start));
        }
        if flags & EXTRA != 0 {
            let len = le16(checksum.add(input.take(2).await?), 0);
            checksum.add(input.take(len.into()).await?);
        }
        for flag in [NAME, COMMENT] {
            if flags & flag != 0 {
                take_text(input, &mut checksum).await?;
            }
        }
        if flags & HEADER_CRC != 0 && le16(input.take(2).await?, 0) != checksum.crc as u16 {
            return Err(damaged("a header of gzip does not have the checksum that it states", start));
        }
        self.data.restart();
        self.state = GzipState::Data;
        Ok(())
    }

    /// Checks the member's data against the CRC-32 and size after it.
    async fn check(&mut self) -> Result<()> {
        let start = self.data.input.position();
        let trailer = GzipTrailer::parse(self.data.input.take(GzipTrailer::LEN).await?);
        if trailer.crc32 != self.data.checksum.crc {
            return Err(damaged("the data of a gzip member does not have the checksum that it states", start));
        }
        if trailer.isize != self.data.checksum.len as u32 {
            return Err(damaged("the data of a gzip member does not have the size that it states", start));
        }
        self.state = GzipState::AfterMember;
        Ok(())
    }

    /// Identifies what follows a member: another member, zeros, a trailer, or the end.
    async fn find_member(&mut self) -> Result<()> {
        let start = self.data.input.position();
        if self.data.input.next_byte().await? == Some(MAGIC[0]) {
            return self.begin_member().await;
        }
        if self.data.input.pass_zeros().await? {
            let rest = self.data.input.rest(LONGEST_TRAILER).await?;
            if may_be_member(rest) || rest.len() > LONGEST_TRAILER {
                let message = "the bytes after the compressed data are not a trailer";
                return Err(damaged(message, start));
            }
            self.trailer = rest.len() as u64;
        }
        self.state = GzipState::End;
        Ok(())
    }
}

/// Whether `rest`, which follows verified members, may be another, possibly damaged member. Ignoring it would lose a
/// part of the disk.
fn may_be_member(rest: &[u8]) -> bool {
    let signature = [MAGIC[0], MAGIC[1], DEFLATE];
    let alike = rest.iter().zip(&signature).filter(|(found, expected)| found == expected).count();
    alike >= 2 || rest.windows(signature.len()).any(|part| part == signature)
}

impl ByteStream for Gzip {
    fn read<'a>(&'a mut self, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<usize>> {
        self.fill(buf).boxed_local()
    }

    fn file_position(&self) -> u64 {
        self.data.input.file_position()
    }

    fn ended(&self) -> Ended {
        // Each member is verified by its checksum.
        let trailer = self.trailer + self.data.input.ended().trailer;
        Ended { trailer, ..Ended::default() }
    }
}

/// Skips a NUL-terminated string and adds it to `checksum`. Fails with `corrupt` if it is longer than [`LONGEST_TEXT`].
async fn take_text(input: &mut CompressedInput, checksum: &mut Checksum) -> Result<()> {
    let start = input.position();
    let mut len = 0;
    while len < LONGEST_TEXT {
        let bytes = input.some().await?;
        let bytes = &bytes[..bytes.len().min(LONGEST_TEXT - len)];
        let end = bytes.iter().position(|&byte| byte == 0);
        let taken = checksum.add(&bytes[..end.map_or(bytes.len(), |end| end + 1)]).len();
        input.consume(taken)?;
        len += taken;
        if end.is_some() {
            return Ok(());
        }
    }
    Err(damaged("a text in a header of gzip does not end", start))
}

/// The error for compressed data that is invalid or fails its checks.
fn damaged(what: &str, place: HostOffset) -> Error {
    Error::corrupt(what, place).coded(DAMAGED)
}

pub(super) const MAGIC: [u8; 2] = [0x1f, 0x8b];
pub(super) const DEFLATE: u8 = 8;

structure! {
    /// The fixed start of a member (RFC 1952, section 2.3).
    pub(super) struct GzipHeader: Little {
        id: [u8; 2] = 0,
        cm: u8 = 2,
        flg: u8 = 3,
        mtime: u32 = 4,
        xfl: u8 = 8,
        os: u8 = 9,
    }
}

structure! {
    /// The end of a member (RFC 1952, section 2.3).
    pub(super) struct GzipTrailer: Little {
        crc32: u32 = 0,
        /// The size of the data, modulo 2^32.
        isize: u32 = 4,
    }
}

/// Header flags that no member has (RFC 1952, section 2.3.1).
pub(super) const RESERVED: u8 = 0xe0;
