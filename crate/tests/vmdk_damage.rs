//! VMDKs of which one field is changed or a part is missing: the error that it must give, or the right bytes where the
//! change does no harm; and what salvage leaves of them.

use crate::common::small::{Patch, changed};
use crate::common::table::Reads::{self, Fails, Same};
use crate::common::table::{Row, check_changes};
use crate::common::vmdk::*;
use crate::common::*;
use decant::ErrorKind::*;
use decant::damage::Damage;
use decant::damage::decoding::{GRAIN_CUT, GRAIN_INVALID, GRAIN_MISPLACED};
use decant::format::vmdk::damage::*;
use decant::target::Abilities;
use std::time::{Duration, Instant};

/// The grains of all images here: of 8 sectors, number 0 and 3 and the last one with data.
fn grains() -> Vec<Grain> {
    let data = |seed: u8| Grain::Data(pattern(seed, 8 * SECTOR));
    let mut grains = vec![data(1), Grain::Absent, Grain::Zero, data(2)];
    grains.extend([Grain::Absent, Grain::Absent, Grain::Absent, data(3)]);
    grains
}

fn whole() -> Vec<u8> {
    disk(64, 8, &grains())
}

fn plain() -> Vec<u8> {
    Kdmv::default().build(&grains())
}

fn stream(footer: bool) -> Vec<u8> {
    Kdmv { version: 3, packing: Packing::Marked, footer, ..Kdmv::default() }.build(&grains())
}

/// Where the directory, the table and the first grain lie in `plain` and `stream(false)`.
const DIRECTORY: usize = TABLES;
const TABLE: usize = TABLES + SECTOR;
const GRAINS: usize = TABLE + 4 * SECTOR;

fn le32(value: u32) -> [u8; 4] {
    value.to_le_bytes()
}

fn le64(value: u64) -> [u8; 8] {
    value.to_le_bytes()
}

#[test]
fn header_and_tables() {
    let no_markers = le32(0x1_0005);
    let rows: &[Row] = &[
        ("nothing", &[], Same),
        ("magic", &[(0, b"KDMW")], Fails(NotRecognised, "no disk image format")),
        ("version 0", &[(4, &le32(0))], Fails(Unsupported, "version 0")),
        ("version 2", &[(4, &le32(2))], Same),
        ("version 4", &[(4, &le32(4))], Fails(Unsupported, "version 4")),
        ("unknown flags", &[(8, &le32(0x8000_0005))], Same),
        ("no flag for line ends, and none", &[(8, &le32(4)), (73, &[0; 4])], Same),
        ("other line ends", &[(73, b"\n \n\n")], Fails(Corrupt, "as binary")),
        ("compressed, but not how", &[(8, &no_markers)], Fails(Corrupt, "does not say how")),
        ("another compression", &[(77, &[2, 0])], Fails(Unsupported, "compression method 2")),
        ("dirty", &[(72, &[1])], Same),
        ("no capacity, so a descriptor", &[(12, &le64(0))], Fails(Corrupt, "or itself")),
        ("capacity of 2^53", &[(12, &le64(1 << 44))], Fails(Limit, "2^53")),
        ("capacity of 2^64", &[(12, &le64(u64::MAX))], Fails(Limit, "2^53")),
        ("grain of 0", &[(20, &le64(0))], Fails(Corrupt, "grain size")),
        ("grain of 3 sectors", &[(20, &le64(3))], Fails(Corrupt, "grain size")),
        ("grain of 2 GiB", &[(20, &le64(1 << 22))], Fails(Corrupt, "grain size")),
        ("grain of 2^64", &[(20, &le64(u64::MAX))], Fails(Corrupt, "grain size")),
        ("no descriptor", &[(28, &le64(0))], Fails(MissingFile, "open the descriptor")),
        ("blank descriptor", &[(DESCRIPTOR, &[0; 200])], Fails(MissingFile, "open the descriptor")),
        ("descriptor behind the end", &[(28, &le64(1 << 20))], Fails(Corrupt, "the descriptor")),
        ("descriptor at 2^64", &[(28, &le64(u64::MAX))], Fails(Corrupt, "impossible position")),
        ("descriptor of 1 sector", &[(36, &le64(1))], Same),
        ("descriptor too large", &[(36, &le64(1 << 12))], Fails(Limit, "descriptor")),
        ("descriptor of 2^64", &[(36, &le64(u64::MAX))], Fails(Limit, "descriptor")),
        ("no entries in a table", &[(44, &le32(0))], Fails(Corrupt, "entries")),
        ("many entries in a table", &[(44, &le32(1 << 16))], Same),
        ("too many entries in a table", &[(44, &le32(u32::MAX))], Fails(Corrupt, "entries")),
        ("redundant, without the flag", &[(48, &le64(1 << 40))], Same),
        ("directory behind the end", &[(56, &le64(1 << 20))], Fails(Corrupt, "the grain directory")),
        ("directory at 2^64-2", &[(56, &le64(u64::MAX - 1))], Fails(Corrupt, "impossible position")),
        ("footer that is not there", &[(56, &le64(u64::MAX))], Fails(Corrupt, "footer")),
        ("table behind the end", &[(DIRECTORY, &le32(1 << 20))], Fails(Corrupt, "a grain table")),
        ("grain behind the end", &[(TABLE + 4, &le32(1 << 20))], Fails(Corrupt, "a grain lies")),
        ("grain that ends behind the end", &[(TABLE + 4, &le32(48))], Fails(Corrupt, "a grain lies")),
    ];
    check_changes(&Case { name: Some("a.vmdk".to_owned()), ..Case::new(plain()) }, &whole(), rows);
}

