//! VHDX: headers, block states, sector bitmaps, sector sizes, chains by name and GUID, and logs. Images are made by
//! qemu-img if it can, otherwise here.

mod logs;

use crate::common::every_way::check;
use crate::common::salvage::salvage;
use crate::common::small::{Patch, changed};
use crate::common::vhdx::Block::{Data, Part, State};
use crate::common::vhdx::*;
use crate::common::*;
use decant::ErrorKind::{self, *};
use decant::disk::extent::ExtentKind;
use decant::disk::info::Info;
use decant::disk::losses::Lost;
use decant::format::vhdx::LOG_LOST;
use decant::offsets::{GuestOffset, HostOffset};
use decant::open::examination::Examination;

/// Every state of a block, and one cut off by the end of the disk.
const MIXED: &[Block] = &[Data(1), State(0), State(1), Data(2), State(2), State(3), State(5), Data(3)];

fn case(image: &Vhdx) -> Case {
    Case { name: Some("image.vhdx".to_owned()), ..Case::new(image.file()) }
}

fn info(case: &Case) -> Info {
    case.with(Answers::InOrder, |image| async move { Ok(image.info()) }).unwrap()
}

/// The codes of the notices of `case`.
fn notices(case: &Case) -> Vec<&'static str> {
    info(case).safety.iter().map(|notice| notice.code).collect()
}

#[test]
fn images_of_qemu_img() {
    let folder = tempfile::tempdir().unwrap();
    let (path, raw) = (folder.path().join("image.vhdx"), folder.path().join("disk.raw"));
    for (options, size) in [
        ("subformat=dynamic", "9M"),
        ("subformat=dynamic,block_size=1M,block_state_zero=off", "9000448"),
        ("subformat=dynamic,block_size=256M,log_size=4M", "300M"),
        ("subformat=fixed,block_size=2M", "9M"),
    ] {
        qemu("qemu-img", &["create", "-q", "-f", "vhdx", "-o", options, text(&path), size]);
        let write = ["-c", "write -q -P 1 1M 1M", "-c", "write -q -P 2 8M 512", "-c", "write -q -P 3 100k 5k"];
        qemu("qemu-io", &[&["-f", "vhdx"], &write[..], &[text(&path)]].concat());
        qemu("qemu-img", &["convert", "-f", "vhdx", "-O", "raw", text(&path), text(&raw)]);
        let case = Case::new(std::fs::read(&path).unwrap());
        assert!(case.bytes().unwrap() == std::fs::read(&raw).unwrap(), "{options}");
        assert!(notices(&case).is_empty(), "{options}: {:?}", notices(&case));
    }
}

#[test]
fn block_states_and_sizes() {
    let image = Vhdx { size: 7 * MIB as u64 + 1536, ..Vhdx::new(MIXED) };
    check(&case(&image), &image.disk(&[]), "blocks of 1 MiB");
    for block_size in [2 * MIB, 4 * MIB] {
        let image = Vhdx { block_size, size: (7 * block_size + 512) as u64, ..Vhdx::new(MIXED) };
        assert!(case(&image).bytes().unwrap() == image.disk(&[]), "blocks of {block_size}");
    }
}

/// After the entries of each chunk of 2^23 sectors comes that of a sector bitmap.
#[test]
fn chunks() {
    for sector_size in [512, 4096] {
        let chunk = (sector_size as u64) << 23;
        let blocks = (chunk / (256 * MIB as u64)) as usize;
        let blocks: Vec<Block> = (0..=blocks).map(|number| if number == blocks { Data(1) } else { State(0) }).collect();
        let image = Vhdx { block_size: 256 * MIB, sector_size, size: chunk + 4096, ..Vhdx::new(&blocks) };
        let file = image.file();
        let data = HostOffset((file.len() - 4096) as u64);
        let extents = HeldSource::new(file).extents();
        let [first, second] = extents[..] else { panic!("{extents:?}") };
        assert_eq!((first.len, first.kind), (chunk, ExtentKind::Zero { host: None }), "{sector_size}");
        assert!(matches!(second.kind, ExtentKind::Data { host, .. } if host == data), "{sector_size}: {second:?}");
    }
}

/// (name, image) of a chain of three, the top one last. They differ in blocks, sectors and sizes.
fn chain() -> [(&'static str, Vhdx<'static>); 3] {
    let base = Vhdx { id: 1, size: 3 * MIB as u64 + 4096, ..Vhdx::new(&[Data(1), Data(2), State(0), Data(3)]) };
    let middle = Vhdx {
        id: 2,
        block_size: 2 * MIB,
        sector_size: 4096,
        size: 5 * MIB as u64,
        ..Vhdx::over(1, &[Part(4, 0x35), State(0), Part(5, 0x80)])
    };
    let top = Vhdx { id: 3, ..Vhdx::over(2, &[State(0), Part(6, 0xf1), State(2), State(3), Part(7, 0x0f), Data(8)]) };
    [("base.vhdx", base), ("middle.vhdx", middle), ("top.vhdx", top)]
}

fn with(top: &Vhdx, below: &[(&str, &Vhdx)]) -> Case {
    let companions = below.iter().map(|(name, image)| ((*name).to_owned(), image.file())).collect();
    Case { companions, ..case(top) }
}

#[test]
fn chains_are_found_by_guid() {
    let [(_, base), (_, middle), (_, top)] = &chain();
    let disk = top.disk(&middle.disk(&base.disk(&[])));
    let case = with(top, &[("x", base), ("y", middle)]);
    assert!(case.bytes().unwrap() == disk);
    let info = info(&case);
    assert_eq!((info.format, info.cluster_size, info.version), ("vhdx", Some(MIB as u64), Some(1)));
    assert!(info.unused_companions.is_empty() && info.needs.is_empty());
    assert_eq!(info.references[0].file_name, "");
    // Small jobs, on the smaller half of the chain.
    let base = Vhdx { id: 1, size: 8192, ..Vhdx::new(&[Data(1)]) };
    let middle = Vhdx { size: 64 << 10, ..Vhdx::over(1, &[Part(4, 0x35)]) };
    check(&with(&middle, &[("base.vhdx", &base)]), &middle.disk(&base.disk(&[])), "a small disk");
}

