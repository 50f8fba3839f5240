//! Files that are read as raw disks because that is stated, although they are something else, and hybrid ISO images.

use crate::common::parallels::{Bundle, TOP};
use crate::common::small::{overlay, small, small_disk, with_data_file};
use crate::common::vhd::{FIXED, Vhd};
use crate::common::vmdk::descriptor;
use crate::common::zip::{Entry, Zip};
use crate::common::*;
use crate::gzip::disk;
use crate::tar::{archive, member};
use decant::ErrorKind;
use decant::disk::info::Notice;
use decant::error::fields::Field;
use decant::open::disk_choice::DiskChoice;

const KIB: usize = 1 << 10;

fn raw(image: Vec<u8>) -> Case {
    Case { format: Some("raw".to_owned()), ..Case::new(image) }
}

fn unpacked(image: Vec<u8>) -> Case {
    Case { unpack: true, ..raw(image) }
}

fn as_stream(case: Case) -> Case {
    Case { as_stream: true, ..case }
}

fn gzip(content: &[u8]) -> Vec<u8> {
    filter("gzip", &["-cn1"], content)
}

fn xz(content: &[u8]) -> Vec<u8> {
    filter("xz", &["-c0"], content)
}

fn tar(name: &str, content: &[u8]) -> Vec<u8> {
    archive(&[member(name, b'0', content)])
}

fn zip_of(name: &str, content: &[u8]) -> Vec<u8> {
    Zip::default().made_of(&[Entry::deflated(name, content)]).0
}

/// An ISO 9660 image.
fn iso() -> Vec<u8> {
    let mut iso = vec![0; 128 * KIB];
    iso[32 * KIB..][..6].copy_from_slice(b"\x01CD001");
    iso
}

/// A partition of `sectors` sectors in entry `number`.
fn with_partition(mut iso: Vec<u8>, number: usize, kind: u8, sectors: u32) -> Vec<u8> {
    let entry = 446 + 16 * number;
    iso[entry] = 0x80;
    iso[entry + 4] = kind;
    iso[entry + 12..entry + 16].copy_from_slice(&sectors.to_le_bytes());
    iso[510..512].copy_from_slice(&[0x55, 0xaa]);
    iso
}

fn hybrid() -> Vec<u8> {
    with_partition(iso(), 0, 0x17, 256)
}

fn fixed_vhd(disk: &[u8]) -> Vec<u8> {
    let footer = Vhd { kind: FIXED, size: disk.len() as u64, ..Vhd::new(disk.len(), &[]) }.footer();
    [disk, &footer].concat()
}

/// The codes of `notices`, each with the name in its field.
fn named(notices: &[Notice]) -> Vec<(&'static str, String)> {
    let name = |notice: &Notice| match ["container", "format"].into_iter().find_map(|name| notice.fields.get(name)) {
        Some(Field::Text(name)) => name.clone(),
        _ => String::new(),
    };
    notices.iter().map(|notice| (notice.code, name(notice))).collect()
}

#[test]
fn a_stated_raw_disk_that_is_something_else_is_noticed() {
    let disk = disk(64 * KIB);
    let files: Vec<(&str, Vec<u8>)> = vec![
        ("gzip", gzip(&disk)),
        ("xz", xz(&disk)),
        ("zstd", filter("zstd", &["-qc"], &disk)),
        ("bzip2", filter("bzip2", &["-c"], &disk)),
        ("lz4", filter("lz4", &["-qc"], &disk)),
        ("tar", tar("disk.raw", &disk)),
        ("zip", zip_of("disk.raw", &disk)),
        ("qcow2", small()),
        ("vpc", Vhd::new(64 * KIB, &[]).file()),
        ("vmdk", [&b"KDMV\x01\0\0\0"[..], &[0; 1000]].concat()),
        ("luks", [&b"LUKS\xba\xbe\0\x01"[..], &[0; 1000]].concat()),
        ("iso", iso()),
        ("7z", [&b"7z\xbc\xaf\x27\x1c"[..], &[0; 1000]].concat()),
    ];
    for (name, file) in files {
        let expected = [("packed-as-raw", name.to_owned())];
        let case = raw(file.clone());
        assert_eq!(named(&case.info().unwrap().safety), expected);
        let bytes = case.bytes().unwrap();
        assert!(bytes.starts_with(&file) && bytes.len() == file.len().next_multiple_of(512), "{name}");
        // Nothing of a stream is read before its conversion.
        let stream = as_stream(raw(file.clone()));
        assert_eq!(named(&stream.info().unwrap().safety), []);
        let converted = stream.convert(Answers::InOrder, Default::default(), 64 << 10);
        assert_eq!(named(&converted.notices), expected);
        assert!(converted.target.bytes.borrow().starts_with(&file), "{name}");
        // What the content of a container is, once it is unpacked.
        for packed in [gzip(&file), tar("a", &file), xz(&gzip(&file)), zip_of("a", &file)] {
            let case = unpacked(packed);
            let is_container = ["gzip", "xz", "zstd", "bzip2", "lz4", "tar", "zip"].contains(&name);
            if is_container {
                // All containers are unpacked; a zip archive in another one needs random access.
                match case.bytes() {
                    Ok(bytes) => assert!(bytes == disk, "{name}"),
                    Err(error) => assert_eq!((&*error.code, name), ("needs-spool", "zip"), "{error}"),
                }
                continue;
            }
            assert_eq!(named(&case.info().unwrap().safety), [("packed-as-raw", name.to_owned())]);
            let bytes = case.bytes().unwrap();
            assert!(bytes.starts_with(&file) && bytes.len() == file.len().next_multiple_of(512), "{name}");
        }
    }
}

