//! Raw disks in xz, zstd, bzip2 and lz4: the bytes of the disk, or one clear error, for any content. What containers have in
//! common is tested with gzip.

use crate::common::small::{small, small_disk};
use crate::common::vhd::{FIXED, Vhd};
use crate::common::*;
use crate::gzip::{disk, noise};
use decant::container::part::{ContainerNumber, DecodedPart, PartDecoder, SentPart};
use decant::error::fields::Field;
use decant::io::target::Abilities;
use decant::native::InlineParts;
use decant::open::disk_choice::DiskChoice;
use decant::{Error, ErrorKind, Input, OpenOptions};
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use std::cell::Cell;
use std::rc::Rc;
use twox_hash::XxHash32;

const MIB: usize = 1 << 20;

/// A codec with its program, and the arguments that make different files.
pub struct Codec {
    pub name: &'static str,
    args: &'static [&'static [&'static str]],
    /// Number of bytes that identify it.
    pub signature: usize,
}

pub const XZ: Codec = Codec {
    name: "xz",
    args: &[
        &["-c"],
        &["-c9e", "--check=none"],
        &["-c0", "--check=crc32"],
        &["-c", "--check=sha256", "-T2", "--block-size=65536"],
        &["-c", "--delta=dist=7", "--lzma2=dict=64KiB,lc=1,lp=3,pb=0"],
        &["-c", "--x86", "--lzma2"],
        &["-c", "--arm64=start=4096", "--lzma2"],
        &["-c", "--block-list=1000,512,1,70000"],
    ],
    signature: 6,
};
/// The headers of blocks state their sizes.
pub const XZ_IN_BLOCKS: Codec =
    Codec { name: "xz", args: &[&["-cT2", "--block-size=6000"], &["-cT2", "--block-size=65536"]], signature: 6 };
pub const ZSTD: Codec = Codec {
    name: "zstd",
    args: &[&["-qc"], &["-qc", "--no-check", "-19"], &["-qc", "--long=27"], &["-qc", "--no-content-size", "-1"]],
    signature: 4,
};
pub const BZIP2: Codec = Codec { name: "bzip2", args: &[&["-c"], &["-c1"]], signature: 10 };
pub const LZ4: Codec = Codec {
    name: "lz4",
    args: &[
        &["-qc"],
        &["-qc", "-9", "-BD", "-B4"],
        &["-qc", "-BD", "-B5", "-BX"],
        &["-qc", "-B4", "--no-frame-crc"],
        &["-qc", "-B6", "-BX", "--no-frame-crc"],
        &["-qcl"],
    ],
    signature: 4,
};

const CODECS: [&Codec; 5] = [&XZ, &XZ_IN_BLOCKS, &ZSTD, &BZIP2, &LZ4];

impl Codec {
    pub fn pack(&self, data: &[u8]) -> Vec<u8> {
        filter(self.name, self.args[0], data)
    }
}

pub fn padded(content: &[u8]) -> Vec<u8> {
    [content, &vec![0; content.len().next_multiple_of(512) - content.len()]].concat()
}

fn bytes(file: Vec<u8>) -> Result<Vec<u8>, Error> {
    Case::new(file).bytes()
}

#[test]
fn real_files_by_every_route() {
    let all = vec![0, 1, 512, 5000, MIB - 512, 2 * MIB + 4096, 6 * MIB + 100];
    for size in by_scope(vec![0, 5000, 2 * MIB + 4096], all.clone(), all) {
        let disk = disk(size);
        for (codec, args) in CODECS.iter().flat_map(|codec| codec.args.iter().map(move |args| (codec, args))) {
            let name = format!("{} {args:?} {size}", codec.name);
            let file = filter(codec.name, args, &disk);
            if size == 0 {
                let error = bytes(file).unwrap_err();
                let message = format!("In the content of the {} file: The file is empty", codec.name);
                assert_eq!((error.kind, error.message()), (ErrorKind::NotRecognised, message), "{name}");
                continue;
            }
            for (as_stream, answers, job) in [
                (false, Answers::InOrder, 1 << 20),
                (true, Answers::Reverse, 4096),
                (false, Answers::OneAtATime, 8 << 20),
            ] {
                let case = Case { as_stream, ..Case::new(file.clone()) };
                let converted = case.convert(answers, Abilities::default(), job);
                let progress = converted.result.unwrap_or_else(|error| panic!("{name}: {error}"));
                assert_eq!((progress.guest_total, progress.read), (None, file.len() as u64), "{name}");
                assert!(*converted.target.bytes.borrow() == padded(&disk), "{name}: other bytes");
                assert!(converted.target.finished.get(), "{name}");
            }
        }
    }
}

/// A program, which the filters for branches change.
#[test]
fn filters_of_branches() {
    let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let disk = [&disk(512)[..], &program[..by_scope(MIB / 8, MIB, MIB)]].concat();
    for filter_of in ["x86", "powerpc", "ia64", "arm", "armthumb", "sparc", "arm64"] {
        let file = filter("xz", &["-c0", &format!("--{filter_of}"), "--lzma2"], &disk);
        assert!(bytes(file).unwrap() == disk, "{filter_of}");
    }
}

/// A frame's or stream's header with a correct checksum, and the rest.
fn xz_block(header: &[u8]) -> Vec<u8> {
    let mut header = header.to_vec();
    header.insert(0, 0);
    header.resize(header.len().next_multiple_of(4), 0);
    header[0] = (header.len() / 4) as u8;
    let stream = xz_stream_header([0, 1]);
    [stream, header.clone(), crc32(&header)].concat()
}

fn xz_stream_header(flags: [u8; 2]) -> Vec<u8> {
    [&b"\xfd7zXZ\0"[..], &flags, &crc32(&flags)].concat()
}

fn crc32(bytes: &[u8]) -> Vec<u8> {
    let gzip = filter("gzip", &["-cn"], bytes);
    gzip[gzip.len() - 8..][..4].to_vec()
}

#[test]
fn streams_padding_and_hostile_headers() {
    use ErrorKind::{Corrupt, Limit, Unsupported};
    let disk = disk(70_000);
    let (left, right) = disk.split_at(30_000);
    let skippable = |len: usize| [&[0x50, 0x2a, 0x4d, 0x18][..], &(len as u32).to_le_bytes(), &vec![7; len]].concat();
    let [xz, _, zstd, bzip2, lz4] = CODECS.map(|codec| codec.pack(&disk));
    let two = |codec: &Codec| [codec.pack(left), codec.pack(right)].concat();
    let with = |file: &[u8], end: &[u8]| [file, end].concat();
    let zstd_frame = |header: &[u8]| [&[0x28, 0xb5, 0x2f, 0xfd][..], header, &[0; 100]].concat();
    let dictionary = with(&disk[..40_000], &noise(8192));
    let by_dictionary = with_dictionary(&dictionary, &disk);
    let many_filters = filter("xz", &["-c", "--delta", "--x86", "--lzma2"], &disk);
    let short_backward = {
        let mut file = xz.clone();
        let footer = file.len() - 12;
        file[footer + 4] ^= 1;
        let sum = crc32(&file[footer + 4..footer + 10]);
        file[footer..footer + 4].copy_from_slice(&sum);
        file
    };
    // The index of another file with as many blocks.
    let other_index = {
        let other = XZ.pack(left);
        let index = |file: &[u8]| {
            let at = file.len() - 8;
            file.len() - 12 - (u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize + 1) * 4
        };
        [&xz[..index(&xz)], &other[index(&other)..]].concat()
    };
    let legacy = |data: &[u8]| filter("lz4", &["-qcl"], data);
    // A file that states its size, and its header with another one, or with other flags.
    let sized = lz4_of_known_size(&disk);
    let lz4_with = |header: &[u8]| [&lz4_header(header), &sized[15..]].concat();
    let flags = sized[4..6].to_vec();
    let size = |size: u64| lz4_with(&[&flags[..], &size.to_le_bytes()].concat());
    // (what, file, the error and a part of its message)
    type Row<'a> = (&'a str, Vec<u8>, Option<(ErrorKind, &'a str, &'a str)>);
    let rows: &[Row] = &[
        ("xz: two streams", two(&XZ), None),
        ("xz: padding", [XZ.pack(left), vec![0; 12], XZ.pack(right), vec![0; 300_000]].concat(), None),
        ("xz: a zero after", with(&xz, &[0]), None),
        ("xz: five zeros after", with(&xz, &[0; 5]), None),
        ("xz: odd padding", [&xz[..], &[0; 5], &xz].concat(), Some((Corrupt, "xz-damaged", "other bytes follow"))),
        ("xz: a letter in padding", with(&xz, b"\0x"), Some((Corrupt, "xz-damaged", "other bytes follow"))),
        ("xz: text in padding", with(&xz, b"\0\0\0x"), Some((Corrupt, "xz-damaged", "other bytes follow"))),
        ("xz: text after", with(&xz, b"text"), Some((Corrupt, "xz-damaged", "other bytes follow"))),
        ("xz: half a signature", with(&xz, b"\xfd7z"), Some((Corrupt, "truncated", "truncated"))),
        ("xz: another signature", with(&xz, &[0xfd; 12]), Some((Corrupt, "xz-damaged", "other bytes follow"))),
        ("xz: empty streams", [XZ.pack(b""), xz.clone(), XZ.pack(b"")].concat(), None),
        ("xz: a wrong backward size", short_backward, Some((Corrupt, "xz-damaged", "size"))),
        ("xz: the index of another file", other_index, Some((Corrupt, "xz-damaged", "size"))),
        ("xz: check 2", xz_stream_header([0, 2]), Some((Unsupported, "unsupported", "check type 2 of xz"))),
        ("xz: flags", xz_stream_header([1, 4]), Some((Unsupported, "unsupported", "reserved flags of xz"))),
        ("xz: a filter", xz_block(&[1, 0x30, 0]), Some((Unsupported, "unsupported", "filter 48 of xz"))),
        ("xz: many filters", many_filters, Some((Unsupported, "unsupported", "a chain of 3 filters of xz"))),
        ("xz: 4 GiB", xz_block(&[0, 0x21, 1, 40]), Some((Limit, "window-too-large", "4096 MiB"))),
        ("xz: 3 GiB", xz_block(&[0, 0x21, 1, 39]), Some((Limit, "window-too-large", "3072 MiB"))),
        ("xz: 2 GiB", xz_block(&[0, 0x21, 1, 38]), Some((Corrupt, "truncated", "truncated"))),
        ("xz: a size beyond", xz_block(&[0, 0x21, 1, 41]), Some((Unsupported, "unsupported", "reserved"))),
        ("zstd: two frames", two(&ZSTD), None),
        (
            "zstd: skippable frames",
            [skippable(4), ZSTD.pack(left), skippable(0), ZSTD.pack(right), skippable(70_000)].concat(),
            None,
        ),
        (
            "zstd: a short skippable frame",
            [zstd.clone(), skippable(9)[..12].to_vec()].concat(),
            Some((Corrupt, "truncated", "truncated")),
        ),
        ("zstd: text after", with(&zstd, b"text"), Some((Corrupt, "zstd-damaged", "other bytes follow"))),
        ("zstd: zeros after", with(&zstd, &[0; 512]), Some((Corrupt, "zstd-damaged", "other bytes follow"))),
        ("zstd: 2^41", zstd_frame(&[0, 31 << 3]), Some((Limit, "window-too-large", "2097152 MiB"))),
        ("zstd: above 2^31", zstd_frame(&[0, 21 << 3 | 1]), Some((Limit, "window-too-large", "2304 MiB"))),
        ("zstd: 2^31", zstd_frame(&[0, 21 << 3]), Some((Corrupt, "truncated", "truncated"))),
        ("zstd: one segment", zstd_frame(&[0xe0, 0, 0, 0, 0, 0, 0, 0, 0x80]), Some((Limit, "window-too-large", "MiB"))),
        ("zstd: reserved", zstd_frame(&[8, 0]), Some((Unsupported, "unsupported", "reserved flags of zstd"))),
        ("zstd: less than stated", short_zstd_frame(), Some((Corrupt, "zstd-damaged", "size that it states"))),
        ("zstd: a dictionary", by_dictionary, Some((Unsupported, "unsupported", " of zstd, which"))),
        ("bzip2: two streams", two(&BZIP2), None),
        ("bzip2: empty streams", [BZIP2.pack(b""), bzip2.clone(), BZIP2.pack(b"")].concat(), None),
        ("bzip2: a zero after", with(&bzip2, &[0]), None),
        ("bzip2: zeros after", with(&bzip2, &[0; 300_000]), None),
        (
            "bzip2: a stream after zeros",
            [&bzip2[..], &[0; 512], &bzip2].concat(),
            Some((Corrupt, "bzip2-damaged", "other bytes follow")),
        ),
        ("bzip2: text after zeros", with(&bzip2, b"\0\0text"), Some((Corrupt, "bzip2-damaged", "other bytes follow"))),
        ("bzip2: text after", with(&bzip2, b"text"), Some((Corrupt, "bzip2-damaged", "other bytes follow"))),
        ("bzip2: half a signature", with(&bzip2, b"BZ"), Some((Corrupt, "truncated", "truncated"))),
        ("lz4: two frames", two(&LZ4), None),
        ("lz4: empty frames", [LZ4.pack(b""), lz4.clone(), LZ4.pack(b"")].concat(), None),
        (
            "lz4: skippable frames",
            [skippable(4), LZ4.pack(left), skippable(0), LZ4.pack(right), skippable(70_000)].concat(),
            None,
        ),
        ("lz4: legacy frames", [legacy(left), legacy(b""), LZ4.pack(b""), legacy(right)].concat(), None),
        ("lz4: skippable and legacy", [skippable(9), legacy(left), skippable(1), LZ4.pack(right)].concat(), None),
        ("lz4: its size", sized.clone(), None),
        ("lz4: more than stated", size(69_999), Some((Corrupt, "lz4-damaged", "size that it states"))),
        ("lz4: less than stated", size(70_001), Some((Corrupt, "lz4-damaged", "size that it states"))),
        ("lz4: a huge size", size(u64::MAX), Some((Corrupt, "lz4-damaged", "size that it states"))),
        ("lz4: text after", with(&lz4, b"text"), Some((Corrupt, "lz4-damaged", "other bytes follow"))),
        ("lz4: zeros after", with(&lz4, &[0; 512]), Some((Corrupt, "lz4-damaged", "other bytes follow"))),
        ("lz4: half a signature", with(&lz4, &[4, 0x22]), Some((Corrupt, "truncated", "truncated"))),
        ("lz4: text after legacy", with(&legacy(&disk), b"text"), Some((Corrupt, "lz4-damaged", "other bytes follow"))),
        ("lz4: legacy, cut", legacy(&disk)[..500].to_vec(), Some((Corrupt, "truncated", "truncated"))),
        ("lz4: legacy, an empty block", with(&legacy(&disk), &[0; 4]), Some((Corrupt, "lz4-damaged", "invalid"))),
        (
            "lz4: a dictionary",
            lz4_with(&[0x61, 0x40, 7, 0, 0, 0]),
            Some((Unsupported, "unsupported", "dictionary 7 of lz4")),
        ),
        ("lz4: version 2", lz4_with(&[0x80, 0x40]), Some((Unsupported, "unsupported", "reserved flags of lz4, 0x80"))),
        ("lz4: reserved", lz4_with(&[0x62, 0x40]), Some((Unsupported, "unsupported", "reserved flags of lz4, 0x62"))),
        ("lz4: reserved size", lz4_with(&[0x60, 0xc0]), Some((Unsupported, "unsupported", "reserved flags of lz4"))),
        ("lz4: blocks of 16 KiB", lz4_with(&[0x60, 0x30]), Some((Corrupt, "lz4-damaged", "invalid"))),
        (
            "lz4: a block longer than stated",
            [&lz4_header(&[0x60, 0x40])[..], &0x8001_0001u32.to_le_bytes(), &[0; 70_000]].concat(),
            Some((Corrupt, "lz4-damaged", "invalid")),
        ),
        (
            "lz4: a match before the first block",
            [&lz4_header(&[0x40, 0x40])[..], &[12, 0, 0, 0, 0x14, 7, 2, 0, 0x70], &[7; 7], &[0; 4]].concat(),
            Some((Corrupt, "lz4-damaged", "invalid")),
        ),
        (
            "lz4: a match before an independent block",
            [&lz4_header(&[0x60, 0x40])[..], &1u32.to_le_bytes(), &[0], &0x8000_0200u32.to_le_bytes(), &[7; 512]]
                .into_iter()
                .chain([&[12, 0, 0, 0, 0x14, 7, 2, 0, 0x70][..], &[7; 7], &[0; 4]])
                .collect::<Vec<_>>()
                .concat(),
            Some((Corrupt, "lz4-damaged", "invalid")),
        ),
    ];
    for (what, file, expected) in rows {
        match (bytes(file.clone()), expected) {
            (Ok(found), None) => assert!(found[..70_000] == disk, "{what}: other bytes"),
            (Err(error), Some((kind, code, part))) => {
                assert_eq!((error.kind, &*error.code), (*kind, *code), "{what}: {error}");
                assert!(error.message().contains(part), "{what}: {error}");
            }
            (found, _) => panic!("{what}: {:?}", found.map(|bytes| bytes.len())),
        }
    }
}

