//! Images in zip archives: made by Python, and by hand for what no program makes.

use crate::common::each_run::nowhere;
use crate::common::small::{Patch, changed, overlay, small, small_disk};
use crate::common::vhd::{FIXED, Vhd};
use crate::common::zip::{Entry, Zip};
use crate::common::*;
use crate::tar::content;
use decant::container::part::PartDecoder;
use decant::convert::{Cancel, InOrder, Output};
use decant::crypt::Keys;
use decant::disk::info::ContainerInfo;
use decant::error::fields::Field;
use decant::io::target::Abilities;
use decant::native::{Inline, InlineParts};
use decant::offsets::HostOffset;
use decant::open::disk_choice::DiskChoice;
use decant::output::{Options, Stamp, by_name};
use decant::{Error, ErrorKind, Input, OpenOptions, Source};
use decant_codec::crc::{crc32, joined, of_zeros};
use futures_executor::block_on;
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::deflate::core::{
    CompressorOxide, TDEFLFlush, TDEFLStatus, compress, create_comp_flags_from_zip_params,
};
use std::process::Command;
use std::rc::Rc;

fn zip(entries: &[Entry]) -> Vec<u8> {
    Zip::default().made_of(entries).0
}

/// A disk of `content`, padded to whole sectors.
fn raw_disk() -> Vec<u8> {
    [&content()[..], &[0; 352]].concat()
}

/// The members of `containers` of the image in `file`.
fn containers(file: &[u8]) -> Vec<(&'static str, Option<String>)> {
    let found = info_of(file.to_vec()).containers;
    found.into_iter().map(|ContainerInfo { name, member }| (name, member)).collect()
}

fn code_of(error: &Error) -> &str {
    &error.code
}

/// Python in a new folder that has the files. Returns the archive that it makes, `a.zip`.
fn python(script: &str, files: &[(&str, &[u8])]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    let script = format!("import zipfile, io, sys\nfrom zipfile import *\n{script}");
    let made = Command::new("python3").args(["-c", &script]).current_dir(folder.path()).output().unwrap();
    assert!(made.status.success(), "{script}: {}", String::from_utf8_lossy(&made.stderr));
    std::fs::read(folder.path().join("a.zip")).unwrap()
}

#[test]
fn archives_of_python() {
    // (what, script, the member)
    let rows = [
        ("stored", "z = ZipFile('a.zip', 'w'); z.write('disk')", "disk"),
        ("deflated", "z = ZipFile('a.zip', 'w', ZIP_DEFLATED); z.write('disk')", "disk"),
        ("a comment", "z = ZipFile('a.zip', 'w'); z.write('disk'); z.comment = b'x' * 65535", "disk"),
        (
            "a comment with a signature",
            "z = ZipFile('a.zip', 'w'); z.write('disk'); z.comment = b'PK\\5\\6' + b'x' * 30",
            "disk",
        ),
        (
            "zip64 of the file",
            "z = ZipFile('a.zip', 'w'); z.open('disk', 'w', force_zip64=True).write(open('disk', 'rb').read())",
            "disk",
        ),
        (
            "to a stream",
            "class S(io.RawIOBase):\n  def writable(s): return True\n  def write(s, b): return f.write(b)\nf = open('a.zip', 'wb'); z = ZipFile(S(), 'w', ZIP_DEFLATED); z.write('disk')",
            "disk",
        ),
        (
            "to a stream, stored",
            "class S(io.RawIOBase):\n  def writable(s): return True\n  def write(s, b): return f.write(b)\nf = open('a.zip', 'wb'); z = ZipFile(S(), 'w'); z.write('disk')",
            "disk",
        ),
        ("folders", "z = ZipFile('a.zip', 'w'); z.writestr('x/', ''); z.write('disk', 'x/disk')", "x/disk"),
        ("a name in UTF-8", "z = ZipFile('a.zip', 'w'); z.write('disk', 'über/disk')", "über/disk"),
        (
            "a file added",
            "z = ZipFile('a.zip', 'w'); z.writestr('x/', ''); z.close(); z = ZipFile('a.zip', 'a'); z.write('disk')",
            "disk",
        ),
        (
            "AppleDouble",
            "z = ZipFile('a.zip', 'w', ZIP_DEFLATED); z.write('disk'); z.writestr('__MACOSX/._disk', b'\\0\\5\\x16\\7')",
            "disk",
        ),
        (
            "a link",
            "z = ZipFile('a.zip', 'w'); z.write('disk'); i = ZipInfo('link'); i.create_system = 3; i.external_attr = 0o120777 << 16; z.writestr(i, 'disk')",
            "disk",
        ),
    ];
    for (what, script, member) in rows {
        for (image, disk) in [(small(), small_disk()), (content(), raw_disk())] {
            let file = python(&format!("{script}; z.close()"), &[("disk", &image)]);
            let is_qcow2 = image.starts_with(b"QFI");
            match Case::new(file.clone()).bytes() {
                Ok(found) => assert!(found == disk, "{what}: other bytes"),
                Err(error) => {
                    let is_expected =
                        is_qcow2 && (what.contains("deflated") || what == "to a stream" || what == "AppleDouble");
                    assert!(is_expected, "{what}: {error}");
                    assert!(error.message().starts_with("The zip file holds qcow2"), "{what}: {error}");
                    continue;
                }
            }
            assert_eq!(containers(&file), [("zip", Some(member.to_owned()))], "{what}");
        }
    }
}

/// Archives by hand are what Python reads, too.
#[test]
fn archives_by_hand_are_read_by_python() {
    let entries = [Entry::stored("a", &content()), Entry::deflated("b", &content())];
    let plain = Zip::default();
    let ways = [
        plain,
        Zip { comment: b"text", ..plain },
        Zip { zip64: true, ..plain },
        Zip { streamed: true, ..plain },
        Zip { zip64: true, streamed: true, ..plain },
        Zip { prefix: b"PK\x03\x04prefix", ..plain },
        Zip { prefix: b"PK\x03\x04prefix", counts_prefix: true, ..plain },
        Zip { prefix: b"PK\x03\x04prefix", zip64: true, ..plain },
    ];
    for (number, way) in ways.into_iter().enumerate() {
        let (file, _) = way.made_of(&entries);
        if !way.zip64 || way.prefix.is_empty() {
            // Python does not find zip64 records after a prefix.
            python("assert ZipFile('a.zip').testzip() is None", &[("a.zip", &file)]);
            let followed = [&file[..], &[0; 4096]].concat();
            python("assert ZipFile('a.zip').testzip() is None", &[("a.zip", &followed)]);
        }
        for entry in &entries {
            let (file, _) = way.made_of(std::slice::from_ref(entry));
            assert!(Case::new(file.clone()).bytes() == Ok(raw_disk()), "{number}: other bytes");
            let name = String::from_utf8(entry.name.clone()).unwrap();
            assert_eq!(containers(&file), [("zip", Some(name))], "{number}");
        }
    }
}

