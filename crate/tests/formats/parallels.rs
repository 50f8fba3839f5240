//! Parallels for the suite.

use super::{Extreme, Format, Listing, Sample};
use crate::common::parallels::Block::{Absent, Data};
use crate::common::parallels::*;
use crate::common::salvage::check_damage;
use crate::common::small::changed;
use crate::common::table::{Reads::*, Row, check_changes};
use crate::common::*;
use decant::ErrorKind::*;
use decant::disk::losses::Lost;
use decant::format::parallels::{BLOCK_MISPLACED, BLOCK_OUTSIDE, BLOCK_TRUNCATED, NOT_EMPTY, TABLE_TRUNCATED};
use decant::offsets::GuestOffset;

pub const FORMAT: Format = Format { name: "parallels", samples, fields, damage, listings, extremes };

const MIXED: &[Block] = &[Data(1), Absent, Absent, Data(2), Data(3), Absent, Data(4)];

/// Blocks of three sectors, and a disk that ends inside the last one, which is the first one of the file.
fn mixed(is_ext: bool) -> Parallels<'static> {
    Parallels { is_ext, sectors: 20, states_start: is_ext, ..Parallels::new(3, MIXED) }
}

fn samples() -> Vec<Sample> {
    let sample = |is_ext: bool| {
        let image = mixed(is_ext);
        Sample {
            signature: (16, NotRecognised),
            salvaged: 64..usize::MAX,
            tables: vec![0..20, 28..56, TABLE..TABLE + 4 * MIXED.len()],
            ..Sample::new(format!("ext: {is_ext}"), image.file(), image.disk())
        }
    };
    let image = mixed(true);
    let of_bundle = Sample {
        case: |file| {
            let images = &[("{1}", "Compressed", "below.hds"), (TOP, "Compressed", "top.hds")];
            let bundle =
                Bundle { sectors: 20, storages: &[(0, 20, images)], top: None, shots: &[("{1}", NONE), (TOP, "{1}")] };
            let below = Parallels { blocks: &[Absent; 7], ..mixed(true) };
            let companions = vec![("top.hds".to_owned(), file), ("below.hds".to_owned(), below.file())];
            Case { companions, ..Case::new(bundle.xml().into_bytes()) }
        },
        signature: (16, NotRecognised),
        salvaged: 64..usize::MAX,
        tables: vec![0..20, 28..56, TABLE..TABLE + 4 * MIXED.len()],
        ..Sample::new("the current state of a bundle", image.file(), image.disk())
    };
    vec![sample(true), sample(false), of_bundle]
}

fn le32(value: u32) -> [u8; 4] {
    value.to_le_bytes()
}

fn le64(value: u64) -> [u8; 8] {
    value.to_le_bytes()
}

