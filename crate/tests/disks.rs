//! Archives with several disks: their list, its order, and the choice of one.

use crate::common::small::{CLUSTER, DATA, changed, overlay, small, small_disk};
use crate::common::*;
use crate::tar::{archive, content, member};
use decant::error::fields::{Field, Fields};
use decant::io::stream::FileStream;
use decant::open::disk_choice::DiskChoice;
use decant::{Error, ErrorKind, Input, OpenOptions};

fn file(name: &str, data: &[u8]) -> Vec<u8> {
    member(name, b'0', data)
}

/// An image whose disk begins with `byte`.
fn image(byte: u8) -> Vec<u8> {
    changed(small(), &[(DATA, &[byte; CLUSTER])])
}

fn disk(byte: u8) -> Vec<u8> {
    let mut disk = small_disk();
    disk[..CLUSTER].fill(byte);
    disk
}

fn named(name: &str) -> Option<DiskChoice> {
    Some(DiskChoice::Name(name.to_owned()))
}

fn number(number: u64) -> Option<DiskChoice> {
    Some(DiskChoice::Number(number))
}

/// The names of the disks that the error lists.
fn listed(error: &Error) -> Vec<String> {
    let Some(Field::List(disks)) = error.fields.get("disks") else { panic!("{error}: no list") };
    let name = |disk: &Fields| match disk.get("name") {
        Some(Field::Text(name)) => name.clone(),
        _ => panic!("{error}: no name"),
    };
    disks.iter().map(name).collect()
}

/// A descriptor whose disks are `files`, in this order.
fn ovf(files: &[&str]) -> String {
    let entries = |entry: &dyn Fn(usize, &str) -> String| -> String {
        files.iter().enumerate().map(|(at, file)| entry(at, file)).collect()
    };
    // The files are listed in another order.
    let files = entries(&|at, file| format!("<File ovf:id=\"file{at}\" ovf:href=\"{file}\"/>"));
    let disks = entries(&|at, _| format!("<Disk ovf:diskId=\"vmdisk{at}\" ovf:fileRef=\"file{at}\"/>"));
    format!(
        "<?xml version=\"1.0\"?>\n<Envelope><References>{files}</References>\n<DiskSection>{disks}</DiskSection></Envelope>"
    )
}

fn disks_in(members: &[Vec<u8>]) -> Vec<String> {
    listed(&Case::new(archive(members)).bytes().unwrap_err())
}

#[test]
fn one_of_several_is_chosen() {
    let descriptor = ovf(&["c.qcow2", "a.qcow2"]);
    let members = [
        file("vm/a.qcow2", &image(1)),
        file("vm/b.qcow2", &image(2)),
        file("vm/c.qcow2", &image(3)),
        file("vm/m.ovf", descriptor.as_bytes()),
        file("other/d.qcow2", &image(4)),
        file("more/d.qcow2", &image(5)),
        file("README", b"text"),
    ];
    let all = ["vm/c.qcow2", "vm/a.qcow2", "vm/b.qcow2", "other/d.qcow2", "more/d.qcow2"];
    let packed = archive(&members);
    // (choice, the disk or the code)
    let rows = [
        (None, Err("several-images")),
        (number(1), Ok(3)),
        (number(2), Ok(1)),
        (number(5), Ok(5)),
        (number(0), Err("no-such-disk")),
        (number(6), Err("no-such-disk")),
        (number(u64::MAX), Err("no-such-disk")),
        (named("vm/b.qcow2"), Ok(2)),
        (named("b.qcow2"), Ok(2)),
        (named("other/d.qcow2"), Ok(4)),
        // Two have this name.
        (named("d.qcow2"), Err("no-such-disk")),
        (named("B.qcow2"), Err("no-such-disk")),
        (named("x/b.qcow2"), Err("no-such-disk")),
        (named(""), Err("no-such-disk")),
    ];
    for (choice, expected) in rows {
        let case = Case { disk: choice.clone(), ..Case::new(packed.clone()) };
        match (case.bytes(), expected) {
            (Ok(bytes), Ok(byte)) => {
                assert!(bytes == disk(byte), "{choice:?}: other bytes");
                let options = OpenOptions { disk: choice.clone(), ..OpenOptions::default() };
                let opened = open_bytes(packed.clone(), options).unwrap();
                let found: Vec<_> = opened.disks().iter().map(|disk| &*disk.name).collect();
                assert_eq!(found, all, "{choice:?}");
                let format = opened.disks().iter().map(|disk| (disk.size, disk.format));
                assert!(format.eq([(small().len() as u64, Some("qcow2")); 5]), "{choice:?}");
            }
            (Err(error), Err(code)) => {
                assert_eq!((error.kind, &*error.code), (ErrorKind::Usage, code), "{choice:?}: {error}");
                assert_eq!(listed(&error), all, "{choice:?}: {error}");
            }
            (found, _) => panic!("{choice:?}: {:?}", found.map(|bytes| bytes[0])),
        }
    }
}

