//! Common properties of all containers: errors inside name the content, damage, and reads.

use crate::common::small::*;
use crate::common::zip::{Entry, Zip};
use crate::common::*;
use crate::tar::{archive, member, summed};
use decant::disk::losses::Lost;
use decant::error::fields::Field;
use decant::format::HEAD;
use decant::format::qcow2::CLUSTER_TRUNCATED;
use decant::format::raw_disk::DISK_TRUNCATED;
use decant::io::target::Abilities;
use decant::offsets::GuestOffset;
use decant::open::disk_choice::DiskChoice;
use decant::{ErrorKind, OpenOptions};
use std::path::Path;
use std::process::Command;

/// The unit of tar, and of its headers.
const BLOCK: usize = 512;
/// The advice for a truncated file, which may be complete elsewhere.
const ADVICE: &str = "download or copy it again";

/// The output of `command` for `files`, (name, content), in a new folder.
fn made_of(command: &str, files: &[(&str, &[u8])]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        std::fs::write(Path::new(folder.path()).join(name), content).unwrap();
    }
    let output = Command::new("sh").args(["-c", command]).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let names: Vec<_> = files.iter().map(|(name, _)| *name).collect();
    made_of(&format!("tar -cf - {}", names.join(" ")), files)
}

fn gzip(content: &[u8]) -> Vec<u8> {
    made_of("gzip -cn content", &[("content", content)])
}

/// A disk with a boot sector's signature.
fn disk(len: usize) -> Vec<u8> {
    let mut disk: Vec<u8> = (0..len).map(|at| (at / 7 % 251) as u8 | 1).collect();
    disk[510..512].copy_from_slice(&[0x55, 0xaa]);
    disk
}

/// Salvages `file`. Returns the disk and its lost ranges.
fn salvaged(file: &[u8], as_stream: bool) -> Result<(Vec<u8>, Vec<Lost>), decant::Error> {
    let case = Case { salvage: true, as_stream, ..Case::new(file.to_vec()) };
    let converted = case.convert(Answers::InOrder, Abilities::default(), 4096);
    converted.result.map(|_| (converted.target.bytes.take(), converted.lost.listed))
}

/// A raw disk of which the archive has only a part.
#[test]
fn a_disk_in_a_cut_archive_is_salvaged() {
    const LEN: usize = 10_000;
    let disk = disk(LEN);
    // (archive, position of the disk in it)
    let archives = [
        (tar(&[("a", &disk)]), BLOCK),
        (tar(&[("README", b"text"), ("disk.raw", &disk)]), 3 * BLOCK),
        (tar(&[("a.tar", &tar(&[("a", &disk)]))]), 2 * BLOCK),
    ];
    for (number, (archive, start)) in archives.iter().enumerate() {
        for len in [0, 1, 511, 512, 513, 4096, 4097, 8191, 9_999] {
            let file = &archive[..start + len];
            let refused = Case::new(file.to_vec()).bytes().unwrap_err();
            assert_eq!(refused.kind, ErrorKind::Corrupt, "{number} {len}");
            assert!(
                refused.message().contains("truncated") && refused.message().ends_with(ADVICE),
                "{number}: {refused}"
            );
            let (found, lost) = salvaged(file, false).unwrap();
            let left = len / BLOCK * BLOCK;
            let expected = [&disk[..left], &vec![0; LEN.next_multiple_of(BLOCK) - left]].concat();
            assert!(found == expected, "{number} {len}: other bytes");
            let rest = Lost { start: GuestOffset(left as u64), len: (LEN - left) as u64, damage: DISK_TRUNCATED };
            assert_eq!(lost, [rest], "{number} {len}");
        }
        // The padding of the last block, and the end mark, are not part of the disk.
        assert_eq!(salvaged(&archive[..start + LEN], false).unwrap().1, [], "{number}");
        assert_eq!(salvaged(archive, false).unwrap().1, [], "{number}");
    }
}

