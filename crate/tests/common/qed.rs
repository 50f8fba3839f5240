//! A small QED image, for changing one field.

use super::small::changed;

pub const CLUSTER: usize = 4096;
pub const L1: usize = CLUSTER;
pub const L2: usize = 2 * CLUSTER;
/// The first data cluster, and the second one.
pub const DATA: usize = 3 * CLUSTER;
pub const MORE: usize = 4 * CLUSTER;
pub const END: usize = 5 * CLUSTER;

/// The smallest image with all parts: a disk of 8 clusters less 512 bytes, of which the first two and the last one hold
/// data and the fourth one is zeros.
pub fn small() -> Vec<u8> {
    let entries = [DATA as u64, MORE as u64, 0, 1, 0, 0, 0, DATA as u64].map(u64::to_le_bytes).concat();
    changed(
        vec![0; END],
        &[
            (0, b"QED\0"),
            (4, &(CLUSTER as u32).to_le_bytes()),
            (8, &1u32.to_le_bytes()),
            (12, &1u32.to_le_bytes()),
            (40, &(L1 as u64).to_le_bytes()),
            (48, &(8 * CLUSTER as u64 - 512).to_le_bytes()),
            (L1, &(L2 as u64).to_le_bytes()),
            (L2, &entries),
            (DATA, &[0xaa; CLUSTER]),
            (MORE, &[0xbb; CLUSTER]),
        ],
    )
}

pub fn small_disk() -> Vec<u8> {
    let mut disk = vec![0; 8 * CLUSTER - 512];
    disk[..CLUSTER].fill(0xaa);
    disk[CLUSTER..2 * CLUSTER].fill(0xbb);
    disk[7 * CLUSTER..].fill(0xaa);
    disk
}
