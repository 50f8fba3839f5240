//! By the module `crate/deflate/wasm`.

use crate::{DeflateError, Request, bound};
use decant_module::Module;

/// The module. It must be ready before [`Deflater`] is used.
pub static MODULE: Module = Module::loaded("deflate");

/// The compressor of the module, which is allocated on first use, and reused.
#[derive(Default)]
pub struct Deflater(());

impl Deflater {
    /// See `direct/mod.rs`.
    pub fn segment(&mut self, input: &[u8], output: &mut [u8]) -> Result<usize, DeflateError> {
        MODULE.serve(Request::Segment, input, &mut output[..bound(input.len())])
    }

    /// See `direct/mod.rs`.
    pub fn stream(&mut self, input: &[u8], window: usize, output: &mut [u8]) -> Result<usize, DeflateError> {
        let request = Request::Stream { window: window as u32 };
        MODULE.serve(request, input, &mut output[..bound(input.len())])
    }
}
