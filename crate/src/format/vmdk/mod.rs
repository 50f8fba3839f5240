//! VMDK: a descriptor and its extents, as specified in VMware's "Virtual Disk Format 5.0".
//!
//! The descriptor is a text. It is either a separate file, or embedded in the file of the only extent, whose header has
//! its position. Only the descriptor records the positions of extents on the disk, and the parent.

mod descriptor;
mod entries;
mod extents;
mod grain_tables;
mod grains;
mod headers;
mod kdmv;
mod sparse_header;
mod stream_optimized;
pub(crate) mod structures;

use super::{Disk, Format, FormatReader, LayerOptions, NameHint, PartFile, WalkSetup};
use crate::compress::MOST_COMPRESSED;
use crate::disk::extent::ExtentWalk;
use crate::disk::info::{Details, Value};
use crate::disk::info::{Info, Notice};
use crate::disk::reference::{Identity, Reference, Role, Unidentified};
use crate::error::damage::{damages, ensure_possible};
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::{Source, read_exact, read_start};
use crate::offsets::{ByteRange, HostOffset, SECTOR, before_nul};
use descriptor::{Descriptor, MAX_SIZE_OF_TEXT, Uuid};
use extents::VmdkExtent;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use sparse_header::SparseHeader;
use std::rc::Rc;
use structures::{COWD_MAGIC, KDMV_MAGIC, KdmvHeader, SESPARSE_MAGIC};

const EXTENSIONS: &[&str] = &[".vmdk"];

pub(crate) const FORMAT: Format = Format {
    name: "vmdk",
    extensions: EXTENSIONS,
    label: "VMDK (VMware disk)",
    probe: |sample| {
        let head = sample.head;
        head.starts_with(&KDMV_MAGIC) || is_bare_extent(head) || descriptor::is_start(head)
    },
    hint: Some(NameHint {
        extensions: EXTENSIONS,
        code: "maybe-extent",
        text: "if it is an extent of a VMDK, open the descriptor that names it, and pass this file with it",
    }),
    is_descriptor: Some(descriptor::is_start),
    reader: FormatReader::Open(|source, options| open(source, options).boxed_local()),
    ..Format::DEFAULT
};

damages! {
    /// The file ends before or inside the grain directory.
    DIRECTORY_TRUNCATED = "vmdk-directory-truncated", "the file ends before the end of the grain directory", lacks "the grain directory", outside DIRECTORY_OUTSIDE;
    /// The grain directory is beyond any size that the complete file can have.
    DIRECTORY_OUTSIDE = "vmdk-directory-outside", "the grain directory is far beyond the end of the file";
    /// A grain directory entry is invalid (SESparse).
    DIRECTORY_ENTRY = "vmdk-directory-entry", "an entry of the grain directory is invalid";
    /// The footer is missing, and no marker describes the grain.
    FOOTER_LOST = "vmdk-footer-lost", "the footer, which has the position of the grain directory, is lost";
    /// The file ends before or inside a grain table.
    TABLE_TRUNCATED = "vmdk-table-truncated", "the file ends before the end of a grain table", lacks "a grain table", outside TABLE_OUTSIDE;
    /// A grain table is beyond any size that the complete file can have.
    TABLE_OUTSIDE = "vmdk-table-outside", "a grain table is far beyond the end of the file";
    /// A grain table entry is invalid (COWD, SESparse).
    TABLE_ENTRY = "vmdk-table-entry", "an entry of a grain table is invalid";
    /// The file ends before or inside a grain.
    GRAIN_TRUNCATED = "vmdk-grain-truncated", "the file ends before the end of a grain", lacks "a grain", outside GRAIN_OUTSIDE;
    /// A grain is beyond any size that the complete file can have.
    GRAIN_OUTSIDE = "vmdk-grain-outside", "a grain is far beyond the end of the file";
    /// The file of a flat extent is shorter than the descriptor states.
    EXTENT_TRUNCATED = "vmdk-extent-truncated", "the file of an extent ends before the extent does", lacks "the end of the extent", outside EXTENT_OUTSIDE;
    /// A flat extent is beyond any size that the complete file can have.
    EXTENT_OUTSIDE = "vmdk-extent-outside", "an extent is far beyond the end of its file";
    /// An extent's header states a smaller size than the descriptor.
    EXTENT_SHORT = "vmdk-extent-short", "an extent is shorter than the descriptor says";
    /// The descriptor states NOACCESS for an extent.
    NO_ACCESS = "vmdk-no-access", "the descriptor allows no access to an extent";
}

/// Whether `head` is the start of an extent of a kind that never contains a descriptor.
fn is_bare_extent(head: &[u8]) -> bool {
    head.starts_with(&COWD_MAGIC) || head.starts_with(&SESPARSE_MAGIC)
}

