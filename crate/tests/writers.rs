//! What is made of a disk: each output format, field by field and as qemu-img reads it.

use crate::common::*;
use decant::ErrorKind;
use decant::target::{Abilities, Holes};
use decant::writer::{self, OUTPUT_FORMATS, Stamp, Writer};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const FOOTER: usize = 512;

fn writer(format: &str, virtual_size: u64) -> Box<dyn Writer> {
    (writer::by_name(format).unwrap().writer)(virtual_size).unwrap()
}

#[test]
fn names_are_those_of_the_registry() {
    let names: Vec<_> = OUTPUT_FORMATS.iter().map(|format| format.name).collect();
    assert_eq!(names, ["raw", "vpc", "raw.gz", "tar.gz"]);
    let error = writer::by_name("vh\u{202e}dx").err().unwrap();
    assert_eq!(error.kind, ErrorKind::Usage);
    assert_eq!(error.message, "There is no output format 'vh\\u202edx'; choose one of raw, vpc, raw.gz, tar.gz");
}

#[test]
fn sizes_are_known_beforehand() {
    // (format, virtual size, size of the disk in the output, size of the output)
    let cases = [
        ("raw", 0, 0, Some(0)),
        ("raw", 512, 512, Some(512)),
        ("raw", (1 << 53) - 512, (1 << 53) - 512, Some((1 << 53) - 512)),
        ("raw.gz", 512, 512, None),
        ("tar.gz", 0, GIB, None),
        ("tar.gz", 1, GIB, None),
        ("tar.gz", GIB, GIB, None),
        ("tar.gz", GIB + 1, 2 * GIB, None),
        ("tar.gz", (1 << 53) - 512, 1 << 53, None),
        // A footer alone is read as a dynamic VHD.
        ("vpc", 0, MIB, Some(MIB + 512)),
        ("vpc", 512, MIB, Some(MIB + 512)),
        ("vpc", MIB, MIB, Some(MIB + 512)),
        ("vpc", MIB + 512, 2 * MIB, Some(2 * MIB + 512)),
        ("vpc", 2040 * GIB - 512, 2040 * GIB, Some(2040 * GIB + 512)),
        ("vpc", 2040 * GIB, 2040 * GIB, Some(2040 * GIB + 512)),
    ];
    for (format, virtual_size, disk_size, output_size) in cases {
        let writer = writer(format, virtual_size);
        assert_eq!(writer.disk_size(), disk_size, "{format} {virtual_size}");
        assert_eq!(writer.output_size(), output_size, "{format} {virtual_size}");
        assert_eq!(writer.notice().is_some(), disk_size != virtual_size, "{format} {virtual_size}");
    }
    let notice = writer("vpc", MIB - 512).notice().unwrap();
    assert!(notice.starts_with("The disk is 512 bytes larger in the VHD"), "{notice}");
}

#[test]
fn a_disk_that_is_too_large_is_refused_before_anything_is_read() {
    for size in [2040 * GIB + 512, 1 << 52] {
        let error = (writer::by_name("vpc").unwrap().writer)(size).err().unwrap();
        assert_eq!(error.kind, ErrorKind::Limit, "{size}");
        assert!(error.message.contains("at most 2,040 GiB") && !error.message.ends_with('.'), "{error}");
    }
}

/// A field of the footer: where it is, and its bytes.
type Field = (usize, &'static [u8]);

#[test]
fn each_field_of_a_footer() {
    let stamp = Stamp { seconds: 946_684_800 + 0x1234_5678, random: [0xff; 16] };
    // (virtual size, fields that depend on it)
    let cases: [(u64, &[Field]); 3] = [
        // Rounded up to 1 MiB: 2,048 sectors are 30 cylinders of 4 heads and 17 sectors.
        (512, &[(40, &[0, 0, 0, 0, 0, 0x10, 0, 0]), (48, &[0, 0, 0, 0, 0, 0x10, 0, 0]), (56, &[0, 30, 4, 17])]),
        (GIB, &[(40, &[0, 0, 0, 0, 0x40, 0, 0, 0]), (48, &[0, 0, 0, 0, 0x40, 0, 0, 0]), (56, &[0x08, 0x20, 16, 63])]),
        // More than cylinders, heads and sectors can tell: they are at their maximum.
        (200 * GIB, &[(48, &[0, 0, 0, 0x32, 0, 0, 0, 0]), (56, &[0xff, 0xff, 16, 255])]),
    ];
    let always: &[Field] = &[
        (0, b"conectix"),
        (8, &[0, 0, 0, 2, 0, 1, 0, 0]),
        (16, &[0xff; 8]),
        (24, &[0x12, 0x34, 0x56, 0x78]),
        (28, b"win "),
        (36, b"Wi2k"),
        (60, &[0, 0, 0, 2]),
        // A random UUID says so in its version and variant.
        (68, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x4f, 0xff, 0xbf]),
        (77, &[0xff; 7]),
        (84, &[0; FOOTER - 84]),
    ];
    for (size, fields) in cases {
        let footer = writer("vpc", size).footer(&stamp);
        assert_eq!(footer.len(), FOOTER);
        for (at, bytes) in fields.iter().chain(always) {
            assert_eq!(&footer[*at..at + bytes.len()], *bytes, "{size}, byte {at}");
        }
        let sum: u32 =
            footer.iter().enumerate().map(|(at, &byte)| if (64..68).contains(&at) { 0 } else { byte.into() }).sum();
        assert_eq!(footer[64..68], (!sum).to_be_bytes(), "{size}: the checksum");
    }
    // A clock that is before 2000, or after 2136, does not wrap.
    for (seconds, expected) in [(0, [0; 4]), (u64::MAX, [0xff; 4])] {
        assert_eq!(writer("vpc", 0).footer(&Stamp { seconds, ..stamp })[24..28], expected);
    }
}

