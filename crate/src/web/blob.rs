//! A `File` or `Blob`, read by `slice`.

use super::errors::caught;
use crate::error::{ErrorKind, Result};
use crate::source::Source;
use crate::units::HostOffset;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use js_sys::Uint8Array;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, MessageChannel, MessagePort};

pub(super) struct BlobSource {
    blob: Blob,
    size: u64,
}

impl BlobSource {
    pub fn new(blob: Blob) -> Self {
        let size = blob.size() as u64;
        Self { blob, size }
    }
}

async fn read(blob: &Blob, start: u64, buf: &mut [u8]) -> std::result::Result<(), JsValue> {
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

thread_local! {
    /// The end of a channel whose other end is closed.
    static NOWHERE: Option<MessagePort> = MessageChannel::new().ok().map(|channel| {
        channel.port2().close();
        channel.port1()
    });
}

/// Gives the memory of `buffer` back now, by sending it nowhere: the garbage collector lets 64 MiB gather in every
/// worker before it comes.
fn release(buffer: &JsValue) {
    // Where that fails, the garbage collector comes.
    NOWHERE.with(|port| {
        port.as_ref().map(|port| port.post_message_with_transferable(&JsValue::NULL, &js_sys::Array::of1(buffer)))
    });
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
