//! A `File` or `Blob`, read by a thread that waits for the bytes.

use crate::error::{ErrorKind, Result};
use crate::io::source::Source;
use crate::js::errors::{JsResult, caught};
use crate::js::file_bytes::{fill, take};
use crate::offsets::HostOffset;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use web_sys::{Blob, FileReaderSync};

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
