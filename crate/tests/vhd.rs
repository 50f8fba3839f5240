//! VHD: types, footers, sizes, sector bitmaps, and chains by name and UUID. Images are made by qemu-img if it can,
//! otherwise here.

use crate::common::every_way::check;
use crate::common::salvage::salvage;
use crate::common::small::{changed, overlay};
use crate::common::vhd::Block::{Absent, Data};
use crate::common::vhd::*;
use crate::common::*;
use decant::ErrorKind::{self, *};
use decant::disk::losses::Lost;
use decant::format::vhd::FOOTER_WRONG;
use decant::io::target::Abilities;
use decant::offsets::GuestOffset;

const BLOCK: usize = 4096;
/// Blocks with all, some and none of their sectors.
const MIXED: &[Block] = &[Data(1, 0xff), Absent, Data(2, 0xa5), Data(3, 0x0f), Absent, Data(4, 0), Data(5, 0x80)];

fn case(image: &Vhd) -> Case {
    Case { name: Some("image.vhd".to_owned()), ..Case::new(image.file()) }
}

/// The codes of the notices of `case`.
fn notices(case: &Case) -> Vec<&'static str> {
    let info = case.with(Answers::InOrder, |image| async move { Ok(image.info()) }).unwrap();
    info.safety.iter().map(|notice| notice.code).collect()
}

#[test]
fn images_of_qemu_img() {
    let folder = tempfile::tempdir().unwrap();
    let (path, raw) = (folder.path().join("image.vhd"), folder.path().join("disk.raw"));
    for (options, size) in [
        ("subformat=dynamic", "9M"),
        ("subformat=dynamic,force_size=on", "9000448"),
        ("subformat=fixed", "9M"),
        ("subformat=fixed,force_size=on", "9000448"),
    ] {
        qemu("qemu-img", &["create", "-q", "-f", "vpc", "-o", options, text(&path), size]);
        let write = ["-c", "write -q -P 1 1M 1M", "-c", "write -q -P 2 8M 512", "-c", "write -q -P 3 100k 5k"];
        qemu("qemu-io", &[&["-f", "vpc"], &write[..], &[text(&path)]].concat());
        qemu("qemu-img", &["convert", "-f", "vpc", "-O", "raw", text(&path), text(&raw)]);
        let case = Case::new(std::fs::read(&path).unwrap());
        check(&case, &std::fs::read(&raw).unwrap(), options);
        assert!(notices(&case).is_empty(), "{options}");
    }
}

#[test]
fn block_sizes_and_bitmaps() {
    for block_size in [4096, 8192, 64 << 10, 2 << 20, 4 << 20] {
        for cut in [0, 512, 511, 3000] {
            let image = Vhd::new(block_size, MIXED);
            let image = Vhd { size: image.size - cut, ..image };
            let what = format!("blocks of {block_size}, {cut} cut off");
            if block_size > 8192 {
                assert!(case(&image).bytes().unwrap() == image.disk(&[]), "{what}");
            } else {
                check(&case(&image), &image.disk(&[]), &what);
            }
        }
    }
}

/// A fixed VHD begins as its disk does, whatever that begins with.
#[test]
fn fixed_disks_are_found_by_their_footers() {
    let image = Vhd { kind: FIXED, ..Vhd::new(BLOCK, &[Data(1, 0xff), Absent]) };
    let file = image.file();
    let without_a_byte = [image.disk(&[]), image.footer()[..511].to_vec()].concat();
    let starts: &[(&str, &[u8])] = &[
        ("data", &[]),
        ("LUKS", b"LUKS\xba\xbe"),
        ("a copy of the footer", &image.footer()),
        ("Bochs", b"Bochs Virtual HD Image"),
    ];
    for (what, start) in starts {
        let mut disk = image.disk(&[]);
        disk[..start.len()].copy_from_slice(start);
        for file in [&file, &without_a_byte] {
            let case = Case::new(changed(file.clone(), &[(0, start)]));
            check(&case, &disk, what);
            let info = case.with(Answers::InOrder, |image| async move { Ok(image.info()) }).unwrap();
            assert_eq!((info.format, info.cluster_size, info.version), ("vpc", None, Some(1)), "{what}");
        }
    }
    // If raw is stated, the footer is data.
    let raw = Case { format: Some("raw".to_owned()), ..Case::new(file.clone()) };
    assert!(raw.bytes().unwrap() == file);
}

