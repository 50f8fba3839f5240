//! Second readers, as plain as the specifications: one cluster at a time, no jobs, no windows, nothing shared with the
//! crate. They support single images, and return `None` for everything else.

mod deflate64;
pub mod luks;
mod parallels;
mod qcow2;
mod qed;
mod vdi;
mod vhd;
mod vhdx;
mod vmdk;
pub mod zip;

use super::files::Files;

/// The bytes of a disk.
pub trait Reference {
    /// The size of the disk, in bytes.
    fn size(&self) -> u64;

    /// The `len` bytes at `guest`, all in one block of 512; `None` if they cannot be read.
    fn read(&self, guest: u64, len: usize) -> Option<Vec<u8>>;
}

/// Reads the image of `files` in its format; `None` if no reader supports it.
pub fn open(files: &Files) -> Option<Box<dyn Reference + '_>> {
    let image = &files.image[..];
    if let Some(password) = files.password.as_ref().filter(|_| image.starts_with(b"LUKS\xba\xbe")) {
        return luks::Luks::open(image, password).map(|disk| Box::new(disk) as Box<dyn Reference>);
    }
    let qcow2 = || qcow2::Qcow2::open(image).map(|disk| Box::new(disk) as Box<dyn Reference>);
    let vdi = || vdi::Vdi::open(image).map(|disk| Box::new(disk) as Box<dyn Reference>);
    let qed = || qed::Qed::open(image).map(|disk| Box::new(disk) as Box<dyn Reference>);
    let vhd = || vhd::Vhd::open(image).map(|disk| Box::new(disk) as Box<dyn Reference>);
    let vhdx = || vhdx::Vhdx::open(image).map(|disk| Box::new(disk) as Box<dyn Reference>);
    let parallels = || parallels::Parallels::open(image).map(|disk| Box::new(disk) as Box<dyn Reference>);
    let vmdk = || vmdk::Vmdk::open(files).map(|disk| Box::new(disk) as Box<dyn Reference>);
    qcow2().or_else(vdi).or_else(qed).or_else(vhd).or_else(vhdx).or_else(parallels).or_else(vmdk)
}

/// The number of `len` bytes at `at`, the least significant first.
pub(super) fn little(image: &[u8], at: u64, len: usize) -> Option<u64> {
    let at = usize::try_from(at).ok()?;
    Some(image.get(at..at.checked_add(len)?)?.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}