async fn open(source: Rc<dyn Source>, options: LayerOptions) -> Result<Rc<dyn Disk>> {
    let head = sparse_header::head(&*source).await?;
    if is_bare_extent(&head) {
        return Err(bare_extent());
    }
    let vmdk = if head.starts_with(&KDMV_MAGIC) {
        let (header, place) = KdmvHeader::open(&*source, options.salvage).await?;
        if header.descriptor_offset == 0 {
            return Err(bare_extent());
        }
        let sparse = if header.is_descriptor() { None } else { Some(header.sparse(place)?.check()?) };
        let (descriptor, range) = embedded_descriptor(&*source, &header, options.salvage).await?;
        match sparse {
            Some(sparse) => {
                Vmdk { descriptor_range: Some(range), ..Vmdk::embedded(source, descriptor, sparse, options)? }
            }
            None => Vmdk::described(source, descriptor, options)?,
        }
    } else {
        if source.size() > MAX_SIZE_OF_TEXT && !descriptor::is_start(&head) {
            return Err(no_vmdk());
        }
        let text = read_start(&*source, descriptor_len(source.size())?).await?;
        if !descriptor::is_start(&text) {
            return Err(no_vmdk());
        }
        let descriptor = Descriptor::parse_file(&text, options.salvage)?;
        Vmdk::described(source, descriptor, options)?
    };
    Ok(Rc::new(vmdk))
}

/// Reads the descriptor at the position in `header`. Returns it with the range of its text. Fails with `missing-file` if there is none.
async fn embedded_descriptor(
    source: &dyn Source,
    header: &KdmvHeader,
    salvage: bool,
) -> Result<(Descriptor, ByteRange)> {
    let field = HostOffset(KdmvHeader::descriptor_offset);
    let start = sparse_header::position(header.descriptor_offset, "the descriptor", field)?;
    let len = descriptor_len(header.descriptor_size.saturating_mul(SECTOR))?;
    ensure_possible("descriptor", start, header.capacity.saturating_mul(SECTOR), source.size())?;
    let text = read_exact(source, ByteRange { start, len }, "descriptor").await?;
    // Extents of a split disk reserve space for a descriptor but leave it empty.
    if !descriptor::is_start(&text) {
        return Err(bare_extent());
    }
    let range = ByteRange { start, len: before_nul(&text).len() as u64 };
    Ok((Descriptor::parse(&text, salvage)?, range))
}

fn no_vmdk() -> Error {
    Error::other_format("The file is not a VMDK image", "vmdk")
}

/// Returns `len` if it is a possible length of a descriptor. Fails with `limit` otherwise.
fn descriptor_len(len: u64) -> Result<u64> {
    if len > MAX_SIZE_OF_TEXT {
        let message = format!("The descriptor of the VMDK has more than {MAX_SIZE_OF_TEXT} bytes");
        return Err(Error::new(ErrorKind::Limit, message));
    }
    Ok(len)
}

/// Creates the `missing-file` error for an extent without its descriptor, which alone records the extent's position on
/// the disk and the parent.
fn bare_extent() -> Error {
    let message = "The file is an extent of a VMDK, which is not a disk without its descriptor; open the descriptor, \
                   a small .vmdk file that names it, and pass this file with it";
    Error::new(ErrorKind::MissingFile, message).coded("descriptor-missing")
}

struct Vmdk {
    /// The descriptor's file.
    source: Rc<dyn Source>,
    /// The descriptor. Its extents were moved to `extents`.
    descriptor: Descriptor,
    /// In guest order, without gaps.
    extents: Vec<VmdkExtent>,
    /// The files of the extents, each once, followed by the parent.
    references: Vec<Reference>,
    /// Notices that a user should read before converting the disk.
    notices: Vec<Notice>,
    /// The range of the text of the descriptor, if it is in the file of the extent.
    descriptor_range: Option<ByteRange>,
    salvage: bool,
}

impl Vmdk {
    /// Creates a disk with a single extent in the descriptor's file. Ignores the name and access that the descriptor
    /// states for the extent, since exports keep those of another machine. Fails with `corrupt` if the descriptor has
    /// several extents.
    fn embedded(
        source: Rc<dyn Source>,
        mut descriptor: Descriptor,
        sparse: SparseHeader,
        options: LayerOptions,
    ) -> Result<Self> {
        let lines = std::mem::take(&mut descriptor.extents);
        if lines.len() > 1 {
            let what = "its descriptor names several extents, but is in the file of one";
            return Err(Error::corrupt(what, HostOffset(KdmvHeader::descriptor_offset)));
        }
        let mut notices = descriptor.notices();
        let said = lines.first().map_or(sparse.capacity, |line| line.len);
        notices.extend((said != sparse.capacity).then(|| {
            let message = format!(
                "The descriptor states {said} bytes for the disk, and the header {}; the header's size is used",
                sparse.capacity
            );
            Notice::new("size-mismatch", message).field("descriptor", said).field("header", sparse.capacity)
        }));
        Ok(Self {
            source,
            references: parent(&descriptor).into_iter().collect(),
            descriptor,
            extents: vec![VmdkExtent::embedded(sparse)],
            notices,
            descriptor_range: None,
            salvage: options.salvage,
        })
    }

