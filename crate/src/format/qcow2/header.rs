//! The fixed header fields, validated (specification: "Header").

use crate::error::{Error, ErrorKind, Result, checked_virtual_size};
use crate::offsets::{HostOffset, be32, be64};

pub(super) const MAGIC: [u8; 4] = *b"QFI\xfb";
/// Maximum length of the fixed part, in bytes: version 3 up to the compression type and its padding.
pub(super) const MAX_FIXED: u64 = 112;
/// Length of a version 2 header, in bytes.
const V2_LENGTH: u32 = 72;
/// Minimum length of a version 3 header, in bytes.
const V3_LENGTH: u32 = 104;
/// Maximum size of the L1 table, in bytes, as in QEMU (`QCOW_MAX_L1_SIZE`). It limits the virtual size.
const MAX_L1_BYTES: u64 = 32 << 20;
/// Size of an L1 entry, and of an L2 entry without subclusters, in bytes.
pub(super) const ENTRY_SIZE: u64 = 8;

/// Incompatible feature: external data file.
pub(super) const DATA_FILE: u64 = 1 << 2;
/// Incompatible feature: extended L2 entries.
pub(super) const EXTENDED_L2: u64 = 1 << 4;
/// Minimum `cluster_bits` with extended L2 entries, since subclusters have at least 512 bytes.
const MIN_EXTENDED_L2_BITS: u32 = 14;

/// The header fields needed for reading. Sizes and offsets are in bytes.
#[derive(Clone, Debug)]
pub(super) struct Header {
    pub version: u32,
    pub backing_name_offset: u64,
    pub backing_name_len: u32,
    pub cluster_bits: u32,
    /// Rounded down to sectors of 512 bytes, as in QEMU.
    pub virtual_size: u64,
    pub encryption: u32,
    pub l1_entries: u32,
    pub l1_offset: HostOffset,
    pub snapshot_count: u32,
    pub snapshots_offset: HostOffset,
    pub incompatible: u64,
    pub compatible: u64,
    pub autoclear: u64,
    pub refcount_order: u32,
    pub header_length: u32,
    pub compression_type: u8,
}

impl Header {
    /// Parses `bytes`, the first bytes of a file of `file_size` bytes. Fails with `not-recognised`, `unsupported` or
    /// `corrupt`.
    pub fn parse(bytes: &[u8], file_size: u64) -> Result<Self> {
        let need = |len: u32| {
            if bytes.len() < len as usize {
                return Err(Error::truncated("the end of the header", HostOffset(u64::from(len)), file_size));
            }
            Ok(())
        };
        if !bytes.starts_with(&MAGIC) {
            return Err(Error::other_format("The file is not a qcow2 image", "qcow2"));
        }
        need(8)?;
        let version = be32(bytes, 4);
        if !(2..=3).contains(&version) {
            return Err(Error::unknown_version(version, "qcow"));
        }
        need(V2_LENGTH)?;
        let mut header = Self {
            version,
            backing_name_offset: be64(bytes, 8),
            backing_name_len: be32(bytes, 16),
            cluster_bits: be32(bytes, 20),
            virtual_size: be64(bytes, 24) / 512 * 512,
            encryption: be32(bytes, 32),
            l1_entries: be32(bytes, 36),
            l1_offset: HostOffset(be64(bytes, 40)),
            snapshot_count: be32(bytes, 60),
            snapshots_offset: HostOffset(be64(bytes, 64)),
            incompatible: 0,
            compatible: 0,
            autoclear: 0,
            refcount_order: 4,
            header_length: V2_LENGTH,
            compression_type: 0,
        };
        if version >= 3 {
            need(V3_LENGTH)?;
            header.incompatible = be64(bytes, 72);
            header.compatible = be64(bytes, 80);
            header.autoclear = be64(bytes, 88);
            header.refcount_order = be32(bytes, 96);
            header.header_length = be32(bytes, 100);
            if header.header_length > V3_LENGTH {
                need(V3_LENGTH + 1)?;
                header.compression_type = bytes[104];
            }
        }
        header.check()?;
        Ok(header)
    }

