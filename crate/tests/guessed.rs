//! Content of containers in no known format: read as a raw disk if it has a signature of one, otherwise refused before
//! anything is complete.

use crate::common::*;
use crate::tar::{archive, member};
use decant::ErrorKind;
use decant::io::target::Abilities;

const KIB: usize = 1 << 10;
/// More than the range in which signatures are searched.
const LARGE: usize = 3 << 20;

fn gzip(content: &[u8]) -> Vec<u8> {
    filter("gzip", &["-cn1"], content)
}

/// A file of `len` bytes in no known format, with `sign` at `offset`.
fn file(len: usize, offset: usize, sign: &[u8]) -> Vec<u8> {
    let mut file: Vec<u8> = (0..len).map(|at| (at / 7 % 251) as u8 | 4).collect();
    file[offset..offset + sign.len()].copy_from_slice(sign);
    file
}

/// `content` in each container, as a file and as a stream.
fn packed(content: &[u8]) -> Vec<(&'static str, Case)> {
    let tar = archive(&[member("a", b'0', content)]);
    let stream = |file: Vec<u8>| Case { as_stream: true, ..Case::new(file) };
    vec![
        ("tar", Case::new(tar.clone())),
        ("gzip", Case::new(gzip(content))),
        ("tar.gz", Case::new(gzip(&tar))),
        ("gzip as a stream", stream(gzip(content))),
        ("tar as a stream", stream(tar)),
    ]
}

/// Whether it is read as a raw disk; otherwise asserts that nothing was completed, and checks the error.
fn is_read(case: &Case, content: &[u8], what: &str) -> bool {
    // Jobs smaller than the range in which signatures are searched.
    let converted = case.convert(Answers::InOrder, Abilities::default(), 64 << 10);
    match converted.result {
        Ok(_) => {
            let padded = content.len().next_multiple_of(512);
            let bytes = converted.target.bytes.take();
            assert!(bytes.len() == padded && bytes.starts_with(content), "{what}: other bytes");
            true
        }
        Err(error) => {
            assert_eq!(error.kind, ErrorKind::NotRecognised, "{what}: {error}");
            assert!(error.message().contains("does not look like a raw disk"), "{what}: {error}");
            assert!(!converted.target.finished.get(), "{what} was completed");
            false
        }
    }
}

#[test]
fn a_raw_disk_has_a_sign() {
    let len = 300 * KIB + 1;
    let ext = [(1080, &[0x53, 0xef][..])];
    let signs: &[(&str, usize, &[u8])] = &[
        ("an MBR", 510, &[0x55, 0xaa]),
        ("a GPT", 512, b"EFI PART"),
        ("a GPT on sectors of 4 KiB", 4096, b"EFI PART"),
        ("ext4", ext[0].0, ext[0].1),
        ("XFS", 0, b"XFSB"),
        ("Btrfs", 65_600, b"_BHRfS_M"),
        ("F2FS", 1024, &[0x10, 0x20, 0xf5, 0xf2]),
        ("APFS", 32, b"NXSB"),
        ("HFS+", 1024, b"H+\0\x04"),
        ("ReFS", 3, b"ReFS\0\0\0\0"),
        ("LVM", 512, b"LABELONE"),
        ("LVM in another sector", 1536, b"LABELONE"),
        ("ZFS", (131 << 10) + 2048, &[0x0c, 0xb1, 0xba, 0, 0, 0, 0, 0]),
        ("ZFS, big endian", 128 << 10, &[0, 0, 0, 0, 0, 0xba, 0xb1, 0x0c]),
        ("swap", 4086, b"SWAPSPACE2"),
        ("swap with pages of 64 KiB", 65_526, b"SWAPSPACE2"),
        ("RAID", 4096, &[0xfc, 0x4e, 0x2b, 0xa9]),
        ("UDF", 32_769, b"BEA01"),
    ];
    for (what, offset, sign) in signs {
        let content = file(len, *offset, sign);
        for (container, case) in packed(&content) {
            assert!(is_read(&case, &content, &format!("{what} in {container}")), "{what} in {container} is refused");
        }
    }
}

