//! VHD for the suite.

use super::{Extreme, Format, Listing, Sample, Spare};
use crate::common::salvage::check_damage;
use crate::common::small::changed;
use crate::common::table::{Reads::*, Row, check_changed_files};
use crate::common::vhd::Block::{Absent, Data};
use crate::common::vhd::*;
use crate::common::*;
use decant::ErrorKind::*;
use decant::disk::extent::ExtentKind;
use decant::disk::losses::Lost;
use decant::format::vhd::{BITMAP_TRUNCATED, BLOCK_IN_HEADER, BLOCK_TRUNCATED, TABLE_TRUNCATED};
use decant::offsets::GuestOffset;

pub const FORMAT: Format = Format { name: "vpc", samples, fields, damage, listings, extremes };

const BLOCK: usize = 4096;
const MIXED: &[Block] = &[Data(1, 0xff), Absent, Data(2, 0xa5), Data(3, 0x0f), Absent, Absent, Data(4, 0)];

fn case(file: Vec<u8>) -> Case {
    Case { name: Some("image.vhd".to_owned()), ..Case::new(file) }
}

/// Gives the header and both footers of a dynamic image their checksums. The footer at the end becomes the copy.
fn sealed(mut file: Vec<u8>) -> Vec<u8> {
    let footer = with_checksum(file[..FOOTER].to_vec(), 64);
    let header = with_checksum(file[HEADER..TABLE].to_vec(), 36);
    let end = file.len() - FOOTER;
    file[..FOOTER].copy_from_slice(&footer);
    file[HEADER..TABLE].copy_from_slice(&header);
    file[end..].copy_from_slice(&footer);
    file
}

fn samples() -> Vec<Sample> {
    let image = Vhd::new(BLOCK, MIXED);
    let child = Vhd { kind: DIFFERENCING, parent: 7, parent_name: "parent.vhd", ..image.clone() };
    let sample = |what: &str, image: &Vhd, case: fn(Vec<u8>) -> Case, below: &[u8]| Sample {
        case,
        signature: (8, NotRecognised),
        // The footer at the end is one of two.
        spare: Spare::Exactly(FOOTER),
        salvaged: image.table_end()..usize::MAX,
        tables: vec![0..TABLE, TABLE..TABLE + 4 * MIXED.len()],
        ..Sample::new(what, image.file(), image.disk(below))
    };
    vec![sample("dynamic", &image, case, &[]), sample("differencing", &child, with_parent, &parent().disk(&[]))]
}

fn parent() -> Vhd<'static> {
    Vhd { id: 7, ..Vhd::new(BLOCK, &[Data(9, 0xff); 3]) }
}

fn with_parent(file: Vec<u8>) -> Case {
    Case { companions: vec![("parent.vhd".to_owned(), parent().file())], ..case(file) }
}

fn be32(value: u32) -> [u8; 4] {
    value.to_be_bytes()
}

fn be64(value: u64) -> [u8; 8] {
    value.to_be_bytes()
}