/// With one disk, only that can be chosen.
#[test]
fn the_only_disk() {
    let ova = archive(&[file("a.ovf", ovf(&["d.qcow2"]).as_bytes()), file("vm/d.qcow2", &image(1))]);
    let alone = archive(&[file("d.qcow2", &image(1))]);
    let around = archive(&[file("d.qcow2", &ova)]);
    for (what, packed) in [("an OVA", ova), ("a tar", alone), ("a tar in a tar", around)] {
        for choice in [None, number(1), named("d.qcow2")] {
            let case = Case { disk: choice, ..Case::new(packed.clone()) };
            assert!(case.bytes() == Ok(disk(1)), "{what}: {:?}", case.disk);
        }
        for choice in [number(2), named("e")] {
            let error = Case { disk: choice, ..Case::new(packed.clone()) }.bytes().unwrap_err();
            assert_eq!((error.kind, &*error.code), (ErrorKind::Usage, "no-such-disk"), "{what}: {error}");
            assert_eq!(listed(&error).len(), 1, "{what}: {error}");
        }
    }
}

/// Nothing can be chosen outside of an archive that is read at any position.
#[test]
fn nothing_to_choose_from() {
    let raw = content();
    let gzip = filter("gzip", &["-cn"], &archive(&[file("disk.raw", &raw)]));
    let ova = archive(&[file("a", &image(1)), file("b", &image(2))]);
    let chosen = |image: Vec<u8>| Case { disk: number(1), ..Case::new(image) };
    let cases = [
        ("an image", chosen(image(1))),
        ("gzip", chosen(filter("gzip", &["-cn"], &raw))),
        ("a stream", Case { as_stream: true, ..chosen(gzip) }),
        ("a stated format", Case { format: Some("raw".to_owned()), ..chosen(ova) }),
    ];
    for (what, case) in cases {
        let error = case.bytes().unwrap_err();
        assert_eq!((error.kind, &*error.code), (ErrorKind::Usage, "no-such-disk"), "{what}: {error}");
        assert!(listed(&error).is_empty(), "{what}: {error}");
    }
}

/// An archive that is read in order has one disk.
#[test]
fn the_disk_of_an_archive_in_order() {
    let raw = content();
    let gzip = |file: Vec<u8>| filter("gzip", &["-cn"], &file);
    // (the file, the disk's name, and its format if it is not guessed)
    let rows = [
        (gzip(archive(&[file("disk.raw", &raw)])), Some(("disk.raw", Some("raw")))),
        (gzip(archive(&[file("vm/a.img", &raw)])), Some(("vm/a.img", None))),
        (archive(&[file("disk.raw.gz", &gzip(raw.clone()))]), Some(("disk.raw.gz", None))),
        (gzip(raw.clone()), None),
    ];
    for (image, expected) in rows {
        let source = HeldSource::new(image);
        let stream = Box::new(FileStream::new(source.clone()));
        for input in [Input::File(source.clone()), Input::Stream(stream)] {
            let work = async move { open(input, &OpenOptions::default()).await };
            let Ok(Opened::Streamed(image)) =
                drive(&source, Answers::InOrder, work).expect("opening waits for nothing")
            else {
                panic!("it is not read in order")
            };
            let found: Vec<_> = image.disks().iter().map(|disk| (&*disk.name, disk.format)).collect();
            assert_eq!(found, Vec::from_iter(expected));
            let of_raw = image.disks().iter().filter(|disk| !disk.name.ends_with(".gz"));
            assert!(of_raw.map(|disk| disk.size).all(|size| size == raw.len() as u64));
        }
    }
}

