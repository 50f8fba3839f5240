//! Compares the deflate decoder with zlib, called as QEMU calls it: real data, every kind of block, random changes, and
//! everything that can follow when the output is full. Both must accept the same streams and return the same bytes.

use crate::common::random::Random;
use crate::common::{by_scope, zlib};
use decant::compress::inflate::{InflateError, Inflater, Stream, StreamEnd};
use miniz_oxide::deflate::compress_to_vec;

/// Inflates `stream` by both decoders, which must agree. Returns whether they accept it.
fn both(inflater: &mut Inflater, stream: &[u8], len: usize, what: impl FnOnce() -> String) -> bool {
    let mut output = vec![1; len];
    let result = inflater.inflate(stream, &mut output);
    let expected = zlib::decompress(stream, len);
    let is_same = match &expected {
        Some(expected) => result.is_ok() && output == *expected,
        None => result.is_err(),
    };
    assert!(is_same, "{}: {result:?}, zlib {:?}; {stream:02x?}", what(), expected.is_some());
    expected.is_some()
}

/// Texts that compress in different ways, none longer than `len`.
fn texts(len: usize) -> Vec<Vec<u8>> {
    let mut state = 1u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 16
    };
    let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let mut texts = vec![
        vec![0; len],
        (0..len).map(|_| random() as u8).collect(),
        // Few symbols with very different frequencies: long codes.
        (0..len).map(|_| (random() % 65_535 + 1).leading_zeros() as u8).collect(),
        (0..len).map(|at| (at % 251) as u8).collect(),
        include_str!("inflate.rs").bytes().cycle().take(len).collect(),
    ];
    // Matches of every distance up to 40, of many lengths.
    texts.push((0..len).map(|at| ((at / 97) % 40, at)).map(|(period, at)| (at % (period + 1)) as u8).collect());
    texts.extend(own.chunks(len).step_by(own.len() / len / 8 + 1).map(<[u8]>::to_vec));
    texts
}

#[test]
fn everything_that_was_compressed_comes_back() {
    let mut inflater = Inflater::default();
    for len in [1, 2, 100, 300, 511, 512, 4096, 65_536, 300_000] {
        for text in texts(len) {
            for level in [0, 1, 6, 9] {
                let mut stream = compress_to_vec(&text, level);
                let mut output = vec![0xee; text.len()];
                let end = StreamEnd::At(stream.len());
                assert_eq!(inflater.inflate(&stream, &mut output), Ok(end));
                assert!(output == text, "{len} bytes, level {level}");
                // With following bytes, as in the last sector of a cluster.
                stream.extend([0x55; 600]);
                output.fill(0xee);
                assert_eq!(inflater.inflate(&stream, &mut output), Ok(end));
                assert!(output == text, "{len} bytes, level {level}, with bytes after");
            }
        }
    }
}

#[test]
fn a_shorter_output_is_the_start() {
    let mut inflater = Inflater::default();
    for text in texts(5000) {
        let stream = compress_to_vec(&text, 6);
        for len in (0..700).chain((700..text.len()).step_by(97)).filter(|&len| len <= text.len()) {
            let mut output = vec![0xee; len];
            let end = inflater.inflate(&stream, &mut output).unwrap();
            let expected = if len == text.len() { StreamEnd::At(stream.len()) } else { StreamEnd::HasMore };
            assert_eq!(end, expected, "{len}");
            assert!(output == text[..len], "{len}");
        }
    }
}

#[test]
fn truncated_and_invalid_input_are_distinguished() {
    let mut inflater = Inflater::default();
    for text in texts(3000) {
        let stream = compress_to_vec(&text, 6);
        for len in 0..stream.len() {
            let mut output = vec![0; text.len()];
            match inflater.inflate(&stream[..len], &mut output) {
                // Only the end mark is missing.
                Ok(end) => {
                    assert!(
                        output == text && len + 3 > stream.len() && end == StreamEnd::InputEnds,
                        "{len} of {}",
                        stream.len()
                    );
                }
                Err(error) => assert_eq!(error, InflateError::InputEnds, "{len} of {}", stream.len()),
            }
        }
        // A disk longer than the data.
        let mut output = vec![0; text.len() + 1];
        assert_eq!(inflater.inflate(&stream, &mut output), Err(InflateError::Invalid));
    }
}

