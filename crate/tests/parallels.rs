//! Parallels: images of qemu-img with both kinds of tables.

use crate::common::every_way::check;
use crate::common::parallels::*;
use crate::common::*;
use crate::tar::{archive, member};
use decant::ErrorKind::{self, *};

#[test]
fn images_of_qemu_img() {
    let folder = tempfile::tempdir().unwrap();
    let (path, raw) = (folder.path().join("image.hds"), folder.path().join("disk.raw"));
    for (cluster_size, size) in [("64k", "7M"), ("1M", "7M"), ("32k", "5121k"), ("1536", "2M")] {
        let options = format!("cluster_size={cluster_size}");
        qemu("qemu-img", &["create", "-q", "-f", "parallels", "-o", &options, text(&path), size]);
        let writes = ["write -q -P 1 1M 300k", "write -q -P 2 100k 5k", "write -q -P 3 1900k 512"];
        let args: Vec<&str> = writes.iter().flat_map(|write| ["-c", write]).chain([text(&path)]).collect();
        qemu("qemu-io", &[&["-f", "parallels"], &args[..]].concat());
        let image = std::fs::read(&path).unwrap();
        check(&Case::new(image.clone()), &qemu_reads(&path, &raw), cluster_size);
        let info = Case::new(image).with(Answers::InOrder, |image| async move { Ok(image.info()) }).unwrap();
        assert_eq!((info.format, info.features), ("parallels", vec![]));
    }
}

/// qemu-img makes images with the newer magic number only; it reads both.
#[test]
fn qemu_img_reads_the_same() {
    use Block::{Absent, Data};
    const BLOCKS: &[Block] = &[Data(1), Absent, Data(2), Data(3), Absent, Absent, Data(4)];
    let folder = tempfile::tempdir().unwrap();
    let (path, raw) = (folder.path().join("image.hds"), folder.path().join("disk.raw"));
    for (is_ext, states_start) in [(true, true), (false, true), (false, false)] {
        for (tracks, cut) in [(1, 0), (3, 1), (63, 62), (2048, 7)] {
            let image = Parallels { is_ext, states_start, ..Parallels::new(tracks, BLOCKS) };
            let image = Parallels { sectors: image.sectors - cut, ..image };
            let what = format!("ext: {is_ext}, start: {states_start}, blocks of {tracks} sectors");
            std::fs::write(&path, image.file()).unwrap();
            assert!(qemu_reads(&path, &raw) == image.disk(), "{what}: QEMU reads something else");
            check(&Case::new(image.file()), &image.disk(), &what);
        }
    }
}

const BASE: &str = "{11111111-2222-3333-4444-555555555555}";
const MIDDLE: &str = "{AAAAAAAA-2222-3333-4444-555555555555}";
const BLOCKS: usize = 6;
/// Sectors of a block.
const TRACKS: usize = 3;
const SECTORS: u64 = (BLOCKS * TRACKS) as u64 - 1;

/// An image of the disk of the bundles below.
fn state(blocks: [Block; BLOCKS]) -> Vec<u8> {
    Parallels { sectors: SECTORS, ..Parallels::new(TRACKS, &blocks) }.file()
}

/// Blocks that differ between three states, the newest first, and the disk.
fn states() -> ([Vec<u8>; 3], Vec<u8>) {
    use Block::{Absent, Data};
    let top = [Absent, Data(9), Absent, Absent, Data(8), Absent];
    let middle = [Absent, Data(7), Data(6), Absent, Absent, Data(5)];
    let base = [Data(1), Data(2), Data(3), Absent, Data(4), Absent];
    let seen = [Data(1), Data(9), Data(6), Absent, Data(8), Data(5)];
    let disk = Parallels { sectors: SECTORS, ..Parallels::new(TRACKS, &seen) }.disk();
    ([top, middle, base].map(state), disk)
}

fn bundle(descriptor: &Bundle<'_>, files: &[(&str, &[u8])]) -> Case {
    let companions = files.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec())).collect();
    let name = Some("DiskDescriptor.xml".to_owned());
    Case { name, companions, ..Case::new(descriptor.xml().into_bytes()) }
}