/// What targets can do: those that workers may open, and streams.
const TARGETS: [Abilities; 4] = [
    Abilities { ordered: false, holes: Holes::Implied, short_hole: 0 },
    Abilities { ordered: true, holes: Holes::Implied, short_hole: 64 << 10 },
    Abilities { ordered: true, holes: Holes::Told, short_hole: 0 },
    Abilities { ordered: true, holes: Holes::Filled, short_hole: 0 },
];

/// A disk with data at its start and at its end, and a hole of more than half between them.
fn disk(size: usize) -> Vec<u8> {
    let mut disk: Vec<u8> = (0..size).map(|at| (at / 3) as u8 | 1).collect();
    disk[size / 8..size - size / 4].fill(0);
    disk
}

#[test]
fn a_fixed_vhd_is_the_disk_and_a_footer() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (raw, image, vhd) = (path("disk.raw"), path("disk.qcow2"), path("disk.vhd"));
    // Whole MiB, and sizes that are rounded up to one.
    for size in [0, 512, MIB, MIB + 512, 5 * MIB - 4096, 40 * MIB + 1536] {
        std::fs::write(&raw, disk(size as usize)).unwrap();
        qemu("qemu-img", &["convert", "-f", "raw", "-O", "qcow2", "-c", text(&raw), text(&image)]);
        let case = Case::new(std::fs::read(&image).unwrap());
        for abilities in TARGETS {
            for job in [4096, 1 << 20] {
                let name = format!("{size} {abilities:?} {job}");
                let converted = case.convert_to("vpc", Answers::InOrder, abilities, job);
                let progress = converted.result.unwrap();
                let bytes = converted.target.bytes.take();
                let disk_size = size.next_multiple_of(MIB).max(MIB) as usize;
                assert_eq!(bytes.len(), disk_size + FOOTER, "{name}");
                assert_eq!(converted.output_size, bytes.len() as u64, "{name}");
                assert!(bytes[..size as usize] == disk(size as usize)[..], "{name}: other bytes");
                assert!(bytes[size as usize..disk_size].iter().all(|&byte| byte == 0), "{name}: no zeros behind");
                assert_eq!(bytes[disk_size..], writer("vpc", size).footer(&STAMP), "{name}: another footer");
                let all = abilities.holes == Holes::Filled;
                assert!(progress.written == bytes.len() as u64 || !all, "{name}: {}", progress.written);
                assert!(size < MIB || all || progress.written < size * 5 / 8, "{name}: {}", progress.written);
                std::fs::write(&vhd, bytes).unwrap();
            }
        }
        // As QEMU reads it: the same size to the byte, and the same content.
        let info: serde_json::Value =
            serde_json::from_str(&qemu("qemu-img", &["info", "-f", "vpc", "--output=json", text(&vhd)])).unwrap();
        assert_eq!(info["virtual-size"], size.next_multiple_of(MIB).max(MIB), "{size}");
        let padded = std::fs::OpenOptions::new().write(true).open(&raw).unwrap();
        padded.set_len(size.next_multiple_of(MIB).max(MIB)).unwrap();
        qemu("qemu-img", &["compare", "-f", "vpc", "-F", "raw", text(&vhd), text(&raw)]);
    }
}

