//! VHDX for the suite.

use super::{Extreme, Format, Listing, Sample};
use crate::common::salvage::{check_damage, salvage};
use crate::common::small::changed;
use crate::common::table::{Reads::*, Row, check_changed_files};
use crate::common::vhdx::Block::{Data, Part, State};
use crate::common::vhdx::*;
use crate::common::*;
use decant::ErrorKind::*;
use decant::disk::extent::ExtentKind;
use decant::disk::losses::Lost;
use decant::format::vhdx::{
    BITMAP_OUTSIDE, BITMAP_TRUNCATED, BLOCK_OUTSIDE, BLOCK_TRUNCATED, ENTRY_INVALID, LOG_LOST, TABLE_OUTSIDE,
    TABLE_TRUNCATED,
};
use decant::offsets::GuestOffset;

pub const FORMAT: Format = Format { name: "vhdx", samples, fields, damage, listings, extremes };

/// A disk that ends in a block.
const MIXED: &[Block] = &[Data(1), State(0), State(2), Data(2)];
const SIZE: u64 = 3 * MIB as u64 + 4096;

fn image() -> Vhdx<'static> {
    Vhdx { size: SIZE, ..Vhdx::new(MIXED) }
}

fn case(file: Vec<u8>) -> Case {
    Case { name: Some("image.vhdx".to_owned()), ..Case::new(sealed(file)) }
}

fn parent() -> Vhdx<'static> {
    Vhdx { id: 7, size: 4096, ..Vhdx::new(&[Data(9)]) }
}

/// Differences in one block. The disk ends after the first sectors of it.
fn child() -> Vhdx<'static> {
    Vhdx { size: 8192, ..Vhdx::over(7, &[Part(3, 0xda)]) }
}

fn with_parent(file: Vec<u8>) -> Case {
    Case { companions: vec![("parent.vhdx".to_owned(), parent().file())], ..case(file) }
}

/// `image` with its BAT in the log only.
fn logged() -> Vec<u8> {
    let image = Vhdx { log: MIB, ..image() };
    let mut file = image.file();
    let bat = file[TABLE..TABLE + PAGE].to_vec();
    file[TABLE..TABLE + PAGE].fill(0);
    let size = file.len() as u64;
    let entry = Entry { sequence: 9, tail: 8192, changes: vec![Change::Page(TABLE, bat)], flushed: size, last: size };
    log_at(&mut file, image.log_start()..image.log_start() + MIB, 8192, &entry.bytes());
    file
}

fn samples() -> Vec<Sample> {
    let sample = |what: &str, file: Vec<u8>, case: fn(Vec<u8>) -> Case, disk: Vec<u8>, salvaged: usize| {
        let headers = HEADERS.map(|at| at..at + 80).into_iter().chain(REGIONS.map(|at| at..at + 80));
        let metadata = [METADATA..METADATA + 224, ITEMS..ITEMS + 4096 + 16, TABLE..TABLE + 40];
        Sample {
            case,
            signature: (8, NotRecognised),
            salvaged: salvaged..usize::MAX,
            tables: headers.chain(metadata).collect(),
            step: 32 << 10,
            ..Sample::new(what, file, disk)
        }
    };
    let (image, child) = (image(), child());
    let log = sample("with a log", logged(), case, image.disk(&[]), TABLE + 2 * MIB);
    let in_log = image.log_start() + 8192;
    let entry = in_log..in_log + 128;
    vec![
        sample("dynamic", image.file(), case, image.disk(&[]), TABLE),
        sample("differencing", child.file(), with_parent, child.disk(&parent().disk(&[])), TABLE),
        Sample { tables: vec![entry], ..log },
    ]
}

fn le32(value: u32) -> [u8; 4] {
    value.to_le_bytes()
}

fn le64(value: u64) -> [u8; 8] {
    value.to_le_bytes()
}

fn fields() {
    fields_without_checksums();
    fields_of_headers();
    fields_of_metadata();
    fields_of_blocks();
    fields_of_differences();
}