const CHAIN: Bundle<'static> = Bundle {
    sectors: SECTORS,
    storages: &[(
        0,
        SECTORS,
        &[
            (BASE, "Compressed", "disk.hdd.0.base.hds"),
            ("{99999999-2222-3333-4444-555555555555}", "Compressed", "of another branch.hds"),
            (MIDDLE, "Compressed", "disk.hdd.0.middle.hds"),
            (TOP, "Compressed", "C:\\VM\\disk.hdd.0.top.hds"),
        ],
    )],
    top: None,
    shots: &[(BASE, NONE), (MIDDLE, BASE), ("{99999999-2222-3333-4444-555555555555}", BASE), (TOP, MIDDLE)],
};

#[test]
fn bundles() {
    let ([top, middle, base], disk) = states();
    let files: &[(&str, &[u8])] =
        &[("disk.hdd.0.top.hds", &top), ("disk.hdd.0.middle.hds", &middle), ("disk.hdd.0.base.hds", &base)];
    check(&bundle(&CHAIN, files), &disk, "three states");
    // GUIDs are compared without case.
    let older = Bundle { top: Some("{aaaaaaaa-2222-3333-4444-555555555555}"), ..CHAIN };
    let seen = bundle(&older, &files[1..]).bytes().unwrap();
    assert!(seen[..1536] == disk[..1536] && seen[1536..3072] == content(7, 1536), "an older state");
    let first = Bundle { top: Some(BASE), ..CHAIN };
    assert!(bundle(&first, &files[2..]).bytes().unwrap()[..1536] == disk[..1536], "the first state");
    // A plain image has everything.
    let plain: Vec<u8> = (0..SECTORS as usize * SECTOR).map(|at| (at / 7) as u8).collect();
    let images = &[(BASE, "Plain", "base.hds"), (TOP, "Compressed", "top.hds")];
    let over_plain = Bundle { storages: &[(0, SECTORS, images)], shots: &[(BASE, NONE), (TOP, BASE)], ..CHAIN };
    let mut expected = plain.clone();
    expected[1536..3072].copy_from_slice(&content(9, 1536));
    expected[4 * 1536..5 * 1536].copy_from_slice(&content(8, 1536));
    check(&bundle(&over_plain, &[("top.hds", &top), ("base.hds", &plain)]), &expected, "over a plain image");
    // A disk in two pieces, without snapshots.
    let parts = [(0, SECTORS, &[(TOP, "Compressed", "a.hds")][..]), (SECTORS, 2 * SECTORS, &[(TOP, "Plain", "b.hds")])];
    let split = Bundle { sectors: 2 * SECTORS, storages: &parts, shots: &[], ..CHAIN };
    let base_disk = Case::new(base.clone()).bytes().unwrap();
    check(&bundle(&split, &[("b.hds", &plain), ("a.hds", &base)]), &[&base_disk[..], &plain].concat(), "two pieces");
    let dirty = Bundle { storages: &[(0, SECTORS, &[(TOP, "Compressed", "a.hds")])], shots: &[], ..CHAIN };
    let open = small::changed(base, &[(44, &OPEN.to_le_bytes())]);
    let info = bundle(&dirty, &[("a.hds", &open)]).with(Answers::InOrder, |image| async move { Ok(image.info()) });
    assert_eq!(info.unwrap().features, ["dirty"]);
}

#[test]
fn a_bundle_in_an_archive() {
    let ([top, middle, base], disk) = states();
    let tar = archive(&[
        member("vm/disk.hdd/disk.hdd.0.base.hds", b'0', &base),
        member("vm/disk.hdd/disk.hdd.0.middle.hds", b'0', &middle),
        member("vm/disk.hdd/DiskDescriptor.xml", b'0', CHAIN.xml().as_bytes()),
        member("vm/disk.hdd/disk.hdd.0.top.hds", b'0', &top),
        // A copy, and the image of a state that is not the current one.
        member("vm/disk.hdd/DiskDescriptor.xml.Backup", b'0', CHAIN.xml().as_bytes()),
        member("vm/disk.hdd/of another branch.hds", b'0', &base),
    ]);
    assert!(Case::new(tar).bytes().unwrap() == disk);
}

