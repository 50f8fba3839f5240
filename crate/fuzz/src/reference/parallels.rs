//! Parallels images without snapshots.

use super::{Reference, little};

const SECTOR: u64 = 512;

pub struct Parallels<'a> {
    image: &'a [u8],
    sectors: u64,
    /// Sectors of a block.
    tracks: u64,
    /// Sectors of a unit of the table.
    unit: u64,
}

impl<'a> Parallels<'a> {
    /// `None` if the image is not supported.
    pub fn open(image: &'a [u8]) -> Option<Self> {
        let number = |at| little(image, at, 4);
        let tracks = number(28)?;
        let (sectors, unit) = match image.get(..16)? {
            b"WithoutFreeSpace" => (number(36)?, 1),
            b"WithouFreSpacExt" => (little(image, 36, 8)?, tracks),
            _ => return None,
        };
        (number(16)? == 2 && tracks > 0).then_some(Self { image, sectors, tracks, unit })
    }
}

impl Reference for Parallels<'_> {
    fn size(&self) -> u64 {
        self.sectors * SECTOR
    }

    fn read(&self, guest: u64, len: usize) -> Option<Vec<u8>> {
        let (sector, rest) = (guest / SECTOR, guest % SECTOR);
        match little(self.image, 64 + sector / self.tracks * 4, 4)? {
            0 => Some(vec![0; len]),
            entry => {
                let host = (entry * self.unit + sector % self.tracks).checked_mul(SECTOR)? + rest;
                let host = usize::try_from(host).ok()?;
                self.image.get(host..host + len).map(<[u8]>::to_vec)
            }
        }
    }
}