/// A file may begin with skippable frames of any length, which identification skips.
#[test]
fn skippable_frames_at_the_start() {
    let disk = disk(70_000);
    let skippable = |len: usize| [&[0x5f, 0x2a, 0x4d, 0x18][..], &(len as u32).to_le_bytes(), &vec![7; len]].concat();
    const HEAD: usize = 36 << 10;
    // (lengths of frames, whether a file and a stream are recognised)
    let rows: &[(&[usize], bool, bool)] = &[
        (&[HEAD - 9], true, true),
        (&[HEAD - 8], true, true),
        (&[HEAD], true, true),
        (&[9, HEAD, 0], true, true),
        (&[MIB, MIB, 5, MIB], true, false),
        (&[HEAD; 64], true, false),
        (&[HEAD; 65], false, false),
    ];
    for codec in [&ZSTD, &LZ4] {
        for (frames, in_file, in_stream) in rows {
            let file = [frames.iter().flat_map(|&len| skippable(len)).collect(), codec.pack(&disk)].concat();
            for (as_stream, is_known) in [(false, *in_file), (true, *in_stream)] {
                let what = format!("{}: {frames:?}, {as_stream}", codec.name);
                match (Case { as_stream, ..Case::new(file.clone()) }.bytes(), is_known) {
                    (Ok(found), true) => assert!(found[..70_000] == disk, "{what}: other bytes"),
                    (Err(error), false) => assert_eq!(error.kind, ErrorKind::NotRecognised, "{what}: {error}"),
                    (found, _) => panic!("{what}: {:?}", found.map(|bytes| bytes.len())),
                }
            }
        }
    }
    // Nothing else is recognised after such a frame.
    let qcow2 = [skippable(HEAD), small()].concat();
    assert_eq!(bytes(qcow2).unwrap_err().kind, ErrorKind::NotRecognised);
    // A frame ends before its length.
    assert_eq!(bytes(skippable(HEAD)[..HEAD].to_vec()).unwrap_err().kind, ErrorKind::NotRecognised);
}