/// A layer or a part of a disk that an image reads as raw, although it is something else.
#[test]
fn other_formats_that_an_image_needs_as_raw_are_noticed() {
    let disk = disk(64 * KIB);
    let flat = |lines: &str| descriptor("custom", lines).into_bytes();
    let images: &[_] = &[(TOP, "Plain", "base")];
    let bundle = Bundle { sectors: 8, storages: &[(0, 8, images)], top: None, shots: &[] }.xml().into_bytes();
    let luks = [&b"LUKS\xba\xbe\0\x01"[..], &[0; 70_000]].concat();
    let (gz, zip) = (gzip(&disk), zip_of("base", &disk));
    // (what, the image, the file that it needs, the notice)
    type Row<'a> = (&'a str, Vec<u8>, &'a [u8], Option<&'a str>);
    let rows: &[Row<'_>] = &[
        ("gzip below", overlay("base", Some("raw")), &gz, Some("gzip")),
        ("zip below", overlay("base", Some("raw")), &zip, Some("zip")),
        ("a qcow2 below", overlay("base", Some("raw")), &small(), Some("qcow2")),
        ("a fixed VHD below", overlay("base", Some("raw")), &fixed_vhd(&disk), Some("vpc")),
        ("a protocol in place of a format", overlay("base", Some("file")), &gz, Some("gzip")),
        ("a raw disk below", overlay("base", Some("raw")), &disk, None),
        ("a disk that its guest encrypted", overlay("base", Some("raw")), &luks, None),
        ("a qcow2 below, stated as such", overlay("base", Some("qcow2")), &small(), None),
        ("a data file", with_data_file("base"), &small(), Some("qcow2")),
        ("a raw data file", with_data_file("base"), &disk, None),
        ("an extent", flat("RW 8 FLAT \"base\" 0\n"), &small(), Some("qcow2")),
        ("a raw extent", flat("RW 8 FLAT \"base\" 0\n"), &disk, None),
        ("an extent in the middle of the disk", flat("RW 2 ZERO\nRW 8 FLAT \"base\" 0\n"), &small(), None),
        ("an extent in the middle of its file", flat("RW 8 FLAT \"base\" 1\n"), &small(), None),
        ("an extent used twice", flat("RW 8 FLAT \"base\" 0\nRW 8 FLAT \"base\" 0\n"), &small(), Some("qcow2")),
        ("the storage of a bundle", bundle, &small(), Some("qcow2")),
    ];
    for (what, image, needed, expected) in rows {
        let case = Case { companions: vec![("base".to_owned(), needed.to_vec())], ..Case::new(image.clone()) };
        let safety = case.info().unwrap_or_else(|error| panic!("{what}: {error}")).safety;
        let found: Vec<_> = safety.into_iter().filter(|notice| notice.code == "packed-as-raw").collect();
        let names: Vec<_> = named(&found).into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, Vec::from_iter(expected.map(str::to_owned)), "{what}");
        for notice in found {
            assert_eq!(notice.fields.get("file"), Some(&Field::Text("base".to_owned())), "{what}");
            assert!(notice.message.starts_with("'base': The file is "), "{what}: {}", notice.message);
        }
    }
}

/// The name that Google Compute Engine requires counts as a stated format. A notice says what the file really is.
#[test]
fn another_format_named_as_a_raw_disk_is_noticed() {
    let disk = disk(64 * KIB);
    // (content, notices)
    let rows = [
        (small(), vec![("packed-as-raw", "qcow2".to_owned())]),
        (gzip(&disk), vec![("packed-as-raw", "gzip".to_owned())]),
        (fixed_vhd(&disk), vec![("packed-as-raw", "vpc".to_owned())]),
        (disk, vec![]),
    ];
    for (file, notices) in rows {
        let expected = [&file[..], &vec![0; file.len().next_multiple_of(512) - file.len()]].concat();
        let archive = tar("a/disk.raw", &file);
        for packed in [archive.clone(), zip_of("disk.raw", &file), xz(&archive)] {
            let case = Case::new(packed);
            let mut found = case.info().unwrap().safety;
            let converted = case.convert(Answers::InOrder, Default::default(), 64 << 10);
            found.extend(converted.notices);
            assert_eq!(named(&found), notices);
            assert!(*converted.target.bytes.borrow() == expected);
        }
        let notice = Case::new(archive).info().unwrap().safety.into_iter().next();
        assert!(
            notice.is_none_or(|notice| notice.message.contains("as its name says; to read the disk in it, extract"))
        );
    }
}

