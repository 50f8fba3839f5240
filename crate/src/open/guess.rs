//! Whether what lies in a container and is in no known format may be a raw disk.

use crate::compress::is_zero;
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::{Source, read_exact};
use crate::offsets::{ByteRange, HostOffset, SECTOR};

/// Signs are looked for in this many bytes from the start.
pub const REACH: u64 = 1 << 20;

/// Bytes that a raw disk may have at an offset, by the specification of what writes them there: partition tables, file systems,
/// volumes. LUKS and ISO 9660 are formats of their own here.
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
    // RAID of Linux, versions 1.1 and 1.2.
    (0, &[0xfc, 0x4e, 0x2b, 0xa9]),
    (4096, &[0xfc, 0x4e, 0x2b, 0xa9]),
];

/// The end of the first page of a swap area.
const SWAP: [&[u8]; 2] = [b"SWAPSPACE2", b"SWAP-SPACE"];
const PAGES: [usize; 5] = [4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10];

/// Where ZFS keeps its uberblocks, at steps of 1 KiB at least, and how one begins, in either order of bytes.
const UBERBLOCKS: std::ops::Range<usize> = 128 << 10..256 << 10;
const UBERBLOCK: u64 = 0x00ba_b10c;

/// Whether `start`, the first [`REACH`] bytes of a file, or all it has, are those of a raw disk: a known signature, or zeros.
pub fn has_sign(start: &[u8]) -> bool {
    let is_at = |offset: usize, sign: &[u8]| start.get(offset..offset + sign.len()) == Some(sign);
    let is_swap = |page: usize| SWAP.iter().any(|sign| is_at(page - sign.len(), sign));
    let is_uberblock = |at: usize| is_at(at, &UBERBLOCK.to_le_bytes()) || is_at(at, &UBERBLOCK.to_be_bytes());
    SIGNS.iter().any(|(offset, sign)| is_at(*offset, sign))
        || PAGES.into_iter().any(is_swap)
        || UBERBLOCKS.step_by(1 << 10).any(is_uberblock)
        || is_zero(start)
}

/// Whether a file of `size` bytes may be a raw disk by that alone.
pub fn is_whole_sectors(size: u64) -> bool {
    size.is_multiple_of(SECTOR)
}

/// Checks `source`, which begins with `head`. Fails with `not-recognised` unless it may be a raw disk.
pub async fn require_disk(mut head: Vec<u8>, source: &dyn Source) -> Result<()> {
    let size = source.size();
    if is_whole_sectors(size) || (has_sign(&head) && !is_zero(&head)) {
        return Ok(());
    }
    let known = head.len() as u64;
    let rest = ByteRange { start: HostOffset(known), len: size.min(REACH).saturating_sub(known) };
    head.extend(read_exact(source, rest, "start of the file").await?);
    if has_sign(&head) { Ok(()) } else { Err(no_disk()) }
}

/// The error for what has no sign of a raw disk.
pub fn no_disk() -> Error {
    let message = "The file is in no disk image format that Decant recognises and does not look like a raw disk: it has \
                   neither a partition table nor a known file system, and its size is not a multiple of 512 bytes; if it is \
                   one, unpack it and state the format raw";
    Error::new(ErrorKind::NotRecognised, message).coded("not-a-disk")
}