/// `data` as lz4 packs it from a file.
fn lz4_of_known_size(data: &[u8]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data");
    std::fs::write(&file, data).unwrap();
    filter("lz4", &["-qc", "--content-size", text(&file)], b"")
}

/// The header of an lz4 frame with these `fields` and their checksum.
fn lz4_header(fields: &[u8]) -> Vec<u8> {
    [&[4, 0x22, 0x4d, 0x18][..], fields, &[(XxHash32::oneshot(0, fields) >> 8) as u8]].concat()
}

/// A frame of 512 bytes that states 1,024. Its last block is empty.
fn short_zstd_frame() -> Vec<u8> {
    [&[0x28, 0xb5, 0x2f, 0xfd, 0x60, 0, 3, 0, 0x10, 0][..], &[7; 512], &[1, 0, 0]].concat()
}

fn with_dictionary(dictionary: &[u8], data: &[u8]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let [samples, trained] = ["samples", "dictionary"].map(|name| folder.path().join(name));
    std::fs::write(&samples, dictionary).unwrap();
    filter("zstd", &["-qq", "--train", "-B1000", "--maxdict=4096", text(&samples), "-o", text(&trained)], b"");
    filter("zstd", &["-qc", "-D", text(&trained)], data)
}

/// `lz4 -D` does not name the dictionary in the frame. Its matches reach back to before the data, which is an error even without checksums.
#[test]
fn lz4_dictionaries_without_a_name() {
    let disk = disk(200_000);
    let folder = tempfile::tempdir().unwrap();
    let dictionary = folder.path().join("dictionary");
    std::fs::write(&dictionary, &disk[..60_000]).unwrap();
    for args in
        [&["-qc"][..], &["-qc", "--no-frame-crc"], &["-qc9", "-B4", "-BD", "--no-frame-crc"], &["-qc", "-B4", "-BX"]]
    {
        let file = filter("lz4", &[args, &["-D", text(&dictionary)]].concat(), &disk);
        assert_eq!(file[4] & 1, 0, "{args:?}: the frame names the dictionary");
        for as_stream in [false, true] {
            let error = Case { as_stream, ..Case::new(file.clone()) }.bytes().unwrap_err();
            assert_eq!((error.kind, &*error.code), (ErrorKind::Corrupt, "lz4-damaged"), "{args:?}: {error}");
        }
        // A dictionary that no match needs changes nothing.
        let zeros = vec![0; 4096];
        let unused = folder.path().join("unused");
        std::fs::write(&unused, noise(4096)).unwrap();
        let file = filter("lz4", &[args, &["-D", text(&unused)]].concat(), &zeros);
        assert!(bytes(file).unwrap() == zeros, "{args:?}");
    }
}

