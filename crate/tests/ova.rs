//! Archives of whole machines: disks in pieces.

use crate::common::small::{DATA, overlay, small, small_disk};
use crate::common::*;
use crate::tar::{archive, content, link, member, pax};
use decant::error::fields::Field;
use decant::io::target::Abilities;
use decant::open::disk_choice::DiskChoice;
use decant::{ErrorKind, OpenOptions};

fn file(name: &str, data: &[u8]) -> Vec<u8> {
    member(name, b'0', data)
}

/// The pieces of `data`, of `len` bytes each.
fn pieces(name: &str, data: &[u8], len: usize) -> Vec<Vec<u8>> {
    data.chunks(len).enumerate().map(|(number, part)| file(&format!("{name}.{number:09}"), part)).collect()
}

fn with_ovf(members: &[Vec<u8>]) -> Vec<u8> {
    archive(&[&[file("a.ovf", b"<xml/>")], members].concat())
}

#[test]
fn disks_in_pieces() {
    let (image, raw) = (small(), content());
    for len in [1000, image.len() - 1, image.len(), image.len() / 4 + 1] {
        let parts = pieces("disk.qcow2", &image, len);
        let reversed: Vec<_> = parts.iter().rev().cloned().collect();
        for members in [&parts, &reversed] {
            let file = with_ovf(members);
            let opened = open_bytes(file.clone(), OpenOptions::default()).unwrap();
            assert_eq!(opened.info().containers[0].member.as_deref(), Some("disk.qcow2"), "{len}");
            assert_eq!(opened.info().file_size, Some(image.len() as u64), "{len}");
            for answers in ANSWERS {
                let converted = Case::new(file.clone()).convert(answers, Abilities::default(), 4096);
                converted.result.unwrap();
                assert!(converted.target.bytes.take() == small_disk(), "{len}: other bytes");
            }
            assert!(Case { salvage: true, ..Case::new(file) }.bytes() == Ok(small_disk()), "{len}: salvage");
        }
    }
    let disk = [&raw[..], &[0; 352]].concat();
    let parts = pieces("disk.raw", &raw, 30_001);
    assert!(Case::new(with_ovf(&parts)).bytes() == Ok(disk.clone()), "a raw disk");
    // A number that is not that of a piece: the name of the only file.
    assert!(Case::new(archive(&[file("disk.000000007", &raw)])).bytes() == Ok(disk), "a number");
}