/// (what, file, kind of the error, a part of its message)
#[test]
fn broken_footers() {
    let fixed = Vhd { kind: FIXED, ..Vhd::new(BLOCK, &[Data(1, 0xff)]) };
    let larger = Vhd { size: 1 << 20, ..fixed.clone() };
    let cases: &[(&str, Vec<u8>, ErrorKind, &str)] = &[
        ("no footer", fixed.disk(&[]), NotRecognised, "not in a known disk image format"),
        ("a wrong checksum", changed(fixed.file(), &[(BLOCK + 64, &[0])]), Corrupt, "checksum of the footer"),
        ("a larger disk", [fixed.disk(&[]), larger.footer()].concat(), Corrupt, "1048576 bytes, but there are 4096"),
        ("a copy of it alone", [fixed.footer(), fixed.disk(&[])].concat(), Corrupt, "truncated"),
        ("a cookie", b"conectix".to_vec(), Corrupt, "truncated"),
    ];
    for (what, file, kind, part) in cases {
        let error = Case::new(file.clone()).bytes().unwrap_err();
        assert!(error.kind == *kind && error.message().contains(part), "{what}: {error}");
    }
}

/// Programs read the footer at the end or its copy at the start. If they read other disks, there is a notice; disks of
/// other sizes are refused, except in a salvage.
#[test]
fn two_footers() {
    let image = Vhd::new(BLOCK, &[Data(1, 0xff), Data(2, 0xff)]);
    let disk = image.disk(&[]);
    let (cut, geometry) = (Vhd { size: 8000, ..image.clone() }, Vhd { geometry: (1, 2, 4), ..image.clone() });
    // (the copy, what differs; `None` if it is refused)
    let cases: &[(&str, Vec<u8>, Option<&str>)] = &[
        ("the same", image.footer(), Some("")),
        ("times, features and a saved state", changed(image.footer(), &[(8, &[1]), (24, &[1]), (84, &[1])]), Some("")),
        ("another geometry, which does not count", geometry.footer(), Some("")),
        ("a smaller disk", cut.footer(), None),
        ("a smaller geometry", Vhd { creator: b"vpc ", ..geometry.clone() }.footer(), None),
        ("another UUID", Vhd { id: 9, ..image.clone() }.footer(), Some("UUID")),
        ("a child", Vhd { kind: DIFFERENCING, ..image.clone() }.footer(), Some("disk type")),
        ("another header", changed(image.footer(), &[(16, &[1])]), Some("position of the header")),
        ("two differences", changed(cut.footer(), &[(16, &[1])]), None),
        ("a damaged copy", changed(cut.footer(), &[(64, &[0])]), Some("")),
    ];
    for (what, copy, differences) in cases {
        let copy = if *what == "a damaged copy" { copy.clone() } else { with_checksum(copy.clone(), 64) };
        let file = changed(image.file(), &[(0, &copy)]);
        let case = Case::new(file);
        let salvaged = Case { salvage: true, ..case.clone() };
        match differences {
            None => {
                let error = case.bytes().unwrap_err();
                assert_eq!((error.kind, &*error.code), (Corrupt, "vhd-footers-differ"), "{what}: {error}");
            }
            Some(differences) => {
                assert!(case.bytes().unwrap() == disk, "{what}");
                let info = case.with(Answers::InOrder, |image| async move { Ok(image.info()) }).unwrap();
                let found: Vec<_> = info.safety.iter().filter(|notice| notice.code == "vhd-footers-differ").collect();
                let fields = found.first().and_then(|notice| notice.fields.get("differences").cloned());
                assert_eq!(fields, (!differences.is_empty()).then(|| (*differences).into()), "{what}");
            }
        }
        assert!(salvaged.bytes().unwrap() == disk, "{what}");
        let is_noticed = notices(&salvaged).contains(&"vhd-footers-differ");
        assert_eq!(is_noticed, differences.is_none_or(|text| !text.is_empty()), "{what}");
    }
}