fn fields() {
    let image = Vhd::new(BLOCK, MIXED);
    let (file, disk) = (image.file(), image.disk(&[]));
    let end = file.len() - FOOTER;
    let with = |blocks: [Block; 7]| Bytes(Vhd { blocks: &blocks, ..image.clone() }.disk(&[]));
    // Without new checksums.
    let rows: &[Row] = &[
        ("nothing", &[], Same),
        ("the copy of the footer", &[(0, &[0; FOOTER])], Same),
        ("the footer", &[(end, &[0; FOOTER])], Same),
        ("a field of the footer", &[(end + 48, &[1])], Same),
        ("both footers", &[(0, &[0]), (end, &[0])], Fails(NotRecognised, "not in a known disk image format")),
        ("a field of both", &[(48, &[1]), (end + 48, &[1])], Fails(Corrupt, "checksum of the footer does not match")),
        ("a field of the header", &[(HEADER + 40, &[1])], Fails(Corrupt, "checksum of the header does not match")),
    ];
    check_changed_files(&file, &case, &disk, rows);
    let sized = |size: u64| Bytes(Vhd { size, ..image.clone() }.disk(&[]));
    let rows: &[Row] = &[
        ("features", &[(8, &[0xff; 4])], Same),
        ("version 2", &[(12, &be32(0x2_0000))], Fails(Unsupported, "version 0x20000 of VHD")),
        ("version 1.1", &[(12, &be32(0x1_0001))], Same),
        ("no header", &[(16, &be64(u64::MAX))], Fails(Corrupt, "dynamic disk header has an impossible position")),
        ("another header", &[(16, &be64(0))], Fails(Corrupt, "dynamic disk header is missing")),
        ("time and program", &[(24, &[0xff; 16])], Same),
        ("the original size", &[(40, &[0xff; 8])], Same),
        ("no size", &[(48, &be64(0))], sized(0)),
        ("a smaller disk", &[(48, &be64(9000))], sized(9000)),
        ("a larger disk", &[(48, &be64(28_673))], Fails(Corrupt, "virtual size is 28673, but 7 blocks have 28672")),
        ("type 0", &[(60, &be32(0))], Fails(Unsupported, "disk type 0 of VHD")),
        ("type 5", &[(60, &be32(5))], Fails(Unsupported, "disk type 5 of VHD")),
        ("a fixed disk", &[(60, &be32(FIXED))], Fails(Corrupt, "28672 bytes, but there are 20480 before the footer")),
        ("a child without a parent", &[(60, &be32(DIFFERENCING))], Fails(MissingFile, "the parent")),
        ("no UUID", &[(68, &[0; 16])], Same),
        ("a saved state", &[(84, &[1])], Same),
        ("no table", &[(HEADER + 16, &be64(u64::MAX))], Fails(Corrupt, "table is far beyond the end")),
        ("a table past the end", &[(HEADER + 16, &be64(1 << 40))], Fails(Corrupt, "truncated")),
        ("another version of the header", &[(HEADER + 24, &be32(1))], Fails(Unsupported, "version 0x1 of the header")),
        ("more blocks", &[(HEADER + 28, &be32(100))], Same),
        ("the most blocks", &[(HEADER + 28, &be32(u32::MAX))], Same),
        ("fewer blocks", &[(HEADER + 28, &be32(6))], Fails(Corrupt, "but 6 blocks have 24576")),
        ("no blocks", &[(HEADER + 28, &be32(0))], Fails(Corrupt, "but 0 blocks have 0")),
        ("blocks of 0 bytes", &[(HEADER + 32, &be32(0))], Fails(Corrupt, "block size is 0")),
        ("blocks of 1000 bytes", &[(HEADER + 32, &be32(1000))], Fails(Corrupt, "block size is 1000")),
        ("blocks of 512 bytes", &[(HEADER + 32, &be32(512))], Fails(Unsupported, "a block size of 512 bytes")),
        ("blocks of 2 GiB", &[(HEADER + 32, &be32(1 << 31)), (TABLE, &[0xff; 4])], Bytes(vec![0; 28_672])),
        ("a parent of a disk that is whole", &[(HEADER + 40, &[7; 16])], Same),
        ("locators of a disk that is whole", &[(HEADER + 576, &[0xff; 192])], Same),
        (
            "an absent block",
            &[(TABLE, &[0xff; 4])],
            with([Absent, Absent, MIXED[2], MIXED[3], Absent, Absent, MIXED[6]]),
        ),
        ("a block in the header", &[(TABLE, &be32(0))], Fails(Corrupt, "a block is in the header")),
        ("a block past the end", &[(TABLE, &be32(1 << 30))], Fails(Corrupt, "truncated")),
        ("the last block number", &[(TABLE, &be32(0xffff_fffe))], Fails(Corrupt, "a block is far beyond the end")),
    ];
    check_changed_files(&file, &|file| case(sealed(file)), &disk, rows);
}

