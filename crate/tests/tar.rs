//! Images in tar archives, made by GNU tar and Python in every format, and invalid archives.

use crate::common::*;
use decant::disk::extent::ExtentKind;
use decant::io::source::FileId;
use decant::io::target::Abilities;
use decant::offsets::HostOffset;
use decant::open::chain::Companion;
use decant::{ErrorKind, Image, Input, OpenOptions};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

/// The archive by `tar` of `files` in the folder `dir`.
fn tar(dir: &Path, args: &[&str], files: &[&str]) -> Vec<u8> {
    let path = dir.join("archive.tar");
    let made = Command::new("tar").arg("-cf").arg(&path).args(args).arg("-C").arg(dir).args(files).output().unwrap();
    assert!(made.status.success(), "{args:?}: {}", String::from_utf8_lossy(&made.stderr));
    std::fs::read(path).unwrap()
}

/// A header of ustar for a file of `size` bytes, with `kind`.
fn header(name: &str, kind: u8, size: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 512];
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    bytes[124..124 + size.len()].copy_from_slice(size);
    bytes[156] = kind;
    bytes[257..265].copy_from_slice(b"ustar\x0000");
    summed(bytes)
}

pub fn summed(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes[148..156].fill(b' ');
    let sum: u32 = bytes.iter().map(|&byte| u32::from(byte)).sum();
    bytes[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    bytes
}

/// A member, padded to whole blocks.
pub fn member(name: &str, kind: u8, data: &[u8]) -> Vec<u8> {
    let mut bytes = header(name, kind, format!("{:011o}\0", data.len()).as_bytes());
    bytes.extend_from_slice(data);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

/// A link of `kind` to `target`.
pub fn link(name: &str, kind: u8, target: &str) -> Vec<u8> {
    let mut bytes = header(name, kind, b"00000000000\0");
    bytes[157..157 + target.len()].copy_from_slice(target.as_bytes());
    summed(bytes)
}

pub fn pax(records: &[(&str, &str)]) -> Vec<u8> {
    let record = |&(key, value): &(&str, &str)| {
        let rest = format!(" {key}={value}\n");
        let len = (1..).find(|len: &usize| len.to_string().len() + rest.len() == *len).unwrap();
        format!("{len}{rest}")
    };
    member("pax", b'x', records.iter().map(record).collect::<String>().as_bytes())
}

pub fn archive(members: &[Vec<u8>]) -> Vec<u8> {
    [&members.concat()[..], &[0; 1024]].concat()
}

/// `data`, compressed by gzip.
fn gzip(data: &[u8]) -> Vec<u8> {
    let mut file = tempfile::tempfile().unwrap();
    std::io::Write::write_all(&mut file, data).unwrap();
    std::io::Seek::rewind(&mut file).unwrap();
    let made = Command::new("gzip").arg("-c1").stdin(file).output().unwrap();
    assert!(made.status.success());
    made.stdout
}

/// A disk with a boot sector's signature.
pub fn content() -> Vec<u8> {
    let mut content: Vec<u8> = (0..100_000u32).map(|at| (at / 7 % 251) as u8).collect();
    content[510..512].copy_from_slice(&[0x55, 0xaa]);
    content
}

fn bytes(file: Vec<u8>) -> Result<Vec<u8>, decant::Error> {
    Case::new(file).bytes()
}

/// The result of opening, and the name of the member.
fn opened(file: Vec<u8>) -> Result<(Image, String), decant::Error> {
    let image = open_bytes(file, OpenOptions::default())?;
    let name = image.info().containers[0].member.clone().unwrap();
    Ok((image, name))
}

#[test]
fn archives_of_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let path = |name: &str| dir.join(name);
    let (long, deep) = (format!("{}.raw", "n".repeat(150)), format!("{}/{}", "d".repeat(90), "n".repeat(90)));
    std::fs::create_dir(path(deep.split('/').next().unwrap())).unwrap();
    for name in ["disk.raw", &long, &deep] {
        std::fs::write(path(name), content()).unwrap();
    }
    qemu("qemu-img", &["convert", "-f", "raw", "-O", "qcow2", "-c", text(&path("disk.raw")), text(&path("a.qcow2"))]);
    let disk = [&content()[..], &[0; 352]].concat();
    for format in ["gnu", "oldgnu", "ustar", "posix"] {
        let option = format!("--format={format}");
        for name in ["disk.raw", "a.qcow2", &long, &deep] {
            if name == long && format == "ustar" {
                continue;
            }
            let file = tar(dir, &[&option], &[name]);
            assert!(bytes(file.clone()).unwrap() == disk, "{format} {name}");
            let (image, member) = opened(file).unwrap();
            assert_eq!(member, name, "{format}");
            assert_eq!(image.info().file_size, Some(std::fs::metadata(path(name)).unwrap().len()), "{format} {name}");
        }
    }
    // In gzip, in tar.
    assert!(Command::new("gzip").arg("-k").arg(path("disk.raw")).status().unwrap().success());
    assert!(bytes(tar(dir, &[], &["disk.raw.gz"])).unwrap() == disk);
    // In tar, in tar.
    std::fs::write(path("inner.tar"), tar(dir, &[], &["a.qcow2"])).unwrap();
    assert!(bytes(tar(dir, &[], &["inner.tar"])).unwrap() == disk);
}

/// Headers without the magic: of Unix version 7, cpio, and a label.
#[test]
fn archives_without_the_magic() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let disk = [&content()[..], &[0; 352]].concat();
    std::fs::create_dir(dir.join("x")).unwrap();
    for name in ["a", "x/a", "x/\u{fc}"] {
        std::fs::write(dir.join(name), content()).unwrap();
    }
    let mut signed = member("x/\u{fc}", 0, &content());
    signed[257..265].fill(0);
    let sum = |at: usize, byte: u8| if (148..156).contains(&at) { 32 } else { i64::from(byte as i8) };
    let sum: i64 = signed[..512].iter().enumerate().map(|(at, &byte)| sum(at, byte)).sum();
    signed[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let rows = [
        ("version 7", tar(dir, &["--format=v7"], &["a"]), "a"),
        ("version 7 with a folder", tar(dir, &["--format=v7"], &["x/a", "x"]), "x/a"),
        ("a label", tar(dir, &["--label=backup"], &["a"]), "a"),
        ("a label in the old format", tar(dir, &["--format=oldgnu", "--label=backup"], &["a"]), "a"),
        ("a sum of signed bytes", archive(&[signed]), "x/\u{fc}"),
    ];
    for (what, file, name) in rows {
        assert!(!file[257..].starts_with(b"ustar"), "{what}");
        if what == "version 7 with a folder" {
            // The folder has the file once more.
            assert_eq!(bytes(file).unwrap_err().code, "several-images", "{what}");
            continue;
        }
        let containers = |file: Vec<u8>| info_of(file).containers.iter().map(|one| one.name).collect::<Vec<_>>();
        for (around, packed) in [(&["tar"][..], file.clone()), (&["gzip", "tar"], gzip(&file))] {
            assert!(bytes(packed.clone()).as_ref() == Ok(&disk), "{what} in {around:?}");
            assert_eq!(containers(packed.clone()), around, "{what}");
            assert_eq!(info_of(packed).containers.last().unwrap().member.as_deref(), Some(name), "{what}");
        }
        let stream = Case { as_stream: true, ..Case::new(file) };
        assert!(stream.bytes().as_ref() == Ok(&disk), "{what} as a stream");
    }
}

/// A disk that is not an archive, although its first sector has some fields of an old header.
#[test]
fn disks_that_resemble_an_old_header() {
    let with = |patches: &[(usize, &[u8])]| {
        let mut disk = content();
        disk[..512].fill(0);
        disk[510..512].copy_from_slice(&[0x55, 0xaa]);
        for (at, bytes) in patches {
            disk[*at..*at + bytes.len()].copy_from_slice(bytes);
        }
        disk
    };
    let rows: &[(&str, Vec<u8>)] = &[
        ("zeros", with(&[])),
        ("a sum without digits", with(&[(0, b"a"), (148, b"        ")])),
        ("another sum", with(&[(0, b"a"), (148, b"000777\0 ")])),
        ("a sum without a name", summed(with(&[])[..512].to_vec())),
        ("a sum with another type", summed(with(&[(0, b"a"), (156, &[0x90])])[..512].to_vec())),
        ("a sum with a size of letters", summed(with(&[(0, b"a"), (124, b"letters")])[..512].to_vec())),
    ];
    for (what, disk) in rows {
        let padded = [&disk[..], &vec![0; disk.len().next_multiple_of(512) - disk.len()]].concat();
        assert!(bytes(gzip(disk)) == Ok(padded), "{what}");
        assert_eq!(bytes(disk.clone()).unwrap_err().kind, ErrorKind::NotRecognised, "{what}");
    }
}

#[test]
fn python_writes_archives_too() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    std::fs::write(dir.join("disk.raw"), content()).unwrap();
    for format in ["USTAR_FORMAT", "GNU_FORMAT", "PAX_FORMAT"] {
        let script = format!(
            "import tarfile; a = tarfile.open('a.tar', 'w', format=tarfile.{format}); a.add('disk.raw', 'über/disk.raw'); a.close()"
        );
        let made = Command::new("python3").args(["-c", &script]).current_dir(dir).status().unwrap();
        assert!(made.success());
        let (image, name) = opened(std::fs::read(dir.join("a.tar")).unwrap()).unwrap();
        assert_eq!((image.virtual_size(), &name[..]), (100_352, "über/disk.raw"), "{format}");
    }
}

