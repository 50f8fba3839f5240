//! A raw disk among other files of an archive: found by its sign, or named by the caller.

use crate::common::zip::{Entry, Zip};
use crate::common::*;
use crate::tar::{archive, content, member};
use decant::error::fields::{Field, Fields};
use decant::io::target::Abilities;
use decant::open::disk_choice::DiskChoice;
use decant::{Error, ErrorKind};

/// (name, content)
type Files<'a> = Vec<(&'a str, Vec<u8>)>;

fn tar(files: &Files) -> Vec<u8> {
    archive(&files.iter().map(|(name, data)| member(name, b'0', data)).collect::<Vec<_>>())
}

fn zip(files: &Files, entry: fn(&str, &[u8]) -> Entry) -> Vec<u8> {
    Zip::default().made_of(&files.iter().map(|(name, data)| entry(name, data)).collect::<Vec<_>>()).0
}

/// The archive of `files`, of each kind. Whether it is read at any position.
fn packed(files: &Files) -> Vec<(&'static str, bool, Case)> {
    let tar = tar(files);
    let stream = |file: Vec<u8>| Case { as_stream: true, ..Case::new(file) };
    vec![
        ("tar", true, Case::new(tar.clone())),
        ("zip, stored", true, Case::new(zip(files, Entry::stored))),
        ("zip, deflated", true, Case::new(zip(files, Entry::deflated))),
        ("tar.gz", false, Case::new(filter("gzip", &["-cn1"], &tar))),
        ("tar.xz", false, Case::new(filter("xz", &["-c0"], &tar))),
        ("tar as a stream", false, stream(tar)),
    ]
}

/// `content`, padded to whole sectors.
fn padded(content: &[u8]) -> Vec<u8> {
    [content, &vec![0; content.len().next_multiple_of(512) - content.len()]].concat()
}

/// The names of the files that the error lists.
fn listed(error: &Error) -> Vec<String> {
    let Some(Field::List(disks)) = error.fields.get("disks") else { return Vec::new() };
    let name = |disk: &Fields| match disk.get("name") {
        Some(Field::Text(name)) => name.clone(),
        _ => panic!("{error}: no name"),
    };
    disks.iter().map(name).collect()
}

/// More than a MiB.
const LARGE: usize = 5 << 18;

/// A large disk with `sign` at `offset`.
fn large(offset: usize, sign: &[u8]) -> Vec<u8> {
    let mut disk = vec![0; LARGE];
    disk[offset..offset + sign.len()].copy_from_slice(sign);
    disk[1 << 20..][..4096].fill(7);
    disk
}

fn text(about: &str) -> Vec<u8> {
    format!("Write {about} to a card.\n").repeat(60).into_bytes()
}

/// A text with the bytes of an old file system's signature.
fn text_with_sign() -> Vec<u8> {
    let mut text = text("this");
    text[1024..1026].copy_from_slice(b"BD");
    text
}

