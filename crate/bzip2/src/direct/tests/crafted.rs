//! Blocks that no program makes.

use super::packer::{Block, crc32, expanded, text};
use super::randomised::randomise;
use super::*;

/// A block with two codes of equal lengths, without a checksum.
fn block(column: Vec<u8>, origin: u32) -> Block {
    let mut block =
        Block { column, origin, is_randomised: false, lens: Vec::new(), selectors: Vec::new(), checksum: 0 };
    block.lens = vec![vec![9; block.used().len() + 2]; 2];
    block.selectors = vec![0; block.symbols().len().div_ceil(50)];
    block
}

/// Sets the checksum.
fn checked(mut block: Block) -> Block {
    block.checksum = expanded(&text(&block.column, block.origin)).map_or(0, |data| crc32(&data));
    block
}

/// Compares the results for `block`. Returns whether it was decoded.
fn is_decoded(block: &Block, name: &str) -> bool {
    let stream = block.stream().expect("each symbol has a code");
    assert_same(&stream, name);
    by_ours(&stream, usize::MAX, 1 << 16).is_ok_and(|(_, is_whole)| is_whole)
}

/// Most of these columns are of texts that repeat a part of the column, some not a whole number of times.
#[test]
fn any_column_from_any_row() {
    let mut next = noise(1);
    let mut decoded = 0;
    for seed in 0..600 {
        let len = [next(8) + 1, next(300) + 1, next(5000) + 1][seed as usize % 3];
        let different = [2, 3, 256][next(3)];
        let column = bytes(seed, len, different);
        let origin = next(len + len / 8 + 1) as u32;
        let block = block(column, origin);
        let block = if (origin as usize) < len { checked(block) } else { block };
        decoded += usize::from(is_decoded(&block, &format!("column {seed}")));
    }
    assert!(decoded > 300, "{decoded}");
}

#[test]
fn any_codes() {
    let mut next = noise(2);
    let (mut decoded, mut impossible) = (0, 0);
    for seed in 0..600 {
        let mut block = checked(block(bytes(seed, next(400) + 1, next(20) + 1), 0));
        let codes = next(5) + 2;
        let (shortest, longest) = [(1, 20), (4, 6), (9, 13), (5, 20)][next(4)];
        let symbols = block.used().len() + 2;
        let mut len = || (shortest + next(longest - shortest + 1)) as u8;
        block.lens = (0..codes).map(|_| (0..symbols).map(|_| len()).collect()).collect();
        let groups = block.selectors.len() + next(3);
        block.selectors = (0..groups).map(|_| next(codes) as u8).collect();
        let Some(stream) = block.stream() else {
            impossible += 1;
            continue;
        };
        assert_same(&stream, &format!("codes {seed}"));
        decoded += usize::from(by_ours(&stream, usize::MAX, 1 << 16).is_ok());
        // Somewhere among the symbols: a missing code, or other symbols.
        for _ in 0..4 {
            let mut changed = stream.clone();
            let bit = (stream.len() - 1 - next(stream.len() / 2)) * 8 + next(8);
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_same(&changed, &format!("codes {seed}, bit {bit} changed"));
        }
    }
    assert!(decoded > 400 && impossible > 40, "{decoded}, {impossible}");
}

#[test]
fn numbers_at_their_limits() {
    let valid = checked(block(bytes(1, 200, 30), 5));
    let with = |change: &dyn Fn(&mut Block)| {
        let mut changed = valid.clone();
        change(&mut changed);
        changed
    };
    let groups = |count| with(&|block: &mut Block| block.selectors.resize(count, 1));
    let codes = |count| with(&|block: &mut Block| block.lens.resize(count, block.lens[0].clone()));
    let unused_len = |len| with(&|block: &mut Block| block.lens[1][3] = len);
    for (name, block, is_valid) in [
        ("as it is", valid.clone(), true),
        ("the most groups", groups(18_002), true),
        ("a group too many", groups(18_003), true),
        ("as many as can be stated", groups(32_767), true),
        ("six codes", codes(6), true),
        ("seven codes", codes(7), false),
        ("one code", codes(1), false),
        ("a code of 20 bits", unused_len(20), true),
        ("a code of 21 bits", unused_len(21), false),
        ("a code of no bits", unused_len(0), false),
        ("the last row", checked(with(&|block| block.origin = 199)), true),
        ("a row after the last", with(&|block| block.origin = 200), false),
        ("a wrong checksum", with(&|block| block.checksum ^= 1), false),
    ] {
        assert_eq!(is_decoded(&block, name), is_valid, "{name}");
    }
    let stream = with(&|block| block.selectors.truncate(0)).stream();
    assert!(stream.is_none(), "without selectors, no symbol has a code");
}

#[test]
fn the_size_of_a_block_is_limited() {
    for (len, different) in [(99_999, 256), (100_000, 256), (100_001, 256), (100_001, 1), (100_300, 1), (3_000_000, 1)]
    {
        let column = bytes(3, len, different);
        let mut block = block(column, 0);
        if different > 1 {
            block = checked(block);
        }
        let valid = is_decoded(&block, &format!("{len} bytes, {different} different"));
        assert_eq!(valid, len <= 100_000, "{len}");
    }
}

#[test]
fn randomised_blocks() {
    let mut decoded = 0;
    for (seed, len) in [1, 617, 618, 619, 5000, 99_000].into_iter().enumerate() {
        let mut block = block(bytes(seed as u32, len, 256), 0);
        block.is_randomised = true;
        let mut text = text(&block.column, 0);
        randomise(&mut text);
        block.checksum = expanded(&text).map_or(0, |data| crc32(&data));
        decoded += usize::from(is_decoded(&block, &format!("{len} bytes")));
    }
    assert_eq!(decoded, 6);
}