#[test]
fn wrong_pieces() {
    let image = small();
    let parts = || pieces("d", &image, 1000);
    let without = |number: usize| {
        let mut parts = parts();
        parts.remove(number);
        parts
    };
    let with = |number: usize, data: &[u8]| {
        let mut parts = parts();
        parts[number] = file(&format!("d.{number:09}"), data);
        parts
    };
    let last = parts().len() - 1;
    let twice = [parts(), vec![parts()[1].clone()]].concat();
    let cases: &[(&str, Vec<Vec<u8>>, &str)] = &[
        ("the first is missing", without(0), "piece 000000000 of 'd' is missing"),
        ("one is missing", without(1), "piece 000000001 of 'd' is missing"),
        ("one is there twice", twice, "piece 000000001 of 'd' is there twice"),
        ("one is shorter", with(1, &image[1000..1999]), "piece 000000001 of 'd' has another size"),
        ("the last is longer", with(last, &[0; 1001]), "of 'd' has another size"),
        ("the last is missing", without(last), "truncated"),
    ];
    for (what, members, part) in cases {
        let error = Case::new(with_ovf(members)).bytes().unwrap_err();
        assert!(error.kind == ErrorKind::Corrupt && error.message().contains(part), "{what}: {error}");
    }
    // A raw disk does not show that its last piece is missing, but the descriptor does.
    let raw = content();
    let parts_of_raw = pieces("disk.raw", &raw, 50_000);
    let number = parts_of_raw.len();
    let descriptor = |size: usize| {
        let file_of = format!("<File ovf:id='1' ovf:href='disk.raw' ovf:size='{size}' ovf:chunkSize='50000'/>");
        file("a.ovf", format!("<Envelope>{file_of}<Disk ovf:fileRef='1' ovf:format='raw'/></Envelope>").as_bytes())
    };
    for (size, count, expected) in [(raw.len(), number, Ok(())), (raw.len(), number - 1, Err("piece-missing"))] {
        let members = [&[descriptor(size)], &parts_of_raw[..count]].concat();
        let found = Case::new(archive(&members)).bytes().map(drop).map_err(|error| error.code.to_string());
        assert_eq!(found, expected.map_err(str::to_owned), "{count} of {number}");
    }
    // A salvage has the available part of the last piece, and no later pieces.
    let whole = with_ovf(&parts());
    let cut = whole[..whole.len() - 1024 - 512].to_vec();
    assert_eq!(Case::new(cut.clone()).bytes().unwrap_err().kind, ErrorKind::Corrupt);
    assert!(Case { salvage: true, ..Case::new(cut) }.bytes().is_ok());
    let reversed: Vec<_> = parts().into_iter().rev().collect();
    let whole = with_ovf(&reversed);
    let error = Case { salvage: true, ..Case::new(whole[..whole.len() - 1024 - 512].to_vec()) }.bytes().unwrap_err();
    assert!(error.kind == ErrorKind::Corrupt && error.message().contains("is cut off"), "{error}");
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The output of the system's `tool` for `data`: sha256sum, for example.
fn sum(tool: &str, data: &[u8]) -> String {
    let output = filter(tool, &["-b"], data);
    String::from_utf8(output).unwrap().split(' ').next().unwrap().to_owned()
}

/// An OVA whose manifest has `lines`; its disk is `image`.
fn ova(image: &[u8], lines: &str) -> Vec<u8> {
    archive(&[file("a.ovf", b"<xml/>"), file("a.mf", lines.as_bytes()), file("disk.qcow2", image)])
}

fn converted(case: &Case) -> Converted {
    case.convert(Answers::InOrder, Abilities::default(), 4096)
}

#[test]
fn manifests_are_checked() {
    let image = small();
    let (ovf, wrong) = (sum("sha256sum", b"<xml/>"), "0".repeat(64));
    let [sha1, sha256, sha512] = ["sha1sum", "sha256sum", "sha512sum"].map(|tool| sum(tool, &image));
    // (what, manifest, the file that differs)
    let cases: &[(&str, String, Option<&str>)] = &[
        ("SHA-1", format!("SHA1(disk.qcow2)= {sha1}\n"), None),
        ("SHA-256 with CR", format!("SHA256(a.ovf)= {ovf}\r\nSHA256(disk.qcow2)= {sha256}\r\n"), None),
        ("SHA-512", format!("SHA512 (disk.qcow2) = {}", sha512.to_uppercase()), None),
        ("with dashes", format!("SHA-256(./disk.qcow2)= {sha256}\n\n"), None),
        ("another file that is missing", format!("SHA256(b.iso)= {wrong}\nSHA256(disk.qcow2)= {sha256}\n"), None),
        ("another SHA-1", format!("SHA1(disk.qcow2)= {}\n", &wrong[..40]), Some("disk.qcow2")),
        ("another SHA-256", format!("SHA256(disk.qcow2)= {wrong}\n"), Some("disk.qcow2")),
        ("another SHA-512", format!("SHA512(disk.qcow2)= {wrong}{wrong}\n"), Some("disk.qcow2")),
        ("a damaged line and a right one", format!("SHA256(disk.qcow2)= 12\nSHA1(disk.qcow2)= {sha1}\n"), None),
        ("another file that differs", format!("SHA256(a.ovf)= {wrong}\n"), Some("a.ovf")),
        (
            "one of two",
            format!("SHA256(disk.qcow2)= {sha256}\nSHA1(disk.qcow2)= {}\n", &wrong[..40]),
            Some("disk.qcow2"),
        ),
    ];
    for (what, manifest, expected) in cases {
        let case = Case::new(ova(&image, manifest));
        let found = converted(&case);
        match (&found.result, expected) {
            (Ok(_), None) => assert!(found.target.bytes.take() == small_disk() && found.notices.is_empty(), "{what}"),
            (Err(error), Some(name)) => {
                assert_eq!((error.kind, &*error.code), (ErrorKind::Corrupt, "manifest-mismatch"), "{what}: {error}");
                assert!(error.message().contains(&format!("'{name}'")), "{what}: {error}");
                assert!(!found.target.finished.get() && found.target.aborted.get(), "{what}: it is completed");
            }
            (result, _) => panic!("{what}: {result:?}"),
        }
        // Not if the check is off; in a salvage only if it is on.
        for (check_manifest, salvage) in [(Some(false), false), (None, true)] {
            let found = converted(&Case { check_manifest, salvage, ..case.clone() });
            assert!(found.result.is_ok() && found.target.bytes.take() == small_disk(), "{what}");
            assert_eq!(found.notices.iter().map(|notice| notice.code).collect::<Vec<_>>(), ["manifest-unchecked"]);
        }
        let forced = converted(&Case { check_manifest: Some(true), salvage: true, ..case });
        assert_eq!(forced.result.is_ok(), expected.is_none(), "{what}");
    }
    // In a compressed file, if all of it was decoded to open it.
    for (what, manifest, expected) in cases {
        let packed = filter("gzip", &["-cn1"], &ova(&image, manifest));
        let found = converted(&Case { in_place: true, ..Case::new(packed) });
        let code = found.result.as_ref().err().map(|error| &*error.code);
        assert_eq!(code, expected.map(|_| "manifest-mismatch"), "{what}");
        assert!(found.notices.is_empty(), "{what}");
    }
    // Not if that decodes its blocks again.
    let blocks = filter("xz", &["-c0", "--block-size=4096"], &ova(&image, &cases[0].1));
    let found = converted(&Case { in_place: true, ..Case::new(blocks) });
    assert!(found.result.is_ok());
    assert_eq!(found.notices.iter().map(|notice| notice.code).collect::<Vec<_>>(), ["manifest-unchecked"]);
    // Without a manifest there is no notice.
    let plain = archive(&[file("a.ovf", b"<xml/>"), file("disk.qcow2", &image)]);
    for check_manifest in [None, Some(true), Some(false)] {
        let found = converted(&Case { check_manifest, ..Case::new(plain.clone()) });
        assert!(found.result.is_ok() && found.notices.is_empty());
    }
    // A notice names files that cannot be compared.
    for manifest in [format!("MD5(disk.qcow2)= {}\n", &wrong[..32]), "x".repeat((1 << 20) + 1)] {
        let found = converted(&Case::new(ova(&image, &manifest)));
        assert!(found.result.is_ok());
        assert_eq!(found.notices.iter().map(|notice| notice.code).collect::<Vec<_>>(), ["manifest-unchecked"]);
    }
}

/// UTF-16 with a byte order mark.
fn utf16(text: &str, bytes_of: impl Fn(u16) -> [u8; 2]) -> Vec<u8> {
    ['\u{feff}'].into_iter().collect::<String>().encode_utf16().chain(text.encode_utf16()).flat_map(bytes_of).collect()
}

/// A manifest: each disk in use was compared, or a notice says that it was not.
#[test]
fn manifests_that_miss_the_disk() {
    let image = small();
    let (right, wrong) = (sum("sha256sum", &image), "0".repeat(64));
    let ovf = format!("SHA256(a.ovf)= {}\n", sum("sha256sum", b"<xml/>"));
    let line = |name: &str, digest: &str| format!("SHA256({name})= {digest}\n");
    let of_other_case = [file("DISK.qcow2", b"text"), file("disk.QCOW2", b"text")];
    let with_bom = |text: &str| [b"\xef\xbb\xbf", text.as_bytes()].concat();
    // (what, manifest, further members, the expected code)
    type Of<'a> = (&'a str, Vec<u8>, &'a [Vec<u8>], Option<&'a str>);
    let cases: &[Of] = &[
        ("empty", vec![], &[], Some("manifest-unchecked")),
        ("garbage", b"\x07\xff\0text\n(\n=\nSHA256(disk.qcow2\n".to_vec(), &[], Some("manifest-unchecked")),
        ("coreutils", format!("{wrong}  disk.qcow2\n").into(), &[], Some("manifest-unchecked")),
        ("a disk that is not listed", ovf.clone().into(), &[], Some("manifest-unchecked")),
        (
            "a line without brackets",
            format!("{ovf}SHA256 disk.qcow2= {wrong}\n").into(),
            &[],
            Some("manifest-unchecked"),
        ),
        (
            "UTF-16 without a mark",
            line("disk.qcow2", &wrong).encode_utf16().flat_map(u16::to_le_bytes).collect(),
            &[],
            Some("manifest-unchecked"),
        ),
        ("a digest that is too short", line("disk.qcow2", &wrong[1..]).into(), &[], Some("manifest-unchecked")),
        ("a digest of another hash", line("disk.qcow2", &wrong[..40]).into(), &[], Some("manifest-unchecked")),
        ("no digest", line("disk.qcow2", "").into(), &[], Some("manifest-unchecked")),
        ("a digest that is none", line("disk.qcow2", &"g".repeat(64)).into(), &[], Some("manifest-unchecked")),
        ("another folder", line("vm/disk.qcow2", &wrong).into(), &[], Some("manifest-unchecked")),
        ("another case, wrong", line("Disk.QCOW2", &wrong).into(), &[], Some("manifest-mismatch")),
        ("another case, right", line("Disk.QCOW2", &right).into(), &[], None),
        ("another case of several", line("Disk.QCOW2", &wrong).into(), &of_other_case, Some("manifest-unchecked")),
        ("its own case of several", line("disk.qcow2", &wrong).into(), &of_other_case, Some("manifest-mismatch")),
        ("its own case of several, right", line("disk.qcow2", &right).into(), &of_other_case, None),
        (
            "a name that is there twice",
            line("disk.qcow2", &right).into(),
            &[file("disk.qcow2", b"text")],
            Some("manifest-unchecked"),
        ),
        ("UTF-16, wrong", utf16(&line("disk.qcow2", &wrong), u16::to_le_bytes), &[], Some("manifest-mismatch")),
        ("UTF-16, right", utf16(&line("disk.qcow2", &right), u16::to_le_bytes), &[], None),
        ("UTF-16BE, wrong", utf16(&line("disk.qcow2", &wrong), u16::to_be_bytes), &[], Some("manifest-mismatch")),
        ("UTF-8 with a mark, wrong", with_bom(&line("disk.qcow2", &wrong)), &[], Some("manifest-mismatch")),
        ("UTF-8 with a mark, right", with_bom(&line("disk.qcow2", &right)), &[], None),
    ];
    for (what, manifest, others, expected) in cases {
        let members =
            [&[file("a.ovf", b"<xml/>"), file("a.mf", manifest), file("disk.qcow2", &image)], *others].concat();
        let found = converted(&Case::new(archive(&members)));
        let codes: Vec<_> = found.notices.iter().map(|notice| notice.code).collect();
        match expected {
            Some("manifest-mismatch") => {
                let error = found.result.expect_err(what);
                assert_eq!(&*error.code, "manifest-mismatch", "{what}: {error}");
            }
            _ => {
                assert!(
                    found.result.is_ok() && found.target.bytes.take() == small_disk(),
                    "{what}: {:?}",
                    found.result
                );
                assert_eq!(codes, Vec::from_iter(*expected), "{what}");
                assert!(found.notices.iter().all(|notice| notice.message.contains("'disk.qcow2'")), "{what}");
            }
        }
    }
}

