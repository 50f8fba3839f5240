//! VDI for the suite.

use super::{Extreme, Format, Listing, Sample};
use crate::common::salvage::check_damage;
use crate::common::small::changed;
use crate::common::table::{Reads::*, Row, check_changes};
use crate::common::vdi::Block::{Data, Free, Zero};
use crate::common::vdi::*;
use crate::common::*;
use decant::ErrorKind::*;
use decant::disk::extent::ExtentKind;
use decant::disk::losses::Lost;
use decant::format::vdi::{BLOCK_OUTSIDE, BLOCK_TRUNCATED, MAP_TRUNCATED};
use decant::offsets::GuestOffset;

pub const FORMAT: Format = Format { name: "vdi", samples, fields, damage, listings, extremes };

const MIXED: &[Block] = &[Data(1), Free, Zero, Data(2), Data(3), Free, Free, Data(4)];

fn case(image: &Vdi) -> Case {
    Case { name: Some("image.vdi".to_owned()), ..Case::new(image.file()) }
}

fn samples() -> Vec<Sample> {
    let sample = |version: u32| {
        // The last block of the disk is the first one of the file.
        let image = Vdi { version, ..Vdi::new(1024, MIXED) };
        let map = image.map();
        Sample {
            case: |file| Case { name: Some("image.vdi".to_owned()), ..Case::new(file) },
            signature: (68, NotRecognised),
            salvaged: map..usize::MAX,
            tables: vec![64..84, 340..map, map..map + 4 * MIXED.len()],
            ..Sample::new(format!("version {version:#x}"), image.file(), image.disk(&[]))
        }
    };
    vec![sample(VERSION_1_1), sample(VERSION_0)]
}

fn le32(value: u32) -> [u8; 4] {
    value.to_le_bytes()
}

fn le64(value: u64) -> [u8; 8] {
    value.to_le_bytes()
}

fn fields() {
    fields_of_version_1();
    fields_of_version_0();
}