fn fields() {
    let image = mixed(true);
    let (disk, base) = (image.disk(), Case::new(image.file()));
    let end = base.image.len();
    let sized = |sectors: u64| Bytes(Parallels { sectors, ..image.clone() }.disk());
    let with = |blocks: &[Block]| Bytes(Parallels { blocks, ..image.clone() }.disk());
    let rows: &[Row] = &[
        ("nothing", &[], Same),
        ("magic", &[(15, b"!")], Fails(NotRecognised, "not in a known disk image format")),
        ("version 1", &[(16, &le32(1))], Fails(Unsupported, "version 1 of Parallels")),
        ("version 3", &[(16, &le32(3))], Fails(Unsupported, "version 3 of Parallels")),
        ("geometry", &[(20, &[0xff; 8])], Same),
        ("blocks of no sectors", &[(28, &le32(0))], Fails(Corrupt, "the block size is 0")),
        ("blocks of one sector", &[(28, &le32(1))], Fails(Corrupt, "7 blocks have 7 sectors")),
        ("an absent block of 2 TiB", &[(28, &le32(u32::MAX)), (TABLE, &le32(0))], Bytes(vec![0; 20 * SECTOR])),
        ("a block of 2 TiB", &[(28, &le32(u32::MAX))], Fails(Corrupt, "a block is far beyond the end")),
        ("no blocks", &[(32, &le32(0))], Fails(Corrupt, "0 blocks have 0 sectors")),
        ("blocks without end", &[(32, &le32(u32::MAX))], Fails(Corrupt, "the data starts before the end")),
        ("more blocks than needed", &[(32, &le32(100))], Same),
        ("a disk of no size", &[(36, &le64(0))], sized(0)),
        ("a disk of one sector", &[(36, &le64(1))], sized(1)),
        ("a disk larger than its blocks", &[(36, &le64(22))], Fails(Corrupt, "7 blocks have 21 sectors")),
        ("a disk of 2^53 bytes", &[(36, &le64(1 << 44))], Fails(Limit, "2^53-1")),
        ("a disk of 2^64 sectors", &[(36, &le64(u64::MAX))], Fails(Limit, "2^53-1")),
        ("in use", &[(44, &le32(OPEN))], Same),
        ("closed by an old program", &[(44, &le32(0))], Same),
        ("another state", &[(44, &le32(7))], Same),
        ("the data in the header", &[(48, &le32(0))], Same),
        ("the data starts later", &[(48, &le32(4))], Fails(Corrupt, "a block is before the start of the data")),
        ("the data starts far away", &[(48, &le32(u32::MAX))], Fails(Corrupt, "a block is before the start")),
        ("empty, but it is not", &[(52, &le32(1))], Fails(Corrupt, "the header states that the image is empty")),
        ("unused flags", &[(52, &le32(!1))], Same),
        ("an extension of the format", &[(56, &le64(5))], Same),
        (
            "a block that is absent",
            &[(TABLE, &le32(0))],
            with(&[Absent, Absent, Absent, Data(2), Data(3), Absent, Data(4)]),
        ),
        ("another block", &[(TABLE, &le32(1))], with(&[Data(4), Absent, Absent, Data(2), Data(3), Absent, Data(4)])),
        ("the first block that is not there", &[(TABLE, &le32(5))], Fails(Corrupt, "truncated")),
        ("the largest entry", &[(TABLE, &le32(u32::MAX))], Fails(Corrupt, "a block is far beyond the end")),
        ("what follows", &[(end, &[1; 100])], Same),
    ];
    check_changes(&base, &disk, rows);
    fields_in_sectors();
}

/// The table counts sectors.
fn fields_in_sectors() {
    let image = mixed(false);
    let (disk, base) = (image.disk(), Case::new(image.file()));
    let rows: &[Row] = &[
        ("nothing", &[], Same),
        ("a size above 2^32 sectors", &[(40, &[0xff; 4])], Same),
        ("the data starts with the first block", &[(48, &le32(1))], Same),
        ("an absent block", &[(TABLE, &le32(0))], Bytes([vec![0; 1536], disk[1536..].to_vec()].concat())),
        (
            "the data before the end of the table",
            &[(32, &le32(1000)), (48, &le32(7))],
            Fails(Corrupt, "data starts before"),
        ),
        (
            "a table over the first block",
            &[(32, &le32(1000))],
            Fails(Corrupt, "a block is before the start of the data"),
        ),
        ("blocks without end", &[(32, &le32(u32::MAX))], Fails(Corrupt, "a block is before the start of the data")),
        (
            "between two blocks",
            &[(TABLE, &le32(2)), (TABLE + 12, &le32(0)), (TABLE + 16, &le32(0)), (TABLE + 24, &le32(0))],
            Bytes([&base.image[1024..1024 + 1536], &[0; 17 * 512][..]].concat()),
        ),
    ];
    check_changes(&base, &disk, rows);
    let features = |in_use: u32| {
        let case = Case::new(Parallels { in_use, ..image.clone() }.file());
        case.with(Answers::InOrder, |image| async move { Ok(image.info().features) }).unwrap()
    };
    for (in_use, expected) in [(CLOSED, &[][..]), (0, &[]), (OPEN, &["dirty"]), (7, &["dirty"])] {
        assert_eq!(features(in_use), expected, "{in_use:#x}");
    }
}