/// `file`, of xz with one filter, with another dictionary in the header of its first block.
fn with_dictionary_of(mut file: Vec<u8>, property: u8) -> Vec<u8> {
    let header = 12..12 + 4 * (usize::from(file[12]) + 1);
    let at = header.clone().find(|&at| file[at..].starts_with(&[0x21, 1])).unwrap() + 2;
    file[at] = property;
    let sum = crc32(&file[header.start..header.end - 4]);
    file[header.end - 4..header.end].copy_from_slice(&sum);
    file
}

/// Windows and dictionaries take the memory that the content needs, and are announced if they are large.
#[test]
fn large_windows() {
    let disk = disk(70_000);
    // zstd does not know how much it is given.
    let zstd = |args: &[&str]| filter("zstd", &[&["-qc"], args].concat(), &disk);
    let long = zstd(&["--long=31"]);
    // (file, the size of its window that is announced)
    let files = [
        ("zstd of 2 GiB", long.clone(), Some(2048)),
        ("zstd of 1 GiB", zstd(&["--long=30"]), Some(1024)),
        ("zstd of 128 MiB", zstd(&["--long=27"]), None),
        ("zstd of known size", zstd(&["--long=31", "--stream-size=70000"]), None),
        ("zstd in gzip", filter("gzip", &["-cn"], &long), Some(2048)),
        // Frames are announced as far as they are decoded to recognise the content.
        ("zstd after another frame", [zstd(&[]), long].concat(), Some(2048)),
        ("xz of 1.5 GiB", with_dictionary_of(filter("xz", &["-c"], &disk), 37), Some(1536)),
        ("xz of 4 GiB and known size", with_dictionary_of(filter("xz", &["-cT2"], &disk), 40), None),
    ];
    for (what, file, window) in files {
        let is_twice = what.contains("another");
        let expected = if is_twice { [&disk[..], &disk].concat() } else { disk.clone() };
        for as_stream in [false, true] {
            let case = Case { as_stream, ..Case::new(file.clone()) };
            assert!(case.bytes().unwrap() == padded(&expected), "{what}");
            let found = case.info().unwrap().safety;
            let size =
                found.iter().find(|notice| notice.code == "large-window").and_then(|notice| notice.fields.get("size"));
            let announced = window.map(|mib: u64| Field::Number(mib << 20));
            assert_eq!(size, announced.as_ref(), "{what}");
        }
    }
}