#[test]
fn archives_in_archives() {
    let two = |first: u8| archive(&[file("a", &image(first)), file("b", &image(first + 1))]);
    let around = archive(&[file("README", b"text"), file("vm.ova", &two(1))]);
    // The only image is an archive with several.
    let error = Case::new(around.clone()).bytes().unwrap_err();
    assert_eq!((error.kind, listed(&error)), (ErrorKind::Usage, vec!["a".to_owned(), "b".to_owned()]), "{error}");
    assert!(Case { disk: number(2), ..Case::new(around) }.bytes() == Ok(disk(2)));
    // The chosen one is an archive with several.
    let both = archive(&[file("one.ova", &two(1)), file("two.ova", &two(3)), file("c", &image(5))]);
    let error = Case { disk: number(1), ..Case::new(both.clone()) }.bytes().unwrap_err();
    assert_eq!((error.kind, &*error.code), (ErrorKind::Unsupported, "several-images"), "{error}");
    assert!(Case { disk: number(3), ..Case::new(both) }.bytes() == Ok(disk(5)));
    // A companion is an archive with several.
    let companions = vec![("base".to_owned(), two(1))];
    let error = Case { companions, ..Case::new(overlay("base", Some("qcow2"))) }.bytes().unwrap_err();
    assert_eq!((error.kind, &*error.code), (ErrorKind::Unsupported, "several-images"), "{error}");
}

/// A disk can be chosen from the only archive in an archive, also if that must be unpacked first. Anything else in the outer one is
/// chosen there.
#[test]
fn choices_in_packed_archives() {
    let gzip = |file: Vec<u8>| filter("gzip", &["-cn"], &file);
    let raw = content();
    let inner = archive(&[file("a", b"text"), file("disk.raw", &raw)]);
    let beside = |name: &str, packed: Vec<u8>| archive(&[file("README", b"text"), file(name, &packed)]);
    // (what, archive, choice, what it is: a packed file of that name, a raw disk, or the code of the error)
    let rows = [
        ("no choice", beside("x.tar.gz", gzip(inner.clone())), None, Ok(None)),
        ("a disk inside", beside("x.tar.gz", gzip(inner.clone())), named("disk.raw"), Ok(Some("tar"))),
        ("a file inside", beside("x.tar.gz", gzip(inner.clone())), named("a"), Ok(Some("tar"))),
        ("a number", beside("x.tar.gz", gzip(inner.clone())), number(1), Ok(Some("tar"))),
        ("the archive itself", beside("x.tar.gz", gzip(inner.clone())), named("x.tar.gz"), Ok(None)),
        ("no archive inside", beside("x.gz", gzip(raw.clone())), named("x.gz"), Ok(None)),
        ("another name", beside("x.gz", gzip(raw.clone())), named("disk.raw"), Err("no-such-disk")),
        ("an image inside", beside("x.gz", gzip(image(1))), named("x.gz"), Ok(Some("qcow2"))),
        ("another name of an image", beside("x.gz", gzip(image(1))), named("disk.raw"), Err("no-such-disk")),
        ("an image without an archive", gzip(image(1)), number(1), Err("no-such-disk")),
        (
            "one of two archives",
            archive(&[file("x.tar.gz", &gzip(inner.clone())), file("y.tar.gz", &gzip(inner))]),
            number(2),
            Ok(None),
        ),
    ];
    for (what, packed, disk, expected) in rows {
        let options = OpenOptions { disk, spool: true, ..OpenOptions::default() };
        let source = HeldSource::new(packed);
        let input = Input::File(source.clone());
        let work = async move { open(input, &options).await };
        let found = match drive(&source, Answers::InOrder, work).expect("opening waits for nothing") {
            Ok(Opened::Streamed(image)) => Ok(image.is_packed().then(|| image.info().format)),
            Ok(_) => panic!("{what}"),
            Err(error) => Err(error.code.to_string()),
        };
        assert_eq!(found, expected.map_err(str::to_owned), "{what}");
    }
}

/// Each disk finds its own companions; files below another one are not listed.
#[test]
fn chains_of_several_disks() {
    let members = [
        file("base", &image(1)),
        file("top", &overlay("base", Some("qcow2"))),
        file("other", &image(2)),
        file("a.ovf", ovf(&["other", "base", "top"]).as_bytes()),
    ];
    let packed = archive(&members);
    assert_eq!(disks_in(&members), ["other", "top"]);
    assert!(Case { disk: number(1), ..Case::new(packed.clone()) }.bytes() == Ok(disk(2)));
    let alone = Case { companions: vec![("base".to_owned(), image(1))], ..Case::new(overlay("base", Some("qcow2"))) };
    assert!(Case { disk: number(2), ..Case::new(packed) }.bytes() == alone.bytes());
}