    fn check(&self) -> Result<()> {
        let corrupt = |what: String, at: u64| Err(Error::corrupt(what, HostOffset(at)));
        if !(9..=21).contains(&self.cluster_bits) {
            return corrupt(format!("cluster_bits is {}, outside 9 to 21", self.cluster_bits), 20);
        }
        if self.version >= 3 && !(u64::from(V3_LENGTH)..=self.cluster_size()).contains(&u64::from(self.header_length)) {
            return corrupt(format!("the header length is {}", self.header_length), 100);
        }
        if self.refcount_order > 6 {
            return corrupt(format!("the refcount order is {}, above 6", self.refcount_order), 96);
        }
        if self.has_extended_l2() && self.cluster_bits < MIN_EXTENDED_L2_BITS {
            return corrupt(format!("extended L2 entries need larger clusters than {} bytes", self.cluster_size()), 20);
        }
        Ok(())
    }

    /// Returns the validated mapping of the active disk. Fails as [`Mapping::check`] does.
    pub fn active(&self) -> Result<Mapping> {
        let mapping =
            Mapping { virtual_size: self.virtual_size, l1_offset: self.l1_offset, l1_entries: self.l1_entries };
        mapping.check(self, [HostOffset(36), HostOffset(40)])?;
        Ok(mapping)
    }

    /// Whether each L2 entry describes 32 subclusters.
    pub fn has_extended_l2(&self) -> bool {
        self.incompatible & EXTENDED_L2 != 0
    }

    /// Whether the data is in an external data file.
    pub fn has_data_file(&self) -> bool {
        self.incompatible & DATA_FILE != 0
    }

    /// Cluster size, in bytes.
    pub fn cluster_size(&self) -> u64 {
        1 << self.cluster_bits
    }

    /// Size of an L2 entry, in bytes.
    pub fn l2_entry_size(&self) -> u64 {
        if self.has_extended_l2() { 2 * ENTRY_SIZE } else { ENTRY_SIZE }
    }

    /// Number of entries in an L2 table.
    pub fn l2_entries(&self) -> u64 {
        self.cluster_size() / self.l2_entry_size()
    }

    /// The range described by one L2 table, in bytes.
    pub fn l2_span(&self) -> u64 {
        self.l2_entries() * self.cluster_size()
    }

    /// Whether a host offset is aligned to a cluster.
    pub fn is_aligned(&self, offset: u64) -> bool {
        offset.is_multiple_of(self.cluster_size())
    }
}

/// An L1 table and the virtual size of its disk: the active one or an internal snapshot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mapping {
    /// In bytes.
    pub virtual_size: u64,
    pub l1_offset: HostOffset,
    pub l1_entries: u32,
}

impl Mapping {
    /// Fails with `limit` or `corrupt` unless the mapping is valid. `places` are the offsets of the fields with the
    /// number of L1 entries and the L1 offset, for messages.
    pub fn check(&self, header: &Header, places: [HostOffset; 2]) -> Result<()> {
        checked_virtual_size(self.virtual_size)?;
        let entries = self.l1_entries;
        if u64::from(entries) * ENTRY_SIZE > MAX_L1_BYTES {
            return Err(Error::new(ErrorKind::Limit, format!("An L1 table of {entries} entries exceeds 32 MiB")));
        }
        let needed = self.l1_entries_needed(header);
        if u64::from(entries) < needed {
            let what = format!("the L1 table has {entries} entries, but the virtual size needs {needed}");
            return Err(Error::corrupt(what, places[0]));
        }
        if needed > 0 && !header.is_aligned(self.l1_offset.0) {
            return Err(Error::corrupt("the L1 table is not aligned to a cluster", places[1]));
        }
        Ok(())
    }

    /// The number of L1 entries that the virtual size needs.
    pub fn l1_entries_needed(&self, header: &Header) -> u64 {
        self.virtual_size.div_ceil(header.l2_span())
    }
}