/// The error for a file that must be unpacked states its window, if it is large.
#[test]
fn large_windows_of_packed_images() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("a.qcow2");
    qemu("qemu-img", &["create", "-q", "-f", "qcow2", text(&image), "2M"]);
    let qcow2 = std::fs::read(&image).unwrap();
    let long = filter("zstd", &["-qc", "--long=31"], &qcow2);
    let files = [
        ("zstd of 2 GiB", long.clone(), Some(2048)),
        ("zstd in gzip", filter("gzip", &["-cn"], &long), Some(2048)),
        ("zstd of 128 MiB", filter("zstd", &["-qc", "--long=27"], &qcow2), None),
        ("xz of 1.5 GiB", with_dictionary_of(filter("xz", &["-c"], &qcow2), 37), Some(1536)),
    ];
    for (what, file, window) in files {
        for as_stream in [false, true] {
            let error = Case { as_stream, ..Case::new(file.clone()) }.bytes().unwrap_err();
            assert_eq!(&*error.code, "needs-spool", "{what}");
            let expected = window.map(|mib: u64| Field::Number(mib << 20));
            assert_eq!(error.fields.get("window"), expected.as_ref(), "{what}");
        }
    }
}

/// With any changed bit in a small file, and cut anywhere, decoded in order and by parts: right bytes or an error.
#[test]
fn changed_files_never_give_other_bytes() {
    let disk = disk(1500);
    let zstd = |data: &[u8]| filter("zstd", &["-qc", &format!("--stream-size={}", data.len())], data);
    let files = [
        ("xz", filter("xz", &["-c"], &disk)),
        ("xz by CRC-32", filter("xz", &["-c", "--check=crc32", "--block-list=700,800"], &disk)),
        ("xz by SHA-256", filter("xz", &["-c", "--check=sha256", "--x86", "--lzma2"], &disk)),
        ("xz in blocks", filter("xz", &["-cT2", "--block-size=700"], &disk)),
        ("zstd", ZSTD.pack(&disk)),
        ("zstd in frames", [ZSTD.pack(&disk[..512]), ZSTD.pack(&disk[512..])].concat()),
        ("zstd in frames of known sizes", [zstd(&disk[..512]), zstd(&disk[512..])].concat()),
        ("bzip2", BZIP2.pack(&disk)),
        ("bzip2 in streams", [BZIP2.pack(&disk[..512]), BZIP2.pack(&disk[512..])].concat()),
        ("lz4", LZ4.pack(&disk)),
        ("lz4 in frames", [LZ4.pack(&disk[..512]), LZ4.pack(&disk[512..])].concat()),
        ("lz4 with checksums of blocks", filter("lz4", &["-qc", "-BX", "-BD", "-B4"], &disk)),
        ("lz4 with its size", lz4_of_known_size(&disk)),
    ];
    for (name, file) in files {
        let signature = CODECS.iter().find(|codec| name.starts_with(codec.name)).unwrap().signature;
        let changed = (signature * 8..file.len() * 8).map(|bit| {
            let mut changed = file.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            (format!("{name}, bit {bit}"), changed)
        });
        // A file that ends after a whole stream or frame is one, too: its disk ends earlier.
        let cut = (signature..file.len()).map(|len| (format!("{name}, cut at {len}"), file[..len].to_vec()));
        for (what, file) in changed.chain(cut) {
            match bytes(file) {
                Ok(found) if what.contains("cut") => assert!(padded(&disk).starts_with(&found), "{what}"),
                Ok(found) => assert!(found == padded(&disk), "{what}"),
                Err(error) => {
                    let is_clear = matches!(error.kind, ErrorKind::Corrupt | ErrorKind::Unsupported | ErrorKind::Limit);
                    assert!(is_clear || &*error.code == "not-a-disk" && what.contains("cut"), "{what}: {error}");
                }
            }
        }
    }
}