#[test]
fn which_member_is_the_image() {
    let (qcow2, raw) = (small(), content());
    let link = Entry { made_by: 3 << 8, attributes: 0o120_777 << 16, ..Entry::stored("link", &qcow2) };
    let file = Entry { made_by: 3 << 8, attributes: 0o100_644 << 16, ..Entry::stored("a", &qcow2) };
    let pipe = Entry { made_by: 3 << 8, attributes: 0o010_660 << 16, ..Entry::stored("-", &qcow2) };
    let text = Entry::deflated("README", b"text");
    let stored = |name: &str| Entry::stored(name, &qcow2);
    let deflated = |name: &str| Entry::deflated(name, &qcow2);
    let gzipped = filter("gzip", &["-cn"], &raw);
    let tar = crate::tar::archive(&[crate::tar::member("disk.raw", b'0', &raw)]);
    let bad = Entry { crc32: 1, ..Entry::deflated("bad", b"text") };
    let in_order = "The zip file holds qcow2, which cannot be read inside it; unpack it first";
    // (what, entries, the containers' members, or code and a part of the message)
    type Expected<'a> = Result<&'a [(&'a str, Option<&'a str>)], (&'a str, &'a str)>;
    let rows: &[(&str, Vec<Entry>, Expected)] = &[
        ("an image with a text", vec![text.clone(), stored("a")], Ok(&[("zip", Some("a"))])),
        (
            "an image with a text that begins with a version",
            vec![Entry::deflated("VERSION", b"version=1.0\n"), stored("a")],
            Ok(&[("zip", Some("a"))]),
        ),
        ("a regular file of Unix, and a link", vec![link, file], Ok(&[("zip", Some("a"))])),
        ("from a pipe, by zip", vec![pipe], Ok(&[("zip", Some("-"))])),
        ("folders", vec![stored("x/"), stored("y\\"), stored("x/a")], Ok(&[("zip", Some("x/a"))])),
        ("a file of macOS", vec![stored("a"), stored("__MACOSX/._a")], Ok(&[("zip", Some("a"))])),
        ("a deflated image", vec![deflated("a")], Err(("needs-spool", in_order))),
        ("a deflated image with a text", vec![deflated("a"), text.clone()], Err(("needs-spool", in_order))),
        (
            "a deflated raw disk",
            vec![text.clone(), Entry::deflated("disk.raw", &raw)],
            Ok(&[("zip", Some("disk.raw"))]),
        ),
        (
            "a deflated image named disk.raw",
            vec![Entry::deflated("x/disk.raw", &raw)],
            Ok(&[("zip", Some("x/disk.raw"))]),
        ),
        (
            "gzip, deflated",
            vec![text.clone(), Entry::deflated("a.gz", &gzipped)],
            Ok(&[("zip", Some("a.gz")), ("gzip", None)]),
        ),
        ("gzip, stored", vec![Entry::stored("a.gz", &gzipped)], Ok(&[("zip", Some("a.gz")), ("gzip", None)])),
        (
            "tar, deflated",
            vec![Entry::deflated("a.tar", &tar)],
            Ok(&[("zip", Some("a.tar")), ("tar", Some("disk.raw"))]),
        ),
        (
            "zip, stored",
            vec![Entry::stored("a.zip", &zip(&[Entry::deflated("b", &raw)]))],
            Ok(&[("zip", Some("a.zip")), ("zip", Some("b"))]),
        ),
        (
            "zip, deflated",
            vec![Entry::deflated("a.zip", &zip(&[stored("b")]))],
            Err(("needs-spool", "The zip file holds a zip archive, which cannot be read inside it")),
        ),
        (
            "nested too deeply",
            (0..4).fold(vec![stored("a")], |inner, _| vec![Entry::stored("a", &zip(&inner))]),
            Err(("limit", "4 containers")),
        ),
        ("two images", vec![stored("a"), deflated("b")], Err(("several-images", "2 disk images, 'a', 'b'"))),
        ("no file", vec![], Err(("no-image", "The zip archive holds no file"))),
        ("a raw disk with a text", vec![text.clone(), Entry::deflated("a", &raw)], Ok(&[("zip", Some("a"))])),
        ("a stored raw disk with a text", vec![text.clone(), Entry::stored("a", &raw)], Ok(&[("zip", Some("a"))])),
        ("no image", vec![text.clone(), Entry::deflated("a", b"text")], Err(("no-image", "'README', 'a'"))),
        ("a text", vec![text.clone()], Err(("not-a-disk", "In 'README': "))),
        ("an empty file", vec![Entry::deflated("a", b"")], Err(("empty", "In 'a': The file is empty"))),
        ("files beside a disk", vec![Entry::deflated("a.ovf", b"x")], Err(("no-image", "such as 'a.ovf'"))),
        ("a damaged text", vec![stored("a"), bad], Err(("zip-damaged", "In 'bad': The image is corrupt"))),
    ];
    for (what, entries, expected) in rows {
        let file = zip(entries);
        match (Case::new(file.clone()).bytes(), expected) {
            (Ok(found), Ok(members)) => {
                let disk = if found.len() == small_disk().len() { small_disk() } else { raw_disk() };
                assert!(found == disk, "{what}: other bytes");
                let found = containers(&file);
                let found: Vec<_> = found.iter().map(|(name, member)| (*name, member.as_deref())).collect();
                assert_eq!(found, *members, "{what}");
            }
            (Err(error), Err((code, part))) => {
                assert_eq!(code_of(&error), *code, "{what}: {error}");
                assert!(error.message().contains(part), "{what}: {error}");
            }
            (found, _) => panic!("{what}: {:?}", found.map(|bytes| bytes.len())),
        }
    }
    // A zip archive needs random access.
    let file = zip(&[Entry::stored("disk.raw", &raw)]);
    for (case, part) in [
        (Case { as_stream: true, ..Case::new(file.clone()) }, "The stream is a zip archive, which must be read at any"),
        (
            Case::new(filter("gzip", &["-c"], &file)),
            "The gzip file holds a zip archive, which cannot be read inside it",
        ),
    ] {
        let error = case.bytes().unwrap_err();
        assert!(code_of(&error) == "needs-spool" && error.message().starts_with(part), "{error}");
        assert!(Case { spool: true, ..case }.bytes().unwrap() == file, "{part}");
    }
    // What is deflated is unpacked as it is.
    for content in [small(), file] {
        let packed = zip(&[Entry::deflated("a", &content)]);
        assert!(Case { spool: true, ..Case::new(packed) }.bytes().unwrap() == content);
    }
}

