//! The fixed header fields, validated (specification: "Header").

use super::structures::{CLUSTER_BITS, ENTRY, MAGIC, MAX_L1, Qcow2Header};
use crate::error::{Error, ErrorKind, Result, checked_virtual_size, corrupt, ensure_header};
use crate::offsets::{ByteRange, HostOffset};

/// Length of a version 2 header, in bytes.
const V2_LENGTH: u64 = Qcow2Header::incompatible_features;
/// Minimum length of a version 3 header, in bytes.
const V3_LENGTH: u64 = Qcow2Header::compression_type;
/// Maximum size of the refcount table, in bytes, as in QEMU (`QCOW_MAX_REFTABLE_SIZE`).
const MAX_REFCOUNT_TABLE: u64 = 8 << 20;
/// Minimum `cluster_bits` with extended L2 entries, since subclusters have at least 512 bytes.
const MIN_EXTENDED_L2_BITS: u32 = 14;

impl Qcow2Header {
    /// Parses and validates `bytes`, the first bytes of a file of `file_size` bytes. Fields that the header is too
    /// short for have their defaults. Fails with `not-recognised`, `unsupported` or `corrupt`.
    pub(super) fn validated(bytes: &[u8], file_size: u64) -> Result<Self> {
        let need = |len| ensure_header(len, file_size);
        if !bytes.starts_with(&MAGIC) {
            return Err(Error::other_format("The file is not a qcow2 image", "qcow2"));
        }
        need(Self::version + 4)?;
        let mut header = Self::parse_start(bytes);
        header.size = header.size / 512 * 512;
        if !(2..=3).contains(&header.version) {
            return Err(Error::unknown_version(header.version, "qcow"));
        }
        need(V2_LENGTH)?;
        if header.version == 2 {
            header = Self {
                incompatible_features: 0,
                compatible_features: 0,
                autoclear_features: 0,
                refcount_order: 4,
                header_length: V2_LENGTH as u32,
                compression_type: 0,
                ..header
            };
        } else {
            need(V3_LENGTH)?;
            if u64::from(header.header_length) > V3_LENGTH {
                need(V3_LENGTH + 1)?;
            } else {
                header.compression_type = 0;
            }
        }
        header.check()?;
        Ok(header)
    }

    fn check(&self) -> Result<()> {
        if !CLUSTER_BITS.contains(&self.cluster_bits) {
            return corrupt(format!("cluster_bits is {}, outside 9 to 21", self.cluster_bits), Self::cluster_bits);
        }
        if self.version >= 3 && !(V3_LENGTH..=self.cluster_size()).contains(&u64::from(self.header_length)) {
            return corrupt(format!("the header length is {}", self.header_length), Self::header_length);
        }
        if self.refcount_order > 6 {
            return corrupt(format!("the refcount order is {}, above 6", self.refcount_order), Self::refcount_order);
        }
        if self.has_extended_l2() && self.cluster_bits < MIN_EXTENDED_L2_BITS {
            let what = format!("extended L2 entries need larger clusters than {} bytes", self.cluster_size());
            return corrupt(what, Self::cluster_bits);
        }
        Ok(())
    }

    /// Returns the validated mapping of the active disk. Fails as [`Mapping::check`] does.
    pub(super) fn active(&self) -> Result<Mapping> {
        let l1_offset = HostOffset(self.l1_table_offset);
        let mapping = Mapping { virtual_size: self.size, l1_offset, l1_entries: self.l1_size };
        mapping.check(self, [HostOffset(Self::l1_size), HostOffset(Self::l1_table_offset)])?;
        Ok(mapping)
    }

    /// The refcount table, if its position is valid. Nothing else is read of it.
    pub(super) fn refcount_table(&self) -> Option<ByteRange> {
        let len = u64::from(self.refcount_table_clusters) * self.cluster_size();
        let is_valid = self.refcount_table_offset > 0
            && self.is_aligned(self.refcount_table_offset)
            && (1..=MAX_REFCOUNT_TABLE.max(self.cluster_size())).contains(&len);
        ByteRange::new(HostOffset(self.refcount_table_offset), len).filter(|_| is_valid)
    }
}

/// An L1 table and the virtual size of its disk: the active one or an internal snapshot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mapping {
    /// In bytes.
    pub(super) virtual_size: u64,
    pub(super) l1_offset: HostOffset,
    pub(super) l1_entries: u32,
}

impl Mapping {
    /// Fails with `limit` or `corrupt` unless the mapping is valid. `places` are the offsets of the fields with the
    /// number of L1 entries and the L1 offset, for messages.
    pub(super) fn check(&self, header: &Qcow2Header, places: [HostOffset; 2]) -> Result<()> {
        checked_virtual_size(self.virtual_size)?;
        let entries = self.l1_entries;
        if u64::from(entries) * ENTRY > MAX_L1 {
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
    pub(super) fn l1_entries_needed(&self, header: &Qcow2Header) -> u64 {
        self.virtual_size.div_ceil(header.l2_span())
    }
}
