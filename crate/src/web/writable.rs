//! A file that the user picked, written through `createWritable`.

use super::bytes::JsBytes;
use super::errors::caught;
use crate::error::{ErrorKind, Result};
use crate::sink::{Run, Sink};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use js_sys::Promise;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::JsFuture;
use web_sys::{FileSystemWritableFileStream, WriteCommandType, WriteParams};

/// Holes shorter than this (bytes) may be written: a call costs as much as that many bytes.
const SHORT_HOLE: u64 = 64 << 10;

pub(super) struct WritableSink {
    stream: FileSystemWritableFileStream,
}

impl WritableSink {
    pub fn new(stream: FileSystemWritableFileStream) -> Self {
        Self { stream }
    }

    async fn write_runs(&self, bytes: &impl JsBytes, runs: &[Run]) -> Result<()> {
        for run in runs {
            let params = WriteParams::new(WriteCommandType::Write);
            params.set_position(Some(run.guest as f64));
            params.set_data(&bytes.keep(run.start, run.len));
            settled(self.stream.write_with_write_params(&params)).await?;
        }
        Ok(())
    }
}

async fn settled(promise: std::result::Result<Promise, JsValue>) -> Result<()> {
    let failed = |thrown: JsValue| caught(&thrown, ErrorKind::Sink, "write the output");
    JsFuture::from(promise.map_err(failed)?).await.map(drop).map_err(failed)
}

impl<B: JsBytes> Sink<B> for WritableSink {
    /// The browsers that cannot make a file sparse fill every gap that is written past.
    fn ordered(&self) -> bool {
        true
    }

    fn short_hole(&self) -> u64 {
        SHORT_HOLE
    }

    fn set_len(&self, len: u64) -> LocalBoxFuture<'_, Result<()>> {
        settled(self.stream.truncate_with_f64(len as f64)).boxed_local()
    }

    fn write<'a>(&'a self, bytes: &'a B, runs: &'a [Run]) -> LocalBoxFuture<'a, Result<()>> {
        self.write_runs(bytes, runs).boxed_local()
    }

    fn finish(&self) -> LocalBoxFuture<'_, Result<()>> {
        settled(Ok(self.stream.close())).boxed_local()
    }

    fn abort(&self) -> LocalBoxFuture<'_, ()> {
        settled(Ok(self.stream.abort())).map(drop).boxed_local()
    }
}
