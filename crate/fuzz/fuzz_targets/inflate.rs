#![no_main]

use decant::decode::inflate::Inflater;
use libz_sys::{Z_FINISH, inflate, inflateEnd, inflateInit2_, z_stream, zlibVersion};
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};
use std::cell::RefCell;

/// Lengths of outputs.
const LENS: [usize; 8] = [1, 100, 293, 512, 600, 1024, 4096, 65_536];

thread_local! {
    static DECODERS: RefCell<(Inflater, DecompressorOxide)> = RefCell::default();
}

// The first byte chooses the length of the output. Decoders are kept from one input to the next, as they are
// from cluster to cluster.
libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((&first, stream)) = input.split_first() else { return };
    let len = LENS[usize::from(first) % LENS.len()];
    // Exactly as long as they are, so that the address sanitizer sees a byte too many.
    let (mut ours, mut theirs) = (vec![1; len], vec![2; len]);
    let (ours_good, theirs_good) = DECODERS.with_borrow_mut(|(inflater, miniz)| {
        miniz.init();
        let flags = TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
        let (_, _, written) = decompress(miniz, stream, &mut theirs, 0, flags);
        (inflater.inflate(stream, &mut ours).is_ok(), written == len)
    });
    if ours_good != theirs_good || ours_good && ours != theirs {
        let expected = zlib(stream, len);
        assert_eq!(expected.is_some(), ours_good, "zlib decides otherwise");
        assert!(expected.is_none_or(|expected| expected == ours), "zlib has other bytes");
    }
});

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