/// Other formats, archives and nested files are treated as in gzip.
#[test]
fn what_is_inside() {
    let folder = tempfile::tempdir().unwrap();
    let disk = disk(MIB);
    std::fs::write(folder.path().join("disk.raw"), &disk).unwrap();
    let image = folder.path().join("a.qcow2");
    qemu("qemu-img", &["create", "-q", "-f", "qcow2", text(&image), "2M"]);
    let qcow2 = std::fs::read(&image).unwrap();
    let archive = filter("tar", &["-cf", "-", "-C", text(folder.path()), "disk.raw"], b"");
    for codec in CODECS {
        let name = codec.name;
        let error = bytes(codec.pack(&qcow2)).unwrap_err();
        let message = format!("The {name} file holds qcow2, which cannot be read inside it; unpack it first");
        assert_eq!((error.kind, &*error.code, error.message()), (ErrorKind::Unsupported, "needs-spool", message));
        let content = Case { spool: true, ..Case::new(codec.pack(&qcow2)) }.bytes().unwrap();
        assert!(content == qcow2, "{name}");
        assert!(bytes(codec.pack(&archive)).unwrap() == disk, "{name}");
        assert!(bytes(codec.pack(&codec.pack(&disk))).unwrap() == disk, "{name}");
        let in_tar = crate::tar::archive(&[crate::tar::member("a", b'0', &codec.pack(&disk))]);
        assert!(bytes(in_tar).unwrap() == disk, "{name}");
        let five = (0..5).fold(disk.clone(), |file, _| codec.pack(&file));
        assert_eq!(bytes(five).unwrap_err().kind, ErrorKind::Limit, "{name}");
        let text = bytes(codec.pack(b"text")).unwrap_err();
        assert_eq!(&*text.code, "not-a-disk", "{name}: {text}");
        let salvage = Case { salvage: true, ..Case::new(codec.pack(&disk)) };
        let article = if ["xz", "lz4"].contains(&name) { "an" } else { "a" };
        let message = format!("A disk in {article} {name} file, which is decoded in order, cannot be salvaged");
        assert!(salvage.bytes().unwrap_err().message().starts_with(&message), "{name}");
    }
    for codec in CODECS {
        let empty = codec.pack(b"");
        let error = bytes(empty.repeat(65 * MIB / empty.len())).unwrap_err();
        let message =
            format!("The {} file has more than 64 MiB before the first byte of a disk; unpack it first", codec.name);
        assert_eq!((error.kind, error.message()), (ErrorKind::Limit, message));
    }
}