#[test]
fn a_target_that_wants_to_know_holes_is_told_of_them() {
    // A disk of 8 MiB: data in its first and its last cluster, and a cluster of zeros in the middle of the file.
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image.qcow2");
    qemu("qemu-img", &["create", "-q", "-f", "qcow2", text(&image), "8M"]);
    let writes = ["write -P 1 0 64k", "write -P 0 1M 64k", "write -P 2 8323072 64k"];
    let args: Vec<_> = ["-f", "qcow2"].into_iter().chain(writes.iter().flat_map(|write| ["-c", write])).collect();
    qemu("qemu-io", &[&args[..], &[text(&image)]].concat());
    let case = Case::new(std::fs::read(&image).unwrap());
    let told = |holes, format, job| {
        let abilities = Abilities { ordered: true, holes, short_hole: 0 };
        let converted = case.convert_to(format, Answers::InOrder, abilities, job);
        converted.result.unwrap();
        (converted.target.holes.take(), converted.target.data_bytes.get())
    };
    // Zeros found in data count as a hole, whatever the job they are in.
    let (holes, data) = told(Holes::Told, "raw", 8 << 20);
    assert_eq!((holes.iter().map(|(_, len)| len).sum::<u64>(), data), (8 * MIB - (128 << 10), 128 << 10));
    assert!(holes.len() <= 3, "{holes:?}");
    // A large one is told in parts: the target may have to send it.
    let (holes, _) = told(Holes::Told, "raw", 1 << 20);
    assert_eq!(holes.iter().map(|(_, len)| len).sum::<u64>(), 8 * MIB - (128 << 10));
    assert!(holes.len() >= 7 && holes.iter().all(|(_, len)| *len <= 2 * MIB), "{holes:?}");
    // Where holes are filled, zeros in data are data, and a hole is told in parts, so that progress is seen.
    let (holes, data) = told(Holes::Filled, "raw", 1 << 20);
    assert_eq!((holes.iter().map(|(_, len)| len).sum::<u64>(), data), (8 * MIB - (192 << 10), 192 << 10));
    assert!(holes.len() >= 7 && holes.iter().all(|(_, len)| *len <= MIB), "{holes:?}");
    // The footer of a VHD counts as data.
    assert_eq!(told(Holes::Told, "vpc", 8 << 20).1, (128 << 10) + 512);
}

#[test]
fn a_compressed_disk_is_one_member_of_gzip() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (raw, image) = (path("disk.raw"), path("disk.qcow2"));
    for size in [0, 512, 64 << 10, MIB + 512, 5 * MIB - 4096] {
        let disk = disk(size as usize);
        std::fs::write(&raw, &disk).unwrap();
        for compressed in [true, false] {
            let options: &[_] = if compressed { &["-c"] } else { &[] };
            let args = [&["convert", "-f", "raw", "-O", "qcow2"], options, &[text(&raw), text(&image)]].concat();
            qemu("qemu-img", &args);
            let case = Case::new(std::fs::read(&image).unwrap());
            let mut first = None;
            for abilities in TARGETS {
                for answers in [Answers::InOrder, Answers::Reverse] {
                    for job in [4096, 1 << 20] {
                        let name = format!("{size} {abilities:?} {answers:?} {job}");
                        let converted = case.convert_to("raw.gz", answers, abilities, job);
                        let progress = converted.result.unwrap();
                        let file = converted.target.bytes.take();
                        assert_eq!(progress.written, file.len() as u64, "{name}");
                        assert_eq!(converted.output_size, file.len() as u64, "{name}");
                        assert_eq!(converted.target.holes.take(), [], "{name}: it has no holes");
                        assert!(filter("gzip", &["-dc"], &file) == disk, "{name}");
                        if job > 4096 {
                            // What it was written to and in which order does not show.
                            assert!(*first.get_or_insert_with(|| file.clone()) == file, "{name}: another file");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn an_archive_has_the_disk_in_whole_gib() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (raw, image) = (path("disk.raw"), path("disk.qcow2"));
    let disk = disk(10 * MIB as usize);
    std::fs::write(&raw, &disk).unwrap();
    qemu("qemu-img", &["convert", "-f", "raw", "-O", "qcow2", text(&raw), text(&image)]);
    let abilities = Abilities { ordered: true, ..Abilities::default() };
    let case = Case::new(std::fs::read(&image).unwrap());
    let converted = case.convert_to("tar.gz", Answers::InOrder, abilities, 1 << 20);
    converted.result.unwrap();
    let file = converted.target.bytes.take();
    let listed = String::from_utf8(filter("tar", &["--utc", "-tvzf", "-"], &file)).unwrap();
    let words: Vec<_> = listed.split_whitespace().collect();
    assert_eq!([&words[..3], &words[5..]].concat(), ["-rw-r--r--", "root/root", &GIB.to_string(), "disk.raw"]);
    let member = filter("gzip", &["-dc"], &file);
    // Archives end at a multiple of 10,240 bytes, with two blocks of zeros or more.
    assert!(member.len().is_multiple_of(10_240) && member.len() as u64 >= 512 + GIB + 1024, "{} bytes", member.len());
    assert!(member[512..].starts_with(&disk));
    assert!(member[512 + disk.len()..].iter().all(|byte| *byte == 0));
}