/// `ovf:compression="gzip"`, and `ovf:chunkSize`.
#[test]
fn compressed_disks_and_disks_in_pieces() {
    let raw = content();
    let packed = filter("gzip", &["-cn"], &raw);
    let pieces =
        image(1).chunks(1000).enumerate().map(|(at, part)| file(&format!("d.{at:09}"), part)).collect::<Vec<_>>();
    let descriptor = ovf(&["disk.raw.gz", "d"]);
    let members = [vec![file("a.ovf", descriptor.as_bytes())], pieces, vec![file("disk.raw.gz", &packed)]].concat();
    assert_eq!(disks_in(&members), ["disk.raw.gz", "d"]);
    let bytes = |choice| Case { disk: choice, ..Case::new(archive(&members)) }.bytes();
    assert!(bytes(number(1)) == Ok([&raw[..], &[0; 352]].concat()));
    assert!(bytes(number(2)) == Ok(disk(1)));
}

#[test]
fn manifests_of_several_disks() {
    let sum = |data: &[u8]| String::from_utf8(filter("sha256sum", &["-b"], data)).unwrap()[..64].to_owned();
    let line = |name: &str, digest: &str| format!("SHA256({name})= {digest}\n");
    let lines = line("a", &sum(&image(1))) + &line("b", &"0".repeat(64));
    let with = |lines: &str| archive(&[file("a.mf", lines.as_bytes()), file("a", &image(1)), file("b", &image(2))]);
    let choose = |lines: &str, at| Case { disk: number(at), ..Case::new(with(lines)) };
    // All files that it lists are compared.
    for at in [1, 2] {
        assert_eq!(&*choose(&lines, at).bytes().unwrap_err().code, "manifest-mismatch", "{at}");
    }
    let one = line("a", &sum(&image(1)));
    for (at, expected) in [(1, 0), (2, 1)] {
        let converted = choose(&one, at).convert(Answers::InOrder, decant::io::target::Abilities::default(), 4096);
        converted.result.unwrap();
        assert_eq!(converted.notices.len(), expected, "{at}: {:?}", converted.notices);
    }
}

#[test]
fn the_name_of_the_machine() {
    let descriptor =
        ovf(&["a"]).replace("</Envelope>", "<VirtualSystem id='vm'><Name>web</Name></VirtualSystem></Envelope>");
    let descriptor = file("vm.ovf", descriptor.as_bytes());
    let info = |members: &[Vec<u8>]| {
        let opened = open_bytes(archive(members), OpenOptions::default()).unwrap();
        opened.info().machine
    };
    assert_eq!(info(&[descriptor.clone(), file("a", &image(1))]).as_deref(), Some("web"));
    assert_eq!(info(&[file("a", &image(1)), descriptor.clone()]).as_deref(), Some("web"), "the descriptor at the end");
    assert_eq!(info(&[file("vm.ovf", ovf(&["a"]).as_bytes()), file("a", &image(1))]), None);
    assert_eq!(info(&[file("a", &image(1))]), None);
    let several = [descriptor, file("a", &image(1)), file("b", &image(2))];
    let error = Case::new(archive(&several)).bytes().unwrap_err();
    assert_eq!(error.fields.get("machine"), Some(&Field::Text("web".to_owned())));
}