fn damage() {
    let image = Parallels::new(2, MIXED);
    let (file, disk) = (image.file(), image.disk());
    let block = image.block_size() as u64;
    let lost = |start, len, damage| Lost { start: GuestOffset(start), len, damage };
    let at = |number: usize, value: u32| changed(file.clone(), &[(image.entry(number), &le32(value))]);
    let cut = |len: usize| file[..len].to_vec();
    let allocated = [(0, 1), (3, 2), (6, 1)].map(|(first, count)| lost(first * block, count * block, NOT_EMPTY));
    let rows = [
        ("nothing", file.clone(), vec![]),
        ("a block", at(0, 9), vec![lost(0, block, BLOCK_TRUNCATED)]),
        ("a block, far away", at(0, u32::MAX), vec![lost(0, block, BLOCK_OUTSIDE)]),
        ("a part of a block", cut(file.len() - 1), vec![lost(512, 512, BLOCK_TRUNCATED)]),
        (
            "the start of the data",
            changed(file.clone(), &[(48, &le32(4))]),
            vec![lost(6 * block, block, BLOCK_MISPLACED)],
        ),
        ("the mark of an empty image", changed(file.clone(), &[(52, &[1])]), allocated.to_vec()),
        (
            "a part of the table",
            cut(TABLE + 14),
            vec![lost(0, block, BLOCK_TRUNCATED), lost(3 * block, 4 * block, TABLE_TRUNCATED)],
        ),
    ];
    for (what, image, lost) in rows {
        check_damage(what, &Case::new(image), &disk, &lost);
    }
}

/// The table is read once, in large parts; runs of absent blocks and of adjacent blocks are one extent each.
fn listings() -> Vec<Listing> {
    const BLOCKS: usize = 300_000;
    let absent = vec![Absent; BLOCKS];
    let empty = Parallels::new(2048, &absent);
    let whole = Parallels::new(2, &[Absent; 1000]);
    let numbers: Vec<u8> = (0..1000).flat_map(|at| le32(whole.value(whole.data()) + at)).collect();
    let end = whole.data() + 1000 * whole.block_size();
    // More extents than are listed at once.
    let stripes: Vec<_> = (0..3000).map(|at| if at % 2 == 0 { Data(1) } else { Absent }).collect();
    let striped = Parallels::new(2, &stripes);
    let table_of = |blocks: u64| TABLE as u64..TABLE as u64 + 4 * blocks;
    vec![
        Listing {
            what: "data and zeros in turn",
            file: striped.file(),
            data: 1500 << 10,
            most_extents: 3000,
            most_reads: 1 + 3,
            most_bytes: 12_000 + (64 << 10),
            tables: vec![table_of(3000)],
        },
        Listing {
            what: "absent blocks",
            file: empty.file(),
            data: 0,
            most_extents: 1,
            // Five of the table, and those of the header.
            most_reads: 5 + 3,
            most_bytes: 4 * BLOCKS as u64 + (64 << 10),
            tables: vec![table_of(BLOCKS as u64)],
        },
        Listing {
            what: "blocks in the order of the disk",
            file: changed(whole.file(), &[(TABLE, &numbers), (end - 1, &[0])]),
            data: 1000 << 10,
            most_extents: 1,
            most_reads: 5 + 3,
            most_bytes: 4000 + (64 << 10),
            tables: vec![table_of(1000)],
        },
    ]
}

/// Images that end with the header.
fn extremes() -> Vec<Extreme> {
    const LARGEST: u64 = (1 << 44) - 1;
    // The largest blocks, of 2 TiB.
    let sized = |sectors: u64| {
        let image = Parallels { sectors, ..Parallels::new(1, &[]) };
        changed(image.file()[..TABLE].to_vec(), &[(28, &[0xff; 4]), (32, &le32(5000)), (48, &le32(1 << 20))])
    };
    vec![
        Extreme { what: "no bytes", file: sized(0), size: Ok(0) },
        Extreme { what: "a sector", file: sized(1), size: Ok(512) },
        Extreme { what: "the largest disk", file: sized(LARGEST), size: Ok(LARGEST * 512) },
        Extreme { what: "a disk of 2^53 bytes", file: sized(1 << 44), size: Err(Limit) },
        Extreme { what: "a disk of 2^73 bytes", file: sized(u64::MAX), size: Err(Limit) },
    ]
}
