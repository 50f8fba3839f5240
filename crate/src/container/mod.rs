//! The registry of containers that a disk image may be packed in. Each has its own file.

mod block_cache;
pub(crate) mod block_source;
pub mod blocks;
mod bzip2_stream;
mod codec_stream;
mod compressed_input;
mod divided_input;
mod divided_stream;
mod gzip_blocks;
mod gzip_member;
mod gzip_stream;
mod inflation;
mod lz4_stream;
mod output_window;
pub mod part;
mod skippable;
mod tar;
mod xz_stream;
mod zip;
mod zstd_stream;

use crate::disk::reference::base_name;
use crate::error::Result;
use crate::format::Sample;
use crate::io::pieces::Pieces;
use crate::io::source::Source;
use crate::io::stream::{ByteStream, FileStream};
use blocks::BlocksOf;
use decant_module::{LARGEST_PART, Module};
use divided_stream::Divide;
pub(crate) use divided_stream::DividedStream;
use futures_util::future::LocalBoxFuture;
use std::rc::Rc;
pub(crate) use zip::{Deflated, LARGEST_AT_ANY_POSITION, StatedCrc, refusal_of_last_part};

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
    /// Lists the files in a container with random access, if the container supports that.
    pub(crate) list: Option<List>,
    /// The module that [`Self::decode`] needs.
    pub(crate) module: Option<&'static Module>,
    /// Decodes a container in order, if the container supports that.
    pub(crate) decode: Option<Decode>,
    /// Divides a file into parts that [`Self::decode`] decodes independently, if files of its kind have such parts.
    pub(crate) divide: Option<Divide>,
    /// How its content can be read at any position, if the container has only one file, which is decoded.
    pub(crate) blocks: Option<BlocksOf>,
}

/// The usual [`BlocksOf::largest_whole`].
const LARGEST_WHOLE: u64 = LARGEST_PART;

/// Lists the files in a container. The second argument allows the container to end inside its last member (salvage).
/// Fails with `corrupt`, `unsupported`, `limit` or `source`, or with `internal` if memory runs out.
pub(crate) type List = fn(Rc<dyn Source>, bool) -> LocalBoxFuture<'static, Result<Contents>>;

/// Decodes a stream from another one, when the module is ready. Fails with `internal` if memory runs out; errors of the container are returned
/// when the decoded stream is read. The decoded stream reads the container to its end before it ends; of an archive, it has one file
/// after the other (see [`ByteStream::next_file`]).
pub(crate) type Decode = fn(Box<dyn ByteStream>) -> Result<Box<dyn ByteStream>>;

pub(crate) struct Contents {
    /// Its files, in archive order.
    pub(crate) members: Vec<Member>,
    /// Whether the container has an end mark. Without one, it may have been truncated after a member.
    pub(crate) is_ended: bool,
}

/// A file in a container.
#[derive(Clone)]
pub(crate) struct Member {
    /// Its name as recorded in the container, shortened if it is very long.
    pub(crate) name: String,
    /// Its bytes, as far as present. If it is deflated and large, reading them fails.
    pub(crate) source: Rc<dyn Source>,
    /// The number of bytes missing from the size that the container states. Non-zero only in a salvage.
    pub(crate) missing: u64,
    /// `None` if its bytes are stored in the container unchanged.
    pub(crate) deflated: Option<Deflated>,
    /// The checksum that the container states for stored bytes.
    pub(crate) stated_crc: Option<StatedCrc>,
}

impl Member {
    /// The file `source` in no container, with the last component of its `path` as its name.
    pub(crate) fn loose(path: &str, source: Rc<dyn Source>) -> Self {
        Self::stored(base_name(path).to_owned(), source)
    }

    /// The file `name`, whose bytes are those of `source`.
    fn stored(name: String, source: Rc<dyn Source>) -> Self {
        Self { name, source, missing: 0, deflated: None, stated_crc: None }
    }

    /// The file `name`, whose pieces are the files `pieces`; the last one lacks `missing` bytes.
    pub(crate) fn joined(name: &str, pieces: Vec<Rc<dyn Source>>, missing: u64) -> Self {
        Self { missing, ..Self::stored(name.to_owned(), Rc::new(Pieces::joined(pieces))) }
    }

    /// Whether its bytes can be read only in order.
    pub(crate) fn is_read_in_order(&self) -> bool {
        self.deflated.is_some() && self.source.size() > LARGEST_AT_ANY_POSITION
    }

    /// Its bytes in order. Fails with `internal` if memory runs out.
    pub(crate) fn stream(&self) -> Result<Box<dyn ByteStream>> {
        match &self.deflated {
            Some(deflated) => deflated.decode(Box::new(FileStream::new(deflated.source.clone()))),
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
        self.list.is_some()
    }

    /// Whether it can be decoded in order, as a stream.
    pub fn is_read_in_order(&self) -> bool {
        self.decode.is_some()
    }
}

/// The names of all containers for people, archives first.
pub fn names() -> Vec<&'static str> {
    let (archives, others): (Vec<_>, Vec<_>) = CONTAINERS.iter().partition(|container| container.is_archive());
    let all = archives.into_iter().chain(others);
    all.flat_map(|container| std::iter::once(container.name).chain(container.aliases.iter().copied())).collect()
}

/// All containers, in probe order.
pub const CONTAINERS: &[Container] = &[
    gzip_stream::CONTAINER,
    xz_stream::CONTAINER,
    zstd_stream::CONTAINER,
    bzip2_stream::CONTAINER,
    lz4_stream::CONTAINER,
    tar::CONTAINER,
    zip::CONTAINER,
];
