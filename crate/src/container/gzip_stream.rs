//! Decodes consecutive gzip members (RFC 1952) as one stream.

use super::Container;
use super::compressed_input::CompressedInput;
use super::output_window::OutputWindow;
use crate::compress::crc;
use crate::compress::inflate::pausing::{HISTORY, LOOKAHEAD, Pause, PausingInflater, ROOM};
use crate::error::{Error, Result};
use crate::io::stream::{ByteStream, Ended};
use crate::offsets::{HostOffset, le16};
use crate::structure::structure;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;

pub(super) const CONTAINER: Container = Container {
    name: "gzip",
    label: "a gzip-compressed file",
    probe: |sample| sample.head.starts_with(&[MAGIC[0], MAGIC[1], DEFLATE]),
    list: None,
    module: None,
    decode: |stream| Ok(Box::new(Gzip::new(stream)?)),
};

const MAGIC: [u8; 2] = [0x1f, 0x8b];
const DEFLATE: u8 = 8;

structure! {
    /// The fixed start of a member (RFC 1952, section 2.3).
    struct GzipHeader: Little {
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
    struct GzipTrailer: Little {
        crc32: u32 = 0,
        /// The size of the data, modulo 2^32.
        isize: u32 = 4,
    }
}

/// Header flags (RFC 1952, section 2.3.1).
const HEADER_CRC: u8 = 1 << 1;
const EXTRA: u8 = 1 << 2;
const NAME: u8 = 1 << 3;
const COMMENT: u8 = 1 << 4;
const RESERVED: u8 = 0xe0;

/// Maximum length of a name or comment, in bytes.
const LONGEST_TEXT: usize = 64 << 10;
/// Maximum length of a symbol, in bytes: a literal, or a length and a distance with their extra bits, takes at most 48
/// bits.
const LONGEST_SYMBOL: usize = 6;
/// Maximum number of bytes after the members that are accepted as metadata, as OpenWrt appends it.
const LONGEST_TRAILER: usize = 64 << 10;

/// Size of the output window after the history that the stream may refer to, in bytes. It fits in the CPU cache.
const WINDOW: usize = 256 << 10;

struct Gzip {
    input: CompressedInput,
    inflater: PausingInflater,
    /// Data of the member, after the history that it may refer to.
    window: OutputWindow,
    checksum: Checksum,
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
        Ok(Self {
            input: CompressedInput::new(stream, LOOKAHEAD)?,
            inflater: PausingInflater::default(),
            window: OutputWindow::new(HISTORY + WINDOW + ROOM)?,
            checksum: Checksum::default(),
            state: GzipState::Start,
            trailer: 0,
        })
    }

    async fn fill(&mut self, buf: &mut [u8]) -> Result<usize> {
        let mut done = 0;
        while done < buf.len() {
            if self.window.is_empty() {
                match self.state {
                    GzipState::Start => self.begin_member().await?,
                    GzipState::Data => self.inflate().await?,
                    GzipState::Trailer => self.check().await?,
                    GzipState::AfterMember => self.find_member().await?,
                    GzipState::End => break,
                }
                continue;
            }
            done += self.window.take(&mut buf[done..]);
        }
        Ok(done)
    }

    /// Reads a member's header (RFC 1952, section 2.3).
    async fn begin_member(&mut self) -> Result<()> {
        let input = &mut self.input;
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
        self.inflater.restart();
        (self.window.filled, self.window.given, self.checksum) = (0, 0, Checksum::default());
        self.state = GzipState::Data;
        Ok(())
    }

    /// Decompresses more of the member into the window.
    async fn inflate(&mut self) -> Result<()> {
        let window = &mut self.window;
        let kept = window.filled.min(HISTORY);
        window.bytes.copy_within(window.filled - kept..window.filled, 0);
        (window.filled, window.given) = (kept, kept);
        loop {
            let step = self.inflater.run(self.input.ahead(), &mut window.bytes, window.filled);
            self.input.consume(step.consumed)?;
            window.filled = step.filled;
            match step.pause {
                Ok(Pause::Input) => self.input.read_more().await?,
                Ok(Pause::Output) => break,
                Ok(Pause::End) => {
                    self.state = GzipState::Trailer;
                    break;
                }
                Err(_) => return Err(invalid(&self.input)),
            }
        }
        self.checksum.add(&window.bytes[kept..window.filled]);
        Ok(())
    }

    /// Checks the member's data against the CRC-32 and size after it.
    async fn check(&mut self) -> Result<()> {
        let start = self.input.position();
        let trailer = GzipTrailer::parse(self.input.take(GzipTrailer::LEN).await?);
        if trailer.crc32 != self.checksum.crc {
            return Err(damaged("the data of a gzip member does not have the checksum that it states", start));
        }
        if trailer.isize != self.checksum.len as u32 {
            return Err(damaged("the data of a gzip member does not have the size that it states", start));
        }
        self.state = GzipState::AfterMember;
        Ok(())
    }

    /// Identifies what follows a member: another member, zeros, a trailer, or the end.
    async fn find_member(&mut self) -> Result<()> {
        let start = self.input.position();
        if self.input.next_byte().await? == Some(MAGIC[0]) {
            return self.begin_member().await;
        }
        if self.input.pass_zeros().await? {
            let rest = self.input.rest(LONGEST_TRAILER).await?;
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
        self.input.file_position()
    }

    fn ended(&self) -> Ended {
        // Each member is verified by its checksum.
        let trailer = self.trailer + self.input.ended().trailer;
        Ended { is_unmarked: false, trailer }
    }
}

/// Running CRC-32 and length.
#[derive(Clone, Copy, Default)]
struct Checksum {
    crc: u32,
    len: u64,
}

impl Checksum {
    /// Adds `bytes` and returns them.
    fn add<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let len = bytes.len() as u64;
        self.crc = crc::joined(self.crc, crc::crc32(bytes), len);
        self.len += len;
        bytes
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

/// The error for invalid deflate data: truncation if the invalid symbol may extend past the end, since it may include
/// padding bits after the end.
fn invalid(input: &CompressedInput) -> Error {
    if input.ends_within(LONGEST_SYMBOL) {
        return input.truncated();
    }
    damaged("the compressed data is invalid", input.position())
}

/// The error for compressed data that is invalid or fails its checks.
fn damaged(what: &str, place: HostOffset) -> Error {
    Error::corrupt(what, place).coded("gzip-damaged")
}