/// If the footer at the end leads to no header, a salvage reads the copy at the start, and lists the whole disk.
#[test]
fn a_footer_without_a_header() {
    let image = Vhd::new(BLOCK, &[Data(1, 0xff), Absent, Data(2, 0xa5)]);
    let (disk, file) = (image.disk(&[]), image.file());
    let end = file.len() - FOOTER;
    let at = |place: u64| with_checksum(changed(image.footer(), &[(16, &place.to_be_bytes())]), 64);
    let of_type = |kind: u8| with_checksum(changed(image.footer(), &[(63, &[kind])]), 64);
    let with_footer = |footer: &[u8]| changed(file.clone(), &[(end, footer)]);
    // (what, file, error, what a salvage does: reads the copy, reads as always, or fails)
    let rows: &[(&str, Vec<u8>, ErrorKind, Option<bool>)] = &[
        ("a wrong place", with_footer(&at(1024)), Corrupt, Some(true)),
        ("a place after the end", with_footer(&at(1 << 20)), Corrupt, Some(true)),
        ("an impossible place", with_footer(&at(u64::MAX)), Corrupt, Some(true)),
        ("a type that is not known", with_footer(&of_type(7)), Unsupported, Some(true)),
        (
            "another version",
            with_footer(&with_checksum(changed(image.footer(), &[(13, &[9])]), 64)),
            Unsupported,
            Some(true),
        ),
        (
            "a wrong place, and a copy with a wrong checksum",
            changed(with_footer(&at(1024)), &[(64, &[0])]),
            Corrupt,
            Some(true),
        ),
        (
            "a wrong place, and two wrong checksums",
            changed(with_footer(&at(1024)), &[(64, &[0]), (end + 64, &[0])]),
            Corrupt,
            Some(true),
        ),
        ("a wrong checksum of the header", changed(file.clone(), &[(HEADER + 36, &[0])]), Corrupt, Some(false)),
        ("no header", changed(file.clone(), &[(HEADER, &[0; 8])]), Corrupt, None),
        ("a wrong place, and no header", changed(with_footer(&at(1024)), &[(HEADER, &[0; 8])]), Corrupt, None),
        ("a wrong place, and no copy", changed(with_footer(&at(1024)), &[(0, &[0; FOOTER])]), Corrupt, None),
        ("a wrong place, and a fixed disk", changed(with_footer(&at(1024)), &[(0, &of_type(2))]), Corrupt, None),
    ];
    for (what, file, kind, salvaged) in rows {
        let case = Case::new(file.clone());
        let error = case.bytes().unwrap_err();
        assert_eq!(error.kind, *kind, "{what}: {error}");
        match (salvage(&case), salvaged) {
            (Ok((bytes, losses)), Some(is_copy)) => {
                assert!(bytes == disk, "{what}: other bytes");
                let whole = Lost { start: GuestOffset(0), len: image.size, damage: FOOTER_WRONG };
                assert_eq!(losses, [whole][usize::from(!is_copy)..], "{what}");
                assert_eq!(notices(&Case { salvage: true, ..case.clone() }), [""; 0], "{what}");
            }
            (Err(salvage_error), None) => assert_eq!(salvage_error.message(), error.message(), "{what}"),
            (result, _) => panic!("{what}: {:?}", result.map(|(_, losses)| losses)),
        }
    }
}

/// Entries that the disk does not need are never read, even if the file has room for them.
#[test]
fn tables_with_more_entries_than_blocks() {
    let image = Vhd::new(32 << 10, &[Data(1, 0xff), Absent, Data(2, 0xff)]);
    let file = image.file();
    let (end, footer) = (file.len() - FOOTER, image.footer());
    // The table is after the blocks, with more room than it needs.
    let with_entries = |entries: u32| {
        let header: &[(usize, &[u8])] = &[(16, &(end as u64).to_be_bytes()), (28, &entries.to_be_bytes())];
        let header = with_checksum(changed(file[HEADER..TABLE].to_vec(), header), 36);
        let table = [&file[TABLE..TABLE + 12], &[0xff; 64 << 10]].concat();
        [&footer, &header, &file[TABLE..end], &table, &footer].concat()
    };
    for entries in [3, 4, 1000, u32::MAX] {
        let source = HeldSource::new(with_entries(entries));
        assert!(Case::new(source.content()).bytes().unwrap() == image.disk(&[]), "{entries}");
        source.extents();
        let of_table = source.reads.take().into_iter().filter(|(start, _)| *start == end as u64);
        assert_eq!(of_table.map(|(_, len)| len).collect::<Vec<_>>(), [12], "{entries}");
    }
    let error = Case::new(with_entries(2)).bytes().unwrap_err();
    assert!(error.kind == Corrupt && error.message().contains("2 blocks have 65536"), "{error}");
}

