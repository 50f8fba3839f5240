//! VDI: versions, block sizes, types, and chains by UUID. Images are made by qemu-img if it can, otherwise here.

use crate::common::every_way::check;
use crate::common::small::{changed, overlay};
use crate::common::vdi::Block::{Data, Free, Zero};
use crate::common::vdi::*;
use crate::common::*;
use decant::ErrorKind::{self, *};
use decant::io::target::Abilities;
use std::path::Path;

const MIXED: &[Block] = &[Data(1), Free, Zero, Data(2), Data(3), Free, Free, Data(4)];

fn case(image: &Vdi) -> Case {
    Case { name: Some("image.vdi".to_owned()), ..Case::new(image.file()) }
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
    // Names are ignored.
    check(&with(top, &[("x", base), ("y", middle)]), &disk, "base first");
    check(&with(top, &[("{02}.vdi", middle), ("other.vdi", &stray), ("z", base)]), &disk, "middle first");
    // Values that version 0 does not record, and null values, are not compared.
    let old = Vdi { version: VERSION_0, ..top.clone() };
    check(&with(&old, &[("x", base), ("y", &Vdi { state: 8, ..middle.clone() })]), &disk, "a child of version 0");
    let free = Vdi { parent_state: 0, ..top.clone() };
    check(&with(&free, &[("x", base), ("y", &Vdi { state: 8, ..middle.clone() })]), &disk, "no state of the parent");
    check(&with(top, &[("x", base), ("y", &Vdi { state: 0, ..middle.clone() })]), &disk, "a parent without a state");
    // The unchanged one takes precedence.
    let changed = Vdi { state: 8, blocks: &[Zero; 4], ..middle.clone() };
    check(&with(top, &[("old", &changed), ("x", base), ("y", middle)]), &disk, "two states of the parent");
    let case = with(top, &[("x", base), ("y", middle)]);
    let info = case.with(Answers::InOrder, |image| async move { Ok(image.info()) }).unwrap();
    assert_eq!((info.format, info.cluster_size, info.version), ("vdi", Some(1024), Some(1)));
    assert_eq!(info.layers.iter().map(|layer| &layer.name[..]).collect::<Vec<_>>(), ["image.vdi", "y", "x"]);
    assert!(info.unused_companions.is_empty() && info.needs.is_empty());
}

/// Each file is opened once for its identity, and once as a layer, however many layers search for a parent.
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
        (
            "changed since",
            &[("x", &changed), ("y", base)],
            Corrupt,
            "the parent has changed since 'image.vdi' was created over it",
        ),
        ("two copies", &[("x", middle), ("y", middle), ("z", base)], Usage, "more than one file"),
        ("another disk by that name", &[(MIDDLE, base)], Corrupt, "not the parent of 'image.vdi'"),
        ("a circle", &[("x", &circle), ("y", top)], MissingFile, "the parent of 'y'"),
    ];
    for (what, below, kind, part) in cases {
        let error = with(top, below).bytes().unwrap_err();
        assert!(error.kind == *kind && error.message().contains(part), "{what}: {error}");
        assert_eq!(&*error.code == "wrong-parent", *kind == Corrupt, "{what}");
    }
    // A parent in another format has no such UUID.
    let raw = Case { companions: vec![(MIDDLE.to_owned(), vec![1; 9000])], ..case(top) };
    assert!(raw.bytes().unwrap_err().message().contains("not the parent"));
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

/// Blocks that are used twice are read, with a notice if the disk then has more data than the file.
#[test]
fn shared_blocks() {
    let image = Vdi::new(1024, &[Data(1); 8]);
    let file = changed(image.file(), &[(image.map(), &[0; 32])]);
    let shorter = file[..image.data() + 1024].to_vec();
    assert_eq!(Case::new(file).bytes().unwrap(), content(1, 1024).repeat(8));
    let case = Case::new(shorter);
    let notices = case.convert(Answers::InOrder, Abilities::default(), 1 << 20).notices;
    assert_eq!(notices.iter().map(|notice| notice.code).collect::<Vec<_>>(), ["shared"]);
    let notices = case.with(Answers::InOrder, |image| async move { image.survey().await }).unwrap();
    assert!(notices.iter().any(|notice| notice.code == "shared"), "{notices:?}");
}