/// A format that records the positions of its data detects missing data; bytes that are not part of the disk are not
/// missed.
#[test]
fn other_members_of_a_cut_archive() {
    let image = small();
    let archive = tar(&[("a.qcow2", &image)]);
    let (found, lost) = salvaged(&archive[..BLOCK + MORE], false).unwrap();
    let missing = lost.iter().map(|lost| (lost.start.0, lost.damage)).collect::<Vec<_>>();
    assert_eq!(missing, [(CLUSTER as u64, CLUSTER_TRUNCATED)]);
    assert!(found[..CLUSTER] == small_disk()[..CLUSTER] && found[CLUSTER..2 * CLUSTER] == [0; CLUSTER]);
    let beside = tar(&[("a.qcow2", &image), ("text", &[b'x'; 2000])]);
    let cut = &beside[..BLOCK + image.len().next_multiple_of(BLOCK) + BLOCK + 700];
    assert_eq!(salvaged(cut, false).unwrap(), (small_disk(), Vec::new()));
    // If a header is truncated, the content of the archive is unknown.
    let in_header = &beside[..BLOCK + image.len().next_multiple_of(BLOCK) + 100];
    assert_eq!(salvaged(in_header, false).unwrap_err().kind, ErrorKind::Corrupt);
}

#[test]
fn sequential_input_is_not_salvaged() {
    let disk = disk(5000);
    let archive = tar(&[("disk.raw", &disk)]);
    // (file, whether it comes as a stream, the container)
    let cases = [
        (gzip(&disk), false, "gzip"),
        (gzip(&disk), true, "gzip"),
        (gzip(&archive), false, "tar"),
        (archive.clone(), true, "tar"),
        (tar(&[("a.gz", &gzip(&disk))]), false, "gzip"),
    ];
    for (file, as_stream, container) in cases {
        let message = format!(
            "A disk in a {container} file, which is decoded in order, cannot be salvaged, since nothing after the damage can \
             be read; unpack the readable part first"
        );
        let error = salvaged(&file, as_stream).unwrap_err();
        assert_eq!((error.kind, error.message()), (ErrorKind::Unsupported, message));
    }
    // As in a raw disk in a file, nothing in it can be damaged.
    let raw = Case { salvage: true, as_stream: true, format: Some("raw".to_owned()), ..Case::new(disk.clone()) };
    assert!(raw.bytes().unwrap()[..5000] == disk);
}

/// Errors in the content of a container name the content; another copy of the container would not help.
#[test]
fn messages_say_what_is_wrong_with_which_file() {
    let (raw, image) = (disk(5000), small());
    let archive = tar(&[("disk.raw", &raw)]);
    let zipped = gzip(&raw);
    let patched = |patches: Patch| changed(image.clone(), patches);
    let entry = |value: u64| value.to_be_bytes();
    let iso = changed(vec![0; HEAD as usize], &[(32_769, b"CD001")]);
    let held = "In the content of the gzip file: ";
    // (what, file, how the message begins, a part of it)
    let cases: &[(&str, Vec<u8>, &str, &str)] = &[
        ("a short image in tar", tar(&[("a.qcow2", &image[..100])]), "In 'a.qcow2': ", "truncated"),
        ("an entry", tar(&[("a.qcow2", &patched(&[(L2, &entry(1 << 40))]))]), "In 'a.qcow2': ", "truncated"),
        ("data", tar(&[("a", &patched(&[(L2, &entry(COMPRESSED | DATA as u64))]))]), "In 'a': ", "does not decompress"),
        ("no format that is read", tar(&[("a.iso", &iso)]), "In 'a.iso': ", "ISO 9660"),
        ("nothing", tar(&[("disk.raw", b"")]), "In 'disk.raw': ", "The file is empty"),
        ("a short archive in tar", tar(&[("a.tar", &archive[..1000])]), "In 'a.tar': ", "truncated"),
        ("a short member in tar", tar(&[("a.gz", &zipped[..100])]), "In 'a.gz': ", "truncated"),
        ("nothing in gzip", gzip(b""), held, "The file is empty"),
        ("a short archive in gzip", gzip(&archive[..1000]), held, "truncated"),
        ("a short file in gzip", gzip(&zipped[..100]), held, "truncated"),
        ("a changed file in gzip", gzip(&changed(zipped.clone(), &[(zipped.len() - 8, &[0; 8])])), held, "checksum"),
    ];
    for (what, file, start, part) in cases {
        let error = Case::new(file.clone()).bytes().unwrap_err();
        let message = error.message();
        let Some(rest) = message.strip_prefix(start) else { panic!("{what}: {error}") };
        assert!(rest.contains(part) && !rest.contains("In ") && !rest.contains(ADVICE), "{what}: {error}");
    }
    // An error of the outermost file names no other file.
    for file in [&zipped[..100], &gzip(&zipped)[..100], &gzip(&archive)[..100], &archive[..1000]] {
        let error = Case::new(file.to_vec()).bytes().unwrap_err();
        assert!(error.message().starts_with("The image is truncated") && error.message().ends_with(ADVICE), "{error}");
    }
}

