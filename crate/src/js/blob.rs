//! A `File` or `Blob`, read by `slice`.

use super::bytes::release;
use super::errors::{JsResult, caught, may_be_too_large};
use crate::error::{ErrorKind, Result};
use crate::io::source::Source;
use crate::offsets::HostOffset;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use js_sys::Uint8Array;
use wasm_bindgen_futures::JsFuture;
use web_sys::Blob;

/// If memory is short, large reads fail before small ones, so a failed read is repeated in smaller parts, down to this
/// size in bytes.
const LEAST: usize = 256 << 10;

pub(super) struct BlobSource {
    blob: Blob,
    size: u64,
}

impl BlobSource {
    pub(super) fn new(blob: Blob) -> Self {
        let size = blob.size() as u64;
        Self { blob, size }
    }
}

/// Fills `buf` from offset `start`, in as few reads as the browser allows.
async fn read(blob: &Blob, mut start: u64, mut buf: &mut [u8]) -> JsResult<()> {
    let mut most = buf.len();
    while !buf.is_empty() {
        let len = most.min(buf.len());
        match read_at_once(blob, start, &mut buf[..len]).await {
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

async fn read_at_once(blob: &Blob, start: u64, buf: &mut [u8]) -> JsResult<()> {
    let end = start + buf.len() as u64;
    let slice = blob.slice_with_f64_and_f64(start as f64, end as f64)?;
    let buffer = JsFuture::from(slice.array_buffer()).await?;
    let bytes = Uint8Array::new(&buffer);
    if bytes.length() as usize != buf.len() {
        return Err(js_sys::Error::new("the file is shorter than when it was chosen").into());
    }
    bytes.copy_to(buf);
    release(&buffer);
    Ok(())
}

impl Source for BlobSource {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>> {
        async move {
            let result = read(&self.blob, offset.0, buf).await;
            result.map_err(|thrown| caught(&thrown, ErrorKind::Source, "read the image"))
        }
        .boxed_local()
    }
}
