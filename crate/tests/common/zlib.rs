//! zlib, called as QEMU does for a compressed cluster.

#![expect(unsafe_code, reason = "zlib is C")]

use libz_sys::{Z_BUF_ERROR, Z_FINISH, Z_OK, Z_STREAM_END, inflate, inflateEnd, inflateInit2_, z_stream, zlibVersion};

/// Raw deflate; QEMU assumes a window of 2^12 bytes, but zlib does not enforce it for distances.
const WINDOW_BITS: i32 = -12;

/// The first `len` bytes of inflated `stream`; `None` if QEMU would refuse it.
pub fn decompress(stream: &[u8], len: usize) -> Option<Vec<u8>> {
    let mut output = vec![3; len];
    let mut state = std::mem::MaybeUninit::<z_stream>::zeroed();
    // SAFETY: zlib takes a zeroed stream, and the buffers live until the end.
    let (result, left) = unsafe {
        let state = state.as_mut_ptr();
        let size = std::mem::size_of::<z_stream>() as i32;
        assert_eq!(inflateInit2_(state, WINDOW_BITS, zlibVersion(), size), Z_OK);
        (*state).next_in = stream.as_ptr().cast_mut();
        (*state).avail_in = stream.len() as u32;
        (*state).next_out = output.as_mut_ptr();
        (*state).avail_out = len as u32;
        let result = inflate(state, Z_FINISH);
        inflateEnd(state);
        (result, (*state).avail_out)
    };
    (matches!(result, Z_STREAM_END | Z_BUF_ERROR) && left == 0).then_some(output)
}