/// One read of the first bytes identifies a container and a format.
#[test]
fn heads_are_read_once() {
    let (image, raw) = (small(), disk(100_000));
    let head = |len: usize| (len as u64).min(HEAD);
    let over = overlay("b.qcow2", Some("qcow2"));
    let below = 2 * BLOCK + over.len().next_multiple_of(BLOCK);
    // (file, positions of the first bytes of files in it, and their lengths)
    type Row<'a> = (Vec<u8>, &'a [(usize, u64)]);
    let cases: &[Row] = &[
        (image.clone(), &[(0, head(image.len()))]),
        (tar(&[("a.qcow2", &image)]), &[(0, head(10_240)), (BLOCK, head(image.len()))]),
        (tar(&[("text", b"text"), ("a.qcow2", &image)]), &[(0, head(10_240)), (3 * BLOCK, head(image.len()))]),
        (
            tar(&[("a.qcow2", &over), ("b.qcow2", &image)]),
            &[(0, head(10_240)), (BLOCK, head(over.len())), (below, head(image.len()))],
        ),
        (tar(&[("a", &raw)]), &[(0, HEAD), (BLOCK, HEAD)]),
        // Its name identifies it, and its content is compared with that.
        (tar(&[("disk.raw", &raw)]), &[(0, HEAD), (BLOCK, HEAD)]),
    ];
    for (number, (file, heads)) in cases.iter().enumerate() {
        let source = HeldSource::new(file.clone());
        let reading = source.clone();
        let work = async move { decant::open(decant::Input::File(reading), &OpenOptions::default()).await.is_ok() };
        assert!(drive(&source, Answers::InOrder, work).unwrap(), "{number}");
        let reads = source.reads.borrow();
        for &(start, len) in *heads {
            let times = reads.iter().filter(|&&(at, long)| at == start as u64 && long > 512 && long >= len).count();
            assert_eq!(times, usize::from(len > 0), "{number} at {start}: {reads:?}");
        }
    }
}

/// A layer may be in a container if its format is recognised: a guest may write an archive to a raw disk.
#[test]
fn companions_in_containers() {
    let base = small();
    let expected =
        Case { companions: vec![("base".to_owned(), base.clone())], ..Case::new(overlay("base", Some("qcow2"))) };
    let expected = expected.bytes().unwrap();
    let raw = tar(&[("base.qcow2", &base)]);
    let over_raw = [&[0xaa; CLUSTER][..], &raw[CLUSTER..8 * CLUSTER]].concat();
    let cut = &tar(&[("b.qcow2", &base)])[..BLOCK + 100];
    // (the format that is stated, the companion, the disk, or how the message begins and ends)
    type Row<'a> = (Option<&'a str>, Vec<u8>, Result<&'a [u8], (&'a str, &'a str)>);
    let cases: &[Row] = &[
        (Some("qcow2"), tar(&[("b.qcow2", &base)]), Ok(&expected)),
        (Some("qcow2"), tar(&[("a.ovf", b"text"), ("b.qcow2", &base)]), Ok(&expected)),
        (Some("qcow2"), tar(&[("b.tar", &tar(&[("b.qcow2", &base)]))]), Ok(&expected)),
        (Some("raw"), raw.clone(), Ok(&over_raw)),
        (None, raw.clone(), Ok(&over_raw)),
        (
            Some("qcow2"),
            gzip(&base),
            Err((
                "In 'base': The backing file is a gzip-compressed file, which can only be decoded in order, but must be read at any position",
                "; unpack it first",
            )),
        ),
        (
            Some("qcow2"),
            tar(&[("b.gz", &gzip(&base))]),
            Err(("In 'base': In 'b.gz': The backing file", "unpack it first")),
        ),
        (
            Some("qcow2"),
            tar(&[("a", &base), ("b", &base)]),
            Err(("In 'base': The tar archive holds 2 disk images", "")),
        ),
        (Some("qcow2"), tar(&[("b", &base[..100])]), Err(("In 'base': In 'b': The image is truncated", ""))),
        (Some("qcow2"), cut.to_vec(), Err(("In 'base': The image is truncated", ADVICE))),
    ];
    for (number, (format, companion, result)) in cases.iter().enumerate() {
        let companions = vec![("base".to_owned(), companion.clone())];
        let case = Case { companions, ..Case::new(overlay("base", *format)) };
        match (case.bytes(), result) {
            (Ok(found), Ok(disk)) => assert!(found == *disk, "{number}: other bytes"),
            (Err(error), Err((start, end))) => {
                assert!(error.message().starts_with(start) && error.message().ends_with(end), "{number}: {error}");
            }
            (found, _) => panic!("{number}: {:?}", found.map(|bytes| bytes.len())),
        }
    }
}

