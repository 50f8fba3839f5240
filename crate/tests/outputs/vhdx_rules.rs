//! The strict reader of VHDX refuses an image that breaks one of its rules: each rule has a negative case.

use super::rules::{Row, are_enforced, put};
use super::vhdx;
use crate::common::vhdx::seal;

const HEADER: usize = 64 << 10;
const SECOND_HEADER: usize = 128 << 10;
const REGIONS: usize = 192 << 10;
const SECOND_REGIONS: usize = 256 << 10;
const METADATA: usize = 2 << 20;
const ITEMS: usize = METADATA + (64 << 10);
const BAT: usize = 3 << 20;
const DATA: usize = 4 << 20;

const HEADERS: [usize; 2] = [HEADER, SECOND_HEADER];
const TABLES: [usize; 2] = [REGIONS, SECOND_REGIONS];

/// Writes `bytes` at `at` in both headers.
fn headers(file: &mut [u8], at: usize, bytes: &[u8]) {
    for header in HEADERS {
        put(file, header + at, bytes);
        seal(file, header, 4 << 10);
    }
}

/// Writes `bytes` at `at` in both region tables.
fn tables(file: &mut [u8], at: usize, bytes: &[u8]) {
    for table in TABLES {
        put(file, table + at, bytes);
        seal(file, table, 64 << 10);
    }
}

/// Of an image of three blocks, of which the second one is not in the file.
const ROWS: &[Row] = &[
    ("the signature of the file", |file| file[0] ^= 1),
    ("both headers have their checksum", |file| file[SECOND_HEADER + 100] ^= 1),
    ("both region tables have their checksum", |file| file[SECOND_REGIONS + 100] ^= 1),
    ("headers of one sequence number are identical", |file| {
        put(file, SECOND_HEADER + 8, &[0]);
        file[SECOND_HEADER + 20] ^= 1;
        seal(file, SECOND_HEADER, 4 << 10);
    }),
    ("the identifiers of the file and its content", |file| headers(file, 32, &[0; 16])),
    ("the log is empty", |file| headers(file, 48, &[1])),
    ("the versions of the log and of the file", |file| headers(file, 64, &[1])),
    ("the log has whole MiB after the header section", |file| headers(file, 72, &[0, 16])),
    ("the log is inside the file", |file| headers(file, 68, &(1u32 << 30).to_le_bytes())),
    ("the log has no entries", |file| put(file, 1 << 20, b"loge")),
    ("the rest of a header is zero", |file| headers(file, 80, &[1])),
    ("both region tables are alike", |file| {
        put(file, SECOND_REGIONS + 16 + 32 + 16, &(5u64 << 20).to_le_bytes());
        seal(file, SECOND_REGIONS, 64 << 10);
    }),
    ("the number of regions, and reserved bytes", |file| tables(file, 12, &[1])),
    ("regions are required, and have no other flag", |file| tables(file, 16 + 28, &[0])),
    ("regions have whole MiB after the header section", |file| tables(file, 16 + 16, &[0, 16])),
    ("regions are inside the file", |file| tables(file, 16 + 24, &(64u32 << 20).to_le_bytes())),
    ("known regions", |file| tables(file, 16, &[1])),
    ("no region is listed twice", |file| {
        let entry = file[REGIONS + 16..REGIONS + 48].to_vec();
        tables(file, 8, &[3]);
        tables(file, 16 + 64, &entry);
    }),
    ("regions do not overlap", |file| tables(file, 16 + 16, &(1u64 << 20).to_le_bytes())),
    ("the rest of the region table is zero", |file| tables(file, 16 + 64, &[1])),
    ("both regions are there", |file| {
        tables(file, 8, &[1]);
        tables(file, 16 + 32, &[0; 32]);
    }),
    ("the metadata has at most 128 MiB", |file| {
        file.resize(DATA + (200 << 20), 0);
        tables(file, 16 + 32 + 16, &(4u64 << 20).to_le_bytes());
        tables(file, 16 + 32 + 24, &(129u32 << 20).to_le_bytes());
    }),
    ("the signature of the metadata", |file| file[METADATA] ^= 1),
    ("reserved bytes of the metadata table", |file| file[METADATA + 12] = 1),
    ("known metadata items", |file| file[METADATA + 32] ^= 1),
    ("the flags of a metadata item", |file| file[METADATA + 32 + 24] = 6),
    ("reserved bytes of a metadata item", |file| file[METADATA + 32 + 28] = 1),
    ("the length of a metadata item", |file| file[METADATA + 32 + 20] = 9),
    ("metadata items are between their table and its end", |file| put(file, METADATA + 32 + 16, &[0, 0x10, 0, 0])),
    ("metadata items do not overlap", |file| put(file, METADATA + 64 + 16, &(65_540u32).to_le_bytes())),
    ("no metadata item is listed twice", |file| {
        let mut entry = file[METADATA + 32..METADATA + 64].to_vec();
        entry[16] = 0x80;
        put(file, METADATA + 10, &[6]);
        put(file, METADATA + 32 + 160, &entry);
    }),
    ("the rest of the metadata table is zero", |file| file[METADATA + 32 + 160] = 1),
    ("all metadata items are there", |file| {
        put(file, METADATA + 10, &[4]);
        put(file, METADATA + 32 + 128, &[0; 32]);
    }),
    ("the size of blocks", |file| put(file, ITEMS, &(3u32 << 20).to_le_bytes())),
    ("the flags of the file parameters", |file| file[ITEMS + 4] = 4),
    ("no parent", |file| file[ITEMS + 4] = 2),
    ("the sizes of sectors", |file| put(file, ITEMS + 16, &2048u32.to_le_bytes())),
    ("the size of the disk", |file| file[ITEMS + 8] = 1),
    ("the identifier of the disk", |file| put(file, ITEMS + 24, &[0; 16])),
    ("the region of the BAT is large enough", |file| put(file, ITEMS + 8, &(1u64 << 40).to_le_bytes())),
    ("the rest of the BAT is zero", |file| file[BAT + 32] = 1),
    ("sector bitmaps are not in the file", |file| {
        // A disk of one block more than a chunk.
        put(file, ITEMS + 8, &((4096u64 + 1) << 20).to_le_bytes());
        file[BAT + 4096 * 8] = 6;
    }),
    ("reserved bits of an entry", |file| file[BAT] |= 8),
    ("the state of a block", |file| file[BAT] = file[BAT] & !7 | 7),
    ("a block that is not in the file has no offset", |file| put(file, BAT + 8, &(4u64 << 20).to_le_bytes())),
    ("a fixed disk has all blocks", |file| file[ITEMS + 4] = 1),
    ("blocks are outside of the regions", |file| put(file, BAT, &((3u64 << 20) | 6).to_le_bytes())),
    ("blocks are whole, and inside the file", |file| file.truncate(file.len() - 1)),
    ("blocks follow one another in guest order", |file| {
        let (first, third) = (file[BAT..BAT + 8].to_vec(), file[BAT + 16..BAT + 24].to_vec());
        put(file, BAT, &third);
        put(file, BAT + 16, &first);
    }),
    ("the file ends with its last block", |file| file.push(0)),
    ("nothing after the disk", |file| *file.last_mut().unwrap() = 1),
];

#[test]
fn each_rule_is_enforced() {
    let read = |file: &[u8]| vhdx::read(file).map(|found| found.disk);
    are_enforced("vhdx", &[("block_size", "0")], ROWS, include_str!("vhdx.rs"), read);
}