#[test]
fn which_member_is_the_image() {
    let qcow2 = small::small();
    let disk = small::small_disk();
    let raw = content();
    let mut iso = raw.clone();
    iso[32769..32774].copy_from_slice(b"CD001");
    let file = |name: &str, data: &[u8]| member(name, b'0', data);
    // (what, members, the name of the chosen one, or parts of the error)
    type Expected = Result<&'static str, &'static [&'static str]>;
    let cases: &[(&str, Vec<Vec<u8>>, Expected)] = &[
        ("one", vec![file("a", &raw)], Ok("a")),
        ("an OVA", vec![file("a.ovf", b"<xml/>"), file("a.qcow2", &qcow2), file("a.mf", b"SHA1")], Ok("a.qcow2")),
        ("an old type", vec![member("a", 0, &raw)], Ok("a")),
        ("a contiguous file", vec![member("a", b'7', &raw)], Ok("a")),
        ("a folder", vec![member("./", b'5', b""), file("./a", &raw)], Ok("./a")),
        ("an old folder", vec![member("x/", 0, b""), file("x/a", &raw)], Ok("x/a")),
        ("links", vec![file("a", &raw), member("b", b'1', b""), member("c", b'2', b"")], Ok("a")),
        ("disk.raw", vec![file("README", b"text"), file("x/disk.raw", &raw)], Ok("x/disk.raw")),
        ("a CD image beside the disk", vec![file("a.iso", &iso), file("b", &qcow2), file("c", &iso)], Ok("b")),
        ("a CD image beside disk.raw", vec![file("disk.raw", &raw), file("a.iso", &iso)], Ok("disk.raw")),
        ("a CD image alone", vec![file("a", b"text"), file("a.iso", &iso)], Err(&["ISO 9660"])),
        ("two CD images", vec![file("a.iso", &iso), file("b.iso", &iso)], Err(&["2 disk images", "'a.iso', 'b.iso'"])),
        (
            "a compressed disk",
            vec![file("a", b"text"), file("b", &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3])],
            Err(&["truncated"]),
        ),
        ("nothing", vec![member("./", b'5', b"")], Err(&["holds no file"])),
        ("a raw disk beside a text", vec![file("a", b"text"), file("b", &raw)], Ok("b")),
        (
            "no image",
            vec![file("a", b"text"), file("b", b"text")],
            Err(&["No file in the tar archive is in a disk image format", "'a', 'b'"]),
        ),
        ("two images", vec![file("a", &qcow2), file("b\u{202e}", &qcow2)], Err(&["2 disk images", "'a', 'b\\u202e'"])),
        ("many", vec![file("disk.raw", &raw); 7], Err(&["7 disk images", "and others"])),
        ("an empty one", vec![file("disk.raw", b"")], Err(&["The file is empty"])),
        ("sparse, GNU", vec![member("disk.raw", b'S', &raw)], Err(&["sparse", "'disk.raw'"])),
        ("a name of pax", vec![pax(&[("path", "b"), ("mtime", "1.5")]), file("a", &raw)], Ok("b")),
        (
            "a size of pax",
            vec![pax(&[("size", "100000")]), header("a", b'0', b"00000000000\0"), raw.clone(), vec![0; 352]],
            Ok("a"),
        ),
        ("a long name", vec![member("x", b'L', b"long\0"), member("x", b'K', b"link\0"), file("a", &raw)], Ok("long")),
        ("for all", vec![member("g", b'g', b"12 comment=\n"), file("a", &raw)], Ok("a")),
        ("a size for all", vec![member("g", b'g', b"9 size=1\n"), file("a", &raw)], Err(&["gives all members"])),
    ];
    for (what, members, expected) in cases {
        match (opened(archive(members)), expected) {
            (Ok((image, name)), Ok(wanted)) => {
                assert_eq!(&name, wanted, "{what}");
                let expected =
                    if image.info().format == "qcow2" { disk.clone() } else { [&raw[..], &[0; 352]].concat() };
                assert!(bytes(archive(members)).unwrap() == expected, "{what}");
            }
            (Err(error), Err(parts)) => {
                assert!(parts.iter().all(|part| error.message().contains(part)), "{what}: {error}");
            }
            (found, _) => panic!("{what}: {:?}", found.map(|(_, name)| name)),
        }
    }
}

