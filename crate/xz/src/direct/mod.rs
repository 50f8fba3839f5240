//! The decoder of the .xz file format, version 1.2.1. A library decodes LZMA2.

mod block;
mod block_header;
mod blocks;
mod check;
mod copied_block;
mod encoder;
mod held;
mod index;
mod integer;

pub use blocks::search;
pub use encoder::XzEncoder;

use crate::stream::{CRC, FOOTER_MAGIC};
use crate::{MAGIC, UNIT};
use block::Block;
use block_header::BlockHeader;
use check::CheckType;
use copied_block::CopiedBlock;
use decant_codec::crc;
use decant_module::{BeginSearch, Buffers, CodecDecoder, Fault, Step, StreamDecoder, StreamFeature};
use held::Held;
use index::{Index, Records};

/// The length of a stream's header, and of its footer, in bytes.
const HEADER: usize = 12;
/// The bits of a stream's flags that are the type of the checks. The others are reserved.
const CHECK_TYPE: u8 = 0x0f;

/// Decodes consecutive xz streams as one. Checks, indexes and footers are verified.
#[derive(Default)]
pub struct XzDecoder {
    part: Part,
    held: Held,
    /// The flags of the stream, and the type of its checks.
    flags: [u8; 2],
    check_type: CheckType,
    /// The size of the dictionary of the last block, in bytes.
    window: u64,
    /// The blocks of the stream so far.
    blocks: Records,
    /// Whether a stream has ended.
    has_ended: bool,
    /// Whether to copy the blocks instead of decoding them.
    divides: bool,
}

/// Divides consecutive xz streams into streams of one block. Their structure is verified, the data of blocks is not.
pub struct XzDivider(XzDecoder);

impl Default for XzDivider {
    fn default() -> Self {
        Self(XzDecoder { divides: true, ..XzDecoder::default() })
    }
}

impl StreamDecoder for XzDivider {
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> Step {
        self.0.decode(input, output)
    }
}

/// The part of a stream that is being decoded.
#[derive(Default)]
enum Part {
    #[default]
    StreamHeader,
    BlockHeader,
    Block(Box<Block>),
    /// A block that is copied.
    Copied(Box<CopiedBlock>),
    /// The end of a copied block.
    Divided,
    Index(Box<Index>),
    /// The footer, with the length in bytes of the index before it.
    Footer(u64),
    /// Zeros after a stream.
    Padding,
}

impl StreamDecoder for XzDecoder {
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> Step {
        let step = Buffers::step(input, output, |buffers| {
            self.run(buffers)?;
            Ok(matches!(self.part, Part::Divided | Part::Padding))
        });
        Step { window: self.window, ..step }
    }
}

impl CodecDecoder for XzDecoder {
    type Divider = XzDivider;
    const SEARCH: BeginSearch = search;
}

impl XzDecoder {
    /// Decodes one part after another, until a part needs more input or output, or the stream is divided.
    fn run(&mut self, buffers: &mut Buffers<'_>) -> Result<(), Fault> {
        while let Some(next) = self.decode_part(buffers)? {
            self.part = next;
            if matches!(self.part, Part::Divided) {
                break;
            }
        }
        Ok(())
    }

    /// Decodes more of a part. Returns the next part if it ended.
    fn decode_part(&mut self, buffers: &mut Buffers<'_>) -> Result<Option<Part>, Fault> {
        match &mut self.part {
            Part::StreamHeader => self.stream_header(&mut buffers.input),
            Part::BlockHeader => self.block_header(&mut buffers.input),
            Part::Block(block) => {
                if !block.decode(buffers)? {
                    return Ok(None);
                }
                let end = block.padding_len() + self.check_type.len();
                let Some(end) = self.held.take(&mut buffers.input, end) else { return Ok(None) };
                let (unpadded, data) = block.verify(end)?;
                self.blocks.add(unpadded, data);
                Ok(Some(Part::BlockHeader))
            }
            Part::Copied(block) => {
                if !block.copy(buffers) {
                    return Ok(None);
                }
                let (unpadded, data) = block.sizes();
                self.blocks.add(unpadded, data);
                Ok(Some(Part::Divided))
            }
            Part::Divided => Ok(Some(Part::BlockHeader)),
            Part::Index(index) => {
                if !index.add(&mut buffers.input)? {
                    return Ok(None);
                }
                let Some(checksum) = self.held.take(&mut buffers.input, CRC) else { return Ok(None) };
                index.verify(&self.blocks, checksum)?;
                Ok(Some(Part::Footer(index.len() + CRC as u64)))
            }
            &mut Part::Footer(index_len) => self.footer(&mut buffers.input, index_len),
            Part::Padding => self.padding(&mut buffers.input),
        }
    }