/// The files of an image in an archive: all that it uses, and no others.
#[test]
fn manifests_that_miss_a_file_of_the_image() {
    let (base, top) = (small(), overlay("base", Some("qcow2")));
    let line = |name: &str, data: &[u8]| format!("SHA256({name})= {}\n", sum("sha256sum", data));
    let whole = line("base", &base) + &line("top", &top);
    let raw = content();
    let packed = filter("gzip", &["-cn"], &raw);
    let parts = pieces("disk.raw", &raw, 50_000);
    let lines: Vec<_> =
        raw.chunks(50_000).enumerate().map(|(number, part)| line(&format!("disk.raw.{number:09}"), part)).collect();
    let chain = || vec![file("base", &base), file("top", &top), file("README", b"text")];
    // (what, manifest, members, the start of the notice)
    type Of<'a> = (&'a str, String, Vec<Vec<u8>>, Option<&'a str>);
    let cases: &[Of] = &[
        ("a chain", whole, chain(), None),
        ("a chain without its base", line("top", &top), chain(), Some("'base' was")),
        ("a chain without its top", line("base", &base), chain(), Some("'top' was")),
        ("a chain without both", String::new(), chain(), Some("'base' (and 1 more) was")),
        ("pieces", lines.concat(), parts.clone(), None),
        ("pieces without one", lines[1..].concat(), parts, Some("'disk.raw.000000000' was")),
        ("gzip", line("disk.raw.gz", &packed), vec![file("disk.raw.gz", &packed)], None),
        ("gzip that is not listed", String::new(), vec![file("disk.raw.gz", &packed)], Some("'disk.raw.gz' was")),
    ];
    for (what, manifest, members, expected) in cases {
        let members = [&[file("a.ovf", b"<xml/>"), file("a.mf", manifest.as_bytes())], &members[..]].concat();
        let found = converted(&Case::new(archive(&members)));
        found.result.unwrap_or_else(|error| panic!("{what}: {error}"));
        let mut unchecked = found.notices.iter().filter(|notice| notice.code == "manifest-unchecked");
        let notice = unchecked.next().map_or("", |notice| &notice.message);
        assert!(
            notice.starts_with(expected.unwrap_or("")) && notice.is_empty() == expected.is_none(),
            "{what}: {notice}"
        );
        assert!(unchecked.next().is_none(), "{what}");
    }
}

