//! Decides whether unrecognised content of a container may be a raw disk.

use crate::compress::is_zero;
use crate::error::{Error, ErrorKind, Result};
use crate::format::HEAD;
use crate::io::source::{Source, read_start};
use crate::offsets::SECTOR;

/// Length, in bytes, of the start that is searched for signatures.
pub(super) const REACH: u64 = 1 << 20;

/// All signatures but those of ZFS end before this offset, in bytes.
pub(super) const COMMON_REACH: u64 = 68 << 10;

/// Signatures that the specifications of partition tables, file systems and volumes put at fixed offsets of a raw disk:
/// (offset, bytes). LUKS and ISO 9660 are formats here.
const SIGNS: &[(usize, &[u8])] = &[
    // MBR, and the boot sectors of FAT, exFAT, NTFS and HPFS.
    (510, &[0x55, 0xaa]),
    // GPT, on sectors of 512 bytes and of 4 KiB.
    (512, b"EFI PART"),
    (4096, b"EFI PART"),
    // Partition tables of Apple, BSD, Sun and Amiga.
    (512, b"PM\0\0"),
    (512, &[0x57, 0x45, 0x56, 0x82]),
    (508, &[0xda, 0xbe]),
    (0, b"RDSK"),
    // ext2, ext3, ext4.
    (1080, &[0x53, 0xef]),
    (0, b"XFSB"),
    (65_600, b"_BHRfS_M"),
    // bcache and bcachefs.
    (4120, &[0xc6, 0x85, 0x73, 0xf6]),
    // F2FS, EROFS, NILFS2.
    (1024, &[0x10, 0x20, 0xf5, 0xf2]),
    (1024, &[0xe2, 0xe1, 0xf5, 0xe0]),
    (1030, &[0x34, 0x34]),
    // HFS, HFS+, HFSX, APFS.
    (1024, b"BD"),
    (1024, b"H+\0\x04"),
    (1024, b"HX\0\x05"),
    (32, b"NXSB"),
    (3, b"ReFS\0\0\0\0"),
    (65_588, b"ReIsEr"),
    (32_768, b"JFS1"),
    // UFS1 and UFS2.
    (9564, &[0x54, 0x19, 0x01, 0x00]),
    (66_908, &[0x19, 0x01, 0x54, 0x19]),
    // GFS2.
    (65_536, &[0x01, 0x16, 0x19, 0x70]),
    (0, b"hsqs"),
    (0, &[0x45, 0x3d, 0xcd, 0x28]),
    (0, b"-rom1fs-"),
    // UDF.
    (32_769, b"BEA01"),
    (32_769, b"NSR0"),
    // LVM2: one of the first four sectors.
    (0, b"LABELONE"),
    (512, b"LABELONE"),
    (1024, b"LABELONE"),
    (1536, b"LABELONE"),
    // Linux RAID, versions 1.1 and 1.2.
    (0, &[0xfc, 0x4e, 0x2b, 0xa9]),
    (4096, &[0xfc, 0x4e, 0x2b, 0xa9]),
];

/// Signatures at the end of the first page of a swap area, for every page size.
const SWAP: [&[u8]; 2] = [b"SWAPSPACE2", b"SWAP-SPACE"];
const PAGES: [usize; 5] = [4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10];

/// The range of ZFS uberblocks, spaced 1 KiB or more, and their magic number, in either byte order.
const UBERBLOCKS: std::ops::Range<usize> = 128 << 10..256 << 10;
static UBERBLOCK: [[u8; 8]; 2] = [0x00ba_b10c_u64.to_le_bytes(), 0x00ba_b10c_u64.to_be_bytes()];

/// Whether `start`, the first [`REACH`] bytes of a file or all of it, has a known signature or is all zeros.
pub(super) fn has_sign(start: &[u8]) -> bool {
    has_signature(start) || is_zero(start)
}

/// Whether `start`, as for [`has_sign`], shows which of several files is the disk: it has a known signature, and is not a text with the
/// bytes of one by chance.
pub(super) fn stands_out(start: &[u8]) -> bool {
    has_signature(start) && start[..start.len().min(HEAD as usize)].contains(&0)
}

/// Whether `start`, as for [`has_sign`], has a known signature.
pub(super) fn has_signature(start: &[u8]) -> bool {
    signatures().any(|signature| is_at(start, signature))
}

/// Whether the starts of two files, as for [`has_sign`], have a known signature in common.
pub(super) fn have_common_signature(one: &[u8], other: &[u8]) -> bool {
    signatures().any(|signature| is_at(one, signature) && is_at(other, signature))
}

/// All signatures, each with its offset.
fn signatures() -> impl Iterator<Item = (usize, &'static [u8])> {
    let of_swap = |page| SWAP.into_iter().map(move |sign| (page - sign.len(), sign));
    let uberblocks = |at| UBERBLOCK.iter().map(move |number| (at, &number[..]));
    let swap = PAGES.into_iter().flat_map(of_swap);
    SIGNS.iter().copied().chain(swap).chain(UBERBLOCKS.step_by(1 << 10).flat_map(uberblocks))
}

fn is_at(start: &[u8], (offset, sign): (usize, &[u8])) -> bool {
    start.get(offset..offset + sign.len()) == Some(sign)
}

/// The MBR: its signature, and its partition table with the fields of an entry, by offset in bytes.
const MBR_SIGNATURE: std::ops::Range<usize> = 510..512;
const PARTITIONS: std::ops::Range<usize> = 446..510;
const PARTITION: usize = 16;
const PARTITION_TYPE: usize = 4;
const PARTITION_SECTORS: std::ops::Range<usize> = 12..16;
/// The values of an entry's first byte: inactive, and active.
const STATUS: [u8; 2] = [0, 0x80];

/// Whether `start`, the first bytes of a file, have an MBR with a partition.
pub(super) fn has_partition(start: &[u8]) -> bool {
    let is_partition =
        |entry: &[u8]| STATUS.contains(&entry[0]) && entry[PARTITION_TYPE] != 0 && !is_zero(&entry[PARTITION_SECTORS]);
    start.get(MBR_SIGNATURE) == Some(&[0x55, 0xaa]) && start[PARTITIONS].chunks(PARTITION).any(is_partition)
}

/// Whether `size` bytes are whole sectors, as in any raw disk.
pub(crate) fn is_whole_sectors(size: u64) -> bool {
    size.is_multiple_of(SECTOR)
}

/// Checks that `source` may be a raw disk. Fails with `not-recognised` if not, and as reading it does.
pub(super) async fn require_disk(source: &dyn Source) -> Result<()> {
    if is_whole_sectors(source.size()) {
        return Ok(());
    }
    let head = read_start(source, HEAD).await?;
    if has_sign(&head) && !is_zero(&head) {
        return Ok(());
    }
    let start = read_start(source, REACH).await?;
    if has_sign(&start) { Ok(()) } else { Err(no_disk()) }
}

/// The error for content that does not look like a raw disk.
pub(super) fn no_disk() -> Error {
    let message = "The file is not in a known disk image format and does not look like a raw disk: it has neither a partition \
                   table nor a known file system, and its size is not a multiple of 512 bytes; if it is one, unpack it and \
                   state the format raw";
    Error::new(ErrorKind::NotRecognised, message).coded("not-a-disk")
}