#[test]
fn compressed_grains() {
    let stream = stream(false);
    let zlib = GRAINS + 12;
    let len = u32::from_le_bytes(stream[GRAINS + 8..zlib].try_into().unwrap()) as usize;
    let adler = zlib + len - 4;
    let second = u32::from_le_bytes(stream[TABLE + 12..TABLE + 16].try_into().unwrap());
    let rows: &[Row] = &[
        ("nothing", &[], Same),
        // QEMU does not look at it.
        ("another sector", &[(GRAINS, &le64(8))], Fails(Corrupt, "the marker of another grain")),
        ("another grain", &[(TABLE, &le32(second))], Fails(Corrupt, "the marker of another grain")),
        ("a length of 0", &[(GRAINS + 8, &le32(0))], Fails(Corrupt, "decompress")),
        ("a length that is short", &[(GRAINS + 8, &le32(len as u32 - 5))], Fails(Corrupt, "decompress")),
        ("a length without the checksum", &[(GRAINS + 8, &le32(len as u32 - 1))], Fails(Corrupt, "decompress")),
        ("a length beyond the end", &[(GRAINS + 8, &le32(u32::MAX))], Same),
        ("a method that is not deflate", &[(zlib, &[0x79])], Fails(Corrupt, "decompress")),
        ("a dictionary", &[(zlib + 1, &[0xbb])], Fails(Corrupt, "decompress")),
        ("the check of the header", &[(zlib + 1, &[0x9d])], Fails(Corrupt, "decompress")),
        ("the stream", &[(zlib + 3, &[0xff; 8])], Fails(Corrupt, "decompress")),
        ("the checksum", &[(adler, &[stream[adler] ^ 1])], Fails(Corrupt, "the right checksum")),
        ("grains of more than 2 MiB", &[(20, &le64(8192))], Fails(Limit, "2097152")),
        ("grains that are larger", &[(20, &le64(16))], Fails(Corrupt, "decompress")),
    ];
    check_changes(&Case::new(stream.clone()), &whole(), rows);
    // A stream that is longer than its grain is none, as for zlib.
    let grains = vec![Grain::Data(pattern(1, 9 * SECTOR))];
    let longer = Kdmv { packing: Packing::Marked, ..Kdmv::default() }.build(&grains);
    assert!(Case::new(longer).bytes().unwrap_err().message.contains("decompress"));
    let shorter = Kdmv { packing: Packing::Marked, ..Kdmv::default() };
    let shorter = shorter.build(&[Grain::Data(pattern(1, 7 * SECTOR)), Grain::Absent]);
    assert!(Case::new(shorter).bytes().unwrap_err().message.contains("decompress"));
}

