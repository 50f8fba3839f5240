//! A caller's stream, which is on the calling side.

use crate::error::{Error, ErrorKind, Result};
use crate::io::stream::ByteStream;
use crate::js::errors::caught;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use js_sys::{Promise, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

#[wasm_bindgen]
extern "C" {
    /// `CustomStream` of the package: `next` resolves to the next `length` bytes, or all that are left, in a new array each time.
    type JsStream;
    #[wasm_bindgen(method, catch)]
    fn next(this: &JsStream, length: f64) -> std::result::Result<Promise, JsValue>;
}

pub(super) struct CallerStream {
    object: JsStream,
    position: u64,
    has_ended: bool,
}

impl CallerStream {
    /// Wraps `value` if it is a caller's stream; otherwise returns it as the error.
    pub(super) fn new(value: JsValue) -> std::result::Result<Self, JsValue> {
        if !js_sys::Reflect::has(&value, &"next".into())? {
            return Err(value);
        }
        Ok(Self { object: value.unchecked_into(), position: 0, has_ended: false })
    }

    async fn fill(&mut self, buf: &mut [u8]) -> Result<usize> {
        if self.has_ended {
            return Ok(0);
        }
        let failed = |thrown: JsValue| caught(&thrown, ErrorKind::Source, "read the image");
        let promise = self.object.next(buf.len() as f64).map_err(failed)?;
        let bytes: Uint8Array = JsFuture::from(promise).await.map_err(failed)?.unchecked_into();
        let len = bytes.length() as usize;
        let room = buf.get_mut(..len).ok_or_else(|| Error::new(ErrorKind::Internal, "A stream gave too many bytes"))?;
        bytes.copy_to(room);
        self.has_ended = len < buf.len();
        self.position += len as u64;
        Ok(len)
    }
}

impl ByteStream for CallerStream {
    fn read<'a>(&'a mut self, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<usize>> {
        self.fill(buf).boxed_local()
    }

    fn file_position(&self) -> u64 {
        self.position
    }
}
