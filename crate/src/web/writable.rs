//! A file that the user picked, written through `createWritable`.

use super::bytes::JsBytes;
use super::errors::caught;
use crate::error::{ErrorKind, Result};
use crate::sink::{Run, Sink};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use js_sys::{Promise, Uint8Array};
use std::cell::RefCell;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::JsFuture;
use web_sys::{FileSystemWritableFileStream, WriteCommandType, WriteParams};

/// Holes shorter than this (bytes) may be written: a call costs as much as that many bytes.
const SHORT_HOLE: u64 = 64 << 10;
/// The bytes of a full write. A call costs much, so they are large.
const BUFFER: usize = 16 << 20;

pub(super) struct WritableSink {
    stream: FileSystemWritableFileStream,
    buffers: RefCell<Buffers>,
}

/// Two buffers: one is filled while the other one is written. Both are memory of JavaScript's own,
/// since the stream takes no shared memory.
struct Buffers {
    filling: Uint8Array,
    other: Uint8Array,
    /// Where the filling one belongs, and how full it is.
    guest: u64,
    len: usize,
    /// The write of the other one.
    writing: Option<Promise>,
}

impl Buffers {
    fn new() -> Self {
        let buffer = || Uint8Array::new_with_length(BUFFER as u32);
        Self { filling: buffer(), other: buffer(), guest: 0, len: 0, writing: None }
    }

    fn ends_at(&self) -> u64 {
        self.guest + self.len as u64
    }
}

impl WritableSink {
    pub fn new(stream: FileSystemWritableFileStream) -> Self {
        Self { stream, buffers: RefCell::new(Buffers::new()) }
    }

    async fn write_run(&self, bytes: &impl JsBytes, run: &Run) -> Result<()> {
        if self.buffers.borrow().ends_at() != run.guest {
            self.flush().await?;
        }
        let mut done = 0;
        while done < run.len {
            if self.buffers.borrow().len == BUFFER {
                self.flush().await?;
            }
            let buffers = &mut *self.buffers.borrow_mut();
            if buffers.len == 0 {
                buffers.guest = run.guest + done as u64;
            }
            let len = (BUFFER - buffers.len).min(run.len - done);
            let target = buffers.filling.subarray(buffers.len as u32, (buffers.len + len) as u32);
            bytes.copy_to(run.start + done, &target);
            buffers.len += len;
            done += len;
        }
        Ok(())
    }

    /// Begins to write what was filled, once the other buffer is free.
    async fn flush(&self) -> Result<()> {
        let writing = self.buffers.borrow_mut().writing.take();
        if let Some(writing) = writing {
            settled(Ok(writing)).await?;
        }
        let buffers = &mut *self.buffers.borrow_mut();
        if buffers.len == 0 {
            return Ok(());
        }
        let params = WriteParams::new(WriteCommandType::Write);
        params.set_position(Some(buffers.guest as f64));
        params.set_data(&buffers.filling.subarray(0, buffers.len as u32));
        buffers.writing = Some(self.stream.write_with_write_params(&params).map_err(failed)?);
        std::mem::swap(&mut buffers.filling, &mut buffers.other);
        buffers.guest += buffers.len as u64;
        buffers.len = 0;
        Ok(())
    }

    async fn complete(&self) -> Result<()> {
        // The second one waits for the write that the first one has begun.
        self.flush().await?;
        self.flush().await?;
        settled(Ok(self.stream.close())).await
    }
}

fn failed(thrown: JsValue) -> crate::Error {
    caught(&thrown, ErrorKind::Sink, "write the output")
}

async fn settled(promise: std::result::Result<Promise, JsValue>) -> Result<()> {
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
        async move {
            for run in runs {
                self.write_run(bytes, run).await?;
            }
            Ok(())
        }
        .boxed_local()
    }

    fn finish(&self) -> LocalBoxFuture<'_, Result<()>> {
        self.complete().boxed_local()
    }

    fn abort(&self) -> LocalBoxFuture<'_, ()> {
        settled(Ok(self.stream.abort())).map(drop).boxed_local()
    }
}
