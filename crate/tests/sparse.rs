//! Sparse members of tar archives, by GNU tar and by hand: in files and in streams, with holes that stay holes.

use crate::common::vhd::{FIXED, Vhd};
use crate::common::*;
use crate::tar::{archive, member, pax};
use decant::disk::extent::ExtentKind;
use decant::io::target::{Abilities, Holes};
use decant::{ErrorKind, OpenOptions};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

const MIB: u64 = 1 << 20;

/// The options for GNU tar that make each kind of sparse member.
const KINDS: [&[&str]; 4] = [
    &["--format=oldgnu"],
    &["--format=posix", "--sparse-version=0.0"],
    &["--format=posix", "--sparse-version=0.1"],
    &["--format=posix", "--sparse-version=1.0"],
];

const BOOT: [u8; 2] = [0x55, 0xaa];

/// GNU tar's archive of the file `name` in `dir`.
fn tar_of(dir: &Path, name: &str, kind: &[&str]) -> Vec<u8> {
    let made = Command::new("tar").args(["-Scf", "-"]).args(kind).arg("-C").arg(dir).arg(name).output().unwrap();
    assert!(made.status.success(), "{kind:?}: {}", String::from_utf8_lossy(&made.stderr));
    made.stdout
}

/// A file of `size` bytes with `len` bytes of data at each of `places`.
fn sparse_file(path: &Path, size: u64, len: usize, places: impl Iterator<Item = u64>) -> Vec<u8> {
    let (file, mut content) = (File::create(path).unwrap(), vec![0; size as usize]);
    file.set_len(size).unwrap();
    for (number, place) in places.enumerate() {
        let data: Vec<u8> = (0..len).map(|at| (at * 7 + number) as u8 | 1).collect();
        file.write_all_at(&data, place).unwrap();
        content[place as usize..][..len].copy_from_slice(&data);
    }
    content
}

fn gzip(file: &[u8]) -> Vec<u8> {
    filter("gzip", &["-c1"], file)
}

fn padded(mut disk: Vec<u8>) -> Vec<u8> {
    disk.resize(disk.len().next_multiple_of(512), 0);
    disk
}

#[test]
fn gnu_tar_makes_them() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    // (name, size, bytes at each place, places)
    let files: [(&str, u64, usize, Vec<u64>); 5] = [
        ("disk.raw", 4 * MIB, 5000, vec![0, MIB, 3 * MIB]),
        ("ends-with-data", 3 * MIB + 300, 300, vec![MIB, 3 * MIB]),
        ("hole", 2 * MIB, 0, vec![]),
        // More entries than the header and one block after it hold.
        ("many", 4 * MIB, 4096, (0..128).map(|at| at * 32_768).collect()),
        ("odd", MIB + 77, 1, vec![0, 512 * 1024]),
    ];
    for (name, size, len, places) in files {
        let mut disk = padded(sparse_file(&dir.join(name), size, len, places.iter().copied()));
        if size % 512 != 0 && places.first() == Some(&0) {
            // The boot sector of a raw disk of an odd size.
            File::options().write(true).open(dir.join(name)).unwrap().write_all_at(&BOOT, 510).unwrap();
            disk[510..512].copy_from_slice(&BOOT);
        }
        for kind in KINDS {
            let what = format!("{name}, {kind:?}");
            let packed = tar_of(dir, name, kind);
            assert!((packed.len() as u64) < size, "{what}: it is not sparse");
            for file in [packed.clone(), gzip(&packed)] {
                let is_plain = file == packed;
                for holes in [Holes::Skip, Holes::Report, Holes::WriteZeros] {
                    let abilities = Abilities { holes, ..Abilities::default() };
                    let converted = Case::new(file.clone()).convert(Answers::InOrder, abilities, 64 << 10);
                    converted.result.unwrap_or_else(|error| panic!("{what}: {error}"));
                    assert!(converted.target.bytes.take() == disk, "{what}: other bytes");
                    let data: u64 = places.iter().map(|_| (len as u64).next_multiple_of(4096) + 4096).sum();
                    let written = converted.target.data_bytes.get();
                    // Targets without holes get chunks with zeros.
                    let is_dense = holes == Holes::WriteZeros && !is_plain;
                    assert!(is_dense || written <= data + 4096, "{what}: {written} bytes are no holes");
                    let read = converted.source.reads.borrow().iter().map(|&(_, len)| len).sum::<u64>();
                    assert!(!is_plain || read < packed.len() as u64 + 128 * 1024, "{what}: {read} bytes are read");
                }
                let streamed = Case { as_stream: true, ..Case::new(file.clone()) };
                assert!(streamed.bytes().as_ref() == Ok(&disk), "{what}: as a stream");
            }
            let salvaged = Case { salvage: true, ..Case::new(packed) };
            assert!(salvaged.bytes().as_ref() == Ok(&disk), "{what}: salvage");
        }
    }
}

