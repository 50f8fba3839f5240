//! The registry of containers: what a disk image may be packed in. One file for each, which knows its own structures and
//! nothing else.

mod gzip;
mod tar;

use crate::error::Result;
use crate::format::Sample;
use crate::io::source::Source;
use crate::io::stream::ByteStream;
use futures_util::future::LocalBoxFuture;
use std::rc::Rc;

/// How many containers may be packed in one another.
pub const MAX_NESTED: usize = 4;

/// Something that a disk image may be packed in.
pub struct Container {
    /// Its name, for programs.
    pub name: &'static str,
    /// The name as people write it.
    pub label: &'static str,
    /// Whether a file is one, by its first bytes.
    pub probe: fn(&Sample) -> bool,
    /// Lists what is in a file, where it can be read at any position there.
    pub list: Option<List>,
    /// Decodes the image in order.
    pub decode: Decode,
}

/// Lists the files in a container. The second argument says whether it is salvaged: then the container may end inside its
/// last member. Fails with `corrupt`, `limit` or `source`.
pub type List = fn(Rc<dyn Source>, bool) -> LocalBoxFuture<'static, Result<Contents>>;

/// Decodes a stream from another one. Fails with `internal` if memory runs out; what is wrong with the container is told
/// when the stream is read. It reads the container to its end before it ends itself.
pub type Decode = fn(Box<dyn ByteStream>) -> Result<Box<dyn ByteStream>>;

/// What a container holds.
pub struct Contents {
    /// Its files, in its order.
    pub members: Vec<Member>,
    /// Whether the container says that they are all: one that does not may have been cut off behind a member.
    pub is_ended: bool,
}

/// A file in a container.
#[derive(Clone)]
pub struct Member {
    /// Its name, as the container has it; of a long one, the start.
    pub name: String,
    /// Its bytes, as far as the file has them.
    pub source: Rc<dyn Source>,
    /// How many bytes follow them by the size that the container states. Always 0 but in a salvage.
    pub missing: u64,
}

/// Every container, in the order in which they are probed.
pub const CONTAINERS: &[Container] = &[gzip::CONTAINER, tar::CONTAINER];

/// The container that a file which begins so is.
pub fn probe(sample: &Sample) -> Option<&'static Container> {
    CONTAINERS.iter().find(|container| (container.probe)(sample))
}