#[test]
fn files_without_signs_of_a_disk_are_refused() {
    let mut late = file(LARGE + 1, 0, b"");
    // Content after the first MiB is irrelevant.
    late[(1 << 20) + 510..][..2].copy_from_slice(&[0x55, 0xaa]);
    let cases: &[(&str, Vec<u8>, bool)] = &[
        ("one byte", vec![7], false),
        ("less than a sector", file(511, 0, b""), false),
        ("a sector", file(512, 0, b""), true),
        ("whole sectors", file(300 * KIB, 0, b""), true),
        ("a byte more", file(300 * KIB + 1, 0, b""), false),
        ("a byte less", file(300 * KIB - 1, 0, b""), false),
        ("zeros", vec![0; 1000], true),
        ("many zeros", vec![0; LARGE + 1], true),
        ("a large file", file(LARGE + 1, 0, b""), false),
        ("a large file of whole sectors", file(LARGE, 0, b""), true),
        ("a large disk", file(LARGE + 1, 510, &[0x55, 0xaa]), true),
        ("a sign after the first MiB", late, false),
    ];
    for (what, content, read) in cases {
        for (container, case) in packed(content) {
            assert_eq!(is_read(&case, content, &format!("{what} in {container}")), *read, "{what} in {container}");
        }
    }
}

/// The name of a raw disk is sufficient, as is a stated format.
#[test]
fn a_stated_format_is_not_guessed() {
    let content = file(1001, 0, b"");
    let tar = archive(&[member("x/disk.raw", b'0', &content)]);
    for (what, case) in [
        ("disk.raw", Case::new(tar.clone())),
        ("disk.raw in gzip", Case::new(gzip(&tar))),
        ("a stream", Case { format: Some("raw".to_owned()), as_stream: true, ..Case::new(content.clone()) }),
        ("a file", Case { format: Some("raw".to_owned()), ..Case::new(content.clone()) }),
    ] {
        assert!(case.bytes().unwrap().starts_with(&content), "{what}");
    }
}

/// A dead producer, or something other than a file, must not result in an empty disk.
#[test]
fn an_empty_stream_is_refused() {
    for format in [None, Some("raw".to_owned())] {
        let error = Case { format, as_stream: true, ..Case::new(Vec::new()) }.bytes().unwrap_err();
        assert_eq!((error.kind, &error.message()[..]), (ErrorKind::NotRecognised, "The stream is empty"));
    }
}

