//! Unwraps the containers of a file.

use crate::container::{self, Container, List, MAX_NESTED, Member};
use crate::disk::info::ContainerInfo;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{self, Format, Sample, raw};
use crate::io::source::Source;
use crate::open::members::{self, Found};
use std::rc::Rc;

/// The content of a file, after all containers that allow random access.
pub struct Unpacked {
    /// The content's bytes: the file, or a member of a container.
    pub source: Rc<dyn Source>,
    /// The containers around it, outermost first.
    pub containers: Vec<ContainerInfo>,
    /// See [`container::Member::missing`].
    pub missing: u64,
    /// See [`container::Contents::is_ended`], of the innermost container; true without a container.
    pub is_ended: bool,
    /// The other files of the innermost container; split files are joined.
    pub beside: Vec<Member>,
    /// All files of the innermost container.
    pub members: Rc<[Member]>,
    /// The kind of content.
    pub content: Content,
}

/// A kind of content.
pub enum Content {
    /// An image in a format that its content or its member name identifies.
    Image(&'static Format),
    /// Content that no format recognises, with its first bytes.
    Unknown(Vec<u8>),
    /// A container that is decoded in order.
    InOrder(&'static Container),
}

/// Unwraps the containers of `source`. With `salvage`, the file may end inside its last member. Fails with `source`,
/// with `limit` if containers are nested too deeply, and as [`container::List`] and [`members::image_in`] do.
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

/// Finds the image in `source`, a `container`.
async fn image_in(container: &str, list: List, source: Rc<dyn Source>, salvage: bool) -> Result<Found> {
    let size = source.size();
    members::image_in(container, list(source, salvage).await?, size).await
}

/// Finds the container that matches `sample`. Supported image formats, and formats that are refused by name, always
/// win.
pub fn container_of(sample: &Sample) -> Option<&'static Container> {
    let is_known = format::recognise(sample).is_some_and(|format| format.is_supported() || format.is_no_image());
    if is_known { None } else { container::probe(sample) }
}

/// Whether the name of the innermost member states a raw disk.
pub fn is_raw_disk(containers: &[ContainerInfo]) -> bool {
    containers.last().is_some_and(ContainerInfo::has_raw_disk)
}

/// Fails with `limit` if no further container may be opened.
pub fn ensure_room(containers: &[ContainerInfo]) -> Result<()> {
    if containers.len() == MAX_NESTED {
        let message = format!("The image is packed in more than {MAX_NESTED} containers; unpack it first");
        return Err(Error::new(ErrorKind::Limit, message));
    }
    Ok(())
}

/// Names the place in `containers` where `error` occurred, if any.
pub fn within(error: Error, containers: &[ContainerInfo]) -> Error {
    match containers.last() {
        Some(container) => error.inside(&container.content()),
        None => error,
    }
}