/// A stream is read once, and its manifest may be its last file.
#[test]
fn a_manifest_in_a_stream() {
    let raw = content();
    let manifest = file("a.mf", b"SHA1(disk.raw)= 00\n");
    let disk = file("disk.raw", &raw);
    for members in [vec![manifest.clone(), disk.clone()], vec![disk.clone(), manifest]] {
        let streamed = Case { as_stream: true, ..Case::new(archive(&members)) };
        let converted = converted(&streamed);
        converted.result.unwrap();
        let codes = converted.notices.iter().map(|notice| notice.code).collect::<Vec<_>>();
        assert_eq!(codes, ["manifest-unchecked"]);
        let checked = Case { check_manifest: Some(true), ..streamed };
        assert_eq!(checked.bytes().unwrap_err().kind, ErrorKind::Usage);
    }
    let converted = converted(&Case { as_stream: true, ..Case::new(archive(&[disk])) });
    assert!(converted.notices.is_empty());
}

/// A changed byte that the format itself cannot detect.
#[test]
fn a_changed_byte_is_noticed() {
    let image = small();
    let whole = ova(&image, &format!("SHA256(disk.qcow2)= {}\n", sum("sha256sum", &image)));
    let start = whole.len() - 1024 - image.len().next_multiple_of(512);
    let mut changed = whole;
    changed[start + DATA + 5] ^= 1;
    let unchecked = Case { check_manifest: Some(false), ..Case::new(changed.clone()) }.bytes();
    assert!(unchecked.is_ok_and(|disk| disk != small_disk()), "it is no byte of the disk");
    let error = Case::new(changed).bytes().unwrap_err();
    assert_eq!((error.kind, &*error.code), (ErrorKind::Corrupt, "manifest-mismatch"), "{error}");
}