/// A missing file is needed by the member of an archive, not by the archive.
#[test]
fn a_member_needs_a_missing_file() {
    let top = overlay("base.qcow2", Some("qcow2"));
    let archive = tar(&[("top.qcow2", &top)]);
    let over_archive = Case {
        companions: vec![("middle.tar".to_owned(), archive.clone())],
        ..Case::new(overlay("middle.tar", Some("qcow2")))
    };
    for case in [Case { name: Some("all.tar".to_owned()), ..Case::new(archive) }, over_archive] {
        let error = case.convert(Answers::InOrder, Abilities::default(), 4096).result.unwrap_err();
        assert_eq!(error.fields.get("neededBy"), Some(&Field::from("top.qcow2")), "{error}");
        assert!(error.message().contains("'base.qcow2', the backing file of 'top.qcow2', is missing"), "{error}");
    }
}

/// A name that is not UTF-8 is that of no other file.
#[test]
fn names_that_are_not_utf_8() {
    const UTF_8: u16 = 1 << 11;
    let backing: &[u8] = b"b\xe4se.qcow2";
    let top = changed(overlay("base.qcow2", Some("qcow2")), &[(300, backing)]);
    // (the name of the other file, whether it is the backing file)
    let rows: [(&[u8], bool); 5] = [
        (backing, true),
        (b"b\xf6se.qcow2", false),
        (b"b\xc4se.qcow2", false),
        ("b\u{fffd}se.qcow2".as_bytes(), false),
        ("bäse.qcow2".as_bytes(), false),
    ];
    for (name, is_it) in rows {
        let mut base = member("", b'0', &small());
        base[..name.len()].copy_from_slice(name);
        let header = summed(base[..BLOCK].to_vec());
        base[..BLOCK].copy_from_slice(&header);
        let entry = Entry { name: name.to_vec(), flags: UTF_8, ..Entry::stored("", &small()) };
        let in_zip = Zip::default().made_of(&[Entry::stored("top.qcow2", &top), entry]).0;
        for archive in [archive(&[member("top.qcow2", b'0', &top), base]), in_zip] {
            let disk = Some(DiskChoice::Name("top.qcow2".to_owned()));
            let found = Case { disk, ..Case::new(archive) }.bytes();
            match is_it {
                true => assert!(found.is_ok(), "{name:x?}: {:?}", found.err()),
                false => assert_eq!(&*found.unwrap_err().code, "missing-file", "{name:x?}"),
            }
        }
    }
}

/// A parent in an archive, found by its identity.
#[test]
fn a_parent_in_an_archive() {
    use vdi::Block::{Data, Free, Zero};
    let base = vdi::Vdi::new(4096, &[Data(1), Free, Zero, Data(2)]);
    let child = vdi::Vdi::new(4096, &[Free, Data(4), Free, Free]);
    let child = vdi::Vdi { kind: vdi::DIFFERENCING, id: 2, parent: base.id, parent_state: base.state, ..child };
    let [plain, packed] = [base.file(), tar(&[("base.vdi", &base.file())])].map(|parent| {
        let companions = vec![("text".to_owned(), gzip(b"text")), ("parent".to_owned(), parent)];
        Case { companions, ..Case::new(child.file()) }.bytes().unwrap()
    });
    assert!(plain == packed && plain.iter().any(|&byte| byte != 0));
}
