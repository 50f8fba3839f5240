//! Compressed files that a codec decodes as a stream: xz, zstd, lz4 and bzip2.

use super::blocks::BlocksOf;
use super::decoder_buffers::{CompressedInput, OutputWindow};
use super::{Compression, Container, Content, LARGEST_WHOLE};
use crate::error::{Error, ErrorKind, Result};
use crate::format::Sample;
use crate::io::stream::{ByteStream, Ended};
use crate::offsets::{HostOffset, le32};
use decant_bzip2::{Bzip2Decoder, Bzip2Divider};
use decant_lz4::Lz4Decoder;
use decant_module::{
    CreateDecoder, Fault, SKIPPABLE_HEADER, SKIPPABLE_MAGIC, StreamDecoder, StreamFeature, StreamState,
};
use decant_xz::{XzDecoder, XzDivider};
use decant_zstd::{ZstdDecoder, ZstdDivider};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;

/// Maximum length of the input of a step, in bytes: it is copied to the module.
const INPUT: usize = 64 << 10;
/// Size of the buffer for the output of a step, in bytes.
const WINDOW: usize = 256 << 10;

/// A compression method.
pub(super) struct Codec {
    /// The name of the container.
    pub(super) name: &'static str,
    /// The code of errors about damage.
    pub(super) damaged: &'static str,
}

const XZ_CODEC: &Codec = &Codec { name: "xz", damaged: "xz-damaged" };

/// The .xz file format.
pub(super) const XZ: Container = Container {
    name: XZ_CODEC.name,
    aliases: &[],
    extensions: &[".xz"],
    label: "an xz-compressed file",
    probe: |sample| sample.head.starts_with(&decant_xz::MAGIC),
    content: Content::Compressed(Compression {
        module: Some(&decant_xz::MODULE),
        decode: |stream| CodecStream::decode(XZ_CODEC, stream, XzDecoder::create()),
        divide: Some(XzDivider::create),
        blocks: BlocksOf { search: decant_xz::search, largest_whole: LARGEST_WHOLE, has_size_at_end: false },
    }),
};

const ZSTD_CODEC: &Codec = &Codec { name: "zstd", damaged: "zstd-damaged" };

/// RFC 8878.
pub(super) const ZSTD: Container = Container {
    name: ZSTD_CODEC.name,
    aliases: &[],
    extensions: &[".zst", ".zstd"],
    label: "a zstd-compressed file",
    probe: |sample| begins_with_frame(sample, &[decant_zstd::MAGIC]),
    content: Content::Compressed(Compression {
        module: Some(&decant_zstd::MODULE),
        decode: |stream| CodecStream::decode(ZSTD_CODEC, stream, ZstdDecoder::create()),
        divide: Some(ZstdDivider::create),
        blocks: BlocksOf { search: decant_zstd::search, largest_whole: LARGEST_WHOLE, has_size_at_end: false },
    }),
};

const LZ4_CODEC: &Codec = &Codec { name: "lz4", damaged: "lz4-damaged" };

/// Frames (format 1.6), and those of `lz4 -l`. Its blocks are not read in place: the usual checksum is that of the whole content.
pub(super) const LZ4: Container = Container {
    name: LZ4_CODEC.name,
    aliases: &[],
    extensions: &[".lz4"],
    label: "an lz4-compressed file",
    probe: |sample| begins_with_frame(sample, &[decant_lz4::MAGIC, decant_lz4::LEGACY_MAGIC]),
    content: Content::Compressed(Compression {
        module: Some(&decant_lz4::MODULE),
        decode: |stream| CodecStream::decode(LZ4_CODEC, stream, Lz4Decoder::create()),
        divide: None,
        blocks: BlocksOf { search: |_| None, largest_whole: LARGEST_WHOLE, has_size_at_end: false },
    }),
};

const BZIP2_CODEC: &Codec = &Codec { name: "bzip2", damaged: "bzip2-damaged" };

/// Less than [`LARGEST_WHOLE`], since decoding bzip2 is slow.
const LARGEST_WHOLE_BZIP2: u64 = 16 << 20;

pub(super) const BZIP2: Container = Container {
    name: BZIP2_CODEC.name,
    aliases: &[],
    extensions: &[".bz2"],
    label: "a bzip2-compressed file",
    probe: is_bzip2,
    content: Content::Compressed(Compression {
        module: Some(&decant_bzip2::MODULE),
        decode: |stream| CodecStream::decode(BZIP2_CODEC, stream, Bzip2Decoder::create()),
        divide: Some(Bzip2Divider::create),
        blocks: BlocksOf { search: |_| None, largest_whole: LARGEST_WHOLE_BZIP2, has_size_at_end: false },
    }),
};

