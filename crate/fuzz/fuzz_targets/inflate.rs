#![no_main]

use decant::decode::inflate::{InflateError, Inflater, Stream};
use libz_sys::{Z_FINISH, inflate, inflateEnd, inflateInit2_, z_stream, zlibVersion};
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};
use std::cell::RefCell;

/// Lengths of outputs.
const LENS: [usize; 8] = [1, 100, 293, 512, 600, 1024, 4096, 65_536];

/// Decoders, kept from one input to the next, as they are from cluster to cluster.
#[derive(Default)]
struct Decoders {
    inflater: Inflater,
    miniz: DecompressorOxide,
}

thread_local! {
    static DECODERS: RefCell<Decoders> = RefCell::default();
    /// A good stream, to be decoded at the same time, and what is in it.
    static NEIGHBOUR: (Vec<u8>, &'static [u8]) = {
        let text = &include_bytes!("inflate.rs")[..1024];
        (miniz_oxide::deflate::compress_to_vec(text, 6), text)
    };
}

// The first byte chooses the length of the output, and whether the stream is decoded alone or beside two others,
// and between them or in front of them.
libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((&first, stream)) = input.split_first() else { return };
    let len = LENS[usize::from(first) % LENS.len()];
    let place = [None, Some(0), None, Some(1)][usize::from(first) / LENS.len() % 4];
    // Exactly as long as they are, so that the address sanitizer sees a byte too many.
    let (mut ours, mut theirs) = (vec![1; len], vec![2; len]);
    let (ours_good, theirs_good) = DECODERS.with_borrow_mut(|Decoders { inflater, miniz }| {
        miniz.init();
        let flags = TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
        let (_, _, written) = decompress(miniz, stream, &mut theirs, 0, flags);
        let result = inflater.inflate(stream, &mut ours);
        if let Some(place) = place {
            let mut again = vec![6; len];
            assert_eq!(beside_neighbours(inflater, stream, &mut again, place), result, "another end than alone");
            assert!(result.is_err() || again == ours, "other bytes than alone");
        }
        (result.is_ok(), written == len)
    });
    if ours_good != theirs_good || ours_good && ours != theirs {
        let expected = zlib(stream, len);
        assert_eq!(expected.is_some(), ours_good, "zlib decides otherwise");
        assert!(expected.is_none_or(|expected| expected == ours), "zlib has other bytes");
    }
});

/// Inflates `stream` with two neighbours, of which nothing is changed by it.
fn beside_neighbours(
    inflater: &mut Inflater,
    stream: &[u8],
    output: &mut [u8],
    place: usize,
) -> Result<(), InflateError> {
    NEIGHBOUR.with(|(neighbour, text)| {
        let mut others = [vec![4; text.len()], vec![5; text.len()]];
        let mut streams: Vec<_> =
            others.iter_mut().map(|output| (false, Stream { input: neighbour, output })).collect();
        streams.insert(place, (true, Stream { input: stream, output }));
        let mut answer = None;
        inflater.inflate_all(streams, |is_it, _, result| match is_it {
            true => answer = Some(result),
            false => assert_eq!(result, Ok(())),
        });
        assert!(others.iter().all(|other| other == text), "the neighbours have other bytes");
        answer.expect("every stream ends")
    })
}

/// What zlib makes of it, where it fills the output.
fn zlib(stream: &[u8], len: usize) -> Option<Vec<u8>> {
    let mut output = vec![3; len];
    let mut state = std::mem::MaybeUninit::<z_stream>::zeroed();
    // SAFETY: zlib takes a zeroed stream, and the buffers live until the end.
    let left = unsafe {
        let state = state.as_mut_ptr();
        let size = std::mem::size_of::<z_stream>() as i32;
        assert_eq!(inflateInit2_(state, -15, zlibVersion(), size), 0);
        (*state).next_in = stream.as_ptr().cast_mut();
        (*state).avail_in = stream.len() as u32;
        (*state).next_out = output.as_mut_ptr();
        (*state).avail_out = len as u32;
        inflate(state, Z_FINISH);
        inflateEnd(state);
        (*state).avail_out
    };
    (left == 0).then_some(output)
}
