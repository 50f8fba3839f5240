//! The deflate encoder, and gzip members joined from its segments, compared with gzip and miniz_oxide.

use crate::common::by_scope;
use decant::compress::gzip_member::{GzipMember, Zeros, zero_unit};
use decant::compress::{CompressedEncoding, EncodedPart, Encoder, GuestRun};
use decant::offsets::GuestOffset;
use decant_deflate::{Deflater, bound};
use std::io::Write;
use std::process::{Command, Stdio};

/// An empty block that is the last one.
const LAST_BLOCK: [u8; 2] = [3, 0];

/// Texts that compress in different ways, none longer than `len`.
fn texts(len: usize) -> Vec<(&'static str, Vec<u8>)> {
    let mut state = 1u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 16
    };
    let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let middle = &own[own.len() / 2..];
    vec![
        ("zeros", vec![0; len]),
        ("random", (0..len).map(|_| random() as u8).collect()),
        ("few symbols, of very unlike frequency", (0..len).map(|_| (random() | 1).leading_zeros() as u8).collect()),
        (
            "each symbol twice as rare as the next",
            (0..len).map(|_| (random() << 16 | 1).leading_zeros() as u8).collect(),
        ),
        ("every byte", (0..len).map(|at| (at % 256) as u8).collect()),
        ("text", include_str!("encode.rs").bytes().cycle().take(len).collect()),
        ("matches of every distance up to 40", (0..len).map(|at| (at % ((at / 97) % 40 + 1)) as u8).collect()),
        (
            "matches at the edge of the window",
            (0..len).map(|at| ((at % (32_766 + at / 100_000)) as u32).wrapping_mul(0x9e37_79b1) as u8).collect(),
        ),
        ("zeros and noise in turn", (0..len).map(|at| if at / 3000 % 2 == 0 { 0 } else { random() as u8 }).collect()),
        ("a program", middle[..len.min(middle.len())].to_vec()),
    ]
}

#[test]
fn everything_that_is_compressed_comes_back() {
    let mut deflater = Deflater::default();
    for len in [0, 1, 2, 3, 4, 5, 7, 8, 9, 258, 259, 1000, 4999, 5000, 65_535, 65_536, 300_000, 4_300_000] {
        for (what, text) in texts(len) {
            let mut stream = vec![0xee; bound(text.len())];
            let written = deflater.segment(&text, &mut stream).unwrap();
            stream.truncate(written);
            assert!(stream.ends_with(&[0, 0, 0xff, 0xff]), "{what}, {len} bytes: no sync point");
            let again = Deflater::default().segment(&text, &mut vec![0; bound(text.len())]).unwrap();
            assert_eq!(written, again, "{what}, {len} bytes: it depends on what was compressed before");
            stream.extend(LAST_BLOCK);
            let back = miniz_oxide::inflate::decompress_to_vec(&stream).unwrap();
            assert!(back == text, "{what}, {len} bytes");
        }
    }
}

#[test]
fn programs_take_hardly_more_than_with_gzip() {
    for path in ["/usr/bin/qemu-img", "/usr/bin/bash", "/usr/bin/perl"] {
        let program = std::fs::read(path).unwrap();
        let ours = Deflater::default().segment(&program, &mut vec![0; bound(program.len())]).unwrap();
        let theirs = filter(Command::new("gzip").arg("-6c"), program).len();
        assert!(ours as f64 <= theirs as f64 * 1.01, "{path}: {ours} bytes, gzip {theirs}");
    }
}

/// The output of `command` for `input`.
fn filter(command: &mut Command, input: Vec<u8>) -> Vec<u8> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "{command:?}: {}", output.status);
    output.stdout
}

