//! A file in the origin's private file system, written by a sync access handle.

use super::bytes::JsBytes;
use super::errors::caught;
use crate::error::{Error, ErrorKind, Result};
use crate::sink::{Run, Sink};
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use wasm_bindgen::JsValue;
use web_sys::{FileSystemReadWriteOptions, FileSystemSyncAccessHandle};

/// The most bytes of one write: larger ones were measured to take twice as long.
const WRITE: usize = 1 << 20;

pub(super) struct SyncHandleSink {
    handle: FileSystemSyncAccessHandle,
}

impl SyncHandleSink {
    pub fn new(handle: FileSystemSyncAccessHandle) -> Self {
        Self { handle }
    }

    fn write_run(&self, bytes: &impl JsBytes, run: &Run) -> Result<()> {
        let mut at = 0;
        while at < run.len {
            let options = FileSystemReadWriteOptions::new();
            options.set_at((run.guest + at as u64) as f64);
            let view = bytes.view(run.start + at, WRITE.min(run.len - at));
            let written = self.handle.write_with_buffer_source_and_options(&view, &options).map_err(failed)?;
            if written < 1.0 {
                return Err(Error::new(ErrorKind::Sink, "Could not write the output: the disk is full"));
            }
            at += written as usize;
        }
        Ok(())
    }
}

fn failed(thrown: JsValue) -> Error {
    caught(&thrown, ErrorKind::Sink, "write the output")
}

impl<B: JsBytes> Sink<B> for SyncHandleSink {
    fn ordered(&self) -> bool {
        false
    }

    fn set_len(&self, len: u64) -> LocalBoxFuture<'_, Result<()>> {
        ready(self.handle.truncate_with_f64(len as f64).map_err(failed)).boxed_local()
    }

    fn write<'a>(&'a self, bytes: &'a B, runs: &'a [Run]) -> LocalBoxFuture<'a, Result<()>> {
        ready(runs.iter().try_for_each(|run| self.write_run(bytes, run))).boxed_local()
    }

    fn finish(&self) -> LocalBoxFuture<'_, Result<()>> {
        // Not flushed to the disk, as `qemu-img convert` does not: that would take as long as the disk does.
        self.handle.close();
        ready(Ok(())).boxed_local()
    }

    fn abort(&self) -> LocalBoxFuture<'_, ()> {
        self.handle.close();
        ready(()).boxed_local()
    }
}
