//! Raw disks in gzip and as streams: the bytes of the disk, or one clear error, for any content.

use crate::common::small::{small, small_disk};
use crate::common::*;
use decant::error::fields::Field;
use decant::io::target::{Abilities, Holes};
use decant::open::disk_choice::DiskChoice;
use decant::{ErrorKind, Input, OpenOptions};
use miniz_oxide::deflate::compress_to_vec;

const MIB: usize = 1 << 20;

const TARGETS: [Abilities; 4] = [
    Abilities { ascending: false, holes: Holes::Skip, short_hole: 0, late_start: u64::MAX },
    Abilities { ascending: true, holes: Holes::Skip, short_hole: 64 << 10, late_start: u64::MAX },
    Abilities { ascending: false, holes: Holes::Report, short_hole: 0, late_start: u64::MAX },
    Abilities { ascending: true, holes: Holes::WriteZeros, short_hole: 0, late_start: u64::MAX },
];

pub fn noise(len: usize) -> Vec<u8> {
    let mut state = 7u32;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state >> 8) as u8
    };
    (0..len).map(|_| next()).collect()
}

/// A disk with a boot sector's signature, text, noise and zeros of all lengths, at its end too. A disk smaller than a
/// sector is all zeros: nothing else is recognised as a disk.
pub fn disk(len: usize) -> Vec<u8> {
    if len < 512 {
        return vec![0; len];
    }
    let noise = noise(8192);
    let byte = |at: usize| match at / 30_000 % 5 {
        0 => b"the quick brown fox jumps "[at % 26],
        1 => noise[at % 8192],
        2 => (at / 1000) as u8,
        _ => 0,
    };
    let mut disk: Vec<u8> = (0..len).map(byte).collect();
    disk[510..512].copy_from_slice(&[0x55, 0xaa]);
    disk
}

/// A member with `flags`, and their header fields.
pub fn member(flags: u8, fields: &[u8], data: &[u8]) -> Vec<u8> {
    let header = [&[0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 3], fields].concat();
    let plain = filter("gzip", &["-cn"], data);
    let trailer = &plain[plain.len() - 8..];
    [&header, &compress_to_vec(data, 6)[..], trailer].concat()
}

fn bytes(file: Vec<u8>) -> Result<Vec<u8>, decant::Error> {
    Case::new(file).bytes()
}

#[test]
fn real_files_by_every_route() {
    let commands: &[(&str, &[&str])] = &[("gzip", &["-c"]), ("pigz", &["-c"]), ("gzip", &["-c9"]), ("gzip", &["-c1"])];
    let cases = &commands[..by_scope(2, 4, 4)];
    let all = vec![0, 1, 511, 512, 4096, 5000, MIB - 512, 2 * MIB, 2 * MIB + 4096, 6 * MIB + 100];
    for size in by_scope(vec![0, 511, 5000, MIB - 512, 2 * MIB + 4096], all.clone(), all) {
        let disk = disk(size);
        let padded = [&disk[..], &vec![0; size.next_multiple_of(512) - size]].concat();
        for (command, args) in cases {
            let file = filter(command, args, &disk);
            let name = format!("{command} {args:?} {size}");
            if size == 0 {
                let error = bytes(file).unwrap_err();
                let message = "In the content of the gzip file: The file is empty";
                assert_eq!((error.kind, &error.message()[..]), (ErrorKind::NotRecognised, message), "{name}");
                continue;
            }
            for as_stream in [false, true] {
                let case = Case { as_stream, ..Case::new(file.clone()) };
                for abilities in TARGETS {
                    for (answers, job) in
                        [(Answers::InOrder, 1 << 20), (Answers::Reverse, 4096), (Answers::OneAtATime, 8 << 20)]
                    {
                        let converted = case.convert(answers, abilities, job);
                        let name = format!("{name} stream: {as_stream} {abilities:?} {answers:?} {job}");
                        let progress = converted.result.unwrap();
                        assert_eq!(progress.guest_done, padded.len() as u64, "{name}");
                        assert_eq!((progress.guest_total, progress.read), (None, file.len() as u64), "{name}");
                        assert_eq!(converted.output_size, padded.len() as u64, "{name}");
                        assert!(*converted.target.bytes.borrow() == padded, "{name}: other bytes");
                        assert!(converted.target.finished.get(), "{name}");
                    }
                }
            }
        }
    }
}

