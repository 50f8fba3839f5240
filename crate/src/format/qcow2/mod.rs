//! qcow2, versions 2 and 3, after QEMU's `docs/interop/qcow2`.

mod extensions;
mod features;
mod header;
mod l2;
mod snapshots;
mod walk;

use super::{Disk, Format};
use crate::error::{Error, ErrorKind, Result};
use crate::extent::ExtentWalk;
use crate::image::{Info, Snapshot};
use crate::source::{Source, read_exact};
use crate::units::{ByteRange, HostOffset};
use futures_util::FutureExt;
use header::Header;
use std::rc::Rc;

/// The registry's entry.
pub(super) const FORMAT: Format = Format {
    name: "qcow2",
    label: "qcow2",
    probe: |sample| sample.head.starts_with(&header::MAGIC),
    open: Some(|source| open(source).boxed_local()),
};

async fn open(source: Rc<dyn Source>) -> Result<Rc<dyn Disk>> {
    let header = Header::parse(&read_start(&*source, header::MAX_FIXED).await?, source.size())?;
    let first_cluster = read_start(&*source, header.cluster_size()).await?;
    let checked = extensions::parse(&header, &first_cluster)
        .and_then(|extensions| features::refuse_unread(&header, &extensions, &first_cluster));
    match checked {
        // What does not fit into the part of the header that is there may be whole in the rest.
        Err(error) if error.kind == ErrorKind::Corrupt && source.size() < header.cluster_size() => {
            return Err(Error::truncated("the end of the header", HostOffset(header.cluster_size()), source.size()));
        }
        checked => checked?,
    }
    let snapshots = snapshots::read(&*source, &header).await?;
    Ok(Rc::new(Qcow2 { source, header, snapshots }))
}

/// The first `len` bytes of the file, or all of it where it is shorter.
async fn read_start(source: &dyn Source, len: u64) -> Result<Vec<u8>> {
    read_exact(source, ByteRange { start: HostOffset(0), len: len.min(source.size()) }, "header").await
}

struct Qcow2 {
    source: Rc<dyn Source>,
    header: Header,
    snapshots: Vec<Snapshot>,
}

impl Disk for Qcow2 {
    fn virtual_size(&self) -> u64 {
        self.header.virtual_size
    }

    /// The length field of a compressed cluster has room for twice a cluster, if it is hostile.
    fn largest_piece(&self) -> u64 {
        2 * self.header.cluster_size()
    }

    fn info(&self) -> Info {
        Info {
            format: FORMAT.name,
            cluster_size: Some(self.header.cluster_size()),
            version: Some(self.header.version),
            compression: Some("zlib"),
            refcount_bits: Some(1 << self.header.refcount_order),
            features: features::names(&self.header),
            snapshots: self.snapshots.clone(),
            ..Info::default()
        }
    }

    fn walk(self: Rc<Self>) -> Box<dyn ExtentWalk> {
        Box::new(walk::Walk::new(self.source.clone(), self.header.clone()))
    }
}
