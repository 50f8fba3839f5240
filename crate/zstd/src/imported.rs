//! By the module `crate/zstd/wasm`, through JavaScript.

use crate::{Returned, ZstdError, from_returned};
use std::cell::Cell;
use std::sync::OnceLock;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(module = "/src/module.js")]
extern "C" {
    /// Instantiates the module for this thread. Returns whether there is enough memory.
    fn instantiate(bytes: &[u8]) -> bool;
    fn decompress(input: &[u8], output: &mut [u8]) -> Returned;
    fn compress(input: &[u8], output: &mut [u8]) -> Returned;
}

/// The bytes of the module. Threads share them, and each instantiates the module with its first use.
static MODULE: OnceLock<Vec<u8>> = OnceLock::new();

thread_local! {
    static IS_INSTANTIATED: Cell<bool> = const { Cell::new(false) };
}

/// Whether [`Zstd`] can be used: the module was added.
pub fn is_ready() -> bool {
    MODULE.get().is_some()
}

/// Adds the module, by its bytes. To add it again has no effect.
pub fn add(bytes: Vec<u8>) {
    let _ = MODULE.set(bytes);
}

/// The module. Its decoder and encoder are allocated on first use, and reused for all clusters.
#[derive(Default)]
pub struct Zstd(());

impl Zstd {
    /// See `direct.rs`.
    pub fn decompress(&mut self, input: &[u8], output: &mut [u8]) -> Result<(), ZstdError> {
        prepare()?;
        from_returned(decompress(input, output)).map(drop)
    }

    /// See `direct.rs`.
    pub fn compress(&mut self, input: &[u8], output: &mut [u8]) -> Result<usize, ZstdError> {
        prepare()?;
        from_returned(compress(input, output))
    }
}

/// Instantiates the module if this thread has not done so.
fn prepare() -> Result<(), ZstdError> {
    if !IS_INSTANTIATED.get() {
        let bytes = MODULE.get().expect("its user has waited until it was ready");
        if !instantiate(bytes) {
            return Err(ZstdError::OutOfMemory);
        }
        IS_INSTANTIATED.set(true);
    }
    Ok(())
}