/// Other known types of files are named, in every container.
#[test]
fn known_other_files_are_named() {
    let text = |start: &str| [start.as_bytes(), &b"\nand more of it"[..]].concat();
    let xva = archive(&[member("ova.xml", b'0', b"<value/>"), member("Ref:1/00000000", b'0', &[7; 512])]);
    let binary = |start: &[u8]| {
        let mut file = vec![0; 1024];
        file[..start.len()].copy_from_slice(start);
        file
    };
    let linux_kernel = || {
        let mut file = binary(b"MZ");
        file[510..518].copy_from_slice(b"\x55\xaa\xeb\x66HdrS");
        file
    };
    let cpio = [&[0xc7, 0x71][..], &[0; 18], &[2, 0], &[0; 4], b"a\0", &[0; 100]].concat();
    let windows = [&b"MZ"[..], &[0; 58], &128u32.to_le_bytes(), &[0; 64], b"PE\0\0"].concat();
    let zip = |name: &[u8]| [b"PK\x03\x04", &[0; 26][..], name].concat();
    let elf = |kind: u8| [b"\x7fELF\x02\x01\x01", &[0; 9][..], &[kind, 0]].concat();
    let is_image = ErrorKind::Unsupported;
    let is_none = ErrorKind::NotRecognised;
    let instead = "not a disk image; open one instead";
    // (content, kind, parts of the message)
    let cases: &[(Vec<u8>, ErrorKind, [&str; 2])] = &[
        (text("<!DOCTYPE html><html>"), is_none, ["a web page", "download it again"]),
        (text("\u{feff}\r\n  <!doctype HTML>"), is_none, ["a web page", "download it again"]),
        (text("<!-- a comment -->\n<HTML lang=en>"), is_none, ["a web page", "download it again"]),
        (text("<?xml version=\"1.0\"?>\n<html xmlns=\"\">"), is_none, ["a web page", "download it again"]),
        (text("<?xml version=\"1.0\"?>\n<Error><Code>AccessDenied"), is_none, ["an XML document", ""]),
        (text("{\"message\": \"Not found\"}"), is_none, ["a JSON document", ""]),
        (
            text("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 7"),
            is_none,
            ["a Git LFS pointer", "git lfs pull"],
        ),
        (
            text(
                "<?xml version=\"1.0\"?>\n<!-- by hand -->\n<ovf:Envelope xmlns:ovf=\"http://schemas.dmtf.org/ovf/envelope/1\">",
            ),
            is_none,
            ["an OVF descriptor", "its disks"],
        ),
        (text("<?xml version=\"1.0\"?>\n<Envelope vmw:buildId=\"1\">"), is_none, ["an OVF descriptor", "its disks"]),
        (text(".encoding = \"UTF-8\"\nconfig.version = \"8\""), is_none, [".vmx", "together with"]),
        (text("#!/usr/bin/vmware\nvirtualHW.version=\"7\""), is_none, [".vmx", "together with"]),
        (text("<?xml version=\"1.0\"?>\n<VirtualBox xmlns=\"\">"), is_none, [".vbox", "its disk"]),
        (xva, is_none, ["XVA", "export"]),
        (binary(b"VMA\0\0\0\0\x01"), is_none, ["VMA", "vma extract"]),
        (binary(b"7z\xbc\xaf\x27\x1c"), is_none, ["a 7z archive", "unpack it first"]),
        (binary(b"Rar!\x1a\x07\x00"), is_none, ["a rar archive", "unpack it first"]),
        (binary(b"Rar!\x1a\x07\x01\x00"), is_none, ["a rar archive", "unpack it first"]),
        (text("07070100000001"), is_none, ["a cpio archive", "unpack it first"]),
        (text("070707000001"), is_none, ["a cpio archive", "unpack it first"]),
        (cpio, is_none, ["a cpio archive", "unpack it first"]),
        (binary(&[0x1f, 0x9d, 0x90]), is_none, ["compressed by compress", "unpack it first"]),
        (binary(b"LRZI\0\x06"), is_none, ["lrzip", "unpack it first"]),
        (text("!<arch>\ndebian-binary   "), is_none, ["a Debian package", "unpack it first"]),
        (text("!<arch>\nmain.o/         "), is_none, ["an ar archive", "unpack it first"]),
        (binary(&[0xed, 0xab, 0xee, 0xdb, 3]), is_none, ["an RPM package", "unpack it first"]),
        (binary(b"MSCF\0\0\0\0\x10"), is_none, ["a cabinet archive", "unpack it first"]),
        (binary(b"xar!\0\x1c\0\x01"), is_none, ["a xar archive", "unpack it first"]),
        (binary(b"\x20\xfa-lh5-"), is_none, ["an LHA archive", "unpack it first"]),
        (binary(b"btrfs-stream\0\x01"), is_none, ["btrfs send", "btrfs receive"]),
        (binary(&[0, 0, 0, 0, 0, 0, 0, 0, 0xac, 0xcb, 0xba, 0xf5, 2]), is_none, ["zfs send", "zfs receive"]),
        (binary(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0xf5, 0xba, 0xcb, 0xac]), is_none, ["zfs send", "zfs receive"]),
        (linux_kernel(), is_none, ["a Linux kernel", "another file"]),
        (binary(b"\x89LZO\0\r\n\x1a\n"), is_none, ["an lzop-compressed file", "unpack it first"]),
        (binary(b"LZIP\x01\x0c"), is_none, ["an lzip-compressed file", "unpack it first"]),
        (binary(b"\x5d\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\xff"), is_none, ["LZMA", "unpack it first"]),
        (binary(b"\x5d\0\0\x04\0\0\0\x10\0\0\0\0\0"), is_none, ["LZMA", "unpack it first"]),
        (binary(b"PK\x07\x08PK\x03\x04"), is_none, ["a part of a zip archive", "unpack it"]),
        (binary(b"MSWIM\0\0\0"), is_none, ["WIM", ""]),
        (text("%PDF-1.7"), is_none, ["a PDF", "open one instead, such as a .qcow2"]),
        (binary(b"\x89PNG\r\n\x1a\n"), is_none, ["a picture", instead]),
        (binary(b"\xff\xd8\xff\xe0\0\x10JFIF"), is_none, ["a picture", instead]),
        (binary(b"GIF89a"), is_none, ["a picture", instead]),
        (binary(b"RIFF\x10\0\0\0WEBPVP8 "), is_none, ["a picture", instead]),
        (binary(b"\0\0\0\x18ftypheic"), is_none, ["a picture", instead]),
        (text("<?xml version='1.0'?>\n<svg/>"), is_none, ["a picture", instead]),
        (binary(b"\0\0\0\x20ftypisom"), is_none, ["a video", instead]),
        (binary(b"\x1a\x45\xdf\xa3\x01"), is_none, ["a video", instead]),
        (binary(b"RIFF\x10\0\0\0AVI LIST"), is_none, ["a video", instead]),
        (binary(b"\0\0\0\x20ftypM4A "), is_none, ["a sound file", instead]),
        (binary(b"ID3\x04"), is_none, ["a sound file", instead]),
        (binary(b"fLaC\0\0\0\x22"), is_none, ["a sound file", instead]),
        (binary(b"OggS\0\x02"), is_none, ["a sound file", instead]),
        (binary(&zip(b"[Content_Types].xml")), is_none, ["a document, such as of Word", instead]),
        (binary(&zip(b"mimetypeapplication/vnd.oasis.opendocument.text")), is_none, ["a document", instead]),
        (binary(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), is_none, ["a document", instead]),
        (binary(&elf(2)), is_none, ["a Linux program", instead]),
        (binary(&elf(4)), is_none, ["a memory dump", instead]),
        (binary(b"MDMP\x93\xa7"), is_none, ["a memory dump", instead]),
        (binary(&windows), is_none, ["a Windows program", instead]),
        (binary(b"\xd2\xbe\xd2\xbe"), is_none, ["a saved state of a virtual machine", "another file"]),
        (binary(b"\x7fVirtualBox SavedState V2.0"), is_none, ["a saved state of a virtual machine", "another file"]),
        (binary(b"SQLite format 3\0"), is_none, ["an SQLite database", instead]),
        (binary(b"\0asm\x01\0\0\0"), is_none, ["a WebAssembly module", instead]),
        (binary(b"PACK\0\0\0\x02"), is_none, ["a Git pack", instead]),
        (binary(b"EVF\x09\x0d\x0a\xff\0"), is_image, ["EWF", "ewfexport"]),
        (binary(b"EVF2\x0d\x0a\x81\0"), is_image, ["EWF", "ewfexport"]),
        (binary(b"AFF10\r\n\0"), is_image, ["AFF", "affconvert"]),
        (binary(b"sprs\0\0\0\x03"), is_image, ["sparseimage", "hdiutil"]),
        (binary(b"encrcdsa\0\0\0\x02"), is_image, ["encrypted DMG", "hdiutil"]),
        (binary(b"shdw\0\0\0\x01\0\0\x02\0"), is_image, ["ASIF", "diskutil"]),
        (binary(&[0x3a, 0xff, 0x26, 0xed, 1, 0, 0, 0, 28, 0, 12, 0]), is_image, ["Android sparse", "simg2img"]),
        (binary(b"partclone-image\x00"), is_image, ["partclone", "partclone.restore"]),
        (binary(b"PaRtImAgE-VoLuMe"), is_image, ["partimage", "restore"]),
    ];
    for (content, kind, parts) in cases {
        let plain = |as_stream| Case { as_stream, ..Case::new(content.clone()) };
        for (container, case) in
            [("no container", plain(false)), ("a stream", plain(true))].into_iter().chain(packed(content))
        {
            let error = case.bytes().unwrap_err();
            assert_eq!(error.kind, *kind, "in {container}: {error}");
            for part in parts {
                assert!(error.message().contains(part), "in {container}: {error}");
            }
        }
    }
}

