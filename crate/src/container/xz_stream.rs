//! xz (the .xz file format).

use super::blocks::BlocksOf;
use super::codec_stream::{Codec, CodecStream};
use super::{Compression, Container, Content, LARGEST_WHOLE};
use decant_xz::{MAGIC, MODULE, XzDecoder, XzDivider};

const CODEC: &Codec = &Codec { name: "xz", damaged: "xz-damaged" };

pub(super) const CONTAINER: Container = Container {
    name: CODEC.name,
    aliases: &[],
    extensions: &[".xz"],
    label: "an xz-compressed file",
    probe: |sample| sample.head.starts_with(&MAGIC),
    content: Content::Compressed(Compression {
        module: Some(&MODULE),
        decode: |stream| CodecStream::decode(CODEC, stream, XzDecoder::new().ok()),
        divide: Some(|| Some(Box::new(XzDivider::new().ok()?))),
        blocks: BlocksOf { search: decant_xz::search, largest_whole: LARGEST_WHOLE, has_size_at_end: false },
    }),
};