#[test]
fn wrong_archives() {
    let raw = content();
    let with_size = |size: &[u8]| [header("disk.raw", b'0', size), raw.clone()].concat();
    let mut summed_otherwise = [member("a", b'0', &raw), member("b", b'0', &raw)].concat();
    summed_otherwise[100_864 + 148] ^= 1;
    let mut signed = header("\u{fc}", b'0', b"00000303240\0");
    let sum: i64 = signed
        .iter()
        .enumerate()
        .map(|(at, &byte)| if (148..156).contains(&at) { 32 } else { i64::from(byte as i8) })
        .sum();
    signed[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let folders = |count| member("a/", b'5', b"").repeat(count);
    let long = vec![b'x'; 1_100_000];
    let base_256 = |bytes: [u8; 12]| with_size(&bytes);
    // (what, file, kind and part of the message)
    type Row<'a> = (&'a str, Vec<u8>, Option<(ErrorKind, &'a str)>);
    let cases: &[Row] = &[
        ("the end is missing", with_size(b"00000303240\0"), None),
        ("a signed sum", archive(&[signed, raw.clone(), vec![0; 352]]), None),
        ("spaces before a size", with_size(b"     303240 "), None),
        ("no end of a size", with_size(b"000000303240"), None),
        ("base 256", base_256([0x80, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0x86, 0xa0]), None),
        ("another sum", summed_otherwise, Some((ErrorKind::Corrupt, "checksum"))),
        ("a size of letters", with_size(b"0000030324x\0"), Some((ErrorKind::Corrupt, "size"))),
        ("a negative size", base_256([0xff; 12]), Some((ErrorKind::Corrupt, "size"))),
        (
            "a huge size",
            base_256([0x80, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
            Some((ErrorKind::Corrupt, "truncated")),
        ),
        (
            "2^64 - 515, which overflows with what fills its block",
            base_256([0x80, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfd, 0xfd]),
            Some((ErrorKind::Corrupt, "size")),
        ),
        (
            "2^64 - 1",
            base_256([0x80, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
            Some((ErrorKind::Corrupt, "size")),
        ),
        ("more than 64 bits", base_256([0x80, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]), Some((ErrorKind::Corrupt, "size"))),
        ("a size beyond the end", with_size(b"00000303241\0"), Some((ErrorKind::Corrupt, "truncated"))),
        ("a long header", [member("x", b'x', &long), raw.clone()].concat(), Some((ErrorKind::Limit, "1100000 bytes"))),
        (
            "a record without a length",
            [member("x", b'x', b"size=1\n"), raw.clone()].concat(),
            Some((ErrorKind::Corrupt, "pax")),
        ),
        (
            "a record that is cut",
            [member("x", b'x', b"99 size=1\n"), raw.clone()].concat(),
            Some((ErrorKind::Corrupt, "pax")),
        ),
        (
            "a record without a value",
            [member("x", b'x', b"7 size\n"), raw.clone()].concat(),
            Some((ErrorKind::Corrupt, "pax")),
        ),
        (
            "a record of one byte",
            [member("x", b'x', b"1 a=b\n"), raw.clone()].concat(),
            Some((ErrorKind::Corrupt, "pax")),
        ),
        (
            "a record of 2^64 bytes",
            [member("x", b'x', b"18446744073709551616 a=b\n"), raw.clone()].concat(),
            Some((ErrorKind::Corrupt, "pax")),
        ),
        (
            "a size of pax that is none",
            [pax(&[("size", "-1")]), member("a", b'0', &raw)].concat(),
            Some((ErrorKind::Corrupt, "pax")),
        ),
        ("4,096 headers", archive(&[with_size(b"00000303240\0"), vec![0; 352], folders(4095)]), None),
        ("4,096 headers without an end", [with_size(b"00000303240\0"), vec![0; 352], folders(4095)].concat(), None),
        (
            "4,097 headers",
            archive(&[with_size(b"00000303240\0"), vec![0; 352], folders(4096)]),
            Some((ErrorKind::Limit, "4096 headers")),
        ),
        (
            "nested too deeply",
            (0..6).fold(member("a", b'0', &raw), |inner, _| member("a", b'0', &inner)),
            Some((ErrorKind::Limit, "4 containers")),
        ),
    ];
    for (what, file, expected) in cases {
        // A stream has the same limit on headers.
        if what.contains("headers") {
            let found = bytes(gzip(file));
            assert_eq!(found.as_ref().err().map(|error| error.kind), expected.map(|(kind, _)| kind), "{what} in gzip");
        }
        match (bytes(file.clone()), expected) {
            (Ok(found), None) => assert!(found[..raw.len()] == raw, "{what}"),
            (Err(error), Some((kind, part))) => {
                assert_eq!(error.kind, *kind, "{what}: {error}");
                assert!(error.message().contains(part), "{what}: {error}");
            }
            (found, _) => panic!("{what}: {:?}", found.map(|bytes| bytes.len())),
        }
    }
}

/// An impossible size is refused in a salvage too, or cut to the file: no panic, and no header is read twice.
#[test]
fn extreme_sizes_are_salvaged() {
    let raw = content();
    let size_of = |size: u64| [&[0x80, 0, 0, 0][..], &size.to_be_bytes()].concat();
    let near = |size: u64| [size - 1, size, size + 1];
    let sizes = [513, 515, 1023, 1024, 1025].map(|less| u64::MAX - less + 1);
    let sizes = sizes.into_iter().chain([(1 << 53) - 1, 1 << 63].into_iter().flat_map(near)).chain([u64::MAX]);
    let cases = sizes.flat_map(|size| {
        let folder = [header("x/", b'9', &size_of(size)), raw.clone()].concat();
        let described = [pax(&[("size", &size.to_string())]), header("a", b'0', b"0\0"), raw.clone()].concat();
        let file = |name: &str| [header(name, b'0', &size_of(size)), raw.clone()].concat();
        [file("disk.raw"), file("a"), [member("disk.raw", b'0', &raw), folder].concat(), described]
            .map(|file| (size, file))
    });
    for (number, (size, file)) in cases.enumerate() {
        let source = HeldSource::new(file);
        let reading = source.clone();
        let work = async move {
            let options = OpenOptions { salvage: true, ..OpenOptions::default() };
            match open(Input::File(reading), &options).await? {
                Opened::Image(image) => decant::Result::Ok(image.virtual_size()),
                Opened::Streamed(_) | Opened::Machine(_) => panic!("it is read in order"),
            }
        };
        match drive(&source, Answers::InOrder, work).unwrap() {
            // A member after the disk may have any valid size.
            Ok(found) => assert!(found == 100_352 || found == size.next_multiple_of(512), "{number}: {size}: {found}"),
            Err(error) => {
                assert!(matches!(error.kind, ErrorKind::Corrupt | ErrorKind::Limit), "{number}: {size}: {error}");
            }
        }
        assert!(source.reads.borrow().len() < 10, "{number}: {size}: {:?}", source.reads);
    }
}

/// An archive cut after a member, or in its end mark, is read if its content proves to be complete; a salvage always
/// reads it.
#[test]
fn ends_of_archives() {
    let (raw, qcow2) = (content(), small::small());
    let padded = [&raw[..], &[0; 352]].concat();
    // (what, name and content of the member, whether it is read without an end mark)
    let cases: &[(&str, &str, &[u8], bool)] = &[
        ("a name that says it", "disk.raw", &raw, true),
        ("a format that says it", "a", &qcow2, true),
        ("checksums that say it", "a.gz", &gzip(&raw), true),
        ("nothing that says it", "a", &raw, false),
    ];
    for (what, name, data, is_read) in cases {
        let disk = if *data == qcow2 { small::small_disk() } else { padded.clone() };
        let whole = archive(&[member(name, b'0', data)]);
        let start = whole.len() - 1024;
        for end in [0, 1, 511, 512, 513, 1023, 1024] {
            let is_marked = end >= 512;
            let file = whole[..start + end].to_vec();
            let mut ways = vec![("file", file.clone())];
            if *data != qcow2 {
                ways.push(("gzip", gzip(&file)));
            }
            for (way, file) in ways {
                match bytes(file) {
                    Ok(found) => assert!((*is_read || is_marked) && found == disk, "{what}, {end}, {way}"),
                    Err(error) => {
                        let is_clear = error.kind == ErrorKind::Corrupt && error.message().contains("truncated");
                        assert!(!is_read && !is_marked && is_clear, "{what}, {end}, {way}: {error}");
                    }
                }
            }
            if !name.ends_with(".gz") {
                let salvaged = Case { salvage: true, ..Case::new(file) }.bytes();
                assert!(salvaged == Ok(disk.clone()), "{what}, {end}: salvage");
            }
        }
        // Other bytes than zeros are a truncated header.
        let cut = [&whole[..start], &[0, 1]].concat();
        for salvage in [false, true] {
            let error = Case { salvage, ..Case::new(cut.clone()) }.bytes().unwrap_err();
            assert!(error.kind == ErrorKind::Corrupt && error.message().contains("truncated"), "{what}: {error}");
        }
    }
}

/// macOS packs the attributes of each file as another file before it, recognised only by name and signature together.
#[test]
fn apple_double_files_are_passed_over() {
    let raw = content();
    let padded = [&raw[..], &[0; 352]].concat();
    let attributes = [&[0, 5, 0x16, 7, 0, 2, 0, 0][..], &[1; 155]].concat();
    let (double, disk) = (member("x/._a", b'0', &attributes), member("x/a", b'0', &raw));
    let other = member("._b", b'0', &attributes);
    let only_named = member("x/._a", b'0', &raw);
    // (what, members, whether the disk is read)
    let cases: &[(&str, Vec<Vec<u8>>, bool)] = &[
        ("before", vec![double.clone(), disk.clone()], true),
        ("after", vec![disk.clone(), double.clone()], true),
        ("many", vec![other.clone(), double.clone(), disk.clone(), other.clone()], true),
        ("alone", vec![double.clone()], false),
        ("a disk with such a name", vec![only_named.clone()], true),
        ("a disk with such a name beside another", vec![only_named, disk.clone()], false),
        ("attributes with another name", vec![member("a.attributes", b'0', &attributes), disk.clone()], true),
    ];
    for (what, members, is_read) in cases {
        let file = archive(members);
        for file in [file.clone(), gzip(&file)] {
            match bytes(file) {
                Ok(found) => assert!(*is_read && found == padded, "{what}: other bytes"),
                Err(error) => {
                    let is_expected = ["no-image", "several-images", "needs-spool"].contains(&&*error.code);
                    assert!(!is_read && is_expected, "{what}: {error}");
                }
            }
        }
    }
}

/// Machine descriptions, lists of digests and signatures are not disks, even if there is nothing else.
#[test]
fn companions_of_a_disk_are_not_disks() {
    let xml = b"<?xml version=\"1.0\"?><Envelope/>".repeat(100);
    let file = |name: &str| member(name, b'0', &xml);
    // (members, whether the archive had more before it was cut)
    let cases = [vec![file("a.ovf")], vec![file("x/A.OVF")], vec![file("a.mf")], vec![file("a.cert")]];
    for members in cases.iter().chain([&vec![file("a.ovf"), file("a.mf")]]) {
        let (whole, cut) = (archive(members), members.concat());
        let error = bytes(whole.clone()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Unsupported, "{error}");
        assert!(error.message().contains("holds no disk"), "{error}");
        let error = bytes(cut.clone()).unwrap_err();
        assert!(error.kind == ErrorKind::Corrupt && error.message().contains("truncated"), "{error}");
        for file in [whole, cut] {
            let error = bytes(gzip(&file)).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Unsupported, "in order: {error}");
        }
    }
    // The machine's memory is not mistaken for its disk, which would have been next.
    let error = bytes(archive(&[file("a.ovf"), file("a.nvram")])).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unsupported, "{error}");
}

/// If the disk's name is `disk.raw`, the guest's data does not affect its format.
#[test]
fn a_raw_disk_by_its_name() {
    let (qcow2, raw) = (small::small(), content());
    // (name, content, whether the format was guessed)
    let cases: &[(&str, Vec<u8>, bool)] = &[
        ("disk.raw", qcow2.clone(), false),
        ("x/disk.raw", qcow2.clone(), false),
        ("./disk.raw", gzip(&raw), false),
        ("disk.raw", archive(&[member("a", b'0', &raw)]), false),
        ("disk.raw", [b"conectix".to_vec(), vec![0; 504]].concat(), false),
        ("disk.raw", [vec![0; 1024], b"conectix".to_vec(), vec![0; 504]].concat(), false),
        ("disk.raw", raw.clone(), false),
        ("my-disk.raw", raw.clone(), true),
        ("disk.raw/disk", raw.clone(), true),
    ];
    for (name, disk, is_guessed) in cases {
        let plain = archive(&[member(name, b'0', disk)]);
        for (container, file) in [("tar", plain.clone()), ("tar.gz", gzip(&plain))] {
            let padded = [&disk[..], &vec![0; disk.len().next_multiple_of(512) - disk.len()]].concat();
            assert!(bytes(file.clone()).unwrap() == padded, "{name} in {container}");
            let info = info_of(file);
            assert_eq!(info.format, "raw", "{name} in {container}");
            assert_eq!(info.containers.last().unwrap().member.as_deref(), Some(*name), "{container}");
            let has_notice = info.safety.iter().any(|notice| notice.code == "guessed-raw");
            assert_eq!(has_notice, *is_guessed, "{name} in {container}");
        }
    }
}

/// A disk image may have the signature of an archive outside its own fields.
#[test]
fn a_disk_with_the_signature_of_an_archive() {
    let mut qcow2 = small::small();
    qcow2[257..262].copy_from_slice(b"ustar");
    let whole = qcow2.clone();
    let mut header = summed(whole[..512].to_vec());
    header.extend_from_slice(&whole[512..]);
    assert!(bytes(qcow2).unwrap() == small::small_disk(), "qcow2 with the signature");
    assert!(bytes(header).unwrap() == small::small_disk(), "qcow2 with the signature and the checksum");
    let mut disk = content();
    disk[257..262].copy_from_slice(b"ustar");
    for len in [262, 511, 100_000] {
        assert_eq!(bytes(disk[..len].to_vec()).unwrap_err().kind, ErrorKind::NotRecognised, "{len}");
    }
}

/// Sizes beyond eleven octal digits, as written by GNU tar and pax. The disks are holes.
#[test]
fn large_members() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let size = 9u64 << 30;
    File::create(dir.join("disk.raw")).unwrap().set_len(size).unwrap();
    for format in ["gnu", "posix"] {
        let mut child = Command::new("tar")
            .args([&format!("--format={format}"), "-cf", "-", "-C", text(dir), "disk.raw"])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut head = vec![0; if format == "gnu" { 512 } else { 1536 }];
        std::io::Read::read_exact(&mut child.stdout.take().unwrap(), &mut head).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let path = dir.join("a.tar");
        let file = File::create(&path).unwrap();
        file.write_all_at(&head, 0).unwrap();
        file.set_len(head.len() as u64 + size + 1024).unwrap();
        let source = std::rc::Rc::new(FileSource::open(&path).unwrap());
        let opened = futures_executor::block_on(open(Input::File(source), &OpenOptions::default())).ok().unwrap();
        let Opened::Image(image) = opened else { panic!("it is read in order") };
        assert_eq!(image.virtual_size(), size, "{format}");
    }
}

#[test]
fn jobs_read_a_member_where_it_lies() {
    let converted = Case::new(archive(&[member("x", b'5', b""), member("a", b'0', &content())])).convert(
        Answers::InOrder,
        Abilities::default(),
        1 << 20,
    );
    converted.result.unwrap();
    let reads = converted.source.reads.borrow();
    assert_eq!(reads.last(), Some(&(1024, 100_000)), "{reads:?}");
}

/// A cluster of zeros with a position names its file: offsets in `map` are relative to its start.
#[test]
fn zeros_have_a_place_in_a_file() {
    let zero = |entry: u64, mut file: Vec<u8>| {
        file[small::L2 + 8..][..8].copy_from_slice(&(entry | 1).to_be_bytes());
        file
    };
    let place = 1 << 63 | small::CLUSTER as u64;
    // (image, the file with the position)
    let cases = [(zero(place, small::small()), 0), (zero(place, small::with_data_file("data.raw")), 1)];
    for (image, expected) in cases {
        let source = HeldSource::new(archive(&[member("a", b'0', &image)]));
        let (reading, data) = (source.clone(), source.companion(small::small_disk()));
        let work = async move {
            let companions =
                vec![Companion { source: data, name: "data.raw".to_owned(), stands_for: None, is_image: false }];
            let opened = open(Input::File(reading), &OpenOptions { companions, ..OpenOptions::default() }).await;
            let Ok(Opened::Image(image)) = opened else { panic!("it is not read") };
            all_extents(&image).await
        };
        let extents = drive(&source, Answers::InOrder, work).unwrap();
        let place = extents.iter().find_map(|extent| match extent.kind {
            ExtentKind::Zero { host } => host,
            _ => None,
        });
        assert_eq!(place, Some((FileId(expected), HostOffset(small::CLUSTER as u64))));
    }
}
