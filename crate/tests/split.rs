//! Images in several parts, among their companions. `split_names.rs` has the names.

use crate::common::luks::luks1;
use crate::common::small::{DATA, overlay, small, small_disk};
use crate::common::*;
use crate::tar::{archive, content, member};
use decant::container::{CONTAINERS, Container};
use decant::convert::read;
use decant::disk::info::Notice;
use decant::error::fields::Field;
use decant::io::target::Abilities;
use decant::offsets::GuestRange;
use decant::open::examination::Examination;
use decant::{Error, ErrorKind, Image};

/// The files with these names and contents; the first is the image.
fn files(files: &[(&str, &[u8])]) -> Case {
    let (name, image) = files[0];
    let companions = files[1..].iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec())).collect();
    let name = Some(name.to_owned());
    Case { file: name.clone(), name, companions, ..Case::new(image.to_vec()) }
}

/// `image` in parts of `len` bytes, the last of them first among the companions.
fn split(image: &[u8], len: usize) -> Case {
    let names: Vec<_> = (1..).map(|number| format!("disk.{number:03}")).take(image.len().div_ceil(len)).collect();
    let mut case = files(&names.iter().map(String::as_str).zip(image.chunks(len)).collect::<Vec<_>>());
    case.companions.reverse();
    case
}

fn raw() -> Option<String> {
    Some("raw".to_owned())
}

fn stated_raw(case: Case) -> Case {
    Case { format: raw(), ..case }
}

#[test]
fn parts_are_one_image() {
    let (image, raw_disk) = (small(), content());
    let disk = [&raw_disk[..], &[0; 352]].concat();
    let ova = archive(&[member("a.ovf", b'0', b"<xml/>"), member("d.qcow2", b'0', &image)]);
    let gzip = filter("gzip", &["-c"], &raw_disk);
    for divisor in [1, 2, 3, 7] {
        let len = |file: &[u8]| file.len().div_ceil(divisor);
        let stated = stated_raw(split(&raw_disk, len(&raw_disk)));
        // (what, case, expected)
        let rows = [
            ("qcow2", split(&image, len(&image)), &small_disk()),
            (
                "qcow2 with its format",
                Case { format: Some("qcow2".into()), ..split(&image, len(&image)) },
                &small_disk(),
            ),
            ("an archive", split(&ova, len(&ova)), &small_disk()),
            ("gzip", split(&gzip, len(&gzip)), &disk),
            ("raw", stated, &disk),
        ];
        for (what, case, expected) in rows {
            for answers in ANSWERS {
                let converted = case.convert(answers, Abilities::default(), 4096);
                converted.result.unwrap();
                assert!(converted.target.bytes.take() == *expected, "{what} in {divisor}: other bytes");
            }
            assert_eq!(case.info().unwrap().unused_companions, [""; 0], "{what} in {divisor}");
        }
    }
}

fn notices(case: &Case) -> Vec<Notice> {
    case.info().unwrap().safety
}