/// Compresses `text` and changes a few bits.
fn changed_stream(text: &[u8], random: &mut Random) -> Vec<u8> {
    let mut stream = compress_to_vec(text, [1, 6, 9][random.below(3)]);
    for _ in 0..1 + random.below(3) {
        // Often in the header of the first block.
        let within = if random.below(2) == 0 { stream.len().min(80) } else { stream.len() };
        let at = random.below(within);
        stream[at] ^= 1 << random.below(8);
    }
    stream
}

/// The result of each stream does not depend on its neighbours and their ends.
#[test]
fn many_at_once_are_as_one_by_one() {
    let texts: Vec<_> = [1, 300, 4096, 65_536].into_iter().flat_map(texts).collect();
    let (mut inflater, mut single) = (Inflater::default(), Inflater::default());
    for count in [0, 1, 2, 3, 5, 100, 1000] {
        let mut random = Random::new(count as u64);
        let streams: Vec<(Vec<u8>, usize)> = (0..count)
            .map(|_| {
                let text = &texts[random.below(texts.len())];
                let mut stream = match random.below(3) {
                    0 => changed_stream(text, &mut random),
                    _ => compress_to_vec(text, [0, 1, 6, 9][random.below(4)]),
                };
                match random.below(8) {
                    0 => stream.truncate(random.below(stream.len())),
                    // Empty blocks, which are stored (section 3.2.4).
                    1 => drop(stream.splice(..0, [0, 0, 0, 0xff, 0xff].repeat(random.below(20)))),
                    _ => {}
                }
                let len = if random.below(8) == 0 { random.below(text.len()) } else { text.len() };
                (stream, len)
            })
            .collect();
        let mut outputs: Vec<_> = streams.iter().map(|(_, len)| vec![0xee; *len]).collect();
        let mut answers = vec![None; count];
        let given = streams.iter().zip(&mut outputs).enumerate();
        inflater.inflate_all(
            given.map(|(number, ((input, _), output))| (number, Stream { input, output })),
            |number, stream, result| {
                assert!(std::ptr::eq(stream.input, &*streams[number].0), "the stream of another mark");
                assert_eq!(answers[number].replace(result), None, "{number} ends twice");
            },
        );
        let mut failed = 0;
        for ((stream, len), (output, answer)) in streams.iter().zip(outputs.iter().zip(answers)) {
            let mut expected = vec![0; *len];
            let result = single.inflate(stream, &mut expected);
            assert_eq!(answer, Some(result));
            assert!(result.is_err() || *output == expected, "other bytes of {len}");
            failed += usize::from(result.is_err());
        }
        assert!(count < 100 || failed > count / 20 && failed < count / 2, "{failed} of {count} have failed");
    }
}

#[test]
fn changed_streams_are_taken_as_zlib_does() {
    let rounds = by_scope(2_000, 4_000, 200_000);
    let mut inflater = Inflater::default();
    let mut good = 0;
    let texts: Vec<_> = [600, 4096].into_iter().flat_map(texts).collect();
    for round in 0..rounds {
        let mut random = Random::new(round);
        let text = &texts[random.below(texts.len())];
        let mut stream = changed_stream(text, &mut random);
        if random.below(4) == 0 {
            stream.truncate(random.below(stream.len()));
        }
        let len = if random.below(2) == 0 { text.len() } else { random.below(text.len()) };
        good += u64::from(both(&mut inflater, &stream, len, || format!("seed {round}, {len} bytes")));
    }
    assert!(good > rounds / 10 && good < rounds, "{good} of {rounds} are still good");
}

/// A stream, bit by bit.
#[derive(Clone, Default)]
struct Bits {
    bytes: Vec<u8>,
    count: usize,
}

impl Bits {
    /// Appends the lowest `count` bits of `value`, the lowest first.
    fn push(&mut self, value: u32, count: usize) {
        for at in 0..count {
            if self.count.is_multiple_of(8) {
                self.bytes.push(0);
            }
            *self.bytes.last_mut().unwrap() |=
                ((value.checked_shr(at as u32).unwrap_or(0) & 1) as u8) << (self.count % 8);
            self.count += 1;
        }
    }

    /// Appends a code, whose highest bit comes first.
    fn code(&mut self, code: u32, count: usize) {
        self.push(code.reverse_bits() >> (32 - count), count);
    }

    /// Begins a block of fixed codes with `count` literals, each of 8 bits.
    fn literals(&mut self, last: bool, count: usize) {
        self.push(u32::from(last) | 1 << 1, 3);
        (0..count).for_each(|at| self.code(0x30 + at as u32, 8));
    }

    fn end_of_block(&mut self) {
        self.code(0, 7);
    }