#[test]
fn headers_and_members() {
    let disk = disk(70_000);
    let (left, right) = disk.split_at(30_000);
    let text = [b"a name", &[b'x'; 60_000][..], b"\0"].concat();
    let crc = |flags: u8, fields: &[u8]| {
        let header = [&[0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 3], fields].concat();
        let gzip = filter("gzip", &["-cn"], &header);
        [fields, &gzip[gzip.len() - 8..][..2]].concat()
    };
    let extra = [&[5, 0][..], b"12345"].concat();
    let all = [&extra[..], b"name\0", b"comment\0"].concat();
    let plain = member(0, &[], &disk);
    let changed = |at: usize, value: u8| {
        let mut file = plain.clone();
        file[at] ^= value;
        file
    };
    let both = [member(0, &[], left), member(8, b"b\0", right)].concat();
    let end = plain.len();
    // (description, file, a part of the error message)
    let cases: &[(&str, Vec<u8>, Option<&str>)] = &[
        ("plain", plain.clone(), None),
        ("text", member(1, &[], &disk), None),
        ("extra", member(4, &extra, &disk), None),
        ("a long name", member(8, &text, &disk), None),
        ("a name without an end", member(8, &[b'x'; 70_000], &disk), Some("does not end")),
        ("all fields", member(4 | 8 | 16, &all, &disk), None),
        ("all fields and their checksum", member(2 | 4 | 8 | 16, &crc(2 | 4 | 8 | 16, &all), &disk), None),
        ("another checksum", member(2, &[0, 0], &disk), Some("header of gzip does not have the checksum")),
        ("reserved flags", member(0x20, &[], &disk), Some("reserved flags")),
        ("two members", both.clone(), None),
        ("empty members", [member(0, &[], b""), plain.clone(), member(0, &[], b"")].concat(), None),
        ("zeros after", [&plain[..], &[0; 10_000]].concat(), None),
        ("zeros after two", [&both[..], &[0; 1]].concat(), None),
        ("a member after zeros", [&plain[..], &[0; 512], &plain].concat(), Some("not a trailer")),
        ("text after", [&plain[..], b"text"].concat(), None),
        ("text after zeros", [&plain[..], b"\0\0text"].concat(), None),
        ("much text after", [&plain[..], &[b'x'; 70_000]].concat(), Some("not a trailer")),
        ("half a signature after", [&plain[..], &[0x1f]].concat(), Some("truncated")),
        ("another signature after", [&plain[..], &[0x1f; 20]].concat(), Some("does not begin with its signature")),
        ("another method after", [&plain[..], &[0x1f, 0x8b, 7, 0, 0, 0, 0, 0, 0, 0]].concat(), Some("method 7")),
        ("another CRC", changed(end - 8, 1), Some("does not have the checksum")),
        ("another size", changed(end - 1, 1), Some("does not have the size")),
        ("an invalid block", changed(10, 6), Some("invalid")),
    ];
    for (what, file, expected) in cases {
        match (bytes(file.clone()), expected) {
            (Ok(found), None) => assert!(found[..70_000] == disk, "{what}: other bytes"),
            (Err(error), Some(part)) => assert!(error.message().contains(part), "{what}: {error}"),
            (found, _) => panic!("{what}: {:?}", found.map(|bytes| bytes.len())),
        }
    }
}

