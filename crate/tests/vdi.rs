//! VDI: versions, block sizes, types, chains by UUID, and damage. What qemu-img can make it makes; the rest is
//! written here.

use crate::common::small::{changed, overlay};
use crate::common::table::{Reads::*, Row, check_changes};
use crate::common::vdi::Block::{Data, Free, Zero};
use crate::common::vdi::*;
use crate::common::*;
use decant::ErrorKind::{self, *};
use decant::damage::Lost;
use decant::extent::{Extent, ExtentKind};
use decant::format::vdi::damage::{BLOCK_TRUNCATED, MAP_TRUNCATED};
use decant::target::{Abilities, Holes};
use std::path::Path;

/// How large jobs may be: smaller than an output block, than a block, and larger than most images here.
const JOBS: [u64; 3] = [512, 8 << 10, 4 << 20];

const MIXED: &[Block] = &[Data(1), Free, Zero, Data(2), Data(3), Free, Free, Data(4)];

fn case(image: &Vdi) -> Case {
    Case { name: Some("image.vdi".to_owned()), ..Case::new(image.file()) }
}

/// Converts in every way; all must have the bytes `disk`.
fn check(case: &Case, disk: &[u8], what: &str) {
    for answers in ANSWERS {
        for job in JOBS {
            for kind in
                [Abilities::default(), Abilities { ordered: true, holes: Holes::Filled, ..Abilities::default() }]
            {
                let converted = case.convert(answers, kind, job);
                converted.result.unwrap_or_else(|error| panic!("{what}: {error}"));
                assert!(*converted.target.bytes.borrow() == disk, "{what}: other bytes, {answers:?}, jobs of {job}");
            }
        }
    }
}

fn le32(value: u32) -> [u8; 4] {
    value.to_le_bytes()
}

fn le64(value: u64) -> [u8; 8] {
    value.to_le_bytes()
}

#[test]
fn images_of_qemu_img() {
    let folder = tempfile::tempdir().unwrap();
    let (path, raw) = (folder.path().join("image.vdi"), folder.path().join("disk.raw"));
    for (options, size) in [("static=off", "9M"), ("static=on", "9M"), ("static=off", "8389120"), ("static=on", "1536")]
    {
        qemu("qemu-img", &["create", "-q", "-f", "vdi", "-o", options, text(&path), size]);
        if size != "1536" {
            let write = ["-c", "write -q -P 1 1M 1M", "-c", "write -q -P 2 8M 512", "-c", "write -q -P 3 100k 5k"];
            qemu("qemu-io", &[&write[..], &["-c", "write -q -P 4 4608k 2M", text(&path)]].concat());
        }
        let expected = qemu_reads(&path, &raw);
        check(&Case::new(std::fs::read(&path).unwrap()), &expected, options);
    }
}

/// qemu-img reads blocks of 1 MiB of version 1.1 without extra data, and nothing else.
#[test]
fn versions_block_sizes_and_extra_data() {
    let versions = [(VERSION_1_1, 0), (VERSION_1_1, 512), (VERSION_1_1, 4096), (VERSION_0, 0)];
    for (version, block_extra) in versions {
        for block_size in [512, 1024, 4096, 64 << 10, 1 << 20] {
            for cut in [0, 512, 511] {
                let image = Vdi { version, block_extra, ..Vdi::new(block_size, MIXED) };
                // A disk may end inside a block, and inside a sector.
                let image = Vdi { size: image.size - cut, ..image };
                let what = format!("version {version}, blocks of {block_size} and {block_extra}, {cut} cut off");
                if block_size > 4096 {
                    assert!(case(&image).bytes().unwrap() == image.disk(&[]), "{what}");
                } else {
                    check(&case(&image), &image.disk(&[]), &what);
                }
            }
        }
    }
}

