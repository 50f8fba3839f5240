//! qcow2 versions 2 and 3, as specified in QEMU's `docs/interop/qcow2`.

mod clusters;
pub mod damage;
mod encryption;
mod extensions;
mod features;
mod header;
mod l1;
mod l2;
mod names;
mod snapshots;

use super::{Disk, Format, LayerOptions, Reader, WalkSetup};
use crate::compress::Compression;
use crate::crypt::Encryption;
use crate::disk::EncryptionInfo;
use crate::disk::details::{Details, Value};
use crate::disk::extent::ExtentWalk;
use crate::disk::info::Info;
use crate::disk::reference::{Reference, Role};
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::{Source, read_exact};
use crate::offsets::{ByteRange, HostOffset};
use extensions::Extensions;
use futures_util::FutureExt;
use header::{Header, Mapping};
use snapshots::Entry;
use std::rc::Rc;

/// The registry entry.
pub(super) const FORMAT: Format = Format {
    name: "qcow2",
    label: "qcow2",
    of_qemu: true,
    probe: |sample| sample.head.starts_with(&header::MAGIC),
    hint: None,
    reader: Reader::Open(|source, options| open(source, options).boxed_local()),
};

async fn open(source: Rc<dyn Source>, options: LayerOptions) -> Result<Rc<dyn Disk>> {
    let header = Header::validated(&read_start(&*source, header::MAX_FIXED).await?, source.size())?;
    let first_cluster = read_start(&*source, header.cluster_size()).await?;
    let (compression, extensions, references) = match read_header_cluster(&header, &first_cluster) {
        // Data outside the present part of the header may be valid in the missing part.
        Err(error) if error.kind == ErrorKind::Corrupt && source.size() < header.cluster_size() => {
            return Err(Error::truncated("the end of the header", HostOffset(header.cluster_size()), source.size()));
        }
        read => read?,
    };
    let encryption = encryption::read(&*source, &header, &extensions).await?;
    let listed = if options.is_backing { Ok(Vec::new()) } else { snapshots::read(&*source, &header).await };
    let snapshots = match listed {
        // Damage to the snapshot table alone does not prevent reading the active disk.
        Err(error) if options.salvage && options.snapshot.is_none() && error.kind == ErrorKind::Corrupt => Vec::new(),
        read => read?,
    };
    let mapping = match &options.snapshot {
        Some(wanted) => snapshots::find(&snapshots, wanted)?.mapping(&header)?,
        None => header.active()?,
    };
    Ok(Rc::new(Qcow2 { source, header, mapping, compression, encryption, references, snapshots }))
}

type HeaderCluster = (Compression, Extensions, Vec<Reference>);

/// Parses the first cluster after the fixed header.
fn read_header_cluster(header: &Header, first_cluster: &[u8]) -> Result<HeaderCluster> {
    let extensions = extensions::parse(header, first_cluster)?;
    let compression = features::compression(header)?;
    features::refuse_unknown(header, &extensions)?;
    let references = names::references(header, &extensions, first_cluster)?;
    Ok((compression, extensions, references))
}

/// Reads the first `len` bytes of the file, or all of it if it is shorter.
async fn read_start(source: &dyn Source, len: u64) -> Result<Vec<u8>> {
    read_exact(source, ByteRange { start: HostOffset(0), len: len.min(source.size()) }, "header").await
}

struct Qcow2 {
    source: Rc<dyn Source>,
    header: Header,
    /// The mapping to read: the active disk's or a snapshot's.
    mapping: Mapping,
    compression: Compression,
    encryption: Option<Encryption>,
    references: Vec<Reference>,
    snapshots: Vec<Entry>,
}

impl Qcow2 {
    fn compression_name(&self) -> &'static str {
        match self.compression {
            Compression::Zstd => "zstd",
            _ => "zlib",
        }
    }

    /// Returns what `qemu-img info` prints under `format-specific`. Fields that version 2 lacks are omitted.
    fn details(&self) -> Details {
        let is_version_3 = self.header.version > 2;
        let compat = if is_version_3 { "1.1" } else { "0.10" };
        let mut details = vec![("compat", compat.into()), ("compression-type", self.compression_name().into())];
        if is_version_3 {
            details.push(("lazy-refcounts", features::has_lazy_refcounts(&self.header).into()));
        }
        details.push(("refcount-bits", (1u32 << self.header.refcount_order).into()));
        details.extend(
            self.encryption
                .as_ref()
                .map(|encryption| ("encrypt", Value::Map(EncryptionInfo::of(encryption).details()))),
        );
        if let Some(file) = self.references.iter().find(|file| file.role == Role::DataFile) {
            details.push(("data-file", file.name[..].into()));
            details.push(("data-file-raw", features::is_data_file_raw(&self.header).into()));
        }
        if is_version_3 {
            details.push(("corrupt", features::is_marked_corrupt(&self.header).into()));
            details.push(("extended-l2", self.header.has_extended_l2().into()));
        }
        Details(details)
    }
}

impl Disk for Qcow2 {
    fn virtual_size(&self) -> u64 {
        self.mapping.virtual_size
    }

    /// A hostile length field of a compressed cluster can state up to two clusters.
    fn largest_unit(&self) -> u64 {
        2 * self.header.cluster_size()
    }

    fn info(&self) -> Info {
        Info {
            cluster_size: Some(self.header.cluster_size()),
            version: Some(self.header.version),
            compression: Some(self.compression_name()),
            features: features::names(&self.header),
            snapshots: self.snapshots.iter().map(|entry| entry.snapshot.clone()).collect(),
            specific: self.details(),
            ..Info::default()
        }
    }

    fn format(&self) -> &'static str {
        FORMAT.name
    }

    fn references(&self) -> &[Reference] {
        &self.references
    }

    fn encryption(&self) -> Option<&Encryption> {
        self.encryption.as_ref()
    }

    fn walk(self: Rc<Self>, setup: WalkSetup) -> Box<dyn ExtentWalk> {
        Box::new(clusters::Walk::new(self, setup))
    }
}