/// A container that expands excessively without data is not decoded to its end.
#[test]
fn nothing_is_decoded_without_bound() {
    let empty = filter("gzip", &["-cn"], b"");
    let gzip = |data: &[u8]| filter("gzip", &["-c1"], data);
    let members = gzip(&empty.repeat((65 * MIB) / empty.len()));
    let zeros = vec![0; 65 * MIB];
    let mut folder = vec![0; 512];
    folder[..2].copy_from_slice(b"./");
    folder[124..135].copy_from_slice(b"00404000000");
    folder[148..156].fill(b' ');
    folder[156] = b'Z';
    folder[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u32 = folder.iter().map(|&byte| u32::from(byte)).sum();
    folder[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    let unknown = [&folder[..], &zeros].concat();
    let sector = [b"data".repeat(128)].concat();
    let little = [empty.repeat(1000), gzip(&sector)].concat();
    // (what, file, the container that holds no data)
    let cases: &[(&str, Vec<u8>, Option<&str>)] = &[
        ("empty members", members.clone(), Some("gzip")),
        ("in gzip", gzip(&members), Some("gzip")),
        ("repeated in gzip", gzip(&members.repeat(20)), Some("gzip")),
        ("zeros after an empty member", gzip(&[&empty[..], &zeros].concat()), Some("gzip")),
        ("an unknown member of tar", gzip(&unknown), Some("tar")),
        ("data after a few of them", gzip(&little), None),
        ("data of which there is much", gzip(&[&sector[..], &zeros].concat()), None),
    ];
    for (what, file, expected) in cases {
        let size = file.len() as u64;
        // The other codecs are read as files, too.
        for &as_stream in by_scope(&[true][..], &[false, true], &[false, true]) {
            let case = Case { as_stream, ..Case::new(file.clone()) };
            match (case.bytes(), expected) {
                (Ok(found), None) => assert!(found.starts_with(b"data"), "{what}"),
                (Err(error), Some(container)) => {
                    let message = format!(
                        "The {container} file has more than 64 MiB before the first byte of a disk; unpack it first"
                    );
                    assert_eq!((error.kind, error.message()), (ErrorKind::Limit, message), "{what} {size}");
                }
                (found, _) => panic!("{what}: {:?}", found.map(|bytes| bytes.len())),
            }
        }
    }
}

/// A member must not refer to the data of the one before it.
#[test]
fn members_stand_alone() {
    // A fixed block: a match of 3 bytes at distance 1, and the end of the block.
    let reference = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x03, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let error = bytes([&member(0, &[], b"data"), &reference[..]].concat()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Corrupt);
    assert!(error.message().contains("invalid"), "{error}");
}

/// With any changed bit in a small file: right bytes or an error.
#[test]
fn changed_files_never_give_other_bytes() {
    let disk = disk(1500);
    let padded = [&disk[..], &[0; 36]].concat();
    let file = filter("gzip", &["-cn"], &disk);
    let mut accepted = 0;
    for bit in 24..file.len() * 8 {
        let mut changed = file.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        match bytes(changed) {
            Ok(found) => {
                accepted += 1;
                assert!(found == padded, "bit {bit}");
            }
            Err(error) => {
                assert!(matches!(error.kind, ErrorKind::Corrupt | ErrorKind::Unsupported), "bit {bit}: {error}");
            }
        }
    }
    // The time, the level, the system, the text flag, and the padding of the last byte.
    assert!((48..60).contains(&accepted), "{accepted}");
}

#[test]
fn other_formats_in_gzip_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let image = |format: &str, options: &[&str]| {
        let path = folder.path().join(format);
        qemu("qemu-img", &[&["create", "-q", "-f", format], options, &[text(&path), "2M"]].concat());
        std::fs::read(&path).unwrap()
    };
    let twice = filter("gzip", &["-c"], &filter("gzip", &["-c"], &disk(5000)));
    let five = (0..5).fold(disk(5000), |file, _| filter("gzip", &["-c"], &file));
    let cases: &[(&str, Vec<u8>, ErrorKind, &str)] = &[
        (
            "qcow2",
            image("qcow2", &[]),
            ErrorKind::Unsupported,
            "The gzip file holds qcow2, which cannot be read inside it; unpack it first",
        ),
        ("vmdk", image("vmdk", &[]), ErrorKind::Unsupported, "VMDK"),
        ("vdi", image("vdi", &[]), ErrorKind::Unsupported, "VDI"),
        (
            "vhdx",
            image("vhdx", &[]),
            ErrorKind::Unsupported,
            "The gzip file holds VHDX (Hyper-V disk), which cannot be read inside it; unpack it first",
        ),
        ("dynamic VHD", image("vpc", &[]), ErrorKind::Unsupported, "VHD"),
    ];
    for (name, content, kind, message) in cases {
        let error = bytes(filter("gzip", &["-c"], content)).unwrap_err();
        assert_eq!(error.kind, *kind, "{name}: {error}");
        assert!(error.message().contains(message), "{name}: {error}");
    }
    let archive = filter("tar", &["-c", "-f", "-", "-C", text(folder.path()), "qcow2"], b"");
    let error = bytes(filter("gzip", &["-c"], &archive)).unwrap_err();
    assert!(
        error.message().contains("The gzip file holds a tar archive, which cannot be read inside it; unpack it first"),
        "{error}"
    );
    assert!(bytes(twice).unwrap()[..5000] == disk(5000));
    assert_eq!(bytes(five).unwrap_err().kind, ErrorKind::Limit);
    // If raw is stated, the file itself is the disk.
    let file = filter("gzip", &["-c"], &disk(5000));
    let found = Case { format: Some("raw".to_owned()), ..Case::new(file.clone()) }.bytes().unwrap();
    assert!(found[..file.len()] == file);
}

/// With `spool`, what must be read at any position is unpacked as it is, down to the outermost archive.
#[test]
fn packed_files_are_unpacked_exactly() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    qemu("qemu-img", &["create", "-q", "-f", "qcow2", text(&file("a.qcow2")), "2M"]);
    qemu("qemu-img", &["create", "-q", "-f", "vpc", text(&file("a.vhd")), "2M"]);
    let qcow2 = std::fs::read(file("a.qcow2")).unwrap();
    // Of no whole sectors.
    let odd = [&qcow2[..], b"odd"].concat();
    let vhd = std::fs::read(file("a.vhd")).unwrap();
    std::fs::write(file("readme.txt"), "a disk is in here").unwrap();
    std::fs::write(file("box.ovf"), "<Envelope/>").unwrap();
    let disk_bytes = disk(MIB);
    std::fs::write(file("disk.raw"), &disk_bytes).unwrap();
    let tar = |names: &[&str]| filter("tar", &[&["-cf", "-", "-C", text(folder.path())], names].concat(), b"");
    let gz = |content: &[u8]| filter("gzip", &["-c"], content);
    let boxed = [tar(&["readme.txt", "a.qcow2"]), tar(&["box.ovf", "a.vhd"]), tar(&["a.qcow2"])];
    let in_tar = crate::tar::archive(&[crate::tar::member("a", b'0', &gz(&odd))]);
    let number = |number| Some(DiskChoice::Number(number));
    let archive = tar(&["disk.raw"]);
    // (file, format, chosen disk, as a stream, its content)
    type Row<'a> = (Vec<u8>, Option<&'a str>, Option<DiskChoice>, bool, &'a [u8]);
    let cases: &[Row] = &[
        (gz(&qcow2), None, None, false, &qcow2),
        (gz(&odd), None, None, false, &odd),
        (gz(&vhd), None, None, false, &vhd),
        (gz(&gz(&odd)), None, None, false, &odd),
        (in_tar.clone(), None, None, false, &odd),
        (in_tar, None, number(1), false, &odd),
        (gz(&boxed[0]), None, None, false, &boxed[0]),
        (gz(&boxed[1]), None, None, false, &boxed[1]),
        (gz(&boxed[2]), None, None, false, &boxed[2]),
        (gz(&boxed[0]), None, number(1), false, &boxed[0]),
        (gz(&archive), None, number(1), false, &archive),
        // Nothing has to be unpacked.
        (gz(&disk_bytes), None, None, false, &disk_bytes),
        (gz(&archive), None, None, false, &disk_bytes),
        (odd.clone(), None, None, true, &odd),
        (odd.clone(), Some("qcow2"), None, true, &odd),
        (gz(&odd), None, None, true, &odd),
        (gz(&boxed[2]), None, None, true, &qcow2),
    ];
    for (at, (image, format, disk, as_stream, expected)) in cases.iter().enumerate() {
        let (format, disk) = (format.map(str::to_owned), disk.clone());
        let case = Case { format, disk, as_stream: *as_stream, spool: true, ..Case::new(image.clone()) };
        assert!(case.bytes().unwrap() == *expected, "{at}");
        match (Case { spool: false, ..case }).bytes() {
            Ok(found) => assert!(found == disk_bytes, "{at}"),
            Err(error) => assert_eq!(&*error.code, "needs-spool", "{at}: {error}"),
        }
    }
}

