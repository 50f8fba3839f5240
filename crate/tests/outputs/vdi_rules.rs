//! The strict reader of VDI refuses an image that breaks one of its rules: each rule has a negative case.

use super::rules::{Row, are_enforced, put};
use super::vdi;

const MAP: usize = 1 << 20;

/// Of an image of three blocks, of which the second one is zeros.
const ROWS: &[Row] = &[
    ("the text at the start", |file| file[0] ^= 1),
    ("the signature of the file", |file| file[64] ^= 1),
    ("the version is that of VirtualBox", |file| file[68] = 2),
    ("the length of the header", |file| put(file, 72, &384u32.to_le_bytes())),
    ("the type is dynamic or fixed", |file| file[76] = 4),
    ("no flags", |file| file[80] = 1),
    ("no comment", |file| file[100] = 1),
    ("the first geometry has sectors of 512 bytes, and nothing else", |file| put(file, 360, &[0; 4])),
    ("the second geometry has sectors of 512 bytes, and nothing else", |file| put(file, 468, &[0; 4])),
    ("reserved bytes of the header", |file| file[364] = 1),
    ("the size of the disk", |file| file[368] = 1),
    ("blocks have 1 MiB", |file| put(file, 376, &(2u32 << 20).to_le_bytes())),
    ("blocks have nothing before their data", |file| put(file, 380, &512u32.to_le_bytes())),
    ("the number of blocks", |file| file[384] = 4),
    ("the map is after the header, at a whole MiB", |file| put(file, 340, &512u32.to_le_bytes())),
    ("blocks are after the map, at a whole MiB", |file| put(file, 344, &(1u32 << 20).to_le_bytes())),
    ("the identifiers of the disk and of its state", |file| put(file, 408, &[0; 16])),
    ("the two identifiers differ", |file| file.copy_within(392..408, 408)),
    ("no parent", |file| file[424] = 1),
    ("nothing between the header and the map", |file| file[472] = 1),
    ("nothing between the map and the blocks", |file| file[MAP + 12] = 1),
    ("a fixed disk has all blocks", |file| file[76] = 2),
    ("blocks follow one another in guest order", |file| file[MAP + 8] = 0),
    ("blocks are whole, and inside the file", |file| file.truncate(file.len() - 1)),
    ("a block of zeros is not in the file", |file| file[2 << 20..3 << 20].fill(0)),
    ("the number of blocks in the file", |file| file[388] = 1),
    ("the file ends with its last block", |file| file.push(0)),
    ("nothing after the disk", |file| *file.last_mut().unwrap() = 1),
];

#[test]
fn each_rule_is_enforced() {
    are_enforced("vdi", &[], ROWS, include_str!("vdi.rs"), |file| vdi::read(file).map(|found| found.disk));
}
