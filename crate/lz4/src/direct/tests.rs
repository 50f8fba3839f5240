//! Built frames: what their matches may refer to, and how their blocks may end. The program `lz4` must refuse them or have the same
//! bytes.

use super::Lz4Decoder;
use decant_module::{Fault, StreamDecoder, StreamState};
use std::io::Write;
use std::process::{Command, Stdio};
use twox_hash::XxHash32;

/// Flags of a frame without checksums, whose blocks are linked or independent, and the code of blocks of up to 64 KiB.
const LINKED: u8 = 0x40;
const INDEPENDENT: u8 = 0x60;
const UP_TO_64_KIB: u8 = 0x40;
const LARGEST_BLOCK: usize = 64 << 10;

enum Block {
    Stored(Vec<u8>),
    Packed(Vec<u8>),
}
use Block::{Packed, Stored};

fn frame(flags: u8, blocks: &[Block]) -> Vec<u8> {
    let fields = [flags, UP_TO_64_KIB];
    let checksum = (XxHash32::oneshot(0, &fields) >> 8) as u8;
    let mut frame = [&crate::MAGIC.to_le_bytes()[..], &fields, &[checksum]].concat();
    for block in blocks {
        let (bytes, flag) = match block {
            Stored(bytes) => (bytes, 1 << 31),
            Packed(bytes) => (bytes, 0),
        };
        frame.extend((bytes.len() as u32 | flag).to_le_bytes());
        frame.extend(bytes);
    }
    [frame, vec![0; 4]].concat()
}

/// Appends the bytes of a length that follow the token.
fn extend_len(block: &mut Vec<u8>, len: usize) {
    if let Some(rest) = len.checked_sub(15) {
        block.extend(vec![255; rest / 255]);
        block.push((rest % 255) as u8);
    }
}

/// A sequence: literals, and a match by its offset and its length, if there is one.
fn sequence(literals: &[u8], reference: Option<(u16, usize)>) -> Vec<u8> {
    let nibble = |len: usize| len.min(15) as u8;
    let matched = reference.map(|(_, len)| len - 4).unwrap_or_default();
    let mut sequence = vec![nibble(literals.len()) << 4 | nibble(matched)];
    extend_len(&mut sequence, literals.len());
    sequence.extend(literals);
    if let Some((offset, _)) = reference {
        sequence.extend(offset.to_le_bytes());
        extend_len(&mut sequence, matched);
    }
    sequence
}

/// A block of one match, and literals after it as the format requires.
fn one_match(offset: u16, len: usize) -> Block {
    Packed([sequence(b"", Some((offset, len))), sequence(b"the literals", None)].concat())
}

fn noise(len: usize) -> Vec<u8> {
    (0..len as u32).map(|at| (at.wrapping_mul(0x9e37_79b9) >> 15) as u8).collect()
}

fn by_ours(file: &[u8]) -> Result<Vec<u8>, Fault> {
    let mut decoder = Lz4Decoder::default();
    let (mut rest, mut data, mut piece) = (file, Vec::new(), vec![0; 1 << 20]);
    loop {
        let step = decoder.decode(rest, &mut piece);
        rest = &rest[step.consumed as usize..];
        data.extend_from_slice(&piece[..step.written as usize]);
        match step.state {
            StreamState::Failed(fault) => return Err(fault),
            _ if step.consumed > 0 || step.written > 0 => {}
            state => {
                assert!(state == StreamState::Whole && rest.is_empty(), "{state:?}");
                return Ok(data);
            }
        }
    }
}

