//! Handmade images of a few clusters, for changing one field.

pub const CLUSTER: usize = 512;
pub const L1: usize = 512;
pub const L2: usize = 1024;
/// The first data cluster, and the second one.
pub const DATA: usize = 1536;
pub const MORE: usize = 2048;
pub const COMPRESSED: u64 = 1 << 62;
/// The length of a file of `small`.
pub const END: usize = MORE + CLUSTER;

/// The types of header extensions.
pub const BACKING_FORMAT: u32 = 0xe279_2aca;
pub const DATA_FILE: u32 = 0x4441_5441;

pub type Patch<'a> = &'a [(usize, &'a [u8])];

/// `image` with changes; it grows if they are after its end.
pub fn changed(mut image: Vec<u8>, patches: Patch) -> Vec<u8> {
    for (at, bytes) in patches {
        if image.len() < at + bytes.len() {
            image.resize(at + bytes.len(), 0);
        }
        image[*at..at + bytes.len()].copy_from_slice(bytes);
    }
    image
}

/// The smallest image with all parts: version 3, clusters of 512 bytes, a disk of 8 clusters of
/// which the first two hold data.
pub fn small() -> Vec<u8> {
    let entry = |host: usize| (host as u64 | 1 << 63).to_be_bytes();
    changed(
        vec![0; END],
        &[
            (0, b"QFI\xfb\0\0\0\x03"),
            (20, &9u32.to_be_bytes()),
            (24, &(8 * CLUSTER as u64).to_be_bytes()),
            (36, &1u32.to_be_bytes()),
            (40, &(L1 as u64).to_be_bytes()),
            (96, &4u32.to_be_bytes()),
            (100, &104u32.to_be_bytes()),
            (L1, &entry(L2)),
            (L2, &entry(DATA)),
            (L2 + 8, &entry(MORE)),
            (DATA, &[0xaa; CLUSTER]),
            (MORE, &[0xbb; CLUSTER]),
        ],
    )
}

/// The disk of `small`.
pub fn small_disk() -> Vec<u8> {
    let mut disk = vec![0; 8 * CLUSTER];
    disk[..CLUSTER].fill(0xaa);
    disk[CLUSTER..2 * CLUSTER].fill(0xbb);
    disk
}

/// A header extension with its padding.
pub fn extension(kind: u32, content: &[u8]) -> Vec<u8> {
    let mut bytes = [kind.to_be_bytes(), (content.len() as u32).to_be_bytes()].concat();
    bytes.extend(content);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}

/// `small` over a backing file, whose format may be stated. Only its first cluster is allocated.
pub fn overlay(backing: &str, format: Option<&str>) -> Vec<u8> {
    let extensions = format.map_or(Vec::new(), |format| extension(BACKING_FORMAT, format.as_bytes()));
    changed(
        small(),
        &[
            (8, &300u64.to_be_bytes()),
            (16, &(backing.len() as u32).to_be_bytes()),
            (104, &extensions),
            (300, backing.as_bytes()),
            (L2 + 8, &[0; 8]),
        ],
    )
}

/// `small` with an external data file, where guest offsets equal host offsets.
pub fn with_data_file(name: &str) -> Vec<u8> {
    changed(
        small(),
        &[
            (79, &[4]),
            (104, &extension(DATA_FILE, name.as_bytes())),
            (L2, &(1u64 << 63).to_be_bytes()),
            (L2 + 8, &(CLUSTER as u64 | 1 << 63).to_be_bytes()),
        ],
    )
}

/// The positions of the snapshot table of `with_snapshot`, and of the L1 and L2 tables of its snapshot.
pub const SNAPSHOTS: usize = END.next_multiple_of(CLUSTER);
pub const SNAPSHOT_L1: usize = SNAPSHOTS + CLUSTER;
pub const SNAPSHOT_L2: usize = SNAPSHOT_L1 + CLUSTER;

/// `small` with a snapshot, ID "7" and name "then", of a disk of 4 clusters whose first one is the
/// active disk's second.
pub fn with_snapshot() -> Vec<u8> {
    let extra = [[0; 8], (4 * CLUSTER as u64).to_be_bytes()].concat();
    let entry = [
        &(SNAPSHOT_L1 as u64).to_be_bytes()[..],
        &1u32.to_be_bytes(),
        &[0, 1, 0, 4],
        &[0; 16],
        &[0; 4],
        &(extra.len() as u32).to_be_bytes(),
        &extra,
        b"7then",
    ]
    .concat();
    changed(
        small(),
        &[
            (60, &1u32.to_be_bytes()),
            (64, &(SNAPSHOTS as u64).to_be_bytes()),
            (SNAPSHOTS, &entry),
            (SNAPSHOT_L1, &(SNAPSHOT_L2 as u64).to_be_bytes()),
            (SNAPSHOT_L2, &(MORE as u64).to_be_bytes()),
            (SNAPSHOT_L2 + CLUSTER - 1, &[0]),
        ],
    )
}

/// Parts of `extended`: clusters of 16 KiB, so subclusters of 512 bytes.
pub const BIG: usize = 16 << 10;
pub const BIG_L2: usize = 2 * BIG;
pub const BIG_DATA: usize = 3 * BIG;

/// An image with extended L2 entries: a disk of 4 clusters, of which the first one has data in its
/// first two subclusters, zeros in the third, and nothing else.
pub fn extended() -> Vec<u8> {
    let bitmap = (0b100u64 << 32) | 0b11;
    changed(
        vec![0; BIG_DATA + BIG],
        &[
            (0, b"QFI\xfb\0\0\0\x03"),
            (20, &14u32.to_be_bytes()),
            (24, &(4 * BIG as u64).to_be_bytes()),
            (36, &1u32.to_be_bytes()),
            (40, &(BIG as u64).to_be_bytes()),
            (79, &[16]),
            (96, &4u32.to_be_bytes()),
            (100, &104u32.to_be_bytes()),
            (BIG, &(BIG_L2 as u64 | 1 << 63).to_be_bytes()),
            (BIG_L2, &(BIG_DATA as u64 | 1 << 63).to_be_bytes()),
            (BIG_L2 + 8, &bitmap.to_be_bytes()),
            (BIG_DATA, &[0xcc; BIG]),
        ],
    )
}

/// The disk of `extended`.
pub fn extended_disk() -> Vec<u8> {
    let mut disk = vec![0; 4 * BIG];
    disk[..1024].fill(0xcc);
    disk
}