/// Whether a block, or the end of a stream without blocks, follows the start of a stream.
fn is_bzip2(sample: &Sample<'_>) -> bool {
    let Some([b'1'..=b'9', part @ ..]) = sample.head.strip_prefix(&decant_bzip2::MAGIC) else { return false };
    [decant_bzip2::BLOCK, decant_bzip2::END].iter().any(|signature| part.starts_with(&signature.to_be_bytes()[2..]))
}

/// A skippable frame without content.
pub(crate) const EMPTY_FRAME: [u8; SKIPPABLE_HEADER] = [0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0];

/// Whether the first frame of the file that is not skippable begins with one of `magics`. Programs that compress to zstd or lz4 in
/// parallel write skippable frames. Returns false if they are longer than the sample.
fn begins_with_frame(sample: &Sample<'_>, magics: &[u32]) -> bool {
    let end = usize::try_from(end_of_skippable(sample.head)).ok();
    let rest = end.and_then(|end| sample.head.get(end..)).unwrap_or_default();
    magics.iter().any(|magic| rest.starts_with(&magic.to_le_bytes()))
}

/// Returns the end of the skippable frames with which a file begins, if its first bytes, `head`, do not show what follows them.
pub(crate) fn long_skippable(head: &[u8]) -> Option<u64> {
    let end = end_of_skippable(head);
    (end > 0 && end + SKIPPABLE_HEADER as u64 > head.len() as u64).then_some(end)
}

/// The end of the skippable frames at the start of `head`, which may be after `head`.
fn end_of_skippable(head: &[u8]) -> u64 {
    let mut end = 0;
    while let Some(header) = head.get(end as usize..).and_then(|rest| rest.first_chunk::<SKIPPABLE_HEADER>())
        && SKIPPABLE_MAGIC.contains(&le32(header, 0))
    {
        end += SKIPPABLE_HEADER as u64 + u64::from(le32(header, 4));
        if end > head.len() as u64 {
            break;
        }
    }
    end
}

/// The data of a compressed stream.
struct CodecStream {
    codec: &'static Codec,
    input: CompressedInput,
    decoder: Box<dyn StreamDecoder>,
    window: OutputWindow,
    /// The largest window, or dictionary, of the compressed data so far, in bytes.
    largest: u64,
    has_ended: bool,
}

impl CodecStream {
    /// Decodes `stream` by `decoder`, which is `None` if memory ran out. Fails with `internal` if memory has run out.
    pub(super) fn decode(
        codec: &'static Codec,
        stream: Box<dyn ByteStream>,
        decoder: Option<Box<dyn StreamDecoder>>,
    ) -> Result<Box<dyn ByteStream>> {
        let decoder = decoder.ok_or_else(|| Error::out_of_memory(INPUT))?;
        let (input, window) = (CompressedInput::new(stream, 0)?, OutputWindow::new(WINDOW)?);
        Ok(Box::new(Self { codec, input, decoder, window, largest: 0, has_ended: false }))
    }

    async fn fill(&mut self, buf: &mut [u8]) -> Result<usize> {
        let mut done = 0;
        while done < buf.len() {
            let left = &mut buf[done..];
            if !self.window.is_empty() {
                done += self.window.take(left);
            } else if self.has_ended {
                break;
            } else if left.len() >= WINDOW {
                done += self.step(left).await?;
            } else {
                let mut bytes = std::mem::take(&mut self.window.bytes);
                let filled = self.step(&mut bytes).await?;
                self.window = OutputWindow { bytes, filled, given: 0 };
            }
        }
        Ok(done)
    }

    /// Decodes more data to `output`, or reads more input. Returns the number of bytes that were decoded.
    async fn step(&mut self, output: &mut [u8]) -> Result<usize> {
        let buffered = self.input.buffered();
        let input = &buffered[..buffered.len().min(INPUT)];
        let is_empty = input.is_empty();
        let step = self.decoder.decode(input, output);
        self.largest = self.largest.max(step.window);
        self.input.consume(step.consumed as usize)?;
        match step.state {
            StreamState::Failed(fault) => return Err(self.failure(fault)),
            _ if step.consumed > 0 || step.written > 0 => {}
            _ if !is_empty => return Err(self.failure(Fault::Invalid)),
            StreamState::Whole if self.input.has_ended() => self.has_ended = true,
            _ => self.input.read_more().await?,
        }
        Ok(step.written as usize)
    }