    /// Reads a stream's header (section 2.1.1).
    fn stream_header(&mut self, input: &mut &[u8]) -> Result<Option<Part>, Fault> {
        let Some(header) = self.held.take(input, HEADER) else { return Ok(None) };
        let (magic, rest) = header.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err(if self.has_ended { Fault::Trailing } else { Fault::Invalid });
        }
        let (flags, checksum) = rest.split_at(2);
        if crc::crc32(flags).to_le_bytes() != checksum {
            return Err(Fault::Checksum);
        }
        self.flags = [flags[0], flags[1]];
        if flags[0] != 0 || flags[1] & !CHECK_TYPE != 0 {
            return Err(Fault::Unsupported(StreamFeature::Flags, u16::from_le_bytes(self.flags).into()));
        }
        self.check_type = CheckType::by_id(flags[1])?;
        self.blocks = Records::default();
        Ok(Some(Part::BlockHeader))
    }

    /// Reads a block's header (section 3.1), or the first byte of the index, a zero (section 4.1).
    fn block_header(&mut self, input: &mut &[u8]) -> Result<Option<Part>, Fault> {
        let Some(first) = self.held.first(input) else { return Ok(None) };
        if first == 0 {
            *input = &input[1..];
            return Ok(Some(Part::Index(Box::default())));
        }
        let Some(header) = self.held.take(input, (usize::from(first) + 1) * UNIT) else { return Ok(None) };
        let (content, checksum) = header.split_at(header.len() - CRC);
        if crc::crc32(content).to_le_bytes() != checksum {
            return Err(Fault::Checksum);
        }
        let parsed = BlockHeader::parse(content)?;
        if self.divides {
            let block = CopiedBlock::new(&parsed, header, self.flags, self.check_type)?;
            return Ok(Some(Part::Copied(Box::new(block))));
        }
        self.window = parsed.dictionary.into();
        let block = Block::new(parsed, header.len(), self.check_type)?;
        Ok(Some(Part::Block(Box::new(block))))
    }

    /// Reads a stream's footer (section 2.1.2), after an index of `index_len` bytes.
    fn footer(&mut self, input: &mut &[u8], index_len: u64) -> Result<Option<Part>, Fault> {
        let Some(footer) = self.held.take(input, HEADER) else { return Ok(None) };
        let (checksum, rest) = footer.split_at(CRC);
        let (content, magic) = rest.split_at(CRC + 2);
        let (backward_size, flags) = content.split_at(CRC);
        if magic != FOOTER_MAGIC || flags != self.flags {
            return Err(Fault::Invalid);
        }
        if crc::crc32(content).to_le_bytes() != checksum {
            return Err(Fault::Checksum);
        }
        let units = u32::from_le_bytes(backward_size.try_into().expect("four bytes"));
        if (u64::from(units) + 1) * UNIT as u64 != index_len {
            return Err(Fault::Size);
        }
        self.has_ended = true;
        Ok(Some(Part::Padding))
    }

    /// Passes padding (section 2.2) up to another stream. At the end of the file, any number of zeros is accepted.
    fn padding(&mut self, input: &mut &[u8]) -> Result<Option<Part>, Fault> {
        match self.held.first(input) {
            None => Ok(None),
            Some(0) => {
                let Some(padding) = self.held.take(input, UNIT) else {
                    return if self.held.is_zero() { Ok(None) } else { Err(Fault::Trailing) };
                };
                if padding.iter().any(|&byte| byte != 0) {
                    return Err(Fault::Trailing);
                }
                Ok(Some(Part::Padding))
            }
            Some(first) if first == MAGIC[0] => Ok(Some(Part::StreamHeader)),
            Some(_) => Err(Fault::Trailing),
        }
    }
}
