//! qcow2 versions 2 and 3, as specified in QEMU's `docs/interop/qcow2`.

mod check;
mod clusters;
mod extensions;
mod features;
mod l2;
mod qcow2_header;
mod snapshots;
pub(crate) mod structures;

use super::{Disk, FileChecking, Format, FormatReader, LayerOptions, WalkSetup};
use crate::compress::Compression;
use crate::crypt::Encryption;
use crate::disk::EncryptionInfo;
use crate::disk::extent::ExtentWalk;
use crate::disk::file_check::CheckProgress;
use crate::disk::info::Info;
use crate::disk::info::{Details, Value};
use crate::disk::reference::{Reference, Role};
use crate::error::damage::damages;
use crate::error::{ErrorKind, Result, ensure_header};
use crate::io::source::{Source, read_start};
use extensions::HeaderExtensions;
use futures_util::FutureExt;
use qcow2_header::Mapping;
use snapshots::SnapshotEntry;
use std::rc::Rc;
use structures::{CORRUPT, HEADER_LENGTH, LAZY_REFCOUNTS, MAGIC, Qcow2Header, RAW_DATA_FILE};

pub(super) const FORMAT: Format = Format {
    name: "qcow2",
    extensions: &[".qcow2", ".qcow"],
    label: "qcow2",
    probe: |sample| sample.head.starts_with(&MAGIC),
    reader: FormatReader::Open(|source, options| open(source, options).boxed_local()),
    ..Format::DEFAULT
};

damages! {
    /// The file ends before or inside the L1 table.
    L1_TRUNCATED = "qcow2-l1-truncated", "the file ends before the end of the L1 table", lacks "the L1 table", outside L1_OUTSIDE;
    /// The L1 table is beyond any size that the complete file can have.
    L1_OUTSIDE = "qcow2-l1-outside", "the L1 table is far beyond the end of the file";
    /// An L2 table's offset is not aligned to a cluster.
    L2_UNALIGNED = "qcow2-l2-unaligned", "an L2 table is not aligned to a cluster";
    /// The file ends before or inside an L2 table.
    L2_TRUNCATED = "qcow2-l2-truncated", "the file ends before the end of an L2 table", lacks "an L2 table", outside L2_OUTSIDE;
    /// An L2 table is beyond any size that the complete file can have.
    L2_OUTSIDE = "qcow2-l2-outside", "an L2 table is far beyond the end of the file";
    /// A data cluster's offset is not aligned to a cluster.
    CLUSTER_UNALIGNED = "qcow2-cluster-unaligned", "a data cluster is not aligned to a cluster";
    /// The file ends before or inside a data cluster.
    CLUSTER_TRUNCATED = "qcow2-cluster-truncated", "the file ends before the end of a data cluster", lacks "a data cluster", outside CLUSTER_OUTSIDE;
    /// A cluster is beyond any size that the complete file can have.
    CLUSTER_OUTSIDE = "qcow2-cluster-outside", "a cluster is far beyond the end of the file";
    /// The file ends before a compressed cluster.
    COMPRESSED_TRUNCATED = "qcow2-compressed-truncated", "the file ends before a compressed cluster", lacks "a compressed cluster", outside CLUSTER_OUTSIDE;
    /// A zero cluster in version 2, which does not support them.
    ZERO_IN_VERSION_2 = "qcow2-zero-in-version-2", "a version 2 image has a zero cluster";
    /// A subcluster that is both allocated and zero.
    SUBCLUSTER_CONFLICT = "qcow2-subcluster-conflict", "a subcluster is both allocated and zero";
    /// An allocated subcluster of a cluster without a host offset.
    SUBCLUSTER_NOWHERE = "qcow2-subcluster-nowhere", "an allocated subcluster has no place in the file";
    /// An offset in a data file differs from the guest offset.
    DATA_FILE_OFFSET = "qcow2-data-file-offset", "an offset in the data file is not the guest offset";
    /// A compressed cluster in an image with a data file.
    DATA_FILE_COMPRESSED = "qcow2-data-file-compressed", "an image with a data file has a compressed cluster";
}

async fn open(source: Rc<dyn Source>, options: LayerOptions) -> Result<Rc<dyn Disk>> {
    let header = Qcow2Header::validated(&read_start(&*source, HEADER_LENGTH).await?, source.size())?;
    let first_cluster = read_start(&*source, header.cluster_size()).await?;
    let (compression, extensions, references) = match read_header_cluster(&header, &first_cluster) {
        // Data outside the present part of the header may be valid in the missing part.
        Err(error) if error.kind == ErrorKind::Corrupt => {
            ensure_header(header.cluster_size(), source.size())?;
            return Err(error);
        }
        read => read?,
    };
    let encryption = extensions::encryption(&*source, &header, &extensions).await?;
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
    Ok(Rc::new(Qcow2 { source, header, mapping, compression, encryption, references, snapshots, extensions }))
}

type HeaderCluster = (Compression, HeaderExtensions, Vec<Reference>);

/// Parses the first cluster after the fixed header.
fn read_header_cluster(header: &Qcow2Header, first_cluster: &[u8]) -> Result<HeaderCluster> {
    let extensions = extensions::parse(header, first_cluster)?;
    let compression = features::compression(header)?;
    features::refuse_unknown(header, &extensions)?;
    let references = extensions::references(header, &extensions, first_cluster)?;
    Ok((compression, extensions, references))
}

struct Qcow2 {
    source: Rc<dyn Source>,
    header: Qcow2Header,
    /// The mapping to read: the active disk's or a snapshot's.
    mapping: Mapping,
    compression: Compression,
    encryption: Option<Encryption>,
    references: Vec<Reference>,
    snapshots: Vec<SnapshotEntry>,
    extensions: HeaderExtensions,
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
            details.push(("lazy-refcounts", (self.header.compatible_features & LAZY_REFCOUNTS != 0).into()));
        }
        details.push(("refcount-bits", (1u32 << self.header.refcount_order).into()));
        details.extend(
            self.encryption
                .as_ref()
                .map(|encryption| ("encrypt", Value::Map(EncryptionInfo::of(encryption).details()))),
        );
        if let Some(file) = self.references.iter().find(|file| file.role == Role::DataFile) {
            details.push(("data-file", file.name[..].into()));
            details.push(("data-file-raw", (self.header.autoclear_features & RAW_DATA_FILE != 0).into()));
        }
        if is_version_3 {
            details.push(("corrupt", (self.header.incompatible_features & CORRUPT != 0).into()));
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

    fn references(&self) -> &[Reference] {
        &self.references
    }

    fn encryption(&self) -> Option<&Encryption> {
        self.encryption.as_ref()
    }

    fn walk(self: Rc<Self>, setup: WalkSetup) -> Box<dyn ExtentWalk> {
        Box::new(clusters::tables(self, &setup))
    }

    fn check(self: Rc<Self>, progress: CheckProgress) -> FileChecking {
        FileChecking::Own(check::check(self, progress).boxed_local())
    }
}