#[test]
fn one_of_several_is_chosen() {
    let raw = filter("gzip", &["-cn"], &content());
    let entries = [Entry::stored("a", &small()), Entry::deflated("b", &raw), Entry::deflated("c", &small())];
    let file = zip(&entries);
    for (number, expected) in
        [(1, Ok(small_disk())), (2, Ok(raw_disk())), (3, Err("needs-spool")), (4, Err("no-such-disk"))]
    {
        let case = Case { disk: Some(DiskChoice::Number(number)), ..Case::new(file.clone()) };
        assert!(case.bytes().map_err(|error| error.code.to_string()) == expected.map_err(str::to_owned), "{number}");
    }
    let image =
        open_bytes(file, OpenOptions { disk: Some(DiskChoice::Name("a".to_owned())), ..OpenOptions::default() });
    let disks: Vec<_> = image.unwrap().disks().iter().map(|disk| (disk.name.clone(), disk.size, disk.format)).collect();
    let size = small().len() as u64;
    let expected = [("a", size, Some("qcow2")), ("b", raw.len() as u64, None), ("c", size, Some("qcow2"))];
    assert_eq!(disks, expected.map(|(name, size, format)| (name.to_owned(), size, format)));
}

/// Deflated data of many windows, and data whose start expands to nothing.
#[test]
fn large_deflated_members() {
    let mut random = random::Random::new(1);
    let noise: Vec<u8> = (0..700_000).map(|_| random.byte()).collect();
    let disk = [&noise[..], &vec![0; 2_000_000], &content(), &noise[..300_096]].concat();
    let disk = [&disk[..], &vec![0; disk.len().next_multiple_of(512) - disk.len()]].concat();
    for level in [0, 1, 6] {
        let entry = Entry { data: compress_to_vec(&disk, level), ..Entry::deflated("disk.raw", &disk) };
        let file = zip(&[Entry::deflated("README", &noise), entry]);
        assert!(Case::new(file).bytes() == Ok(disk.clone()), "level {level}");
    }
    let empty = [0, 0, 0, 0xff, 0xff].repeat(60_000);
    let entry = Entry::deflated("a", &disk);
    let late = Entry { data: [empty, entry.data.clone()].concat(), ..entry };
    let error = Case::new(zip(&[late])).bytes().unwrap_err();
    assert!(error.kind == ErrorKind::Corrupt && error.message().starts_with("In 'a': "), "{error}");
}

/// The most that is inflated to read a deflated file at any position.
const LARGEST_AT_ANY_POSITION: usize = 64 << 10;

/// Other files of the archive: a deflated one is never mistaken for its compressed bytes.
#[test]
fn files_beside_the_image() {
    let (top, base) = (overlay("base.qcow2", Some("qcow2")), small());
    let chain = |base: Entry| zip(&[Entry::stored("top.qcow2", &top), base]);
    let expected = Case { companions: vec![("base.qcow2".to_owned(), base.clone())], ..Case::new(top.clone()) }.bytes();
    assert!(Case::new(chain(Entry::stored("base.qcow2", &base))).bytes() == expected, "a chain");
    assert!(Case::new(chain(Entry::deflated("base.qcow2", &base))).bytes() == expected, "a chain, deflated");
    let large = |bytes: &[u8]| [bytes, &vec![0; LARGEST_AT_ANY_POSITION]].concat();
    let error = Case::new(chain(Entry::deflated("base.qcow2", &large(&base)))).bytes().unwrap_err();
    let part = "'base.qcow2' is compressed in the zip archive, but must be read at any position; allow a temporary file to \
                unpack the archive to (spool, --spool), extract it first, or use zip -0";
    assert!(code_of(&error) == "not-in-order" && error.message().ends_with(part), "{error}");
    // What the image is, for those that do not unpack it.
    assert_eq!(error.fields.get("format"), Some(&Field::Text("qcow2".to_owned())));
    assert!(error.fields.get("containers").is_some());
    let over_raw = Entry::stored("top.qcow2", &overlay("base.raw", Some("raw")));
    let error = Case::new(zip(&[over_raw, Entry::deflated("base.raw", &large(&content()))])).bytes().unwrap_err();
    assert!(error.message().contains("'base.raw' is compressed"), "{error}");
    let (first, second) = base.split_at(base.len() / 2 + 1);
    let parts = |first, second| zip(&[Entry::stored("d.000000000", first), Entry::deflated("d.000000001", second)]);
    assert_eq!(Case::new(parts(first, second)).bytes(), Ok(small_disk()));
    let error = Case::new(parts(&large(first), &large(first))).bytes().unwrap_err();
    assert!(error.message().contains("'d.000000001' is compressed"), "{error}");
    let file = zip(&[Entry::deflated("b.qcow2", &large(&base))]);
    let packed = Case { companions: vec![("base.qcow2".to_owned(), file)], ..Case::new(top) };
    let error = packed.bytes().unwrap_err();
    assert!(error.message().starts_with("In 'base.qcow2': In 'b.qcow2': 'b.qcow2' is compressed"), "{error}");
    // The image itself is not in an archive.
    assert_eq!(error.fields.get("format"), None);
}