/// Virtual PC and old versions of QEMU take the size from the geometry, others from the size field.
#[test]
fn sizes_by_creator() {
    const SIZE: u64 = 7 * BLOCK as u64;
    // Cylinders, heads and sectors: 40 of 56 sectors, and more than the blocks have.
    let (smaller, larger, most) = ((5, 2, 4), (5, 2, 8), (65_535, 16, 255));
    let first: &[Block] = &[Data(1, 0xff), Absent, Absent, Absent, Absent, Absent, Absent];
    let last: &[Block] = &[Absent, Absent, Absent, Absent, Absent, Absent, Data(1, 0xff)];
    // (creator, geometry, blocks, size, whether there is a notice)
    type Row<'a> = (&'a [u8; 4], (u16, u8, u8), &'a [Block], u64, bool);
    let cases: &[Row] = &[
        (b"win ", smaller, last, SIZE, false),
        (b"qem2", smaller, last, SIZE, false),
        (b"vbox", smaller, last, SIZE, true),
        (b"wa\0\0", smaller, first, SIZE, true),
        (b"vpc ", smaller, first, 20_480, true),
        (b"qemu", smaller, first, 20_480, true),
        // Data is never cut off, and a disk never exceeds its blocks.
        (b"vpc ", smaller, last, SIZE, true),
        (b"vpc ", larger, first, SIZE, true),
        (b"vpc ", most, first, SIZE, false),
        (b"vpc ", (0, 0, 0), first, SIZE, false),
        (b"vpc ", (7, 2, 4), first, SIZE, false),
    ];
    for &(creator, geometry, blocks, size, has_notice) in cases {
        let image = Vhd { creator, geometry, ..Vhd::new(BLOCK, blocks) };
        let what = format!("{creator:?}, {geometry:?}, {blocks:?}");
        let disk = image.disk(&[]);
        assert!(case(&image).bytes().unwrap() == disk[..size as usize], "{what}");
        assert_eq!(notices(&case(&image)), if has_notice { &["vhd-size"][..] } else { &[] }, "{what}");
        let fixed = Vhd { kind: FIXED, ..image };
        assert!(case(&fixed).bytes().unwrap() == disk, "{what}, fixed");
    }
}

/// (name, image) of a chain of three, the top one last. The middle one has larger blocks, and a smaller disk.
fn chain() -> [(&'static str, Vhd<'static>); 3] {
    let base = Vhd { id: 1, kind: FIXED, ..Vhd::new(BLOCK, &[Data(1, 0xff), Data(8, 0xff), Absent, Data(7, 0xff)]) };
    let middle = Vhd {
        kind: DIFFERENCING,
        size: 14_000,
        id: 2,
        parent: 1,
        parent_name: "base.vhd",
        ..Vhd::new(2 * BLOCK, &[Data(5, 0x99), Absent])
    };
    let top = Vhd {
        kind: DIFFERENCING,
        id: 3,
        parent: 2,
        parent_name: "C:\\vm\\middle.vhd",
        locators: &[(b"W2ku", "C:\\vm\\middle.vhd"), (b"W2ru", ".\\middle.vhd")],
        ..Vhd::new(BLOCK, &[Absent, Data(6, 0x0f), Absent, Data(9, 1), Absent])
    };
    [("base.vhd", base), ("middle.vhd", middle), ("top.vhd", top)]
}

fn with(top: &Vhd, below: &[(&str, &Vhd)]) -> Case {
    let companions = below.iter().map(|(name, image)| ((*name).to_owned(), image.file())).collect();
    Case { companions, ..case(top) }
}

