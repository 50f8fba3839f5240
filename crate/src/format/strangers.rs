//! Files that are mistaken for disk images, or contain one in an unsupported way. Each is rejected by name.

use super::foreign::{at, known};
use super::{Content, Format, FormatReader, Sample};
use std::borrow::Cow;

macro_rules! stranger {
    ($($row:tt)+) => { known!(Other, $($row)+) };
}

/// Advice on the configuration of a virtual machine.
const WITH_DISKS: &str = "open it together with its disks";

/// Text files are classified by this many bytes.
const TEXT: usize = 4096;

/// Returns the start of a text file, without a byte order mark and leading white space; `None` if the file does not
/// begin with text. A text has no NUL, unlike an archive that begins with the name of a file. In UTF-16, returns a byte for
/// each character.
fn text<'a>(sample: &Sample<'a>) -> Option<Cow<'a, [u8]>> {
    let head = sample.head.get(..TEXT).unwrap_or(sample.head);
    let text = match head {
        [0xff, 0xfe, text @ ..] => Cow::Owned(narrowed(text, u16::from_le_bytes)),
        [0xfe, 0xff, text @ ..] => Cow::Owned(narrowed(text, u16::from_be_bytes)),
        [b'<', 0, 1..=0x7f, 0, ..] => Cow::Owned(narrowed(head, u16::from_le_bytes)),
        [0, b'<', 0, 1..=0x7f, ..] => Cow::Owned(narrowed(head, u16::from_be_bytes)),
        _ => Cow::Borrowed(head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(head)),
    };
    let begin = text.len() - text.trim_ascii_start().len();
    let end = text[begin..].iter().position(|&byte| byte == 0).map_or(text.len(), |at| begin + at);
    let start = &text[begin..text.len().min(begin + 16)];
    let is_text = start.iter().all(|&byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
    (is_text && !start.is_empty()).then(|| match &text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[begin..end]),
        Cow::Owned(text) => Cow::Owned(text[begin..end].to_vec()),
    })
}

/// Returns a byte for each unit of `text`, of those beyond ASCII a question mark.
fn narrowed(text: &[u8], unit: fn([u8; 2]) -> u16) -> Vec<u8> {
    let narrow = |unit: u16| u8::try_from(unit).ok().filter(u8::is_ascii).unwrap_or(b'?');
    text.as_chunks().0.iter().map(|&bytes| narrow(unit(bytes))).collect()
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window.eq_ignore_ascii_case(part))
}

fn begins(text: &[u8], part: &[u8]) -> bool {
    text.get(..part.len()).is_some_and(|start| start.eq_ignore_ascii_case(part))
}

/// Whether the file is an XML or HTML document with `tag` near its start.
fn has_tag(sample: &Sample<'_>, tag: &[u8]) -> bool {
    text(sample).is_some_and(|text| (begins(&text, b"<?xml") || begins(&text, b"<!--")) && contains(&text, tag))
}

fn begins_text(sample: &Sample<'_>, starts: &[&[u8]]) -> bool {
    text(sample).is_some_and(|text| starts.iter().any(|start| begins(&text, start)))
}

fn is_vmx(sample: &Sample<'_>) -> bool {
    // The last one: an encrypted configuration.
    let keys: [&[u8]; 3] = [b"virtualHW.version", b"config.version", b"encryption.keySafe"];
    text(sample).is_some_and(|text| keys.iter().any(|key| contains(&text, key)))
}

fn is_json(sample: &Sample<'_>) -> bool {
    let Some(text) = text(sample) else { return false };
    matches!(&*text, [b'{' | b'[', rest @ ..] if matches!(rest.trim_ascii_start().first(), Some(b'"' | b'{' | b'[')))
}

/// Whether the file is a text: lines of UTF-8 without control characters.
fn is_plain_text(sample: &Sample<'_>) -> bool {
    let head = sample.head;
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        // The head may end within a character.
        Err(error) if head.len() - error.valid_up_to() < 4 => {
            std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    let is_of_text = |character: char| !character.is_control() || matches!(character, '\t' | '\n' | '\r' | '\x0c');
    text.contains('\n') && text.chars().all(is_of_text)
}

/// The brand of a file of the MPEG-4 family, whose first box is `ftyp`.
fn brand<'a>(sample: &Sample<'a>) -> Option<&'a [u8]> {
    // The box is short: its size begins with two zeros.
    (at(sample, 4, b"ftyp") && at(sample, 0, &[0, 0])).then(|| sample.head.get(8..12)).flatten()
}