    /// A stored block; `len` is the length in its header.
    fn stored(&mut self, last: bool, len: u16, complement: u16, content: &[u8]) {
        self.push(u32::from(last), 3);
        self.push(0, self.bytes.len() * 8 - self.count);
        self.push(u32::from(len), 16);
        self.push(u32::from(complement), 16);
        content.iter().for_each(|&byte| self.push(u32::from(byte), 8));
    }

    /// The header of a dynamic block: the numbers of codes, and the lengths of the code length codes.
    fn header(&mut self, last: bool, [literals, distances, lengths]: [u32; 3], lens: &[u32]) {
        self.push(u32::from(last) | 2 << 1, 3);
        self.push(literals, 5);
        self.push(distances, 5);
        self.push(lengths, 4);
        lens.iter().for_each(|&len| self.push(len, 3));
    }
}

/// The length of a full output here, in bytes.
const FULL: usize = 8;

/// Streams that fill the output of `FULL` bytes, each in another state of the decoder.
fn fillings() -> Vec<(&'static str, Bits)> {
    let filled = |fill: &dyn Fn(&mut Bits)| {
        let mut bits = Bits::default();
        fill(&mut bits);
        bits
    };
    vec![
        ("literals", filled(&|bits| bits.literals(false, FULL))),
        ("literals of the last block", filled(&|bits| bits.literals(true, FULL))),
        (
            "a match",
            filled(&|bits| {
                bits.literals(false, FULL - 3);
                bits.code(1, 7);
                bits.code(0, 5);
            }),
        ),
        (
            "a match that is longer",
            filled(&|bits| {
                bits.literals(false, FULL - 3);
                bits.code(3, 7);
                bits.code(0, 5);
            }),
        ),
        (
            "a block",
            filled(&|bits| {
                bits.literals(false, FULL);
                bits.end_of_block();
            }),
        ),
        (
            "the last block",
            filled(&|bits| {
                bits.literals(true, FULL);
                bits.end_of_block();
            }),
        ),
        ("a stored block", filled(&|bits| bits.stored(false, FULL as u16, !(FULL as u16), &[7; FULL]))),
        ("the last stored block", filled(&|bits| bits.stored(true, FULL as u16, !(FULL as u16), &[7; FULL]))),
        ("a stored block that is longer", filled(&|bits| bits.stored(false, 300, !300, &[7; FULL]))),
    ]
}

/// (description, whether it is valid after a completed block, the bits): bits that may follow when the output is full.
fn followers() -> Vec<(&'static str, bool, Bits)> {
    let follower = |write: &dyn Fn(&mut Bits)| {
        // A stored block is aligned to a byte here. It is aligned after another stored block, too.
        let mut bits = Bits::default();
        write(&mut bits);
        bits
    };
    // The code of code lengths: bit 0 is the length 1, bit 1 is the symbol 18.
    let lens_of_two = &[&[0, 0, 1][..], &[0; 14], &[1]].concat();
    vec![
        ("nothing", true, Bits::default()),
        ("a block of type 3", false, follower(&|bits| bits.push(6, 3))),
        ("the last block, of type 3", false, follower(&|bits| bits.push(7, 3))),
        ("a stored block", true, follower(&|bits| bits.stored(false, 3, !3, &[1; 3]))),
        ("a stored block with a wrong complement", false, follower(&|bits| bits.stored(false, 3, 3, &[1; 3]))),
        ("zeros", false, follower(&|bits| bits.push(0, 32 + 32))),
        ("an empty stored block", true, follower(&|bits| bits.stored(true, 0, !0, &[]))),
        (
            "an empty stored block and type 3",
            false,
            follower(&|bits| {
                bits.stored(false, 0, !0, &[]);
                bits.push(6, 3);
            }),
        ),
        ("a literal", true, follower(&|bits| bits.literals(false, 1))),
        (
            "an empty block and type 3",
            false,
            follower(&|bits| {
                bits.literals(false, 0);
                bits.end_of_block();
                bits.push(6, 3);
            }),
        ),
        (
            "a match too far back",
            true,
            follower(&|bits| {
                bits.literals(false, 0);
                bits.code(1, 7);
                bits.code(29, 5);
                bits.push(0x1fff, 13);
            }),
        ),
        (
            "a distance without a meaning",
            false,
            follower(&|bits| {
                bits.literals(false, 0);
                bits.code(1, 7);
                bits.code(30, 5);
            }),
        ),
        (
            "a length without a meaning",
            false,
            follower(&|bits| {
                bits.literals(false, 0);
                bits.code(0b1100_0110, 8);
            }),
        ),
        ("too many literals", false, follower(&|bits| bits.header(false, [30, 0, 0], &[]))),
        ("too many distances", false, follower(&|bits| bits.header(false, [0, 30, 0], &[]))),
        ("an incomplete code of lengths", false, follower(&|bits| bits.header(false, [0, 0, 0], &[1, 0, 0, 0]))),
        ("an over-full code of lengths", false, follower(&|bits| bits.header(false, [0, 0, 0], &[1, 1, 1, 0]))),
        // zlib reads a bit for each length, which is 0. So there is no code for the end of the block.
        (
            "an empty code of lengths",
            false,
            follower(&|bits| {
                bits.header(false, [0, 0, 0], &[0; 4]);
                (0..9).for_each(|_| bits.push(0, 29));
            }),
        ),
        (
            "an empty code of lengths, cut",
            true,
            follower(&|bits| {
                bits.header(false, [0, 0, 0], &[0; 4]);
                bits.push(0, 29);
            }),
        ),
        (
            "a repetition of nothing",
            false,
            follower(&|bits| {
                bits.header(false, [0, 0, 0], &[1, 1, 0, 0]);
                bits.push(0, 3);
            }),
        ),
        (
            "a code without an end of block",
            false,
            follower(&|bits| {
                bits.header(false, [0, 0, 14], lens_of_two);
                bits.push(0, 2);
                bits.push(1, 1);
                bits.push(127, 7);
                bits.push(1, 1);
                bits.push(107, 7);
                bits.push(0, 8);
            }),
        ),
        (
            "lengths beyond the end",
            false,
            follower(&|bits| {
                bits.header(false, [0, 0, 14], lens_of_two);
                (0..3).for_each(|_| {
                    bits.push(1, 1);
                    bits.push(127, 7);
                });
            }),
        ),
    ]
}