/// A footer is known at the end of a stream.
#[test]
fn a_footer_in_a_stated_raw_disk_is_noticed() {
    let vhd = fixed_vhd(&disk(64 * KIB));
    assert_eq!(named(&raw(vhd.clone()).info().unwrap().safety), [("packed-as-raw", "vpc".to_owned())]);
    let stream = as_stream(raw(vhd.clone()));
    assert!(stream.info().unwrap().safety.is_empty());
    let converted = stream.convert(Answers::InOrder, Default::default(), 64 << 10);
    assert_eq!(converted.notices.iter().map(|notice| notice.code).collect::<Vec<_>>(), ["packed-as-raw"]);
    assert!(*converted.target.bytes.borrow() == vhd);
}

#[test]
fn plain_raw_disks_have_no_notice() {
    for file in [disk(64 * KIB), vec![0; 5000], hybrid()] {
        for case in [raw(file.clone()), as_stream(raw(file.clone())), unpacked(gzip(&file)), unpacked(tar("a", &file))]
        {
            assert!(case.info().unwrap().safety.is_empty());
            let converted = case.convert(Answers::InOrder, Default::default(), 64 << 10);
            assert!(converted.notices.is_empty());
            assert!(converted.target.bytes.borrow().starts_with(&file));
        }
    }
}

#[test]
fn what_cannot_be_unpacked() {
    let disk = disk(5000);
    let stated = |format: &str| Case { unpack: true, format: Some(format.to_owned()), ..Case::new(gzip(&disk)) };
    for (what, case) in [
        ("no format", Case { unpack: true, ..Case::new(gzip(&disk)) }),
        ("another format", stated("qcow2")),
        ("no container", unpacked(disk.clone())),
        ("an image", unpacked(small())),
        ("a stream in no container", as_stream(unpacked(disk.clone()))),
    ] {
        assert_eq!(case.bytes().unwrap_err().kind, ErrorKind::Usage, "{what}");
    }
    let several = archive(&[member("a.qcow2", b'0', &small()), member("b.qcow2", b'0', &small())]);
    assert_eq!(&*unpacked(several.clone()).bytes().unwrap_err().code, "several-images");
    let second = Case { disk: Some(DiskChoice::Number(2)), ..unpacked(several) };
    assert!(second.bytes().unwrap().starts_with(&small()));
}

/// An ISO 9660 image with a partition table is a disk, wherever it is.
#[test]
fn hybrid_isos_are_disks() {
    let gpt = with_partition(iso(), 0, 0xee, u32::MAX);
    let last = with_partition(iso(), 3, 0x83, 1);
    for hybrid in [hybrid(), gpt, last] {
        let two = archive(&[member("a.iso", b'0', &hybrid), member("b.txt", b'0', b"text")]);
        for (what, case) in [
            ("a file", Case::new(hybrid.clone())),
            ("a stream", as_stream(Case::new(hybrid.clone()))),
            ("gzip", Case::new(gzip(&hybrid))),
            ("xz as a stream", as_stream(Case::new(xz(&hybrid)))),
            ("gzip in gzip", Case::new(gzip(&gzip(&hybrid)))),
            ("tar", Case::new(tar("a.iso", &hybrid))),
            ("tar.gz", Case::new(gzip(&tar("a.iso", &hybrid)))),
            ("tar with another file", Case::new(two)),
            ("zip", Case::new(zip_of("a.iso", &hybrid))),
        ] {
            assert_eq!(named(&case.info().unwrap().safety), [("hybrid-iso", String::new())], "{what}");
            assert!(case.bytes().unwrap() == hybrid, "{what}");
        }
        // The footer of a VHD is not a part of the disk.
        let vhd = fixed_vhd(&hybrid);
        assert!(Case::new(vhd.clone()).bytes().unwrap() == hybrid);
        assert!(Case::new(gzip(&vhd)).bytes().unwrap() == hybrid);
        // An image is the disk of an archive, and a CD image beside it is not.
        let beside = archive(&[member("a.qcow2", b'0', &small()), member("b.iso", b'0', &hybrid)]);
        assert!(Case::new(beside).bytes().unwrap() == small_disk());
    }
}

#[test]
fn other_isos_are_disks_if_that_is_stated() {
    let mut signed = iso();
    signed[510..512].copy_from_slice(&[0x55, 0xaa]);
    let mut odd = hybrid();
    odd[446] = 7;
    for iso in [iso(), signed, with_partition(iso(), 1, 0, 9), with_partition(iso(), 1, 0x83, 0), odd] {
        for case in [Case::new(iso.clone()), Case::new(gzip(&iso)), Case::new(tar("a.iso", &iso))] {
            let error = case.bytes().unwrap_err();
            assert_eq!((error.kind, &*error.code), (ErrorKind::Unsupported, "format-not-read"));
            assert!(error.message().contains("-f raw"), "{error}");
        }
        for case in [raw(iso.clone()), unpacked(gzip(&iso)), unpacked(tar("a.iso", &iso)), unpacked(zip_of("a", &iso))]
        {
            assert_eq!(named(&case.info().unwrap().safety), [("packed-as-raw", "iso".to_owned())]);
            assert!(case.bytes().unwrap() == iso);
        }
    }
}