/// Whether the file has `kind` of RIFF.
fn is_riff(sample: &Sample<'_>, kind: &[u8]) -> bool {
    at(sample, 0, b"RIFF") && at(sample, 8, kind)
}

fn is_picture(sample: &Sample<'_>) -> bool {
    let starts: [&[u8]; 6] = [b"\x89PNG\r\n\x1a\n", &[0xff, 0xd8, 0xff], b"GIF87a", b"GIF89a", b"II*\0", b"MM\0*"];
    let brands: [&[u8]; 4] = [b"heic", b"heix", b"mif1", b"avif"];
    starts.iter().any(|start| at(sample, 0, start))
        || is_riff(sample, b"WEBP")
        || brand(sample).is_some_and(|brand| brands.contains(&brand))
        || begins_text(sample, &[b"<svg"])
        || has_tag(sample, b"<svg")
}

fn is_sound(sample: &Sample<'_>) -> bool {
    let starts: [&[u8]; 5] = [b"ID3\x02", b"ID3\x03", b"ID3\x04", b"fLaC\0\0\0\x22", b"OggS\0\x02"];
    starts.iter().any(|start| at(sample, 0, start)) || is_riff(sample, b"WAVE") || brand(sample) == Some(b"M4A ")
}

fn is_video(sample: &Sample<'_>) -> bool {
    let starts: [&[u8]; 3] = [&[0x1a, 0x45, 0xdf, 0xa3], &[0, 0, 1, 0xba], b"\x30\x26\xb2\x75\x8e\x66\xcf\x11"];
    starts.iter().any(|start| at(sample, 0, start)) || is_riff(sample, b"AVI ") || brand(sample).is_some()
}