#[test]
fn cowd_and_sesparse() {
    let over = |name: &str, kind: &str, file: Vec<u8>| Case {
        companions: vec![(name.to_owned(), file)],
        ..Case::new(descriptor("custom", &format!("RW 64 {kind} \"{name}\"\n")).into_bytes())
    };
    let entry = SE_TABLES;
    // (type, what, patches of the extent, what comes of it)
    let rows: &[(&str, &str, Patch, Reads)] = &[
        ("VMFSSPARSE", "nothing", &[], Same),
        ("VMFSSPARSE", "version", &[(4, &le32(2))], Fails(Unsupported, "In 'x.vmdk'")),
        ("VMFSSPARSE", "a smaller capacity", &[(12, &le32(40))], Fails(Corrupt, "but its descriptor says")),
        ("VMFSSPARSE", "grain", &[(16, &le32(0))], Fails(Corrupt, "grain size")),
        ("VMFSSPARSE", "directory", &[(20, &le32(1 << 20))], Fails(Corrupt, "the grain directory")),
        ("VMFSSPARSE", "directory's size", &[(24, &le32(0))], Fails(Corrupt, "too small")),
        ("VMFSSPARSE", "table", &[(4 * SECTOR, &le32(1 << 20))], Fails(Corrupt, "a grain table")),
        ("VMFSSPARSE", "a grain in the header", &[(5 * SECTOR, &le32(1))], Fails(Corrupt, "grain table is invalid")),
        ("SESPARSE", "nothing", &[], Same),
        ("SESPARSE", "version", &[(8, &le64(1))], Fails(Unsupported, "version 0x1 of SESparse")),
        ("SESPARSE", "grain", &[(24, &le64(16))], Fails(Unsupported, "grains of 16")),
        ("SESPARSE", "flags", &[(40, &le64(1))], Fails(Unsupported, "flags 0x1")),
        ("SESPARSE", "capacity", &[(16, &le64(1 << 60))], Fails(Limit, "2^53")),
        ("SESPARSE", "volatile header", &[(SE_VOLATILE, &le64(1))], Fails(Corrupt, "volatile header")),
        ("SESPARSE", "its position", &[(80, &le64(u64::MAX))], Fails(Corrupt, "impossible position")),
        ("SESPARSE", "journal", &[(SE_VOLATILE + 24, &le64(1))], Fails(Unsupported, "journal")),
        ("SESPARSE", "directory's size", &[(136, &le64(0))], Fails(Corrupt, "too small")),
        ("SESPARSE", "a directory entry", &[(SE_DIRECTORY, &le64(1))], Fails(Corrupt, "directory is invalid")),
        (
            "SESPARSE",
            "a table behind the end",
            &[(SE_DIRECTORY, &le64(0x1000_0000 << 32 | 9))],
            Fails(Corrupt, "table"),
        ),
        ("SESPARSE", "an entry of no kind", &[(entry, &le64(1))], Fails(Corrupt, "grain table is invalid")),
        ("SESPARSE", "an entry of another kind", &[(entry, &le64(4 << 60))], Fails(Corrupt, "grain table is invalid")),
        ("SESPARSE", "a grain behind the end", &[(entry, &le64(3 << 60 | 9 << 48))], Fails(Corrupt, "a grain lies")),
        ("SESPARSE", "a grain beyond all", &[(entry, &le64(3 << 60 | 0xffff_ffff_ffff))], Fails(Corrupt, "invalid")),
    ];
    for (kind, what, patches, expected) in rows {
        let file = if *kind == "SESPARSE" { sesparse(64, &grains()) } else { cowd(64, 8, &grains()) };
        match (over("x.vmdk", kind, changed(file, patches)).bytes(), expected) {
            (Ok(bytes), Same) => assert!(bytes == whole(), "{kind}, {what}: other bytes"),
            (Err(error), Fails(kind, part)) => {
                let is_named = !part.is_empty() && error.message.contains(part);
                assert!(error.kind == *kind && is_named, "{what}: {error}");
                assert!(error.message.contains("x.vmdk") || error.kind == Limit, "{what}: {error}");
            }
            (result, _) => panic!("{kind}, {what}: {:?}", result.map(|disk| disk.len())),
        }
    }
}

#[test]
fn every_truncation_is_noticed() {
    for (what, image) in [("plain", plain()), ("a stream", stream(false)), ("a footer", stream(true))] {
        for len in (8..1024).step_by(8).chain((1024..image.len()).step_by(512)) {
            match Case::new(image[..len].to_vec()).bytes() {
                Ok(bytes) => assert!(bytes == whole() && image[len..].iter().all(|&byte| byte == 0), "{what}: {len}"),
                Err(error) => {
                    assert!(error.kind == Corrupt && error.message.contains("truncated"), "{what}, {len}: {error}");
                }
            }
        }
    }
}