fn fields_of_version_1() {
    let image = Vdi::new(1024, MIXED);
    let (disk, base) = (image.disk(&[]), case(&image));
    let (map, end) = (image.map(), base.image.len());
    let sized = |size: u64| Bytes(Vdi { size, ..image.clone() }.disk(&[]));
    let with = |blocks: [Block; 8]| Bytes(Vdi { blocks: &blocks, ..image.clone() }.disk(&[]));
    let rows: &[Row] = &[
        ("nothing", &[], Same),
        ("text", &[(0, &[0xff; 64])], Same),
        ("signature", &[(64, &[0])], Fails(NotRecognised, "not in a known disk image format")),
        ("version 1.0", &[(68, &le32(0x0001_0000))], Fails(Unsupported, "version 1.0 of VDI")),
        ("version 1.2", &[(68, &le32(0x0001_0002))], Fails(Unsupported, "version 1.2 of VDI")),
        ("version 2.0", &[(68, &le32(0x0002_0000))], Fails(Unsupported, "version 2.0 of VDI")),
        ("version 0.1", &[(68, &le32(1))], Fails(Unsupported, "version 0.1 of VDI")),
        ("header of 383 bytes", &[(72, &le32(383))], Fails(Corrupt, "the header has 383 bytes")),
        ("header of 384 bytes", &[(72, &le32(384))], Same),
        ("header without end", &[(72, &le32(u32::MAX))], Same),
        ("type 0", &[(76, &le32(0))], Fails(Unsupported, "type 0 of VDI")),
        ("fixed", &[(76, &le32(2))], Same),
        ("undo without a parent", &[(76, &le32(UNDO))], Fails(Corrupt, "from which parent")),
        ("differencing without a parent", &[(76, &le32(DIFFERENCING))], Fails(Corrupt, "from which parent")),
        ("type 5", &[(76, &le32(5))], Fails(Unsupported, "type 5 of VDI")),
        ("expand zero blocks", &[(80, &le32(1))], Same),
        ("the type as a flag", &[(80, &le32(0x300))], Same),
        ("an unknown flag", &[(80, &le32(2))], Fails(Unsupported, "unknown flags of VDI (0x2)")),
        ("a comment without end", &[(84, &[0xff; 256])], Same),
        ("the map in the header", &[(340, &le32(455))], Fails(Corrupt, "block map is in the header")),
        ("the map right after the header", &[(340, &le32(456)), (456, &[0xff; 32])], Bytes(vec![0; 8192])),
        ("the map in the blocks", &[(340, &le32(1000))], Fails(Corrupt, "before the end of the block map")),
        ("the map near 2^32", &[(340, &le32(u32::MAX)), (344, &le32(u32::MAX))], Fails(Corrupt, "before the end")),
        ("the map past the end", &[(340, &le32(1 << 30)), (344, &le32(2 << 30))], Fails(Corrupt, "truncated")),
        ("blocks in the map", &[(344, &le32(540))], Fails(Corrupt, "before the end of the block map")),
        ("blocks past the end", &[(344, &le32(u32::MAX))], Fails(Corrupt, "truncated")),
        ("geometries", &[(348, &[0xff; 20]), (456, &[0xff; 16])], Same),
        ("a disk of no size", &[(368, &le64(0))], sized(0)),
        ("a smaller disk", &[(368, &le64(3000))], sized(3000)),
        ("a disk of one byte", &[(368, &le64(1))], sized(1)),
        ("a disk larger than its blocks", &[(368, &le64(8193))], Fails(Corrupt, "virtual size is 8193, but 8 blocks")),
        ("a disk of 2^53 bytes", &[(368, &le64(1 << 53))], Fails(Limit, "2^53-1")),
        ("a disk of 2^64-1 bytes", &[(368, &le64(u64::MAX))], Fails(Limit, "2^53-1")),
        ("blocks of 0 bytes", &[(376, &le32(0))], Fails(Corrupt, "block size is 0")),
        ("blocks of 256 bytes", &[(376, &le32(256))], Fails(Corrupt, "block size is 256")),
        ("blocks of 1000 bytes", &[(376, &le32(1000))], Fails(Corrupt, "block size is 1000")),
        ("blocks of 512 bytes", &[(376, &le32(512))], Fails(Corrupt, "8 blocks have 4096 bytes")),
        ("blocks of 2 GiB", &[(376, &le32(1 << 31)), (map, &le32(FREE))], Bytes(vec![0; 8192])),
        ("a block of 2 GiB that is cut off", &[(376, &le32(1 << 31)), (map, &le32(1))], Fails(Corrupt, "truncated")),
        ("extra data of 3 bytes", &[(380, &le32(3))], Fails(Corrupt, "3 bytes of extra data")),
        ("extra data past the end", &[(380, &le32(1 << 31))], Fails(Corrupt, "truncated")),
        ("no blocks", &[(384, &le32(0))], Fails(Corrupt, "0 blocks have 0 bytes")),
        ("blocks without end", &[(384, &le32(u32::MAX))], Fails(Corrupt, "before the end of the block map")),
        ("more blocks than needed", &[(384, &le32(16))], Same),
        ("allocated blocks are not counted", &[(388, &le32(u32::MAX))], Same),
        ("no UUIDs", &[(392, &[0; 32])], Same),
        ("a parent", &[(424, &[7; 16])], Fails(MissingFile, "'07070707-0707-0707-0707-070707070707', the parent")),
        ("a parent's state alone", &[(440, &[7; 16])], Same),
        ("a free block", &[(map, &le32(FREE))], with([Free, Free, Zero, Data(2), Data(3), Free, Free, Data(4)])),
        ("a zero block", &[(map, &le32(ZERO))], with([Zero, Free, Zero, Data(2), Data(3), Free, Free, Data(4)])),
        ("another block", &[(map, &le32(0))], with([Data(4), Free, Zero, Data(2), Data(3), Free, Free, Data(4)])),
        ("the first block that is not there", &[(map, &le32(4))], Fails(Corrupt, "truncated")),
        ("the largest block number", &[(map, &le32(0xffff_fffd))], Fails(Corrupt, "a block is far beyond the end")),
        ("more than the blocks", &[(end, &[1; 100])], Same),
    ];
    check_changes(&base, &disk, rows);
}

fn fields_of_version_0() {
    let image = Vdi { version: VERSION_0, ..Vdi::new(1024, MIXED) };
    let (disk, base) = (image.disk(&[]), case(&image));
    let rows: &[Row] = &[
        ("nothing", &[], Same),
        ("type 5", &[(72, &le32(5))], Fails(Unsupported, "type 5 of VDI")),
        ("an unknown flag", &[(76, &le32(4))], Fails(Unsupported, "unknown flags of VDI (0x4)")),
        ("undo without a parent", &[(72, &le32(UNDO))], Fails(Corrupt, "from which parent")),
        ("a comment and a geometry", &[(80, &[0xff; 272])], Same),
        ("a smaller disk", &[(352, &le64(1000))], Bytes(disk[..1000].to_vec())),
        ("a disk larger than its blocks", &[(352, &le64(8193))], Fails(Corrupt, "8 blocks have 8192 bytes")),
        ("a disk of 2^64-1 bytes", &[(352, &le64(u64::MAX))], Fails(Limit, "2^53-1")),
        ("blocks of 1 byte", &[(360, &le32(1))], Fails(Corrupt, "block size is 1")),
        ("no blocks", &[(364, &le32(0))], Fails(Corrupt, "0 blocks have 0 bytes")),
        ("blocks without end", &[(364, &le32(u32::MAX))], Fails(Corrupt, "truncated")),
        ("allocated blocks are not counted", &[(368, &le32(0))], Same),
        ("no UUIDs", &[(372, &[0; 32])], Same),
        ("a parent", &[(404, &[7; 16])], Fails(MissingFile, "'07070707-0707-0707-0707-070707070707', the parent")),
        ("a block past the end", &[(420, &le32(4))], Fails(Corrupt, "truncated")),
    ];
    check_changes(&base, &disk, rows);
}