/// Matches zip archives whose first member says that they are a document, and the older compound files.
fn is_document(sample: &Sample<'_>) -> bool {
    let is_zip = |name: &[u8]| at(sample, 0, b"PK\x03\x04") && at(sample, 30, name);
    is_zip(b"[Content_Types].xml")
        || is_zip(b"mimetypeapplication/vnd.oasis.opendocument.")
        || is_zip(b"mimetypeapplication/epub+zip")
        || at(sample, 0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
}

/// The field of an ELF file with its type, and the type of a core dump, in either byte order.
const ELF_TYPE: usize = 16;
const CORE: [[u8; 2]; 2] = [[4, 0], [0, 4]];

fn is_core(sample: &Sample<'_>) -> bool {
    let is_elf_core = |order: [u8; 2]| at(sample, 0, b"\x7fELF") && at(sample, ELF_TYPE, &order);
    let dumps: [&[u8]; 3] = [b"MDMP\x93\xa7", b"PAGEDUMP\x0f\0", b"PAGEDU64\x0f\0"];
    CORE.into_iter().any(is_elf_core) || dumps.iter().any(|dump| at(sample, 0, dump))
}

/// The field of a DOS program with the offset of its Windows part.
const NEW_HEADER: std::ops::Range<usize> = 60..64;

fn is_windows_program(sample: &Sample<'_>) -> bool {
    let field = sample.head.get(NEW_HEADER).and_then(|field| field.try_into().ok());
    let offset = field.map_or(0, u32::from_le_bytes) as usize;
    at(sample, 0, b"MZ") && offset < sample.head.len() && at(sample, offset, b"PE\0\0")
}

/// Matches states of VirtualBox, and those of VMware, snapshots with and without memory.
fn is_saved_state(sample: &Sample<'_>) -> bool {
    let of_vmware = (0xd0..=0xd3).any(|first| at(sample, 0, &[first, 0xbe, 0xd2, 0xbe]));
    of_vmware || at(sample, 0, b"\x7fVirtualBox SavedState")
}

/// Matches the portable formats, and the old binary one if its name field is valid.
fn is_cpio(sample: &Sample<'_>) -> bool {
    let is_portable = |magic: &[u8]| {
        let number = sample.head.get(magic.len()..magic.len() + 6);
        at(sample, 0, magic) && number.is_some_and(|number| number.iter().all(u8::is_ascii_hexdigit))
    };
    let is_binary = || {
        let len = sample.head.get(20..22).map_or(0, |len| usize::from(u16::from_le_bytes([len[0], len[1]])));
        let name = sample.head.get(26..26 + len).and_then(|name| name.split_last());
        at(sample, 0, &[0xc7, 0x71])
            && name.is_some_and(|(end, name)| *end == 0 && !name.is_empty() && !name.contains(&0))
    };
    is_portable(b"070701") || is_portable(b"070702") || is_portable(b"070707") || is_binary()
}

/// The magic number of the first record of `zfs send`.
const ZFS_STREAM: u64 = 0x0002_f5ba_cbac;

/// Matches a method, such as `-lh5-`, and a level.
fn is_lha(sample: &Sample<'_>) -> bool {
    let method = sample.head.get(2..7);
    let is_method = |method: &[u8]| matches!(method, [b'-', b'l', b'h' | b'z', kind, b'-'] if kind.is_ascii_digit() || b"ds".contains(kind));
    method.is_some_and(is_method) && sample.head.get(20).is_some_and(|level| *level <= 3)
}

/// The formats, most specific signature first.
pub(super) const FORMATS: &[Format] = &[
    stranger!(
        "git-lfs",
        "a Git LFS pointer",
        |s| at(s, 0, b"version https://git-lfs.github.com/spec/")
            || at(s, 0, b"version https://hawser.github.com/spec/"),
        "get the image that it stands for with git lfs pull"
    ),
    stranger!(
        "html",
        "a web page",
        |s| begins_text(s, &[b"<!doctype html", b"<html", b"<head"])
            || has_tag(s, b"<html")
            || has_tag(s, b"<!doctype html"),
        "a server may have sent it instead of the image: download it again"
    ),
    known!(
        Machine,
        "ovf",
        [".ovf"],
        "an OVF descriptor (.ovf)",
        |s| begins_text(s, &[b"<Envelope", b"<ovf:Envelope"]) || has_tag(s, b"<Envelope") || has_tag(s, b":Envelope"),
        WITH_DISKS
    ),
    known!(
        Machine,
        "vbox",
        [".vbox"],
        "a VirtualBox configuration (.vbox)",
        |s| begins_text(s, &[b"<VirtualBox "]) || has_tag(s, b"<VirtualBox "),
        WITH_DISKS
    ),
    known!(Machine, "vmx", [".vmx"], "a VMware configuration (.vmx)", is_vmx, WITH_DISKS),
    stranger!("pdf", "a PDF", |s| at(s, 0, b"%PDF-1.") || at(s, 0, b"%PDF-2.")),
    stranger!("picture", "a picture", is_picture),
    stranger!("sound", "a sound file", is_sound),
    stranger!("video", "a video", is_video),
    stranger!("document", "a document, such as of Word or Excel", is_document),
    stranger!(
        "xml",
        "an XML document",
        |s| begins_text(s, &[b"<?xml "]),
        "a server may have sent it instead of the image"
    ),
    stranger!("json", "a JSON document", is_json, "a server may have sent it instead of the image"),
    stranger!(
        "xva",
        [".xva"],
        "a XenServer export (XVA)",
        // A tar archive whose first member is `ova.xml`.
        |s| at(s, 0, b"ova.xml") && at(s, 7, &[0; 93]) && s.head.len() >= 512,
        "its disk is cut into many files: export the disk alone, as VHD or raw"
    ),
    stranger!(
        "vma",
        [".vma"],
        "a Proxmox backup (VMA)",
        |s| at(s, 0, b"VMA\0\0\0\0\x01"),
        "take the disk out of it with vma extract"
    ),
    stranger!("7z", [".7z"], "a 7z archive", |s| at(s, 0, b"7z\xbc\xaf\x27\x1c"), "unpack it first"),
    stranger!(
        "rar",
        [".rar"],
        "a rar archive",
        |s| at(s, 0, b"Rar!\x1a\x07\0") || at(s, 0, b"Rar!\x1a\x07\x01\0"),
        "unpack it first"
    ),
    stranger!("cpio", "a cpio archive", is_cpio, "unpack it first"),
    stranger!("deb", "a Debian package", |s| at(s, 0, b"!<arch>\ndebian-binary"), "unpack it first"),
    stranger!("ar", "an ar archive", |s| at(s, 0, b"!<arch>\n"), "unpack it first"),
    stranger!("rpm", "an RPM package", |s| at(s, 0, &[0xed, 0xab, 0xee, 0xdb]), "unpack it first"),
    stranger!("cab", "a cabinet archive (.cab)", |s| at(s, 0, b"MSCF\0\0\0\0"), "unpack it first"),
    stranger!("xar", "a xar archive (such as a .pkg package)", |s| at(s, 0, b"xar!\0\x1c"), "unpack it first"),
    stranger!("lha", "an LHA archive", is_lha, "unpack it first"),
    stranger!(
        "btrfs-stream",
        "the output of btrfs send",
        |s| at(s, 0, b"btrfs-stream\0"),
        "receive it on a disk with btrfs receive first"
    ),
    stranger!(
        "zfs-stream",
        "the output of zfs send",
        |s| at(s, 8, &ZFS_STREAM.to_le_bytes()) || at(s, 8, &ZFS_STREAM.to_be_bytes()),
        "receive it on a disk with zfs receive first"
    ),
    stranger!(
        "linux-kernel",
        "a Linux kernel",
        |s| at(s, 510, &[0x55, 0xaa]) && at(s, 514, b"HdrS"),
        "the disk is another file"
    ),
    stranger!("core", "a memory dump", is_core),
    stranger!("elf", "a Linux program", |s| at(s, 0, b"\x7fELF")),
    stranger!("exe", "a Windows program", is_windows_program),
    stranger!("vm-state", "a saved state of a virtual machine", is_saved_state, "the disk is another file"),
    stranger!("sqlite", "an SQLite database", |s| at(s, 0, b"SQLite format 3\0")),
    stranger!("wasm", "a WebAssembly module", |s| at(s, 0, b"\0asm\x01\0\0\0")),
    stranger!("git-pack", "a Git pack", |s| at(s, 0, b"PACK\0\0\0\x02") || at(s, 0, b"PACK\0\0\0\x03")),
    stranger!(
        "compress",
        "a file compressed by compress (.Z)",
        // The bits of a code: from 9 to 16, with or without blocks.
        |s| at(s, 0, &[0x1f, 0x9d]) && s.head.get(2).is_some_and(|bits| matches!(bits & 0x7f, 9..=16)),
        "unpack it first"
    ),
    stranger!("lrzip", "an lrzip-compressed file", |s| at(s, 0, b"LRZI\0"), "unpack it first"),
    stranger!("lzop", "an lzop-compressed file", |s| at(s, 0, b"\x89LZO\0\r\n\x1a\n"), "unpack it first"),
    stranger!("lzip", "an lzip-compressed file", |s| at(s, 0, b"LZIP\x01"), "unpack it first"),
    // The dictionary has at least 64 KiB; the size is unknown or at most 256 TiB.
    stranger!(
        "lzma",
        [".lzma"],
        "an LZMA-compressed file",
        |s| at(s, 0, &[0x5d, 0, 0]) && (at(s, 5, &[0xff; 8]) || at(s, 11, &[0, 0])),
        "unpack it first"
    ),
    stranger!("zip-part", "a part of a zip archive", |s| at(s, 0, b"PK\x07\x08"), "unpack it, from the .zip, first"),
    stranger!(
        "wim",
        [".wim"],
        "a Windows image of files (WIM)",
        |s| at(s, 0, b"MSWIM\0\0\0"),
        "apply it to a disk first"
    ),
];

/// A text in no other format. It is refused only where a format must be known: in an archive it may be chosen as a raw disk.
pub(crate) const TEXT_FILE: Format = stranger!("text", "a text file", is_plain_text);
