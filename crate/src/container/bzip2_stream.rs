//! bzip2.

use super::Container;
use super::blocks::BlocksOf;
use super::codec_stream::{Codec, CodecStream};
use crate::format::Sample;
use decant_bzip2::{Bzip2Decoder, Bzip2Divider, MODULE};

const CODEC: &Codec = &Codec { name: "bzip2", damaged: "bzip2-damaged" };

/// The signature, which the size of the blocks follows, and what comes then: a block, or the end of a stream without one.
const MAGIC: &[u8] = b"BZh";
const BLOCK: &[u8] = &[0x31, 0x41, 0x59, 0x26, 0x53, 0x59];
const END: &[u8] = &[0x17, 0x72, 0x45, 0x38, 0x50, 0x90];

/// Decoding is slow.
const LARGEST_WHOLE: u64 = 16 << 20;

pub(super) const CONTAINER: Container = Container {
    name: CODEC.name,
    aliases: &[],
    extensions: &[".bz2"],
    label: "a bzip2-compressed file",
    probe: is_bzip2,
    list: None,
    module: Some(&MODULE),
    decode: Some(|stream| CodecStream::decode(CODEC, stream, Bzip2Decoder::new().ok())),
    divide: Some(|| Some(Box::new(Bzip2Divider::new().ok()?))),
    blocks: Some(BlocksOf { search: |_| None, largest_whole: LARGEST_WHOLE, has_size_at_end: false }),
};

fn is_bzip2(sample: &Sample<'_>) -> bool {
    let Some([b'1'..=b'9', part @ ..]) = sample.head.strip_prefix(MAGIC) else { return false };
    part.starts_with(BLOCK) || part.starts_with(END)
}
