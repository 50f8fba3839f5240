//! VDI versions 0 and 1.1, according to VirtualBox's `VDICore.h` and `VDI.cpp`.

pub(crate) mod structures;
mod vdi_blocks;
mod vdi_check;
mod vdi_header;

use super::{Disk, FileChecking, Format, FormatReader, WalkSetup};
use crate::disk::extent::ExtentWalk;
use crate::disk::file_check::CheckProgress;
use crate::disk::info::Info;
use crate::disk::reference::{Identity, Reference, Role};
use crate::error::Result;
use crate::error::damage::damages;
use crate::io::source::{Source, read_start};
use futures_util::FutureExt;
use std::rc::Rc;
use structures::{MAX_FIXED, SIGNATURE, SIGNATURE_AT};
use vdi_header::VdiHeader;

pub(crate) const FORMAT: Format = Format {
    name: "vdi",
    extensions: &[".vdi"],
    label: "VDI (VirtualBox disk)",
    probe: |sample| sample.head.get(SIGNATURE_AT..).is_some_and(|bytes| bytes.starts_with(&SIGNATURE)),
    reader: FormatReader::Open(|source, _| open(source).boxed_local()),
    ..Format::DEFAULT
};

damages! {
    /// The file ends before or inside the block map.
    MAP_TRUNCATED = "vdi-map-truncated", "the file ends before the end of the block map", lacks "an entry of the block map";
    /// The file ends before or inside a block.
    BLOCK_TRUNCATED = "vdi-block-truncated", "the file ends before the end of a block", lacks "a block", outside BLOCK_OUTSIDE;
    /// A block is beyond any size that the complete file can have.
    BLOCK_OUTSIDE = "vdi-block-outside", "a block is far beyond the end of the file";
}

async fn open(source: Rc<dyn Source>) -> Result<Rc<dyn Disk>> {
    let header = VdiHeader::parse(&read_start(&*source, MAX_FIXED).await?, source.size())?;
    let references = header.parent.iter().map(parent).collect();
    Ok(Rc::new(Vdi { source, header, references }))
}

/// Creates the reference to the parent, which has no name and is found by its UUID.
fn parent(identity: &Identity) -> Reference {
    Reference { identity: Some(identity.clone()), ..Reference::new(Role::Parent, identity.id.clone(), None) }
}

struct Vdi {
    source: Rc<dyn Source>,
    header: VdiHeader,
    references: Vec<Reference>,
}

impl Disk for Vdi {
    fn virtual_size(&self) -> u64 {
        self.header.virtual_size
    }

    fn info(&self) -> Info {
        Info { cluster_size: Some(self.header.block_size), version: Some(self.header.major_version), ..Info::default() }
    }

    fn references(&self) -> &[Reference] {
        &self.references
    }

    fn identities(&self) -> Vec<Identity> {
        self.header.identity.iter().cloned().collect()
    }

    fn walk(self: Rc<Self>, setup: WalkSetup) -> Box<dyn ExtentWalk> {
        Box::new(vdi_blocks::VdiWalk::new(self, &setup))
    }

    fn check(self: Rc<Self>, progress: CheckProgress) -> FileChecking {
        FileChecking::Own(vdi_check::check(self, progress).boxed_local())
    }
}
