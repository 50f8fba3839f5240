//! A file in the origin private file system, written through a sync access handle.
//!
//! Every result is checked: in a private window, writes to full storage neither throw nor write.

use super::bytes::JsBytes;
use super::errors::{STORAGE_FULL, failed};
use crate::error::{Error, ErrorKind, Result};
use crate::io::target::{Abilities, Run, Target, TargetHandle};
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use web_sys::{FileSystemReadWriteOptions, FileSystemSyncAccessHandle};

/// Maximum size of one write, in bytes: larger ones were measured to take twice as long.
const WRITE: usize = 1 << 20;

pub(super) struct SyncHandle {
    handle: FileSystemSyncAccessHandle,
}

impl SyncHandle {
    pub(super) fn new(handle: FileSystemSyncAccessHandle) -> Self {
        Self { handle }
    }

    #[cfg(feature = "threads")]
    pub(super) fn close(&self) {
        self.handle.close();
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.handle.truncate_with_f64(len as f64).map_err(failed)?;
        let size = self.handle.get_size().map_err(failed)?;
        if size == len as f64 { Ok(()) } else { Err(full()) }
    }

    fn write_run(&self, bytes: &impl JsBytes, run: &Run) -> Result<()> {
        let mut at = 0;
        while at < run.len {
            let options = FileSystemReadWriteOptions::new();
            options.set_at((run.offset + at as u64) as f64);
            let view = bytes.view(run.start + at, WRITE.min(run.len - at));
            let written = self.handle.write_with_buffer_source_and_options(&view, &options).map_err(failed)?;
            // Chromium's negative error codes arrive as numbers above the length.
            if !(1.0..=f64::from(view.length())).contains(&written) {
                return Err(full());
            }
            at += written as usize;
        }
        Ok(())
    }
}

fn full() -> Error {
    let (code, reason) = STORAGE_FULL;
    Error::new(ErrorKind::Target, format!("Could not write the output: {reason}")).coded(code)
}

impl<B: JsBytes> TargetHandle<B> for SyncHandle {
    fn write<'a>(&'a self, bytes: &'a B, runs: &'a [Run]) -> LocalBoxFuture<'a, Result<()>> {
        ready(runs.iter().try_for_each(|run| self.write_run(bytes, run))).boxed_local()
    }
}

impl<B: JsBytes> Target<B> for SyncHandle {
    fn abilities(&self) -> Abilities {
        Abilities { late_start: u64::MAX, ..Abilities::default() }
    }

    fn open(&self, size: Option<u64>) -> LocalBoxFuture<'_, Result<()>> {
        ready(size.map_or(Ok(()), |size| self.set_len(size))).boxed_local()
    }

    fn hole(&self, _offset: u64, _len: u64) -> LocalBoxFuture<'_, Result<()>> {
        ready(Ok(())).boxed_local()
    }

    fn finish(&self) -> LocalBoxFuture<'_, Result<()>> {
        // Not flushed to the disk, like `qemu-img convert`: that would wait for the disk.
        self.handle.close();
        ready(Ok(())).boxed_local()
    }

    fn abort(&self) -> LocalBoxFuture<'_, ()> {
        self.handle.close();
        ready(()).boxed_local()
    }
}