fn fields_without_checksums() {
    let image = image();
    let (file, disk) = (image.file(), image.disk(&[]));
    let [header, copy] = HEADERS;
    let [table, table_copy] = REGIONS;
    let rows: &[Row] = &[
        ("nothing", &[], Same),
        ("the signature", &[(7, b"E")], Fails(NotRecognised, "not in a known disk image format")),
        ("the creator", &[(8, &[0xff; 512])], Same),
        ("a header", &[(header + 40, &[1])], Same),
        ("the other header", &[(copy, &[0; 4096])], Same),
        ("both headers", &[(header + 9, &[1]), (copy + 9, &[1])], Fails(Corrupt, "neither header has its checksum")),
        ("a region table", &[(table, &[0; 64])], Same),
        ("a byte after its entries", &[(table + 60_000, &[1])], Same),
        ("the other region table", &[(table_copy + 40, &[1])], Same),
        (
            "both region tables",
            &[(table + 40, &[1]), (table_copy + 40, &[1])],
            Fails(Corrupt, "neither region table has its checksum"),
        ),
    ];
    check_changed_files(&file, &Case::new, &disk, rows);
}

fn fields_of_headers() {
    let image = image();
    let (file, disk) = (image.file(), image.disk(&[]));
    let [header, copy] = HEADERS;
    let table = REGIONS[0];
    let (bat, metadata) = (table + 16, table + 48);
    let other: &[u8] = &guid(0x1234_5678_9abc_def0_1122_3344_5566_7788);
    let in_bat: &[u8] = &guid(BAT_REGION);
    let mib = |count: u64| le64(count << 20);
    let rows: &[Row] = &[
        ("the sequence number of the first", &[(header + 8, &le64(9))], Same),
        ("the same sequence number", &[(header + 8, &le64(5))], Same),
        (
            "the same sequence number of another header",
            &[(header + 8, &le64(5)), (header + 32, &[1])],
            Fails(Corrupt, "both headers have the same sequence number, but differ"),
        ),
        ("another version", &[(copy + 66, &[2])], Fails(Unsupported, "version 2 of VHDX")),
        ("another version, not current", &[(header + 66, &[2])], Same),
        ("another version of a log that is empty", &[(copy + 64, &[1])], Same),
        (
            "another version of the log",
            &[(copy + 64, &[1]), (copy + 48, &[1; 16])],
            Fails(Unsupported, "version 1 of the log of a VHDX"),
        ),
        ("a log without a place", &[(copy + 48, &[1; 16])], Fails(Corrupt, "the log is not in whole MiB")),
        (
            "a log past the end",
            &[(copy + 48, &[1; 16]), (copy + 68, &le32(1 << 20)), (copy + 72, &mib(1 << 20))],
            Fails(Corrupt, "truncated"),
        ),
        (
            "a log far away",
            &[(copy + 48, &[1; 16]), (copy + 68, &le32(1 << 20)), (copy + 72, &mib(1 << 30))],
            Fails(Corrupt, "the log has an impossible position"),
        ),
        (
            "a log that is too large",
            &[(copy + 48, &[1; 16]), (copy + 68, &le32(0xfff0_0000)), (copy + 72, &mib(5))],
            Fails(Limit, "The log of 4293918720 bytes"),
        ),
        (
            "a log in a region",
            &[(copy + 68, &le32(1 << 20)), (copy + 72, &mib(2))],
            Fails(Corrupt, "two regions overlap"),
        ),
        (
            "a log where a block is",
            &[(copy + 68, &le32(1 << 20)), (copy + 72, &mib(3))],
            Fails(Corrupt, "a part of the disk is in a header or table"),
        ),
        (
            "no regions",
            &[(table + 8, &le32(0))],
            Fails(Corrupt, "region 2dc27766-f623-4200-9d64-115e9bfd4a08 is missing"),
        ),
        (
            "one region",
            &[(table + 8, &le32(1))],
            Fails(Corrupt, "region 8b7ca206-4790-4b9a-b8fe-575f050f886e is missing"),
        ),
        ("a region more", &[(table + 8, &le32(3))], Fails(Corrupt, "is not in whole MiB after the header section")),
        ("many regions", &[(table + 8, &le32(2048))], Fails(Corrupt, "has 2048 entries, more than it has room for")),
        (
            "an unknown region that is required",
            &[
                (table + 8, &le32(3)),
                (table + 80, other),
                (table + 96, &mib(900)),
                (table + 104, &le32(1 << 20)),
                (table + 108, &[1]),
            ],
            Fails(Unsupported, "the required region 12345678-9abc-def0-1122-334455667788"),
        ),
        (
            "an unknown region",
            &[(table + 8, &le32(3)), (table + 80, other), (table + 96, &mib(900)), (table + 104, &le32(1 << 20))],
            Same,
        ),
        (
            "an unknown region where a block is",
            &[(table + 8, &le32(3)), (table + 80, other), (table + 96, &mib(3)), (table + 104, &le32(1 << 20))],
            Fails(Corrupt, "a part of the disk is in a header or table"),
        ),
        (
            "a region twice",
            &[(table + 8, &le32(3)), (table + 80, in_bat), (table + 96, &mib(900)), (table + 104, &le32(1 << 20))],
            Fails(Corrupt, "is listed twice"),
        ),
        (
            "a region in the headers",
            &[(bat + 16, &le64(0))],
            Fails(Corrupt, "not in whole MiB after the header section"),
        ),
        ("a region that is not aligned", &[(bat + 16, &le64(2049 << 10))], Fails(Corrupt, "not in whole MiB")),
        ("a region of 0 bytes", &[(bat + 24, &le32(0))], Fails(Corrupt, "not in whole MiB")),
        ("a region of 1 KiB", &[(bat + 24, &le32(1 << 10))], Fails(Corrupt, "not in whole MiB")),
        ("regions that overlap", &[(metadata + 16, &mib(2))], Fails(Corrupt, "two regions overlap")),
        (
            "the last position",
            &[(metadata + 16, &[0, 0, 0xf0, 0xff, 0xff, 0xff, 0xff, 0xff])],
            Fails(Corrupt, "not in whole MiB"),
        ),
        ("the metadata past the end", &[(metadata + 16, &mib(1 << 20))], Fails(Corrupt, "truncated")),
        ("the BAT past the end", &[(bat + 16, &mib(1 << 20))], Fails(Corrupt, "truncated")),
        (
            "the metadata far away",
            &[(metadata + 16, &mib(1 << 30))],
            Fails(Corrupt, "the metadata table has an impossible position"),
        ),
        (
            "the BAT far away",
            &[(bat + 16, &mib(1 << 30))],
            Fails(Corrupt, "the block allocation table is far beyond the end of the file"),
        ),
    ];
    check_changed_files(&file, &case, &disk, rows);
}

