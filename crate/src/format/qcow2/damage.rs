//! Kinds of damage in qcow2 images.

use crate::error::damage::damages;

damages! {
    /// The file ends before or inside the L1 table.
    L1_TRUNCATED = "qcow2-l1-truncated", "the file ends before the end of the L1 table", lacks "the L1 table";
    /// An L2 table's offset is not aligned to a cluster.
    L2_UNALIGNED = "qcow2-l2-unaligned", "an L2 table is not aligned to a cluster";
    /// The file ends before or inside an L2 table.
    L2_TRUNCATED = "qcow2-l2-truncated", "the file ends before the end of an L2 table", lacks "an L2 table";
    /// A data cluster's offset is not aligned to a cluster.
    CLUSTER_UNALIGNED = "qcow2-cluster-unaligned", "a data cluster is not aligned to a cluster";
    /// The file ends before or inside a data cluster.
    CLUSTER_TRUNCATED = "qcow2-cluster-truncated", "the file ends before the end of a data cluster", lacks "a data cluster";
    /// The file ends before a compressed cluster.
    COMPRESSED_TRUNCATED = "qcow2-compressed-truncated", "the file ends before a compressed cluster", lacks "a compressed cluster";
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
