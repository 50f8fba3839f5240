//! VHDX without a parent and without a log that is in use.

use super::super::vhdx::{BAT_REGION, METADATA_REGION, crc32c, guid};
use super::{Reference, little};

const HEADERS: [u64; 2] = [64 << 10, 128 << 10];
const REGION_TABLES: [u64; 2] = [192 << 10, 256 << 10];
const MIB: u64 = 1 << 20;

pub struct Vhdx<'a> {
    image: &'a [u8],
    size: u64,
    table: u64,
    block: u64,
    /// The number of blocks before the entry of a sector bitmap.
    chunk: u64,
}

/// Whether the structure of `len` bytes at `at` has this signature, and the checksum of its bytes.
fn is_intact(image: &[u8], at: u64, len: usize, signature: &[u8]) -> bool {
    let Some(bytes) = image.get(at as usize..).and_then(|bytes| bytes.get(..len)) else { return false };
    let mut zeroed = bytes.to_vec();
    zeroed[4..8].fill(0);
    bytes.starts_with(signature) && bytes[4..8] == crc32c(&zeroed).to_le_bytes()
}

/// The position of the one of `count` entries of 32 bytes after `at` that begins with the GUID `id`.
fn entry(image: &[u8], at: u64, count: u64, id: u128) -> Option<u64> {
    let is_it = |at: &u64| image.get(*at as usize..).is_some_and(|bytes| bytes.starts_with(&guid(id)));
    (0..count).map(|number| at + 32 * number).find(is_it)
}

impl<'a> Vhdx<'a> {
    /// `None` if the image is not supported.
    pub fn open(image: &'a [u8]) -> Option<Self> {
        if !image.starts_with(b"vhdxfile") {
            return None;
        }
        let headers = HEADERS.into_iter().filter(|&at| is_intact(image, at, 4096, b"head"));
        let header = headers.max_by_key(|at| little(image, at + 8, 8))?;
        if little(image, header + 66, 2)? != 1 || image.get(header as usize + 48..)?[..16] != [0; 16] {
            return None;
        }
        let regions = REGION_TABLES.into_iter().find(|&at| is_intact(image, at, 64 << 10, b"regi"))?;
        let count = little(image, regions + 8, 4)?;
        let place = |id| little(image, entry(image, regions + 16, count, id)? + 16, 8);
        let (table, metadata) = (place(BAT_REGION)?, place(METADATA_REGION)?);
        let count = little(image, metadata + 10, 2)?;
        let item = |id, at, len| {
            let entry = entry(image, metadata + 32, count, id)?;
            little(image, metadata + little(image, entry + 16, 4)? + at, len)
        };
        let parameters = 0xcaa1_6737_fa36_4d43_b3b6_33f0_aa44_e76b;
        let (block, flags) = (item(parameters, 0, 4)?, item(parameters, 4, 4)?);
        let size = item(0x2fa5_4224_cd1b_4876_b211_5dbe_d83b_f4b8, 0, 8)?;
        let sector = item(0x8141_bf1d_a96f_4709_ba47_f233_a8fa_ab5f, 0, 4)?;
        let is_supported = flags & 2 == 0 && block.is_power_of_two() && block >= MIB && [512, 4096].contains(&sector);
        is_supported.then(|| Self { image, size, table, block, chunk: (sector << 23) / block })
    }
}

impl Reference for Vhdx<'_> {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&self, guest: u64, len: usize) -> Option<Vec<u8>> {
        let number = guest / self.block;
        let entry = little(self.image, self.table + 8 * (number + number / self.chunk), 8)?;
        match entry & 7 {
            0..=3 | 5 => Some(vec![0; len]),
            6 => {
                let at = usize::try_from((entry & !(MIB - 1)).checked_add(guest % self.block)?).ok()?;
                self.image.get(at..at.checked_add(len)?).map(<[u8]>::to_vec)
            }
            _ => None,
        }
    }
}
