//! A `File` or `Blob`, read by `slice`.

use crate::error::{ErrorKind, Result};
use crate::io::source::Source;
use crate::js::errors::{JsResult, caught};
use crate::js::file_bytes::{fill, take};
use crate::offsets::HostOffset;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::JsFuture;
use web_sys::Blob;

pub(super) struct BlobSource {
    blob: Blob,
    size: u64,
}

impl BlobSource {
    pub(super) fn new(blob: Blob) -> Self {
        let size = blob.size() as u64;
        Self { blob, size }
    }

    async fn read_at_once(&self, start: u64, buf: &mut [u8]) -> JsResult<()> {
        let end = start + buf.len() as u64;
        let slice = self.blob.slice_with_f64_and_f64(start as f64, end as f64)?;
        take(JsFuture::from(slice.array_buffer()).await?.unchecked_ref(), buf)
    }
}

impl Source for BlobSource {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>> {
        async move {
            let result = fill(offset.0, buf, async |start, buf| self.read_at_once(start, buf).await).await;
            result.map_err(|thrown| caught(&thrown, ErrorKind::Source, "read the image"))
        }
        .boxed_local()
    }
}