/// The descriptor of a VMDK and its extents must be stored, unless the descriptor is alone.
#[test]
fn descriptors() {
    let (disk, large) = ([7; 4096], [7; LARGEST_AT_ANY_POSITION + 1]);
    let descriptor =
        b"# Disk DescriptorFile\nversion=1\nCID=fffffffe\nparentCID=ffffffff\ncreateType=\"monolithicFlat\"\n\
                       RW 8 FLAT \"d-flat.vmdk\" 0\n";
    let refusal = |entries: &[Entry]| Case::new(zip(entries)).bytes().map_err(|error| error.message().to_owned());
    for entry in [Entry::stored, Entry::deflated] {
        let entries = [Entry::stored("d-flat.vmdk", &disk), entry("d.vmdk", descriptor)];
        assert_eq!(refusal(&entries), Ok(disk.to_vec()));
    }
    // As from QEMU.
    let padded = [descriptor, &[0; 200][..]].concat();
    let entries = [Entry::stored("d-flat.vmdk", &disk), Entry::deflated("d.vmdk", &padded)];
    assert_eq!(refusal(&entries), Ok(disk.to_vec()));
    let other = [descriptor, &[b'#'; LARGEST_AT_ANY_POSITION][..]].concat();
    for (name, entries) in [
        ("d.vmdk", [Entry::stored("d-flat.vmdk", &disk), Entry::deflated("d.vmdk", &other)]),
        ("d-flat.vmdk", [Entry::deflated("d-flat.vmdk", &large), Entry::stored("d.vmdk", descriptor)]),
        ("d-flat.vmdk", [Entry::deflated("d-flat.vmdk", &large), Entry::deflated("d.vmdk", descriptor)]),
    ] {
        let message = refusal(&entries).unwrap_err();
        assert!(message.contains(&format!("'{name}' is compressed in the zip archive")), "{message}");
        assert!(message.contains("extract it first, or use zip -0"), "{message}");
    }
    let alone = Case::new(zip(&[Entry::deflated("d.vmdk", descriptor)])).bytes().unwrap_err();
    assert_eq!(code_of(&alone), "needs-spool");
}

/// Manifests and the files that they list may be deflated.
#[test]
fn manifests_are_checked() {
    let raw = content();
    let digest = |data: &[u8]| String::from_utf8(filter("sha256sum", &[], data)[..64].to_vec()).unwrap();
    let (right, wrong) = (digest(&raw), "0".repeat(64));
    let ovf = format!("SHA256(a.ovf)= {}\n", digest(b"<xml/>"));
    for (name, digest, expected) in
        [("disk.raw", &right, None), ("disk.raw", &wrong, Some("manifest-mismatch")), ("other", &right, None)]
    {
        let manifest = format!("{ovf}SHA256({name})= {digest}\n");
        for disk in [Entry::stored("disk.raw", &raw), Entry::deflated("disk.raw", &raw)] {
            let entries = [Entry::deflated("a.ovf", b"<xml/>"), Entry::deflated("a.mf", manifest.as_bytes()), disk];
            let found = Case { check_manifest: Some(true), ..Case::new(zip(&entries)) }.bytes();
            assert_eq!(found.as_ref().err().map(code_of), expected, "{name} {digest}");
        }
    }
}

/// Positions in the headers.
const LOCAL: Fields = Fields { flags: 6, method: 8, crc32: 14, packed: 18, size: 22, name: 30 };
const CENTRAL: Fields = Fields { flags: 8, method: 10, crc32: 16, packed: 20, size: 24, name: 46 };
struct Fields {
    flags: usize,
    method: usize,
    crc32: usize,
    packed: usize,
    size: usize,
    name: usize,
}
/// Position of the offset in a central header.
const OFFSET: usize = 42;

