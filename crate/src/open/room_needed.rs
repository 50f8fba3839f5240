//! A file that must be read at any position, but comes in order: it needs room to be unpacked to.

use crate::disk::info::ContainerInfo;
use crate::error::fields::Fields;
use crate::error::{Error, ErrorKind};
use crate::open::origin::Origin;
use crate::open::refusals::must_be_unpacked;
use crate::open::safety;
use crate::open::streamed_image::{InContainers, StreamedImage};

/// A file that needs room: it must be read at any position, but comes in order. The caller unpacks and opens it again.
pub struct RoomNeeded {
    /// The file to be unpacked.
    pub file: StreamedImage,
    /// The error for a caller without room. Its field `size` is the size of the unpacked file, if it is known.
    pub refusal: Error,
}

impl RoomNeeded {
    /// Describes a file of `size` bytes from `origin`, in the format or container `name`, whose name for people is `label`.
    pub(super) fn new(
        (name, label): (&'static str, &str),
        origin: Origin,
        around: InContainers,
        size: Option<u64>,
    ) -> Self {
        let containers = &around.containers;
        let outer = containers.last().map(|container| container.name);
        let mut refusal = Error::new(ErrorKind::Unsupported, must_be_unpacked(label, outer)).coded("needs-spool");
        refusal = refusal.field("format", name);
        if let Some(outer) = outer {
            let containers: Vec<_> = containers.iter().map(fields_of).collect();
            refusal = refusal.field("container", outer).field("containers", containers);
        }
        if let Some(machine) = &around.list.machine {
            refusal = refusal.field("machine", &**machine);
        }
        if safety::large_window(around.window).is_some() {
            refusal = refusal.field("window", around.window);
        }
        if let Some(size) = size {
            refusal = refusal.field("size", size);
        }
        Self { file: StreamedImage::to_unpack(name, origin, around), refusal }
    }
}

/// The error for a file in no container, if only the content of one was wanted.
pub(super) fn nothing_to_unpack() -> Error {
    let message = "The file is in no container that can be unpacked; leave out unpack (--unpack)";
    Error::new(ErrorKind::Usage, message).coded("nothing-to-unpack")
}

fn fields_of(container: &ContainerInfo) -> Fields {
    let mut fields = Fields::default();
    fields.set("name", container.name.into());
    if let Some(member) = &container.member {
        fields.set("member", member.as_str().into());
    }
    fields
}