#[test]
fn the_only_disk_is_taken() {
    let disk = content();
    let (mbr, btrfs) = (large(510, &[0x55, 0xaa]), large(65_600, b"_BHRfS_M"));
    let mut kernel = vec![0; LARGE];
    kernel[510..518].copy_from_slice(b"\x55\xaa\xeb\x66HdrS");
    let zeros = || vec![0; LARGE];
    // (what, files, the disk)
    let rows: Vec<(&str, Files, &str)> = vec![
        ("a README", vec![("README.txt", text("it")), ("disk.img", disk.clone())], "disk.img"),
        ("a README after", vec![("disk.img", disk.clone()), ("README.txt", text("it"))], "disk.img"),
        ("a checksum", vec![("disk.img", mbr.clone()), ("disk.img.sha256", text("x"))], "disk.img"),
        (
            "a backup of LXD",
            vec![
                ("backup/index.yaml", text("it")),
                ("backup/virtual-machine/metadata.yaml", text("it")),
                ("backup/virtual-machine.img", mbr.clone()),
                ("backup/virtual-machine/backup.yaml", text("it")),
            ],
            "backup/virtual-machine.img",
        ),
        ("a file system", vec![("a.txt", text("it")), ("root.img", btrfs)], "root.img"),
        ("a text with a sign by chance", vec![("notes", text_with_sign()), ("disk.img", disk.clone())], "disk.img"),
        ("a kernel", vec![("disk.img", mbr.clone()), ("vmlinuz", kernel)], "disk.img"),
        ("zeros", vec![("disk.img", mbr.clone()), ("empty.bin", zeros())], "disk.img"),
        (
            "JSON and XML",
            vec![("a.json", b"{\"a\": 1}".to_vec()), ("disk.img", mbr.clone()), ("a.xml", b"<?xml ?>".to_vec())],
            "disk.img",
        ),
        (
            "a description of a machine",
            vec![("a.ovf", b"<Envelope>".to_vec()), ("a.img", mbr.clone()), ("a.mf", text("x"))],
            "a.img",
        ),
    ];
    for (what, files, name) in rows {
        let (_, disk) = files.iter().find(|(other, _)| *other == name).unwrap();
        for (way, _, case) in packed(&files) {
            let found = case.bytes();
            assert!(found.as_ref() == Ok(&padded(disk)), "{what} in {way}: {:?}", found.err());
            if !case.as_stream {
                let info = info_of(case.image);
                assert_eq!(info.containers.last().unwrap().member.as_deref(), Some(name), "{what} in {way}");
                let codes: Vec<_> = info.safety.iter().map(|notice| notice.code).collect();
                assert_eq!(codes, ["guessed-raw"], "{what} in {way}");
            }
        }
    }
}

#[test]
fn which_disk_is_asked() {
    let (one, two) = (large(510, &[0x55, 0xaa]), content());
    let gzip = filter("gzip", &["-cn"], &content());
    let mut later = large(510, &[0]);
    later[1 << 20..].fill(9);
    // (what, files, the code of an archive at any position, the listed files)
    let rows: Vec<(&str, Files, &str, &[&str])> = vec![
        (
            "two disks",
            vec![("README", text("it")), ("a.img", one.clone()), ("b.img", two.clone())],
            "several-images",
            &["a.img", "b.img"],
        ),
        (
            "a disk and a compressed file",
            vec![("disk.img", one.clone()), ("bmap.gz", gzip)],
            "several-images",
            &["disk.img", "bmap.gz"],
        ),
        ("no disk", vec![("README", text("it")), ("data.bin", later.clone())], "no-image", &["README", "data.bin"]),
        ("texts", vec![("a", text("it")), ("b", text("it"))], "no-image", &["a", "b"]),
        ("a disk of zeros", vec![("a", text("it")), ("b", vec![0; LARGE])], "no-image", &["a", "b"]),
        // The second part has no sign.
        (
            "parts by 7-Zip",
            vec![("disk.img.001", one.clone()), ("disk.img.002", later.clone())],
            "no-image",
            &["disk.img.001", "disk.img.002"],
        ),
        ("parts by split", vec![("xab", later[..4096].to_vec()), ("xaa", one.clone())], "no-image", &["xab", "xaa"]),
        (
            "extents without their descriptor",
            vec![("d-f001.vmdk", one.clone()), ("d-f002.vmdk", later.clone())],
            "no-image",
            &["d-f001.vmdk", "d-f002.vmdk"],
        ),
    ];
    for (what, files, code, names) in rows {
        for (way, at_any_position, case) in packed(&files) {
            let converted = case.convert(Answers::InOrder, Abilities::default(), 64 << 10);
            let error = converted.result.map(drop).unwrap_err();
            assert!(!converted.target.finished.get(), "{what} in {way} was completed");
            if at_any_position {
                assert_eq!((error.kind, &*error.code), (ErrorKind::Usage, code), "{what} in {way}: {error}");
                assert_eq!(listed(&error), names, "{what} in {way}: {error}");
                assert!(names.iter().all(|name| error.message().contains(name)), "{what} in {way}: {error}");
            } else {
                // At any position, it is asked.
                let code = if case.as_stream { "several-files" } else { "needs-spool" };
                let is_expected = [code, "several-files"].contains(&&*error.code);
                assert!(is_expected, "{what} in {way}: {error}");
            }
        }
    }
}