/// What is lost, as (first grain, grains, why).
type Losses<'a> = &'a [(u64, u64, Damage)];

#[test]
fn what_salvage_leaves() {
    let redundant = Kdmv { redundant: true, ..Kdmv::default() }.build(&grains());
    let beyond = le32(1 << 20);
    let (plain, stream) = (plain(), stream(false));
    let last = u32::from_le_bytes(stream[TABLE + 28..TABLE + 32].try_into().unwrap()) as usize * SECTOR;
    let cut = plain[..plain.len() - 8 * SECTOR].to_vec();
    // (what, image, patches, lost)
    let rows: &[(&str, &[u8], Patch, Losses)] = &[
        ("the last grain is missing", &cut, &[], &[(7, 1, GRAIN_TRUNCATED)]),
        ("a grain behind the end", &plain, &[(TABLE + 4, &beyond)], &[(1, 1, GRAIN_TRUNCATED)]),
        ("a table behind the end", &plain, &[(DIRECTORY, &beyond)], &[(0, 8, TABLE_TRUNCATED)]),
        ("a directory behind the end", &plain, &[(56, &le64(1 << 20))], &[(0, 8, DIRECTORY_TRUNCATED)]),
        ("the same with another one", &redundant, &[(56, &le64(1 << 20))], &[]),
        ("a marker", &stream, &[(GRAINS, &[1])], &[(0, 1, GRAIN_MISPLACED)]),
        ("a stream", &stream, &[(GRAINS + 16, &[0xff; 4])], &[(0, 1, GRAIN_INVALID)]),
        // A stored block that is longer than the marker says: the file has all that the marker announces.
        ("the last stream", &stream, &[(last + 14, &[0, 0xff, 0xff, 0, 0])], &[(7, 1, GRAIN_INVALID)]),
        ("the last marker", &stream, &[(last + 8, &le32(1 << 12))], &[]),
        ("a compressed grain behind the end", &stream, &[(TABLE + 12, &beyond)], &[(3, 1, GRAIN_TRUNCATED)]),
    ];
    for (what, image, patches, expected) in rows {
        let case = Case { salvage: true, ..Case::new(changed(image.to_vec(), patches)) };
        for job in [512, 1 << 20] {
            let converted = case.convert(Answers::Reverse, Abilities::default(), job);
            converted.result.unwrap();
            let grain = 8 * SECTOR as u64;
            let lost: Vec<_> =
                converted.lost.listed.iter().map(|lost| (lost.start / grain, lost.len / grain, lost.damage)).collect();
            assert_eq!(lost, *expected, "{what}");
            let mut disk = whole();
            for &(first, count, _) in *expected {
                disk[(first * grain) as usize..((first + count) * grain) as usize].fill(0);
            }
            assert!(converted.target.bytes.take() == disk, "{what}: other bytes");
        }
    }
    let flat = descriptor("custom", "RW 4 FLAT \"a.bin\" 0\nNOACCESS 2 FLAT \"a.bin\" 0\nRW 80 SPARSE \"s.vmdk\"\n");
    let sparse = Kdmv { descriptor: None, ..Kdmv::default() }.build(&grains());
    let companions = vec![("a.bin".to_owned(), pattern(1, 3 * SECTOR)), ("s.vmdk".to_owned(), sparse)];
    let case = Case { companions, salvage: true, ..Case::new(flat.into_bytes()) };
    let converted = case.convert(Answers::InOrder, Abilities::default(), 1 << 20);
    converted.result.unwrap();
    let sector = SECTOR as u64;
    let lost: Vec<_> =
        converted.lost.listed.iter().map(|lost| (lost.start / sector, lost.len / sector, lost.damage)).collect();
    assert_eq!(lost, [(3, 1, EXTENT_TRUNCATED), (4, 2, NO_ACCESS), (70, 16, EXTENT_SHORT)]);
    let expected = [&pattern(1, 3 * SECTOR)[..], &[0; 3 * SECTOR], &whole(), &[0; 16 * SECTOR]].concat();
    assert!(converted.target.bytes.take() == expected);
}

