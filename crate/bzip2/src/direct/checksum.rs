//! The CRC-32 of bzip2: its polynomial is that of gzip, but the highest bit of a byte is first.

use std::sync::LazyLock;

/// x^26 + ... + 1 of the polynomial; x^32 is left out.
const POLYNOMIAL: u32 = 0x04c1_1db7;
/// The number of bytes that one turn takes.
const WIDTH: usize = 8;

/// For each number of bytes that follow: the remainders of one byte before them.
static TABLES: LazyLock<[[u32; 256]; WIDTH]> = LazyLock::new(tables);

fn tables() -> [[u32; 256]; WIDTH] {
    let shifted = |value: u32| value << 1 ^ if value >> 31 == 1 { POLYNOMIAL } else { 0 };
    let mut tables = [[0; 256]; WIDTH];
    tables[0] = std::array::from_fn(|byte| (0..8).fold((byte as u32) << 24, |value, _| shifted(value)));
    for following in 1..WIDTH {
        tables[following] = tables[following - 1].map(|value| value << 8 ^ tables[0][(value >> 24) as usize]);
    }
    tables
}

/// Returns the CRC of a message with the CRC `before`, followed by `bytes`. That of an empty message is 0.
pub(super) fn crc32(before: u32, bytes: &[u8]) -> u32 {
    let tables = &*TABLES;
    let (words, rest) = bytes.as_chunks::<WIDTH>();
    let value = words.iter().fold(!before, |value, word| {
        let mut word = *word;
        for (byte, before) in word.iter_mut().zip(value.to_be_bytes()) {
            *byte ^= before;
        }
        word.iter().zip(tables.iter().rev()).fold(0, |sum, (byte, table)| sum ^ table[usize::from(*byte)])
    });
    !rest.iter().fold(value, |value, byte| value << 8 ^ tables[0][usize::from((value >> 24) as u8 ^ byte)])
}

#[cfg(test)]
mod tests {
    use super::crc32;

    #[test]
    fn the_check_value_is_that_of_the_standard() {
        assert_eq!(crc32(0, b"123456789"), 0xfc89_1918);
        for split in 0..=20 {
            let (left, right) = b"12345678901234567890".split_at(split);
            assert_eq!(crc32(crc32(0, left), right), crc32(0, b"12345678901234567890"));
        }
    }
}