#[test]
fn wrong_archives() {
    let raw = content();
    let (plain, one) = Zip::default().made_of(&[Entry::deflated("a", &raw)]);
    let (two, both) = Zip::default().made_of(&[Entry::stored("a", &raw), Entry::stored("b", &raw)]);
    let (wide, far) = Zip { zip64: true, ..Zip::default() }.made_of(&[Entry::deflated("a", &raw)]);
    let (end, wide_end) = (plain.len() - 22, wide.len() - 98);
    let second = both + 46 + 1;
    let of_plain = |patches: Patch| changed(plain.clone(), patches);
    let of_wide = |patches: Patch| changed(wide.clone(), patches);
    let in_both =
        |field: fn(&Fields) -> usize, bytes: &[u8]| of_plain(&[(field(&LOCAL), bytes), (one + field(&CENTRAL), bytes)]);
    let with_data = |change: fn(&mut Entry)| {
        let mut entry = Entry::deflated("a", &content());
        change(&mut entry);
        zip(&[entry])
    };
    let many = |count: usize| {
        let folders = (1..count).map(|number| Entry::stored(&format!("{number}/"), b""));
        zip(&std::iter::once(Entry::stored("a", &raw)).chain(folders).collect::<Vec<_>>())
    };
    let huge = Entry { extra: vec![0; 65_000], ..Entry::stored("a", &raw) };
    let (prefixed, _) = Zip { prefix: b"PK\x03\x04prefix", ..Zip::default() }.made_of(&[Entry::stored("a", &raw)]);
    let (mut cut_after_inner, directory) = Zip::default().made_of(&[Entry::stored("a.zip", &plain)]);
    cut_after_inner.truncate(directory + 9);
    let differ = "zip-headers-differ";
    // (what, file, the code)
    let rows: Vec<(&str, Vec<u8>, Option<&str>)> = vec![
        ("encrypted", in_both(|fields| fields.flags, &[1]), Some("zip-encrypted")),
        ("strongly encrypted", in_both(|fields| fields.flags, &[0x41]), Some("zip-encrypted")),
        ("a masked directory", of_plain(&[(one + CENTRAL.flags + 1, &[0x20])]), Some("zip-encrypted")),
        ("encrypted, by the local header", of_plain(&[(LOCAL.flags, &[1])]), Some(differ)),
        ("AES", in_both(|fields| fields.method, &[99]), Some("zip-encrypted")),
        ("LZMA", in_both(|fields| fields.method, &[14]), Some("zip-method")),
        ("another method", in_both(|fields| fields.method, &[7, 1]), Some("zip-method")),
        ("two methods", of_plain(&[(LOCAL.method, &[0])]), Some(differ)),
        ("two names", of_plain(&[(LOCAL.name, b"b")]), Some(differ)),
        ("a shorter name", of_plain(&[(26, &[0])]), Some(differ)),
        ("two checksums", of_plain(&[(LOCAL.crc32, &[1])]), Some(differ)),
        ("two lengths", of_plain(&[(LOCAL.packed, &[1])]), Some(differ)),
        ("two sizes", of_plain(&[(LOCAL.size, &[1])]), Some(differ)),
        ("no local header", of_plain(&[(0, b"PK\x03\x04"), (one + OFFSET, &[1])]), Some(differ)),
        ("another checksum", in_both(|fields| fields.crc32, &[1]), Some("zip-damaged")),
        ("a smaller size", in_both(|fields| fields.size, &[0, 0]), Some("zip-damaged")),
        ("a larger size", in_both(|fields| fields.size, &[0xff, 0xff]), Some("zip-damaged")),
        ("an impossible size", in_both(|fields| fields.size, &[0xff, 0xff, 0xff, 0x7f]), Some("zip-damaged")),
        ("a longer length", in_both(|fields| fields.packed, &[0xff, 0xff]), Some("zip-overlap")),
        ("data of another kind", with_data(|entry| entry.data[0] = 7), Some("zip-damaged")),
        ("cut data", with_data(|entry| entry.data.truncate(entry.data.len() - 8)), Some("truncated")),
        ("bytes after the data", with_data(|entry| entry.data.push(0)), Some("zip-damaged")),
        ("a stored file of two sizes", zip(&[Entry { size: 99_999, ..Entry::stored("a", &raw) }]), Some("zip-damaged")),
        (
            "one file twice",
            changed(two.clone(), &[(second + OFFSET, &[0; 4]), (second + 46, b"a")]),
            Some("zip-duplicate"),
        ),
        ("one name twice", zip(&[Entry::stored("a", &raw), Entry::stored("a", &raw)]), Some("zip-duplicate")),
        (
            "one name in two encodings",
            zip(&[Entry::stored("é", &raw), Entry { name: vec![0x82], ..Entry::stored("", &raw) }]),
            Some("zip-duplicate"),
        ),
        ("names that differ in case", zip(&[Entry::stored("a", &small()), Entry::stored("A", &raw)]), None),
        ("a file in another one", nested_header(), Some("zip-overlap")),
        ("an offset in the directory", of_plain(&[(one + OFFSET, &(one as u32).to_le_bytes())]), Some("zip-damaged")),
        ("a position of 2^32-2", of_plain(&[(one + OFFSET, &[0xfe, 0xff, 0xff, 0xff])]), Some("zip-damaged")),
        ("no zip64 field", of_plain(&[(one + OFFSET, &[0xff; 4])]), Some("zip-damaged")),
        ("no zip64 field in the local header", of_plain(&[(LOCAL.size, &[0xff; 4])]), Some("zip-damaged")),
        ("another signature", of_plain(&[(one, b"X")]), Some("zip-damaged")),
        ("a long name", of_plain(&[(one + 28, &[0xff, 0xff])]), Some("zip-damaged")),
        ("fewer entries", changed(two.clone(), &[(two.len() - 14, &[1, 0, 1])]), Some("zip-damaged")),
        ("more entries", of_plain(&[(end + 8, &[2, 0, 2])]), Some("zip-damaged")),
        ("the last part of several", of_plain(&[(end + 4, &[1])]), Some("zip-part")),
        ("a directory on another disk", of_plain(&[(end + 6, &[1])]), Some("zip-damaged")),
        ("entries on other disks", of_plain(&[(end + 8, &[0])]), Some("zip-damaged")),
        ("a directory of 4 GiB", of_plain(&[(end + 12, &[0xfe, 0xff, 0xff, 0xff])]), Some("limit")),
        ("a directory that begins before the file", of_plain(&[(end + 12, &[0, 0, 1])]), Some("zip-damaged")),
        ("an offset after the directory", of_plain(&[(end + 16, &[0xff, 0xff])]), Some("zip-damaged")),
        ("a comment that is cut", of_plain(&[(end + 20, &[1])]), Some("truncated")),
        ("a byte after the end", [&plain[..], b"x"].concat(), None),
        ("65,535 bytes after the end", [&plain[..], &[0; 65_535]].concat(), None),
        ("bytes after a comment", [&of_plain(&[(end + 20, &[1])])[..], b"xy"].concat(), None),
        ("bytes after zip64", [&wide[..], b"xy"].concat(), None),
        ("65,535 bytes after zip64", [&wide[..], &[0; 65_535]].concat(), None),
        ("65,536 bytes after zip64", [&wide[..], &[0; 65_536]].concat(), Some("truncated")),
        ("66,000 bytes after the end", [&plain[..], &[0; 66_000]].concat(), Some("truncated")),
        ("bytes before and after", [&prefixed[..], b"x"].concat(), Some("truncated")),
        ("an archive in another one that is cut off", cut_after_inner, Some("truncated")),
        ("zip64", wide.clone(), None),
        ("zip64 with another size", of_wide(&[(far + 46 + 1 + 4, &[1])]), Some(differ)),
        ("zip64 without its record", of_wide(&[(wide_end, b"X")]), Some("zip-damaged")),
        ("a longer zip64 record", of_wide(&[(wide_end + 4, &[45])]), Some("zip-damaged")),
        ("extensible data", extended(&wide, wide_end, 0xffff, 0xffff), None),
        ("extensible data of another length", extended(&wide, wide_end, 9, 8), Some("zip-damaged")),
        ("extensible data of 64 KiB", extended(&wide, wide_end, 0x10000, 0x10000), Some("zip-damaged")),
        ("zip64 with another count", of_wide(&[(wide.len() - 22 + 8, &[2, 0, 2, 0])]), Some("zip-damaged")),
        ("zip64 with another disk", of_wide(&[(wide.len() - 22 + 4, &[1])]), Some("zip-damaged")),
        ("zip64 with a directory on another disk", of_wide(&[(wide.len() - 22 + 6, &[1])]), Some("zip-damaged")),
        ("zip64 with another count on the disk", of_wide(&[(wide.len() - 22 + 8, &[2, 0])]), Some("zip-damaged")),
        ("zip64 elsewhere", of_wide(&[(wide.len() - 42 + 8, &[1])]), Some("zip-damaged")),
        ("a position of 2^64-1", of_wide(&[(far + 46 + 1 + 4 + 16, &[0xff; 8])]), Some("zip-damaged")),
        ("a length of 2^64-1", of_wide(&[(31 + 12, &[0xff; 8]), (far + 47 + 12, &[0xff; 8])]), Some("zip-overlap")),
        ("zip64 with a directory of 2^64-1", of_wide(&[(wide_end + 40, &[0xff; 8])]), Some("limit")),
        ("zip64 with 2^64-1 entries", of_wide(&[(wide_end + 24, &[0xff; 16])]), Some("limit")),
        ("4,096 entries", many(4096), None),
        ("4,097 entries", many(4097), Some("limit")),
        ("a directory of 4 MiB", zip(&vec![huge; 65]), Some("limit")),
        ("an end only", b"PK\x05\x06".iter().copied().chain([0; 18]).collect(), Some("no-image")),
    ];
    for (what, file, expected) in rows {
        // A row with two files of the same content has no image that is recognised.
        let found = Case::new(file).bytes();
        assert_eq!(found.as_ref().err().map(code_of), expected, "{what}: {:?}", found.as_ref().map(Vec::len));
        if let Err(error) = found {
            assert!(error.kind != ErrorKind::Internal && !error.message().is_empty(), "{what}: {error}");
        }
    }
}