#[test]
fn changed_fields() {
    let image = Vdi::new(1024, MIXED);
    let (disk, base) = (image.disk(&[]), case(&image));
    let (map, end) = (image.map(), base.image.len());
    let sized = |size: u64| Bytes(Vdi { size, ..image.clone() }.disk(&[]));
    let with = |blocks: [Block; 8]| Bytes(Vdi { blocks: &blocks, ..image.clone() }.disk(&[]));
    let rows: &[Row] = &[
        ("nothing", &[], Same),
        ("text", &[(0, &[0xff; 64])], Same),
        ("signature", &[(64, &[0])], Fails(NotRecognised, "no disk image format")),
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
        ("the map in the header", &[(340, &le32(455))], Fails(Corrupt, "block map lies in the header")),
        ("the map right behind the header", &[(340, &le32(456)), (456, &[0xff; 32])], Bytes(vec![0; 8192])),
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
        ("the largest block number", &[(map, &le32(0xffff_fffd))], Fails(Corrupt, "but a block lies at byte")),
        ("more than the blocks", &[(end, &[1; 100])], Same),
    ];
    check_changes(&base, &disk, rows);
}

#[test]
fn changed_fields_of_version_0() {
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

/// A file that was cut must never read as zeros, and what a salvage does not list as lost is right.
#[test]
fn every_truncation_is_noticed() {
    for version in [VERSION_1_1, VERSION_0] {
        // The last block of the disk is the first one of the file.
        let image = Vdi { version, ..Vdi::new(1024, MIXED) };
        let (file, disk) = (image.file(), image.disk(&[]));
        for len in 0..file.len() {
            let case = Case { image: file[..len].to_vec(), ..case(&image) };
            let error = case.bytes().unwrap_err();
            assert!(error.kind == if len < 68 { NotRecognised } else { Corrupt }, "{len}: {error}");
            assert!(len < 68 || error.message.contains("truncated"), "{len}: {error}");
            if len < image.map() || len % 97 != 0 {
                continue;
            }
            let (salvaged, lost) = salvage(&case);
            for (at, part) in salvaged.chunks(512).enumerate() {
                let is_lost = lost.iter().any(|lost| (lost.start..lost.end()).contains(&(at as u64 * 512)));
                assert!(if is_lost { part == [0; 512] } else { *part == disk[at * 512..][..512] }, "{len} at {at}");
            }
        }
    }
}

fn salvage(case: &Case) -> (Vec<u8>, Vec<Lost>) {
    let converted = Case { salvage: true, ..case.clone() }.convert(Answers::Reverse, Abilities::default(), 4096);
    converted.result.unwrap();
    (converted.target.bytes.take(), converted.lost.listed)
}

#[test]
fn damage_costs_its_range_only() {
    let image = Vdi::new(1024, MIXED);
    let (file, map) = (image.file(), image.map());
    let lost = |start, len, damage| Lost { start, len, damage };
    let cases = [
        (changed(file.clone(), &[(map, &le32(9))]), vec![lost(0, 1024, BLOCK_TRUNCATED)]),
        (file[..file.len() - 1].to_vec(), vec![lost(512, 512, BLOCK_TRUNCATED)]),
        (file[..map + 7].to_vec(), vec![lost(0, 1024, BLOCK_TRUNCATED), lost(1024, 7168, MAP_TRUNCATED)]),
        (changed(file.clone(), &[(344, &le32(1 << 30)), (340, &le32(1 << 29))]), vec![lost(0, 8192, MAP_TRUNCATED)]),
    ];
    for (number, (image, expected)) in cases.into_iter().enumerate() {
        assert_eq!(salvage(&Case::new(image)).1, expected, "case {number}");
    }
}

/// (name, image) of a chain of three, the top one last. The middle one has larger blocks, and a smaller disk.
fn chain() -> [(&'static str, Vdi<'static>); 3] {
    let base = Vdi::new(1024, MIXED);
    let middle = Vdi {
        kind: DIFFERENCING,
        size: 7000,
        id: 2,
        state: 0x52,
        parent: base.id,
        parent_state: base.state,
        ..Vdi::new(2048, &[Free, Data(5), Zero, Free])
    };
    let top = Vdi {
        kind: UNDO,
        id: 3,
        state: 0x53,
        parent: middle.id,
        parent_state: middle.state,
        ..Vdi::new(1024, &[Free, Data(6), Free, Zero, Free, Data(7), Free, Free, Free])
    };
    [("base.vdi", base), ("middle.vdi", middle), ("top.vdi", top)]
}

fn with(top: &Vdi, below: &[(&str, &Vdi)]) -> Case {
    let companions = below.iter().map(|(name, image)| ((*name).to_owned(), image.file())).collect();
    Case { companions, ..case(top) }
}

#[test]
fn chains_are_found_by_uuid() {
    let [(_, base), (_, middle), (_, top)] = &chain();
    let disk = top.disk(&middle.disk(&base.disk(&[])));
    let stray = Vdi { id: 9, ..base.clone() };
    // Names are of no account.
    check(&with(top, &[("x", base), ("y", middle)]), &disk, "base first");
    check(&with(top, &[("{02}.vdi", middle), ("other.vdi", &stray), ("z", base)]), &disk, "middle first");
    // What no version 0 image records, and what is null, is not compared.
    let old = Vdi { version: VERSION_0, ..top.clone() };
    check(&with(&old, &[("x", base), ("y", &Vdi { state: 8, ..middle.clone() })]), &disk, "a child of version 0");
    let free = Vdi { parent_state: 0, ..top.clone() };
    check(&with(&free, &[("x", base), ("y", &Vdi { state: 8, ..middle.clone() })]), &disk, "no state of the parent");
    check(&with(top, &[("x", base), ("y", &Vdi { state: 0, ..middle.clone() })]), &disk, "a parent without a state");
    // The one that is unchanged wins.
    let changed = Vdi { state: 8, blocks: &[Zero; 4], ..middle.clone() };
    check(&with(top, &[("old", &changed), ("x", base), ("y", middle)]), &disk, "two states of the parent");
    let case = with(top, &[("x", base), ("y", middle)]);
    let info = case.with(Answers::InOrder, |image| async move { Ok(image.info()) }).unwrap();
    assert_eq!((info.format, info.cluster_size, info.version), ("vdi", Some(1024), Some(1)));
    assert_eq!(info.layers.iter().map(|layer| &layer.name[..]).collect::<Vec<_>>(), ["image.vdi", "y", "x"]);
    assert!(info.unused_companions.is_empty() && info.needs.is_empty());
}

/// Each file is opened once to learn which disk it is, and once as a layer, however many layers look for a parent.
#[test]
fn a_long_chain_takes_few_reads_of_each_file() {
    const LAYERS: u8 = 40;
    let layer = |id: u8| Vdi { kind: DIFFERENCING, id, parent: id - 1, ..Vdi::new(1024, &[Free; 2]) };
    let base = Vdi { id: 1, ..Vdi::new(1024, &[Data(1), Zero]) };
    let companions = (1..LAYERS).map(|id| (format!("{id}"), if id == 1 { base.file() } else { layer(id).file() }));
    let case = Case { companions: companions.collect(), ..case(&layer(LAYERS)) };
    let converted = case.convert(Answers::InOrder, Abilities::default(), 1 << 20);
    converted.result.unwrap();
    assert!(*converted.target.bytes.borrow() == base.disk(&[]));
    for (file, (name, _)) in converted.companions.iter().zip(&case.companions) {
        let reads = file.reads.borrow();
        let headers = reads.iter().filter(|(start, _)| *start == 0).count();
        assert!((1..=4).contains(&headers), "{name}: {reads:?}");
    }
}

#[test]
fn chains_that_are_broken() {
    let [(_, base), (_, middle), (_, top)] = &chain();
    const MIDDLE: &str = "02020202-0202-0202-0202-020202020202";
    let changed = Vdi { state: 8, ..middle.clone() };
    let circle = Vdi { parent: top.id, parent_state: 0, ..middle.clone() };
    type Below<'a> = &'a [(&'a str, &'a Vdi<'a>)];
    let cases: &[(&str, Below, ErrorKind, &str)] = &[
        ("nothing below", &[], MissingFile, MIDDLE),
        ("the base alone", &[("x", base)], MissingFile, MIDDLE),
        ("the middle alone", &[("x", middle)], MissingFile, "the parent of 'x'"),
        ("another disk", &[("x", &Vdi { id: 9, ..middle.clone() }), ("y", base)], MissingFile, MIDDLE),
        ("a parent without a UUID", &[("x", &Vdi { id: 0, ..middle.clone() })], MissingFile, MIDDLE),
        ("changed since", &[("x", &changed), ("y", base)], Corrupt, "changed since 'image.vdi' was made over it"),
        ("two copies", &[("x", middle), ("y", middle), ("z", base)], Usage, "more than one of the files"),
        ("another disk by that name", &[(MIDDLE, base)], Corrupt, "not the parent of 'image.vdi'"),
        ("a circle", &[("x", &circle), ("y", top)], MissingFile, "the parent of 'y'"),
    ];
    for (what, below, kind, part) in cases {
        let error = with(top, below).bytes().unwrap_err();
        assert!(error.kind == *kind && error.message.contains(part), "{what}: {error}");
    }
    // A parent in another format has no such UUID.
    let raw = Case { companions: vec![(MIDDLE.to_owned(), vec![1; 9000])], ..case(top) };
    assert!(raw.bytes().unwrap_err().message.contains("not the parent"));
    let snapshot = Case { snapshot: Some("1".to_owned()), ..case(base) };
    assert_eq!(snapshot.bytes().unwrap_err().kind, Usage);
}

#[test]
fn a_backing_file_of_qcow2() {
    let image = Vdi { size: 3000, ..Vdi::new(1024, &[Data(1), Zero, Data(2)]) };
    for (stated, name) in [(Some("vdi"), "base.vdi"), (None, "base")] {
        let case = Case { companions: vec![(name.to_owned(), image.file())], ..Case::new(overlay(name, stated)) };
        let mut disk = image.disk(&[]);
        disk.resize(4096, 0);
        disk[..512].fill(0xaa);
        check(&case, &disk, name);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let [base, top]: [&Path; 2] = [&path("base.vdi"), &path("top.qcow2")];
    qemu("qemu-img", &["create", "-q", "-f", "vdi", text(base), "4M"]);
    qemu("qemu-io", &["-c", "write -q -P 1 1M 1M", "-c", "write -q -P 2 3M 1M", text(base)]);
    qemu("qemu-img", &["create", "-q", "-f", "qcow2", "-F", "vdi", "-b", text(base), text(top), "5M"]);
    qemu("qemu-io", &["-c", "write -q -P 3 1200k 64k", "-c", "write -q -z 3M 128k", text(top)]);
    let companions = vec![(text(base).to_owned(), std::fs::read(base).unwrap())];
    let case = Case { companions, ..Case::new(std::fs::read(top).unwrap()) };
    check(&case, &qemu_reads(top, &path("disk.raw")), "made by qemu-img");
}

/// The extents of `file`, and the reads that listing them took.
fn extents(file: Vec<u8>) -> (Vec<Extent>, Vec<(u64, u64)>) {
    let source = HeldSource::new(file);
    (source.extents(), source.reads.take())
}

/// The map is read once, in large parts; runs of free and zero blocks are one extent, and so are neighbours.
#[test]
fn the_map_is_read_once() {
    const BLOCKS: usize = 300_000;
    let mut blocks = vec![Free; BLOCKS];
    blocks[100_000..200_000].fill(Zero);
    let image = Vdi { size: (BLOCKS as u64) << 20, ..Vdi::new(1 << 20, &blocks) };
    let (listed, reads) = extents(image.file());
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].len, listed[0].kind), (image.size, ExtentKind::Zero { host: None }));
    let map: Vec<_> = reads.iter().filter(|(start, _)| *start >= 512).collect();
    assert!(map.len() <= 5 && map.iter().map(|(_, len)| len).sum::<u64>() == 4 * BLOCKS as u64, "{reads:?}");
    let whole: Vec<u8> = (0..1000u32).flat_map(le32).collect();
    let image = Vdi { size: 1000 << 10, ..Vdi::new(1024, &[Free; 1000]) };
    let (map, end) = (image.map(), image.data() + (1000 << 10));
    let (listed, _) = extents(changed(image.file(), &[(map, &whole), (end - 1, &[0])]));
    assert_eq!(listed.len(), 1);
}

/// Blocks that are used twice are read, and told of where that makes more data than the file has.
#[test]
fn shared_blocks() {
    let image = Vdi::new(1024, &[Data(1); 8]);
    let file = changed(image.file(), &[(image.map(), &[0; 32])]);
    let shorter = file[..image.data() + 1024].to_vec();
    assert_eq!(Case::new(file).bytes().unwrap(), content(1, 1024).repeat(8));
    let notices = Case::new(shorter).with(Answers::InOrder, |image| async move { image.survey().await }).unwrap();
    assert!(notices.iter().any(|notice| notice.code == "shared"), "{notices:?}");
}