/// By its blocks, or as one block: the content is small. A tar archive may have several disks.
#[test]
fn images_are_read_in_place() {
    let archive = crate::tar::archive(&["a", "b"].map(|name| crate::tar::member(name, b'0', &small())));
    let args = CODECS.iter().flat_map(|codec| codec.args.iter().map(move |args| (codec.name, *args)));
    for (name, args) in args.chain([("gzip", &["-c"][..])]) {
        let case = Case { in_place: true, ..Case::new(filter(name, args, &small())) };
        assert!(case.bytes().unwrap() == small_disk(), "{name} {args:?}");
        let disk = Some(DiskChoice::Number(2));
        let case = Case { in_place: true, disk, ..Case::new(filter(name, args, &archive)) };
        assert!(case.bytes().unwrap() == small_disk(), "{name} {args:?}, in tar");
    }
}

/// Decodes parts, and counts them. One of them fails, if `fails` is its number.
struct Counting {
    decoded: Cell<usize>,
    fails: usize,
}

impl PartDecoder for Counting {
    fn depth(&self) -> usize {
        3
    }

    fn begin(&self) -> Box<dyn SentPart> {
        let number = self.decoded.replace(self.decoded.get() + 1);
        if number == self.fails { Box::new(Failing) } else { InlineParts.begin() }
    }
}

/// A part that is not decoded.
struct Failing;

impl SentPart for Failing {
    fn add(&mut self, _: &[u8]) -> decant::Result<()> {
        Ok(())
    }

    fn decode(self: Box<Self>, _: ContainerNumber) -> LocalBoxFuture<'static, decant::Result<DecodedPart>> {
        ready(Err(Error::new(ErrorKind::Internal, "The workers have ended"))).boxed_local()
    }
}

/// The number of parts of `file`, after checking that its data is `disk`.
fn parts_of(name: &str, file: Vec<u8>, disk: &[u8], fails: usize) -> usize {
    let parts = Rc::new(Counting { decoded: Cell::new(0), fails });
    let source = HeldSource::new(file);
    let (counted, reading) = (parts.clone(), source.clone());
    let all = async move {
        let Opened::Streamed(image) = open(Input::File(reading), &OpenOptions::default()).await? else {
            panic!("it is read in order")
        };
        let (mut stream, mut found) = (image.begin(Some(counted))?, vec![0; 1 << 20]);
        let mut bytes = Vec::new();
        while let len @ 1.. = stream.read(&mut found).await? {
            bytes.extend_from_slice(&found[..len]);
        }
        Ok::<_, Error>(bytes)
    };
    let bytes = drive(&source, Answers::InOrder, all).expect("it waits for nothing").unwrap();
    assert!(bytes == disk, "{name}: other bytes");
    parts.decoded.get()
}