#[test]
fn manifests_of_pieces_and_of_disks_in_order() {
    let image = small();
    let parts = pieces("d", &image, 1000);
    let lines: String = image
        .chunks(1000)
        .enumerate()
        .map(|(number, part)| format!("SHA1(d.{number:09})= {}\n", sum("sha1sum", part)))
        .collect();
    let with = |lines: &str, parts: &[Vec<u8>]| {
        archive(&[&[file("vm/a.ovf", b"<xml/>"), file("vm/a.mf", lines.as_bytes())], parts].concat())
    };
    let in_folder = |parts: &[Vec<u8>]| -> Vec<Vec<u8>> {
        let renamed = |(number, part): (usize, &[u8])| file(&format!("vm/d.{number:09}"), part);
        image.chunks(1000).enumerate().map(renamed).take(parts.len()).collect()
    };
    assert!(Case::new(with(&lines, &in_folder(&parts))).bytes() == Ok(small_disk()));
    let (start, rest) = lines.split_once("= ").unwrap();
    let wrong = format!("{start}= {}{}", "0".repeat(40), &rest[40..]);
    let error = Case::new(with(&wrong, &in_folder(&parts))).bytes().unwrap_err();
    assert_eq!(&*error.code, "manifest-mismatch", "{error}");
    // A raw disk does not record its size; the manifest detects a change.
    let raw = content();
    let renamed = |(number, part): (usize, &[u8])| file(&format!("vm/disk.raw.{number:09}"), part);
    let raw_parts: Vec<_> = raw.chunks(50_000).enumerate().map(renamed).collect();
    let zeros = "0".repeat(40);
    let error = Case::new(with(&format!("SHA1(disk.raw.000000001)= {zeros}\n"), &raw_parts[..1])).bytes().unwrap_err();
    assert_eq!(&*error.code, "piece-missing", "{error}");
    // A disk that is decompressed in order.
    let packed = filter("gzip", &["-cn"], &raw);
    let files = |digest: &str| {
        let line = format!("SHA256(disk.raw.gz)= {digest}\n");
        archive(&[file("a.ovf", b"<xml/>"), file("a.mf", line.as_bytes()), file("disk.raw.gz", &packed)])
    };
    assert!(Case::new(files(&sum("sha256sum", &packed))).bytes().is_ok());
    let error = Case::new(files(&hex(&[7; 32]))).bytes().unwrap_err();
    assert_eq!(&*error.code, "manifest-mismatch", "{error}");
}

/// A machine's folder in an archive: description, members, name of the image, disk.
type Folder<'a> = (&'a str, Vec<Vec<u8>>, &'a str, &'a [u8]);