#[test]
fn archives_in_gzip_are_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let disk = disk(MIB);
    std::fs::write(folder.path().join("disk.raw"), &disk).unwrap();
    std::fs::write(folder.path().join("b"), &disk).unwrap();
    let tar = |args: &[&str]| filter("tar", &[&["-cf", "-", "-C", text(folder.path())], args].concat(), b"");
    for format in ["gnu", "oldgnu", "ustar", "posix"] {
        let archive = tar(&[&format!("--format={format}"), "disk.raw"]);
        for as_stream in [false, true] {
            let case = Case { as_stream, ..Case::new(filter("gzip", &["-c"], &archive)) };
            assert!(case.bytes().unwrap() == disk, "{format}");
        }
        // Cut anywhere except in its end.
        for len in (2000..MIB + 512).step_by(77_777) {
            let error = bytes(filter("gzip", &["-c"], &archive[..len])).unwrap_err();
            assert!(error.message().contains("truncated"), "{format} {len}: {error}");
        }
    }
    let wrong: &[(Vec<u8>, &str)] = &[
        (tar(&["disk.raw", "b"]), "none of its files is clearly its only disk"),
        (tar(&["--no-recursion", "."]), "holds no file"),
    ];
    for (archive, message) in wrong {
        let error = bytes(filter("gzip", &["-c"], archive)).unwrap_err();
        assert!(error.message().contains(message), "{error}");
        let code = if *message == "none of its files is clearly its only disk" { "several-files" } else { "no-image" };
        assert_eq!(&*error.code, code);
    }
    // The bytes after the archive are checked, too.
    let mut file = filter("gzip", &["-c"], &tar(&["disk.raw"]));
    let at = file.len() - 8;
    file[at] ^= 1;
    assert!(bytes(file).unwrap_err().message().contains("checksum"));
}