/// The order of the list: of archives without a descriptor, and with odd ones.
#[test]
fn the_order_of_disks() {
    let right = ovf(&["b", "a"]);
    let huge = " ".repeat(1 << 20);
    let utf16 = |order: fn(u16) -> [u8; 2]| format!("\u{feff}{right}").encode_utf16().flat_map(order).collect();
    // (what, name, descriptor, whether it decides)
    let rows: &[(&str, &str, Vec<u8>, bool)] = &[
        ("right", "a.ovf", right.clone().into(), true),
        ("an upper-case suffix", "A.OVF", right.clone().into(), true),
        ("a mark", "a.ovf", format!("\u{feff}{right}").into(), true),
        ("UTF-16", "a.ovf", utf16(u16::to_le_bytes), true),
        ("UTF-16BE", "a.ovf", utf16(u16::to_be_bytes), true),
        ("escaped paths", "a.ovf", ovf(&["./%62", "x/../&#97;"]).into(), true),
        ("another suffix", "a.xml", right.clone().into(), false),
        ("another folder", "x/a.ovf", right.clone().into(), true),
        ("too large", "a.ovf", (right.clone() + &huge).into(), false),
        ("cut", "a.ovf", right[..right.len() / 2].into(), false),
        ("empty", "a.ovf", vec![], false),
        ("other files", "a.ovf", ovf(&["c", "d"]).into(), false),
        ("garbage", "a.ovf", (0..=255).cycle().take(5000).collect(), false),
        ("too many files", "a.ovf", ovf(&[&["c"; 5000][..], &["b", "a"]].concat()).into(), false),
        ("many files", "a.ovf", ovf(&[&["b"; 4000][..], &["a"]].concat()).into(), true),
    ];
    for (what, name, descriptor, decides) in rows {
        let members = [file("a", &image(1)), file("b", &image(2)), file(name, descriptor)];
        let expected = if *decides { ["b", "a"] } else { ["a", "b"] };
        assert_eq!(disks_in(&members), expected, "{what}");
    }
    // Without a descriptor: the order of the archive, and of disks with one name.
    let twins = [file("b", &image(1)), file("a", &image(2)), file("b", &image(3))];
    assert_eq!(disks_in(&twins), ["b", "a", "b"]);
    assert_eq!(disks_in(&[&twins[..], &[file("x.ovf", ovf(&["a", "b"]).as_bytes())]].concat()), ["a", "b", "b"]);
    for (at, byte) in [(1, 1), (2, 2), (3, 3)] {
        assert!(Case { disk: number(at), ..Case::new(archive(&twins)) }.bytes() == Ok(disk(byte)), "{at}");
    }
}

/// A question is an answer of its own kind, with the error for a caller that cannot answer it.
#[test]
fn questions_are_no_errors() {
    use decant::open::Opened;
    let gzip = |file: Vec<u8>| filter("gzip", &["-cn"], &file);
    let two = archive(&[file("a", &image(1)), file("b", &image(2))]);
    let unknown = archive(&[file("a", b"text"), file("b", &[7; 4096])]);
    let packed = archive(&[file("two.tar", &two), file("c", &image(3))]);
    let chosen = |disk| OpenOptions { disk, ..OpenOptions::default() };
    let is_chosen = || OpenOptions { is_chosen: true, ..OpenOptions::default() };
    // (what, file, options, the answer: an error is a code without a name)
    let rows = [
        ("an image", image(1), chosen(None), "image"),
        ("one of two", two.clone(), chosen(number(2)), "image"),
        ("two", two.clone(), chosen(None), "choice: several-images"),
        ("two in two archives", archive(&[file("two.tar", &two)]), chosen(None), "choice: several-images"),
        ("no image", unknown.clone(), chosen(None), "choice: no-image"),
        ("two in a chosen file", two.clone(), is_chosen(), ": several-images"),
        ("no image in a chosen file", unknown, is_chosen(), ": no-image"),
        ("one in a chosen file", archive(&[file("a", &image(1))]), is_chosen(), "image"),
        ("two in a chosen member", packed, chosen(number(1)), ": several-images"),
        ("a raw disk", gzip(content()), chosen(None), "in order"),
        ("a packed image", gzip(image(1)), chosen(None), "room: needs-spool"),
        ("packed images", gzip(two), chosen(number(2)), "room: needs-spool"),
        ("another disk", image(1), chosen(number(1)), ": no-such-disk"),
    ];
    for (what, bytes, options, expected) in rows {
        for spool in [false, true] {
            let options = OpenOptions { spool, ..options.clone() };
            let source = HeldSource::new(bytes.clone());
            let input = Input::File(source.clone());
            let work = async move { decant::open(input, &options).await };
            let answer = match drive(&source, Answers::InOrder, work).expect("opening waits for nothing") {
                Ok(Opened::Image(_)) => "image".to_owned(),
                Ok(Opened::Streamed(_)) => "in order".to_owned(),
                Ok(Opened::Machine(_)) => "machine".to_owned(),
                Ok(Opened::Choice(choice)) => format!("choice: {}", choice.refusal().code),
                Ok(Opened::RoomNeeded(room)) => format!("room: {}", room.refusal.code),
                Err(error) => format!(": {}", error.code),
            };
            assert_eq!(answer, expected, "{what}");
        }
    }
}