fn fields_of_metadata() {
    let image = image();
    let (file, disk) = (image.file(), image.disk(&[]));
    let entry = |number: usize| METADATA + 32 + 32 * number;
    let item = |number: usize| ITEMS + 1024 * number;
    let sized = |size: u64| Bytes(Vhdx { size, ..image.clone() }.disk(&[]));
    let rows: &[Row] = &[
        ("no metadata", &[(METADATA, b"M")], Fails(Corrupt, "the metadata table is missing")),
        ("no items", &[(METADATA + 10, &[0])], Fails(Corrupt, "item caa16737-fa36-4d43-b3b6-33f0aa44e76b is missing")),
        ("many items", &[(METADATA + 10, &[0xff; 2])], Fails(Corrupt, "has 65535 entries")),
        (
            "an item less",
            &[(METADATA + 10, &[4])],
            Fails(Corrupt, "item beca12ab-b2e6-4523-93ef-c309e000c746 is missing"),
        ),
        ("an unknown item", &[(METADATA + 10, &[6]), (entry(5), &[8; 16])], Same),
        (
            "an unknown item that is required",
            &[(METADATA + 10, &[6]), (entry(5), &[8; 16]), (entry(5) + 24, &[4])],
            Fails(Unsupported, "the required metadata item 08080808-0808-0808-0808-080808080808"),
        ),
        ("an item twice", &[(entry(4), &file[entry(0)..entry(1)])], Fails(Corrupt, "is listed twice")),
        ("an item in the table", &[(entry(1) + 16, &le32(0xfffc))], Fails(Corrupt, "an invalid position or length")),
        (
            "an item past the region",
            &[(entry(1) + 16, &le32((1 << 20) - 4))],
            Fails(Corrupt, "an invalid position or length"),
        ),
        ("an item that is too short", &[(entry(1) + 20, &le32(7))], Fails(Corrupt, "an invalid position or length")),
        ("an item that is too long", &[(entry(1) + 20, &[0xff; 4])], Fails(Corrupt, "an invalid position or length")),
        (
            "an item in another one",
            &[(entry(1) + 16, &le32((64 << 10) + 4))],
            Fails(Corrupt, "two metadata items overlap"),
        ),
        (
            "an item at the place of another one",
            &[(entry(3) + 16, &le32((64 << 10) + 2048))],
            Fails(Corrupt, "two metadata items overlap"),
        ),
        (
            "an item directly after another one",
            &[(entry(3) + 16, &le32((64 << 10) + 2052)), (ITEMS + 2052, &le32(4096))],
            Same,
        ),
        (
            "an unknown item in another one",
            &[(METADATA + 10, &[6]), (entry(5), &[8; 16]), (entry(5) + 16, &le32(64 << 10))],
            Same,
        ),
        ("blocks of 0 bytes", &[(item(0), &le32(0))], Fails(Corrupt, "the block size is 0")),
        ("blocks of 512 KiB", &[(item(0), &le32(1 << 19))], Fails(Corrupt, "the block size is 524288")),
        ("blocks of 3 MiB", &[(item(0), &le32(3 << 20))], Fails(Corrupt, "the block size is 3145728")),
        ("blocks of 512 MiB", &[(item(0), &le32(1 << 29))], Fails(Corrupt, "the block size is 536870912")),
        ("a fixed disk", &[(item(0) + 4, &[1])], Same),
        (
            "a parent without a locator",
            &[(item(0) + 4, &[2])],
            Fails(Corrupt, "item a8d35f2d-b30b-454d-abf7-d3d84834ab0c is missing"),
        ),
        ("no size", &[(item(1), &le64(0))], sized(0)),
        ("a smaller disk", &[(item(1), &le64(1 << 20))], sized(1 << 20)),
        ("a part of a sector", &[(item(1), &le64(1 << 20 | 100))], Fails(Corrupt, "the virtual size is 1048676")),
        ("more than 64 TiB", &[(item(1), &le64(1 << 46 | 512))], Fails(Corrupt, "up to 64 TiB")),
        (
            "64 TiB",
            &[(item(1), &le64(1 << 46))],
            Fails(Corrupt, "table has 1048576 bytes, but the disk needs 537001976"),
        ),
        ("sectors of 1024 bytes", &[(item(2), &le32(1024))], Fails(Corrupt, "a sector is 1024 bytes")),
        ("sectors of 4096 bytes", &[(item(2), &le32(4096))], Same),
        ("physical sectors", &[(item(3), &le32(512))], Same),
        ("another ID", &[(item(4), &[0; 16])], Same),
    ];
    check_changed_files(&file, &case, &disk, rows);
}

