//! The CRC-64 of xz (the .xz file format, section 6): the reflected one of ECMA-182.

use std::sync::LazyLock;

const POLYNOMIAL: u64 = 0xc96c_5795_d787_0f42;

/// Number of bytes that are added at once.
const STRIDE: usize = 16;

/// For each position in a stride, the remainder of each byte value with the zeros that follow it in the stride. Computed on first use:
/// the table would be 32 KiB to load.
static REMAINDERS: LazyLock<[[u64; 256]; STRIDE]> = LazyLock::new(|| {
    let mut tables = [[0; 256]; STRIDE];
    for byte in 0..256 {
        let mut value = byte as u64;
        for table in tables.iter_mut().rev() {
            for _ in 0..8 {
                value = value >> 1 ^ if value & 1 == 1 { POLYNOMIAL } else { 0 };
            }
            table[byte] = value;
        }
    }
    tables
});

/// The CRC of the bytes added so far.
pub(crate) struct Crc64(u64);

impl Default for Crc64 {
    fn default() -> Self {
        Self(u64::MAX)
    }
}

impl Crc64 {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        let tables = &*REMAINDERS;
        let (strides, rest) = bytes.as_chunks::<STRIDE>();
        for stride in strides {
            let mixed = (u128::from_le_bytes(*stride) ^ u128::from(self.0)).to_le_bytes();
            self.0 = tables.iter().zip(mixed).fold(0, |sum, (table, byte)| sum ^ table[usize::from(byte)]);
        }
        for byte in rest {
            self.0 = self.0 >> 8 ^ tables[STRIDE - 1][usize::from(self.0 as u8 ^ byte)];
        }
    }

    pub(crate) fn value(&self) -> u64 {
        !self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_value_and_parts() {
        let mut whole = Crc64::default();
        whole.add(b"123456789");
        assert_eq!(whole.value(), 0x995d_c9bb_df19_39fa);
        let bytes: Vec<u8> = (0..100).map(|at| (at * at) as u8).collect();
        let mut expected = Crc64::default();
        expected.add(&bytes);
        for middle in 0..100 {
            let mut crc = Crc64::default();
            crc.add(&bytes[..middle]);
            crc.add(&bytes[middle..]);
            assert_eq!(crc.value(), expected.value());
        }
    }
}