/// Without its footer a stream is refused. A salvage finds the grains by their markers.
#[test]
fn a_lost_footer() {
    let small =
        Kdmv { grain: 1, capacity: 300, table_entries: 128, packing: Packing::Marked, footer: true, ..Kdmv::default() };
    let small_grains: Vec<Grain> =
        (0..300).map(|at| if at % 7 < 3 { Grain::Absent } else { Grain::Data(pattern(at as u8, SECTOR)) }).collect();
    let eight = Kdmv { grain: 8, capacity: 64, table_entries: 512, ..small.clone() };
    for (kdmv, grains) in [(eight, grains()), (small, small_grains)] {
        // No marker names a grain of zeros.
        let grains: Vec<Grain> =
            grains.into_iter().map(|grain| if grain == Grain::Zero { Grain::Absent } else { grain }).collect();
        let image = kdmv.build(&grains);
        let (disk, grain) = (disk(kdmv.capacity, kdmv.grain, &grains), kdmv.grain as usize * SECTOR);
        let mut ends = Vec::new();
        let mut at = TABLES;
        for (number, _) in grains.iter().enumerate().filter(|(_, grain)| **grain != Grain::Absent) {
            at += 12 + u32::from_le_bytes(image[at + 8..at + 12].try_into().unwrap()) as usize;
            ends.push((number, at));
            at = at.next_multiple_of(SECTOR);
        }
        let text = descriptor("custom", &format!("RW {} SPARSE \"s.vmdk\"\n", kdmv.capacity)).into_bytes();
        for len in (TABLES..image.len() - SECTOR).step_by(SECTOR * 5 + 13).chain([image.len() - 2 * SECTOR]) {
            let cut = image[..len].to_vec();
            let extent = vec![("s.vmdk".to_owned(), cut.clone())];
            for case in [Case::new(cut), Case { companions: extent, ..Case::new(text.clone()) }] {
                let error = case.clone().bytes().unwrap_err();
                assert!(error.kind == Corrupt && error.message.contains("footer"), "{len}: {error}");
                let converted = Case { salvage: true, ..case }.convert(Answers::InOrder, Abilities::default(), 1 << 20);
                converted.result.unwrap();
                let mut there: Vec<usize> =
                    ends.iter().filter(|(_, end)| *end <= len).map(|(number, _)| *number).collect();
                // Behind a hole, a grain counts only if a marker or its table behind it agrees.
                if let Some(&last) = there.last()
                    && last > 0
                    && !there.contains(&(last - 1))
                    && converted.lost.listed.first().is_some_and(|lost| lost.start < (last * grain) as u64)
                {
                    assert!(ends.iter().all(|(number, end)| *number <= last || end.next_multiple_of(SECTOR) > len));
                    there.pop();
                }
                // A grain that is cut is lost as such, and what no marker names as what is behind the last one.
                let known = there.last().map_or(0, |last| (last + 1) * grain);
                let bytes = converted.target.bytes.take();
                assert!(bytes[..known] == disk[..known], "{len}: other bytes");
                assert!(bytes[known..].iter().all(|&byte| byte == 0), "{len}: bytes that are lost");
                let (lost, behind) = (converted.lost.bytes, (disk.len() - known) as u64);
                assert!(lost <= behind && (lost > 0) == (behind > 0), "{len}: {lost} of {behind} bytes are lost");
                assert!(
                    converted.lost.listed.iter().all(|lost| [FOOTER_LOST, GRAIN_CUT].contains(&lost.damage)),
                    "{len}"
                );
            }
        }
    }
    // What is no grain that may follow ends the search: a grain before the last one, one between grains, a huge one.
    let image = Kdmv { packing: Packing::Marked, footer: true, ..Kdmv::default() }.build(&grains());
    let cut = image[..image.len() - 2 * SECTOR].to_vec();
    let second = TABLES
        + (12 + u32::from_le_bytes(image[TABLES + 8..TABLES + 12].try_into().unwrap()) as usize)
            .next_multiple_of(SECTOR);
    for patch in [
        (second, &le64(0)[..]),
        (second, &le64(9)),
        (second, &le64(64)),
        (second, &le64(u64::MAX)),
        (second + 8, &le32(u32::MAX)),
    ] {
        let case = Case { salvage: true, ..Case::new(changed(cut.clone(), &[patch])) };
        let converted = case.convert(Answers::InOrder, Abilities::default(), 1 << 20);
        converted.result.unwrap();
        let lost: Vec<_> = converted.lost.listed.iter().map(|lost| (lost.start, lost.len, lost.damage)).collect();
        assert_eq!(lost, [(8 * SECTOR as u64, 56 * SECTOR as u64, FOOTER_LOST)], "{patch:?}");
    }
}