#[test]
fn streams_are_raw_or_gzip() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    qemu("qemu-img", &["create", "-q", "-f", "qcow2", text(&path), "2M"]);
    let qcow2 = std::fs::read(&path).unwrap();
    let archive = filter("tar", &["-c", "-f", "-", "-C", text(folder.path()), "a"], b"");
    let disk = disk(MIB);
    // (content, stated format, error)
    type Row<'a> = (&'a [u8], Option<&'a str>, Option<(ErrorKind, &'a str)>);
    let cases: &[Row] = &[
        (&disk, Some("raw"), None),
        (&disk, None, Some((ErrorKind::NotRecognised, "state the format raw"))),
        (b"", None, Some((ErrorKind::NotRecognised, "empty"))),
        (
            &qcow2,
            None,
            Some((
                ErrorKind::Unsupported,
                "The stream is qcow2, which must be read at any position; save it as a file first",
            )),
        ),
        (&qcow2, Some("qcow2"), Some((ErrorKind::Unsupported, "save it as a file first"))),
        (&qcow2, Some("raw"), None),
        (&archive, None, Some((ErrorKind::Unsupported, "tar"))),
        (&disk, Some("nothing"), Some((ErrorKind::Usage, "no input format"))),
    ];
    for (content, format, expected) in cases {
        let case = Case { format: format.map(str::to_owned), as_stream: true, ..Case::new(content.to_vec()) };
        match (case.bytes(), expected) {
            (Ok(found), None) => assert!(found[..content.len()] == **content, "{format:?}"),
            (Err(error), Some((kind, part))) => {
                assert_eq!(error.kind, *kind, "{error}");
                assert!(error.message().contains(part), "{error}");
            }
            (found, _) => panic!("{:?}", found.map(|bytes| bytes.len())),
        }
    }
}

#[test]
fn info_lists_the_known_properties() {
    let file = filter("gzip", &["-c"], &disk(100_000));
    let size = file.len() as u64;
    let source = HeldSource::new(file);
    let reading = source.clone();
    let work = async move {
        match open(Input::File(reading), &OpenOptions::default()).await {
            Ok(Opened::Streamed(image)) => image,
            _ => panic!("it is read in order"),
        }
    };
    let image = drive(&source, Answers::InOrder, work).unwrap();
    let info = image.info();
    assert_eq!((info.format, info.virtual_size, info.file_size), ("raw", None, Some(size)));
    assert_eq!(info.containers.len(), 1);
    assert_eq!((info.containers[0].name, &info.containers[0].member), ("gzip", &None));
    assert_eq!(info.safety.iter().map(|notice| notice.code).collect::<Vec<_>>(), ["guessed-raw"]);
    assert_eq!(image.refusal("mapped").message(), "A disk in a gzip file cannot be mapped; unpack it first");
    let asked = Case { snapshot: Some("1".to_owned()), ..Case::new(source.content()) };
    assert_eq!(asked.bytes().unwrap_err().kind, ErrorKind::Usage);
    // A file is read anew by each conversion.
    assert!(image.begin(None).is_ok() && image.begin(None).is_ok());
}

