//! QED without a backing file.

use super::{Reference, little};

pub struct Qed<'a> {
    image: &'a [u8],
    size: u64,
    cluster: u64,
    entries: u64,
    l1: u64,
}

impl<'a> Qed<'a> {
    /// `None` if the image is not supported.
    pub fn open(image: &'a [u8]) -> Option<Self> {
        const BACKING_FILE: u64 = 1;
        let cluster = little(image, 4, 4)?;
        (image.starts_with(b"QED\0") && little(image, 16, 8)? & BACKING_FILE == 0).then_some(Self {
            image,
            size: little(image, 48, 8)?,
            cluster,
            entries: little(image, 8, 4)? * cluster / 8,
            l1: little(image, 40, 8)?,
        })
    }
}

impl Reference for Qed<'_> {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&self, guest: u64, len: usize) -> Option<Vec<u8>> {
        let number = guest / self.cluster;
        let table = little(self.image, self.l1 + number / self.entries * 8, 8)?;
        if table == 0 {
            return Some(vec![0; len]);
        }
        match little(self.image, table + number % self.entries * 8, 8)? {
            0 | 1 => Some(vec![0; len]),
            cluster => {
                let host = usize::try_from(cluster + guest % self.cluster).ok()?;
                self.image.get(host..host + len).map(<[u8]>::to_vec)
            }
        }
    }
}