fn damage() {
    let image = Vhd::new(BLOCK, MIXED);
    let (file, disk) = (image.file(), image.disk(&[]));
    let lost = |start, len, damage| Lost { start: GuestOffset(start), len, damage };
    // The first block is the last one in the file.
    let first = file.len() - FOOTER - BLOCK - 512;
    let cut = |len: usize| file[..len].to_vec();
    let rows = [
        ("nothing", file.clone(), vec![]),
        ("the checksum of the header", changed(file.clone(), &[(HEADER + 36, &[0])]), vec![]),
        (
            "the checksums of the footers",
            changed(file.clone(), &[(64, &[0]), (file.len() - FOOTER + 64, &[0])]),
            vec![],
        ),
        ("a block in the header", changed(file.clone(), &[(TABLE, &[0; 4])]), vec![lost(0, 4096, BLOCK_IN_HEADER)]),
        (
            "a block past the end",
            changed(file.clone(), &[(TABLE, &be32(1 << 30))]),
            vec![lost(0, 4096, BLOCK_TRUNCATED)],
        ),
        ("a part of a block", cut(first + 512 + 1000), vec![lost(512, 3584, BLOCK_TRUNCATED)]),
        ("a bitmap", cut(first), vec![lost(0, 4096, BLOCK_TRUNCATED)]),
        ("the table", changed(file.clone(), &[(HEADER + 16, &be64(1 << 40))]), vec![lost(0, 28_672, TABLE_TRUNCATED)]),
    ];
    for (what, image, lost) in rows {
        check_damage(what, &Case::new(image), &disk, &lost);
    }
    // The bitmap of a block of 64 MiB has several sectors.
    let large = Vhd::new(64 << 20, &[Data(1, 0xff)]);
    let cut = large.file()[..large.table_end() + 512].to_vec();
    let disk = large.disk(&[]);
    let lost = [lost(0, 2 << 20, BLOCK_TRUNCATED), lost(2 << 20, 62 << 20, BITMAP_TRUNCATED)];
    check_damage("a part of a bitmap", &Case::new(cut), &disk, &lost);
}

/// The table and the bitmaps are read once; runs of absent blocks and of adjacent sectors are one extent each.
fn listings() -> Vec<Listing> {
    const BLOCKS: usize = 300_000;
    let absent = vec![Absent; BLOCKS];
    let absent = Vhd::new(2 << 20, &absent);
    let table = TABLE as u64..(TABLE + 4 * BLOCKS) as u64;
    let extents = HeldSource::new(absent.file()).extents();
    assert_eq!((extents[0].len, extents[0].kind), (absent.size, ExtentKind::Zero { host: None }));
    let blocks = vec![Data(1, 0xff); 100];
    let whole = Vhd::new(64 << 10, &blocks);
    let whole_table = TABLE as u64..(TABLE + 400) as u64;
    let stride = (64 << 10) + 512;
    let bitmaps = (0..100).map(|number| whole.table_end() as u64 + number * stride).map(|at| at..at + 16);
    // More extents than are listed at once.
    let stripes = vec![Data(2, 0xaa); 1000];
    let striped = Vhd::new(BLOCK, &stripes);
    let stripes_table = TABLE as u64..(TABLE + 4000) as u64;
    vec![
        Listing {
            what: "absent blocks",
            file: absent.file(),
            data: 0,
            most_extents: 1,
            most_reads: 10 + 4,
            most_bytes: table.end - table.start + (64 << 10),
            tables: vec![table],
        },
        Listing {
            what: "whole blocks",
            file: whole.file(),
            data: whole.size,
            // They are in reverse order, and each begins with a bitmap.
            most_extents: 100,
            most_reads: 100 + 5,
            most_bytes: 64 << 10,
            tables: std::iter::once(whole_table).chain(bitmaps).collect(),
        },
        Listing {
            what: "every other sector",
            file: striped.file(),
            data: striped.size / 2,
            most_extents: 8000,
            most_reads: 1000 + 5,
            most_bytes: 1 << 20,
            tables: vec![stripes_table],
        },
    ]
}

/// Images whose table is after the end of the file.
fn extremes() -> Vec<Extreme> {
    const LARGEST: u64 = (1 << 53) - 1;
    // Blocks of 2 GiB.
    let sized = |size: u64| {
        let blocks = size.div_ceil(1 << 31).min(1 << 22) as u32;
        let image = Vhd { size, ..Vhd::new(BLOCK, &[]) };
        let changes: &[(usize, &[u8])] =
            &[(HEADER + 16, &be64(1 << 40)), (HEADER + 28, &be32(blocks)), (HEADER + 32, &be32(1 << 31))];
        sealed(changed(image.file(), changes))
    };
    vec![
        Extreme { what: "no bytes", file: sized(0), size: Ok(0) },
        Extreme { what: "a byte", file: sized(1), size: Ok(1) },
        Extreme { what: "the largest disk", file: sized(LARGEST), size: Ok(LARGEST) },
        Extreme { what: "a disk of 2^53 bytes", file: sized(1 << 53), size: Err(Limit) },
        Extreme { what: "a disk of 2^64-1 bytes", file: sized(u64::MAX), size: Err(Corrupt) },
    ]
}
