//! Parts of an image that overlap in the file: the same check for all formats.

use crate::common::parallels::{self, Parallels};
use crate::common::salvage::salvage;
use crate::common::small::{self, changed, overlay, small, small_disk};
use crate::common::vdi::{self, Vdi};
use crate::common::vhd::{self, Vhd};
use crate::common::vhdx::{self, Vhdx};
use crate::common::vmdk::{DESCRIPTOR, Grain, Kdmv, SECTOR, TABLES, descriptor, disk, pattern};
use crate::common::*;
use decant::ErrorKind::Corrupt;
use decant::compress::decoding_damage::COMPRESSED_INVALID;
use decant::disk::host_ranges::{DATA_IN_STRUCTURE, DATA_OVERLAPS, TABLE_OVERLAPS};
use decant::disk::losses::Lost;
use decant::error::damage::Damage;
use decant::error::fields::Field;
use decant::io::target::Abilities;
use decant::offsets::GuestOffset;
use decant::open::examination::Examination;

enum Expected {
    /// It is read, without a notice.
    Plain,
    /// It is read, with the notice `shared`.
    Shared,
    /// It is refused. A salvage reads it as it is, and lists these ranges, as start and length.
    Refused(&'static [(u64, u64, Damage)]),
}
use Expected::*;

struct Row {
    what: &'static str,
    case: Case,
    expected: Expected,
}

fn row(what: &'static str, file: Vec<u8>, expected: Expected) -> Row {
    Row { what, case: Case::new(file), expected }
}

const BLOCK: usize = 4096;

/// An image of three blocks, whose entries are replaced by these sectors.
fn vhd_with(sectors: [Option<u32>; 3]) -> Vec<u8> {
    let blocks = [vhd::Block::Data(1, 0xff), vhd::Block::Data(2, 0xff), vhd::Block::Data(3, 0xff)];
    let mut file = Vhd::new(BLOCK, &blocks).file();
    for (number, sector) in sectors.iter().enumerate() {
        if let Some(sector) = sector {
            file[vhd::TABLE + 4 * number..][..4].copy_from_slice(&sector.to_be_bytes());
        }
    }
    file
}

/// The blocks are at sectors 4, 13 and 22, in reverse order, and the footer at 31.
fn vhds() -> Vec<Row> {
    let ones = |file: Vec<u8>, sector: usize| changed(file, &[(sector * 512, &[0xff])]);
    vec![
        row("VHD", vhd_with([None; 3]), Plain),
        row("VHD: two entries at one place", vhd_with([Some(4), None, None]), Shared),
        row(
            "VHD: blocks that overlap by a sector",
            ones(vhd_with([Some(21), None, None]), 21),
            Refused(&[(3584 + 4096, 512, DATA_OVERLAPS)]),
        ),
        row(
            "VHD: a block in the header",
            // The bits are those of "c", the start of the header.
            vhd_with([Some(1), None, None]),
            Refused(&[
                (0, 1024, DATA_IN_STRUCTURE),
                (1024, 512, DATA_OVERLAPS),
                (1536, 2560, DATA_IN_STRUCTURE),
                // The two sectors of the third block that the first one has, too.
                (9728, 1024, DATA_OVERLAPS),
            ]),
        ),
        row(
            "VHD: a block at the footer",
            ones(vhd_with([Some(23), None, None]), 23),
            Refused(&[(3584, 512, DATA_IN_STRUCTURE)]),
        ),
    ]
}

fn vdis() -> Vec<Row> {
    let image = Vdi::new(BLOCK, &[vdi::Block::Data(1), vdi::Block::Data(2)]);
    let extra = Vdi { block_extra: 512, ..image.clone() };
    vec![
        row("VDI", image.file(), Plain),
        row("VDI: two entries at one place", changed(image.file(), &[(image.map(), &[0; 8])]), Shared),
        row("VDI: with extra data", extra.file(), Plain),
        row("VDI: the same with extra data", changed(extra.file(), &[(extra.map(), &[0; 8])]), Shared),
    ]
}

/// Three grains of eight sectors, after the directory and its table.
fn vmdks() -> Vec<Row> {
    // It is longer than a sector.
    let text = descriptor("monolithicSparse", "RW 64 SPARSE \"x.vmdk\"\n") + &"# padding\n".repeat(60);
    let grains: Vec<_> = (1..=3).map(|seed| Grain::Data(pattern(seed, 8 * SECTOR))).collect();
    let image = Kdmv { descriptor: Some(text), redundant: false, ..Kdmv::default() };
    let file = image.build(&grains);
    let table = TABLES + SECTOR;
    let data = (file.len() / SECTOR - 24) as u32;
    let at = |entry: usize, sector: u32| changed(file.clone(), &[(table + 4 * entry, &sector.to_le_bytes())]);
    let directory = |sector: usize| changed(file.clone(), &[(TABLES, &(sector as u32).to_le_bytes())]);
    vec![
        row("VMDK", file.clone(), Plain),
        row("VMDK: two entries at one place", at(1, data), Shared),
        row("VMDK: grains that overlap by a sector", at(1, data + 7), Refused(&[(4096, 512, DATA_OVERLAPS)])),
        row(
            "VMDK: a grain in the descriptor",
            at(1, (DESCRIPTOR / SECTOR) as u32 + 1),
            Refused(&[(4096, 512, DATA_IN_STRUCTURE)]),
        ),
        row(
            "VMDK: a grain in the directory",
            at(1, (TABLES / SECTOR) as u32),
            Refused(&[(4096, 1024, DATA_IN_STRUCTURE), (6656, 1536, DATA_OVERLAPS)]),
        ),
        row(
            "VMDK: a table in the directory",
            directory(TABLES / SECTOR),
            Refused(&[(0, 512, DATA_IN_STRUCTURE), (512, 32_256, TABLE_OVERLAPS)]),
        ),
    ]
}

fn qcow2s() -> Vec<Row> {
    use small::{COMPRESSED, DATA, END, L1, L2};
    let at = |entry: usize, host: u64| changed(small(), &[(L2 + 8 * entry, &host.to_be_bytes())]);
    let l1 = |host: usize| changed(small(), &[(L1, &(host as u64).to_be_bytes())]);
    let with_refcounts = |entry: u64| {
        let refcounts: small::Patch = &[(48, &(END as u64).to_be_bytes()), (56, &1u32.to_be_bytes()), (END, &[0; 512])];
        changed(at(1, entry), refcounts)
    };
    vec![
        row("qcow2", small(), Plain),
        row("qcow2: two entries at one place", at(1, DATA as u64), Shared),
        row("qcow2: an L2 entry into the L1 table", at(1, L1 as u64), Refused(&[(512, 512, DATA_IN_STRUCTURE)])),
        row("qcow2: an L2 entry into the L2 table", at(1, L2 as u64), Refused(&[(512, 512, DATA_IN_STRUCTURE)])),
        row("qcow2: another refcount table", with_refcounts(DATA as u64), Shared),
        row(
            "qcow2: an L2 entry into the refcount table",
            with_refcounts(END as u64),
            Refused(&[(512, 512, DATA_IN_STRUCTURE)]),
        ),
        row("qcow2: no refcount table", changed(at(1, DATA as u64), &[(56, &[0xff; 4])]), Shared),
        row(
            "qcow2: an L2 table in the L1 table",
            l1(L1),
            Refused(&[(0, 512, DATA_IN_STRUCTURE), (512, 3584, TABLE_OVERLAPS)]),
        ),
        row(
            "qcow2: compressed data in the header",
            at(1, COMPRESSED | 300),
            Refused(&[(512, 512, COMPRESSED_INVALID)]),
        ),
        row(
            "qcow2: compressed data in a cluster",
            at(1, COMPRESSED | (DATA as u64 + 9)),
            Refused(&[(512, 512, COMPRESSED_INVALID)]),
        ),
    ]
}

fn qeds() -> Vec<Row> {
    use qed::{L1, L2};
    let at = |host: usize| changed(qed::small(), &[(L2 + 8, &(host as u64).to_le_bytes())]);
    vec![
        row("QED: two entries at one place", qed::small(), Shared),
        row("QED: an entry into the L1 table", at(L1), Refused(&[(4096, 512, DATA_IN_STRUCTURE)])),
        row("QED: an entry into the L2 table", at(L2), Refused(&[(4096, 512, DATA_IN_STRUCTURE)])),
        row(
            "QED: an L2 table in the L1 table",
            changed(qed::small(), &[(L1, &(L1 as u64).to_le_bytes())]),
            Refused(&[(0, 512, DATA_IN_STRUCTURE), (512, 31_744, TABLE_OVERLAPS)]),
        ),
    ]
}

fn parallels() -> Vec<Row> {
    const BLOCKS: &[parallels::Block] = &[parallels::Block::Data(1), parallels::Block::Data(2)];
    let image = Parallels { is_ext: false, states_start: false, ..Parallels::new(2, BLOCKS) };
    let at = |sector: u32| changed(image.file(), &[(image.entry(0), &sector.to_le_bytes())]);
    vec![
        row("Parallels", image.file(), Plain),
        row("Parallels: two entries at one place", at(1), Shared),
        row("Parallels: a block over half of another", at(2), Refused(&[(1536, 512, DATA_OVERLAPS)])),
    ]
}

/// A format in which no part of the file may be used twice.
fn vhdxs() -> Vec<Row> {
    let mib = 1 << 20;
    let image = Vhdx { size: 2 * mib, ..Vhdx::new(&[vhdx::Block::Data(1), vhdx::Block::Data(2)]) };
    let at = |entry: u64| changed(image.file(), &[(image.entry(1), &entry.to_le_bytes())]);
    let first = u64::from_le_bytes(image.file()[image.entry(0)..][..8].try_into().unwrap());
    vec![
        row("VHDX", image.file(), Plain),
        row("VHDX: two entries at one place", at(first), Refused(&[(1 << 20, 1 << 20, DATA_OVERLAPS)])),
        row("VHDX: a block in the metadata", at(mib | 6), Refused(&[(1 << 20, 1 << 20, DATA_IN_STRUCTURE)])),
    ]
}

fn rows() -> Vec<Row> {
    [vhds(), vdis(), vmdks(), qcow2s(), qeds(), parallels(), vhdxs()].into_iter().flatten().collect()
}

#[test]
fn every_format_is_checked_alike() {
    for Row { what, case, expected } in rows() {
        let converted = case.convert(Answers::InOrder, Abilities::default(), 1 << 20);
        let codes: Vec<_> = converted.notices.iter().map(|notice| notice.code).collect();
        let survey = case.with(Answers::InOrder, |image| async move { image.survey().await }).unwrap();
        let deep = case.with(Answers::InOrder, |image| async move { Examination::of(&image, true).await }).unwrap();
        let is_surveyed = survey.iter().any(|notice| notice.code == "shared");
        match &expected {
            Plain | Shared => {
                converted.result.unwrap_or_else(|error| panic!("{what}: {error}"));
                let is_shared = matches!(expected, Shared);
                assert_eq!(codes, ["shared"][usize::from(!is_shared)..], "{what}");
                assert_eq!((is_surveyed, deep.damage), (is_shared, None), "{what}");
                let (bytes, lost) = salvage(&case).unwrap();
                assert!(bytes == *converted.target.bytes.borrow() && lost.is_empty(), "{what}: {lost:?}");
            }
            Refused(ranges) => {
                let error = converted.result.expect_err(what);
                assert!(!converted.target.finished.get(), "{what}: it was completed");
                assert_eq!(error.kind, Corrupt, "{what}: {error}");
                let found = deep.damage.expect(what);
                assert_eq!((found.code.clone(), found.message()), (error.code.clone(), error.message()), "{what}");
                let lost = |&(start, len, damage)| Lost { start: GuestOffset(start), len, damage };
                let expected: Vec<_> = ranges.iter().map(lost).collect();
                let (_, found) = salvage(&case).unwrap_or_else(|error| panic!("{what}: {error}"));
                assert_eq!(found, expected, "{what}");
                let overlaps = [DATA_IN_STRUCTURE, DATA_OVERLAPS, TABLE_OVERLAPS];
                assert!(overlaps.iter().any(|damage| error.message().contains(damage.reason())), "{what}: {error}");
            }
        }
    }
}

/// A salvage reads the blocks as they are.
#[test]
fn a_salvage_reads_what_overlaps() {
    let (bytes, _) = salvage(&Case::new(changed(small(), &[(small::L2 + 8, &512u64.to_be_bytes())]))).unwrap();
    let mut expected = small_disk();
    expected[512..1024].copy_from_slice(&small()[512..1024]);
    assert!(bytes == expected);
}

/// The files of a chain, and of the extents of a disk, are checked each by itself, and errors name them.
#[test]
fn errors_name_the_file() {
    let base = changed(small(), &[(small::L2 + 8, &(small::L1 as u64).to_be_bytes())]);
    let below = Case { companions: vec![("base".to_owned(), base)], ..Case::new(overlay("base", Some("qcow2"))) };
    let error = below.bytes().unwrap_err();
    assert!(error.message().starts_with("In 'base': "), "{error}");
    assert_eq!(error.fields.get("file"), Some(&Field::from("base")));

    let grains = |seed: u8| vec![Grain::Data(pattern(seed, 8 * SECTOR)); 8];
    let extent = |seed: u8| Kdmv { redundant: false, ..Kdmv::default() }.build(&grains(seed));
    let text = descriptor("twoGbMaxExtentSparse", "RW 64 SPARSE \"a\"\nRW 64 SPARSE \"b\"\n");
    let table = TABLES + SECTOR;
    let sector = ((TABLES / SECTOR) as u32).to_le_bytes();
    for (what, patches, message) in
        [("whole", &[][..], None), ("a grain in the directory", &[(table, &sector[..])][..], Some("In 'b': "))]
    {
        let companions = vec![("a".to_owned(), extent(1)), ("b".to_owned(), changed(extent(2), patches))];
        let case = Case { companions, ..Case::new(text.clone().into_bytes()) };
        match (case.bytes(), message) {
            (Ok(bytes), None) => assert!(bytes == [disk(64, 8, &grains(1)), disk(64, 8, &grains(2))].concat()),
            (Err(error), Some(start)) => assert!(error.message().starts_with(start), "{what}: {error}"),
            (found, _) => panic!("{what}: {:?}", found.map(|bytes| bytes.len())),
        }
    }
}

/// Reading a part of the disk finds what overlaps in this part.
#[test]
fn a_sample_of_the_tables_finds_it_too() {
    let file = changed(small(), &[(small::L2 + 8, &(small::L1 as u64).to_be_bytes())]);
    let examine = |image| async move { Examination::of(&image, false).await };
    let examination = Case::new(file).with(Answers::InOrder, examine).unwrap();
    assert!(examination.damage.is_some_and(|error| error.message().contains(DATA_IN_STRUCTURE.reason())));
}