/// Decodes `file` with the program `lz4`; `None` if it refuses the file.
fn by_lz4(file: &[u8]) -> Option<Vec<u8>> {
    let mut child = Command::new("lz4")
        .args(["-dcq"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("lz4 is installed");
    let mut stdin = child.stdin.take().expect("a pipe");
    std::thread::scope(|scope| {
        // The program may stop reading at damage.
        scope.spawn(move || drop(stdin.write_all(file)));
        let output = child.wait_with_output().expect("it runs");
        output.status.success().then_some(output.stdout)
    })
}

/// A frame that was made with a dictionary need not name it.
#[test]
fn matches_before_the_data_of_a_frame_or_of_an_independent_block_are_refused() {
    let (data, tail) = (noise(1000), b"the literals");
    let with_match = |from: usize, len: usize| [&data, &data[from..from + len], tail].concat();
    let stored = || Stored(data.clone());
    // Data in several blocks, so that the decoder moves what it keeps.
    let many = noise(9 * LARGEST_BLOCK);
    let many_blocks = || many.chunks(LARGEST_BLOCK).map(|part| Stored(part.to_vec()));
    let then = |last: Block| many_blocks().chain([last]).collect::<Vec<_>>();
    let farthest = many.len() - usize::from(u16::MAX);
    type Row<'a> = (&'a str, Vec<u8>, Option<Vec<u8>>);
    // (the match refers to, file, the data)
    let rows: [Row<'_>; 13] = [
        ("the first data of a linked frame", frame(LINKED, &[stored(), one_match(1000, 9)]), Some(with_match(0, 9))),
        ("a byte before it", frame(LINKED, &[stored(), one_match(1001, 9)]), None),
        ("64 KiB before it", frame(LINKED, &[stored(), one_match(u16::MAX, 9)]), None),
        ("the first block", frame(LINKED, &[one_match(1, 9)]), None),
        ("after an empty block", frame(LINKED, &[Packed(vec![0]), one_match(1, 9)]), None),
        ("the offset 0", frame(LINKED, &[stored(), one_match(0, 9)]), None),
        ("another frame", [frame(LINKED, &[stored()]), frame(LINKED, &[one_match(1, 9)])].concat(), None),
        (
            "another frame, after data",
            [frame(LINKED, &[stored()]), frame(LINKED, &[stored(), one_match(1001, 9)])].concat(),
            None,
        ),
        ("an independent block", frame(INDEPENDENT, &[stored(), one_match(1, 9)]), None),
        (
            "data of the same independent block",
            frame(INDEPENDENT, &[stored(), Packed([sequence(b"abcd", Some((4, 9))), sequence(tail, None)].concat())]),
            Some([&data[..], b"abcdabcdabcda", tail].concat()),
        ),
        (
            "before the data of the same independent block",
            frame(INDEPENDENT, &[stored(), Packed([sequence(b"abcd", Some((5, 9))), sequence(tail, None)].concat())]),
            None,
        ),
        (
            "the farthest data",
            frame(LINKED, &then(one_match(u16::MAX, 900))),
            Some([&many[..], &many[farthest..farthest + 900], tail].concat()),
        ),
        ("an independent block after many", frame(INDEPENDENT, &then(one_match(u16::MAX, 900))), None),
    ];
    for (what, file, expected) in rows {
        let (ours, program) = (by_ours(&file), by_lz4(&file));
        match &expected {
            Some(expected) => assert!(ours.as_ref() == Ok(expected) && program.as_ref() == Some(expected), "{what}"),
            None => assert_eq!(ours, Err(Fault::Invalid), "{what}"),
        }
    }
}

/// The format demands that the last five bytes of a block are literals, and that its last match begins twelve bytes before the end;
/// decoders may refuse other blocks. `lz4` refuses some of them. Their data is not ambiguous, so it is decoded.
#[test]
fn blocks_may_end_with_any_literals() {
    let tail = b"the literals";
    let (mut refused, mut accepted) = (0, 0);
    for flags in [LINKED, INDEPENDENT] {
        for literals in [12, 100, LARGEST_BLOCK - 300] {
            for matched in [4, 5, 8, 18, 19, 100, 300] {
                for last in 0..=tail.len() {
                    let start = noise(literals);
                    let (reference, rest) = (Some((12, matched)), &tail[..last]);
                    let block = [sequence(&start, reference), sequence(rest, None)].concat();
                    let data = start.iter().copied();
                    let copied = start[literals - 12..].iter().copied().cycle().take(matched);
                    let expected: Vec<u8> = data.chain(copied).chain(rest.iter().copied()).collect();
                    let what = format!("{flags:#x}: {literals} literals, a match of {matched}, {last} literals");
                    let file = frame(flags, &[Packed(block)]);
                    let ours = by_ours(&file);
                    if expected.len() > LARGEST_BLOCK {
                        assert_eq!(ours, Err(Fault::Invalid), "{what}");
                        assert_eq!(by_lz4(&file), None, "{what}");
                        continue;
                    }
                    assert!(ours.as_ref() == Ok(&expected), "{what}");
                    match by_lz4(&file) {
                        Some(found) => {
                            assert!(found == expected, "{what}");
                            accepted += 1;
                        }
                        None => refused += 1,
                    }
                }
            }
        }
    }
    assert!(refused > 0 && accepted > 0, "lz4 refuses {refused}, and accepts {accepted}");
}

#[test]
fn blocks_do_not_end_inside_a_sequence() {
    let start = noise(40);
    let whole = sequence(&start, Some((12, 300)));
    let ends = [
        ("after a match", whole.clone()),
        ("in the length of a match", whole[..whole.len() - 1].to_vec()),
        ("in an offset", sequence(&start, Some((12, 4)))[..whole.len() - 3].to_vec()),
        ("in literals", sequence(&start, None)[..20].to_vec()),
        ("in the length of literals", vec![0xf0]),
        ("in a length that goes on for ever", [vec![0xf0], vec![255; LARGEST_BLOCK - 1]].concat()),
    ];
    for (what, block) in ends {
        let file = frame(LINKED, &[Packed(block)]);
        assert_eq!(by_ours(&file), Err(Fault::Invalid), "{what}");
        assert_eq!(by_lz4(&file), None, "{what}");
    }
}