/// The footer of a fixed VHD, after a hole, is not a part of the disk.
#[test]
fn a_footer_after_a_hole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disk");
    let mut disk = sparse_file(&path, 4 * MIB, 5000, [0].into_iter());
    let file = File::options().write(true).open(&path).unwrap();
    file.write_all_at(&BOOT, 510).unwrap();
    disk[510..512].copy_from_slice(&BOOT);
    file.write_all_at(&Vhd { kind: FIXED, size: disk.len() as u64, ..Vhd::new(512, &[]) }.footer(), 4 * MIB).unwrap();
    for kind in KINDS {
        let packed = tar_of(folder.path(), "disk", kind);
        for file in [packed.clone(), gzip(&packed)] {
            assert!(Case::new(file).bytes().as_ref() == Ok(&disk), "{kind:?}");
        }
    }
}

/// A format that is read at any position, in a sparse member.
#[test]
fn formats_lie_in_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.qcow2");
    let raw = folder.path().join("a.raw");
    let disk = sparse_file(&raw, 2 * MIB, 70_000, [0, MIB].into_iter());
    qemu("qemu-img", &["convert", "-f", "raw", "-O", "qcow2", text(&raw), text(&path)]);
    let image = std::fs::read(&path).unwrap();
    let file = File::create(&path).unwrap();
    // Zeros of the image become holes of its file.
    file.set_len(image.len() as u64).unwrap();
    for (number, block) in image.chunks(4096).enumerate().filter(|(_, block)| block.iter().any(|&byte| byte != 0)) {
        file.write_all_at(block, number as u64 * 4096).unwrap();
    }
    for kind in KINDS {
        for answers in ANSWERS {
            let packed = tar_of(folder.path(), "a.qcow2", kind);
            assert!(packed.len() < image.len(), "{kind:?}");
            let converted = Case::new(packed).convert(answers, Abilities::default(), 64 << 10);
            converted.result.unwrap();
            assert!(converted.target.bytes.take() == disk, "{kind:?}: other bytes");
        }
    }
}

/// A member of pax 1.0: `map` is its text, before `data`.
fn pax_1_0(size: u64, map: &str, data: &[u8]) -> Vec<Vec<u8>> {
    let size = size.to_string();
    let records = [
        ("GNU.sparse.major", "1"),
        ("GNU.sparse.minor", "0"),
        ("GNU.sparse.name", "disk.raw"),
        ("GNU.sparse.realsize", &size),
    ];
    let mut content = map.as_bytes().to_vec();
    content.resize(content.len().next_multiple_of(512), 0);
    content.extend_from_slice(data);
    vec![pax(&records), member("GNUSparseFile.1/disk.raw", b'0', &content)]
}

/// A member of pax 0.1.
fn pax_0_1(size: &str, map: &str, data: &[u8]) -> Vec<Vec<u8>> {
    let records = [("GNU.sparse.size", size), ("GNU.sparse.name", "disk.raw"), ("GNU.sparse.map", map)];
    vec![pax(&records), member("x", b'0', data)]
}