/// The files of a machine in one archive: an image finds those that it refers to, and is found among them.
#[test]
fn folders_of_a_machine() {
    let base = small();
    let top = overlay("base", Some("qcow2"));
    let alone = Case { companions: vec![("base".to_owned(), base.clone())], ..Case::new(top.clone()) };
    let disk = alone.bytes().unwrap();
    let raw = content();
    let flat = raw[..65_536].to_vec();
    let descriptor = |name: &str| {
        format!(
            "# Disk DescriptorFile\nversion=1\nCID=fffffffe\nparentCID=ffffffff\ncreateType=\"vmfs\"\nRW 128 VMFS \"{name}\"\n"
        )
    };
    let vmdk = descriptor("disk-flat.vmdk");
    let other = file("old/disk-flat.vmdk", &[7; 65_536]);
    let cases: &[Folder<'_>] = &[
        ("an overlay", vec![file("base", &base), file("top", &top)], "top", &disk),
        ("an overlay first", vec![file("vm/top", &top), file("vm/base", &base)], "vm/top", &disk),
        (
            "an overlay with others",
            vec![file("README", b"text"), file("top", &top), file("a.ovf", b"<xml/>"), file("base", &base)],
            "top",
            &disk,
        ),
        (
            "a descriptor",
            vec![file("vm/disk-flat.vmdk", &flat), file("vm/disk.vmdk", vmdk.as_bytes())],
            "vm/disk.vmdk",
            &flat,
        ),
        (
            "a descriptor beside another folder",
            vec![other, file("vm/disk.vmdk", vmdk.as_bytes()), file("vm/disk-flat.vmdk", &flat)],
            "vm/disk.vmdk",
            &flat,
        ),
    ];
    for (what, members, image, disk) in cases {
        let file = archive(members);
        let opened = open_bytes(file.clone(), OpenOptions::default()).unwrap_or_else(|error| panic!("{what}: {error}"));
        let info = opened.info();
        assert_eq!(info.containers[0].member.as_deref(), Some(*image), "{what}");
        assert!(info.needs.is_empty() && info.unused_companions.is_empty(), "{what}: {:?}", info.needs);
        for answers in ANSWERS {
            let converted = Case::new(file.clone()).convert(answers, Abilities::default(), 4096);
            converted.result.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(converted.target.bytes.take() == *disk, "{what}: other bytes");
        }
        // Passed files take precedence; unused ones are reported.
        let companions = vec![("unused".to_owned(), base.clone())];
        let opened = Case { companions, ..Case::new(file) };
        assert!(opened.bytes().as_ref().map(Vec::as_slice) == Ok(*disk), "{what}");
    }
    // Two images without a chain, and two that refer to each other.
    let circle = [file("base", &overlay("top", Some("qcow2"))), file("top", &top)];
    for members in [vec![file("a", &base), file("b", &base)], circle.to_vec()] {
        let error = Case::new(archive(&members)).bytes().unwrap_err();
        assert_eq!((error.kind, &*error.code), (ErrorKind::Usage, "several-images"), "{error}");
    }
    // A missing one is reported.
    let lonely = Case::new(archive(&[file("README", b"text"), file("top", &top)])).bytes().unwrap_err();
    assert_eq!(lonely.kind, ErrorKind::MissingFile, "{lonely}");
}

#[test]
fn manifests_beside_loose_files() {
    let (base, top) = (small(), overlay("base", Some("qcow2")));
    let line = |name: &str, digest: &str| format!("SHA256({name})= {digest}\n");
    let [of_base, of_top] = [&base, &top].map(|image| sum("sha256sum", image));
    let wrong = "0".repeat(64);
    let both = line("top", &of_top) + &line("base", &of_base);
    type Row<'a> = (&'a str, String, Option<bool>, Result<Option<&'a str>, &'a str>);
    // What, the manifest, whether to check it, and the file of the notice, which may have none, or of the error.
    let cases: &[Row<'_>] = &[
        ("both", both.clone(), None, Ok(None)),
        ("another file", both.clone() + &line("unused", &wrong), None, Ok(None)),
        ("a file that is not there", both.clone() + &line("other.vmdk", &wrong), None, Ok(None)),
        ("not checked", line("top", &wrong), Some(false), Ok(Some(""))),
        ("the image", line("top", &wrong) + &line("base", &of_base), None, Err("top")),
        ("its backing file", line("top", &of_top) + &line("base", &wrong), None, Err("base")),
        ("the image alone", line("top", &of_top), None, Ok(Some("base"))),
    ];
    for (what, manifest, check_manifest, expected) in cases {
        let files = [("vm/base", &base[..]), ("vm/a.MF", manifest.as_bytes()), ("unused", b"unused")];
        let companions = files.map(|(name, bytes)| (name.to_owned(), bytes.to_vec())).to_vec();
        let name = Some("vm/top".to_owned());
        let case = Case { name, companions, check_manifest: *check_manifest, ..Case::new(top.clone()) };
        let info = case.with(Answers::InOrder, |image| async move { Ok(image.info()) }).unwrap();
        assert_eq!(info.unused_companions, ["unused"], "{what}");
        let found = converted(&case);
        match expected {
            Err(file) => {
                let error = found.result.unwrap_err();
                assert_eq!((error.kind, &*error.code), (ErrorKind::Corrupt, "manifest-mismatch"), "{what}: {error}");
                assert!(error.message().contains(&format!("'{file}'")), "{what}: {error}");
            }
            Ok(file) => {
                found.result.unwrap_or_else(|error| panic!("{what}: {error}"));
                let codes: Vec<_> = found.notices.iter().map(|notice| notice.code).collect();
                assert_eq!(codes, vec!["manifest-unchecked"; file.iter().count()], "{what}");
                let named = found.notices.iter().all(|notice| notice.message.contains(file.unwrap_or("")));
                assert!(named, "{what}: {:?}", found.notices);
            }
        }
    }
}

