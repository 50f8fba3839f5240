//! Disk image formats that are recognised but not supported, by the signatures of their specifications.

use super::{Content, Format, FormatReader, Sample};

/// A format that is not supported: the [`Content`] of its files, its name, extensions, label, probe and advice.
macro_rules! known {
    (
        $content:ident, $name:literal, $([$($extension:literal),+],)? $label:literal, $probe:expr $(, $advice:expr)?
    ) => {
        Format {
            name: $name,
            extensions: &[$($($extension),+)?],
            label: $label,
            of_qemu: false,
            probe: $probe,
            reader: FormatReader::Nothing { content: Content::$content, advice: [$($advice)?].first().copied() },
            ..Format::DEFAULT
        }
    };
}
pub(super) use known;

const fn of_qemu(format: Format) -> Format {
    Format { of_qemu: true, ..format }
}

pub(super) fn at(sample: &Sample<'_>, offset: usize, signature: &[u8]) -> bool {
    sample.head.get(offset..offset + signature.len()) == Some(signature)
}

/// The advice for a format that QEMU reads.
const BY_QEMU: &str = "make it raw with qemu-img convert";
const CLOOP: &[u8] = b"#!/bin/sh\n#V2.0 Format\nmodprobe cloop";

/// The formats, most specific signature first.
pub(super) const FORMATS: &[Format] = &[
    of_qemu(known!(Image, "bochs", "Bochs disk", |s| at(s, 0, b"Bochs Virtual HD Image"), BY_QEMU)),
    of_qemu(known!(Image, "cloop", "a compressed loop image", |s| at(s, 0, CLOOP), BY_QEMU)),
    of_qemu(known!(
        Image,
        "dmg",
        [".dmg"],
        "DMG (Apple disk)",
        |s| s.tail.starts_with(b"koly"),
        "make it raw with qemu-img convert, or with hdiutil on a Mac"
    )),
    known!(
        Disc,
        "iso",
        [".iso"],
        "an ISO 9660 image",
        |s| at(s, 16 * 2048 + 1, b"CD001"),
        "to make a disk of its bytes, state the format raw (-f raw), and unpack (--unpack) if it is in a container"
    ),
    known!(
        Image,
        "ewf",
        [".e01", ".ex01"],
        "an EnCase image (EWF)",
        |s| at(s, 0, b"EVF\x09\x0d\x0a\xff\0") || at(s, 0, b"EVF2\x0d\x0a\x81\0"),
        "export it as raw with ewfexport"
    ),
    known!(
        Image,
        "aff",
        [".aff"],
        "a forensic image (AFF)",
        |s| at(s, 0, b"AFF10\r\n\0"),
        "make it raw with affconvert"
    ),
    known!(
        Image,
        "encrypted-dmg",
        "an encrypted DMG (Apple disk)",
        |s| at(s, 0, b"encrcdsa"),
        "make it raw with hdiutil on a Mac"
    ),
    known!(
        Image,
        "sparseimage",
        [".sparseimage"],
        "an Apple sparse image (sparseimage)",
        |s| at(s, 0, b"sprs\0\0\0\x03"),
        "make it raw with hdiutil on a Mac"
    ),
    known!(
        Image,
        "asif",
        [".asif"],
        "an Apple sparse image (ASIF)",
        |s| at(s, 0, b"shdw\0\0\0\x01"),
        "make it raw with diskutil on a Mac"
    ),
    known!(
        Image,
        "android-sparse",
        [".simg"],
        "an Android sparse image",
        |s| at(s, 0, &[0x3a, 0xff, 0x26, 0xed, 1, 0]),
        "make it raw with simg2img"
    ),
    known!(
        Image,
        "partclone",
        "one partition, saved by partclone (Clonezilla)",
        |s| at(s, 0, b"partclone-image"),
        "restore it with partclone.restore"
    ),
    known!(
        Image,
        "partimage",
        "one partition, saved by partimage",
        |s| at(s, 0, b"PaRtImAgE-VoLuMe"),
        "restore it with partimage"
    ),
];