/// The archive with `len` bytes of extensible data after its zip64 record at `end`, which states `stated` bytes.
fn extended(archive: &[u8], end: usize, len: usize, stated: u64) -> Vec<u8> {
    let mut file = [&archive[..end + 56], &vec![7; len], &archive[end + 56..]].concat();
    file[end + 4..end + 12].copy_from_slice(&(44 + stated).to_le_bytes());
    file
}

/// A stored file is compared with its checksum where all of it is read.
#[test]
fn checksums_of_stored_files() {
    let raw = [content(), vec![0; 1 << 20], content()].concat();
    let packed = filter("gzip", &["-cn"], &raw);
    let tar = crate::tar::archive(&[crate::tar::member("disk.raw", b'0', &raw)]);
    let footer = Vhd { kind: FIXED, size: small_disk().len() as u64, ..Vhd::new(512, &[]) }.footer();
    let vhd = [small_disk(), footer].concat();
    let inner = zip(&[Entry::stored("disk.raw", &raw)]);
    // (what, the file, whether its bytes are compared)
    let rows: Vec<(&str, &str, Vec<u8>, bool)> = vec![
        ("a raw disk", "a", raw.clone(), true),
        ("a raw disk by its name", "disk.raw", raw.clone(), true),
        ("gzip", "a.gz", packed, true),
        ("xz by parts", "a.xz", filter("xz", &["-cT2", "--block-size=65536"], &raw), true),
        ("qcow2", "a", small(), false),
        ("a fixed VHD", "a", vhd, false),
        ("tar", "a.tar", tar, false),
        ("zip", "a.zip", inner, true),
    ];
    for (what, name, file, is_checked) in rows {
        let good = zip(&[Entry::stored("README", b"text"), Entry::stored(name, &file)]);
        let wrong = zip(&[Entry::stored("README", b"text"), Entry { crc32: 1, ..Entry::stored(name, &file) }]);
        let notices = |file: &[u8], salvage| {
            let parts = (what == "xz by parts").then(|| Rc::new(InlineParts) as Rc<dyn PartDecoder>);
            let case = Case { salvage, by_parts: parts, ..Case::new(file.to_vec()) };
            let mut all = Vec::new();
            // Jobs of many sizes, in any order.
            for (answers, job) in [(Answers::InOrder, 1 << 20), (Answers::Reverse, 64 << 10)] {
                let converted = case.convert(answers, Abilities::default(), job);
                let codes = converted.notices.iter().map(|notice| notice.code).collect::<Vec<_>>();
                let result = converted.result.map(|_| codes);
                assert_eq!(converted.target.finished.get(), result.is_ok(), "{what}");
                all.push(result.map_err(|error| error.code.to_string()));
            }
            assert!(all[0] == all[1], "{what}: {all:?}");
            all.swap_remove(0)
        };
        let unchecked = if is_checked { vec![] } else { vec!["checksum-unchecked"] };
        assert_eq!(notices(&good, false), Ok(unchecked.clone()), "{what}");
        let found = notices(&wrong, false);
        match what {
            // That of the file inside is compared instead.
            "zip" => assert_eq!(found, Ok(vec![]), "{what}"),
            _ if is_checked => assert_eq!(found, Err("zip-damaged".to_owned()), "{what}"),
            _ => assert_eq!(found, Ok(unchecked), "{what}"),
        }
        if what == "a raw disk" {
            assert_eq!(notices(&good, true), Ok(vec![]), "{what}");
            assert_eq!(notices(&wrong, true), Ok(vec!["checksum-mismatch"]), "{what}");
            let mut changed = good.clone();
            let at = changed.windows(9).position(|bytes| bytes == &raw[50_000..50_009]).unwrap();
            changed[at] ^= 1;
            assert_eq!(notices(&changed, false), Err("zip-damaged".to_owned()), "{what}");
        }
    }
}

