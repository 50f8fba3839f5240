//! VMDK for the suite: sparse files, streams, and extents of other kinds beside their descriptor.

mod fields;

use super::{Extreme, Format, Listing, Sample};
use crate::common::salvage::check_damage;
use crate::common::small::{Patch, changed};
use crate::common::vmdk::*;
use crate::common::*;
use decant::ErrorKind::*;
use decant::compress::decoding_damage::{GRAIN_INVALID, GRAIN_MISPLACED};
use decant::disk::losses::Lost;
use decant::error::damage::Damage;
use decant::format::vmdk::*;
use decant::offsets::GuestOffset;
use std::iter;

pub const FORMAT: Format = Format { name: "vmdk", samples, fields: fields::check, damage, listings, extremes };

/// The name of the extent beside a descriptor.
const EXTENT: &str = "x.vmdk";

fn whole() -> Vec<u8> {
    disk(64, 8, &few_grains())
}

fn plain() -> Vec<u8> {
    Kdmv::default().build(&few_grains())
}

fn stream(footer: bool) -> Vec<u8> {
    Kdmv { version: 3, packing: Packing::Marked, footer, ..Kdmv::default() }.build(&few_grains())
}

/// The positions of the directory, the table and the first grain in `plain` and `stream(false)`.
const DIRECTORY: usize = TABLES;
const TABLE: usize = TABLES + SECTOR;
const GRAINS: usize = TABLE + 4 * SECTOR;

fn le32(value: u32) -> [u8; 4] {
    value.to_le_bytes()
}

fn le64(value: u64) -> [u8; 8] {
    value.to_le_bytes()
}

/// A disk whose one extent of 64 sectors is in the file `EXTENT`.
fn over(kind: &str, extent: Vec<u8>) -> Case {
    let text = descriptor("custom", &format!("RW 64 {kind} \"{EXTENT}\"\n"));
    Case { companions: vec![(EXTENT.to_owned(), extent)], ..Case::new(text.into_bytes()) }
}

fn over_cowd(extent: Vec<u8>) -> Case {
    over("VMFSSPARSE", extent)
}

fn over_sesparse(extent: Vec<u8>) -> Case {
    over("SESPARSE", extent)
}

fn samples() -> Vec<Sample> {
    let tables = || vec![0..96, DIRECTORY..DIRECTORY + 4, TABLE..TABLE + 32];
    let sparse = |what: &str, file: Vec<u8>| Sample {
        salvaged: TABLES..usize::MAX,
        step: 512,
        ..Sample::new(what, file, whole()).zeros_at_the_end()
    };
    vec![
        Sample { tables: tables(), ..sparse("plain", plain()) },
        Sample { tables: tables(), ..sparse("a stream", stream(false)) },
        sparse("a stream with a footer", stream(true)),
        sparse("two directories", Kdmv { redundant: true, ..Kdmv::default() }.build(&few_grains())),
        Sample {
            case: over_cowd,
            signature: (4, Corrupt),
            tables: vec![0..28, 4 * SECTOR..4 * SECTOR + 4, 5 * SECTOR..5 * SECTOR + 32],
            ..sparse("a COWD extent", cowd(64, 8, &few_grains()))
        },
        Sample {
            case: over_sesparse,
            signature: (8, Corrupt),
            tables: vec![
                0..200,
                SE_VOLATILE..SE_VOLATILE + 32,
                SE_DIRECTORY..SE_DIRECTORY + 8,
                SE_TABLES..SE_TABLES + 64,
            ],
            ..sparse("a SESparse extent", sesparse(64, &few_grains()))
        },
        Sample {
            case: |file| over("FLAT", file),
            signature: (0, Corrupt),
            salvaged: 0..usize::MAX,
            ..Sample::new("a flat extent", pattern(1, 64 * SECTOR), pattern(1, 64 * SECTOR))
        },
    ]
}

