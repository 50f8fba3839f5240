//! qcow2 version 3, or version 2 for old programs (QEMU, docs/interop/qcow2), plain or compressed.
//!
//! The header and the L1 table are at the start, and are written last: before, nothing looks like an image. Then come
//! data clusters, and after those of an L2 table the table itself. The last cluster of each range that a refcount block
//! counts is that block. The refcount table and the blocks that are left end the file.

mod assembler;
mod refcounts;

use super::layout::{Assembler, Layout, Stamp, size_needed};
use super::options::{self, FormatOption, Options};
use super::{OutputFormat, grows};
use crate::compress::{CompressedEncoding, Encoding, UnitEncoding, UnitMethod};
use crate::disk::info::Notice;
use crate::error::{Error, ErrorKind, Result};
use crate::format::qcow2::structures::{CLUSTER_BITS, ENTRY, MAX_L1, ZLIB, ZSTD};
use crate::offsets::SECTOR;
use assembler::Qcow2Assembler;
use refcounts::refcount_clusters;

pub(super) const FORMAT: OutputFormat = OutputFormat {
    name: "qcow2",
    label: "qcow2",
    hint: "For KVM, Proxmox and OpenStack",
    extensions: &[".qcow2"],
    content: "qcow2",
    options: &[
        FormatOption::new("compress", &["off", "on"]),
        FormatOption::new(
            "cluster_size",
            &["64k", "512", "1k", "2k", "4k", "8k", "16k", "32k", "128k", "256k", "512k", "1M", "2M"],
        ),
        FormatOption::new("compression_type", &["zlib", "zstd"]),
        FormatOption::new("compat", &["1.1", "0.10"]),
    ],
    implied: &[
        &options::OF_FILE,
        &[
            FormatOption::new("data_file_raw", &["off"]),
            FormatOption::new("encryption", &["off"]),
            FormatOption::new("extended_l2", &["off"]),
            FormatOption::new("lazy_refcounts", &["off"]),
            FormatOption::new("refcount_bits", &["16"]),
        ],
    ],
    recommended: &[("compress", "on")],
    layout: |virtual_size, options| Ok(Box::new(Qcow2Layout::new(virtual_size, options)?)),
    ..OutputFormat::DEFAULT
};

/// The dimensions of an image.
#[derive(Clone, Copy)]
struct ImageGeometry {
    disk_size: u64,
    cluster_bits: u32,
}

impl ImageGeometry {
    fn cluster(self) -> u64 {
        1 << self.cluster_bits
    }

    /// The number of bytes of the disk that an L2 table maps.
    fn mapped_by_table(self) -> u64 {
        self.cluster() / ENTRY * self.cluster()
    }

    /// The number of entries of the L1 table. QEMU creates at least one.
    fn l1_entries(self) -> u64 {
        self.disk_size.div_ceil(self.mapped_by_table()).max(1)
    }

    /// The size of the header's cluster and the L1 table, in bytes.
    fn reserved(self) -> u64 {
        self.cluster() + (self.l1_entries() * ENTRY).next_multiple_of(self.cluster())
    }

    /// The number of clusters of the disk.
    fn clusters(self) -> u64 {
        self.disk_size.div_ceil(self.cluster())
    }

    /// The number of clusters of a file with all clusters of the disk, without those for refcounts.
    fn counted_clusters(self) -> u64 {
        (self.reserved() >> self.cluster_bits) + self.clusters() + self.disk_size.div_ceil(self.mapped_by_table())
    }

    /// The numbers of clusters of the refcount blocks and of the refcount table of this file, which are counted, too.
    fn refcount_clusters(self) -> (u64, u64) {
        refcount_clusters(self.cluster(), self.counted_clusters(), 0)
    }

    fn clusters_when_full(self) -> u64 {
        let (blocks, table) = self.refcount_clusters();
        self.counted_clusters() + blocks + table
    }

    fn is_possible(self) -> bool {
        self.l1_entries() * ENTRY <= MAX_L1
    }
}

struct Qcow2Layout {
    virtual_size: u64,
    geometry: ImageGeometry,
    is_compressed: bool,
    /// How clusters are compressed, if they are.
    compression_type: u8,
    version: u32,
}

impl Qcow2Layout {
    fn new(virtual_size: u64, options: &Options) -> Result<Self> {
        let geometry = ImageGeometry {
            disk_size: virtual_size.next_multiple_of(SECTOR),
            cluster_bits: options.size("cluster_size").trailing_zeros(),
        };
        if !geometry.is_possible() {
            return Err(too_large(geometry));
        }
        let compression_type = if options.get("compression_type") == "zstd" { ZSTD } else { ZLIB };
        let version = if options.get("compat") == "0.10" { 2 } else { 3 };
        if version == 2 && compression_type == ZSTD {
            let message = "compression_type=zstd needs compat=1.1: a qcow2 of version 2 is compressed by zlib";
            return Err(Error::new(ErrorKind::Usage, message));
        }
        Ok(Self { virtual_size, geometry, is_compressed: options.get("compress") == "on", compression_type, version })
    }
}

fn too_large(geometry: ImageGeometry) -> Error {
    let cluster = geometry.cluster();
    let possible = |&cluster_bits: &u32| ImageGeometry { cluster_bits, ..geometry }.is_possible();
    let advice = match CLUSTER_BITS.into_iter().find(possible) {
        Some(bits) => format!("choose a cluster_size of at least {}", 1u64 << bits),
        None => "choose another output format".to_owned(),
    };
    let message = format!("A qcow2 image with clusters of {cluster} bytes cannot hold a disk of this size; {advice}");
    let error = Error::new(ErrorKind::Limit, message).coded("qcow2-too-large");
    error.field("size", geometry.disk_size).field("clusterSize", cluster)
}

impl Layout for Qcow2Layout {
    fn encoding(&self) -> Encoding {
        if !self.is_compressed {
            return Encoding::Stored;
        }
        let method = if self.compression_type == ZSTD { UnitMethod::Zstd } else { UnitMethod::Deflate };
        let unit = self.geometry.cluster() as u32;
        Encoding::Compressed(CompressedEncoding::Units(UnitEncoding { unit, method }))
    }

    fn unit(&self) -> u64 {
        self.geometry.cluster()
    }

    fn disk_size(&self) -> u64 {
        self.geometry.disk_size
    }

    fn notice(&self) -> Option<Notice> {
        grows(self.virtual_size, self.geometry.disk_size, SECTOR, "qcow2")
    }

    /// As `qemu-img measure` counts: with all L2 tables, and with the refcounts of a full disk.
    fn size_for(&self, units: u64) -> u64 {
        let absent = self.geometry.clusters() - units;
        // Before each refcount block but the last one, a compressed cluster may have had too little room.
        let gaps = if self.is_compressed { self.geometry.refcount_clusters().0.saturating_sub(1) } else { 0 };
        (self.geometry.clusters_when_full() + gaps - absent) * self.geometry.cluster()
    }

    fn resized(&self, _virtual_size: u64) -> Result<Box<dyn Layout>> {
        Err(size_needed("A qcow2 image"))
    }

    fn reserved(&self) -> u64 {
        self.geometry.reserved()
    }

    fn assembler(&self, _stamp: &Stamp) -> Result<Option<Box<dyn Assembler>>> {
        Ok(Some(Box::new(Qcow2Assembler::new(self.geometry, self.compression_type, self.version)?)))
    }
}
