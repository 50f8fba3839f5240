//! Disk image formats that are recognised but not supported, by the signatures of their specifications.

use super::{Content, Format, FormatReader, Sample};

macro_rules! known {
    ($name:literal, $extensions:expr, $label:literal, $of_qemu:literal, $probe:expr $(, $advice:literal)?) => {
        Format {
            name: $name,
            extensions: &$extensions,
            label: $label,
            of_qemu: $of_qemu,
            probe: $probe,
            reader: FormatReader::Nothing { content: Content::Image, advice: [$($advice)?].first().copied() },
            ..Format::DEFAULT
        }
    };
}

pub(super) fn at(sample: &Sample<'_>, offset: usize, signature: &[u8]) -> bool {
    sample.head.get(offset..offset + signature.len()) == Some(signature)
}

/// The formats, most specific signature first.
pub(super) const FORMATS: &[Format] = &[
    known!("bochs", [], "Bochs disk", true, |s| at(s, 0, b"Bochs Virtual HD Image")),
    known!("cloop", [], "a compressed loop image", true, |s| at(s, 0, b"#!/bin/sh\n#V2.0 Format\nmodprobe cloop")),
    known!("dmg", [".dmg"], "DMG (Apple disk)", true, |s| s.tail.starts_with(b"koly")),
    Format {
        name: "iso",
        extensions: &[".iso"],
        label: "an ISO 9660 image",
        of_qemu: false,
        probe: |s| at(s, 16 * 2048 + 1, b"CD001"),
        reader: FormatReader::Nothing {
            content: Content::Disc,
            advice: Some(
                "to make a disk of its bytes, state the format raw (-f raw), and unpack (--unpack) if it is in a container",
            ),
        },
        ..Format::DEFAULT
    },
    known!(
        "ewf",
        [".e01", ".ex01"],
        "an EnCase image (EWF)",
        false,
        |s| at(s, 0, b"EVF\x09\x0d\x0a\xff\0") || at(s, 0, b"EVF2\x0d\x0a\x81\0"),
        "export it as raw with ewfexport"
    ),
    known!(
        "aff",
        [".aff"],
        "a forensic image (AFF)",
        false,
        |s| at(s, 0, b"AFF10\r\n\0"),
        "make it raw with affconvert"
    ),
    known!(
        "asif",
        [".asif"],
        "an Apple sparse image (ASIF)",
        false,
        |s| at(s, 0, b"shdw\0\0\0\x01"),
        "make it raw with diskutil on a Mac"
    ),
    known!(
        "android-sparse",
        [".simg"],
        "an Android sparse image",
        false,
        |s| at(s, 0, &[0x3a, 0xff, 0x26, 0xed, 1, 0]),
        "make it raw with simg2img"
    ),
    known!(
        "partclone",
        [],
        "one partition, saved by partclone (Clonezilla)",
        false,
        |s| at(s, 0, b"partclone-image"),
        "restore it with partclone.restore"
    ),
    known!(
        "partimage",
        [],
        "one partition, saved by partimage",
        false,
        |s| at(s, 0, b"PaRtImAgE-VoLuMe"),
        "restore it with partimage"
    ),
];