/// A file that the caller names is the disk, whatever it looks like.
#[test]
fn what_is_named_is_taken() {
    let (disk, qcow2) = (content(), small::small());
    let mut plain = large(0, b"no sign");
    plain.truncate((1 << 20) + 5001);
    let files = |archive: fn(&Files) -> Vec<u8>| {
        archive(&vec![
            ("README", text("it")),
            ("x/disk.img", disk.clone()),
            ("x/plain.bin", plain.clone()),
            ("y/plain.bin", disk[..5000].to_vec()),
            ("a.qcow2", qcow2.clone()),
            ("a.mf", b"SHA1()".to_vec()),
            ("a.ovf", b"<Envelope>".to_vec()),
        ])
    };
    type Pack = fn(&Files) -> Vec<u8>;
    let archives: [(&str, Pack); 3] = [
        ("tar", tar),
        ("zip, stored", |files| zip(files, Entry::stored)),
        ("zip, deflated", |files| zip(files, Entry::deflated)),
    ];
    // (choice, the disk or the code)
    let rows: Vec<(&str, Result<Vec<u8>, &str>)> = vec![
        ("README", Ok(padded(&text("it")))),
        ("x/disk.img", Ok(padded(&disk))),
        ("disk.img", Ok(padded(&disk))),
        ("x/plain.bin", Ok(padded(&plain))),
        ("y/plain.bin", Ok(padded(&disk[..5000]))),
        ("plain.bin", Err("no-such-disk")),
        ("a.qcow2", Ok(small::small_disk())),
        ("a.mf", Ok(padded(b"SHA1()"))),
        ("a.ovf", Err("not-an-image")),
        ("img", Err("no-such-disk")),
        ("", Err("no-such-disk")),
    ];
    for (way, archive) in archives {
        for (name, expected) in &rows {
            let choice = Some(DiskChoice::Name((*name).to_owned()));
            let case = Case { disk: choice, ..Case::new(files(archive)) };
            let found = case.bytes().map_err(|error| error.code.to_string());
            let in_order = [("a.qcow2", "needs-spool"), ("a.ovf", "no-image")];
            let in_order = in_order.into_iter().find(|(other, _)| way == "zip, deflated" && other == name);
            if let Some((_, code)) = in_order {
                assert_eq!(found.unwrap_err(), code);
                continue;
            }
            assert!(
                found == expected.clone().map_err(str::to_owned),
                "{name} in {way}: {:?}",
                found.map(|found| found.len())
            );
        }
    }
    // If no file is recognised, a number is one in the list of all.
    let unknown = tar(&vec![("a", text("it")), ("b", plain.clone())]);
    for (choice, expected) in [
        (DiskChoice::Number(2), Ok(padded(&plain))),
        (DiskChoice::Number(1), Ok(padded(&text("it")))),
        (DiskChoice::Name("b".to_owned()), Ok(padded(&plain))),
        (DiskChoice::Number(3), Err("no-such-disk")),
    ] {
        let case = Case { disk: Some(choice.clone()), ..Case::new(unknown.clone()) };
        let found = case.bytes().map_err(|error| error.code.to_string());
        assert!(found == expected.map_err(str::to_owned), "{choice:?}");
    }
    // In an archive without an end mark, and in a compressed one, which is unpacked.
    let cut = &unknown[..unknown.len() - 1024];
    let choice = Some(DiskChoice::Name("b".to_owned()));
    assert!(Case { disk: choice.clone(), ..Case::new(cut.to_vec()) }.bytes() == Ok(padded(&plain)));
    let packed = filter("gzip", &["-cn1"], &unknown);
    assert!(Case { disk: choice, spool: true, ..Case::new(packed) }.bytes() == Ok(unknown));
}