/// When the output is full, zlib continues until it needs room for a byte. Each stream is also cut after each of its
/// last bytes.
#[test]
fn input_after_a_full_output_counts_as_in_zlib() {
    let mut inflater = Inflater::default();
    let after = |filling: &Bits, follower: &Bits| {
        let mut bits = filling.clone();
        (0..follower.count).for_each(|at| bits.push(u32::from(follower.bytes[at / 8] >> (at % 8)), 1));
        bits.bytes
    };
    for (filling, filled) in fillings() {
        for (name, expected, follower) in followers() {
            let stream = after(&filled, &follower);
            let what = || format!("{filling}, then {name}");
            let good = both(&mut inflater, &stream, FULL, what);
            if filling == "a stored block" {
                assert_eq!(good, expected, "{name}");
            }
            for len in filled.bytes.len().saturating_sub(2)..stream.len() {
                both(&mut inflater, &stream[..len], FULL, what);
            }
        }
    }
}

/// As above, with random bits at any position in a byte.
#[test]
fn anything_may_follow_a_full_output() {
    let mut inflater = Inflater::default();
    let rounds = by_scope(20_000, 60_000, 3_000_000);
    let fillings = fillings();
    let (mut good, mut cases) = (0, 0);
    for round in 0..rounds {
        let mut random = Random::new(round);
        let (name, mut bits) = fillings[random.below(fillings.len())].clone();
        if random.below(2) == 0 {
            // A header that is likely to be valid: few code lengths, and a complete code for them.
            let lens: &[u32] =
                [&[0, 0, 1, 1][..], &[2, 2, 2, 2], &[0, 3, 3, 2, 2, 2], &[1, 0, 2, 0, 3, 3]][random.below(4)];
            bits.header(
                random.below(2) == 0,
                [random.below(32) as u32, random.below(32) as u32, lens.len() as u32 - 4],
                lens,
            );
        }
        (0..random.below(60)).for_each(|_| bits.push(random.below(256) as u32, 8));
        good += usize::from(both(&mut inflater, &bits.bytes, FULL, || format!("seed {round}, {name}")));
        cases += 1;
    }
    assert!(good > cases / 10 && good < cases * 9 / 10, "{good} of {cases} are good");
}

/// Found by the fuzzer: the fixed codes have two distance symbols without a meaning.
#[test]
fn a_distance_without_a_meaning() {
    let mut stream = vec![0x4b, 0x4c, 0x4a, 0x1c, 0x85, 0xa3];
    stream.resize(114, 0xff);
    assert_eq!(Inflater::default().inflate(&stream, &mut [0; 600]), Err(InflateError::Invalid));
}
