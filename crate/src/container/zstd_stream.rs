//! zstd (RFC 8878).

use super::blocks::BlocksOf;
use super::codec_stream::{Codec, CodecStream};
use super::{Container, LARGEST_WHOLE};
use crate::format::Sample;
use crate::offsets::le32;
use decant_zstd::{MODULE, ZstdDecoder, ZstdDivider};

const CODEC: &Codec = &Codec { name: "zstd", damaged: "zstd-damaged" };

const MAGIC: u32 = 0xfd2f_b528;
/// Skippable frames (section 3.1.2). Programs that compress in parallel start files with one.
const SKIPPABLE: std::ops::RangeInclusive<u32> = 0x184d_2a50..=0x184d_2a5f;
/// Length of the header of a skippable frame, in bytes.
const SKIPPABLE_HEADER: usize = 8;

pub(super) const CONTAINER: Container = Container {
    name: CODEC.name,
    aliases: &[],
    extensions: &[".zst", ".zstd"],
    label: "a zstd-compressed file",
    probe: is_zstd,
    list: None,
    module: Some(&MODULE),
    decode: Some(|stream| CodecStream::decode(CODEC, stream, ZstdDecoder::new().ok())),
    divide: Some(|| Some(Box::new(ZstdDivider::new().ok()?))),
    blocks: Some(BlocksOf { search: decant_zstd::search, largest_whole: LARGEST_WHOLE, has_size_at_end: false }),
};

/// Whether the first frame that is not skippable is one of zstd: lz4 has skippable frames, too.
fn is_zstd(sample: &Sample<'_>) -> bool {
    let mut rest = sample.head;
    while rest.len() >= SKIPPABLE_HEADER && SKIPPABLE.contains(&le32(rest, 0)) {
        let content = &rest[SKIPPABLE_HEADER..];
        let Some(next) = content.get(le32(rest, 4) as usize..) else { return false };
        rest = next;
    }
    rest.starts_with(&MAGIC.to_le_bytes())
}
