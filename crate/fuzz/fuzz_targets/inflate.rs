#![no_main]

#[path = "../../tests/common/zlib.rs"]
mod zlib;

use decant::compress::inflate::{InflateError, Inflater, Stream, StreamEnd};
use std::cell::RefCell;

/// Lengths of outputs.
const LENS: [usize; 8] = [1, 100, 293, 512, 600, 1024, 4096, 65_536];

thread_local! {
    /// Kept between inputs, as between clusters.
    static INFLATER: RefCell<Inflater> = RefCell::default();
    /// A valid stream, to decode at the same time, and its content.
    static NEIGHBOUR: (Vec<u8>, &'static [u8]) = {
        let text = &include_bytes!("inflate.rs")[..1024];
        (miniz_oxide::deflate::compress_to_vec(text, 6), text)
    };
}

// The first byte chooses the length of the output, and whether the stream is decoded alone, between two others, or
// before them.
libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((&first, stream)) = input.split_first() else { return };
    let len = LENS[usize::from(first) % LENS.len()];
    let place = [None, Some(0), None, Some(1)][usize::from(first) / LENS.len() % 4];
    // Of exact length, so that the address sanitizer detects a read after it.
    let mut ours = vec![1; len];
    let result = INFLATER.with_borrow_mut(|inflater| {
        let result = inflater.inflate(stream, &mut ours);
        if let Some(place) = place {
            let mut again = vec![6; len];
            assert_eq!(beside_neighbours(inflater, stream, &mut again, place), result, "another end than alone");
            assert!(result.is_err() || again == ours, "other bytes than alone");
        }
        result
    });
    let expected = zlib::decompress(stream, len);
    assert_eq!(expected.is_some(), result.is_ok(), "zlib decides otherwise");
    assert!(expected.is_none_or(|expected| expected == ours), "zlib has other bytes");
});

/// Inflates `stream` with two neighbours, which it must not affect.
fn beside_neighbours(
    inflater: &mut Inflater,
    stream: &[u8],
    output: &mut [u8],
    place: usize,
) -> Result<StreamEnd, InflateError> {
    NEIGHBOUR.with(|(neighbour, text)| {
        let mut others = [vec![4; text.len()], vec![5; text.len()]];
        let mut streams: Vec<_> =
            others.iter_mut().map(|output| (false, Stream { input: neighbour, output })).collect();
        streams.insert(place, (true, Stream { input: stream, output }));
        let mut answer = None;
        inflater.inflate_all(streams, |is_it, _, result| match is_it {
            true => answer = Some(result),
            false => assert_eq!(result, Ok(StreamEnd::At(neighbour.len()))),
        });
        assert!(others.iter().all(|other| other == text), "the neighbours have other bytes");
        answer.expect("every stream ends")
    })
}