mod full {
    use super::*;

    /// The disk has a GiB.
    #[test]
    fn an_archive_that_decant_makes_is_read_back() {
        let disk = disk(MIB);
        let case = Case { format: Some("raw".to_owned()), ..Case::new(disk.clone()) };
        let made = case.convert_to("tar.gz", Answers::InOrder, TARGETS[1], 1 << 20);
        let found = bytes(made.target.bytes.take()).unwrap();
        assert!(found.len() == 1 << 30 && found.starts_with(&disk));
    }
}

/// Metadata after verified members is ignored, with a notice. A possibly damaged member is refused, since the disk
/// would be too short.
#[test]
fn trailers_are_left_out() {
    let disk = disk(70_000);
    let (left, right) = disk.split_at(30_000);
    let first = member(0, &[], left);
    let openwrt = b"\0\0\0\0\0\0\0\0{ \"metadata_version\": \"1.1\" }\nFWx0\x01\x02\x03\x04\x01\0\0\0\0\0\0\x1a";
    // (what, trailer, the size in the notice)
    let cases: [(&str, &[u8], usize); 4] = [
        ("metadata after zeros", openwrt, openwrt.len() - 8),
        ("a signature", b"# certificate FWx0\x01\x02\x03\x04\0\0\0\0\0\0\0\"", 30),
        ("zeros at its end", b"x\0\0\0", 4),
        ("as long as may be", &[b'x'; 65_536], 65_536),
    ];
    for (what, trailer, size) in cases {
        let file = [&member(0, &[], &disk)[..], trailer].concat();
        let in_tar = crate::tar::archive(&[crate::tar::member("a.gz", b'0', &file)]);
        for file in [file, in_tar] {
            for as_stream in [false, true] {
                let case = Case { as_stream, ..Case::new(file.clone()) };
                let converted = case.convert(Answers::InOrder, Abilities::default(), 64 << 10);
                converted.result.unwrap_or_else(|error| panic!("{what}: {error}"));
                assert!(converted.target.bytes.take()[..70_000] == disk, "{what}: other bytes");
                let found: Vec<_> = converted.notices.iter().map(|notice| notice.code).collect();
                assert_eq!(found, ["trailer"], "{what}");
                let said = format!("{} bytes", size);
                assert!(converted.notices[0].message.contains(&said), "{what}: {}", converted.notices[0].message);
            }
        }
    }
    // Around another image, too: in one block, and in groups of members.
    let image = small();
    let noise = noise(700_000);
    let archive = crate::tar::archive(&[crate::tar::member("a", b'0', &image), crate::tar::member("b", b'0', &noise)]);
    let in_members = archive.chunks(70_000).map(|data| member(0, &[], data)).collect::<Vec<_>>().concat();
    for (what, file) in [("one member", member(0, &[], &image)), ("members", in_members)] {
        for (trailer, expected) in
            [(&b""[..], None), (&[0; 512], None), (&b"\0trailer\0\0\0\0"[..], Some(Field::Number(11)))]
        {
            let case = Case { in_place: true, ..Case::new([&file[..], trailer].concat()) };
            let safety = case.info().unwrap().safety;
            let found = safety.iter().find(|notice| notice.code == "trailer");
            assert_eq!(found.and_then(|notice| notice.fields.get("size")), expected.as_ref(), "{what}, {trailer:?}");
            assert!(case.bytes().unwrap() == small_disk(), "{what}, {trailer:?}: other bytes");
        }
    }
    for bit in 0..24 {
        let mut second = member(0, &[], right);
        second[bit / 8] ^= 1 << (bit % 8);
        for zeros in [0, 512] {
            let error = bytes([&first[..], &vec![0; zeros], &second].concat()).unwrap_err();
            assert!(matches!(error.kind, ErrorKind::Corrupt | ErrorKind::Unsupported), "bit {bit}: {error}");
        }
    }
    let hidden = [&first[..], b"text", &member(0, &[], right)].concat();
    assert_eq!(bytes(hidden).unwrap_err().kind, ErrorKind::Corrupt, "a member after a trailer");
}
