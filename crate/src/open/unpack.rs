//! Follows the containers in a file down to what lies in them.

use crate::container::{self, Container, List, MAX_NESTED, Member};
use crate::disk::info::ContainerInfo;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{self, Format, Sample, raw};
use crate::io::source::Source;
use crate::open::members::{self, Found};
use std::rc::Rc;

/// What lies in a file, behind all containers in which it can be read at any position.
pub struct Unpacked {
    /// Its bytes: the file, or a member of a container.
    pub source: Rc<dyn Source>,
    /// The containers that it was found in, the outermost first.
    pub containers: Vec<ContainerInfo>,
    /// See [`container::Member::missing`].
    pub missing: u64,
    /// See [`container::Contents::is_ended`]; of the innermost container, true without one.
    pub is_ended: bool,
    /// The other files of that container; those in pieces are joined.
    pub beside: Vec<Member>,
    /// All files of it.
    pub members: Rc<[Member]>,
    /// What it is.
    pub content: Content,
}

/// What lies in a file.
pub enum Content {
    /// An image in a format, by its content or by the name of a member.
    Image(&'static Format),
    /// What no format recognises, with its first bytes.
    Unknown(Vec<u8>),
    /// A container that is decoded in order.
    InOrder(&'static Container),
}

/// Follows the containers in `source`. In a `salvage` the file may end inside its last member. Fails with `source`, with
/// `limit` where too many containers lie in one another, and as [`container::List`] and
/// [`members::image_in`] do.
pub async fn unpack(mut source: Rc<dyn Source>, salvage: bool) -> Result<Unpacked> {
    let (mut containers, mut missing, mut is_ended) = (Vec::new(), 0, true);
    let (mut beside, mut members): (_, Rc<[Member]>) = (Vec::new(), Rc::default());
    let content = loop {
        if is_raw_disk(&containers) && source.size() + missing > 0 {
            break Content::Image(format::by_name(raw::NAME)?);
        }
        let mut sample = format::head(&*source).await?;
        let Some(container) = container_of(&sample) else {
            break match format::complete(&mut sample, &*source).await? {
                Some(format) => Content::Image(format),
                None => Content::Unknown(sample.head),
            };
        };
        let Some(list) = container.list else { break Content::InOrder(container) };
        ensure_room(&containers)?;
        let found = image_in(container.name, list, source, salvage).await;
        let found = found.map_err(|error| within(error, &containers))?;
        (source, missing, is_ended) = (found.image.source, found.image.missing, found.is_ended);
        (beside, members) = (found.beside, found.members);
        containers.push(ContainerInfo { name: container.name, member: Some(found.image.name) });
    };
    Ok(Unpacked { source, containers, missing, is_ended, beside, members, content })
}

/// The image in `source`, a `container`, and what lies beside it.
async fn image_in(container: &str, list: List, source: Rc<dyn Source>, salvage: bool) -> Result<Found> {
    let size = source.size();
    members::image_in(container, list(source, salvage).await?, size).await
}

/// The container that begins so. What is recognised as a disk image that is read is none, whatever else it looks like, and
/// neither is what is refused by its name.
pub fn container_of(sample: &Sample) -> Option<&'static Container> {
    let is_known = format::recognise(sample).is_some_and(|format| format.is_read() || format.is_no_image());
    if is_known { None } else { container::probe(sample) }
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
