//! VDI versions 0 and 1.1, according to VirtualBox's `VDICore.h` and `VDI.cpp`.

mod blocks;
pub mod damage;
mod header;

use super::{Disk, Format, Reader, WalkSetup};
use crate::disk::extent::ExtentWalk;
use crate::disk::info::Info;
use crate::disk::reference::{Identity, Reference, Role};
use crate::error::Result;
use crate::io::source::{Source, read_exact};
use crate::offsets::{ByteRange, HostOffset};
use futures_util::FutureExt;
use header::Header;
use std::rc::Rc;

/// The registry entry.
pub(super) const FORMAT: Format = Format {
    name: "vdi",
    label: "VDI (VirtualBox disk)",
    of_qemu: true,
    probe: |sample| sample.head.get(header::SIGNATURE_AT..).is_some_and(|bytes| bytes.starts_with(&header::SIGNATURE)),
    hint: None,
    reader: Reader::Open(|source, _| open(source).boxed_local()),
};

async fn open(source: Rc<dyn Source>) -> Result<Rc<dyn Disk>> {
    let start = ByteRange { start: HostOffset(0), len: header::MAX_FIXED.min(source.size()) };
    let header = Header::parse(&read_exact(&*source, start, "header").await?, source.size())?;
    let references = header.parent.iter().map(parent).collect();
    Ok(Rc::new(Vdi { source, header, references }))
}

/// Creates the reference to the parent, which has no name and is found by its UUID.
fn parent(identity: &Identity) -> Reference {
    Reference { identity: Some(identity.clone()), ..Reference::new(Role::Parent, identity.id.clone(), None) }
}

struct Vdi {
    source: Rc<dyn Source>,
    header: Header,
    references: Vec<Reference>,
}

impl Disk for Vdi {
    fn format(&self) -> &'static str {
        FORMAT.name
    }

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
        Box::new(blocks::Walk::new(self, &setup))
    }
}