fn fields_of_blocks() {
    let image = image();
    let (file, disk) = (image.file(), image.disk(&[]));
    let entry = |number: usize| TABLE + 8 * number;
    let with = |first: Block| Bytes(Vhdx { blocks: &[first, MIXED[1], MIXED[2], MIXED[3]], ..image.clone() }.disk(&[]));
    let rows: &[Row] = &[
        ("no block", &[(entry(0), &le64(3 << 20))], with(State(0))),
        ("an undefined block", &[(entry(0), &le64(1 | 0xfff8))], with(State(1))),
        (
            "state 4",
            &[(entry(0), &le64(3 << 20 | 4))],
            Fails(Corrupt, "entry of the block allocation table is invalid"),
        ),
        (
            "a part of a block",
            &[(entry(0), &le64(3 << 20 | 7))],
            Fails(Corrupt, "entry of the block allocation table is invalid"),
        ),
        (
            "reserved bits",
            &[(entry(0), &le64(3 << 20 | 1 << 19 | 6))],
            Fails(Corrupt, "entry of the block allocation table is invalid"),
        ),
        (
            "a block in the headers",
            &[(entry(0), &le64(6))],
            Fails(Corrupt, "a part of the disk is in a header or table"),
        ),
        (
            "a block in the BAT",
            &[(entry(0), &le64(2 << 20 | 6))],
            Fails(Corrupt, "a part of the disk is in a header or table"),
        ),
        ("a block twice", &[(entry(1), &le64(3 << 20 | 6))], Fails(Corrupt, "two parts of the disk overlap")),
        ("a block past the end", &[(entry(0), &le64(1 << 40 | 6))], Fails(Corrupt, "truncated")),
        (
            "the last position",
            &[(entry(0), &le64(u64::MAX << 20 | 6))],
            Fails(Corrupt, "a block is far beyond the end"),
        ),
    ];
    check_changed_files(&file, &case, &disk, rows);
}

