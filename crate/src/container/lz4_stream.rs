//! lz4: frames (format 1.6), and those of `lz4 -l`.

use super::blocks::BlocksOf;
use super::codec_stream::{Codec, CodecStream};
use super::skippable::after_skippable;
use super::{Compression, Container, Content, LARGEST_WHOLE};
use crate::format::Sample;
use decant_lz4::{LEGACY_MAGIC, Lz4Decoder, MAGIC, MODULE};

const CODEC: &Codec = &Codec { name: "lz4", damaged: "lz4-damaged" };

/// Its blocks are not read in place: the usual checksum is that of the whole content.
pub(super) const CONTAINER: Container = Container {
    name: CODEC.name,
    aliases: &[],
    extensions: &[".lz4"],
    label: "an lz4-compressed file",
    probe: is_lz4,
    content: Content::Compressed(Compression {
        module: Some(&MODULE),
        decode: |stream| CodecStream::decode(CODEC, stream, Lz4Decoder::new().ok()),
        divide: None,
        blocks: BlocksOf { search: |_| None, largest_whole: LARGEST_WHOLE, has_size_at_end: false },
    }),
};

/// Whether the first frame that is not skippable is one of lz4.
fn is_lz4(sample: &Sample<'_>) -> bool {
    let frame = after_skippable(sample.head);
    [MAGIC, LEGACY_MAGIC].iter().any(|magic| frame.starts_with(&magic.to_le_bytes()))
}
