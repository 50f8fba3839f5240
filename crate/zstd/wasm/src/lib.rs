//! The WebAssembly module `zstd.wasm`. Its caller copies the input to the buffer, calls `decompress` or `compress`, and
//! copies the output, which follows the input. See `crate/zstd/src/module.js`.

#![allow(unsafe_code, reason = "exports without wasm-bindgen")]

use decant_zstd::{Returned, Zstd, ZstdError, to_returned};
use std::cell::RefCell;

#[derive(Default)]
struct State {
    zstd: Zstd,
    buffer: Vec<u8>,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

/// Makes the buffer at least `len` bytes long. Returns its address, or 0 if memory ran out.
#[unsafe(no_mangle)]
pub extern "C" fn buffer(len: usize) -> usize {
    STATE.with_borrow_mut(|State { buffer, .. }| {
        if len > buffer.len() {
            // Its content need not be kept.
            *buffer = Vec::new();
            if buffer.try_reserve_exact(len).is_err() {
                return 0;
            }
            buffer.resize(len, 0);
        }
        buffer.as_ptr() as usize
    })
}

/// Decompresses the first `input` bytes of the buffer to the next `output` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn decompress(input: usize, output: usize) -> Returned {
    run(input, output, |zstd, input, output| zstd.decompress(input, output).map(|()| output.len()))
}

/// Compresses the first `input` bytes of the buffer to at most `output` bytes after them.
#[unsafe(no_mangle)]
pub extern "C" fn compress(input: usize, output: usize) -> Returned {
    run(input, output, Zstd::compress)
}

fn run(
    input: usize,
    output: usize,
    operation: impl FnOnce(&mut Zstd, &[u8], &mut [u8]) -> Result<usize, ZstdError>,
) -> Returned {
    STATE.with_borrow_mut(|State { zstd, buffer }| {
        let (input, rest) = buffer.split_at_mut(input);
        to_returned(operation(zstd, input, &mut rest[..output]))
    })
}
