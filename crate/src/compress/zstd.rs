//! zstd (RFC 8878). On WebAssembly it is a module that is loaded when a job first needs it.

use super::failure::DecompressError;
use crate::error::{Error, Result};
use decant_zstd::ZstdError;
use futures_util::future::LocalBoxFuture;
use std::cell::RefCell;
use std::rc::Rc;

/// Approximate sizes of a decoder and an encoder, in bytes, for the out-of-memory message.
const DECODER: usize = 160 << 10;
const ENCODER: usize = 1 << 20;

/// Loads a module of WebAssembly by its name, and returns its bytes.
pub type ModuleLoader = Rc<dyn Fn(&'static str) -> LocalBoxFuture<'static, Result<Vec<u8>>>>;

thread_local! {
    static LOADER: RefCell<Option<ModuleLoader>> = const { RefCell::new(None) };
}

/// Sets the loader for jobs that this thread reads.
pub fn load_modules_by(loader: ModuleLoader) {
    LOADER.set(Some(loader));
}

/// Makes zstd ready for use. Fails as the loader does.
pub(crate) async fn prepare_zstd() -> Result<()> {
    if !decant_zstd::is_ready() {
        let loader = LOADER.with_borrow(Clone::clone).expect("a platform that lacks zstd has set a loader");
        decant_zstd::add(loader("zstd").await?);
    }
    Ok(())
}

impl From<ZstdError> for DecompressError {
    fn from(error: ZstdError) -> Self {
        match error {
            ZstdError::InputEnds => Self::InputEnds,
            ZstdError::OutOfMemory => Error::out_of_memory(DECODER).into(),
            ZstdError::Invalid | ZstdError::OutputFull => Self::Invalid,
        }
    }
}

/// Compresses `unit` to a frame at the start of `output`, which is as long. Returns the length of the frame, or that of
/// `unit` if the frame does not fit. Fails with `internal` if memory runs out.
pub(super) fn compress(zstd: &mut decant_zstd::Zstd, unit: &[u8], output: &mut [u8]) -> Result<usize> {
    match zstd.compress(unit, output) {
        Ok(len) => Ok(len),
        Err(ZstdError::OutputFull) => Ok(unit.len()),
        Err(_) => Err(Error::out_of_memory(ENCODER)),
    }
}