/// The names of a parent, each found by its last component.
#[test]
fn locators() {
    let parent = Vhdx { id: 7, size: 4096, ..Vhdx::new(&[Data(1)]) };
    let (own, other) = (&*linkage(7), &*linkage(9));
    type Locator<'a> = &'a [(&'a str, &'a str)];
    // (entries, name of the file, whether it is found)
    let cases: &[(Locator, &str, bool)] = &[
        (&[("parent_linkage", own)], "parent.vhdx", true),
        (&[("parent_linkage", &own.to_lowercase()), ("relative_path", ".\\moved.vhdx")], "parent.vhdx", true),
        (&[("parent_linkage", other), ("parent_linkage2", own)], "parent.vhdx", true),
        (&[("parent_linkage2", own)], "parent.vhdx", true),
        (&[("relative_path", "..\\disks\\parent.vhdx"), ("parent_linkage", own)], "parent.vhdx", true),
        (
            &[("volume_path", "\\\\?\\Volume{1}\\parent.vhdx"), ("relative_path", "old.vhdx"), ("parent_linkage", own)],
            "parent.vhdx",
            true,
        ),
        (&[("absolute_win32_path", "C:\\vm\\\u{fc}ber.vhdx"), ("parent_linkage", own)], "\u{fc}ber.vhdx", true),
        (&[("key", "value"), ("relative_path", ".\\parent.vhdx"), ("parent_linkage", own)], "parent.vhdx", true),
        (&[("parent_linkage", "{7}"), ("relative_path", "parent.vhdx")], "parent.vhdx", false),
        (&[("relative_path", "parent.vhdx"), ("parent_linkage", other)], "parent.vhdx", false),
        (&[("parent_linkage", other)], "parent.vhdx", false),
    ];
    for (locator, file, is_found) in cases {
        let child = Vhdx { locator, size: 8192, ..Vhdx::over(7, &[Part(2, 0x0f)]) };
        let result = with(&child, &[(file, &parent)]).bytes();
        match is_found {
            true => assert!(result.as_ref() == Ok(&child.disk(&parent.disk(&[]))), "{locator:?}: {:?}", result.err()),
            false => assert!(result.is_err_and(|error| [Corrupt, MissingFile].contains(&error.kind)), "{locator:?}"),
        }
    }
    for (locator, kind, part) in [
        (&[("parent_linkage", "")][..], Corrupt, "the parent locator names no parent"),
        (&[], Corrupt, "the parent locator names no parent"),
    ] {
        let child = Vhdx { locator, ..Vhdx::over(7, &[Part(2, 0x0f)]) };
        let error = case(&child).bytes().unwrap_err();
        assert!(error.kind == kind && error.message().contains(part), "{locator:?}: {error}");
    }
}

#[test]
fn chains_that_are_broken() {
    let [(_, base), (_, middle), (_, top)] = &chain();
    type Below<'a> = &'a [(&'a str, &'a Vhdx<'a>)];
    let other = Vhdx { id: 9, ..middle.clone() };
    let named = [("relative_path", ".\\middle.vhdx"), ("parent_linkage", &*linkage(2))];
    let top = &Vhdx { locator: &named, ..top.clone() };
    let cases: &[(&str, Below, ErrorKind, &str)] = &[
        ("nothing below", &[], MissingFile, "middle.vhdx"),
        ("the base alone", &[("base.vhdx", base)], MissingFile, "middle.vhdx"),
        ("the middle alone", &[("middle.vhdx", middle)], MissingFile, "01010101-0101-0101-0101-010101010101"),
        ("another disk of that name", &[("middle.vhdx", &other), ("base.vhdx", base)], Corrupt, "not the parent of"),
        ("two copies", &[("x", middle), ("y", middle), ("base.vhdx", base)], Usage, "more than one file"),
    ];
    for (what, below, kind, part) in cases {
        let error = with(top, below).bytes().unwrap_err();
        assert!(error.kind == *kind && error.message().contains(part), "{what}: {error}");
    }
}

/// Both region tables are intact, and a program may read either.
#[test]
fn region_tables_that_differ() {
    let image = Vhdx { size: 8192, ..Vhdx::new(&[Data(1)]) };
    let (file, second) = (image.file(), REGIONS[1]);
    let other: &[u8] = &(9u64 << 20).to_le_bytes();
    // (what, changes, whether the checksum is renewed, whether there is a notice)
    let rows: &[(&str, Patch, bool, bool)] = &[
        ("the same", &[], true, false),
        ("another place of the BAT", &[(second + 32, other)], true, true),
        ("another place of the metadata", &[(second + 64, other)], true, true),
        ("no entries", &[(second + 8, &[0; 4])], true, true),
        ("reserved bytes", &[(second + 12, &[1; 4])], true, false),
        ("a damaged table", &[(second + 64, other)], false, false),
    ];
    for &(what, changes, is_sealed, is_noticed) in rows {
        let mut file = changed(file.clone(), changes);
        if is_sealed {
            seal(&mut file, second, 64 << 10);
        }
        let case = Case::new(file);
        assert!(case.bytes().unwrap() == image.disk(&[]), "{what}");
        assert_eq!(notices(&case), ["vhdx-regions-differ"][usize::from(!is_noticed)..], "{what}");
    }
}