    /// Creates a disk with extents in other files. Fails with `unsupported` if it is a device, and with `corrupt` if it
    /// has no extents.
    fn described(source: Rc<dyn Source>, mut descriptor: Descriptor, options: LayerOptions) -> Result<Self> {
        if let Some(name) = descriptor.create_type.as_deref().filter(|name| is_device(name)) {
            return Err(descriptor::device(name).error());
        }
        let (extents, mut references) = extents::read(&mut descriptor);
        if extents.is_empty() {
            return Err(Error::corrupt("its descriptor names no extent", HostOffset(0)));
        }
        references.extend(parent(&descriptor));
        let notices = descriptor.notices();
        let salvage = options.salvage;
        Ok(Self { source, descriptor, extents, references, notices, descriptor_range: None, salvage })
    }

    /// The headers of the sparse extents whose headers were read.
    fn sparse_extents(&self) -> impl Iterator<Item = &SparseHeader> {
        self.extents.iter().filter_map(VmdkExtent::sparse)
    }

    fn is_compressed(&self) -> bool {
        self.sparse_extents().any(|sparse| sparse.compressed.is_some())
    }

    /// Returns what `qemu-img info` prints under `format-specific`.
    fn details(&self) -> Details {
        let extents = self.extents.iter().map(|extent| Value::Map(extent.details())).collect();
        let Descriptor { cid, parent_cid, create_type, .. } = &self.descriptor;
        let mut details = Vec::new();
        details.extend(cid.map(|cid| ("cid", cid.into())));
        details.extend(parent_cid.map(|cid| ("parent-cid", cid.into())));
        details.extend(create_type.as_ref().map(|name| ("create-type", name[..].into())));
        details.push(("extents", Value::List(extents)));
        Details(details)
    }
}

/// Whether disks with this `createType` are devices.
fn is_device(create_type: &str) -> bool {
    let create_type = create_type.to_ascii_lowercase();
    ["fulldevice", "partitioneddevice"].contains(&&*create_type)
        || ["vmfsraw", "vmfsrdm", "vmfspassthrough"].iter().any(|start| create_type.starts_with(start))
}

/// Creates the reference to the parent, if any. VMware identifies the parent by content ID, VirtualBox by UUIDs, which
/// may be those of a disk in another format. A path without either also refers to a parent.
fn parent(descriptor: &Descriptor) -> Option<Reference> {
    let hint = descriptor.parent_hint.clone().filter(|hint| !hint.is_empty());
    let own_format = Some(FORMAT.name.to_owned());
    let (identity, unnamed, format) = if let Some(cid) = descriptor.parent().map(content_id) {
        let unnamed = format!("CID {cid}");
        (Some(Identity::of_disk(cid)), unnamed, own_format)
    } else if let Some(identity) = identity(&descriptor.parent_uuid) {
        let unnamed = identity.id.clone();
        (Some(identity), unnamed, None)
    } else {
        (None, hint.clone()?, own_format)
    };
    let unidentified = Unidentified::Noticed;
    Some(Reference { identity, unidentified, ..Reference::new(Role::Parent, hint.unwrap_or(unnamed), format) })
}

fn identity(uuid: &Uuid) -> Option<Identity> {
    Some(Identity { state: uuid.state.clone(), ..Identity::of_disk(uuid.disk.clone()?) })
}

/// Formats a content ID as in descriptors.
fn content_id(cid: u32) -> String {
    format!("{cid:08x}")
}

impl Disk for Vmdk {
    fn virtual_size(&self) -> u64 {
        self.extents.last().map_or(0, |last| last.end().0)
    }

    fn info(&self) -> Info {
        let mut sparse = self.sparse_extents();
        let first = sparse.next();
        Info {
            cluster_size: first.map(|first| first.grain),
            version: first.map(|first| first.version).or(self.descriptor.version),
            compression: self.is_compressed().then_some("zlib"),
            features: self
                .sparse_extents()
                .find(|sparse| sparse.is_dirty)
                .map(|_| "dirty".to_owned())
                .into_iter()
                .collect(),
            specific: self.details(),
            safety: self.notices.clone(),
            ..Info::default()
        }
    }

    fn largest_unit(&self) -> u64 {
        let compressed = self.sparse_extents().filter(|sparse| sparse.compressed.is_some());
        compressed.map(|sparse| MOST_COMPRESSED * sparse.grain).max().unwrap_or(0)
    }

    fn references(&self) -> &[Reference] {
        &self.references
    }

    fn identities(&self) -> Vec<Identity> {
        let by_content = self.descriptor.cid.map(|cid| Identity::of_disk(content_id(cid)));
        by_content.into_iter().chain(identity(&self.descriptor.uuid)).collect()
    }

    fn attach<'a>(&'a self, files: &'a [Option<PartFile>]) -> LocalBoxFuture<'a, Result<()>> {
        extents::attach(&self.extents, files, self.salvage).boxed_local()
    }

    fn walk(self: Rc<Self>, setup: WalkSetup) -> Box<dyn ExtentWalk> {
        Box::new(grains::VmdkWalk::new(self, setup))
    }
}
