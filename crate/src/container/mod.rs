//! The registry of containers that a disk image may be packed in: gzip, tar and zip have a file or folder each, and those whose codec is a
//! module are in `codec_stream.rs`.

mod block_cache;
pub(crate) mod block_source;
pub mod blocks;
mod codec_stream;
mod decoder_buffers;
mod divided_stream;
mod gzip;
mod inflation;
pub mod part;
mod tar;
mod zip;

use crate::disk::reference::base_name;
use crate::error::Result;
use crate::format::Sample;
use crate::io::pieces::Pieces;
use crate::io::source::{Slice, Source, zeroed};
use crate::io::stream::{ByteStream, FileStream};
use crate::offsets::{ByteRange, HostOffset};
use blocks::BlocksOf;
pub(crate) use codec_stream::{EMPTY_FRAME, long_skippable};
use decant_module::{LARGEST_PART, Module};
use divided_stream::Divide;
pub(crate) use divided_stream::DividedStream;
use futures_util::future::LocalBoxFuture;
use std::rc::Rc;
use zip::LARGEST_AT_ANY_POSITION;
pub(crate) use zip::{StatedCrc, refusal_of_last_part};

/// Maximum nesting depth of containers.
pub(crate) const MAX_NESTED: usize = 4;

/// A container format.
pub struct Container {
    /// Its name, for programs.
    pub name: &'static str,
    /// Other names that people know it by.
    pub aliases: &'static [&'static str],
    /// The extensions of its files, with the dot, in lower case.
    pub extensions: &'static [&'static str],
    /// Its name for people, with an article.
    pub(crate) label: &'static str,
    /// Whether a file is such a container, by its first bytes.
    pub(crate) probe: fn(&Sample<'_>) -> bool,
    pub(crate) content: Content,
}

/// How the content of a container is read.
pub(crate) enum Content {
    /// Files, stored in the container unchanged or packed.
    Members {
        list: List,
        /// Streams the files one after the other (see [`ByteStream::next_file`]), if that is possible.
        in_order: Option<Decode>,
    },
    /// One compressed file.
    Compressed(Compression),
}

/// How a compressed file is decoded.
pub(crate) struct Compression {
    pub(crate) decode: Decode,
    /// The module that [`Self::decode`] needs.
    pub(crate) module: Option<&'static Module>,
    /// Divides a file into parts that [`Self::decode`] decodes independently, if files of its kind have such parts.
    pub(crate) divide: Option<Divide>,
    /// How its blocks are found, which are read at any position.
    pub(crate) blocks: BlocksOf,
}

/// The usual [`BlocksOf::largest_whole`].
const LARGEST_WHOLE: u64 = LARGEST_PART;

/// Lists the files in a container. The second argument allows the container to end inside its last member (salvage).
/// Fails with `corrupt`, `unsupported`, `limit` or `source`, or with `internal` if memory runs out.
pub(crate) type List = fn(Rc<dyn Source>, bool) -> LocalBoxFuture<'static, Result<Contents>>;

/// Decodes a stream from another one, when the module is ready. Fails with `internal` if memory runs out; errors of the container are returned
/// when the decoded stream is read. The decoded stream reads the container to its end before it ends.
pub(crate) type Decode = fn(Box<dyn ByteStream>) -> Result<Box<dyn ByteStream>>;

/// Decodes the packed bytes of a member, as [`Decode`] does those of a container.
pub(crate) type Unpack = dyn Fn(Box<dyn ByteStream>) -> Result<Box<dyn ByteStream>>;

pub(crate) struct Contents {
    /// Its files, in archive order, then links to them.
    pub(crate) members: Vec<Member>,
    /// Whether the container has an end mark. Without one, it may have been truncated after a member.
    pub(crate) is_ended: bool,
}

/// A file in a container.
#[derive(Clone)]
pub(crate) struct Member {
    /// Its name as recorded in the container, shortened if it is very long.
    pub(crate) name: String,
    /// Its bytes. In a salvage, the last ones may be missing. If the file is packed and large, reading them fails.
    pub(crate) source: Rc<dyn Source>,
    /// The number of bytes missing from the size that the container states. Non-zero only in a salvage.
    pub(crate) missing: u64,
    /// `None` if its bytes are stored in the container unchanged.
    pub(crate) packed: Option<PackedMember>,
    /// The checksum that the container states for stored bytes.
    pub(crate) stated_crc: Option<StatedCrc>,
    /// Whether it is another name of a file, which has the same source.
    pub(crate) is_link: bool,
}

/// How a member is packed.
#[derive(Clone)]
pub(crate) struct PackedMember {
    /// The packed bytes.
    pub(crate) source: Rc<dyn Source>,
    pub(crate) decode: Rc<Unpack>,
}