/// The positions of ends of parts, of failures, and of a fixed VHD's footer do not change the disk.
#[test]
fn parts_of_any_size() {
    let footer = Vhd { kind: FIXED, size: 3 * 65_536, ..Vhd::new(65_536, &[]) }.footer();
    let mut data = [noise(65_536), vec![0; 65_536], disk(65_536)].concat();
    data.resize(3 * 65_536, 1);
    // (what, file, its disk)
    let files = [
        ("whole blocks", data.clone(), &data[..]),
        ("a vhd", [&data[..], &footer].concat(), &data),
        ("a vhd whose footer lacks a byte", [&data[..], &footer[..511]].concat(), &data),
    ];
    for (what, file, disk) in files {
        // The footer has a part to itself, ends the last part, or is in two parts. Some parts do not end at a block of the output.
        for size in [4096, 10_000, 65_536, 65_636, 98_304, 1 << 20] {
            let packed = filter("xz", &["-c0T2", &format!("--block-size={size}")], &file);
            let parts = file.len().div_ceil(size);
            for fails in (0..=parts).step_by(1 + parts / 8) {
                let counting = Rc::new(Counting { decoded: Cell::new(0), fails });
                let case = Case { by_parts: Some(counting.clone()), ..Case::new(packed.clone()) };
                let found = case
                    .bytes()
                    .unwrap_or_else(|error| panic!("{what} in parts of {size}, part {fails} fails: {error}"));
                assert!(found == disk, "{what} in parts of {size}, part {fails} fails");
                assert!(counting.decoded.get() > fails.min(parts - 1), "{what} in parts of {size}");
            }
        }
    }
}

/// The number of blocks of bzip2 in `file`, by their signature at any bit.
fn bzip2_blocks(file: &[u8]) -> usize {
    let bits = file.iter().flat_map(|byte| (0..8).rev().map(move |bit| u64::from(byte >> bit & 1)));
    let mut last = 0;
    bits.filter(|bit| {
        last = (last << 1 | bit) & ((1 << 48) - 1);
        last == 0x3141_5926_5359
    })
    .count()
}

#[test]
fn files_are_divided() {
    const NEVER: usize = usize::MAX;
    let disk = [disk(350_000), vec![0; 800_000], noise(200_000)].concat();
    let all = disk.len();
    let (left, right) = disk.split_at(450_000);
    let blocks = |data: &[u8]| filter("xz", &["-cT2", "--block-size=65536"], data);
    let zstd = |data: &[u8]| filter("zstd", &["-qc", &format!("--stream-size={}", data.len())], data);
    let unsized_frame = |data: &[u8]| filter("zstd", &["-qc"], data);
    let skippable =
        |content: &[u8]| [&0x184d_2a50u32.to_le_bytes()[..], &(content.len() as u32).to_le_bytes(), content].concat();
    let announced = |data: &[u8]| {
        let frame = unsized_frame(data);
        [skippable(&(frame.len() as u32).to_le_bytes()), frame].concat()
    };
    let bzip2 = |data: &[u8]| filter("bzip2", &["-c1"], data);
    let bzip2_streams = [bzip2(left), bzip2(b""), bzip2(right)].concat();
    // (file, number of parts that are decoded, the part that fails)
    let cases: Vec<(&str, Vec<u8>, usize, usize)> = vec![
        ("xz in one block", XZ.pack(&disk), 0, NEVER),
        ("xz in blocks", blocks(&disk), all.div_ceil(65536), NEVER),
        (
            "xz in blocks, whose sizes are not in their headers",
            filter("xz", &["-c", "--block-size=65536"], &disk),
            0,
            NEVER,
        ),
        ("xz in streams", [blocks(left), vec![0; 8], blocks(right)].concat(), 7 + 14, NEVER),
        ("xz in blocks, a zero after", [&blocks(&disk)[..], &[0]].concat(), all.div_ceil(65536), NEVER),
        ("xz, a stream in one block after others", [blocks(left), XZ.pack(right)].concat(), 7, NEVER),
        ("xz, a block fails", blocks(&disk), 8, 5),
        ("xz, a block of 65 MiB", filter("xz", &["-c0T2", "--block-size=65MiB"], &vec![0; 65 * MIB]), 0, NEVER),
        ("zstd in one frame", zstd(&disk), 1, NEVER),
        ("zstd in frames", [zstd(left), skippable(b"any"), zstd(b""), zstd(right)].concat(), 3, NEVER),
        ("zstd by pzstd", [announced(left), announced(right)].concat(), 2, NEVER),
        ("zstd without sizes", unsized_frame(&disk), 0, NEVER),
        ("zstd, a frame without a size after another", [zstd(left), unsized_frame(right)].concat(), 1, NEVER),
        ("zstd, the first frame fails", [zstd(left), zstd(right)].concat(), 2, 0),
        ("bzip2", bzip2(&disk), bzip2_blocks(&bzip2(&disk)), NEVER),
        ("bzip2 in streams", bzip2_streams.clone(), bzip2_blocks(&bzip2_streams), NEVER),
        ("bzip2, zeros after", [&bzip2(&disk)[..], &[0; 70_000]].concat(), bzip2_blocks(&bzip2(&disk)), NEVER),
        ("bzip2, a block fails", bzip2(&disk), bzip2_blocks(&bzip2(&disk)), 3),
    ];
    for (name, file, parts, fails) in cases {
        let disk = if name.ends_with("MiB") { &vec![0; 65 * MIB] } else { &disk };
        assert_eq!(parts_of(name, file, disk, fails), parts, "{name}");
    }
}