#[test]
fn notices_of_disks_without_an_end() {
    let disk = content();
    let alone = |name: &str| {
        let message = format!("By its name, '{name}' is a part of a split file; it is read as the whole disk");
        Some(("part-alone", message, vec![("first", Field::from(name))]))
    };
    let joined = |last: &str, count: u64| {
        let message = format!(
            "The disk is read from {count} files, 'disk.001' to '{last}', as parts of one file; nothing in them shows that they \
             belong together, or whether the last one is missing"
        );
        let fields = vec![("first", Field::from("disk.001")), ("last", last.into()), ("count", count.into())];
        Some(("parts-unchecked", message, fields))
    };
    let luks = luks1();
    let tar = archive(&[member("disk.raw", b'0', &disk)]);
    // (what, case, expected)
    let rows = [
        ("raw", stated_raw(files(&[("d.raw.01", &disk)])), alone("d.raw.01")),
        ("a later part", stated_raw(files(&[("d.002", &disk)])), alone("d.002")),
        ("raw in parts", stated_raw(split(&disk, 40_000)), joined("disk.003", 3)),
        ("LUKS", files(&[("disk.00", &luks)]), alone("disk.00")),
        ("LUKS in parts", split(&luks, luks.len().div_ceil(5)), joined("disk.005", 5)),
        ("qcow2", files(&[("d.001", &small())]), None),
        ("qcow2 in parts", split(&small(), 1000), None),
        ("raw in an archive", split(&tar, 40_000), None),
        ("a part in an archive", Case::new(archive(&[member("p/disk.00", b'0', &luks)])), alone("p/disk.00")),
        ("no part", stated_raw(files(&[("disk.raw", &disk)])), None),
        ("not named as a file", Case { file: None, ..stated_raw(split(&disk, 40_000)) }, None),
    ];
    for (what, case, expected) in rows {
        let found = notices(&case).into_iter().map(|Notice { code, fields, message }| {
            (code, message, fields.iter().map(|(name, value)| (name.to_owned(), value.clone())).collect::<Vec<_>>())
        });
        let expected = expected.map(|(code, message, fields)| {
            (code, message, fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
        });
        assert_eq!(found.collect::<Vec<_>>(), expected.into_iter().collect::<Vec<_>>(), "{what}");
    }
}

/// (what, case, kind, code, fields, message)
type Refused<'a> = (&'a str, Case, ErrorKind, &'a str, Vec<(&'a str, &'a str)>, String);

/// A disk with this `signature` at `offset`.
fn disk_with(signature: &[u8], offset: usize) -> Vec<u8> {
    let mut disk = vec![0; 100 << 10];
    disk[offset..offset + signature.len()].copy_from_slice(signature);
    disk
}

#[test]
fn what_cannot_be_joined_is_refused() {
    let image = small();
    let parts: Vec<_> = image.chunks(600).collect();
    let disk = content();
    let btrfs = disk_with(b"_BHRfS_M", 65_600);
    let packed: Vec<_> = [("gzip", "-cn"), ("xz", "-c"), ("zstd", "-c"), ("bzip2", "-c"), ("lz4", "-c")]
        .map(|(program, option)| filter(program, &[option], &disk))
        .into();
    let compressed = CONTAINERS.iter().filter(|container| !container.is_archive()).map(|Container { name, .. }| *name);
    assert_eq!(compressed.collect::<Vec<_>>(), ["gzip", "xz", "zstd", "bzip2", "lz4"]);
    let whole = |first: &str, second: &str| {
        format!(
            "'{first}' and '{second}' are named as parts of one file, but each begins like a whole one; to read one of them, pass it \
             without the others (to the command, by standard input); if they are parts, join them first"
        )
    };
    let unclear = |first: &str, second: &str| {
        format!(
            "'{first}' and '{second}' may be parts of one file or of two, and others are missing; put all parts of the image, and no \
             others, into a folder"
        )
    };
    let later = |start: &str, first: &str| {
        format!(
            "{start}; by its name, it is a later part of a split file: open the first part, '{first}', with the others"
        )
    };
    let unknown = "The file is not in a format that Decant recognises";
    let both = |first: &'static str, second: &'static str| vec![("first", first), ("second", second)];
    let mut rows: Vec<Refused<'_>> = vec![
        (
            "a missing part",
            files(&[("d.001", parts[0]), ("d.003", parts[2])]),
            ErrorKind::MissingFile,
            "missing-file",
            vec![("file", "d.002"), ("role", "part"), ("neededBy", "d.001")],
            "'d.002', a part of the image, is missing; open all parts again, together with it".to_owned(),
        ),
        (
            "a cut part",
            files(&[("d.001", parts[0]), ("x/d.002", &parts[1][..50]), ("d.003", parts[2])]),
            ErrorKind::Corrupt,
            "piece-damaged",
            vec![("file", "x/d.002")],
            "The image is corrupt: its part 'x/d.002' has another size than those before it".to_owned(),
        ),
        (
            "a later part",
            files(&[("d.002", parts[1]), ("x/d.001", parts[0])]),
            ErrorKind::NotRecognised,
            "later-part",
            vec![("first", "x/d.001")],
            later(unknown, "x/d.001"),
        ),
        (
            "a later part alone",
            files(&[("d.002", parts[1])]),
            ErrorKind::NotRecognised,
            "later-part",
            vec![("first", "d.001")],
            later(unknown, "d.001"),
        ),
        (
            "a later part of a raw disk",
            stated_raw(files(&[("d.002", parts[1]), ("d.001", parts[0])])),
            ErrorKind::Usage,
            "later-part",
            vec![("first", "d.001")],
            later("The disk does not begin in this file", "d.001"),
        ),
        (
            "one file or two",
            stated_raw(files(&[("sdbaa", parts[1]), ("sdaab", parts[0])])),
            ErrorKind::Usage,
            "parts-ambiguous",
            both("sdbaa", "sdaab"),
            unclear("sdbaa", "sdaab"),
        ),
        (
            "disks with a signature",
            stated_raw(files(&[("d.01", &btrfs), ("d.02", &btrfs)])),
            ErrorKind::Usage,
            "parts-ambiguous",
            both("d.01", "d.02"),
            whole("d.01", "d.02"),
        ),
        (
            "the same part twice",
            files(&[("d.001", parts[0]), ("a/d.002", parts[1]), ("b/d.002", parts[1])]),
            ErrorKind::Usage,
            "usage",
            Vec::new(),
            "'b/d.002' matches more than one file, and is a part of the image".to_owned(),
        ),
    ];
    for file in &packed {
        for case in [files(&[("xaa", file), ("xab", file)]), stated_raw(files(&[("xaa", file), ("xab", file)]))] {
            let message = whole("xaa", "xab");
            rows.push(("compressed", case, ErrorKind::Usage, "parts-ambiguous", both("xaa", "xab"), message));
        }
    }
    for (what, case, kind, code, fields, message) in rows {
        let error = case.info().unwrap_err();
        let found: Vec<_> = error.fields.iter().map(|(name, value)| (name, value.clone())).collect();
        let fields: Vec<_> = fields.into_iter().map(|(name, value)| (name, Field::from(value))).collect();
        assert_eq!((error.kind, &*error.code, error.message()), (kind, code, message), "{what}");
        assert_eq!(found, fields, "{what}");
    }
}