/// An OVF descriptor of one machine with `disks`: the path, and the attributes of the `Disk` element.
fn descriptor(disks: &[(&str, &str)]) -> Vec<u8> {
    let entry = |row: &dyn Fn(usize, &str, &str) -> String| -> String {
        disks.iter().enumerate().map(|(at, (path, attributes))| row(at, path, attributes)).collect()
    };
    let files = entry(&|at, path, _| format!("<File ovf:id=\"f{at}\" ovf:href=\"{path}\"/>"));
    let disks = entry(&|at, _, attributes| format!("<Disk ovf:fileRef=\"f{at}\" {attributes}/>"));
    format!("<Envelope>{files}{disks}<VirtualSystem ovf:id=\"vm\"/></Envelope>").into_bytes()
}

/// A disk that a configuration names by a link is the file to which that leads, if it is in the archive.
#[test]
fn disks_that_are_links() {
    let (image, raw) = (small(), content());
    let data = file("data/a.bin", &image);
    let long = "n".repeat(150);
    let chain = |len: usize| -> Vec<Vec<u8>> {
        let name = |at: usize| if at == 0 { "d".to_owned() } else { format!("link{at}") };
        let to = |at: usize| if at + 1 == len { "data/a.bin".to_owned() } else { name(at + 1) };
        (0..len).map(|at| link(&name(at), b'2', &to(at))).collect()
    };
    // (what, the members beside the descriptor and the data, whether the disk is there)
    let rows: Vec<(&str, Vec<Vec<u8>>, bool)> = vec![
        ("a hard link", vec![link("d", b'1', "data/a.bin")], true),
        ("a hard link with a leading folder", vec![link("./d", b'1', "./data/a.bin")], true),
        ("a symbolic link", vec![link("d", b'2', "data/a.bin")], true),
        ("a symbolic link by way of a folder", vec![link("d", b'2', "./data/../data/a.bin")], true),
        ("a link to a link", vec![link("d", b'2', "x/e"), link("x/e", b'2', "../data/a.bin")], true),
        ("as many links as are followed", chain(8), true),
        ("too many links", chain(9), false),
        ("a circle", vec![link("d", b'2', "e"), link("e", b'2', "d")], false),
        ("another file", vec![link("d", b'2', "data/b.bin")], false),
        ("a file elsewhere", vec![link("d", b'2', "../data/a.bin")], false),
        ("an absolute path", vec![link("d", b'2', "/data/a.bin")], false),
        ("a long name of GNU", vec![member("x", b'K', b"data/a.bin\0"), link("d", b'1', "data/")], true),
        ("a long name of pax", vec![pax(&[("linkpath", "data/a.bin")]), link("d", b'2', &long[..99])], true),
        ("a folder", vec![link("d", b'5', "data/a.bin")], false),
    ];
    for (what, members, is_there) in rows {
        for descriptor in [descriptor(&[("d", "")]), descriptor(&[("d", ""), ("data/a.bin", "")])] {
            let all = [&[file("a.ovf", &descriptor)][..], &members, std::slice::from_ref(&data)].concat();
            // A disk that two entries name is one.
            match Case::new(archive(&all)).info() {
                Ok(info) => {
                    assert!(is_there, "{what}");
                    assert_eq!(info.containers[0].member.as_deref(), Some("data/a.bin"), "{what}");
                    assert!(Case::new(archive(&all)).bytes().unwrap() == small_disk(), "{what}: other bytes");
                }
                Err(error) => {
                    assert!(!is_there && &*error.code == "missing-file", "{what}: {error}");
                }
            }
        }
    }
    // A link adds neither a disk nor a file.
    let links = [file("a", &raw), link("b", b'1', "a"), link("x/b.vmdk", b'2', "../a")];
    assert!(Case::new(archive(&links)).bytes().unwrap().starts_with(&raw));
    // The name of the file, and not that of a link elsewhere, is the last part of a path.
    let elsewhere = [file("a.ovf", &descriptor(&[("/old/d", "")])), file("vm/d", &image), link("x/d", b'2', "../vm/d")];
    assert!(Case::new(archive(&elsewhere)).bytes().unwrap() == small_disk());
    // The manifest lists the link.
    let digest = sum("sha256sum", &image);
    for (digest, is_right) in [(digest, true), ("0".repeat(64), false)] {
        let ovf = descriptor(&[("d", "")]);
        let manifest = format!("SHA256(d)= {digest}\nSHA256(a.ovf)= {}\n", sum("sha256sum", &ovf));
        let all = [file("a.ovf", &ovf), file("a.mf", manifest.as_bytes()), link("d", b'1', "data/a.bin"), data.clone()];
        let found = converted(&Case::new(archive(&all)));
        assert_eq!(found.result.is_ok(), is_right);
        assert!(found.notices.is_empty(), "{:?}", found.notices);
    }
}

