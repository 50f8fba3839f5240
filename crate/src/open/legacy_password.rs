//! Checks a password for the legacy encryption method, which cannot verify one: the decrypted disk must begin with a
//! known structure.

use crate::crypt::{Ciphers, Keys};
use crate::disk::extent::{ExtentKind, Extents};
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::{Files, zeroed};
use crate::modules::prepare;
use crate::offsets::SECTOR;

/// Length of the start of the disk to examine, in bytes: up to the superblock of btrfs.
const START: u64 = 68 << 10;

/// Decrypts the encrypted data at the start of the layer that `extents` lists, by `keys`. Fails with `password` if it has no known
/// structure, and as reading does.
pub(super) async fn check_legacy(mut extents: Extents, files: &Files, keys: &Keys) -> Result<()> {
    prepare(&decant_crypt::MODULE).await?;
    let mut ciphers = Ciphers::default();
    let (mut stored, mut disk) = (zeroed(START as usize)?, zeroed(START as usize)?);
    let mut batch = Vec::new();
    while batch.last().is_none_or(|last: &crate::disk::extent::Extent| last.end().0 < START) {
        if !extents.next(&mut batch).await? {
            break;
        }
    }
    for extent in batch.iter().filter(|extent| extent.start.0 < START) {
        // Unencrypted data proves nothing about the key.
        let ExtentKind::Data { file, host, encrypted: Some(how) } = extent.kind else { continue };
        let range = extent.start.0 as usize..extent.end().0.min(START) as usize;
        let stored = &mut stored[range.clone()];
        files[usize::from(file.0)].read_at(host, stored).await?;
        let sector = if how.by_guest { extent.start.0 } else { host.0 } / SECTOR;
        let cipher = ciphers.get(keys, how.cipher)?;
        Ciphers::decrypt_async(&cipher, sector, stored, &mut disk[range]).await?;
    }
    if looks_like_a_disk(&disk) {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Password,
        "The password is wrong, or the disk has an unknown start: the old encryption method cannot verify a password, \
         and the decrypted disk begins with neither a partition table nor a known file system; if you are sure of the \
         password, accept it without a check",
    )
    .coded("password-unconfirmed"))
}

/// Signatures too long to occur in noise: (offset, bytes).
const SIGNATURES: &[(usize, &[u8])] = &[
    (0, b"XFSB"),
    (0, b"LUKS\xba\xbe"),
    (0, b"hsqs"),
    (3, b"NTFS    "),
    (3, b"EXFAT   "),
    (512, b"EFI PART"),
    (512, b"LABELONE"),
    (4086, b"SWAPSPACE2"),
    (32_769, b"CD001"),
    (65_600, b"_BHRfS_M"),
];

fn looks_like_a_disk(disk: &[u8]) -> bool {
    SIGNATURES.iter().any(|&(at, bytes)| disk[at..].starts_with(bytes)) || has_boot_sector(disk) || has_ext(disk)
}

/// The boot signature alone has two bytes, which occur in noise, so a partition table or a FAT must be present too.
fn has_boot_sector(disk: &[u8]) -> bool {
    let partitions = disk[446..510].chunks_exact(16);
    let is_table =
        partitions.clone().all(|entry| matches!(entry[0], 0 | 0x80)) && partitions.clone().any(|entry| entry[4] != 0);
    let is_fat = matches!(disk[0], 0xeb | 0xe9) && (disk[54..].starts_with(b"FAT") || disk[82..].starts_with(b"FAT"));
    disk[510..].starts_with(&[0x55, 0xaa]) && (is_table || is_fat)
}

/// Checks the magic number of ext2 to ext4, and two fields of the superblock.
fn has_ext(disk: &[u8]) -> bool {
    let superblock = &disk[1024..];
    let (block_size, revision) = (superblock[24], superblock[76]);
    superblock[56..].starts_with(&[0x53, 0xef]) && block_size <= 6 && revision <= 1
}
