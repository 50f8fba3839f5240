//! VHD without a parent.

use super::{Reference, little};

const SECTOR: u64 = 512;

pub struct Vhd<'a> {
    image: &'a [u8],
    size: u64,
    /// The block allocation table and the size of a block; `None` if the disk is the start of the file.
    blocks: Option<(u64, u64)>,
}

fn big(image: &[u8], at: u64, len: usize) -> Option<u64> {
    let number = little(image, at, len)?.to_le_bytes();
    Some(number[..len].iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

/// Whether the structure of `len` bytes at `at` has this cookie, and the checksum of its bytes at `sum_at`.
fn is_intact(image: &[u8], at: u64, len: usize, cookie: &[u8], sum_at: u64) -> Option<bool> {
    let start = usize::try_from(at).ok()?;
    let bytes = image.get(start..start.checked_add(len)?)?;
    let stated = big(bytes, sum_at, 4)?;
    let all: u64 = bytes.iter().map(|&byte| u64::from(byte)).sum();
    let own: u64 = stated.to_be_bytes().iter().map(|&byte| u64::from(byte)).sum();
    Some(bytes.starts_with(cookie) && u64::from(!((all - own) as u32)) == stated)
}

impl<'a> Vhd<'a> {
    /// `None` if the image is not supported.
    pub fn open(image: &'a [u8]) -> Option<Self> {
        let end = (image.len() as u64).checked_sub(SECTOR)?;
        let footer = [end, 0].into_iter().find(|&at| is_intact(image, at, 512, b"conectix", 64) == Some(true))?;
        let size = big(image, footer + 48, 8)?;
        // Programs disagree on the size if the geometry has another one.
        let geometry = big(image, footer + 56, 2)? * big(image, footer + 58, 1)? * big(image, footer + 59, 1)? * SECTOR;
        if big(image, footer + 12, 2)? != 1 || (geometry != 0 && geometry != size) {
            return None;
        }
        match big(image, footer + 60, 4)? {
            2 => (footer == end && size <= end).then_some(Self { image, size, blocks: None }),
            3 => {
                let header = big(image, footer + 16, 8)?;
                let is_header =
                    is_intact(image, header, 1024, b"cxsparse", 36)? && big(image, header + 24, 4)? == 0x1_0000;
                let (table, entries, block) =
                    (big(image, header + 16, 8)?, big(image, header + 28, 4)?, big(image, header + 32, 4)?);
                let holds = block >= 4096 && block.is_power_of_two() && size <= entries * block;
                (is_header && holds).then_some(Self { image, size, blocks: Some((table, block)) })
            }
            _ => None,
        }
    }
}

impl Reference for Vhd<'_> {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&self, guest: u64, len: usize) -> Option<Vec<u8>> {
        let stored = |at: u64| {
            let at = usize::try_from(at).ok()?;
            self.image.get(at..at.checked_add(len)?).map(<[u8]>::to_vec)
        };
        let Some((table, block)) = self.blocks else { return stored(guest) };
        match big(self.image, table.checked_add(guest / block * 4)?, 4)? {
            0 => None,
            0xffff_ffff => Some(vec![0; len]),
            sector => {
                let bitmap = sector * SECTOR;
                let number = guest % block / SECTOR;
                let bits = big(self.image, bitmap + number / 8, 1)?;
                if bits & (0x80 >> (number % 8)) == 0 {
                    return Some(vec![0; len]);
                }
                stored(bitmap + (block / SECTOR / 8).next_multiple_of(SECTOR) + guest % block)
            }
        }
    }
}
