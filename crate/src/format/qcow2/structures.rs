//! The structures of qcow2 (QEMU, docs/interop/qcow2), for reading and writing. Numbers are big endian.

use crate::structure::structure;
use std::ops::RangeInclusive;

pub(crate) const MAGIC: [u8; 4] = *b"QFI\xfb";
/// Length of the header up to the compression type and its padding, in bytes. Header extensions follow it.
pub(crate) const HEADER_LENGTH: u64 = 112;
pub(crate) const CLUSTER_BITS: RangeInclusive<u32> = 9..=21;
/// Maximum size of the L1 table, in bytes, as in QEMU (`QCOW_MAX_L1_SIZE`). It limits the virtual size.
pub(crate) const MAX_L1: u64 = 32 << 20;
/// Size of an entry of the L1 table and of the refcount table, and of an L2 entry without subclusters, in bytes.
pub(crate) const ENTRY: u64 = 8;

// Bits of `incompatible_features`.
pub(crate) const DIRTY: u64 = 1 << 0;
pub(crate) const CORRUPT: u64 = 1 << 1;
pub(crate) const DATA_FILE: u64 = 1 << 2;
/// `compression_type` is not 0.
pub(crate) const COMPRESSION_TYPE: u64 = 1 << 3;
pub(crate) const EXTENDED_L2: u64 = 1 << 4;
// A bit of `compatible_features`, and bits of `autoclear_features`.
pub(crate) const LAZY_REFCOUNTS: u64 = 1 << 0;
pub(crate) const BITMAPS_CONSISTENT: u64 = 1 << 0;
pub(crate) const RAW_DATA_FILE: u64 = 1 << 1;

/// Values of `compression_type`.
pub(crate) const ZLIB: u8 = 0;
pub(crate) const ZSTD: u8 = 1;

structure! {
    /// "Header" of version 3. Sizes and offsets are in bytes.
    pub(crate) struct Qcow2Header: Big {
        magic: [u8; 4] = 0,
        version: u32 = 4,
        backing_file_offset: u64 = 8,
        backing_file_size: u32 = 16,
        cluster_bits: u32 = 20,
        /// Rounded down to sectors of 512 bytes, as in QEMU.
        size: u64 = 24,
        crypt_method: u32 = 32,
        l1_size: u32 = 36,
        l1_table_offset: u64 = 40,
        refcount_table_offset: u64 = 48,
        refcount_table_clusters: u32 = 56,
        nb_snapshots: u32 = 60,
        snapshots_offset: u64 = 64,
        incompatible_features: u64 = 72,
        compatible_features: u64 = 80,
        autoclear_features: u64 = 88,
        refcount_order: u32 = 96,
        header_length: u32 = 100,
        compression_type: u8 = 104,
    }
}

impl Qcow2Header {
    /// Whether each L2 entry describes 32 subclusters.
    pub(crate) fn has_extended_l2(&self) -> bool {
        self.incompatible_features & EXTENDED_L2 != 0
    }

    /// Whether the data is in an external data file.
    pub(crate) fn has_data_file(&self) -> bool {
        self.incompatible_features & DATA_FILE != 0
    }

    pub(crate) fn cluster_size(&self) -> u64 {
        1 << self.cluster_bits
    }

    /// Size of an L2 entry, in bytes.
    pub(crate) fn l2_entry_size(&self) -> u64 {
        if self.has_extended_l2() { 2 * ENTRY } else { ENTRY }
    }

    /// Number of entries in an L2 table.
    pub(crate) fn l2_entries(&self) -> u64 {
        self.cluster_size() / self.l2_entry_size()
    }

    /// The range described by one L2 table, in bytes.
    pub(crate) fn l2_span(&self) -> u64 {
        self.l2_entries() * self.cluster_size()
    }

    /// Whether a host offset is aligned to a cluster.
    pub(crate) fn is_aligned(&self, offset: u64) -> bool {
        offset.is_multiple_of(self.cluster_size())
    }
}

// "Header extensions".

/// Extension type: the end of the list.
pub(crate) const EXTENSIONS_END: u32 = 0;
/// Extension type: names of feature bits.
pub(crate) const FEATURE_NAMES: u32 = 0x6803_f857;
/// Extension type: format of the backing file.
pub(crate) const BACKING_FORMAT: u32 = 0xe279_2aca;
/// Extension type: name of the data file.
pub(crate) const DATA_FILE_NAME: u32 = 0x4441_5441;
/// Extension type: place of the directory of bitmaps.
pub(crate) const BITMAPS: u32 = 0x2385_2875;
/// Extension type: range of the LUKS header.
pub(crate) const ENCRYPTION_HEADER: u32 = 0x0537_be77;