fn fields_of_differences() {
    let (image, below) = (child(), parent().disk(&[]));
    let (file, disk) = (image.file(), image.disk(&below));
    let bitmap = image.bitmap_entry(0);
    let with = |first: Block| Bytes(Vhdx { blocks: &[first], ..image.clone() }.disk(&below));
    let rows: &[Row] = &[
        ("nothing", &[], Same),
        ("no block", &[(TABLE, &le64(0))], with(State(0))),
        ("zeros", &[(TABLE, &le64(2))], with(State(2))),
        ("an undefined block", &[(TABLE, &le64(1))], with(State(1))),
        ("a whole block", &[(TABLE, &le64(4 << 20 | 6))], with(Data(3))),
        ("no bitmap", &[(bitmap, &le64(0))], Fails(Corrupt, "entry of the block allocation table is invalid")),
        (
            "a bitmap with a wrong state",
            &[(bitmap, &le64(3 << 20 | 7))],
            Fails(Corrupt, "entry of the block allocation table is invalid"),
        ),
        ("a bitmap in the metadata", &[(bitmap, &le64(1 << 20 | 6))], Fails(Corrupt, "a table overlaps another part")),
        ("a bitmap past the end", &[(bitmap, &le64(1 << 40 | 6))], Fails(Corrupt, "truncated")),
        ("a bitmap far away", &[(bitmap, &le64(1 << 60 | 6))], Fails(Corrupt, "a sector bitmap is far beyond the end")),
    ];
    check_changed_files(&file, &with_parent, &disk, rows);
}