/// A file that merely begins like one of them is not recognised as one.
#[test]
fn files_that_merely_begin_like_them_are_read() {
    let with = |start: &[u8]| {
        let mut disk = vec![0; 4096];
        disk[..start.len()].copy_from_slice(start);
        disk[510..512].copy_from_slice(&[0x55, 0xaa]);
        disk
    };
    for start in [
        &b"VMA\0\0\0\0\0"[..],
        b"shdw",
        b"\xc7\x71",
        b"{\0",
        b"<?xm",
        b"version https",
        b"LZIP\0",
        b"\xeb\x3c\x90virtualHW.version",
        b"<Envelope",
        b"xar!",
        b"\x1f\x9d",
        b"\xeb\x3c-lh5",
        b"%PDF-\0",
        b"ID3\0",
        b"fLaC\0",
        b"OggS\0\0",
        b"PACK\0\0\0\0",
        b"RIFF\0\0\0\0\0",
        b"MZ",
        b"MDMP\0",
    ] {
        let disk = with(start);
        for (container, case) in packed(&disk) {
            assert!(case.bytes().is_ok_and(|bytes| bytes == disk), "{start:?} in {container}");
        }
    }
    // The name of a member is the start of an archive.
    for name in ["VMA", "shdw", "07070", "LZIP", "ID3", "fLaC", "OggS", "PACK", "MDMP"] {
        let disk = with(b"");
        assert!(Case::new(archive(&[member(name, b'0', &disk)])).bytes().is_ok_and(|bytes| bytes == disk), "{name}");
    }
}

#[test]
fn a_guess_is_noticed() {
    let content = file(1024, 0, b"");
    for (container, case) in packed(&content) {
        let info = info_of(case.image);
        let codes: Vec<_> = info.safety.iter().map(|notice| notice.code).collect();
        assert_eq!(codes, ["guessed-raw"], "{container}");
    }
}
