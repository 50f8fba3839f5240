//! qcow2 without backing file, data file, encryption and zstd.

use super::Reference;

/// The bytes of a disk.
pub struct Qcow2<'a> {
    image: &'a [u8],
    cluster_bits: u32,
    size: u64,
    l1_offset: u64,
    l1_size: u64,
    extended: bool,
}

fn word(image: &[u8], at: u64) -> Option<u64> {
    let at = usize::try_from(at).ok()?;
    Some(u64::from_be_bytes(image.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

fn half(image: &[u8], at: u64) -> Option<u64> {
    word(image, at).map(|word| word >> 32)
}

const OFFSET: u64 = 0x00ff_ffff_ffff_fe00;

impl<'a> Qcow2<'a> {
    /// `None` if the image is not supported.
    pub fn open(image: &'a [u8]) -> Option<Self> {
        let version = half(image, 4)?;
        let cluster_bits = half(image, 20)? as u32;
        let features = if version == 3 { word(image, 72)? } else { 0 };
        let (dirty_or_corrupt, extended) = (3, 16);
        let known = image.starts_with(b"QFI\xfb")
            && (version == 2 || version == 3)
            && word(image, 8)? == 0
            && (9..=21).contains(&cluster_bits)
            && half(image, 32)? == 0
            && features & !(dirty_or_corrupt | extended) == 0;
        known.then_some(Self {
            image,
            cluster_bits,
            size: word(image, 24)? / 512 * 512,
            l1_offset: word(image, 40)?,
            l1_size: half(image, 36)?,
            extended: features & extended != 0,
        })
    }

    fn cluster_size(&self) -> u64 {
        1 << self.cluster_bits
    }

    fn decompress(&self, entry: u64) -> Option<Vec<u8>> {
        let split = 62 - (self.cluster_bits - 8);
        let host = entry & ((1 << split) - 1);
        let sectors = (entry & ((1 << 62) - 1)) >> split;
        let end = (host / 512 + sectors + 1) * 512;
        let (host, end) = (usize::try_from(host).ok()?, usize::try_from(end).ok()?);
        let stream = self.image.get(host..end.min(self.image.len()))?;
        let size = self.cluster_size() as usize;
        let bytes = match miniz_oxide::inflate::decompress_to_vec_with_limit(stream, size) {
            Ok(bytes) => bytes,
            Err(error) => error.output,
        };
        (bytes.len() >= size).then_some(bytes)
    }
}

impl Reference for Qcow2<'_> {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&self, guest: u64, len: usize) -> Option<Vec<u8>> {
        let entry_size = if self.extended { 16 } else { 8 };
        let per_table = self.cluster_size() / entry_size;
        let number = guest / self.cluster_size();
        let within = guest % self.cluster_size();
        let (l1_index, l2_index) = (number / per_table, number % per_table);
        if l1_index >= self.l1_size {
            return None;
        }
        let table = word(self.image, self.l1_offset.checked_add(l1_index * 8)?)? & OFFSET;
        if table == 0 {
            return Some(vec![0; len]);
        }
        let entry = word(self.image, table + l2_index * entry_size)?;
        if entry & 1 << 62 != 0 {
            return Some(self.decompress(entry)?[within as usize..][..len].to_vec());
        }
        let has_data = if self.extended {
            let bitmap = word(self.image, table + l2_index * entry_size + 8)?;
            let subcluster = within / (self.cluster_size() / 32);
            let (allocated, zero) = (bitmap >> subcluster & 1 == 1, bitmap >> (32 + subcluster) & 1 == 1);
            allocated && !zero
        } else {
            entry & OFFSET != 0 && entry & 1 == 0
        };
        if !has_data {
            return Some(vec![0; len]);
        }
        let host = usize::try_from((entry & OFFSET) + within).ok()?;
        self.image.get(host..host + len).map(<[u8]>::to_vec)
    }
}