fn damage() {
    // The lost ranges, as (first grain, grains, reason).
    type Losses<'a> = &'a [(u64, u64, Damage)];
    let redundant = Kdmv { redundant: true, ..Kdmv::default() }.build(&few_grains());
    let (beyond, far) = (le32(1 << 20), le32(u32::MAX));
    let (plain, stream) = (plain(), stream(false));
    let last = u32::from_le_bytes(stream[TABLE + 28..TABLE + 32].try_into().unwrap()) as usize * SECTOR;
    let cut = plain[..plain.len() - 8 * SECTOR].to_vec();
    let rows: &[(&str, &[u8], Patch, Losses)] = &[
        ("the last grain is missing", &cut, &[], &[(7, 1, GRAIN_TRUNCATED)]),
        ("a grain after the end", &plain, &[(TABLE + 4, &beyond)], &[(1, 1, GRAIN_TRUNCATED)]),
        ("a table after the end", &plain, &[(DIRECTORY, &beyond)], &[(0, 8, TABLE_TRUNCATED)]),
        ("a grain, far away", &plain, &[(TABLE + 4, &far)], &[(1, 1, GRAIN_OUTSIDE)]),
        ("a table, far away", &plain, &[(DIRECTORY, &far)], &[(0, 8, TABLE_OUTSIDE)]),
        ("a compressed grain, far away", &stream, &[(TABLE + 12, &far)], &[(3, 1, GRAIN_OUTSIDE)]),
        ("a directory after the end", &plain, &[(56, &le64(1 << 20))], &[(0, 8, DIRECTORY_TRUNCATED)]),
        ("the same with another one", &redundant, &[(56, &le64(1 << 20))], &[]),
        ("a marker", &stream, &[(GRAINS, &[1])], &[(0, 1, GRAIN_MISPLACED)]),
        ("a stream", &stream, &[(GRAINS + 16, &[0xff; 4])], &[(0, 1, GRAIN_INVALID)]),
        // A stored block longer than the length in the marker: the file has all bytes that the marker states.
        ("the last stream", &stream, &[(last + 14, &[0, 0xff, 0xff, 0, 0])], &[(7, 1, GRAIN_INVALID)]),
        ("the last marker", &stream, &[(last + 8, &le32(1 << 12))], &[]),
        ("a compressed grain after the end", &stream, &[(TABLE + 12, &beyond)], &[(3, 1, GRAIN_TRUNCATED)]),
    ];
    for (what, image, patches, losses) in rows {
        let lost: Vec<_> = losses.iter().map(|&(start, len, damage)| lost(8 * start, 8 * len, damage)).collect();
        check_damage(what, &Case::new(changed(image.to_vec(), patches)), &whole(), &lost);
    }
    let flat = descriptor("custom", "RW 4 FLAT \"a.bin\" 0\nNOACCESS 2 FLAT \"a.bin\" 0\nRW 80 SPARSE \"s.vmdk\"\n");
    let sparse = Kdmv { descriptor: None, ..Kdmv::default() }.build(&few_grains());
    let companions = vec![("a.bin".to_owned(), pattern(1, 3 * SECTOR)), ("s.vmdk".to_owned(), sparse)];
    let disk = [&pattern(1, 3 * SECTOR)[..], &[0; 3 * SECTOR], &whole(), &[0; 16 * SECTOR]].concat();
    let lost = [lost(3, 1, EXTENT_TRUNCATED), lost(4, 2, NO_ACCESS), lost(70, 16, EXTENT_SHORT)];
    check_damage("extents", &Case { companions, ..Case::new(flat.into_bytes()) }, &disk, &lost);
}

/// `len` lost sectors from `start`, with the reason `damage`.
fn lost(start: u64, len: u64, damage: Damage) -> Lost {
    Lost { start: GuestOffset(start * SECTOR as u64), len: len * SECTOR as u64, damage }
}

fn listings() -> Vec<Listing> {
    // Tables of one entry are a sector apart: as many as a pass may hold are read at once.
    const TABLES_OF_ONE: usize = 4000;
    let grains: Vec<Grain> = (0..TABLES_OF_ONE).map(|at| Grain::Data(pattern(at as u8, SECTOR))).collect();
    let text = descriptor("monolithicSparse", "RW 4000 SPARSE \"a.vmdk\"\n");
    let kdmv = Kdmv { capacity: 4000, grain: 1, table_entries: 1, descriptor: Some(text), ..Kdmv::default() };
    let directory = TABLES as u64..TABLES as u64 + 4 * TABLES_OF_ONE as u64;
    let first = directory.end.next_multiple_of(SECTOR as u64);
    let tables = (0..TABLES_OF_ONE).map(|at| first + (at * SECTOR) as u64).map(|start| start..start + 4);
    let file = kdmv.build(&grains);
    for answers in ANSWERS {
        let converted = Case::new(file.clone()).convert(answers, Default::default(), 100_000);
        converted.result.unwrap();
        assert!(converted.target.bytes.take() == disk(4000, 1, &grains), "tables of one entry, {answers:?}");
    }
    vec![Listing {
        what: "tables of one entry",
        data: 4000 * 512,
        most_extents: 4000,
        tables: iter::once(directory).chain(tables).collect(),
        most_reads: 12,
        most_bytes: file.len() as u64,
        file,
    }]
}

/// Images whose grain directory is after the end of the file.
fn extremes() -> Vec<Extreme> {
    const LARGEST: u64 = (1 << 44) - 1;
    let sized = |sectors: u64| {
        // Grains of 1 GiB.
        changed(plain()[..TABLES].to_vec(), &[(12, &le64(sectors)), (20, &le64(1 << 21)), (56, &le64(1 << 40))])
    };
    vec![
        Extreme { what: "a sector", file: sized(1), size: Ok(512) },
        Extreme { what: "the largest disk", file: sized(LARGEST), size: Ok(LARGEST * 512) },
        Extreme { what: "a disk of 2^53 bytes", file: sized(1 << 44), size: Err(Limit) },
        Extreme { what: "a disk of 2^64 sectors", file: sized(u64::MAX), size: Err(Limit) },
    ]
}