#[test]
fn chains_are_found_by_name_and_uuid() {
    let [(_, base), (_, middle), (_, top)] = &chain();
    let disk = top.disk(&middle.disk(&base.disk(&[])));
    check(&with(top, &[("base.vhd", base), ("middle.vhd", middle)]), &disk, "by name");
    check(&with(top, &[("x", base), ("y", middle)]), &disk, "by UUID");
    let case = with(top, &[("base.vhd", base), ("middle.vhd", middle)]);
    let info = case.with(Answers::InOrder, |image| async move { Ok(image.info()) }).unwrap();
    assert_eq!((info.format, info.cluster_size), ("vpc", Some(BLOCK as u64)));
    let parent = &info.references[0];
    assert_eq!(parent.file_name, "middle.vhd");
    assert!(info.unused_companions.is_empty() && info.needs.is_empty());
}

/// The names of a parent: each is found by its last component.
#[test]
fn locators() {
    let parent = Vhd { id: 7, ..Vhd::new(BLOCK, &[Data(1, 0xff)]) };
    type Locators<'a> = &'a [(&'a [u8; 4], &'a str)];
    let cases: &[(&str, Locators, &str)] = &[
        ("parent.vhd", &[], "parent.vhd"),
        ("C:\\disks\\parent.vhd", &[], "parent.vhd"),
        ("", &[(b"W2ru", "..\\disks\\parent.vhd")], "parent.vhd"),
        ("", &[(b"W2ku", "C:\\disks\\parent.vhd")], "parent.vhd"),
        ("", &[(b"MacX", "file://localhost/disks/parent.vhd")], "parent.vhd"),
        ("other.vhd", &[(b"Wi2r", "old.vhd"), (b"W2ru", ".\\\u{fc}ber.vhd")], "\u{fc}ber.vhd"),
        ("parent.vhd", &[(b"W2ru", ".\\moved.vhd")], "parent.vhd"),
    ];
    for (parent_name, locators, file) in cases {
        let child =
            Vhd { kind: DIFFERENCING, parent: 7, parent_name, locators, id: 3, ..Vhd::new(BLOCK, &[Data(2, 0xf0)]) };
        let disk = child.disk(&parent.disk(&[]));
        let found = with(&child, &[(file, &parent), ("another.vhd", &Vhd { id: 9, ..parent.clone() })]).bytes();
        assert!(found.as_ref() == Ok(&disk), "{parent_name}, {locators:?}: {:?}", found.map(|bytes| bytes.len()));
    }
}

