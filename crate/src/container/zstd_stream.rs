//! zstd (RFC 8878).

use super::blocks::BlocksOf;
use super::codec_stream::{Codec, CodecStream};
use super::skippable::after_skippable;
use super::{Compression, Container, Content, LARGEST_WHOLE};
use crate::format::Sample;
use decant_zstd::{MAGIC, MODULE, ZstdDecoder, ZstdDivider};

const CODEC: &Codec = &Codec { name: "zstd", damaged: "zstd-damaged" };

pub(super) const CONTAINER: Container = Container {
    name: CODEC.name,
    aliases: &[],
    extensions: &[".zst", ".zstd"],
    label: "a zstd-compressed file",
    probe: is_zstd,
    content: Content::Compressed(Compression {
        module: Some(&MODULE),
        decode: |stream| CodecStream::decode(CODEC, stream, ZstdDecoder::new().ok()),
        divide: Some(|| Some(Box::new(ZstdDivider::new().ok()?))),
        blocks: BlocksOf { search: decant_zstd::search, largest_whole: LARGEST_WHOLE, has_size_at_end: false },
    }),
};

/// Whether the first frame that is not skippable is one of zstd.
fn is_zstd(sample: &Sample<'_>) -> bool {
    after_skippable(sample.head).starts_with(&MAGIC.to_le_bytes())
}