/// Files with the names of parts that are images by themselves.
#[test]
fn images_are_no_parts() {
    let base = small();
    let (one, two) = (overlay("base", Some("qcow2")), overlay("base", Some("qcow2")));
    let mut changed = small();
    changed[DATA..][..8].fill(7);
    let tar = |image: &[u8]| archive(&[member("a.txt", b'0', b"text"), member("d.qcow2", b'0', image)]);
    let raw_tar = archive(&[member("disk.raw", b'0', &content())]);
    // (what, files, unused companions)
    let rows: &[(&str, Case, &[&str])] = &[
        ("overlays", files(&[("vm.001", &one), ("vm.002", &two), ("base", &base)]), &["vm.002"]),
        ("overlays, one of them missing", files(&[("vm.001", &one), ("vm.003", &two), ("base", &base)]), &["vm.003"]),
        ("copies", files(&[("xaa", &base), ("xab", &changed)]), &["xab"]),
        ("the second of two", files(&[("d.02", &base), ("d.01", &changed)]), &["d.01"]),
        ("archives", files(&[("t.001", &tar(&base)), ("t.002", &tar(&changed))]), &["t.002"]),
        ("archives of raw disks", files(&[("t.001", &raw_tar), ("t.002", &raw_tar)]), &["t.002"]),
        ("one file or two", files(&[("sdbaa", &base), ("sdaab", &changed)]), &["sdaab"]),
    ];
    for (what, case, unused) in rows {
        let alone = Case { file: None, ..case.clone() };
        assert!(case.bytes() == alone.bytes() && case.bytes().is_ok(), "{what}: {:?}", case.bytes().err());
        let (info, of_alone) = (case.info().unwrap(), alone.info().unwrap());
        assert_eq!(info.unused_companions, *unused, "{what}");
        assert_eq!(info.safety, of_alone.safety, "{what}");
        assert_eq!(info.file_size, of_alone.file_size, "{what}");
    }
    // A cut one is not a part, either.
    let cut = files(&[("vm.001", &base[..DATA + 100]), ("vm.002", &base)]);
    assert_eq!(cut.bytes().unwrap_err().code, "truncated");
}

fn is_complete(error: &Error, count: u64) {
    let last = format!("disk.{count:03}");
    let parts = match count {
        1 => "by its name, 'disk.001' is the first part".to_owned(),
        _ => format!("by their names, 'disk.001' to '{last}' are the first parts"),
    };
    let message = format!("The image is truncated; {parts} of a split file: open all parts together");
    assert_eq!((error.kind, &*error.code, error.message()), (ErrorKind::Corrupt, "parts-needed", message));
    for (name, value) in [("first", "disk.001".into()), ("last", (&*last).into()), ("count", count.into())] {
        let value: Field = value;
        assert_eq!(error.fields.get(name), Some(&value), "{name}: {error}");
    }
    assert!(error.fields.get("offset").is_some() && error.fields.get("size").is_some(), "{error}");
}