/// A member of old GNU with one stretch and the size of the file.
fn old_gnu(start: &[u8], len: &[u8], size: &[u8], data: &[u8]) -> Vec<Vec<u8>> {
    let mut bytes = member("disk.raw", b'S', data);
    bytes[257..265].copy_from_slice(b"ustar  \0");
    for (at, field) in [(386, start), (398, len), (483, size)] {
        bytes[at..at + field.len()].copy_from_slice(field);
    }
    let header = crate::tar::summed(bytes[..512].to_vec());
    bytes[..512].copy_from_slice(&header);
    vec![bytes]
}

/// Members with a map: its fault, the members, the kind of the error if any.
type Mapped<'a> = (&'a str, Vec<Vec<u8>>, Option<ErrorKind>);

#[test]
fn wrong_maps() {
    let data = [7; 1000];
    let star = |records: &[(&str, &str)]| vec![pax(records), member("disk.raw", b'0', &data)];
    let gnu = |start: &str, len: &str, size: &str| old_gnu(start.as_bytes(), len.as_bytes(), size.as_bytes(), &data);
    let base_256 = [0x80, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
    let huge = [0x80, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0];
    let xstar = {
        let mut bytes = member("disk.raw", b'S', &data);
        bytes[508..512].copy_from_slice(b"tar\0");
        let header = crate::tar::summed(bytes[..512].to_vec());
        bytes[..512].copy_from_slice(&header);
        vec![bytes]
    };
    use ErrorKind::{Corrupt, Limit, Unsupported};
    let cases: &[Mapped<'_>] = &[
        ("right", pax_1_0(4096, "1\n512\n1000\n", &data), None),
        ("right, 0.1", pax_0_1("4096", "512,1000", &data), None),
        ("right, old GNU", gnu("00000001000", "00000001750", "00000010000"), None),
        ("two that touch", pax_1_0(4096, "2\n512\n600\n1112\n400\n", &data), None),
        ("none at the end", pax_1_0(4096, "2\n512\n1000\n4096\n0\n", &data), None),
        ("all of it", pax_1_0(1000, "1\n0\n1000\n", &data), None),
        ("beyond the end", pax_1_0(1511, "1\n512\n1000\n", &data), Some(Corrupt)),
        ("an overlap", pax_1_0(4096, "2\n512\n600\n1111\n400\n", &data), Some(Corrupt)),
        ("a step back", pax_1_0(4096, "2\n1512\n600\n512\n400\n", &data), Some(Corrupt)),
        ("too little data", pax_1_0(4096, "1\n512\n1001\n", &data), Some(Corrupt)),
        ("too much data", pax_1_0(4096, "1\n512\n999\n", &data), Some(Corrupt)),
        ("fewer numbers", pax_1_0(4096, "2\n512\n1000\n", &data), Some(Corrupt)),
        ("no map", pax_1_0(4096, "", &data), Some(Corrupt)),
        ("no numbers", pax_1_0(4096, "1\n5 12\n1000\n", &data), Some(Corrupt)),
        ("a count of 2^64", pax_1_0(4096, "18446744073709551616\n512\n1000\n", &data), Some(Corrupt)),
        ("a count of 2^64 - 1", pax_1_0(4096, "18446744073709551615\n512\n1000\n", &data), Some(Corrupt)),
        ("a place of 2^64 - 1", pax_1_0(4096, "1\n18446744073709551615\n1000\n", &data), Some(Corrupt)),
        ("a huge file", pax_1_0(1 << 53, "1\n512\n1000\n", &data), Some(Limit)),
        ("a huge file, 0.1", pax_0_1("9007199254740992", "512,1000", &data), Some(Limit)),
        ("a huge file, old GNU", old_gnu(b"00000001000", b"00000001750", &huge, &data), Some(Limit)),
        ("an odd map", pax_0_1("4096", "512,1000,2000", &data), Some(Corrupt)),
        ("letters", pax_0_1("4096", "512,a", &data), Some(Corrupt)),
        ("letters as a size", pax_0_1("a", "512,1000", &data), Some(Corrupt)),
        ("2^64 - 1, old GNU", old_gnu(&base_256, b"00000001750", &base_256, &data), Some(Limit)),
        ("a place of 2^64 - 1, old GNU", old_gnu(&base_256, b"00000001750", b"00000010000", &data), Some(Corrupt)),
        ("no size, old GNU", gnu("00000001000", "00000001750", "x"), Some(Corrupt)),
        ("no map, pax", vec![pax(&[("GNU.sparse.size", "4096")]), member("disk.raw", b'0', &data)], Some(Corrupt)),
        ("no size, pax", vec![pax(&[("GNU.sparse.map", "0,1000")]), member("disk.raw", b'0', &data)], Some(Corrupt)),
        (
            "another version",
            vec![pax(&[("GNU.sparse.major", "2"), ("GNU.sparse.realsize", "1")]), member("disk.raw", b'0', &data)],
            Some(Unsupported),
        ),
        (
            "for all",
            vec![member("g", b'g', b"22 GNU.sparse.major=1\n"), member("disk.raw", b'0', &data)],
            Some(Unsupported),
        ),
        ("star's size", star(&[("SCHILY.realsize", "4096")]), Some(Unsupported)),
        ("star's size of a file that is not sparse", star(&[("SCHILY.realsize", "1000")]), None),
        ("star's type", star(&[("SCHILY.filetype", "sparse")]), Some(Unsupported)),
        ("star's other types", star(&[("SCHILY.filetype", "regular")]), None),
        ("star's size of letters", star(&[("SCHILY.realsize", "a")]), Some(Corrupt)),
        ("star's header", xstar, Some(Unsupported)),
    ];
    for (what, members, expected) in cases {
        let file = archive(members);
        for (how, file, salvage) in
            [("file", file.clone(), false), ("gzip", gzip(&file), false), ("salvage", file, true)]
        {
            match (Case { salvage, ..Case::new(file) }.bytes(), expected) {
                (Ok(disk), None) => {
                    let start = disk.iter().position(|&byte| byte != 0).unwrap();
                    assert!(disk[start..start + 1000] == data && start <= 512, "{what}, {how}: other bytes");
                }
                (Err(error), Some(kind)) => assert_eq!(error.kind, *kind, "{what}, {how}: {error}"),
                (found, _) => panic!("{what}, {how}: {:?}", found.map(|disk| disk.len())),
            }
        }
    }
}

/// Salvage of an archive that ends inside its sparse member: the available data, and the holes before its end.
#[test]
fn cut_members_are_salvaged() {
    let data: Vec<u8> = (0..3000).map(|at| at as u8 | 1).collect();
    let whole = archive(&pax_1_0(100_000, "2\n4096\n1000\n50000\n2000\n", &data));
    let start = whole.len() - 1024 - 3072;
    let mut disk = vec![0; 100_352];
    disk[4096..5096].copy_from_slice(&data[..1000]);
    disk[50_000..52_000].copy_from_slice(&data[1000..]);
    for len in [0, 1, 999, 1000, 1001, 2999] {
        let file = whole[..start + len].to_vec();
        assert_eq!(Case::new(file.clone()).bytes().unwrap_err().kind, ErrorKind::Corrupt, "{len}");
        let case = Case { salvage: true, ..Case::new(file) };
        let (left, lost) = crate::common::salvage::salvage(&case).unwrap();
        assert!(left == crate::common::salvage::without(&disk, &lost), "{len}: other bytes");
        assert!(!lost.is_empty(), "{len}");
    }
    assert!(Case { salvage: true, ..Case::new(whole[..start + 3000].to_vec()) }.bytes() == Ok(disk));
}

/// A hole of any size costs nothing: neither memory nor a step per part.
#[test]
fn large_holes() {
    const SIZE: u64 = 1 << 50;
    let file = archive(&pax_1_0(SIZE, &format!("1\n{}\n1000\n", SIZE - 1000), &[7; 1000]));
    let image = open_bytes(file.clone(), OpenOptions::default()).unwrap();
    let extents = futures_executor::block_on(all_extents(&image));
    let lens: Vec<_> =
        extents.iter().map(|extent| (extent.len, matches!(extent.kind, ExtentKind::Data { .. }))).collect();
    assert_eq!(lens, [(SIZE - 1000, false), (1000, true)]);
}
