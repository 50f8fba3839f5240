//! bzip2.

use super::blocks::BlocksOf;
use super::codec_stream::{Codec, CodecStream};
use super::{Compression, Container, Content};
use crate::format::Sample;
use decant_bzip2::{BLOCK, Bzip2Decoder, Bzip2Divider, END, MAGIC, MODULE};

const CODEC: &Codec = &Codec { name: "bzip2", damaged: "bzip2-damaged" };

/// Less than the usual limit, since decoding is slow.
const LARGEST_WHOLE: u64 = 16 << 20;

pub(super) const CONTAINER: Container = Container {
    name: CODEC.name,
    aliases: &[],
    extensions: &[".bz2"],
    label: "a bzip2-compressed file",
    probe: is_bzip2,
    content: Content::Compressed(Compression {
        module: Some(&MODULE),
        decode: |stream| CodecStream::decode(CODEC, stream, Bzip2Decoder::new().ok()),
        divide: Some(|| Some(Box::new(Bzip2Divider::new().ok()?))),
        blocks: BlocksOf { search: |_| None, largest_whole: LARGEST_WHOLE, has_size_at_end: false },
    }),
};

/// Whether a block, or the end of a stream without blocks, follows the start of a stream.
fn is_bzip2(sample: &Sample<'_>) -> bool {
    let Some([b'1'..=b'9', part @ ..]) = sample.head.strip_prefix(&MAGIC) else { return false };
    [BLOCK, END].iter().any(|signature| part.starts_with(&signature.to_be_bytes()[2..]))
}
