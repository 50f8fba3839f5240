//! VDI without a parent.

use super::{Reference, little};

pub struct Vdi<'a> {
    image: &'a [u8],
    size: u64,
    block: u64,
    extra: u64,
    map: u64,
    data: u64,
}

impl<'a> Vdi<'a> {
    /// `None` if the image is not supported.
    pub fn open(image: &'a [u8]) -> Option<Self> {
        if little(image, 64, 4)? != 0xbeda_107f {
            return None;
        }
        let number = |at| little(image, at, 4);
        let (disk, parent) = match number(68)? {
            2 => {
                let map = 72 + 348;
                let disk = Self {
                    image,
                    size: little(image, 352, 8)?,
                    block: number(360)?,
                    extra: 0,
                    map,
                    data: map + 4 * number(364)?,
                };
                (disk, 404)
            }
            0x0001_0001 => {
                let disk = Self {
                    image,
                    size: little(image, 368, 8)?,
                    block: number(376)?,
                    extra: number(380)?,
                    map: number(340)?,
                    data: number(344)?,
                };
                (disk, 424)
            }
            _ => return None,
        };
        (image.get(parent..parent + 16)? == [0; 16]).then_some(disk)
    }
}

impl Reference for Vdi<'_> {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&self, guest: u64, len: usize) -> Option<Vec<u8>> {
        match little(self.image, self.map + guest / self.block * 4, 4)? {
            0xffff_fffe | 0xffff_ffff => Some(vec![0; len]),
            number => {
                let host = self.data + number * (self.extra + self.block) + self.extra + guest % self.block;
                let host = usize::try_from(host).ok()?;
                self.image.get(host..host + len).map(<[u8]>::to_vec)
            }
        }
    }
}