/// The type of incompatible features in the feature name table.
pub(crate) const INCOMPATIBLE: u8 = 0;

structure! {
    /// The start of an extension.
    pub(crate) struct ExtensionHeader: Big {
        extension_type: u32 = 0,
        /// Length of the data, in bytes.
        length: u32 = 4,
    }
}

structure! {
    /// The data of the encryption header's extension: its range in the file.
    pub(crate) struct EncryptionHeaderPointer: Big {
        offset: u64 = 0,
        length: u64 = 8,
    }
}

structure! {
    /// The data of the bitmaps extension.
    pub(crate) struct BitmapsExtension: Big {
        nb_bitmaps: u32 = 0,
        reserved32: u32 = 4,
        bitmap_directory_size: u64 = 8,
        bitmap_directory_offset: u64 = 16,
    }
}

structure! {
    /// An entry of the feature name table.
    pub(crate) struct FeatureName: Big {
        feature_type: u8 = 0,
        bit: u8 = 1,
        name: [u8; 46] = 2,
    }
}

// "Cluster mapping": entries of L1 and L2 tables.

/// Bits 9 to 55 of an entry: the offset of a table or cluster. The other bits are flags or reserved; reserved bits are
/// ignored.
pub(crate) const ENTRY_OFFSET: u64 = 0x00ff_ffff_ffff_fe00;
/// Flag: the refcount of the cluster or table is 1. With a data file, where 0 is a valid offset: the cluster is allocated.
pub(crate) const COPIED: u64 = 1 << 63;
/// Flag: the cluster is compressed.
pub(crate) const COMPRESSED: u64 = 1 << 62;
/// Flag: the cluster reads as zeros, regardless of its offset (version 3, without subclusters).
pub(crate) const ZERO_CLUSTER: u64 = 1;
/// Reserved bits of an entry of the L1 table.
pub(crate) const L1_RESERVED: u64 = 0x7f00_0000_0000_01ff;
/// Reserved bits of an L2 entry of a cluster that is not compressed.
pub(crate) const L2_RESERVED: u64 = 0x3f00_0000_0000_01fe;
/// Bits 9 to 63 of an entry of the refcount table: the offset of a refcount block. The other bits are reserved.
pub(crate) const REFCOUNT_BLOCK_OFFSET: u64 = !0x1ff;
/// Subclusters of a cluster with an extended L2 entry.
pub(crate) const SUBCLUSTERS: u64 = 32;

/// The number of low bits of a compressed cluster's entry that are its host offset ("Compressed Clusters Descriptor": x). The bits above,
/// up to the flags, are the number of sectors besides the first.
pub(crate) fn compressed_offset_bits(cluster_bits: u32) -> u32 {
    62 - (cluster_bits - 8)
}

// "Snapshots".

structure! {
    /// The fixed part of a snapshot table entry.
    pub(crate) struct SnapshotHeader: Big {
        l1_table_offset: u64 = 0,
        l1_size: u32 = 8,
        id_str_size: u16 = 12,
        name_size: u16 = 14,
        date_sec: u32 = 16,
        date_nsec: u32 = 20,
        vm_clock_nsec: u64 = 24,
        vm_state_size: u32 = 32,
        extra_data_size: u32 = 36,
    }
}

structure! {
    /// The extra data of a snapshot table entry. Older versions have less of it.
    pub(crate) struct SnapshotExtraData: Big {
        vm_state_size_large: u64 = 0,
        disk_size: u64 = 8,
        icount: u64 = 16,
    }
}

// "Bitmaps".

structure! {
    /// The fixed part of an entry of the directory of bitmaps. Extra data and the name follow it.
    pub(crate) struct BitmapEntry: Big {
        bitmap_table_offset: u64 = 0,
        /// Number of entries.
        bitmap_table_size: u32 = 8,
        flags: u32 = 12,
        bitmap_type: u8 = 16,
        granularity_bits: u8 = 17,
        name_size: u16 = 18,
        extra_data_size: u32 = 20,
    }
}

/// Bits of an entry of a bitmap's table: reserved ones, and the one that stands for a cluster of ones without an offset.
pub(crate) const BITMAP_RESERVED: u64 = 0xff00_0000_0000_01fe;
pub(crate) const BITMAP_ALL_ONES: u64 = 1;