/// A stream of 64 grains of 4 sectors, with holes.
struct Marked {
    image: Vec<u8>,
    disk: Vec<u8>,
    /// The number of each grain that is not absent, and where its marker lies.
    markers: Vec<(usize, usize)>,
    /// Where the last grain ends.
    end: usize,
}

impl Marked {
    fn new(tables_between: bool) -> Self {
        let grains: Vec<Grain> = (0..64)
            .map(|at| match at % 11 {
                3 | 7 | 8 => Grain::Absent,
                _ => Grain::Data(
                    (0..4 * SECTOR).map(|byte| ((at * 31 + byte * byte / 7) >> (at % 5)) as u8 | 1).collect(),
                ),
            })
            .collect();
        let packing = Packing::Marked;
        let kdmv = Kdmv {
            grain: 4,
            capacity: 256,
            table_entries: 16,
            packing,
            footer: true,
            tables_between,
            ..Kdmv::default()
        };
        let image = kdmv.build(&grains);
        let (mut markers, mut end) = (Vec::new(), TABLES);
        for number in (0..64).filter(|&number| grains[number] != Grain::Absent) {
            if image[end + 8..end + 12] == [0; 4] {
                // The marker of a table, and the table.
                end += 2 * SECTOR;
            }
            markers.push((number, end));
            end += 12 + u32::from_le_bytes(image[end + 8..end + 12].try_into().unwrap()) as usize;
            end = end.next_multiple_of(SECTOR);
        }
        Self { disk: disk(kdmv.capacity, kdmv.grain, &grains), image, markers, end }
    }

    /// The grains that could lie where marker number `turn` is, as far as its neighbours tell.
    fn possible(&self, turn: usize) -> std::ops::Range<usize> {
        let first = if turn == 0 { 0 } else { self.markers[turn - 1].0 + 1 };
        first..self.markers.get(turn + 1).map_or(64, |next| next.0)
    }

    /// Salvages `cut`, which has no footer and is damaged: every byte that is wrong must be told as lost. Returns whether
    /// any is.
    fn check(&self, cut: Vec<u8>, what: &str) -> bool {
        let converted =
            Case { salvage: true, ..Case::new(cut) }.convert(Answers::InOrder, Abilities::default(), 1 << 20);
        converted.result.unwrap();
        let bytes = converted.target.bytes.take();
        let lost = |at: u64| converted.lost.listed.iter().any(|lost| (lost.start..lost.start + lost.len).contains(&at));
        let wrong = (0..self.disk.len()).find(|&at| bytes[at] != self.disk[at] && !lost(at as u64));
        assert_eq!(wrong, None, "{what}");
        converted.lost.bytes > 0
    }
}

/// Where a marker of a stream without its footer is damaged, every byte that is wrong is reported as lost.
#[test]
fn damaged_markers_of_a_lost_footer() {
    let streams = [Marked::new(false), Marked::new(true)];
    let mut seed = 1u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let (mut rounds, mut with_loss) = (0, 0);
    while rounds < 1200 {
        let stream = &streams[random(2)];
        let Marked { image, markers, end, .. } = stream;
        // Behind the grains are the tables, or the last one of them; without them too.
        let mut cut = image[..if random(2) == 0 { *end } else { image.len() - 2 * SECTOR }].to_vec();
        let turn = random(markers.len());
        let (own, marker) = markers[turn];
        let byte = marker + [random(2), 8 + random(2), 8 + random(4), random(300)][random(4)];
        cut[byte] ^= 1 << random(8);
        // See `grains_that_are_moved`.
        let sector = u64::from_le_bytes(cut[marker..marker + 8].try_into().unwrap());
        if sector % 4 == 0 && sector != 4 * own as u64 && stream.possible(turn).contains(&((sector / 4) as usize)) {
            continue;
        }
        rounds += 1;
        let what = format!("byte {byte}, of the marker of grain {own} at {marker}");
        with_loss += usize::from(stream.check(cut, &what));
    }
    assert!(with_loss > 600, "{with_loss}");
}

