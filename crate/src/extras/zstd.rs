//! zstd (RFC 8878), one cluster at a time, by ruzstd.

use crate::decode::DecompressError;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use ruzstd::io_nostd::Read;

const MAGIC: u32 = 0xfd2f_b528;
const SKIPPABLE: std::ops::RangeInclusive<u32> = 0x184d_2a50..=0x184d_2a5f;
/// Where in a frame its descriptor stands, and behind it the window's.
const DESCRIPTOR: usize = 4;
const WINDOW: usize = 5;
/// The window descriptor of 2^27 bytes: more is refused, as QEMU's zstd does.
const LARGEST_WINDOW: u8 = (27 - 10) << 3;
/// The window descriptor of 2 MiB, the largest cluster: no match reaches further back.
const CLUSTER_WINDOW: u8 = (21 - 10) << 3;

/// A decoder, reused from cluster to cluster.
pub struct Unzstd(FrameDecoder);

impl Default for Unzstd {
    fn default() -> Self {
        Self(FrameDecoder::new())
    }
}

impl Unzstd {
    /// Decompresses frames from the start of `input` until `output` is full. What follows in
    /// `input` is ignored, since the length of compressed data is only known in sectors; but the
    /// last frame must end there, and its checksum and its declared size must be right.
    pub fn decompress(&mut self, mut input: &[u8], mut output: &mut [u8]) -> Result<(), DecompressError> {
        while !output.is_empty() {
            let magic = u32::from_le_bytes(*input.first_chunk().ok_or(DecompressError::InputEnds)?);
            if SKIPPABLE.contains(&magic) {
                let len = *input[4..].first_chunk().ok_or(DecompressError::InputEnds)?;
                let frame = 8 + u64::from(u32::from_le_bytes(len));
                if frame > input.len() as u64 {
                    return Err(DecompressError::InputEnds);
                }
                input = &input[frame as usize..];
            } else if magic == MAGIC {
                let (used, written) = self.frame(input, output)?;
                input = &input[used..];
                output = &mut output[written..];
            } else {
                return Err(DecompressError::Invalid);
            }
        }
        Ok(())
    }

    /// Decompresses one frame; answers with its length and that of its content.
    fn frame(&mut self, input: &[u8], output: &mut [u8]) -> Result<(usize, usize), DecompressError> {
        let mut rest = self.begin(input, output.len())?;
        let mut written = 0;
        loop {
            let result = self.0.decode_blocks(&mut rest, BlockDecodingStrategy::UptoBlocks(1));
            let finished = result.map_err(|_| cut_or_invalid(rest))?;
            written += self.collect(&mut output[written..])?;
            if self.0.can_collect() > 0 {
                // More than the cluster has room for.
                return Err(DecompressError::Invalid);
            }
            if finished {
                break;
            }
        }
        let declared = has_content_size(input[DESCRIPTOR]).then(|| self.0.content_size());
        if declared.is_some_and(|size| size != written as u64)
            || self.0.get_checksum_from_data().is_some_and(|sum| Some(sum) != self.0.get_calculated_checksum())
        {
            return Err(DecompressError::Invalid);
        }
        Ok((input.len() - rest.len(), written))
    }

    /// Moves what is decoded and no longer needed for matches to `output`, as much as has room.
    fn collect(&mut self, output: &mut [u8]) -> Result<usize, DecompressError> {
        let mut written = 0;
        while self.0.can_collect() > 0 && written < output.len() {
            let read = self.0.read(&mut output[written..]);
            written += read.map_err(|_| DecompressError::Invalid)?;
        }
        Ok(written)
    }

    /// Reads the frame's header; answers with what follows it. A window larger than any cluster is
    /// made smaller, since the decoder allocates it.
    fn begin<'a>(&mut self, input: &'a [u8], room: usize) -> Result<&'a [u8], DecompressError> {
        /// The longest header of a frame.
        const HEADER: usize = 18;
        let descriptor = *input.get(DESCRIPTOR).ok_or(DecompressError::InputEnds)?;
        let mut head = [0; HEADER];
        let len = input.len().min(HEADER);
        head[..len].copy_from_slice(&input[..len]);
        if !is_single_segment(descriptor) {
            if head[WINDOW] > LARGEST_WINDOW {
                return Err(DecompressError::Invalid);
            }
            head[WINDOW] = head[WINDOW].min(CLUSTER_WINDOW);
        } else if single_segment_size(descriptor, &head) > room as u64 {
            return Err(DecompressError::Invalid);
        }
        let mut from = &head[..len];
        self.0.reset(&mut from).map_err(|_| cut_or_invalid(from))?;
        Ok(&input[len - from.len()..])
    }
}

/// What a failure means: the decoder takes the bytes of a block before it looks at them.
fn cut_or_invalid(rest: &[u8]) -> DecompressError {
    if rest.is_empty() { DecompressError::InputEnds } else { DecompressError::Invalid }
}

fn is_single_segment(descriptor: u8) -> bool {
    descriptor & 0x20 != 0
}

fn has_content_size(descriptor: u8) -> bool {
    descriptor >> 6 != 0 || is_single_segment(descriptor)
}

/// The content size of a frame without a window descriptor; `head` is its padded header.
fn single_segment_size(descriptor: u8, head: &[u8; 18]) -> u64 {
    let at = DESCRIPTOR + 1 + [0, 1, 2, 4][usize::from(descriptor & 3)];
    let field = |len: usize| (0..len).fold(0, |size, byte| size | u64::from(head[at + byte]) << (8 * byte));
    match descriptor >> 6 {
        0 => field(1),
        1 => field(2) + 256,
        2 => field(4),
        _ => field(8),
    }
}
