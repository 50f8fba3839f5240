//! Follows the containers in a file down to what lies in them.

use crate::container::{self, Container, MAX_NESTED};
use crate::error::{Error, ErrorKind, Result};
use crate::format::{self, Format, Sample, raw};
use crate::full_build::FullBuild;
use crate::info::ContainerInfo;
use crate::source::Source;
use std::rc::Rc;

/// What lies in a file, behind all containers in which it can be read at any position.
pub struct Unpacked {
    /// Its bytes: the file, or a member of a container.
    pub source: Rc<dyn Source>,
    /// The containers that it was found in, the outermost first.
    pub containers: Vec<ContainerInfo>,
    /// See [`container::Member::missing`].
    pub missing: u64,
    /// What it is.
    pub content: Content,
}

/// What lies in a file.
pub enum Content {
    /// An image in a format, by its content or by the name of a member; `None` if it is not recognised.
    Image(Option<&'static Format>),
    /// A container that is decoded in order, by the full build.
    InOrder(FullBuild, &'static Container),
}

/// Follows the containers in `source`. In a `salvage` the file may end inside its last member. Fails with `source`, with
/// `limit` where too many containers lie in one another, and as [`container::Open`] does.
pub async fn unpack(mut source: Rc<dyn Source>, salvage: bool) -> Result<Unpacked> {
    let (mut containers, mut missing) = (Vec::new(), 0);
    let content = loop {
        if is_raw_disk(&containers) && source.size() + missing > 0 {
            break Content::Image(Some(format::by_name(raw::NAME)?));
        }
        let mut sample = format::head(&*source).await?;
        let Some(container) = container_of(&sample) else {
            break Content::Image(format::complete(&mut sample, &*source).await?);
        };
        let full_build = FullBuild::require(container.label)?;
        let Some(open) = container.open else { break Content::InOrder(full_build, container) };
        ensure_room(&containers)?;
        let member = open(source, salvage).await.map_err(|error| within(error, &containers))?;
        (source, missing) = (member.source, member.missing);
        containers.push(ContainerInfo { name: container.name, member: Some(member.name) });
    };
    Ok(Unpacked { source, containers, missing, content })
}

/// The container that begins so. What is recognised as a disk image that is read is none, whatever else it looks like.
pub fn container_of(sample: &Sample) -> Option<&'static Container> {
    let is_image = format::recognise(sample).is_some_and(|format| format.is_read());
    if is_image { None } else { container::probe(sample) }
}

/// Whether a name says that what was found in `containers` is a raw disk.
pub fn is_raw_disk(containers: &[ContainerInfo]) -> bool {
    containers.last().is_some_and(ContainerInfo::has_raw_disk)
}

/// Fails with `limit` where no more containers may be opened.
pub fn ensure_room(containers: &[ContainerInfo]) -> Result<()> {
    if containers.len() == MAX_NESTED {
        let message = format!("The image is packed in more than {MAX_NESTED} containers; unpack it first");
        return Err(Error::new(ErrorKind::Limit, message));
    }
    Ok(())
}

/// The same error of what was found in `containers`.
pub fn within(error: Error, containers: &[ContainerInfo]) -> Error {
    match containers.last() {
        Some(container) => error.inside(&container.content()),
        None => error,
    }
}