/// Only parts of the other files of a disk are read, so their checksums are not compared: the result names each.
#[test]
fn checksums_of_further_stored_files() {
    let base = || Entry::stored("base.qcow2", &small());
    let flat = b"# Disk DescriptorFile\nversion=1\nCID=fffffffe\nparentCID=ffffffff\ncreateType=\"monolithicFlat\"\nRW 8 FLAT \"disk-flat.vmdk\" 0\n";
    let extent = Entry::stored("disk-flat.vmdk", &small_disk());
    let top = || overlay("base.qcow2", Some("qcow2"));
    let beside = |bytes: Vec<u8>| vec![("base.qcow2".to_owned(), bytes)];
    let tar = crate::tar::archive(&[crate::tar::member("base.qcow2", b'0', &small())]);
    // (what, the image, its companions, the files that the result names)
    type Row = (&'static str, Vec<u8>, Vec<(String, Vec<u8>)>, &'static [&'static str]);
    let rows: Vec<Row> = vec![
        ("a companion", top(), beside(zip(&[base()])), &["base.qcow2"]),
        ("a companion in a tar", top(), beside(zip(&[Entry::stored("base.tar", &tar)])), &["base.tar"]),
        ("a plain companion", top(), beside(small()), &[]),
        ("a layer beside", zip(&[Entry::stored("top.qcow2", &top()), base()]), vec![], &["top.qcow2", "base.qcow2"]),
        ("an extent", zip(&[Entry::stored("disk.vmdk", flat), extent]), vec![], &["disk.vmdk", "disk-flat.vmdk"]),
    ];
    for (what, image, companions, expected) in rows {
        let converted =
            Case { companions, ..Case::new(image) }.convert(Answers::InOrder, Abilities::default(), 1 << 20);
        assert!(converted.result.is_ok(), "{what}: {:?}", converted.result.err());
        let unchecked = converted.notices.iter().filter(|notice| notice.code == "checksum-unchecked");
        let named: Vec<_> = unchecked.map(|notice| notice.fields.get("file").cloned()).collect();
        assert_eq!(named, expected.iter().map(|name| Some(Field::from(*name))).collect::<Vec<_>>(), "{what}");
    }
}

/// Deflate64 data by 7-Zip: a disk with a MiB of zeros between two copies of `content`.
#[test]
fn deflate64() {
    let file = include_bytes!("common/deflate64.zip").to_vec();
    let disk = [content(), vec![0; 1 << 20], content()].concat();
    let padded = [&disk[..], &[0; 192]].concat();
    assert!(Case::new(file.clone()).bytes().as_ref() == Ok(&padded));
    assert_eq!(containers(&file), [("zip", Some("disk.img".to_owned()))]);
    let beside = |name: &str| {
        let data = file[30 + name.len()..file.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap()].to_vec();
        Entry { method: 9, data, ..Entry::stored(name, &disk) }
    };
    let entry = beside("disk.img");
    let archive = zip(&[Entry::stored("README", b"text"), entry.clone()]);
    assert!(Case::new(archive).bytes().as_ref() == Ok(&padded), "beside a text");
    for at in (0..entry.data.len()).step_by(197) {
        let mut data = entry.data.clone();
        data[at] ^= 1 << (at % 8);
        match Case::new(zip(&[Entry { data, ..entry.clone() }])).bytes() {
            Ok(found) => assert!(found == padded, "a change at {at}"),
            Err(error) => assert!(["zip-damaged", "truncated"].contains(&code_of(&error)), "{at}: {error}"),
        }
        let cut = Entry { data: entry.data[..at].to_vec(), ..entry.clone() };
        let error = Case::new(zip(&[cut])).bytes().unwrap_err();
        assert!(["zip-damaged", "truncated"].contains(&code_of(&error)), "cut at {at}: {error}");
    }
    let long = Entry { data: [&entry.data[..], &[0; 300_000]].concat(), ..entry.clone() };
    assert_eq!(code_of(&Case::new(zip(&[long])).bytes().unwrap_err()), "zip-damaged");
    for (what, wrong) in [
        ("checksum", Entry { crc32: 1, ..entry.clone() }),
        ("size", Entry { size: entry.size + 1, ..entry.clone() }),
        ("an impossible size", Entry { size: u64::from(u32::MAX - 1), ..entry.clone() }),
    ] {
        assert_eq!(code_of(&Case::new(zip(&[wrong])).bytes().unwrap_err()), "zip-damaged", "{what}");
    }
}

/// A file of which few bytes are not zero.
struct Sparse {
    size: u64,
    /// By offset.
    parts: Vec<(u64, Vec<u8>)>,
}

impl Sparse {
    fn add(&mut self, bytes: &[u8]) {
        self.parts.push((self.size, bytes.to_vec()));
        self.size += bytes.len() as u64;
    }
}

impl Source for Sparse {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, decant::Result<()>> {
        buf.fill(0);
        for (start, bytes) in &self.parts {
            let (from, to) = (offset.0.max(*start), (offset.0 + buf.len() as u64).min(start + bytes.len() as u64));
            if from < to {
                buf[(from - offset.0) as usize..(to - offset.0) as usize]
                    .copy_from_slice(&bytes[(from - start) as usize..(to - start) as usize]);
            }
        }
        ready(Ok(())).boxed_local()
    }
}

/// A disk that begins with `content`, and is zero otherwise.
struct LargeDisk {
    name: &'static str,
    method: u16,
    size: u64,
    /// What is wrong with the stated size.
    wrong: u64,
}

impl LargeDisk {
    fn crc32(&self) -> u32 {
        let zeros = self.size - content().len() as u64;
        joined(crc32(&content()), of_zeros(zeros), zeros)
    }

    /// The data in the archive: its start, and the number of zeros after it.
    fn data(&self) -> (Vec<u8>, u64) {
        let zeros = self.size - content().len() as u64;
        if self.method == 0 {
            return (content(), zeros);
        }
        let mut deflate = CompressorOxide::new(create_comp_flags_from_zip_params(1, -15, 0));
        let mut packed = |data: &[u8], flush| {
            let mut room = vec![0; data.len() + 100];
            let (status, read, written) = compress(&mut deflate, data, &mut room, flush);
            assert!(status != TDEFLStatus::BadParam && read == data.len());
            room.truncate(written);
            room
        };
        let start = packed(&content(), TDEFLFlush::Full);
        let block = packed(&vec![0; 1 << 20], TDEFLFlush::Full);
        let end = packed(&vec![0; (zeros % (1 << 20)) as usize], TDEFLFlush::Finish);
        ([start, block.repeat((zeros >> 20) as usize), end].concat(), 0)
    }
}

/// An archive as programs of macOS make it: numbers modulo 2^32, without zip64.
fn of_macos(disks: &[LargeDisk], prefix: &[u8]) -> Sparse {
    let mut file = Sparse { size: 0, parts: Vec::new() };
    file.add(prefix);
    let mut directory = Vec::new();
    let start = |method: u16| [20u16, 8, method, 0, 0].map(u16::to_le_bytes).concat();
    for disk in disks {
        let offset = (file.size - prefix.len() as u64) as u32;
        let name = (disk.name.len() as u16).to_le_bytes();
        file.add(&[b"PK\x03\x04", &start(disk.method)[..], &[0; 12], &name, &[0; 2], disk.name.as_bytes()].concat());
        let (data, zeros) = disk.data();
        let packed = (data.len() as u64 + zeros) as u32;
        file.add(&data);
        file.size += zeros;
        let numbers = [disk.crc32(), packed, disk.size.wrapping_add(disk.wrong) as u32].map(u32::to_le_bytes).concat();
        file.add(&[b"PK\x07\x08", &numbers[..]].concat());
        directory.extend([b"PK\x01\x02\x15\x03", &start(disk.method)[..], &numbers, &name, &[0; 8]].concat());
        directory.extend([0o100_644 << 16, offset].map(u32::to_le_bytes).concat());
        directory.extend(disk.name.as_bytes());
    }
    let (at, count) = ((file.size - prefix.len() as u64) as u32, (disks.len() as u16).to_le_bytes());
    file.add(&directory);
    let numbers = [directory.len() as u32, at].map(u32::to_le_bytes).concat();
    file.add(&[b"PK\x05\x06", &[0; 4][..], &count, &count, &numbers, &[0; 2]].concat());
    file
}

/// The size of the disk that `options` choose from `file`, converted.
fn size_of(file: Sparse, disk: &str) -> decant::Result<u64> {
    let target = nowhere(Abilities::default());
    let (executor, progress, cancel) =
        (|files| Inline::new(files, Keys::default(), 2, 4 << 20), |_| {}, Cancel::default());
    let options = OpenOptions { disk: Some(DiskChoice::Name(disk.to_owned())), ..OpenOptions::default() };
    block_on(async {
        let done = match open(Input::File(Rc::new(file)), &options).await? {
            Opened::Machine(_) => panic!("it is no configuration"),
            Opened::Streamed(image) => {
                let disk = InOrder::new(&image, None);
                let executor = executor(disk.files());
                let layout = layout_in_order(by_name("raw").unwrap())?;
                convert_in_order(
                    &disk,
                    &executor,
                    &Output::new(&*layout, Stamp::default(), &target),
                    &progress,
                    &cancel,
                )
                .await?
            }
            Opened::Image(image) => {
                let format = by_name("raw").unwrap();
                let layout = (format.layout)(image.virtual_size(), &Options::recommended(format))?;
                let output = Output::new(&*layout, Stamp::default(), &target);
                convert(&image, &executor(image.files().clone()), &output, &progress, &cancel).await?
            }
        };
        Ok(done.disks[0].virtual_size)
    })
}

/// Sizes and positions modulo 2^32.
#[test]
fn archives_of_macos() {
    const WRAP: u64 = 1 << 32;
    let disk = |name, method, size| LargeDisk { name, method, size, wrong: 0 };
    let small = |name| disk(name, 8, 200_192);
    let damaged = |size, wrong| LargeDisk { wrong, ..disk("a", 8, size) };
    // (what, files, what is before the archive, the disk that is chosen, its size or the code)
    type Row<'a> = (&'a str, Vec<LargeDisk>, &'a [u8], &'a str, Result<u64, &'a str>);
    let mut rows: Vec<Row> = vec![
        ("small", vec![small("a"), small("b")], b"", "b", Ok(200_192)),
        ("after a stored file of more than 4 GiB", vec![disk("a", 0, WRAP + 4096), small("b")], b"", "b", Ok(200_192)),
        (
            "after two such files, and a prefix",
            vec![disk("a", 0, 2 * WRAP + 4096), disk("b", 0, WRAP), small("c"), small("d")],
            b"PK\x03\x04",
            "d",
            Ok(200_192),
        ),
        ("a wrong size", vec![damaged(200_192, 512)], b"", "a", Err("zip-damaged")),
    ];
    let large: Vec<Row> = vec![
        ("deflated, 4 GiB", vec![disk("a", 8, WRAP)], b"", "a", Ok(WRAP)),
        ("deflated, more than 8 GiB", vec![disk("a", 8, 2 * WRAP + 4096)], b"", "a", Ok(2 * WRAP + 4096)),
        ("deflated, with a wrong size", vec![damaged(WRAP + (1 << 20), 512)], b"", "a", Err("zip-damaged")),
        ("stored, 4 GiB", vec![disk("a", 0, WRAP)], b"", "a", Ok(WRAP)),
        ("stored, before another one", vec![disk("a", 0, WRAP + 4096), small("b")], b"", "a", Ok(WRAP + 4096)),
    ];
    if scope() != Scope::Short {
        rows.extend(large);
    }
    for (what, disks, prefix, name, expected) in rows {
        let found = size_of(of_macos(&disks, prefix), name).map_err(|error| error.code.to_string());
        assert_eq!(found, expected.map_err(str::to_owned), "{what}");
    }
}

/// The last part begins inside a file: only its end shows what it is.
#[test]
fn last_part() {
    let whole = zip(&[Entry::deflated("a", &content())]);
    let end = whole.len() - 22;
    // (the offset of the change, its bytes, the code, the count of parts)
    for (at, bytes, code, parts) in [
        (end + 4, 2u16, "zip-part", "the last of 3 parts"),
        (end + 4, 0, "not-recognised", ""),
        (end, 0, "not-recognised", ""),
    ] {
        let file = changed(whole.clone(), &[(0, b"data"), (at, &bytes.to_le_bytes())]);
        let error = Case::new(file).bytes().unwrap_err();
        assert!(code_of(&error) == code && error.message().contains(parts), "{error}");
    }
}

/// A stored file whose content has the header and the data of another one.
fn nested_header() -> Vec<u8> {
    let inner = Entry::stored("b", &small());
    let (header, _) = Zip::default().made_of(std::slice::from_ref(&inner));
    let local = &header[..31 + inner.data.len()];
    let (mut file, directory) = Zip::default().made_of(&[Entry::stored("a", local), Entry { data: vec![], ..inner }]);
    let second = directory + 46 + 1;
    // The second entry is that inside the first one.
    file[second + CENTRAL.packed..][..4].copy_from_slice(&(small().len() as u32).to_le_bytes());
    file[second + OFFSET..][..4].copy_from_slice(&31u32.to_le_bytes());
    file
}

/// More entries than 16 bits count are in zip64 records; Decant reads fewer.
#[test]
fn archives_of_many_files() {
    let script = "z = ZipFile('a.zip', 'w')\nfor n in range(65537): z.writestr(str(n), '')\nz.close()";
    let error = Case::new(python(script, &[])).bytes().unwrap_err();
    assert!(error.kind == ErrorKind::Limit && error.message().contains("65537 entries"), "{error}");
}

/// Names are shown escaped.
#[test]
fn names_in_other_encodings() {
    let utf_8 = |name: &str| Entry { flags: 1 << 11, ..Entry::stored(name, &small()) };
    let raw = |name: &[u8]| Entry { name: name.to_vec(), ..Entry::stored("", &small()) };
    for (entry, name) in [
        (utf_8("платы.vmdk"), "платы.vmdk"),
        (raw("платы.vmdk".as_bytes()), "платы.vmdk"),
        (raw(b"Stra\xe1e.vmdk"), "Straße.vmdk"),
        (raw(b"../../a\0\x1b[0m"), "../../a\0\u{1b}[0m"),
    ] {
        assert_eq!(containers(&zip(&[entry])), [("zip", Some(name.to_owned()))]);
    }
    let error = Case::new(zip(&[raw(b"a\0"), raw(b"\x1bb")])).bytes().unwrap_err();
    assert!(error.message().contains("'a\\u0000', '\\u001bb'"), "{error}");
    assert!(matches!(error.fields.get("disks"), Some(Field::List(_))), "{error}");
}
