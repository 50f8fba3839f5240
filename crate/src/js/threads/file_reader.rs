//! A `File` or `Blob`, read by a thread that waits for the bytes.

use crate::error::{ErrorKind, Result};
use crate::io::source::Source;
use crate::js::bytes::release;
use crate::js::errors::{JsResult, caught, may_be_too_large};
use crate::offsets::HostOffset;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use js_sys::{ArrayBuffer, Error, Uint8Array};
use web_sys::{Blob, FileReaderSync};

/// If memory is short, large reads fail before small ones, so a failed read is repeated in smaller parts, down to this
/// size in bytes.
const LEAST: usize = 256 << 10;

pub(super) struct WaitingSource {
    blob: Blob,
    size: u64,
    reader: FileReaderSync,
}

impl WaitingSource {
    /// Fails where there is no `FileReaderSync`: outside of workers.
    pub(super) fn new(blob: Blob) -> JsResult<Self> {
        let size = blob.size() as u64;
        Ok(Self { blob, size, reader: FileReaderSync::new()? })
    }

    fn read_at_once(&self, start: u64, buf: &mut [u8]) -> JsResult<()> {
        let end = start + buf.len() as u64;
        let slice = self.blob.slice_with_f64_and_f64(start as f64, end as f64)?;
        take(&self.reader.read_as_array_buffer(&slice)?, buf)
    }
}

impl Source for WaitingSource {
    fn size(&self) -> u64 {
        self.size
    }

    /// The future is ready at once.
    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>> {
        async move {
            let result = fill(offset.0, buf, async |start, buf| self.read_at_once(start, buf)).await;
            result.map_err(|thrown| caught(&thrown, ErrorKind::Source, "read the image"))
        }
        .boxed_local()
    }
}

/// Fills `buf` from offset `start` by `read`, in as few reads as the browser allows.
async fn fill(mut start: u64, mut buf: &mut [u8], read: impl AsyncFn(u64, &mut [u8]) -> JsResult<()>) -> JsResult<()> {
    let mut most = buf.len();
    while !buf.is_empty() {
        let len = most.min(buf.len());
        match read(start, &mut buf[..len]).await {
            Ok(()) => {
                start += len as u64;
                buf = &mut buf[len..];
            }
            Err(thrown) if len > LEAST && may_be_too_large(&thrown) => most = (len / 2).max(LEAST),
            Err(thrown) => return Err(thrown),
        }
    }
    Ok(())
}

/// Moves the bytes of `buffer`, which has a range of a file, to `buf`. Fails if it has fewer.
fn take(buffer: &ArrayBuffer, buf: &mut [u8]) -> JsResult<()> {
    let bytes = Uint8Array::new(buffer);
    if bytes.length() as usize != buf.len() {
        return Err(Error::new("the file is shorter than when it was chosen").into());
    }
    bytes.copy_to(buf);
    release(buffer);
    Ok(())
}