/// The code for data that needs random access, but can only be read in order.
pub(crate) const NOT_IN_ORDER: &str = "not-in-order";

/// Maximum length of the packed bytes, beyond the length of the start, from which the start of a member is read, in bytes.
const HEAD_DATA: u64 = 256 << 10;

impl PackedMember {
    fn decoded(&self, packed: Rc<dyn Source>) -> Result<Box<dyn ByteStream>> {
        (self.decode)(Box::new(FileStream::new(packed)))
    }

    /// Returns the first `len` bytes of the member, or all of it if it is shorter. Decodes at most `len` and [`HEAD_DATA`] bytes. Fails as
    /// the decoder does.
    pub(crate) async fn head(&self, len: u64) -> Result<Vec<u8>> {
        let range = ByteRange { start: HostOffset(0), len: self.source.size().min(len + HEAD_DATA) };
        let mut head = zeroed(len as usize)?;
        let found = self.decoded(Rc::new(Slice::new(self.source.clone(), range)))?.read(&mut head).await?;
        head.truncate(found);
        Ok(head)
    }
}

impl Member {
    /// The file `source` in no container, with the last component of its `path` as its name.
    pub(crate) fn loose(path: &str, source: Rc<dyn Source>) -> Self {
        Self::stored(base_name(path).to_owned(), source)
    }

    /// The file `name`, whose bytes are those of `source`.
    fn stored(name: String, source: Rc<dyn Source>) -> Self {
        Self { name, source, missing: 0, packed: None, stated_crc: None, is_link: false }
    }

    /// The file `name`, whose pieces are the files `pieces`; the last one lacks `missing` bytes. If the first one is packed and large, only
    /// its start can be read.
    pub(crate) fn joined(name: &str, pieces: &[&Self], missing: u64) -> Self {
        let packed = pieces.first().filter(|first| first.is_read_in_order()).and_then(|first| first.packed.clone());
        let sources = pieces.iter().map(|piece| piece.source.clone()).collect();
        Self { missing, packed, ..Self::stored(name.to_owned(), Rc::new(Pieces::joined(sources))) }
    }

    /// Whether its bytes can be read only in order.
    pub(crate) fn is_read_in_order(&self) -> bool {
        self.packed.is_some() && self.source.size() > LARGEST_AT_ANY_POSITION
    }

    /// Whether it may have bytes. The size of a packed one may be modulo 2^32.
    pub(crate) fn may_have_bytes(&self) -> bool {
        self.packed.is_some() || self.source.size() > 0
    }

    /// The file with its bytes, in the container: they may be packed.
    pub(crate) fn stored_bytes(&self) -> &Rc<dyn Source> {
        self.packed.as_ref().map_or(&self.source, |packed| &packed.source)
    }

    /// Its bytes in order. Fails with `internal` if memory runs out.
    pub(crate) fn stream(&self) -> Result<Box<dyn ByteStream>> {
        match &self.packed {
            Some(packed) => packed.decoded(packed.source.clone()),
            None => Ok(Box::new(FileStream::new(self.source.clone()))),
        }
    }
}

/// The start of the name of a member, which may be very long.
fn kept_name(name: &str) -> String {
    const KEPT: usize = 1000;
    name.chars().take(KEPT).collect()
}

impl Container {
    /// Whether it may contain several files.
    pub fn is_archive(&self) -> bool {
        matches!(self.content, Content::Members { .. })
    }

    /// Whether it can be decoded in order, as a stream.
    pub fn is_read_in_order(&self) -> bool {
        !matches!(self.content, Content::Members { in_order: None, .. })
    }

    /// How it is decoded, if it is a compressed file.
    pub(crate) fn compression(&self) -> Option<&Compression> {
        match &self.content {
            Content::Members { .. } => None,
            Content::Compressed(compression) => Some(compression),
        }
    }
}

/// Returns the name of a container as messages have it: "a gzip file", "an xz file".
pub(crate) fn file_of(name: &str) -> String {
    let label = CONTAINERS.iter().find(|container| container.name == name).map_or("a", |container| container.label);
    let (article, _) = label.split_once(' ').unwrap_or(("a", ""));
    format!("{article} {name} file")
}

/// The names of all containers for people, archives first.
pub fn names() -> Vec<&'static str> {
    let (archives, others): (Vec<_>, Vec<_>) = CONTAINERS.iter().partition(|container| container.is_archive());
    let all = archives.into_iter().chain(others);
    all.flat_map(|container| std::iter::once(container.name).chain(container.aliases.iter().copied())).collect()
}

/// All containers, in probe order.
pub const CONTAINERS: &[Container] = &[
    gzip::CONTAINER,
    codec_stream::XZ,
    codec_stream::ZSTD,
    codec_stream::BZIP2,
    codec_stream::LZ4,
    tar::CONTAINER,
    zip::CONTAINER,
];