/// A grain that is moved within the hole beside it is contradicted by nothing but its table, if that is behind it.
#[test]
fn grains_that_are_moved() {
    let stream = Marked::new(true);
    let mut moves = 0;
    for (turn, &(own, marker)) in stream.markers.iter().enumerate() {
        for other in stream.possible(turn).filter(|&other| other != own) {
            let sector = le64(4 * other as u64);
            let image = &stream.image[..stream.image.len() - 2 * SECTOR];
            let cut = changed(image.to_vec(), &[(marker, &sector)]);
            assert!(stream.check(cut, &format!("grain {own} at {other}")), "grain {own} at {other}: nothing is lost");
            moves += 1;
        }
    }
    assert!(moves > 20, "{moves}");
}

/// Files of 1 MB that say as much as they can: each is opened and listed, or refused, soon.
#[test]
fn hostile_files_are_refused_soon() {
    const SIZE: usize = 1 << 20;
    let filled_with_markers = || {
        let mut marker = [0; SECTOR];
        marker[12] = 1;
        [&stream(true)[..TABLES], &marker.repeat(SIZE / SECTOR), &[1; SECTOR]].concat()
    };
    let filled = |head: &[u8], byte: u8| [head, &vec![byte; SIZE - head.len()]].concat();
    let capacity = le64((1 << 44) - 1);
    let huge: Patch = &[(12, &capacity), (20, &le64(1)), (44, &le32(1))];
    let line = "RW 1 FLAT \"a.bin\" 0\n";
    let images = [
        ("a directory of the whole file", changed(filled(&plain(), 0), huge)),
        ("tables everywhere", changed(filled(&plain(), 1), huge)),
        ("tables of many entries", changed(filled(&plain(), 1), &[(12, &capacity), (44, &le32(65_536))])),
        ("compressed", changed(filled(&stream(false), 2), huge)),
        ("markers", filled(&changed(stream(true)[..TABLES].to_vec(), &[(56, &[0xff; 8])]), 1)),
        ("markers of tables", filled_with_markers()),
        ("padding", filled(&changed(plain(), &[(56, &[0xff; 8])]), 0)),
        ("extents", filled(descriptor("custom", &line.repeat(4000)).as_bytes(), b'\n')),
        ("lines", filled(b"# Disk DescriptorFile\n", b'\n')),
        ("a long line", filled(b"version=1\nRW 1 FLAT \"", b'"')),
        ("too many extents", filled(b"version=1\n", b' ').iter().copied().chain(*b"\n").collect()),
    ];
    for (what, image) in images {
        for salvage in [false, true] {
            let case = Case { salvage, ..Case::new(image.clone()) };
            let start = Instant::now();
            let result = case.with(Answers::InOrder, |image| async move {
                image.survey().await?;
                let mut extents = image.extents()?;
                let mut batch = Vec::new();
                for _ in 0..10_000 {
                    batch.clear();
                    if !extents.next(&mut batch).await? {
                        break;
                    }
                }
                Ok(())
            });
            let kinds = [Corrupt, Limit, MissingFile, Unsupported];
            assert!(result.as_ref().err().is_none_or(|error| kinds.contains(&error.kind)), "{what}: {result:?}");
            assert!(start.elapsed() < Duration::from_secs(2), "{what}: {:?}", start.elapsed());
        }
    }
}

/// A descriptor may name a file on many lines. Its header, and its footer behind a lot of padding, are read once.
#[test]
fn a_file_of_many_extents_is_read_once() {
    const LINES: usize = 4000;
    let kdmv = Kdmv { packing: Packing::Marked, footer: true, ..Kdmv::default() };
    let mut extent = kdmv.build(&grains());
    extent.resize(extent.len() + (8 << 20), 0);
    let text = descriptor("custom", &"RW 64 SPARSE \"s.vmdk\"\n".repeat(LINES));
    let case = Case { companions: vec![("s.vmdk".to_owned(), extent)], ..Case::new(text.into_bytes()) };
    let start = Instant::now();
    let size = case.with(Answers::InOrder, |image| async move { Ok(image.virtual_size()) }).unwrap();
    assert_eq!(size, (LINES * 64 * SECTOR) as u64);
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
}