/// A disk with another size than its descriptor states is noticed, in order too.
#[test]
fn capacities_of_disks() {
    let (image, raw) = (small(), content());
    let size = small_disk().len() as u64;
    // (attributes of the disk, whether there is a notice, for the image and for a raw disk of 100,352 bytes)
    let rows = [
        (format!("ovf:capacity=\"{size}\""), false, true),
        ("ovf:capacity=\"100352\"".to_owned(), true, false),
        ("ovf:capacity=\"99999999\"".to_owned(), true, true),
        ("ovf:capacity=\"1\" ovf:capacityAllocationUnits=\"byte * 2^30\"".to_owned(), false, false),
        ("ovf:capacity=\"2\" ovf:capacityAllocationUnits=\"byte * 2^30\"".to_owned(), true, true),
        ("ovf:capacity=\"2\" ovf:capacityAllocationUnits=\"GB\"".to_owned(), true, true),
        ("ovf:capacity=\"${size}\"".to_owned(), false, false),
        (String::new(), false, false),
    ];
    for (attributes, of_image, of_raw) in rows {
        let ova =
            |name: &str, disk: &[u8]| archive(&[file("a.ovf", &descriptor(&[(name, &attributes)])), file(name, disk)]);
        let has = |codes: &[&str]| codes.contains(&"ovf-capacity");
        for (what, packed, expected) in [
            ("qcow2", ova("disk.qcow2", &image), of_image),
            ("raw", ova("disk.raw", &raw), of_raw),
            (
                "other",
                archive(&[file("a.ovf", &descriptor(&[("b", &attributes)])), file("b", b""), file("disk.raw", &raw)]),
                false,
            ),
        ] {
            let found: Vec<_> = info_of(packed).safety.iter().map(|notice| notice.code).collect();
            assert_eq!(has(&found), expected, "{what}: {attributes}");
        }
        let packed = ova("disk.raw.gz", &filter("gzip", &["-cn"], &raw));
        let converted = Case::new(packed).convert(Answers::InOrder, Abilities::default(), 64 << 10);
        converted.result.unwrap();
        let found: Vec<_> = converted.notices.iter().map(|notice| notice.code).collect();
        assert_eq!(has(&found), of_raw, "in order: {attributes}");
    }
}

/// A machine whose archive lacks a disk is not converted without it, unless the caller has chosen another one.
#[test]
fn disks_that_are_not_in_the_archive() {
    let image = small();
    let both = descriptor(&[("a%20b.vmdk", ""), ("d.qcow2", "")]);
    let ova = |ovf: &[u8], members: &[(&str, &[u8])]| {
        let members = members.iter().map(|(name, data)| file(name, data));
        archive(&std::iter::once(file("vm/m.ovf", ovf)).chain(members).collect::<Vec<_>>())
    };
    let chosen = |disk: DiskChoice| Some(disk);
    let name = |name: &str| DiskChoice::Name(name.to_owned());
    // (what, archive, choice, the missing file)
    let rows = [
        ("one is missing", ova(&both, &[("vm/d.qcow2", &image)]), None, Some("a%20b.vmdk")),
        ("by number", ova(&both, &[("vm/d.qcow2", &image)]), chosen(DiskChoice::Number(1)), None),
        ("by name", ova(&both, &[("vm/d.qcow2", &image)]), chosen(name("d.qcow2")), None),
        (
            "another folder",
            ova(&both, &[("vm/d.qcow2", &image), ("x/A b.vmdk", b"empty")]),
            chosen(DiskChoice::Number(2)),
            None,
        ),
        (
            "a disk without a file",
            ova(b"<Disk/><File id='1' href='d.qcow2'/><Disk fileRef='1'/>", &[("vm/d.qcow2", &image)]),
            None,
            None,
        ),
        ("an unknown file", ova(b"<Disk fileRef='2'/>", &[("vm/d.qcow2", &image)]), None, None),
        ("an ISO", ova(b"<File id='1' href='a.iso'/>", &[("vm/d.qcow2", &image)]), None, None),
        (
            "pieces",
            {
                let parts = pieces("vm/d.qcow2", &image, 1000);
                archive(&[vec![file("vm/m.ovf", &descriptor(&[("d.qcow2", "")]))], parts].concat())
            },
            None,
            None,
        ),
    ];
    for (what, packed, disk, missing) in rows {
        match (Case { disk, ..Case::new(packed) }).bytes() {
            Ok(found) => assert!(missing.is_none() && found == small_disk(), "{what}"),
            Err(error) => {
                assert_eq!((error.kind, &*error.code), (ErrorKind::MissingFile, "missing-file"), "{what}: {error}");
                let field = |field: &str| match error.fields.get(field) {
                    Some(Field::Text(text)) => text.clone(),
                    _ => panic!("{what}: {error}"),
                };
                assert_eq!(Some(&*field("file")), missing, "{what}: {error}");
                assert_eq!(field("neededBy"), "vm/m.ovf", "{what}: {error}");
                assert!(matches!(error.fields.get("disks"), Some(Field::List(disks)) if disks.len() == 1), "{what}");
            }
        }
    }
}