#[test]
fn chains_that_are_broken() {
    let [(_, base), (_, middle), (_, top)] = &chain();
    type Below<'a> = &'a [(&'a str, &'a Vhd<'a>)];
    let other = Vhd { id: 9, ..middle.clone() };
    let circle = Vhd { parent: 3, parent_name: "", ..middle.clone() };
    let cases: &[(&str, Below, ErrorKind, &str)] = &[
        ("nothing below", &[], MissingFile, "middle.vhd"),
        ("the base alone", &[("base.vhd", base)], MissingFile, "middle.vhd"),
        ("the middle alone", &[("middle.vhd", middle)], MissingFile, "base.vhd"),
        ("another disk of that name", &[("middle.vhd", &other), ("base.vhd", base)], Corrupt, "not the parent of"),
        ("two copies", &[("x", middle), ("y", middle), ("base.vhd", base)], Usage, "more than one file"),
        ("a circle", &[("x", &circle), ("top.vhd", top)], MissingFile, "the parent of 'top.vhd'"),
    ];
    for (what, below, kind, part) in cases {
        let error = with(top, below).bytes().unwrap_err();
        assert!(error.kind == *kind && error.message().contains(part), "{what}: {error}");
    }
}

#[test]
fn a_backing_file_of_qcow2() {
    let image = Vhd { size: 9000, ..Vhd::new(BLOCK, &[Data(1, 0xff), Absent, Data(2, 0xff)]) };
    for (stated, name) in [(Some("vpc"), "base.vhd"), (None, "base")] {
        let case = Case { companions: vec![(name.to_owned(), image.file())], ..Case::new(overlay(name, stated)) };
        let mut disk = image.disk(&[]);
        disk.resize(4096, 0);
        disk[..512].fill(0xaa);
        check(&case, &disk, name);
    }
    // QEMU reads a fixed VHD as raw, unless its format is stated.
    let fixed = Vhd { kind: FIXED, size: 1024, ..Vhd::new(512, &[Data(1, 0xff), Data(2, 0xff)]) };
    for (stated, base) in [(Some("vpc"), fixed.disk(&[])), (None, fixed.file())] {
        let case = Case { companions: vec![("base".to_owned(), fixed.file())], ..Case::new(overlay("base", stated)) };
        let mut disk = base;
        disk.resize(4096, 0);
        disk[..512].fill(0xaa);
        check(&case, &disk, "a fixed VHD");
    }
}

/// A fixed VHD in a compressed file is known by its last bytes, wherever a chunk of the stream ends.
#[test]
fn compressed_fixed_disks() {
    const CHUNK: usize = 2 << 20;
    for size in [1024, 4096, CHUNK - 512, CHUNK, CHUNK + 512, CHUNK + 1024, 2 * CHUNK] {
        let blocks = [Data(1, 0xff)];
        let image = Vhd { kind: FIXED, ..Vhd::new(size, &blocks) };
        let disk = image.disk(&[]);
        let (file, without_a_byte) = (image.file(), &image.file()[..size + 511]);
        for (file, ascending) in [(&file[..], false), (&file, true), (without_a_byte, false)] {
            let case = Case::new(filter("gzip", &["-c1"], file));
            let converted = case.convert(Answers::InOrder, Abilities { ascending, ..Abilities::default() }, 1 << 20);
            converted.result.unwrap_or_else(|error| panic!("{size}: {error}"));
            assert!(*converted.target.bytes.borrow() == disk, "{size}: other bytes");
            let codes: Vec<_> = converted.notices.iter().map(|notice| notice.code).collect();
            assert!(codes.contains(&"vhd-footer"), "{size}: {codes:?}");
        }
    }
    // A file that is longer than its footer says is read up to there, compressed or not, unless too much of it was converted.
    let decompressed = |file: &[u8]| {
        let case = Case::new(filter("gzip", &["-c1"], file));
        let converted = case.convert(Answers::InOrder, Abilities::default(), 4 * CHUNK as u64);
        converted.result.map(|_| converted.target.bytes.take())
    };
    for (size, longer, is_read) in [
        (4096, 512, true),
        (4096, 4096, true),
        (CHUNK, 512, true),
        (CHUNK, CHUNK - 1024, true),
        (4096, 2 * CHUNK, false),
    ] {
        let blocks = [Data(1, 0xff)];
        let image = Vhd { kind: FIXED, ..Vhd::new(size, &blocks) };
        let disk = image.disk(&[]);
        let file = [&disk[..], &vec![7; longer], &image.footer()].concat();
        assert!(Case::new(file.clone()).bytes().as_ref() == Ok(&disk), "{size} and {longer}");
        match decompressed(&file) {
            Ok(found) => assert!(is_read && found == disk, "{size} and {longer}, compressed"),
            Err(error) => {
                assert!(!is_read && error.message().ends_with("cannot be read inside it; unpack it first"), "{error}")
            }
        }
    }
    // The size of a disk by Virtual PC is that of its geometry, if it is stored.
    let of_geometry =
        Vhd { creator: b"vpc ", geometry: (1, 4, 4), ..Vhd { kind: FIXED, ..Vhd::new(4096, &[Data(1, 0xff)]) } };
    let file = [&of_geometry.disk(&[])[..], &[7; 8192], &of_geometry.footer()].concat();
    let found = Case::new(file.clone()).bytes().unwrap();
    assert!(found.len() == 8192 && decompressed(&file) == Ok(found));
    let image = Vhd { kind: FIXED, ..Vhd::new(BLOCK, &[Data(1, 0xff)]) };
    let shorter = [&image.disk(&[])[..BLOCK - 512], &image.footer()].concat();
    let error = Case::new(filter("gzip", &["-c"], &shorter)).bytes().unwrap_err();
    assert!(error.kind == Corrupt && error.message().contains("states 4096 bytes, but the disk has 3584"), "{error}");
}