/// The first parts of an image, which is truncated in any of its structures.
#[test]
fn all_parts_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let (raw, path) = (folder.path().join("disk.raw"), folder.path().join("image"));
    let disk: Vec<u8> = (0..1u32 << 18).flat_map(|at| at.wrapping_mul(0x9e37_79b9).to_le_bytes()).collect();
    std::fs::write(&raw, &disk).unwrap();
    let image = |args: &[&str]| {
        qemu("qemu-img", &[&["convert", "-f", "raw", "-O", "qcow2"], args, &[text(&raw), text(&path)]].concat());
        std::fs::read(&path).unwrap()
    };
    let (plain, compressed) = (image(&[]), image(&["-c"]));
    let end = plain.len();
    let gzip = filter("gzip", &["-1c"], &disk);
    let tar = archive(&[member("a.txt", b'0', b"text"), member("d.qcow2", b'0', &plain)]);
    // (what, file, its length in the first parts)
    let rows: &[(&str, &[u8], usize)] = &[
        ("inside the header", &plain, 50),
        ("inside the disk", &plain, end / 2),
        ("inside a compressed cluster", &compressed, compressed.len() - 700),
        ("in gzip", &gzip, gzip.len() / 2),
        ("in an archive", &tar, tar.len() / 2),
    ];
    for &(what, file, len) in rows {
        for count in [1u64, 3] {
            let part = len.div_ceil(count as usize);
            let case = split(&file[..len], part);
            is_complete(&case.bytes().expect_err(what), count);
            // Without a name, it is only truncated.
            assert_eq!(Case { file: None, ..case }.bytes().unwrap_err().code, "truncated", "{what}");
        }
    }
    let case = split(&plain[..end / 2], end);
    let all = GuestRange::from(0..disk.len() as u64);
    is_complete(&case.with(Answers::InOrder, move |image| async move { read(&image, all).await }).unwrap_err(), 1);
    let list = |image: Image| async move {
        let (mut walk, mut extents) = (image.extents()?, Vec::new());
        while walk.next(&mut extents).await? {}
        Ok(())
    };
    is_complete(&case.with(Answers::InOrder, list).unwrap_err(), 1);
    for deep in [false, true] {
        let examine = move |image| async move { Examination::of(&image, deep).await };
        let examination = case.with(Answers::InOrder, examine).unwrap();
        is_complete(&examination.damage.unwrap(), 1);
    }
    // An error of a companion is its own.
    let cut = files(&[("disk.001", &overlay("base", Some("qcow2"))), ("base", &small()[..50])]);
    let error = cut.bytes().unwrap_err();
    assert_eq!((&*error.code, error.fields.get("file")), ("truncated", Some(&Field::from("base"))), "{error}");
}

/// An image and its files are opened once: each is identified by one read of its start, and none of its bytes is read twice.
#[test]
fn each_file_is_opened_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let file = |name: &str| std::fs::read(path(name)).unwrap();
    let disk: Vec<u8> = (0..1u32 << 18).flat_map(|at| at.wrapping_mul(0x9e37_79b9).to_le_bytes()).collect();
    std::fs::write(path("disk.raw"), &disk).unwrap();
    let convert = |format: &str, name: &str| {
        qemu("qemu-img", &["convert", "-f", "raw", "-O", format, text(&path("disk.raw")), text(&path(name))]);
        file(name)
    };
    let overlay = |over: &str, format: &str| {
        let top = path("top");
        qemu("qemu-img", &["create", "-q", "-f", "qcow2", "-b", over, "-F", format, text(&top)]);
        qemu("qemu-io", &["-c", "write -q -P 5 64k 64k", text(&top)]);
        file("top")
    };
    let (qcow2, vhd, vmdk) = (convert("qcow2", "base"), convert("vpc", "vhd"), convert("vmdk", "vmdk"));
    let (top, over_raw) = (overlay("base", "qcow2"), overlay("disk.raw", "raw"));
    let tar = archive(&[member("a.txt", b'0', b"text"), member("d.qcow2", b'0', &qcow2)]);
    let part = 100 << 10;
    // (what, case)
    let rows = [
        ("parts of a qcow2", split(&qcow2, part)),
        ("parts of a VHD", split(&vhd, part)),
        ("parts of a VMDK", split(&vmdk, part)),
        ("parts of a raw disk", stated_raw(split(&disk, part))),
        ("parts of a qcow2 with its format", Case { format: Some("qcow2".into()), ..split(&qcow2, part) }),
        ("an overlay and its base", files(&[("top", &top), ("base", &qcow2)])),
        ("an overlay and its raw base", files(&[("top", &over_raw), ("disk.raw", &disk)])),
        ("images with the names of parts", files(&[("vm.001", &top), ("vm.002", &qcow2), ("base", &qcow2)])),
    ];
    for (what, case) in rows {
        for (number, reads) in case.reads().iter().enumerate() {
            assert_eq!(read_twice(reads), 0, "{what}, file {number}: {reads:?}");
            let starts = reads.iter().filter(|(start, _)| *start == 0).count();
            assert!(starts < 2, "{what}, file {number}: {reads:?}");
        }
    }
    // An archive and its member are read separately, but no range twice.
    for (number, mut reads) in split(&tar, part).reads().into_iter().enumerate() {
        let count = reads.len();
        reads.sort_unstable();
        reads.dedup();
        assert_eq!(reads.len(), count, "file {number} of an archive: {reads:?}");
    }
}