fn damage() {
    let image = image();
    let (file, disk) = (image.file(), image.disk(&[]));
    let lost = |start: usize, len: usize, damage| Lost { start: GuestOffset(start as u64), len: len as u64, damage };
    let size = SIZE as usize;
    let both = |at: [usize; 2]| changed(file.clone(), &[(at[0] + 4, &[0; 4]), (at[1] + 4, &[0; 4])]);
    let first = |entry: u64| changed(file.clone(), &[(TABLE, &le64(entry))]);
    let logged = logged();
    let in_log = image.log_start() + 8192;
    let rows = [
        ("nothing", file.clone(), vec![]),
        ("the checksums of the headers", both(HEADERS), vec![]),
        ("the checksums of the region tables", both(REGIONS), vec![]),
        ("a state", first(3 << 20 | 4), vec![lost(0, MIB, ENTRY_INVALID)]),
        ("a block past the end", first(1 << 40 | 6), vec![lost(0, MIB, BLOCK_TRUNCATED)]),
        ("a block far beyond the end", first(1 << 60 | 6), vec![lost(0, MIB, BLOCK_OUTSIDE)]),
        (
            "a part of a block",
            file[..3 * MIB + 1000].to_vec(),
            vec![lost(512, MIB - 512, BLOCK_TRUNCATED), lost(3 * MIB, 4096, BLOCK_TRUNCATED)],
        ),
        ("a block", file[..file.len() - 4096].to_vec(), vec![lost(3 * MIB, 4096, BLOCK_TRUNCATED)]),
        ("the table", file[..TABLE].to_vec(), vec![lost(0, size, TABLE_TRUNCATED)]),
        (
            "the table, far away",
            sealed(changed(file.clone(), &[(REGIONS[0] + 32, &le64(1 << 50))])),
            vec![lost(0, size, TABLE_OUTSIDE)],
        ),
        (
            "a part of the table",
            file[..TABLE + 10].to_vec(),
            vec![lost(0, MIB, BLOCK_TRUNCATED), lost(MIB, size - MIB, TABLE_TRUNCATED)],
        ),
        ("the log is whole", logged.clone(), vec![]),
        ("the log and a block", logged[..logged.len() - 4096].to_vec(), vec![lost(3 * MIB, 4096, BLOCK_TRUNCATED)]),
    ];
    for (what, image, lost) in rows {
        check_damage(what, &Case::new(image), &disk, &lost);
    }
    // Without its log, nothing is in the BAT, and nothing shows what else has changed.
    let damaged = changed(logged, &[(in_log + 100, &[0xff])]);
    let error = Case::new(damaged.clone()).bytes().unwrap_err();
    assert!(error.kind == Corrupt && error.code == "vhdx-log", "{error}");
    let salvaged = Case { salvage: true, ..Case::new(damaged) };
    assert!(salvaged.bytes().unwrap() == vec![0; size]);
    assert_eq!(salvage(&salvaged).unwrap().1, [lost(0, size, LOG_LOST)]);
    let child = child();
    let disk = child.disk(&parent().disk(&[]));
    let bitmap = 3 * MIB;
    for (what, file, damage) in [
        ("no bitmap", changed(child.file(), &[(child.bitmap_entry(0), &[0; 8])]), ENTRY_INVALID),
        ("a bitmap far away", changed(child.file(), &[(child.bitmap_entry(0), &le64(1 << 60 | 6))]), BITMAP_OUTSIDE),
        ("a bitmap that is cut off", child.file()[..bitmap].to_vec(), BITMAP_TRUNCATED),
    ] {
        check_damage(what, &with_parent(file), &disk, &[lost(0, 8192, damage)]);
    }
}

/// The table and the bitmaps are read once; runs of absent blocks and of adjacent sectors are one extent each.
fn listings() -> Vec<Listing> {
    const BLOCKS: usize = 300_000;
    let absent = vec![State(0); BLOCKS];
    let absent = Vhdx::new(&absent);
    let table = TABLE as u64..absent.table_end() as u64;
    let extents = HeldSource::new(absent.file()).extents();
    assert_eq!((extents[0].len, extents[0].kind), (absent.size, ExtentKind::Zero { host: None }));
    let whole = Vhdx::new(&[Data(1); 8]);
    let whole_table = TABLE as u64..whole.table_end() as u64;
    vec![
        Listing {
            what: "absent blocks",
            file: absent.file(),
            data: 0,
            most_extents: 1,
            most_reads: 10 + 12,
            most_bytes: table.end - table.start + (512 << 10),
            tables: vec![table],
        },
        Listing {
            what: "whole blocks",
            file: whole.file(),
            data: whole.size,
            // They are in reverse order.
            most_extents: 8,
            most_reads: 12,
            most_bytes: 512 << 10,
            tables: vec![whole_table],
        },
    ]
}

/// Images whose table is after the end of the file.
fn extremes() -> Vec<Extreme> {
    let sized = |size: u64| {
        let file = image().file();
        let table = REGIONS[0] + 16;
        let changes: &[(usize, &[u8])] = &[
            (table + 16, &le64(1 << 40)),
            (table + 24, &le32(512 << 20)),
            (ITEMS, &le32(256 << 20)),
            (ITEMS + 1024, &le64(size)),
        ];
        sealed(changed(file, changes))
    };
    vec![
        Extreme { what: "no bytes", file: sized(0), size: Ok(0) },
        Extreme { what: "a sector", file: sized(512), size: Ok(512) },
        Extreme { what: "the largest disk", file: sized(64 << 40), size: Ok(64 << 40) },
        Extreme { what: "a larger disk", file: sized(65 << 40), size: Err(Corrupt) },
        Extreme { what: "a disk of 2^64-512 bytes", file: sized(u64::MAX - 511), size: Err(Corrupt) },
    ]
}
