//! Compares the decoder with libbz2 in C: the same bytes, and the same streams accepted.

mod crafted;
mod packer;
mod randomised;

use super::Bzip2Decoder;
use bzip2::{Action, Compress, Compression, Decompress, Status};
use decant_module::{Fault, StreamDecoder, StreamState};

/// The result of decoding: the bytes, and whether the streams ended; `Err` if they are invalid.
type Decoded = Result<(Vec<u8>, bool), Fault>;

/// Packs `data` in blocks of `level` times 100,000 bytes.
fn packed(data: &[u8], level: u32) -> Vec<u8> {
    let mut packed = Vec::with_capacity(data.len() * 2 + 1000);
    let mut compress = Compress::new(Compression::new(level), 30);
    assert_eq!(compress.compress_vec(data, &mut packed, Action::Finish).unwrap(), Status::StreamEnd);
    packed
}

/// Decodes one stream by libbz2.
fn by_libbz2(stream: &[u8]) -> Decoded {
    let mut decoder = Decompress::new(false);
    let (mut data, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
    loop {
        let rest = &stream[decoder.total_in() as usize..];
        let before = decoder.total_out();
        let status = decoder.decompress(rest, &mut buffer).map_err(|_| Fault::Invalid)?;
        let written = (decoder.total_out() - before) as usize;
        data.extend_from_slice(&buffer[..written]);
        if status == Status::StreamEnd || written == 0 && decoder.total_in() as usize == stream.len() {
            return Ok((data, status == Status::StreamEnd));
        }
    }
}

/// Decodes streams by our decoder, with pieces of input and output of these lengths.
fn by_ours(streams: &[u8], input_len: usize, output_len: usize) -> Decoded {
    let mut decoder = Bzip2Decoder::default();
    let (mut data, mut buffer) = (Vec::new(), vec![0; output_len]);
    let mut rest = streams;
    loop {
        let step = decoder.decode(&rest[..rest.len().min(input_len)], &mut buffer);
        rest = &rest[step.consumed as usize..];
        data.extend_from_slice(&buffer[..step.written as usize]);
        match step.state {
            StreamState::Failed(fault) => return Err(fault),
            state if rest.is_empty() && (step.written as usize) < output_len => {
                return Ok((data, state == StreamState::Whole));
            }
            _ => assert!(step.consumed > 0 || step.written > 0, "it goes on"),
        }
    }
}

/// Reproducible noise.
fn noise(seed: u32) -> impl FnMut(usize) -> usize {
    let mut state = seed.wrapping_mul(0x9e37_79b9) | 1;
    move |below| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as usize % below
    }
}

/// Random bytes: `len` of them, with `different` values.
fn bytes(seed: u32, len: usize, different: usize) -> Vec<u8> {
    let mut next = noise(seed);
    (0..len).map(|_| (next(different) * 7 + 3) as u8).collect()
}

/// Data of many kinds.
fn samples() -> Vec<(String, Vec<u8>)> {
    let mut samples = vec![
        ("nothing".into(), Vec::new()),
        ("all bytes".into(), (0..=255).collect()),
        ("one byte repeated".into(), vec![7; 3_000_000]),
        ("text".into(), include_str!("../../../../../docs/containers.md").repeat(9).into_bytes()),
        ("long runs of zeros".into(), [vec![0; 70_000], bytes(1, 9000, 256), vec![0; 100_000]].concat()),
        ("noise, then runs".into(), [bytes(2, 99_980, 256), vec![1; 700], bytes(3, 99_000, 256)].concat()),
    ];
    for len in [1, 2, 3, 63, 64, 65, 255, 1023, 1024, 1025, 2048, 2049, 99_980, 99_981, 250_000] {
        for different in [1, 2, 5, 256] {
            samples.push((format!("{len} bytes, {different} different"), bytes(len as u32, len, different)));
        }
    }
    for period in [2, 3, 64, 1000, 1024, 4096] {
        samples.push((format!("period {period}"), bytes(period as u32, period, 256).repeat(60_000 / period)));
    }
    let runs = |from| (from..=259).flat_map(|len| vec![len as u8; len]).collect();
    samples.extend([("runs of 1 to 259".into(), runs(1)), ("runs of 250 to 259".into(), runs(250))]);
    samples
}

#[test]
fn data_of_all_kinds_in_blocks_of_all_sizes() {
    for (name, data) in samples() {
        for level in [1, 9] {
            let packed = packed(&data, level);
            for (input, output) in [(usize::MAX, 1 << 20), (4093, 997)] {
                let (found, is_whole) = by_ours(&packed, input, output).unwrap();
                assert!(is_whole && found == data, "{name}, level {level}, pieces of {input} and {output}");
            }
        }
    }
    let large = bytes(5, 1_000_000, 9);
    for level in 1..=9 {
        assert!(by_ours(&packed(&large, level), 1 << 16, 1 << 16) == Ok((large.clone(), true)), "level {level}");
    }
}

#[test]
fn pieces_of_every_length() {
    let data = [bytes(8, 300, 4), vec![9; 600], bytes(9, 300, 256)].concat();
    let streams = [packed(&data, 1), packed(b"", 1), packed(&data, 2), packed(b"", 9)].concat();
    let expected = Ok((data.repeat(2), true));
    for len in 1..streams.len() {
        assert!(by_ours(&streams, len, 1 << 16) == expected, "pieces of {len}");
        assert!(by_ours(&streams, 1 << 16, len) == expected, "output of {len}");
        assert!(by_ours(&streams, len, len % 17 + 1) == expected, "pieces of {len}, small output");
    }
}

/// Asserts that both decode `stream` in the same way. Does not compare the bytes before a fault.
fn assert_same(stream: &[u8], name: &str) {
    let (ours, expected) = (by_ours(stream, usize::MAX, 1 << 16), by_libbz2(stream));
    assert!(ours == expected, "{name}: {:?} instead of {:?}", short(&ours), short(&expected));
    assert!(by_ours(stream, 1, 61) == expected, "{name}, in small pieces");
}

fn short(decoded: &Decoded) -> Result<(usize, bool), Fault> {
    decoded.as_ref().map(|(data, is_whole)| (data.len(), *is_whole)).map_err(|fault| *fault)
}

#[test]
fn every_truncation_and_every_changed_bit() {
    let text = &include_bytes!("../../../../../README.md")[..500];
    for (name, data) in [("a byte", &b"a"[..]), ("runs", &[5; 1000]), ("text", text), ("noise", &bytes(4, 300, 256))] {
        let packed = packed(data, 1);
        for len in 0..packed.len() {
            assert_same(&packed[..len], &format!("{name} up to byte {len}"));
        }
        for bit in 0..packed.len() * 8 {
            let mut changed = packed.clone();
            changed[bit / 8] ^= 0x80 >> (bit % 8);
            assert_same(&changed, &format!("{name} with bit {bit} changed"));
        }
    }
}
