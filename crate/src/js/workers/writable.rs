//! A file written through `createWritable`. Closing the stream replaces the file, so it is left to the calling side,
//! which knows whether the result is complete.

use crate::error::Result;
use crate::io::target::{Abilities, Run, Target, TargetHandle};
use crate::js::bytes::JsBytes;
use crate::js::errors::{failed, settled};
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use js_sys::Uint8Array;
use std::cell::RefCell;
use wasm_bindgen_futures::JsFuture;
use web_sys::{FileSystemWritableFileStream, WriteCommandType, WriteParams};

/// Holes shorter than this, in bytes, may be written: a call costs as much as writing that many bytes.
const SHORT_HOLE: u64 = 64 << 10;
/// Size of a full write, in bytes. It is large because calls are expensive.
const BUFFER: usize = 16 << 20;

pub(super) struct WritableTarget {
    stream: FileSystemWritableFileStream,
    buffers: RefCell<WriteBuffers>,
}

/// Two buffers: one is filled while the other is written. They are JavaScript memory, since the stream does not accept
/// shared memory.
struct WriteBuffers {
    filling: Uint8Array,
    other: Uint8Array,
    /// Offset and length of the data in the filling buffer.
    offset: u64,
    len: usize,
    /// The write of the other buffer. It is observed from the start, since it may fail before it is awaited.
    writing: Option<JsFuture>,
}

impl WriteBuffers {
    fn new() -> Self {
        let buffer = || Uint8Array::new_with_length(BUFFER as u32);
        Self { filling: buffer(), other: buffer(), offset: 0, len: 0, writing: None }
    }

    fn ends_at(&self) -> u64 {
        self.offset + self.len as u64
    }
}

impl WritableTarget {
    pub(super) fn new(stream: FileSystemWritableFileStream) -> Self {
        Self { stream, buffers: RefCell::new(WriteBuffers::new()) }
    }

    async fn write_run(&self, bytes: &impl JsBytes, run: &Run) -> Result<()> {
        if self.buffers.borrow().ends_at() != run.offset {
            self.flush().await?;
        }
        let mut done = 0;
        while done < run.len {
            if self.buffers.borrow().len == BUFFER {
                self.flush().await?;
            }
            let buffers = &mut *self.buffers.borrow_mut();
            if buffers.len == 0 {
                buffers.offset = run.offset + done as u64;
            }
            let len = (BUFFER - buffers.len).min(run.len - done);
            let target = buffers.filling.subarray(buffers.len as u32, (buffers.len + len) as u32);
            bytes.copy_to(run.start + done, &target);
            buffers.len += len;
            done += len;
        }
        Ok(())
    }

    /// Starts writing the filled buffer, after the other one is free.
    async fn flush(&self) -> Result<()> {
        let writing = self.buffers.borrow_mut().writing.take();
        if let Some(writing) = writing {
            writing.await.map_err(failed)?;
        }
        let buffers = &mut *self.buffers.borrow_mut();
        if buffers.len == 0 {
            return Ok(());
        }
        let params = WriteParams::new(WriteCommandType::Write);
        params.set_position(Some(buffers.offset as f64));
        // A partly filled buffer is copied: WebKit writes the whole buffer of a view.
        let whole = buffers.len == BUFFER;
        let data = if whole { buffers.filling.clone() } else { buffers.filling.slice(0, buffers.len as u32) };
        params.set_data(&data);
        buffers.writing = Some(self.stream.write_with_write_params(&params).map_err(failed)?.into());
        std::mem::swap(&mut buffers.filling, &mut buffers.other);
        buffers.offset += buffers.len as u64;
        buffers.len = 0;
        Ok(())
    }

    async fn complete(&self) -> Result<()> {
        // The second flush awaits the write of the first.
        self.flush().await?;
        self.flush().await
    }
}

impl<B: JsBytes> TargetHandle<B> for WritableTarget {
    fn write<'a>(&'a self, bytes: &'a B, runs: &'a [Run]) -> LocalBoxFuture<'a, Result<()>> {
        async move {
            for run in runs {
                self.write_run(bytes, run).await?;
            }
            Ok(())
        }
        .boxed_local()
    }
}

impl<B: JsBytes> Target<B> for WritableTarget {
    /// Ordered: browsers that cannot make sparse files fill every gap that a write skips.
    fn abilities(&self) -> Abilities {
        Abilities { ascending: true, late_start: u64::MAX, short_hole: SHORT_HOLE, ..Abilities::default() }
    }

    fn open(&self, size: Option<u64>) -> LocalBoxFuture<'_, Result<()>> {
        match size {
            Some(size) => settled(self.stream.truncate_with_f64(size as f64)).boxed_local(),
            None => ready(Ok(())).boxed_local(),
        }
    }

    fn hole(&self, _offset: u64, _len: u64) -> LocalBoxFuture<'_, Result<()>> {
        ready(Ok(())).boxed_local()
    }

    fn finish(&self) -> LocalBoxFuture<'_, Result<()>> {
        self.complete().boxed_local()
    }

    fn abort(&self) -> LocalBoxFuture<'_, ()> {
        settled(Ok(self.stream.abort())).map(drop).boxed_local()
    }
}