/// A part of a member's data.
enum Part<'a> {
    Segment(&'a [u8]),
    Bytes(&'a [u8]),
    Zeros(u64),
}

/// The member that has `parts`.
fn member(parts: &[Part]) -> Vec<u8> {
    let mut encoder = Encoder::default();
    let mut encoded = Vec::new();
    let mut member = GzipMember::default();
    let mut output = Vec::new();
    member.begin(&mut output);
    for part in parts {
        match part {
            Part::Segment(data) => {
                let run = GuestRun { guest: GuestOffset(0), start: 0, len: data.len() };
                let segments = encoder.encode(CompressedEncoding::Segments, data, &[run], &mut encoded).unwrap();
                member.segment(&segments[0]);
                output.extend_from_slice(&encoded);
            }
            Part::Bytes(bytes) => member.bytes(bytes, &mut output).unwrap(),
            Part::Zeros(len) => {
                let Zeros { units, last } = member.zeros(*len).unwrap();
                let unit = zero_unit().unwrap();
                (0..units).for_each(|_| output.extend_from_slice(&unit));
                output.extend_from_slice(&last);
            }
        }
    }
    member.end(&mut output);
    output
}

#[test]
fn segments_are_one_member() {
    let texts = texts(70_001);
    let whole: Vec<u8> = texts.iter().flat_map(|(_, text)| text).copied().collect();
    let zeros = vec![0; 1 << 20];
    // (what, parts)
    let cases: Vec<(&str, Vec<Part>)> = vec![
        ("nothing", vec![]),
        ("one byte", vec![Part::Segment(&whole[..1])]),
        ("every text", texts.iter().map(|(_, text)| Part::Segment(text)).collect()),
        ("odd pieces", whole.chunks(4097).map(Part::Segment).collect()),
        ("bytes as they are", vec![Part::Bytes(&whole[..512]), Part::Segment(&whole), Part::Bytes(&whole)]),
        ("no bytes", vec![Part::Bytes(&[]), Part::Segment(&[]), Part::Zeros(0)]),
        (
            "zeros of both kinds",
            vec![Part::Zeros(3), Part::Segment(&zeros), Part::Zeros(99_999), Part::Bytes(&[0; 1024])],
        ),
        ("zeros between", whole.chunks(65_537).flat_map(|data| [Part::Zeros(1 << 16), Part::Segment(data)]).collect()),
    ];
    for (what, parts) in cases {
        let mut expected = Vec::new();
        for part in &parts {
            match part {
                Part::Segment(data) | Part::Bytes(data) => expected.extend_from_slice(data),
                Part::Zeros(len) => expected.resize(expected.len() + *len as usize, 0),
            }
        }
        let file = member(&parts);
        // Only its trailer follows the first stream.
        let trailer = file.len() - 8;
        let (data, taken) = inflate(&file[10..]);
        assert_eq!(10 + taken, trailer, "{what}: where the stream ends");
        assert!(data == expected, "{what}");
        assert!(filter(Command::new("gzip").arg("-dc"), file) == expected, "{what}: gzip");
    }
}

/// Decompresses one stream. Returns its length, too.
fn inflate(stream: &[u8]) -> (Vec<u8>, usize) {
    use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
    use miniz_oxide::inflate::core::{DecompressorOxide, decompress};
    let mut output = vec![0; 4 << 20];
    let flags = TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
    let (status, read, written) = decompress(&mut DecompressorOxide::new(), stream, &mut output, 0, flags);
    assert_eq!(status, miniz_oxide::inflate::TINFLStatus::Done);
    output.truncate(written);
    (output, read)
}

#[test]
fn zeros_are_exact() {
    let unit = 256 << 20;
    for len in [1, 2, 257, 258, 259, 260, 515, 516, 517, 4096, 4127, 4128, 4129, 65_536, (1 << 20) + 1] {
        let data = filter(Command::new("gzip").arg("-dc"), member(&[Part::Zeros(len)]));
        assert!(data.len() as u64 == len && data.iter().all(|byte| *byte == 0), "{len}");
    }
    let around_units = [unit + 1, unit - 1, unit, 2 * unit + 77];
    for &len in &around_units[..by_scope(1, 4, 4)] {
        let file = member(&[Part::Zeros(len)]);
        assert!(file.len() as u64 <= len / 1030, "{len} zeros take {} bytes", file.len());
        // gzip checks length and CRC, and counts the bytes independently.
        filter(Command::new("gzip").arg("-t"), file);
    }
}

#[test]
fn lengths_are_counted_modulo_4_gib() {
    let mut member = GzipMember::default();
    let mut end = Vec::new();
    member.zeros(1 << 40).unwrap();
    member.segment(&EncodedPart {
        guest: GuestOffset(0),
        len: 5,
        crc: 0,
        start: 0,
        encoded_len: 0,
        padding: 0,
        is_stored: false,
    });
    member.end(&mut end);
    assert_eq!(end[end.len() - 4..], 5u32.to_le_bytes());
}