#[test]
fn bundles_that_are_broken() {
    let ([top, middle, base], disk) = states();
    let files: &[(&str, &[u8])] =
        &[("disk.hdd.0.top.hds", &top), ("disk.hdd.0.middle.hds", &middle), ("disk.hdd.0.base.hds", &base)];
    let xml = CHAIN.xml();
    let replaced = |from: &str, to: &str| {
        assert!(xml.contains(from), "{from}");
        xml.replace(from, to)
    };
    let deep = "<a>".repeat(40) + &"</a>".repeat(40);
    let shots: String = (0..600)
        .map(|at| format!("<Shot><GUID>{{{at}}}</GUID><ParentGUID>{{{}}}</ParentGUID></Shot>", at + 1))
        .collect();
    // (what, the descriptor, kind of the error, a part of its message)
    let rows: &[(&str, String, ErrorKind, &str)] = &[
        ("no end", xml[..xml.len() - 10].to_owned(), Corrupt, "not well formed"),
        ("another end", replaced("</Snapshots>", "</Shots>"), Corrupt, "not well formed"),
        ("two roots", xml.clone() + "<a/>", Corrupt, "not well formed"),
        ("an unknown reference", replaced(">2048<", ">&x;<"), Corrupt, "not well formed"),
        ("elements in elements", replaced("<Snapshots>", &format!("{deep}<Snapshots>")), Corrupt, "not well formed"),
        ("no size", replaced("Disk_size", "Size"), Corrupt, "Disk_size is missing"),
        ("a size that is no number", replaced("<Disk_size>", "<Disk_size>-"), Corrupt, "Disk_size is not a number"),
        ("2^64 sectors", replaced("<Disk_size>", "<Disk_size>18446744073709551615"), Corrupt, "not a number"),
        ("2^53 bytes", replaced("<Disk_size>17<", "<Disk_size>17592186044416<"), Limit, "2^53-1"),
        ("a larger disk", replaced("<Disk_size>17<", "<Disk_size>18<"), Corrupt, "do not follow one another"),
        ("a gap", replaced("<Start>0<", "<Start>1<"), Corrupt, "do not follow one another"),
        ("no range", replaced("<End>17<", "<End>0<"), Corrupt, "do not follow one another"),
        ("large sectors", replaced("Size>512<", "Size>4096<"), Unsupported, "LogicSectorSize is not 512"),
        ("padding", replaced("Padding>0<", "Padding>8<"), Unsupported, "Padding is not 0"),
        (
            "encrypted",
            replaced(&format!("<Engine>{NONE}"), &format!("<Engine>{BASE}")),
            Unsupported,
            "Parallels's encryption",
        ),
        ("another type", replaced("Compressed", "Encrypted"), Unsupported, "neither Plain nor Compressed"),
        (
            "an unknown state",
            replaced("<Snapshots>", "<Snapshots><TopGUID>{7}</TopGUID>"),
            Corrupt,
            "no image for the state {7}",
        ),
        (
            "no state",
            replaced("<Snapshots>", &format!("<Snapshots><TopGUID>{NONE}</TopGUID>")),
            Corrupt,
            "the current state is missing",
        ),
        (
            "a state below itself",
            replaced(&format!("<ParentGUID>{NONE}"), &format!("<ParentGUID>{TOP}")),
            Corrupt,
            "below itself",
        ),
        (
            "many states",
            replaced("<Snapshots>", &format!("<Snapshots><TopGUID>{{0}}</TopGUID>{shots}")),
            Limit,
            "more than 512 snapshots",
        ),
        (
            "another size of an image",
            xml.replace(">17<", ">18<"),
            Corrupt,
            "has a virtual size of 8704 bytes, but the descriptor states 9216 bytes",
        ),
    ];
    for (what, xml, kind, part) in rows {
        let case = Case { image: xml.clone().into_bytes(), ..bundle(&CHAIN, files) };
        let error = case.bytes().err().unwrap_or_else(|| panic!("{what}: it is read"));
        assert!(error.kind == *kind && error.message().contains(part), "{what}: {error}");
    }
    let missing = bundle(&CHAIN, &files[..2]).bytes().unwrap_err();
    assert_eq!(missing.kind, MissingFile, "{missing}");
    // Comments, instructions, character data and references are read as XML has them.
    let odd = xml
        .replace("<Snapshots>", "<!-- </a> --><?a <b> ?><Snapshots a='>' b=\">\">")
        .replace("disk.hdd.0.base.hds", "<![CDATA[disk.hdd]]>.0.b&#97;s&#x65;.hds");
    let case = Case { image: format!("\u{feff}{odd}").into_bytes(), ..bundle(&CHAIN, files) };
    assert!(case.bytes().unwrap() == disk);
}