    fn failure(&self, fault: Fault) -> Error {
        let (name, position) = (self.codec.name, self.input.position());
        match fault {
            // Only dividers fail with `Indivisible`.
            Fault::Invalid | Fault::Indivisible => self.damaged("the compressed data is invalid", position),
            Fault::Checksum => self.damaged("the compressed data does not have the checksum that it states", position),
            Fault::Size => self.damaged("the compressed data does not have the size that it states", position),
            Fault::Trailing => self.damaged("other bytes follow the compressed data", position),
            Fault::Window(size) => {
                let message = format!(
                    "Decoding the {name} file takes {} MiB of memory for its window, which are not available here; unpack it first",
                    size.div_ceil(1 << 20)
                );
                Error::new(ErrorKind::Limit, message).coded("window-too-large").field("size", size)
            }
            Fault::Unsupported(feature, number) => unsupported(feature, number, name),
            Fault::OutOfMemory(size) => Error::out_of_memory(size as usize),
        }
    }

    fn damaged(&self, what: &str, place: HostOffset) -> Error {
        Error::corrupt(what, place).coded(self.codec.damaged)
    }
}

fn unsupported(feature: StreamFeature, number: u64, name: &str) -> Error {
    Error::unsupported(match feature {
        StreamFeature::Check => format!("check type {number} of {name}"),
        StreamFeature::Dictionary => format!("dictionary {number} of {name}"),
        StreamFeature::Filter => format!("filter {number} of {name}"),
        StreamFeature::Filters => format!("a chain of {number} filters of {name}"),
        StreamFeature::Flags => format!("reserved flags of {name}, {number:#x}"),
    })
}

impl ByteStream for CodecStream {
    fn read<'a>(&'a mut self, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<usize>> {
        self.fill(buf).boxed_local()
    }

    fn file_position(&self) -> u64 {
        self.input.file_position()
    }

    fn window(&self) -> u64 {
        self.largest
    }

    fn ended(&self) -> Ended {
        // The end of the data is known.
        Ended { trailer: self.input.ended().trailer, ..Ended::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Decodes `file` in pieces of `input` bytes to pieces of `output` bytes.
    fn decoded(decoder: &mut dyn StreamDecoder, file: &[u8], input: usize, output: usize) -> Vec<u8> {
        let (mut rest, mut all, mut piece) = (file, Vec::new(), vec![0; output]);
        loop {
            let step = decoder.decode(&rest[..rest.len().min(input)], &mut piece);
            rest = &rest[step.consumed as usize..];
            all.extend_from_slice(&piece[..step.written as usize]);
            assert!(!matches!(step.state, StreamState::Failed(_)), "{step:?} at {}", file.len() - rest.len());
            if step.consumed == 0 && step.written == 0 {
                assert!(rest.is_empty() && step.state == StreamState::Whole, "{step:?}, {} bytes left", rest.len());
                return all;
            }
        }
    }

    /// Cuts the input at any position: the data is always the same.
    #[test]
    fn pieces_of_any_size() {
        let data: Vec<u8> = (0..150_000u64).map(|at| (at * at / 999 + (at / 5000) * at) as u8).collect();
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("data"), &data).expect("a file");
        let twice = |command: &str| {
            let script = format!("{command} data && head -c 0 data | {command} && {command} data");
            let output = Command::new("sh").args(["-c", &script]).current_dir(folder.path()).output().expect("a shell");
            assert!(output.status.success(), "{command}");
            output.stdout
        };
        type Make = fn() -> Option<Box<dyn StreamDecoder>>;
        let (xz, zstd): (Make, Make) = (XzDecoder::create, ZstdDecoder::create);
        let (bzip2, lz4): (Make, Make) = (Bzip2Decoder::create, Lz4Decoder::create);
        let files: [(&str, Make); 13] = [
            ("xz -c", xz),
            ("xz -c0 --check=sha256 --block-size=20000", xz),
            ("xz -c --check=crc32 --lzma2=dict=4KiB", xz),
            ("xz -c --x86 --lzma2=dict=4KiB", xz),
            ("zstd -qc", zstd),
            ("zstd -qc --no-check --no-content-size", zstd),
            ("bzip2 -c1", bzip2),
            ("lz4 -qc", lz4),
            ("lz4 -qc9 -B4 -BD", lz4),
            ("lz4 -qc -B4 --no-frame-crc", lz4),
            ("lz4 -qc -B4 -BX -BD", lz4),
            ("lz4 -qc --content-size", lz4),
            ("lz4 -qcl", lz4),
        ];
        for (command, make) in files {
            let file = twice(command);
            for (input, output) in [(1, 1), (1, 1 << 20), (1 << 20, 1), (7, 13), (4093, 4091), (1 << 20, 1 << 20)] {
                let found = decoded(&mut *make().expect("memory"), &file, input, output);
                assert!(found == [&data[..], &data].concat(), "{command}: {input} and {output}");
            }
        }
    }
}