fn damage() {
    let image = Vdi::new(1024, MIXED);
    let (file, map, disk) = (image.file(), image.map(), image.disk(&[]));
    let lost = |start, len, damage| Lost { start: GuestOffset(start), len, damage };
    let cut = |len: usize| file[..len].to_vec();
    let rows = [
        ("nothing", file.clone(), vec![]),
        ("a block", changed(file.clone(), &[(map, &le32(9))]), vec![lost(0, 1024, BLOCK_TRUNCATED)]),
        ("a block, far away", changed(file.clone(), &[(map, &le32(1 << 31))]), vec![lost(0, 1024, BLOCK_OUTSIDE)]),
        ("a part of a block", cut(file.len() - 1), vec![lost(512, 512, BLOCK_TRUNCATED)]),
        ("a part of the map", cut(map + 7), vec![lost(0, 1024, BLOCK_TRUNCATED), lost(1024, 7168, MAP_TRUNCATED)]),
        (
            "the map",
            changed(file.clone(), &[(344, &le32(1 << 30)), (340, &le32(1 << 29))]),
            vec![lost(0, 8192, MAP_TRUNCATED)],
        ),
    ];
    for (what, image, lost) in rows {
        check_damage(what, &Case::new(image), &disk, &lost);
    }
}

/// The map is read once, in large parts; runs of free blocks, of zero blocks and of adjacent blocks are one extent
/// each.
fn listings() -> Vec<Listing> {
    const BLOCKS: usize = 300_000;
    let mut blocks = vec![Free; BLOCKS];
    blocks[100_000..200_000].fill(Zero);
    let free = Vdi { size: (BLOCKS as u64) << 20, ..Vdi::new(1 << 20, &blocks) };
    let map = 512..512 + 4 * BLOCKS as u64;
    let extents = HeldSource::new(free.file()).extents();
    assert_eq!((extents[0].len, extents[0].kind), (free.size, ExtentKind::Zero { host: None }));
    let numbers: Vec<u8> = (0..1000u32).flat_map(le32).collect();
    let whole = Vdi { size: 1000 << 10, ..Vdi::new(1024, &[Free; 1000]) };
    let numbers_map = 512..512 + 4000;
    let (numbers_at, end) = (whole.map(), whole.data() + (1000 << 10));
    // More extents than are listed at once.
    let stripes: Vec<_> = (0..3000).map(|at| if at % 2 == 0 { Data(1) } else { Zero }).collect();
    let striped = Vdi::new(1024, &stripes);
    let stripes_map = striped.map() as u64..striped.map() as u64 + 12_000;
    vec![
        Listing {
            what: "data and zeros in turn",
            file: striped.file(),
            data: 1500 << 10,
            most_extents: 3000,
            most_reads: 1 + 3,
            most_bytes: 12_000 + (64 << 10),
            tables: vec![stripes_map],
        },
        Listing {
            what: "free and zero blocks",
            file: free.file(),
            data: 0,
            most_extents: 1,
            // Five of the map, and those of the header.
            most_reads: 5 + 3,
            most_bytes: map.end - map.start + (64 << 10),
            tables: vec![map],
        },
        Listing {
            what: "blocks in the order of the disk",
            file: changed(whole.file(), &[(numbers_at, &numbers), (end - 1, &[0])]),
            data: 1000 << 10,
            most_extents: 1,
            most_reads: 5 + 3,
            most_bytes: 4000 + (64 << 10),
            tables: vec![numbers_map],
        },
    ]
}

/// Images whose block map is after the end of the file.
fn extremes() -> Vec<Extreme> {
    const LARGEST: u64 = (1 << 53) - 1;
    // Blocks of 2 GiB.
    let sized = |size: u64| {
        let blocks = size.div_ceil(1 << 31).min(1 << 22) as u32;
        let image = Vdi { size, ..Vdi::new(1024, &[]) };
        changed(
            image.file(),
            &[(340, &le32(1 << 29)), (344, &le32(1 << 31)), (376, &le32(1 << 31)), (384, &le32(blocks))],
        )
    };
    vec![
        Extreme { what: "no bytes", file: sized(0), size: Ok(0) },
        Extreme { what: "a byte", file: sized(1), size: Ok(1) },
        Extreme { what: "the largest disk", file: sized(LARGEST), size: Ok(LARGEST) },
        Extreme { what: "a disk of 2^53 bytes", file: sized(1 << 53), size: Err(Limit) },
        Extreme { what: "a disk of 2^64-1 bytes", file: sized(u64::MAX), size: Err(Limit) },
    ]
}
