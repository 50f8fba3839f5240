//! A raw disk, or a file to be unpacked, that is read in order from a compressed file or a caller's stream.

use crate::container::file_of;
use crate::container::part::PartDecoder;
use crate::disk::info::{Capacity, ContainerInfo, DiskList, Info, MemberInfo};
use crate::error::fields::Fields;
use crate::error::{Error, ErrorKind, Result};
use crate::format::RAW;
use crate::io::stream::ByteStream;
use crate::open::chain::{OpenOptions, has_no_snapshots};
use crate::open::identify::RawReason;
use crate::open::manifest::Manifest;
use crate::open::origin::Origin;
use crate::open::refusals::{must_be_unpacked, not_read_in_order};
use crate::open::safety;
use crate::open::split::split_file::{SplitFile, explained};
use std::rc::Rc;

/// The containers around a disk, and why it is read as a raw disk.
#[derive(Default)]
pub(super) struct InContainers {
    /// The containers, outermost first.
    pub(super) containers: Vec<ContainerInfo>,
    /// See [`StreamedImage::disks`].
    pub(super) list: DiskList,
    /// Why it is read as a raw disk.
    pub(super) reason: RawReason,
    /// See [`crate::open::descent::Descent::window`].
    pub(super) window: u64,
}

/// A raw disk that is read in order; its size may be known only at the end. Conversion is the only operation.
///
/// Or a file that must be unpacked first, because its format is read at any position, such as a qcow2 in gzip: its conversion to a raw
/// disk stores the bytes of the qcow2.
pub struct StreamedImage {
    origin: Origin,
    around: InContainers,
    /// The format of a file to be unpacked.
    packed: Option<&'static str>,
    manifest: Option<Rc<Manifest>>,
    unused_companions: Vec<String>,
    /// The file as a part of a split file, if it is named as one.
    split: Option<Rc<SplitFile>>,
}

impl StreamedImage {
    /// Creates an image from `origin`, found in containers beside `manifest`. Fails with `usage` if `options` request a snapshot, and with
    /// `unsupported` to salvage the content of a container: nothing after the damage can be decoded, and the size of the disk may be
    /// unknown.
    pub(super) fn new(
        origin: Origin,
        around: InContainers,
        manifest: Option<Manifest>,
        options: &OpenOptions,
    ) -> Result<Self> {
        if options.snapshot.is_some() {
            return Err(has_no_snapshots(RAW.name));
        }
        if let Some(container) = around.containers.last().filter(|_| options.salvage) {
            let message = format!(
                "A disk in {}, which is decoded in order, cannot be salvaged, since nothing after the damage can be read; \
                 unpack the readable part first",
                file_of(container.name)
            );
            return Err(not_read_in_order(message, Some(container.name)));
        }
        let unused = options.companions.iter().filter(|companion| !companion.is_image);
        let unused_companions = unused.map(|companion| companion.name.clone()).collect();
        Ok(Self { origin, around, packed: None, manifest: manifest.map(Rc::new), unused_companions, split: None })
    }

    /// Creates a file to be unpacked, in the format or container called `packed`.
    pub(super) fn to_unpack(packed: &'static str, origin: Origin, around: InContainers) -> Self {
        Self { origin, around, packed: Some(packed), manifest: None, unused_companions: Vec::new(), split: None }
    }

    /// Records the split file that the file is a part of.
    pub(super) fn set_split(&mut self, split: Rc<SplitFile>) {
        self.split = Some(split);
    }

    /// The companions that are parts of the file, by their indices.
    pub fn parts(&self) -> &[usize] {
        self.split.as_ref().map_or(&[], |split| &split.next)
    }

    /// Returns `error` as it is reported: it may be about other parts of a split file.
    pub(crate) fn explain(&self, error: Error) -> Error {
        explained(self.split.as_deref(), error)
    }

    /// Whether its bytes come from a caller's stream, so that they can be read only once.
    pub fn is_once(&self) -> bool {
        matches!(self.origin, Origin::Once(_))
    }

    /// Whether it is a file to be unpacked.
    pub fn is_packed(&self) -> bool {
        self.packed.is_some()
    }

    /// The manifest of the archive around the disk, if there is one.
    pub(crate) fn manifest(&self) -> Option<Rc<Manifest>> {
        self.manifest.clone()
    }

    /// Describes the image by what is known before it is read.
    pub fn info(&self) -> Info {
        let mut info = Info {
            format: self.packed.unwrap_or(RAW.name),
            containers: self.around.containers.clone(),
            machine: self.around.list.machine.clone(),
            hardware: self.around.list.hardware.clone(),
            snapshots: self.around.list.snapshots.clone(),
            file_size: self.origin.file_size(),
            unused_companions: self.unused_companions.clone(),
            ..Info::default()
        };
        info.safety = safety::notices(&info, 0);
        info.safety.extend(self.around.reason.notice(&self.around.containers));
        info.safety.extend(SplitFile::notice_in(&self.around.containers, RAW));
        info.safety.extend(self.around.list.raw_beside.as_deref().map(safety::raw_beside));
        info.safety.extend(safety::large_window(self.around.window));
        info
    }

    /// The disks in its archive: one if the archive is read in order. Empty without an archive.
    pub fn disks(&self) -> &[MemberInfo] {
        &self.around.list.disks
    }

    /// The capacity that a description of a machine states for it.
    pub(crate) fn capacity(&self) -> Option<Capacity> {
        self.around.list.capacity
    }

    /// Returns the size of the disk in bytes, if its container states it, without decoding it. It may have another size if the file is
    /// damaged. Fails as reading the file does.
    pub async fn stated_size(&self) -> Result<Option<u64>> {
        self.origin.stated_size().await.map_err(|error| self.explain(error))
    }

    /// Why it is read as a raw disk.
    pub(crate) fn reason(&self) -> RawReason {
        self.around.reason
    }

    /// The containers around it, outermost first.
    pub(crate) fn containers(&self) -> &[ContainerInfo] {
        &self.around.containers
    }

    /// Whether it is a caller's stream whose format is stated as raw, and whose bytes may show another format.
    pub(crate) fn is_stated_stream(&self) -> bool {
        // A file was identified when it was opened, and a member's name decides.
        matches!(self.around.reason, RawReason::Stated) && self.packed.is_none() && self.around.containers.is_empty()
    }

    /// Error for an operation that needs random access; `done` is its past participle ("mapped", for example).
    pub fn refusal(&self, done: &str) -> Error {
        let message = match self.around.containers.last() {
            Some(container) => format!("A disk in {} cannot be {done}; unpack it first", file_of(container.name)),
            None => format!("A disk that comes as a stream cannot be {done}; save it as a file first"),
        };
        not_read_in_order(message, self.around.containers.last().map(|container| container.name))
    }

    /// Returns the disk's bytes from the start, decoded by `parts` where that is given and possible. Fails with `usage` if they come
    /// from a caller's stream that was taken before.
    pub fn begin(&self, parts: Option<Rc<dyn PartDecoder>>) -> Result<Box<dyn ByteStream>> {
        self.origin.begin(parts)
    }
}

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

/// The error for `unpack` with a file that is in no container.
pub(super) fn nothing_to_unpack() -> Error {
    let message = "The file is in no container that can be unpacked; leave out unpack (--unpack)";
    Error::new(ErrorKind::Usage, message).coded("nothing-to-unpack")
}

/// Describes `container` in an error.
pub(super) fn fields_of(container: &ContainerInfo) -> Fields {
    let mut fields = Fields::default();
    fields.set("name", container.name.into());
    if let Some(member) = &container.member {
        fields.set("member", member.as_str().into());
    }
    fields
}
